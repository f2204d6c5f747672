package discover_test

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"fairlane/subnet"
	"fairlane/subnet/discover"
	"fairlane/subnet/ident"
	"fairlane/subnet/mad"
	"fairlane/subnet/topogen"
)

// world is a fabric that changes, with the change flags of its switches.
type world struct {
	nodes   []subnet.Node
	links   []subnet.Link
	changed map[ident.GUID]bool
	named   map[ident.GUID]bool // nodes that a trap would name
	quiet   bool                // switches do not report changes
	next    ident.GUID
}

func newWorld(t testing.TB) *world {
	t.Helper()
	f, err := topogen.LeafSpine(topogen.LeafSpineOptions{Leaves: 4, HostsPerLeaf: 3, Spines: 2, Parallel: 2})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{nodes: slices.Clone(f.Nodes), links: slices.Clone(f.Links), next: 0x9000}
	for i := range w.nodes {
		w.nodes[i].Ports = slices.Clone(w.nodes[i].Ports)
		if w.nodes[i].Kind == subnet.KindSwitch { // spare ports for added nodes
			w.nodes[i].Ports = append(w.nodes[i].Ports, subnet.Port{MTU: 4096, VLCap: 8}, subnet.Port{MTU: 4096, VLCap: 8})
		}
	}
	w.reset()
	return w
}

func (w *world) reset() { w.changed, w.named = map[ident.GUID]bool{}, map[ident.GUID]bool{} }

// touch sets the change flags at both nodes of a link.
func (w *world) touch(refs ...subnet.PortRef) {
	for _, r := range refs {
		if g := w.nodes[r.Node].GUID; w.nodes[r.Node].Kind == subnet.KindSwitch {
			w.named[g] = true
			w.changed[g] = w.changed[g] || !w.quiet
		}
	}
}

// fabric builds the current fabric: LIDs are kept, and routes are computed.
func (w *world) fabric(t fatalReporter) *subnet.Fabric {
	t.Helper()
	nodes := slices.Clone(w.nodes)
	plugged := map[subnet.PortRef]bool{}
	for _, l := range w.links {
		plugged[l.A], plugged[l.B] = true, true
	}
	for i := range nodes {
		nodes[i].Ports = slices.Clone(nodes[i].Ports)
		for p := 1; p < len(nodes[i].Ports); p++ {
			if nodes[i].Ports[p].State = subnet.PortDown; plugged[subnet.PortRef{Node: int32(i), Port: ident.PortNum(p)}] {
				nodes[i].Ports[p].State = subnet.PortActive
			}
		}
	}
	f, err := subnet.New("", nodes, w.links)
	if err != nil {
		t.Fatal(err)
	}
	if f, err = subnet.AssignLIDs(f, 0); err != nil {
		t.Fatal(err)
	}
	for i := range w.nodes {
		for p := range w.nodes[i].Ports {
			w.nodes[i].Ports[p].LID = f.Nodes[i].Ports[p].LID
		}
	}
	lfts, err := subnet.ComputeMinHopRoutes(f)
	if err != nil {
		t.Fatal(err)
	}
	if f, err = f.WithLFTs(lfts); err != nil {
		t.Fatal(err)
	}
	return f
}

type fatalReporter interface {
	Helper()
	Fatal(...any)
}

// lids returns the LIDs, in the earlier fabric, of the nodes that traps of the last changes named.
func (w *world) lids(f *subnet.Fabric) []ident.LID {
	var out []ident.LID
	for g := range w.named {
		if n, ok := f.NodeByGUID(g); ok {
			out = append(out, max(f.Nodes[n].Ports[0].LID, f.Nodes[n].Ports[1].LID))
		}
	}
	return out
}

