package calibrate

import "fmt"

// CommandLine is what makes the same profile again; how many runs go at once and where files are does not matter.
func CommandLine(profile string, seed uint64, quick bool) string {
	text := fmt.Sprintf("fairlane calibrate --profile %s --seed %d", profile, seed)
	if quick {
		text += " --quick"
	}
	return text
}
