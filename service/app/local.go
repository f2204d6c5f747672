package app

import (
	"github.com/spf13/cobra"

	"fairlane/internal/usage"
)

// addBelow adds commands that work without the service to one of its nouns.
func addBelow(root *cobra.Command, noun string, verbs ...*cobra.Command) {
	cmd, _, err := root.Find([]string{noun})
	must(err)
	cmd.AddCommand(verbs...)
}

// alone marks, in a command's annotations, one whose help leaves out the flags of the commands above.
const alone = "alone"

// hideGlobal leaves the flags of the commands above out of a command's help.
func hideGlobal(cmd *cobra.Command) {
	if cmd.Annotations == nil {
		cmd.Annotations = map[string]string{}
	}
	cmd.Annotations[alone] = "yes"
}

// localOnly makes a command below a noun of the service's refuse the flags by which that one is reached and its answers are
// printed.
func (a *app) localOnly(verb *cobra.Command) {
	hideGlobal(verb)
	run := verb.RunE
	verb.RunE = func(cmd *cobra.Command, args []string) error {
		if err := a.without(cmd, append(reachFlags(), "output")); err != nil {
			return err
		}
		return run(cmd, args)
	}
}

// reachFlags are the flags by which the service is reached.
func reachFlags() []string {
	return []string{"url", "token-file", "ca-file", "cert-file", "key-file", "fabric"}
}

// without refuses flags of the commands above that were given.
func (a *app) without(cmd *cobra.Command, names []string) error {
	inherited := cmd.InheritedFlags()
	for _, name := range names {
		if f := inherited.Lookup(name); f != nil && f.Changed {
			return usage.Errorf("%s", a.t("local.flag", "flag", "--"+name))
		}
	}
	return nil
}