func (w *world) free(t *rapid.T, kind subnet.NodeKind) (subnet.PortRef, bool) {
	used := map[subnet.PortRef]bool{}
	for _, l := range w.links {
		used[l.A], used[l.B] = true, true
	}
	var all []subnet.PortRef
	for i := range w.nodes {
		for p := 1; p < len(w.nodes[i].Ports) && w.nodes[i].Kind == kind; p++ {
			if r := (subnet.PortRef{Node: int32(i), Port: ident.PortNum(p)}); !used[r] {
				all = append(all, r)
			}
		}
	}
	if len(all) == 0 {
		return subnet.PortRef{}, false
	}
	return rapid.SampledFrom(all).Draw(t, "port"), true
}

// change makes one random change. The client's own cable, link 0, stays.
func (w *world) change(t *rapid.T) {
	i := rapid.IntRange(1, len(w.links)-1).Draw(t, "link")
	switch rapid.SampledFrom([]string{"unplug", "plug", "move", "slow", "host", "swap", "rename"}).Draw(t, "change") {
	case "unplug":
		w.touch(w.links[i].A, w.links[i].B)
		w.links = slices.Delete(slices.Clone(w.links), i, i+1)
	case "plug":
		a, ok := w.free(t, subnet.KindSwitch)
		b, ok2 := w.free(t, rapid.SampledFrom([]subnet.NodeKind{subnet.KindSwitch, subnet.KindCA}).Draw(t, "kind"))
		if ok && ok2 && a != b {
			w.links = append(slices.Clone(w.links), subnet.Link{A: a, B: b, Width: 4, Speed: subnet.EDR})
			w.touch(a, b)
		}
	case "move":
		if a, ok := w.free(t, subnet.KindSwitch); ok {
			l := w.links[i]
			w.touch(l.A, l.B, a)
			w.links = append(slices.Delete(slices.Clone(w.links), i, i+1), subnet.Link{A: a, B: l.B, Width: l.Width, Speed: l.Speed})
		}
	case "slow":
		w.links = slices.Clone(w.links)
		w.links[i].Speed, w.links[i].Rate = subnet.HDR, 0
		w.touch(w.links[i].A, w.links[i].B)
	case "host":
		w.replaceHost(t)
	case "swap": // two cables between switches
		k := rapid.IntRange(1, len(w.links)-1).Draw(t, "other")
		if k != i && w.inner(i) && w.inner(k) {
			w.links = slices.Clone(w.links)
			w.links[i].B, w.links[k].B = w.links[k].B, w.links[i].B
			w.touch(w.links[i].A, w.links[i].B, w.links[k].A, w.links[k].B)
		}
	case "rename":
		if h := w.anyHost(t); h >= 0 {
			w.nodes[h].Name += "x"
			w.named[w.nodes[h].GUID] = true
		}
	}
}

func (w *world) inner(i int) bool {
	return w.nodes[w.links[i].A.Node].Kind == subnet.KindSwitch && w.nodes[w.links[i].B.Node].Kind == subnet.KindSwitch
}

// anyHost returns a random host other than the client's.
func (w *world) anyHost(t *rapid.T) int {
	var hosts []int
	for i := range w.nodes {
		if w.nodes[i].Kind == subnet.KindCA && w.nodes[i].Name != "host-001" {
			hosts = append(hosts, i)
		}
	}
	return rapid.SampledFrom(hosts).Draw(t, "host")
}

// replaceHost replaces a host by another machine on the same cable.
func (w *world) replaceHost(t *rapid.T) {
	h := w.anyHost(t)
	w.next += 0x10
	w.nodes[h].GUID, w.nodes[h].Ports[1].GUID = w.next, w.next+1
	w.nodes[h].Name = "new " + w.next.String()
	for _, l := range w.links {
		if int(l.A.Node) == h || int(l.B.Node) == h {
			w.touch(l.A, l.B)
		}
	}
}

