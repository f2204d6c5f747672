package local

import (
	"context"
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"fairlane/command/cmdline"
	"fairlane/internal/outfile"
	"fairlane/internal/phrase"
	"fairlane/internal/usage"
	"fairlane/subnet"
	"fairlane/subnet/check"
	"fairlane/subnet/draw"
	"fairlane/subnet/ident"
)

// showReport is the output of `fabric show --from SOURCE --json`.
type showReport struct {
	Name  string      `json:"name"`
	Nodes []showNode  `json:"nodes"`
	Links []showLink  `json:"links"`
	Ways  []shownPath `json:"ways,omitempty"` // of --between
}

type showNode struct {
	GUID     ident.GUID `json:"guid"`
	Name     string     `json:"name"`
	Kind     string     `json:"kind"`
	Tier     int        `json:"tier"` // 0: hosts; 1: switches with hosts; 2 and up: further tiers
	LID      ident.LID  `json:"lid,omitempty"`
	LMC      uint8      `json:"lmc,omitempty"`
	Ports    int        `json:"ports"`
	Plugged  int        `json:"plugged"`
	VendorID uint32     `json:"vendor_id,omitempty"`
	DeviceID uint16     `json:"device_id,omitempty"`
	Revision uint32     `json:"revision,omitempty"`
	CC       string     `json:"congestion_control,omitempty"` // "answered", "refused", "silent"; "" if not queried
	Worst    string     `json:"worst,omitempty"`              // severity of the worst finding
}

type showLink struct {
	A     ident.PortID `json:"a"`
	B     ident.PortID `json:"b"`
	AName string       `json:"a_name"`
	BName string       `json:"b_name"`
	Width string       `json:"width"`
	Speed string       `json:"speed"`
	Rate  int64        `json:"rate_bps"`
	Worst string       `json:"worst,omitempty"`
}

// localShow lets `fabric show` inspect a fabric directly if --from names its source; otherwise the command queries the
// service.
func (a *app) localShow(root *cobra.Command) {
	show, _, err := root.Find([]string{"fabric", "show"})
	cmdline.Must(err)
	var f scanFlags
	var out showOutput
	a.addScanFlags(show, &f)
	show.Flags().StringVar(&out.dot, "dot", "", a.T("fabricshow.dot"))
	show.Flags().StringVar(&out.svg, "svg", "", a.T("fabricshow.svg"))
	show.Flags().StringSliceVar(&out.between, "between", nil, a.T("fabricshow.between"))
	show.Long = a.T("fabricshow.long")
	show.Example += "\n  fairlane fabric show --from ibsim:unix:lab --svg fabric.svg\n  fairlane fabric show --from file:fabric.topo --json"
	remote := show.RunE
	show.RunE = func(cmd *cobra.Command, args []string) error {
		local := f.from != ""
		for _, name := range []string{"m-key-file", "cc-key-file", "quick", "tenants", "dot", "svg", "between"} {
			if !local && cmd.Flags().Changed(name) {
				return usage.Of(phrase.Of("usage.flag-from-only", "flag", name))
			}
		}
		if !local {
			return remote(cmd, args)
		}
		if err := a.Without(cmd, cmdline.ReachFlags()); err != nil {
			return err
		}
		if len(args) > 0 {
			return usage.Of(phrase.Of("usage.name-or-from", "name", args[0]))
		}
		format, err := cmd.Flags().GetString("output")
		if err == nil && format == "yaml" {
			return usage.Of(phrase.Of("usage.output-yaml"))
		}
		if out.dot != "" && filepath.Clean(out.dot) == filepath.Clean(out.svg) {
			return usage.Of(phrase.Of("usage.dot-svg", "file", out.svg))
		}
		out.json = format == "json"
		return a.fabricShow(cmd.Context(), f, out)
	}
}

// showOutput selects the output of `fabric show --from`.
type showOutput struct {
	dot, svg string   // files
	between  []string // two ports
	json     bool
}

func (a *app) fabricShow(ctx context.Context, f scanFlags, out showOutput) error {
	l, err := a.scanFabric(ctx, f)
	if err != nil {
		return err
	}
	paths, err := pathsBetween(l.fabric, out.between)
	if err != nil {
		return err
	}
	a.Warn(a.Say(l.notes)...)
	r := l.check()
	o := marks(r.Report)
	for _, p := range []struct {
		path  string
		write func(io.Writer, *subnet.Fabric, draw.Options) error
	}{{out.dot, draw.DOT}, {out.svg, draw.SVG}} {
		if p.path == "" {
			continue
		}
		if err := outfile.Write(p.path, func(w io.Writer) error { return p.write(w, l.fabric, o) }); err != nil {
			return err
		}
	}
	if out.json {
		shown := shownFabric(l, o)
		shown.Ways = paths
		return cmdline.PrintJSON(a.Stdout, shown)
	}
	if err := a.printFabric(l, r, o); err != nil {
		return err
	}
	return a.printPaths(paths)
}

