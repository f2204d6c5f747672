package local

import (
	"fmt"

	"github.com/spf13/cobra"

	"fairlane/service/series/rules"
)

// alertRulesCommand prints the rules of alerts.
func (a *app) alertRulesCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "rules", Short: a.T("cmd.alert.rules"), Long: a.T("alert.rules.long"), Args: cobra.NoArgs,
		Example: "  fairlane alert rules > fairlane.rules.yaml",
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprint(a.Stdout, rules.File(rules.Groups()))
			return err
		},
	}
	a.LocalOnly(cmd)
	return cmd
}