// fake returns the current fabric, as seen by a client on the first host.
func (w *world) fake(f *subnet.Fabric, tables bool) *fake {
	x := newFake(f, host(f, "host-001"))
	x.tables, x.sm, x.changed = tables, 1, map[int32]bool{}
	for g := range w.changed {
		if n, ok := f.NodeByGUID(g); ok && w.changed[g] {
			x.changed[n] = true
		}
	}
	return x
}

// TestAgainEqualsAFullSweep changes a fabric at random, several times in a row.
func TestAgainEqualsAFullSweep(t *testing.T) {
	t.Parallel()
	less := 0
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(t)
		trust, tables := rapid.Bool().Draw(rt, "trust"), rapid.Bool().Draw(rt, "tables")
		o := discover.Options{Parallel: rapid.SampledFrom([]int{1, 7, 64}).Draw(rt, "parallel"), Tables: tables}
		f := w.fabric(rt)
		at, err := discover.Sweep(t.Context(), w.fake(f, tables), o)
		if err != nil {
			rt.Fatal(err)
		}
		for range rapid.IntRange(1, 4).Draw(rt, "rounds") {
			before := f
			w.reset()
			for range rapid.IntRange(0, 4).Draw(rt, "changes") {
				w.change(rt)
			}
			f = w.fabric(rt)
			want, err := discover.Sweep(t.Context(), w.fake(f, tables), o)
			if err != nil {
				rt.Fatal(err)
			}
			again := discover.AgainOptions{Options: o, Trust: trust}
			if trust {
				again.Named = w.lids(before)
			}
			got, err := discover.Again(t.Context(), w.fake(f, tables), at, again)
			if err != nil {
				rt.Fatal(err)
			}
			if !reflect.DeepEqual(want.Fabric, got.Fabric) {
				rt.Fatalf("the fabric differs from a full sweep's: %s\n%s", subnet.Diff(want.Fabric, got.Fabric), cmp.Diff(want.Fabric.LFTs, got.Fabric.LFTs))
			}
			if !reflect.DeepEqual(want.Details, got.Details) {
				rt.Fatalf("details differ from a full sweep's (-):\n%s", cmp.Diff(want.Details, got.Details))
			}
			if len(want.Warnings) != len(got.Warnings) {
				rt.Fatalf("warnings %v: want %v", got.Warnings, want.Warnings)
			}
			// A link may be queried from both ends concurrently, by either sweep.
			if got.MADs > want.MADs+len(f.Links) {
				rt.Fatalf("%d requests: a full sweep needs %d", got.MADs, want.MADs)
			}
			if got.MADs < want.MADs {
				less++
			}
			at = got
		}
	})
	if less == 0 {
		t.Error("no sweep sent fewer requests than a full one")
	}
}

