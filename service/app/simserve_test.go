package app

import (
	"regexp"
	"testing"

	"github.com/spf13/cobra"
)

// A word between backquotes in the text of a flag is printed as the kind of its value, so a whole command there reads as
// if it were the value.
func TestPlaceholdersOfFlagsAreSingleWords(t *testing.T) {
	t.Parallel()
	command := regexp.MustCompile(`(?m)^ +(?:-\w, )?--[\w-]+ \S+(?: \S+)+ {2,}\S.*$`)
	var walk func(*testing.T, *cobra.Command)
	walk = func(t *testing.T, cmd *cobra.Command) {
		for _, line := range command.FindAllString(cmd.LocalFlags().FlagUsages(), -1) {
			t.Errorf("%s: %s", cmd.CommandPath(), line)
		}
		for _, c := range cmd.Commands() {
			walk(t, c)
		}
	}
	for _, lang := range []string{"en", "zh"} {
		walk(t, testApp(t, lang).root(nil))
	}
}
