package discover_test

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	simfabric "fairlane/sim/fabric"
	"fairlane/sim/simdev"
	"fairlane/subnet"
	"fairlane/subnet/discover"
	"fairlane/subnet/ident"
	"fairlane/subnet/mad"
	"fairlane/subnet/topogen"
)

func TestTablesAreRead(t *testing.T) {
	t.Parallel()
	f := fabric(t)
	x := newFake(f, host(f, "host 1"))
	x.tables, x.sm = true, 3
	r := mustSweep(t, x, discover.Options{Tables: true})
	if len(r.Warnings) > 0 {
		t.Errorf("warnings %v", r.Warnings)
	}
	d := r.Details
	if d.SM != 3 {
		t.Errorf("subnet manager at LID %d: want 3", d.SM)
	}
	for i := range d.Nodes {
		if n := &d.Nodes[i]; n.CC != subnet.Answered || n.CCInfo != uint16(i) || (n.CCTables == 2) != (f.Nodes[i].Kind == subnet.KindCA) {
			t.Errorf("%s: congestion control %s, info %d, %d tables", f.Nodes[i].Name, n.CC, n.CCInfo, n.CCTables)
		}
	}
	h := d.Port(subnet.PortRef{Node: 1, Port: 2})
	if h.Keys != subnet.Answered || len(h.PKeys) != 35 || h.PKeys[0] != 0xffff || h.PKeys[34] != 0xffff-34 {
		t.Errorf("P_Keys %s: want 35 from two blocks", h.PKeys)
	}
	// The low-priority table has 40 entries: a full half and a short one. The high-priority table has 8: a short
	// half.
	if h.Arb != subnet.Answered || len(h.ArbLow) != 40 || len(h.ArbHigh) != 8 || h.ArbLow[31].Weight != 10 || h.ArbLow[32].Weight != 20 || h.ArbHigh[7] != (subnet.VLShare{VL: 7, Weight: 30}) {
		t.Errorf("arbitration %s, low %v, high %v", h.Arb, h.ArbLow, h.ArbHigh)
	}
	leaf := subnet.PortRef{Node: 4, Port: 5}
	for in, want := range map[ident.PortNum]subnet.Answer{1: subnet.Answered, 5: subnet.NotAsked, 7: subnet.NotAsked} {
		if got := d.Port(leaf).Lanes[in].Read; got != want {
			t.Errorf("table from port %d: %s, want %s", in, got, want)
		}
	}
	if vl, ok := d.Lane(leaf, 2, 3); !ok || vl != ident.VL((3+(2<<8|5)+2+4)%8) {
		t.Errorf("SL 3 from port 2 leaves leaf 2 by port 5 on lane %d, %t", vl, ok)
	}
	if vl, ok := d.Lane(leaf, 7, 3); ok {
		t.Errorf("lane %d from a port that was not queried", vl)
	}
	if a := d.Port(leaf).Arb; a != subnet.Answered || d.Port(leaf).ArbLow[0].Weight != 15 {
		t.Errorf("arbitration of a switch's port: %s, %v", a, d.Port(leaf).ArbLow)
	}
	if got := mustSweep(t, newFake(f, host(f, "host 1")), discover.Options{}).Details; got.Nodes[0].CC != subnet.NotAsked || got.Port(leaf).Lanes != nil || got.Port(leaf).Info != subnet.Answered {
		t.Error("without Options.Tables: want the ports' own facts and nothing else")
	}
}

func TestUnreadTablesBecomeWarnings(t *testing.T) {
	t.Parallel()
	f := fabric(t)
	x := newFake(f, host(f, "host 1"))
	x.tables = true
	x.mutate = func(at int32, p *mad.Packet) bool {
		switch {
		case at == 4 && p.Attr() == mad.AttrSLToVLTable, at == 2 && p.Class() == mad.ClassCongestion:
			return false
		case at == 4 && p.Attr() == mad.AttrVLArbitration, at == 3 && p.Class() == mad.ClassCongestion, at == 0 && p.Attr() == mad.AttrPKeyTable:
			p.SetStatus(mad.StatusBadMethodAttr)
		}
		return true
	}
	r := mustSweep(t, x, discover.Options{Tables: true})
	var texts []string
	for _, w := range r.Warnings {
		texts = append(texts, w.At(r.Fabric).String())
	}
	// leaf 2 has six ports that are plugged in: 6 x 5 pairs.
	want := []string{
		"host 1: refuses 1 partition table; their contents are unknown",
		"leaf 2: refuses 6 arbitration tables; their contents are unknown",
		"leaf 2: does not answer requests for 30 SL to VL tables; their contents are unknown",
	}
	if !slices.Equal(texts, want) {
		t.Errorf("warning %q: want %q", texts, want)
	}
	d := r.Details
	if d.Nodes[2].CC != subnet.Silent || d.Nodes[3].CC != subnet.Refused || d.Nodes[0].CC != subnet.Answered {
		t.Errorf("congestion control %s, %s, %s: want silent, refused, answered", d.Nodes[2].CC, d.Nodes[3].CC, d.Nodes[0].CC)
	}
	leaf := subnet.PortRef{Node: 4, Port: 5}
	if _, ok := d.Lane(leaf, 1, 0); ok || d.Port(leaf).Arb != subnet.Refused {
		t.Error("a table that was not read has a value")
	}
}