// TestAgainQueriesOnlyChangedParts counts the requests after no change, and after one.
func TestAgainQueriesOnlyChangedParts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	f := w.fabric(t)
	first, err := discover.Sweep(t.Context(), w.fake(f, true), discover.Options{Tables: true})
	if err != nil {
		t.Fatal(err)
	}
	ask := func(o discover.AgainOptions) (*discover.Result, map[string]int) {
		o.Tables = true
		x := w.fake(f, true)
		r, err := discover.Again(t.Context(), x, first, o)
		if err != nil {
			t.Fatal(err)
		}
		by := map[string]int{}
		for what, n := range x.asked {
			by[strings.Fields(what)[1]] += n
		}
		return r, by
	}
	// Six switches with 7 and 10 ports plus port 0; the client's host is queried, the other 11 only when switches are not
	// trusted.
	_, by := ask(discover.AgainOptions{})
	if want := map[string]int{"NodeInfo": 18, "NodeDescription": 12, "SwitchInfo": 12, "PortInfo": 4*10 + 2*11 + 12}; !cmp.Equal(want, by) {
		t.Errorf("asked %v: want %v", by, want)
	}
	r, by := ask(discover.AgainOptions{Trust: true})
	if want := map[string]int{"NodeInfo": 7, "SwitchInfo": 12, "PortInfo": 1}; !cmp.Equal(want, by) {
		t.Errorf("trusting, asked %v: want %v", by, want)
	}
	if d := cmp.Diff(first.Details, r.Details); d != "" || r.MADs != 20 {
		t.Errorf("%d requests, and details that differ:\n%s", r.MADs, d)
	}
	// A trap names a leaf: its ports and the nodes behind them are queried, and nothing else. Its three uplinks may
	// be queried from both ends, because spines may send their requests before the leaf answers.
	_, by = ask(discover.AgainOptions{Trust: true, Named: []ident.LID{f.Nodes[f.NodesByName("leaf2")[0]].Ports[0].LID, 4000}})
	const both = 3
	if want := map[string]int{"NodeInfo": 7 + 6 + both, "NodeDescription": 1, "SwitchInfo": 12, "PortInfo": 1 + 10 + both}; by["NodeInfo"] > want["NodeInfo"] || by["SwitchInfo"] != 12 ||
		by["PortInfo"] > want["PortInfo"] || by["LinearForwardingTable"] != 0 {
		t.Errorf("with a name, asked %v: want at most %v", by, want)
	}
	_, by = ask(discover.AgainOptions{Trust: true, Routes: true})
	if by["LinearForwardingTable"] != 6 || by["SLtoVLMappingTable"] == 0 {
		t.Errorf("with routes, asked %v: want the tables of 6 switches", by)
	}
}

// TestAgainRequeriesAllSwitchesAfterSMHandover makes another subnet manager take over and give a host another LID: no switch
// reports a change.
func TestAgainRequeriesAllSwitchesAfterSMHandover(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"host-001", "leaf3"} {
		w := newWorld(t)
		f := w.fabric(t)
		start := subnet.PortRef{Node: f.NodesByName(name)[0]}
		if f.Nodes[start.Node].Kind != subnet.KindSwitch {
			start.Port = 1
		}
		x := w.fake(f, false)
		x.start = start
		first := mustSweep(t, x, discover.Options{})
		w.nodes[f.NodesByName("host-005")[0]].Ports[1].LID = 90
		x = w.fake(w.fabric(t), false)
		x.start, x.sm = start, 8
		got, err := discover.Again(t.Context(), x, first, discover.AgainOptions{Trust: true})
		if err != nil {
			t.Fatal(err)
		}
		want := mustSweep(t, x, discover.Options{})
		if !reflect.DeepEqual(want.Fabric, got.Fabric) || !reflect.DeepEqual(want.Details, got.Details) {
			t.Errorf("from %s: another fabric than a full sweep's: %s", name, subnet.Diff(want.Fabric, got.Fabric))
		}
		if _, ok := got.Fabric.PortByLID(90); !ok {
			t.Errorf("from %s: the new LID is not known", name)
		}
	}
}

func TestAgainRejectsInvalidPreviousResult(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	f := w.fabric(t)
	for _, prev := range []*discover.Result{nil, {Fabric: f}} {
		if _, err := discover.Again(t.Context(), w.fake(f, false), prev, discover.AgainOptions{}); err == nil {
			t.Error("no error")
		}
	}
	r := mustSweep(t, w.fake(f, false), discover.Options{})
	if _, err := discover.Again(t.Context(), w.fake(f, false), r, discover.AgainOptions{Options: discover.Options{Parallel: -1}}); err == nil {
		t.Error("-1 in parallel: no error")
	}
	x := w.fake(f, false)
	x.mutate = attrIs(x.start.Node, mad.AttrNodeInfo, lose)
	if _, err := discover.Again(t.Context(), x, r, discover.AgainOptions{}); err == nil || !strings.Contains(err.Error(), "local node") {
		t.Errorf("error %v: want one of the local node", err)
	}
}

