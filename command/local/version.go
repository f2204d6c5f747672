package local

import (
	"cmp"
	"fmt"

	"github.com/spf13/cobra"

	"fairlane/command/cmdline"
	"fairlane/internal/buildinfo"
	"fairlane/web"
)

// build is the build of this program with its embedded portal.
type build struct {
	buildinfo.Build
	PortalSHA256 string `json:"portal_sha256,omitempty"` // absent from a build without the portal
}

func (a *app) versionCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "version", Short: a.T("version.short"), Args: cobra.NoArgs, Example: "  fairlane version\n  fairlane version --json",
		RunE: func(*cobra.Command, []string) error {
			portal, err := web.Embedded()
			if err != nil {
				return err
			}
			b := build{buildinfo.Read(), portal.Hash()}
			if asJSON {
				return cmdline.PrintJSON(a.Stdout, b)
			}
			return a.printBuild(b)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, a.T("flag.json"))
	return cmd
}

func (a *app) printBuild(b build) error {
	commit := cmp.Or(b.Commit, a.T("version.unknown"))
	if b.Modified {
		commit += " " + a.T("version.modified")
	}
	tw := cmdline.NewTable(a.Stdout, 0)
	for _, row := range [][2]string{
		{"version.of", b.Version}, {"version.commit", commit}, {"version.time", cmp.Or(b.CommitTime, a.T("version.unknown"))},
		{"version.go", b.Go}, {"version.platform", b.Platform},
		{"version.portal", cmp.Or(b.PortalSHA256, a.T("version.no-portal"))},
	} {
		_, _ = fmt.Fprintf(tw, "%s\t%s\n", a.T(row[0]), row[1]) // Flush has the error
	}
	return tw.Flush()
}