// lab is a simulated fabric with a transport that a test can manipulate.
type lab struct {
	dev *simdev.Devices
	f   *subnet.Fabric
	mad.Transport
	asked  atomic.Int64
	before func(n int64)                             // called before the n-th request
	after  func(to mad.Target, answer *mad.Packet)   // may change an answer
	route  func(to mad.Target) (mad.Transport, bool) // may select another fabric
}

func newLab(t testing.TB, f *subnet.Fabric) *lab {
	t.Helper()
	n, err := simfabric.New(f, simfabric.Config{})
	if err != nil {
		t.Fatal(err)
	}
	d, err := simdev.New(n, simdev.Options{TimeScale: 1})
	if err != nil {
		t.Fatal(err)
	}
	l := &lab{dev: d, f: f}
	if l.Transport, err = d.Local(host(f, "host-001")); err != nil {
		t.Fatal(err)
	}
	return l
}

func (l *lab) Exchange(ctx context.Context, to mad.Target, req *mad.Packet) (mad.Packet, error) {
	if n := l.asked.Add(1); l.before != nil {
		l.before(n)
	}
	x := l.Transport
	if l.route != nil {
		if other, ok := l.route(to); ok {
			x = other
		}
	}
	p, err := x.Exchange(ctx, to, req)
	if err == nil && l.after != nil {
		l.after(to, &p)
	}
	return p, err
}