// TestFaultsDuringAgainBecomeTheSameWarnings loses and rejects answers on a fabric whose first sweep was complete.
func TestFaultsDuringAgainBecomeTheSameWarnings(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	f := w.fabric(t)
	good := mustSweep(t, w.fake(f, false), discover.Options{Parallel: 1})
	leaf, spine, h := f.NodesByName("leaf2")[0], f.NodesByName("spine1")[0], f.NodesByName("host-005")[0]
	for name, mutate := range map[string]func(int32, *mad.Packet) bool{
		"an unresponsive host":             attrIs(h, mad.AttrNodeInfo, lose),
		"an unresponsive switch":           attrIs(spine, mad.AttrNodeInfo, lose),
		"an unresponsive leaf":             attrIs(leaf, mad.AttrNodeInfo, lose),
		"a switch that refuses SwitchInfo": attrIs(leaf, mad.AttrSwitchInfo, refuse),
		"a switch without PortInfo":        attrIs(spine, mad.AttrPortInfo, refuse),
		"another node with the same GUID":  attrIs(h, mad.AttrNodeInfo, rewrite(t, func(v *mad.NodeInfo) { v.NumPorts = 3 })),
		"a switch that became another":     attrIs(spine, mad.AttrNodeInfo, rewrite(t, func(v *mad.NodeInfo) { v.NodeGUID, v.PortGUID = 0x77, 0x77 })),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sweep := func() *fake {
				x := w.fake(f, false)
				x.mutate = mutate
				x.changed[leaf], x.changed[spine] = true, true
				return x
			}
			want := mustSweep(t, sweep(), discover.Options{Parallel: 1})
			got, err := discover.Again(t.Context(), sweep(), good, discover.AgainOptions{Options: discover.Options{Parallel: 1}, Routes: true})
			if err != nil {
				t.Fatal(err)
			}
			if d := subnet.Diff(want.Fabric, got.Fabric); !d.Empty() {
				t.Errorf("the fabric differs: %s", d)
			}
			text := func(r *discover.Result) (out []string) {
				for _, w := range r.Warnings {
					out = append(out, string(w.Kind)+" "+w.Node.String()+" "+w.Text)
				}
				return out
			}
			if d := cmp.Diff(text(want), text(got)); d != "" {
				t.Errorf("warnings differ from those of a full sweep (-):\n%s", d)
			}
		})
	}
}

func kindsOf(events []discover.Event) (out []string) {
	for _, e := range events {
		out = append(out, string(e.Kind)+": "+e.Text)
	}
	return out
}

