package app

import (
	"cmp"
	"fmt"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// build is what a program knows of how it was built.
type build struct {
	Version    string `json:"version"`
	Commit     string `json:"commit,omitempty"`
	CommitTime string `json:"commit_time,omitempty"` // of the commit, RFC 3339
	Modified   bool   `json:"modified"`              // whether files differed from the commit
	Go         string `json:"go"`
	Platform   string `json:"platform"`
}

// thisBuild reads the build of this program.
func thisBuild() build {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return build{Version: devVersion}
	}
	return buildOf(info)
}

const devVersion = "dev"

// buildOf takes the version of the module, or the revision it was built from, or "dev".
func buildOf(info *debug.BuildInfo) build {
	set := make(map[string]string, len(info.Settings))
	for _, s := range info.Settings {
		set[s.Key] = s.Value
	}
	b := build{
		Commit: set["vcs.revision"], CommitTime: set["vcs.time"], Modified: set["vcs.modified"] == "true",
		Go: info.GoVersion, Platform: set["GOOS"] + "/" + set["GOARCH"],
	}
	switch v := info.Main.Version; {
	case v != "" && v != "(devel)":
		b.Version = v
	case b.Commit != "":
		b.Version = devVersion + "-" + b.Commit[:min(12, len(b.Commit))]
	default:
		b.Version = devVersion
	}
	return b
}

// version is the version of this program in short.
func version() string { return thisBuild().Version }

func (a *app) versionCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "version", Short: a.t("version.short"), Args: cobra.NoArgs, Example: "  fairlane version\n  fairlane version --json",
		RunE: func(*cobra.Command, []string) error {
			b := thisBuild()
			if asJSON {
				return printJSON(a.stdout, b)
			}
			return a.printBuild(b)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, a.t("flag.json"))
	return cmd
}

func (a *app) printBuild(b build) error {
	commit := cmp.Or(b.Commit, a.t("version.unknown"))
	if b.Modified {
		commit += " " + a.t("version.modified")
	}
	tw := newTable(a.stdout, 0)
	for _, row := range [][2]string{
		{"version.of", b.Version}, {"version.commit", commit}, {"version.time", cmp.Or(b.CommitTime, a.t("version.unknown"))},
		{"version.go", b.Go}, {"version.platform", b.Platform},
	} {
		_, _ = fmt.Fprintf(tw, "%s\t%s\n", a.t(row[0]), row[1]) // Flush has the error
	}
	return tw.Flush()
}
