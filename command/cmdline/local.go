package cmdline

import (
	"github.com/spf13/cobra"

	"fairlane/internal/usage"
)

// AddBelow adds commands that work without the service to one of its nouns.
func AddBelow(root *cobra.Command, noun string, verbs ...*cobra.Command) {
	cmd, _, err := root.Find([]string{noun})
	Must(err)
	cmd.AddCommand(verbs...)
}

// alone marks, in a command's annotations, one whose help leaves out the flags of the commands above.
const alone = "alone"

// HideGlobal leaves the flags of the commands above out of a command's help.
func HideGlobal(cmd *cobra.Command) {
	if cmd.Annotations == nil {
		cmd.Annotations = map[string]string{}
	}
	cmd.Annotations[alone] = "yes"
}

// LocalOnly makes a command below a noun of the service's refuse the flags by which that one is reached and its answers are
// printed.
func (a *App) LocalOnly(verb *cobra.Command) {
	HideGlobal(verb)
	run := verb.RunE
	verb.RunE = func(cmd *cobra.Command, args []string) error {
		if err := a.Without(cmd, append(ReachFlags(), "output")); err != nil {
			return err
		}
		return run(cmd, args)
	}
}

// ReachFlags are the flags by which the service is reached.
func ReachFlags() []string {
	return []string{"url", "token-file", "ca-file", "cert-file", "key-file", "fabric"}
}

// Without refuses flags of the commands above that were given.
func (a *App) Without(cmd *cobra.Command, names []string) error {
	inherited := cmd.InheritedFlags()
	for _, name := range names {
		if f := inherited.Lookup(name); f != nil && f.Changed {
			return usage.Errorf("%s", a.T("local.flag", "flag", "--"+name))
		}
	}
	return nil
}
