package remote

import (
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"fairlane/internal/i18n"
	"fairlane/internal/usage"
)

// destructive is the annotation of commands guarded by Destroys.
const destructive = "destructive"

// Destroys makes a command that removes something permanently ask for confirmation. It adds the flag --yes. At a
// terminal the command asks the question with the catalogue key question, in which {what} is the command's arguments.
// Without a terminal and without --yes it fails with *usage.Error. Dry runs need no confirmation. If when names flags,
// only a run with one of them needs it.
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

// agreed asks for confirmation at the terminal. Any answer other than yes is an error. Without a terminal the error is
// *usage.Error.
func agreed(cmd *cobra.Command, text *i18n.Catalogue, question string, values ...any) error {
	tty := person(cmd)
	if tty == nil {
		return usage.Errorf("%s", text.T("err.need-yes"))
	}
	line, err := typed(cmd, tty, text.T(question, values...), false)
	if err == nil && !slices.Contains([]string{"y", "yes", "是"}, strings.ToLower(strings.TrimSpace(line))) {
		err = errors.New(text.T("err.not-applied"))
	}
	return err
}