// marks converts findings to marks in a drawing.
func marks(r *check.Report) draw.Options {
	o := draw.Options{Nodes: make(map[ident.GUID]draw.Mark), Ports: make(map[ident.PortID]draw.Mark)}
	for i := range r.Findings {
		f := &r.Findings[i]
		m := draw.Mark(f.Severity)
		for _, g := range f.Nodes {
			o.Nodes[g] = max(o.Nodes[g], m)
		}
		for _, p := range f.Ports {
			if p.Port == 0 {
				o.Nodes[p.Node] = max(o.Nodes[p.Node], m)
				continue
			}
			o.Ports[p] = max(o.Ports[p], m)
		}
	}
	return o
}

// worst returns the word of a mark, "" for a plain one.
func worst(m draw.Mark) string {
	if m == draw.Plain {
		return ""
	}
	return check.Severity(m).String()
}

// nodeMark returns the worst mark of a node and its ports.
func nodeMark(f *subnet.Fabric, n int32, o draw.Options) draw.Mark {
	m := o.Nodes[f.Nodes[n].GUID]
	for p := range f.Nodes[n].Ports {
		m = max(m, o.Ports[f.PortID(subnet.PortRef{Node: n, Port: ident.PortNum(p)})])
	}
	return m
}

func shownFabric(l *fabricScan, o draw.Options) showReport {
	f := l.fabric
	r := showReport{Name: f.Name, Nodes: make([]showNode, 0, len(f.Nodes)), Links: make([]showLink, 0, len(f.Links))}
	tiers := f.Tiers()
	for i := range f.Nodes {
		r.Nodes = append(r.Nodes, nodeShown(l, int32(i), tiers[i], o))
	}
	for i := range f.Links {
		k := &f.Links[i]
		r.Links = append(r.Links, showLink{
			A: f.PortID(k.A), B: f.PortID(k.B), AName: f.PortName(k.A), BName: f.PortName(k.B),
			Width: k.Width.String(), Speed: k.Speed.String(), Rate: int64(k.Rate),
			Worst: worst(max(o.Ports[f.PortID(k.A)], o.Ports[f.PortID(k.B)])),
		})
	}
	return r
}

func nodeShown(l *fabricScan, i int32, tier int, o draw.Options) showNode {
	n := &l.fabric.Nodes[i]
	out := showNode{
		GUID: n.GUID, Name: n.Name, Kind: n.Kind.String(), Tier: tier, Ports: len(n.Ports) - 1,
		VendorID: n.VendorID, DeviceID: n.DeviceID, Revision: n.Revision, Worst: worst(nodeMark(l.fabric, i, o)),
	}
	for p := range n.Ports {
		if n.Ports[p].Link >= 0 {
			out.Plugged++
		}
		if out.LID == 0 && n.Ports[p].LID != 0 {
			out.LID, out.LMC = n.Ports[p].LID, n.Ports[p].LMC
		}
	}
	if d := l.extra.Details; d != nil && d.Nodes[i].CC != subnet.NotAsked {
		out.CC = d.Nodes[i].CC.String()
	}
	return out
}

// printFabric prints the switches, the top tier first, and the number of hosts and findings.
func (a *app) printFabric(l *fabricScan, r checkReport, o draw.Options) error {
	f := l.fabric
	t := cmdline.NewTable(a.Stdout, 0)
	if _, err := fmt.Fprintln(t, a.T("fabricshow.columns")); err != nil {
		return err
	}
	tiers := f.Tiers()
	top := 0
	for _, s := range f.Switches() {
		top = max(top, tiers[s])
	}
	for tier := top; tier >= 0; tier-- {
		for _, s := range f.Switches() {
			if tiers[s] != tier {
				continue
			}
			n := nodeShown(l, s, tier, o)
			hosts := 0
			for p := range f.Nodes[s].Ports {
				if peer, ok := f.Peer(subnet.PortRef{Node: s, Port: ident.PortNum(p)}); ok && f.Nodes[peer.Node].Kind != subnet.KindSwitch {
					hosts++
				}
			}
			if _, err := fmt.Fprintf(t, "%d\t%s\t%s\t%d\t%d\t%d\t%d\t%s\n", tier, n.Name, n.GUID, n.LID, n.Ports, n.Plugged, hosts, n.Worst); err != nil {
				return err
			}
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	return a.printTotals(r)
}
