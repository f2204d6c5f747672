package local

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"fairlane/command/cmdline"
	"fairlane/internal/outfile"
	"fairlane/internal/phrase"
	"fairlane/internal/progress"
	"fairlane/internal/usage"
	"fairlane/service/site"
	"fairlane/subnet"
	"fairlane/subnet/discover"
	"fairlane/subnet/topofile"
)

// discoverReport is the output of `discover --json`.
type discoverReport struct {
	Nodes    int      `json:"nodes"`
	Switches int      `json:"switches"`
	Hosts    int      `json:"hosts"`
	Links    int      `json:"links"`
	WallS    float64  `json:"wall_s"`
	MADsSent int64    `json:"mads_sent"`
	Warnings []string `json:"warnings,omitempty"`

	// Of an Ethernet fabric.
	DevicesAsked    int `json:"devices_asked,omitempty"`
	DevicesAnswered int `json:"devices_answered,omitempty"`
}

func (a *app) discoverCommand() *cobra.Command {
	var from, out, key string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "discover --from SOURCE",
		Short: a.T("discover.short"),
		Long:  a.T("discover.long"),
		Example: `  fairlane discover --from file:fabric.topo
  fairlane discover --from umad:mlx5_0:1
  fairlane discover --from ibsim:unix:lab --json
  fairlane discover --from ibsim:udp:127.0.0.1:7070 --write fabric.yaml
  fairlane discover --from ethernet:inventory.yaml`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			src, err := site.ParseSource(from)
			if err != nil {
				return err
			}
			if src.MKey, err = site.MKey(key); err != nil {
				return err
			}
			if key != "" && (src.File != "" || src.Ethernet != "") {
				return usage.Of(phrase.Of("usage.m-key-source", "source", src.String()))
			}
			line := progress.On(a.Stderr)
			var last discover.Progress
			o, err := site.DiscoverSource(cmd.Context(), src, func(p discover.Progress) {
				last = p
				if src.Ethernet != "" {
					line.Show(a.T("discover.progress.ethernet", "asked", p.Nodes, "devices", p.MADs))
					return
				}
				line.Show(a.T("discover.progress", "nodes", p.Nodes, "mads", p.MADs))
			})
			line.Clear()
			if err != nil {
				if cmd.Context().Err() != nil {
					_, _ = fmt.Fprintln(a.Stderr, a.T("discover.stopped", "nodes", last.Nodes))
				}
				return err
			}
			f := o.Fabric
			if out != "" {
				if err := writeFabric(out, f); err != nil {
					return err
				}
			}
			report := discoverReport{
				Nodes: len(f.Nodes), Switches: len(f.Switches()), Hosts: len(f.Hosts()), Links: len(f.Links),
				WallS: o.Stats.Wall.Seconds(), MADsSent: o.Stats.MADsSent, Warnings: phrase.English(o.Warnings),
				DevicesAsked: o.Asked, DevicesAnswered: o.Answered,
			}
			if asJSON {
				return cmdline.PrintJSON(a.Stdout, report)
			}
			return a.printDiscovery(f, report, o.Warnings)
		},
	}
	cmd.Flags().StringVar(&from, "from", "", a.T("discover.from"))
	a.MKeyFlag(cmd, &key)
	cmd.Flags().StringVarP(&out, "write", "w", "", a.T("discover.write"))
	cmd.Flags().BoolVar(&asJSON, "json", false, a.T("flag.json"))
	cmdline.Must(cmd.MarkFlagRequired("from"))
	return cmd
}

func (a *app) printDiscovery(f *subnet.Fabric, r discoverReport, warnings []phrase.Text) error {
	a.Warn(a.Say(warnings)...)
	text := a.T("discover.result", "nodes", r.Nodes, "switches", r.Switches, "hosts", r.Hosts,
		"links", r.Links, "seconds", fmt.Sprintf("%.3f", r.WallS), "mads", r.MADsSent)
	if r.DevicesAsked > 0 {
		text = a.T("discover.result.ethernet", "nodes", r.Nodes, "switches", r.Switches, "hosts", r.Hosts,
			"links", r.Links, "seconds", fmt.Sprintf("%.3f", r.WallS), "asked", r.DevicesAsked, "answered", r.DevicesAnswered)
	}
	_, err := fmt.Fprintln(a.Stdout, text)
	if err != nil {
		return err
	}
	tiers := f.Tiers()
	counts := map[int]int{}
	top := 0
	for _, t := range tiers {
		counts[t]++
		top = max(top, t)
	}
	for t := top; t >= 0; t-- {
		if counts[t] == 0 {
			continue
		}
		name := a.T("discover.tier.switches", "tier", t)
		if t == 0 {
			name = a.T("discover.tier.hosts")
		}
		if _, err := fmt.Fprintf(a.Stdout, "  %-12s %6d\n", name, counts[t]); err != nil {
			return err
		}
	}
	return nil
}

// writeFabric writes a fabric file in the format of the name's suffix.
func writeFabric(path string, f *subnet.Fabric) error {
	return outfile.Write(path, func(w io.Writer) error {
		if cmdline.IsYAML(path) {
			return topofile.WriteYAML(w, f)
		}
		return topofile.WriteIbnetdiscover(w, f)
	})
}