func TestEventTexts(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		change func(w *world, find func(a, b string) int)
		sm     ident.LID
		want   []string
	}{
		{"nothing", func(*world, func(a, b string) int) {}, 1, nil},
		{"a link went down", func(w *world, find func(a, b string) int) {
			i := find("leaf2", "spine1")
			w.links = slices.Delete(w.links, i, i+1)
		}, 1, []string{"link-down: link leaf2/P4 - spine1/P3 is down"}},
		{"a removed host", func(w *world, find func(a, b string) int) {
			i := find("leaf2", "host-005")
			w.links = slices.Delete(w.links, i, i+1)
		}, 1, []string{"node-gone: host-005 is gone"}},
		{"a host moved", func(w *world, find func(a, b string) int) {
			i := find("leaf2", "host-005")
			w.links[i].A = subnet.PortRef{Node: w.links[find("leaf3", "host-007")].A.Node, Port: 9}
		}, 1, []string{"port-moved: host-005/P1 moved from leaf2/P2 to leaf3/P9"}},
		{"a host was replaced", func(w *world, find func(a, b string) int) {
			h := w.links[find("leaf2", "host-005")].B.Node
			w.nodes[h].GUID, w.nodes[h].Ports[1].GUID, w.nodes[h].Name = 0x9000, 0x9001, "fresh"
		}, 1, []string{"node-gone: host-005 is gone", "node-new: fresh is new"}},
		{"a link became slower, a host was renamed", func(w *world, find func(a, b string) int) {
			w.links[find("leaf1", "spine2")].Speed = subnet.FDR
			w.nodes[w.links[find("leaf2", "host-005")].B.Node].Name = "db"
		}, 1, []string{"link-speed: link leaf1/P6 - spine2/P1 runs at 4xFDR, previously 4xEDR", "node-renamed: db was previously named host-005"}},
		{"another subnet manager", func(*world, func(a, b string) int) {}, 8, []string{"sm-handover: host-002/P1 manages the subnet, previously leaf1/P0"}},
		{"a LID changed", func(w *world, find func(a, b string) int) {
			w.nodes[w.links[find("leaf2", "host-005")].B.Node].Ports[1].LID = 99
		}, 1, []string{"lid-changed: host-005/P1 has LID 99 (LMC 0), previously 11 (0)"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			f := w.fabric(t)
			before := mustSweep(t, w.fake(f, false), discover.Options{})
			tt.change(w, func(a, b string) int {
				return slices.IndexFunc(w.links, func(l subnet.Link) bool {
					return w.nodes[l.A.Node].Name == a && w.nodes[l.B.Node].Name == b
				})
			})
			x := w.fake(w.fabric(t), false)
			x.sm = tt.sm
			var got []string
			for _, e := range kindsOf(discover.Changes(before, mustSweep(t, x, discover.Options{}))) {
				if !strings.HasPrefix(e, string(discover.EventRoutes)) {
					got = append(got, e)
				}
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("events differ (-want):\n%s", d)
			}
		})
	}
}

// FuzzHostileAnswersAgain puts bytes of the fuzzer into answers of a second sweep: the sweep must end and return a
// valid model or an error.
func FuzzHostileAnswersAgain(f *testing.F) {
	f.Add([]byte{0}, true)
	f.Add([]byte("\x01\x01\x02\x08\xff\xff\xff\xff\x00\x00"), false)
	f.Fuzz(func(t *testing.T, noise []byte, trust bool) {
		if len(noise) == 0 {
			return
		}
		fab := fabric(t)
		good := mustSweep(t, newFake(fab, host(fab, "host 1")), discover.Options{Parallel: 4})
		x := newFake(fab, host(fab, "host 1"))
		x.changed = map[int32]bool{3: noise[0]&1 == 0}
		x.mutate = corruptAnswers(noise, 4, 7)
		r, err := discover.Again(t.Context(), x, good, discover.AgainOptions{Options: discover.Options{Parallel: 4}, Trust: trust})
		if err != nil && !errors.Is(err, mad.ErrTimeout) {
			t.Fatal(err)
		}
		if err == nil {
			discover.Changes(good, r)
		}
	})
}

// TestAgainOnASimulatedFabric takes links of simulated devices down and up at random.
func TestAgainOnASimulatedFabric(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		l := newLab(t, labFabric(t))
		at := mustSweep(t, l, discover.Options{})
		down := map[int]bool{}
		for range rapid.IntRange(1, 4).Draw(rt, "rounds") {
			for range rapid.IntRange(0, 3).Draw(rt, "changes") {
				i := rapid.IntRange(1, len(l.f.Links)-1).Draw(rt, "link")
				down[i] = !down[i]
				l.dev.SetLink(l.f.Links[i].A, !down[i])
			}
			want := mustSweep(t, l, discover.Options{})
			got, err := discover.Again(t.Context(), l, at, discover.AgainOptions{Trust: rapid.Bool().Draw(rt, "trust")})
			if err != nil {
				rt.Fatal(err)
			}
			if !reflect.DeepEqual(want.Fabric, got.Fabric) || !reflect.DeepEqual(want.Details, got.Details) {
				rt.Fatalf("another fabric than a full sweep's: %s", subnet.Diff(want.Fabric, got.Fabric))
			}
			at = got
		}
	})
}
