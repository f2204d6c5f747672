package calibrate

import "fmt"

// CommandLine returns the command that generates the same profile again; the number of jobs and the locations of files do not
// matter.
func CommandLine(profile string, seed uint64, quick bool) string {
	text := fmt.Sprintf("fairlane calibrate --profile %s --seed %d", profile, seed)
	if quick {
		text += " --quick"
	}
	return text
}
