package discover_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"fairlane/subnet"
	"fairlane/subnet/discover"
	"fairlane/subnet/ident"
	"fairlane/subnet/mad"
	"fairlane/subnet/topogen"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func host(f *subnet.Fabric, name string) subnet.PortRef {
	return subnet.PortRef{Node: f.NodesByName(name)[0], Port: 1}
}

func mustSweep(t testing.TB, x mad.Transport, o discover.Options) *discover.Result {
	t.Helper()
	r, err := discover.Sweep(t.Context(), x, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// visible returns the part of a fabric that a sweep can find.
func visible(t testing.TB, f *subnet.Fabric) *subnet.Fabric {
	t.Helper()
	nodes, links := slices.Clone(f.Nodes), slices.Clone(f.Links)
	for i := range nodes {
		nodes[i].Domain = ""
		nodes[i].Ports = slices.Clone(nodes[i].Ports)
		for p := range nodes[i].Ports {
			if port := &nodes[i].Ports[p]; port.Link < 0 && p > 0 {
				if port.State = subnet.PortDown; nodes[i].Kind != subnet.KindSwitch {
					port.State, port.MTU, port.VLCap, port.GUID = 0, 0, 0, 0 // never queried
				}
			}
		}
	}
	for i := range links {
		links[i].Delay, links[i].Rate = 0, 0
	}
	g, err := subnet.New("", nodes, links)
	if err != nil {
		t.Fatal(err)
	}
	if g, err = g.WithLFTs(f.LFTs); err != nil {
		t.Fatal(err)
	}
	return g
}

func TestSweepFindsTheWholeModel(t *testing.T) {
	t.Parallel()
	f := fabric(t)
	for _, start := range []subnet.PortRef{host(f, "host 1"), host(f, "host 2"), {Node: 1, Port: 2}, {Node: 3, Port: 0}} {
		r := mustSweep(t, newFake(f, start), discover.Options{})
		if len(r.Warnings) > 0 {
			t.Errorf("from %s: warnings %v", f.PortName(start), r.Warnings)
		}
		if d := subnet.Diff(visible(t, f), r.Fabric); !d.Empty() {
			t.Errorf("from %s: the model differs: %s", f.PortName(start), d)
		}
		if diff := cmp.Diff(visible(t, f).Links, r.Fabric.Links); diff != "" {
			t.Errorf("from %s: links differ:\n%s", f.PortName(start), diff)
		}
		if diff := cmp.Diff(visible(t, f).LFTs, r.Fabric.LFTs); diff != "" {
			t.Errorf("from %s: forwarding tables differ:\n%s", f.PortName(start), diff)
		}
	}
}

func TestSweepSendsEachRequestOnce(t *testing.T) {
	t.Parallel()
	f := fabric(t)
	x := newFake(f, host(f, "host 1"))
	r := mustSweep(t, x, discover.Options{Parallel: 1})
	total := 0
	for what, n := range x.asked {
		total += n
		if n > 1 && !strings.Contains(what, "NodeInfo") && !strings.Contains(what, "SwitchInfo") {
			t.Errorf("asked %d times for %s", n, what)
		}
	}
	// NodeInfo: 1 for the local node and 1 for each link. NodeDescription: 5. SwitchInfo: 2, and 2 again at the end.
	// PortInfo: 2x9 of the switches and 4 of the host ports. One forwarding block for each switch. The vendor's port
	// information: both ends of the links at QDR and FDR10.
	if want := 1 + len(f.Links) + 5 + 2*2 + 18 + 4 + 2 + 2*2; total != want || r.MADs != want {
		t.Errorf("sent %d requests and reported %d: want %d", total, r.MADs, want)
	}
	x = newFake(f, host(f, "host 1"))
	if r := mustSweep(t, x, discover.Options{SkipRoutes: true}); r.Fabric.LFTs != nil {
		t.Error("forwarding tables were read: want none")
	}
}

func TestResultDoesNotDependOnTheOrderOfAnswers(t *testing.T) {
	t.Parallel()
	f, err := topogen.LeafSpine(topogen.LeafSpineOptions{Leaves: 4, HostsPerLeaf: 3, Spines: 2})
	if err != nil {
		t.Fatal(err)
	}
	start := subnet.PortRef{Node: f.Hosts()[0], Port: 1}
	want := mustSweep(t, newFake(f, start), discover.Options{Parallel: 1}).Fabric
	rapid.Check(t, func(rt *rapid.T) {
		x := newFake(f, start)
		x.shuffle = rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 1))
		n := rapid.IntRange(1, 100).Draw(rt, "parallel")
		r, err := discover.Sweep(t.Context(), x, discover.Options{Parallel: n})
		if err != nil {
			rt.Fatal(err)
		}
		if !reflect.DeepEqual(r.Fabric, want) {
			rt.Fatalf("another fabric: %s", subnet.Diff(want, r.Fabric))
		}
		if x.most > n {
			rt.Fatalf("%d requests under way: want at most %d", x.most, n)
		}
	})
	if d := subnet.Diff(visible(t, f), want); !d.Empty() {
		t.Errorf("the model differs: %s", d)
	}
}

