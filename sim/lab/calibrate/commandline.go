package calibrate

import "fmt"

// CommandLine returns the command that generates the same profile again. It omits the number of jobs and the locations of
// files, on which the profile does not depend.
func CommandLine(profile string, seed uint64, quick bool) string {
	text := fmt.Sprintf("fairlane calibrate --profile %s --seed %d", profile, seed)
	if quick {
		text += " --quick"
	}
	return text
}
