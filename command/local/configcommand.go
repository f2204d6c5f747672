package local

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"fairlane/api"
	"fairlane/command/cmdline"
	"fairlane/service/config"
	"fairlane/service/setup"
)

// configCommand is `fairlane config`: the configuration that the service would use, without starting it.
func (a *app) configCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "config", Short: a.T("config.short")}
	cmd.AddCommand(a.configCheckCommand(), a.configPrintCommand(), a.configReferenceCommand())
	return cmd
}

// configCheckCommand reads everything that a configuration names and reports faults.
func (a *app) configCheckCommand() *cobra.Command {
	return a.Configured(&cobra.Command{
		Use: "check", Short: a.T("config.check.short"), Long: a.T("config.check.long"),
		Example: "  fairlane config check --config /etc/fairlane/fairlane.yaml",
	}, func(_ context.Context, l *config.Loaded) error {
		if _, err := setup.Load(&l.Config, api.OIDCCallback, nil); err != nil {
			return err
		}
		_, err := fmt.Fprintln(a.Stdout, a.T("config.right"))
		return err
	})
}

// setting is one effective value, as `fairlane config print` shows it.
type setting struct {
	Key   string `json:"key"`
	Value string `json:"value"`
	From  string `json:"from"`
}

// configPrintCommand shows the effective value of every key and its origin.
func (a *app) configPrintCommand() *cobra.Command {
	var asJSON bool
	cmd := a.Configured(&cobra.Command{
		Use: "print", Short: a.T("config.print.short"), Long: a.T("config.print.long"),
		Example: "  fairlane config print --config /etc/fairlane/fairlane.yaml\n  FAIRLANE_LOG_LEVEL=debug fairlane config print --json",
	}, func(_ context.Context, l *config.Loaded) error {
		var all []setting
		for _, k := range config.Keys() {
			all = append(all, setting{k.Name, k.Value(&l.Config), l.From(k.Name)})
		}
		if asJSON {
			return cmdline.PrintJSON(a.Stdout, all)
		}
		t := cmdline.NewTable(a.Stdout, 0)
		fmt.Fprintf(t, "%s\t%s\t%s\n", a.T("config.col.key"), a.T("config.col.value"), a.T("config.col.from"))
		for _, s := range all {
			fmt.Fprintf(t, "%s\t%s\t%s\n", s.Key, s.Value, s.From)
		}
		return t.Flush()
	})
	cmd.Flags().BoolVar(&asJSON, "json", false, a.T("flag.json"))
	return cmd
}

// configReferenceCommand prints the table of keys, or an example file.
func (a *app) configReferenceCommand() *cobra.Command {
	var example bool
	cmd := &cobra.Command{
		Use: "reference", Short: a.T("config.reference.short"), Args: cobra.NoArgs,
		Example: "  fairlane config reference\n  fairlane config reference --example > fairlane.yaml",
		RunE: func(*cobra.Command, []string) error {
			text := config.Reference()
			if example {
				text = config.Example()
			}
			_, err := fmt.Fprint(a.Stdout, text)
			return err
		},
	}
	cmd.Flags().BoolVar(&example, "example", false, a.T("config.flag.example"))
	return cmd
}
