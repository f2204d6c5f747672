package local

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"fairlane/command/cmdline"
	"fairlane/command/cmdline/cmdlinetest"
	"fairlane/internal/i18n"
	"fairlane/sim/fabric"
	"fairlane/sim/simdev"
	"fairlane/subnet"
	"fairlane/subnet/check"
	"fairlane/subnet/ident"
	"fairlane/subnet/mad"
	"fairlane/subnet/topogen"
)

// faultyFabrics numbers the sockets of this process.
var faultyFabrics atomic.Int64

// faulty is a simulated fabric behind a socket, to which tests add faults.
type faulty struct {
	t    *testing.T
	dev  *simdev.Devices
	topo *subnet.Fabric
	addr string
}

func newFaulty(t *testing.T, o simdev.Options) *faulty {
	t.Helper()
	return newFaultyOf(t, topogen.LeafSpineOptions{Leaves: 2, HostsPerLeaf: 2, Spines: 1}, o)
}

func newFaultyOf(t *testing.T, of topogen.LeafSpineOptions, o simdev.Options) *faulty {
	t.Helper()
	topo, err := topogen.LeafSpine(of)
	if err != nil {
		t.Fatal(err)
	}
	n, err := fabric.New(topo, fabric.Config{})
	if err != nil {
		t.Fatal(err)
	}
	o.TimeScale = 1
	f := &faulty{t: t, topo: topo, addr: fmt.Sprintf("unix:fairlane-faulty-%d-%d", os.Getpid(), faultyFabrics.Add(1))}
	if f.dev, err = simdev.New(n, o); err != nil {
		t.Fatal(err)
	}
	s, err := simdev.Listen(f.dev, f.addr)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	return f
}

func (f *faulty) node(name string) int32 { return f.topo.NodesByName(name)[0] }

// set changes an attribute of a port as a subnet manager does, through its node's LID.
func (f *faulty) set(node int32, a mad.AttrID, modifier uint32, v mad.Attribute) {
	f.t.Helper()
	x, err := f.dev.Local(subnet.PortRef{Node: f.node("host-001"), Port: 1})
	if err != nil {
		f.t.Fatal(err)
	}
	req := mad.NewSMP(mad.MethodSet, a, modifier)
	if err := v.Encode(req.Data()); err != nil {
		f.t.Fatal(err)
	}
	lid := max(f.topo.Nodes[node].Ports[0].LID, f.topo.Nodes[node].Ports[1].LID)
	if _, err := mad.Call(f.t.Context(), x, mad.Target{LID: lid}, &req); err != nil {
		f.t.Fatal(err)
	}
}

// lanes sets up four lanes on each port, SL n on lane n mod 4.
func (f *faulty) lanes() {
	f.t.Helper()
	for i := range f.topo.Nodes {
		n := &f.topo.Nodes[i]
		var table mad.SLToVLTable
		for sl := range table {
			table[sl] = ident.VL(sl % 4)
		}
		for p := 1; p < len(n.Ports); p++ {
			v := f.portInfo(int32(i), uint32(p))
			v.OperationalVLs, v.State, v.PhysState, v.LinkDownDefaultState = mad.VLCode(4), 0, 0, 0
			f.set(int32(i), mad.AttrPortInfo, uint32(p), &v)
			if n.Kind != subnet.KindSwitch {
				f.set(int32(i), mad.AttrSLToVLTable, 0, &table)
			}
			for in := 1; in < len(n.Ports) && n.Kind == subnet.KindSwitch; in++ {
				f.set(int32(i), mad.AttrSLToVLTable, mad.SLToVLModifier(ident.PortNum(in), ident.PortNum(p)), &table)
			}
		}
	}
}

func (f *faulty) portInfo(node int32, port uint32) mad.PortInfo {
	f.t.Helper()
	x, err := f.dev.Local(subnet.PortRef{Node: f.node("host-001"), Port: 1})
	if err != nil {
		f.t.Fatal(err)
	}
	req := mad.NewSMP(mad.MethodGet, mad.AttrPortInfo, port)
	lid := max(f.topo.Nodes[node].Ports[0].LID, f.topo.Nodes[node].Ports[1].LID)
	resp, err := mad.Call(f.t.Context(), x, mad.Target{LID: lid}, &req)
	if err != nil {
		f.t.Fatal(err)
	}
	var v mad.PortInfo
	if err := v.Decode(resp.Data()); err != nil {
		f.t.Fatal(err)
	}
	return v
}

