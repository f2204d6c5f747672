package cli

import (
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"fairlane/internal/i18n"
)

// destructive marks, in a command's annotations, one that Destroys guards.
const destructive = "destructive"

// Destroys makes a command ask before it runs, because what it takes away is not there afterwards. It gives the command the
// flag --yes. A person at a terminal is asked the text of the key question, in which {what} is the command's arguments.
// Without a terminal the command fails with *UsageError unless --yes is given. A dry run is not asked about. With names of
// flags in when, only a run with one of them is.
func Destroys(cmd *cobra.Command, text *i18n.Catalogue, question string, when ...string) {
	if cmd.Annotations == nil {
		cmd.Annotations = map[string]string{}
	}
	cmd.Annotations[destructive] = question
	cmd.Flags().BoolP("yes", "y", false, text.T("flag.yes"))
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		given := func(flag string) bool { f := cmd.Flags().Lookup(flag); return f != nil && f.Value.String() == "true" }
		if asked := len(when) == 0 || slices.ContainsFunc(when, given); asked && !given("dry-run") && !given("yes") {
			if err := agreed(cmd, text, question, "what", strings.Join(args, " ")); err != nil {
				return err
			}
		}
		return run(cmd, args)
	}
}

// IsDestructive reports whether Destroys guards a command.
func IsDestructive(cmd *cobra.Command) bool { return cmd.Annotations[destructive] != "" }

// destroys guards commands of the service with the question of each.
func (c *cli) destroys(cmd *cobra.Command, question string, when ...string) {
	Destroys(cmd, c.texts, question, when...)
}

// agreed asks the person at the terminal. Any answer but yes is an error. Without a terminal it is *UsageError.
func agreed(cmd *cobra.Command, text *i18n.Catalogue, question string, values ...any) error {
	tty := person(cmd)
	if tty == nil {
		return &UsageError{text.T("err.need-yes")}
	}
	line, err := typed(cmd, tty, text.T(question, values...), false)
	if err == nil && !slices.Contains([]string{"y", "yes", "是"}, strings.ToLower(strings.TrimSpace(line))) {
		err = errors.New(text.T("err.not-applied"))
	}
	return err
}
