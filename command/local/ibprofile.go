package local

import (
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"fairlane/ccconfig/ibprofile"
	"fairlane/ccconfig/ibprofile/profilefile"
	"fairlane/command/cmdline"
	"fairlane/internal/phrase"
	"fairlane/internal/suggest"
	"fairlane/internal/usage"
	"fairlane/service/site"
)

func (a *app) ibProfileCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "ib-profile", Short: a.T("ibprofile.short")}
	cmd.AddCommand(a.ibProfileListCommand(), a.ibProfileShowCommand(), a.ibProfileCheckCommand())
	return cmd
}

func (a *app) ibProfileListCommand() *cobra.Command {
	var file string
	var asJSON bool
	cmd := &cobra.Command{
		Use: "list", Short: a.T("ibprofile.list.short"), Args: cobra.NoArgs,
		Example: "  fairlane ib-profile list\n  fairlane ib-profile list --ib-profiles site.yaml --json",
		RunE: func(*cobra.Command, []string) error {
			set, err := site.ReadIBProfiles(file)
			if err != nil {
				return err
			}
			all := set.Profiles()
			if asJSON {
				list := make([]map[string]any, len(all))
				for i := range all {
					list[i] = profileMap(&all[i])
				}
				return cmdline.PrintJSON(a.Stdout, list)
			}
			tw := cmdline.NewTable(a.Stdout, 0)
			for _, p := range all {
				_, _ = fmt.Fprintf(tw, "%s\t%s\t%s\t%s\n", p.Name, p.Kind, p.Basis, p.Title)
			}
			return tw.Flush()
		},
	}
	a.IBProfilesFlag(cmd, &file)
	cmd.Flags().BoolVar(&asJSON, "json", false, a.T("flag.json"))
	return cmd
}

func (a *app) ibProfileShowCommand() *cobra.Command {
	var file string
	var asJSON bool
	cmd := &cobra.Command{
		Use: "show NAME", Short: a.T("ibprofile.show.short"), Args: cmdline.OneArgument("NAME"),
		Example: "  fairlane ib-profile show ibta-switch\n  fairlane ib-profile show acme-hca --ib-profiles site.yaml --json",
		RunE: func(_ *cobra.Command, args []string) error {
			set, err := site.ReadIBProfiles(file)
			if err != nil {
				return err
			}
			p, ok := set.Lookup(args[0])
			if !ok {
				var names []string
				for _, p := range set.Profiles() {
					names = append(names, p.Name)
				}
				return usage.Of(unknownProfile(args[0], names))
			}
			if asJSON {
				return cmdline.PrintJSON(a.Stdout, profileMap(&p))
			}
			_, err = fmt.Fprint(a.Stdout, profilefile.Text(&p))
			return err
		},
	}
	a.IBProfilesFlag(cmd, &file)
	cmd.Flags().BoolVar(&asJSON, "json", false, a.T("flag.json"))
	return cmd
}

// profileMap returns a profile for JSON, with the keys of a profile file.
func profileMap(p *ibprofile.Profile) map[string]any {
	out := map[string]any{}
	for _, f := range profilefile.Fields(p) {
		out[f.Key] = f.Value
	}
	return out
}

func (a *app) ibProfileCheckCommand() *cobra.Command {
	var fabric string
	cmd := &cobra.Command{
		Use: "check FILE", Short: a.T("ibprofile.check.short"), Args: cmdline.OneArgument("FILE"),
		Example: "  fairlane ib-profile check site.yaml\n  fairlane ib-profile check site.yaml --fabric fabric.topo",
		RunE: func(_ *cobra.Command, args []string) error {
			set, err := site.ReadIBProfiles(args[0])
			if err != nil {
				return err
			}
			n := len(set.Profiles()) - len((*ibprofile.Set)(nil).Profiles())
			_, _ = fmt.Fprintln(a.Stdout, a.T("ibprofile.check.valid", "file", args[0], "profiles", n))
			if fabric == "" {
				return nil
			}
			topo, err := site.ReadFabric(fabric)
			if err != nil {
				return err
			}
			count := map[string]int{}
			for _, p := range set.ByNode(topo) {
				count[p.Name]++
			}
			tw := cmdline.NewTable(a.Stdout, 0)
			for _, p := range set.Profiles() {
				if count[p.Name] > 0 {
					_, _ = fmt.Fprintf(tw, "%d\t%s\t%s\t%s\n", count[p.Name], p.Name, p.Basis, p.Title)
				}
			}
			return tw.Flush()
		},
	}
	cmd.Flags().StringVar(&fabric, "fabric", "", a.T("ibprofile.check.flag.fabric"))
	return cmd
}

// unknownProfile rejects an unknown name of a profile, and suggests similar names.
func unknownProfile(name string, names []string) phrase.Text {
	return phrase.Meant(phrase.Of("ibprofile.unknown", "profile", strconv.Quote(name)), suggest.Quoted(name, names))
}