// check runs `fairlane fabric check` on the fabric and returns its findings and its exit code.
func (f *faulty) check(args ...string) (check.Report, int) {
	f.t.Helper()
	var out, words bytes.Buffer
	code := runLocal(f.t.Context(), append([]string{"fabric", "check", "--from", "ibsim:" + f.addr, "--json"}, args...), &out, &words)
	var read struct {
		Findings []struct {
			Code     check.Code `json:"code"`
			Severity string     `json:"severity"`
			Text     string     `json:"text"`
		} `json:"findings"`
	}
	if err := json.Unmarshal(out.Bytes(), &read); err != nil {
		f.t.Fatalf("%v in %s; %s", err, out.String(), words.String())
	}
	var r check.Report
	for _, x := range read.Findings {
		sev := check.Info
		switch x.Severity {
		case "error":
			sev = check.Error
		case "warning":
			sev = check.Warning
		}
		r.Findings = append(r.Findings, check.Finding{Code: x.Code, Severity: sev, Text: x.Text})
	}
	return r, code
}

func (f *faulty) file(name, text string) string {
	f.t.Helper()
	path := filepath.Join(f.t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		f.t.Fatal(err)
	}
	return path
}

const twoTenants = `version: 1
tenants:
  - name: ml
    weight: 2
    attachments: [{port: host-001, sl: 1}, {port: host-003, sl: 1}]
    flows: [{from: host-001, to: host-003}]
  - name: web
    weight: 1
    attachments: [{port: host-002, sl: 2}, {port: host-003, sl: 2}]
    flows: [{from: host-002, to: host-003}]
`

