package local

import (
	"cmp"
	"fmt"

	"github.com/spf13/cobra"

	"fairlane/command/cmdline"
	"fairlane/internal/buildinfo"
)

func (a *app) versionCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "version", Short: a.T("version.short"), Args: cobra.NoArgs, Example: "  fairlane version\n  fairlane version --json",
		RunE: func(*cobra.Command, []string) error {
			b := buildinfo.Read()
			if asJSON {
				return cmdline.PrintJSON(a.Stdout, b)
			}
			return a.printBuild(b)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, a.T("flag.json"))
	return cmd
}

func (a *app) printBuild(b buildinfo.Build) error {
	commit := cmp.Or(b.Commit, a.T("version.unknown"))
	if b.Modified {
		commit += " " + a.T("version.modified")
	}
	tw := cmdline.NewTable(a.Stdout, 0)
	for _, row := range [][2]string{
		{"version.of", b.Version}, {"version.commit", commit}, {"version.time", cmp.Or(b.CommitTime, a.T("version.unknown"))},
		{"version.go", b.Go}, {"version.platform", b.Platform},
	} {
		_, _ = fmt.Fprintf(tw, "%s\t%s\n", a.T(row[0]), row[1]) // Flush has the error
	}
	return tw.Flush()
}
