package cmdline

import (
	"github.com/spf13/cobra"

	"fairlane/internal/usage"
)

// AddBelow adds commands that need no service to one of the service's nouns.
func AddBelow(root *cobra.Command, noun string, verbs ...*cobra.Command) {
	cmd, _, err := root.Find([]string{noun})
	Must(err)
	cmd.AddCommand(verbs...)
}

// alone annotates a command whose help omits the flags of its parents.
const alone = "alone"

// HideGlobal omits the flags of a command's parents from its help.
func HideGlobal(cmd *cobra.Command) {
	if cmd.Annotations == nil {
		cmd.Annotations = map[string]string{}
	}
	cmd.Annotations[alone] = "yes"
}

// LocalOnly makes a command below a noun of the service reject the flags for reaching the service and for the format of
// its answers.
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

// ReachFlags lists the flags for reaching the service.
func ReachFlags() []string {
	return []string{"url", "token-file", "ca-file", "cert-file", "key-file", "fabric"}
}

// Without rejects given flags of the parent commands.
func (a *App) Without(cmd *cobra.Command, names []string) error {
	inherited := cmd.InheritedFlags()
	for _, name := range names {
		if f := inherited.Lookup(name); f != nil && f.Changed {
			return usage.Errorf("%s", a.T("local.flag", "flag", "--"+name))
		}
	}
	return nil
}