// TestFaultsOfALiveFabricAreFound adds one fault after another to a running fabric. The check finds each by its code,
// and finds nothing without the fault.
func TestFaultsOfALiveFabricAreFound(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		make func(f *faulty) []string // returns further arguments
		want []string                 // "severity code: part of the text"
		exit int
	}{
		{"none", func(f *faulty) []string { return []string{"--tenants", f.file("t.yaml", twoTenants)} }, nil, 0},
		{"an M_Key that was not given", func(f *faulty) []string {
			cmdline.Must(f.dev.GuardSM(f.node("leaf2"), 0x77, 2, 0))
			return nil
		}, []string{"error unresponsive: spine1/P2: no NodeInfo"}, 1},
		{"an M_Key that was given", func(f *faulty) []string {
			cmdline.Must(f.dev.GuardSM(f.node("leaf2"), 0x77, 2, 0))
			return []string{"--m-key-file", f.file("mkey", "0x77\n")}
		}, nil, 0},
		{"firmware without congestion control", func(f *faulty) []string {
			f.dev.SetFaults(simdev.Faults{Nodes: []int32{f.node("spine1"), f.node("host-004")}, CC: simdev.CCNoAttribute})
			return nil
		}, []string{"warning no-cc: 1 switch without congestion-control support, so no packets are marked there: spine1", "warning no-cc: 1 channel adapter without congestion-control support, so no flow slows down there: host-004"}, 0},
		{"a tenant's SL that is dropped on the way", func(f *faulty) []string {
			table := mad.SLToVLTable{0, 1, 15, 3}
			f.set(f.node("spine1"), mad.AttrSLToVLTable, mad.SLToVLModifier(1, 2), &table)
			return []string{"--tenants", f.file("t.yaml", twoTenants)}
		}, []string{"error sl-dropped: SL 2 (web) is dropped (lane 15) at 1 port: spine1/P2"}, 1},
		{"two tenants on one lane", func(f *faulty) []string {
			table := mad.SLToVLTable{0, 1, 1, 3}
			f.set(f.node("spine1"), mad.AttrSLToVLTable, mad.SLToVLModifier(1, 2), &table)
			return []string{"--tenants", f.file("t.yaml", twoTenants)}
		}, []string{"info sl-folded: SL 1 (ml) and SL 2 (web) share lane 1 at 1 port: spine1/P2"}, 0},
		{"a lane without a turn", func(f *faulty) []string {
			var none mad.VLArbitration
			low := none
			low[0], low[1] = mad.VLArbEntry{VL: 0, Weight: 64}, mad.VLArbEntry{VL: 1, Weight: 64}
			for half, v := range map[uint8]*mad.VLArbitration{mad.VLArbLowFirst: &low, mad.VLArbLowSecond: &none, mad.VLArbHighFirst: &none, mad.VLArbHighSecond: &none} {
				f.set(f.node("leaf2"), mad.AttrVLArbitration, mad.VLArbModifier(half, 1), v)
			}
			return []string{"--tenants", f.file("t.yaml", twoTenants)}
		}, []string{"error vl-no-weight: lane 2 carries packets but has no weight at 1 port: leaf2/P1"}, 1},
		{"routes in a circle", func(f *faulty) []string {
			lid := f.topo.Nodes[f.node("host-003")].Ports[1].LID
			block := mad.LinearForwardingTable{}
			for i := range block {
				block[i] = ident.DropPort
				if row := f.topo.LFTs[f.node("leaf2")]; i < len(row) {
					block[i] = row[i]
				}
			}
			block[lid] = 3
			f.set(f.node("leaf2"), mad.AttrLinearForwardingTable, 0, &block)
			return nil
		}, []string{"error lft-loop: packets to 1 LID", "error unreachable: 3 of 12 pairs have no path: 3 loop",
			"warning cc-silent: 1 channel adapter without an answer to congestion-control requests: host-003"}, 1},
		{"a host that was unplugged", func(f *faulty) []string {
			f.dev.SetLink(subnet.PortRef{Node: f.node("host-004"), Port: 1}, false)
			return nil
		}, nil, 0},
		{"a port outside the default partition", func(f *faulty) []string {
			f.set(f.node("host-002"), mad.AttrPKeyTable, 0, &mad.PKeyTable{0x8005})
			return nil
		}, []string{"error pkey-management: 1 port not in the default partition: host-002/P1"}, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := newFaulty(t, simdev.Options{})
			f.lanes()
			r, code := f.check(tt.make(f)...)
			var got []string
			for _, x := range r.Findings {
				got = append(got, fmt.Sprintf("%s %s: %s", x.Severity, x.Code, x.Text))
			}
			if code != tt.exit {
				t.Errorf("exit code %d: want %d", code, tt.exit)
			}
			for i, want := range tt.want {
				if i >= len(got) || !strings.HasPrefix(got[i], want) {
					t.Errorf("found %q: want %q at %d", got, want, i)
				}
			}
			if len(got) > len(tt.want) {
				t.Errorf("also found %q", got[len(tt.want):])
			}
		})
	}
}

// TestALossyFabricIsReadCompletely drops one answer in twenty, and every answer of two nodes once.
func TestALossyFabricIsReadCompletely(t *testing.T) {
	t.Parallel()
	f := newFaulty(t, simdev.Options{})
	f.dev.SetFaults(simdev.Faults{Seed: 3, DropReply: 0.05, LoseReplies: 2})
	if r, code := f.check(); code != 0 || len(r.Findings) > 0 {
		t.Errorf("exit code %d, findings %+v: want none", code, r.Findings)
	}
}

// TestEveryTextOfTheCheckIsInTheCatalogues looks for groups, severities and reasons in both languages.
func TestEveryTextOfTheCheckIsInTheCatalogues(t *testing.T) {
	t.Parallel()
	for _, lang := range i18n.Languages() {
		a := (&app{cmdlinetest.App(t, lang)})
		var keys []string
		for _, g := range check.Groups() {
			keys = append(keys, "fabriccheck.group."+string(g))
		}
		for _, s := range check.Skips() {
			keys = append(keys, "fabriccheck.skip."+string(s))
		}
		for s := check.Info; s <= check.Error; s++ {
			keys = append(keys, "fabriccheck."+s.String(), "fabriccheck.total."+s.String())
		}
		for _, c := range check.Codes() {
			k := "fabriccheck.do." + string(c)
			if keys = append(keys, k); lang == i18n.Default && a.T(k) != check.Remedy(c) {
				t.Errorf("%s is %q: want %q", k, a.T(k), check.Remedy(c))
			}
		}
		for _, k := range keys {
			if a.T(k) == k {
				t.Errorf("%s: no text for %s", lang, k)
			}
		}
	}
}