// attrIs returns a mutate function that changes the answers of one node to one attribute.
func attrIs(node int32, attr mad.AttrID, change func(p *mad.Packet) bool) func(int32, *mad.Packet) bool {
	return func(at int32, p *mad.Packet) bool {
		return at != node || p.Attr() != attr || change(p)
	}
}

func lose(*mad.Packet) bool { return false }

func refuse(p *mad.Packet) bool {
	p.SetStatus(mad.StatusBadMethodAttr)
	return true
}

// rewrite decodes the answer, changes it and encodes it again.
func rewrite[T any, A interface {
	*T
	mad.Attribute
}](t *testing.T, change func(A)) func(*mad.Packet) bool {
	return func(p *mad.Packet) bool {
		v := A(new(T))
		if err := v.Decode(p.Data()); err != nil {
			t.Error(err)
		}
		change(v)
		if err := v.Encode(p.Data()); err != nil {
			t.Error(err)
		}
		return true
	}
}

func TestFaultsBecomeWarnings(t *testing.T) {
	t.Parallel()
	const leaf1, leaf2, host3 = 3, 4, 2 // positions in fabric
	tests := []struct {
		name     string
		mutate   func(int32, *mad.Packet) bool
		kind     discover.WarningKind
		node     ident.GUID
		port     ident.PortNum
		wantText string
		nodes    int // found
		check    func(t *testing.T, f *subnet.Fabric)
	}{
		{"a host does not answer", attrIs(host3, mad.AttrNodeInfo, lose), discover.WarnUnresponsive, 0x200, 1,
			"no NodeInfo: the device connected there is not in the model", 4, nil},
		{"a host has no name", attrIs(host3, mad.AttrNodeDescription, lose), discover.WarnUnresponsive, 0x30, 0,
			"no NodeDescription", 5, func(t *testing.T, f *subnet.Fabric) {
				if n := f.Nodes[2].Name; n != "" {
					t.Errorf("name %q: want none", n)
				}
			}},
		{"a host refuses its PortInfo", attrIs(host3, mad.AttrPortInfo, refuse), discover.WarnRefused, 0x30, 1,
			"no PortInfo: state, LID and rate", 5, func(t *testing.T, f *subnet.Fabric) {
				l, _ := f.Link(subnet.PortRef{Node: 2, Port: 1})
				if l == nil || l.Speed != subnet.DDR {
					t.Errorf("link %+v: want it with the speed of the other end", l)
				}
			}},
		{"a switch refuses SwitchInfo", attrIs(leaf2, mad.AttrSwitchInfo, refuse), discover.WarnRefused, 0x200, 0,
			"no SwitchInfo: the switch has no forwarding table", 5, func(t *testing.T, f *subnet.Fabric) {
				if f.LFTs[4] != nil || f.LFTs[3] == nil {
					t.Error("want the forwarding table of the other switch only")
				}
			}},
		{"a forwarding block is lost", attrIs(leaf2, mad.AttrLinearForwardingTable, lose), discover.WarnUnresponsive, 0x200, 0,
			"no LinearForwardingTable: the switch has no forwarding table", 5, func(t *testing.T, f *subnet.Fabric) {
				if f.LFTs[4] != nil {
					t.Error("want no forwarding table")
				}
			}},
		{"a route leads to a missing port", attrIs(leaf2, mad.AttrLinearForwardingTable, rewrite(t, func(v *mad.LinearForwardingTable) { v[5] = 200 })),
			discover.WarnInvalid, 0x200, 200, "LID 5 is routed to port 200 of 8", 5, func(t *testing.T, f *subnet.Fabric) {
				if p := f.LFTs[4][5]; p != ident.DropPort {
					t.Errorf("LID 5 leaves by port %d: want no route", p)
				}
			}},
		{"two hosts with one GUID", attrIs(host3, mad.AttrNodeInfo, rewrite(t, func(v *mad.NodeInfo) { v.NodeGUID = 0x10 })),
			discover.WarnDuplicateGUID, 0, 0, "another node with GUID 0x0000000000000010", 4, nil},
		{"a node without a GUID", attrIs(host3, mad.AttrNodeInfo, rewrite(t, func(v *mad.NodeInfo) { v.NodeGUID = 0 })),
			discover.WarnInvalid, 0x200, 1, "is not in the model: want a GUID", 4, nil},
		{"a node with 255 ports", attrIs(host3, mad.AttrNodeInfo, rewrite(t, func(v *mad.NodeInfo) { v.NumPorts = 255 })),
			discover.WarnInvalid, 0x200, 1, "type 1 and 255 ports", 4, nil},
		{"a node entered by a port that it lacks", attrIs(host3, mad.AttrNodeInfo, rewrite(t, func(v *mad.NodeInfo) { v.LocalPort = 2 })),
			discover.WarnInvalid, 0x200, 1, "reports that the packet entered by port 2: want 1 to 1", 4, nil},
		{"two ports with one GUID", attrIs(host3, mad.AttrNodeInfo, rewrite(t, func(v *mad.NodeInfo) { v.PortGUID = 0x11 })),
			discover.WarnDuplicateGUID, 0x30, 1, "port GUID 0x0000000000000011 is also the GUID of a port of 0x0000000000000010", 5, nil},
		{"two ports with one LID", attrIs(host3, mad.AttrPortInfo, rewrite(t, func(v *mad.PortInfo) { v.LID = 2 })),
			discover.WarnDuplicateLID, 0, 0, "LID 2 is also the LID of a port of", 5, nil},
		{"a LID that its LMC forbids", attrIs(host3, mad.AttrPortInfo, rewrite(t, func(v *mad.PortInfo) { v.LMC = 7 })),
			discover.WarnInvalid, 0x30, 1, "multiple of 2^LMC", 5, nil},
		{"ends of a link disagree", attrIs(host3, mad.AttrPortInfo, rewrite(t, func(v *mad.PortInfo) { v.LinkWidthActive = 1 })),
			discover.WarnMismatch, 0x30, 1, "runs at 1xDDR here and at 4xDDR", 5, nil},
		{"a port linked to itself", attrIs(leaf2, mad.AttrNodeInfo, rewrite(t, func(v *mad.NodeInfo) {
			if v.LocalPort == 4 {
				v.LocalPort = 3
			}
		})), discover.WarnInvalid, 0x200, 3, "linked to itself", 5, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := fabric(t)
			x := newFake(f, host(f, "host 1"))
			x.mutate = tt.mutate
			r := mustSweep(t, x, discover.Options{Parallel: 1})
			if len(r.Fabric.Nodes) != tt.nodes {
				t.Errorf("found %d nodes: want %d", len(r.Fabric.Nodes), tt.nodes)
			}
			if len(r.Warnings) == 0 {
				t.Fatal("no warning")
			}
			w := r.Warnings[0]
			if w.Kind != tt.kind || tt.node != 0 && (w.Node != tt.node || w.Port != tt.port) || !strings.Contains(w.Text, tt.wantText) {
				t.Errorf("warning %s: want %s at %s port %d saying %q", w, tt.kind, tt.node, tt.port, tt.wantText)
			}
			if !strings.Contains(w.String(), "DR path 0") {
				t.Errorf("warning %q names no path", w)
			}
			if tt.check != nil {
				tt.check(t, r.Fabric)
			}
		})
	}
}

func TestBusyNodesAreQueriedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := fabric(t)
		x := newFake(f, host(f, "host 1"))
		left := 3
		x.mutate = attrIs(4, mad.AttrSwitchInfo, func(p *mad.Packet) bool {
			if left--; left >= 0 {
				p.SetStatus(mad.StatusBusy)
			}
			return true
		})
		r := mustSweep(t, x, discover.Options{})
		if len(r.Warnings) > 0 || left >= 0 {
			t.Errorf("warnings %v with %d busy answers left: want none", r.Warnings, left)
		}
		if d := subnet.Diff(visible(t, f), r.Fabric); !d.Empty() {
			t.Errorf("the model differs: %s", d)
		}
	})
}

func TestSweepFailsWithoutTheLocalNode(t *testing.T) {
	t.Parallel()
	f := fabric(t)
	x := newFake(f, host(f, "host 1"))
	x.mutate = attrIs(0, mad.AttrNodeInfo, lose)
	if _, err := discover.Sweep(t.Context(), x, discover.Options{}); !errors.Is(err, mad.ErrTimeout) || !strings.Contains(err.Error(), "local node") {
		t.Errorf("error %v: want mad.ErrTimeout of the local node", err)
	}
	for _, n := range []int{-1, discover.MaxParallel + 1} {
		if _, err := discover.Sweep(t.Context(), x, discover.Options{Parallel: n}); err == nil {
			t.Errorf("%d in parallel: want an error", n)
		}
	}
}