func labFabric(t testing.TB) *subnet.Fabric {
	t.Helper()
	f, err := topogen.LeafSpine(topogen.LeafSpineOptions{Leaves: 3, HostsPerLeaf: 3, Spines: 2})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestKeyedDevicesAnswerOnlyWithTheKey(t *testing.T) {
	t.Parallel()
	l := newLab(t, labFabric(t))
	spine := l.f.NodesByName("spine1")[0]
	if err := l.dev.GuardSM(spine, 0x1234, 2, 0); err != nil {
		t.Fatal(err)
	}
	r := mustSweep(t, l, discover.Options{})
	if _, ok := r.Fabric.NodeByGUID(l.f.Nodes[spine].GUID); ok || len(r.Fabric.Nodes) != len(l.f.Nodes)-1 {
		t.Errorf("%d nodes: want all but the one with a key", len(r.Fabric.Nodes))
	}
	if len(r.Warnings) != 3 || !strings.Contains(r.Warnings[0].Text, "M_Key") {
		t.Errorf("warnings %v: want one for each leaf that mentions M_Keys", r.Warnings)
	}
	r = mustSweep(t, l, discover.Options{MKey: 0x1234})
	if len(r.Fabric.Nodes) != len(l.f.Nodes) || len(r.Warnings) > 0 {
		t.Errorf("%d nodes and warnings %v with the key: want all", len(r.Fabric.Nodes), r.Warnings)
	}
	if p := r.Details.Port(subnet.PortRef{Node: mustNode(t, r.Fabric, l.f.Nodes[spine].GUID)}); p.KeyProtect != 2 {
		t.Errorf("protection %d: want 2", p.KeyProtect)
	}
}

func mustNode(t testing.TB, f *subnet.Fabric, g ident.GUID) int32 {
	t.Helper()
	n, ok := f.NodeByGUID(g)
	if !ok {
		t.Fatalf("no node %s", g)
	}
	return n
}

// TestDuplicateGUIDBecomesWarning gives one host the identity of another.
func TestDuplicateGUIDBecomesWarning(t *testing.T) {
	t.Parallel()
	l := newLab(t, labFabric(t))
	a, b := l.f.NodesByName("host-005")[0], l.f.NodesByName("host-009")[0]
	l.after = func(_ mad.Target, p *mad.Packet) {
		if p.Class() != mad.ClassSubnDR || p.Attr() != mad.AttrNodeInfo {
			return
		}
		var v mad.NodeInfo
		if v.Decode(p.Data()) == nil && v.NodeGUID == l.f.Nodes[b].GUID {
			v.NodeGUID, v.SystemGUID, v.PortGUID = l.f.Nodes[a].GUID, l.f.Nodes[a].SystemGUID, l.f.Nodes[a].Ports[1].GUID
			if err := v.Encode(p.Data()); err != nil {
				t.Error(err)
			}
		}
	}
	r := mustSweep(t, l, discover.Options{})
	if len(r.Fabric.Nodes) != len(l.f.Nodes)-1 || len(r.Warnings) != 1 || r.Warnings[0].Kind != discover.WarnDuplicateGUID {
		t.Fatalf("%d nodes, warnings %v: want all but one, and the GUID named once", len(r.Fabric.Nodes), r.Warnings)
	}
	if place, _, _ := strings.Cut(r.Warnings[0].At(r.Fabric).String(), ":"); place != "leaf2/P2" && place != "leaf3/P3" {
		t.Errorf("the second node is at %s: want the port that leads to it", place)
	}
}

// TestPortMovingDuringASweepIsFoundInOnePlace changes the fabric at every possible moment of the sweep.
func TestPortMovingDuringASweepIsFoundInOnePlace(t *testing.T) {
	t.Parallel()
	f := labFabric(t)
	whole := mustSweep(t, newLab(t, f), discover.Options{Parallel: 1})
	moved := f.NodesByName("host-005")[0]
	links := slices.Clone(f.Links)
	i := slices.IndexFunc(links, func(l subnet.Link) bool { return l.B.Node == moved })
	j := slices.IndexFunc(links, func(l subnet.Link) bool { return f.Nodes[l.B.Node].Name == "host-009" })
	links[i].B, links[j].B = links[j].B, links[i].B // two hosts swap places
	g, err := subnet.New("moved", f.Nodes, links)
	if err != nil {
		t.Fatal(err)
	}
	if g, err = g.WithLFTs(f.LFTs); err != nil {
		t.Fatal(err)
	}
	after := newLab(t, g)
	odd := 0
	for at := int64(1); at < int64(whole.MADs); at += 3 {
		l := newLab(t, f)
		l.route = func(mad.Target) (mad.Transport, bool) { return after, l.asked.Load() >= at }
		l.after = func(_ mad.Target, p *mad.Packet) { // the leaves report the change
			var v mad.SwitchInfo
			if l.asked.Load() < at || p.Class() != mad.ClassSubnDR || p.Attr() != mad.AttrSwitchInfo || v.Decode(p.Data()) != nil {
				return
			}
			if v.PortStateChange = true; v.Encode(p.Data()) != nil {
				t.Error("SwitchInfo does not encode")
			}
		}
		r := mustSweep(t, l, discover.Options{Parallel: 1})
		for _, name := range []string{"host-005", "host-009"} {
			if n := len(r.Fabric.NodesByName(name)); n > 1 || n == 0 && len(r.Warnings) == 0 {
				t.Errorf("changed at request %d: %d nodes called %s, warnings %v", at, n, name, r.Warnings)
			}
		}
		if len(r.Warnings) > 0 {
			odd++
		}
		// The next sweep is correct, and the event reports the move.
		r2, err := discover.Again(t.Context(), after, r, discover.AgainOptions{Routes: true})
		if err != nil {
			t.Fatal(err)
		}
		if len(r2.Warnings) > 0 || len(r2.Fabric.Nodes) != len(f.Nodes) {
			t.Errorf("changed at request %d: a second sweep finds %d nodes and warns %v", at, len(r2.Fabric.Nodes), r2.Warnings)
		}
	}
	if odd == 0 {
		t.Error("no change fell into the middle of a sweep: the test proves nothing")
	}
}

// TestLinkDownDuringASweepIsFoundByTheNext takes a link of a simulated fabric down halfway.
func TestLinkDownDuringASweepIsFoundByTheNext(t *testing.T) {
	t.Parallel()
	l := newLab(t, labFabric(t))
	cut := subnet.PortRef{Node: l.f.NodesByName("leaf2")[0], Port: 4}
	l.before = func(n int64) {
		if n == 40 {
			l.dev.SetLink(cut, false)
		}
	}
	first := mustSweep(t, l, discover.Options{Parallel: 1})
	next, err := discover.Again(t.Context(), l, first, discover.AgainOptions{Trust: true})
	if err != nil {
		t.Fatal(err)
	}
	l.before = nil
	full := mustSweep(t, l, discover.Options{})
	if d := subnet.Diff(full.Fabric, next.Fabric); !d.Empty() || len(next.Fabric.Links) != len(l.f.Links)-1 {
		t.Errorf("%d links; the second sweep differs from a full one: %s", len(next.Fabric.Links), d)
	}
	l.dev.SetLink(cut, true)
	up, err := discover.Again(t.Context(), l, next, discover.AgainOptions{})
	if err != nil {
		t.Fatal(err)
	}
	events := kindsOf(discover.Changes(next, up))
	if !slices.Contains(events, "link-up: link leaf2/P4 - spine1/P2 is up") {
		t.Errorf("events %q: want the link up", events)
	}
}