func TestSweepEndsWithItsContext(t *testing.T) {
	t.Parallel()
	f := fabric(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	x := newFake(f, host(f, "host 1"))
	seen := 0
	_, err := discover.Sweep(ctx, x, discover.Options{Progress: func(p discover.Progress) {
		if seen++; p.Nodes == 2 {
			cancel(why)
		}
	}})
	if !errors.Is(err, why) && !errors.Is(err, context.Canceled) {
		t.Errorf("error %v: want the cause of the context's end", err)
	}
	if seen == 0 {
		t.Error("no progress was reported")
	}
}

// broken fails with an error other than a lost packet after some answers.
type broken struct {
	mad.Transport
	err error
}

func (b broken) Exchange(ctx context.Context, to mad.Target, req *mad.Packet) (mad.Packet, error) {
	if len(to.Path) > 1 {
		return mad.Packet{}, b.err
	}
	return b.Transport.Exchange(ctx, to, req)
}

func TestSweepEndsWhenTheTransportBreaks(t *testing.T) {
	t.Parallel()
	f := fabric(t)
	why := errors.New("device removed")
	_, err := discover.Sweep(t.Context(), broken{newFake(f, host(f, "host 1")), why}, discover.Options{})
	if !errors.Is(err, why) {
		t.Errorf("error %v: want the transport's", err)
	}
}

// corruptAnswers corrupts every third answer from the n-th one on, and loses some of them, and all after 5,000.
func corruptAnswers(noise []byte, n, lost int) func(int32, *mad.Packet) bool {
	answers := 0
	return func(_ int32, p *mad.Packet) bool {
		if answers++; answers < n || answers%3 != 0 {
			return true
		}
		for i := range 6 {
			b := noise[(answers+i)%len(noise)]
			p.Data()[int(b)%len(p.Data())] ^= noise[(answers*7+i)%len(noise)]
		}
		return answers%lost != 0 && answers < 5000
	}
}

// FuzzHostileAnswers puts bytes of the fuzzer into every answer: the sweep must end and return a valid model or an
// error.
func FuzzHostileAnswers(f *testing.F) {
	f.Add([]byte{0})
	f.Add([]byte("\x01\x01\x02\x08\xff\xff\xff\xff\x00\x00"))
	f.Fuzz(func(t *testing.T, noise []byte) {
		if len(noise) == 0 {
			return
		}
		fab := fabric(t)
		x := newFake(fab, host(fab, "host 1"))
		x.mutate = corruptAnswers(noise, 8, 5000)
		if _, err := discover.Sweep(t.Context(), x, discover.Options{}); err != nil && !errors.Is(err, mad.ErrTimeout) {
			t.Fatal(err)
		}
	})
}
