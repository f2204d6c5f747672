package fabrics_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"fairlane/internal/phrase"
	"fairlane/service/control"
	"fairlane/service/control/controltest"
	"fairlane/service/control/usecases"
	"fairlane/subnet"
	"fairlane/subnet/ident"
)

// watched is a fabric that a test changes between rescans.
type watched struct {
	t     *testing.T
	s     *usecases.Services
	ahead *atomic.Int64
	seen  int // events that were checked

	// The result of the next scan.
	without  []string // missing nodes, by name
	warnings []phrase.Text
	fault    error
	during   func() // runs during the scan
	manager  ident.PortID
	scans    int
	knew     ident.PortID // the subnet manager that the latest scan received
}

const rescanInterval = 100 * time.Second

func (w *watched) Rescan(_ context.Context, _ control.Fabric, known *subnet.Fabric, manager ident.PortID) (control.Rescan, error) {
	w.scans++
	w.knew = manager
	if w.during != nil {
		w.during()
	}
	if w.fault != nil {
		return control.Rescan{}, w.fault
	}
	whole, err := controltest.Star()
	if err != nil {
		return control.Rescan{}, err
	}
	f, err := lessNodes(whole, w.without)
	if err != nil {
		return control.Rescan{}, err
	}
	out := control.Rescan{Topology: f, Stats: control.DiscoverStats{Wall: time.Millisecond, MADsSent: 7, Warnings: w.warnings}, Manager: w.manager}
	diff := subnet.Diff(known, f)
	for _, g := range diff.NodesRemoved {
		n, _ := known.NodeByGUID(g)
		out.Changes = append(out.Changes, control.FabricChange{Kind: "node-gone", Port: ident.PortID{Node: g}, Node: known.Nodes[n].Name, Said: phrase.Of("discovery.gone", "node", known.Nodes[n].Name)})
	}
	for _, g := range diff.NodesAdded {
		n, _ := f.NodeByGUID(g)
		out.Changes = append(out.Changes, control.FabricChange{Kind: "node-new", Port: ident.PortID{Node: g}, Node: f.Nodes[n].Name, Said: phrase.Of("discovery.new", "node", f.Nodes[n].Name)})
	}
	return out, nil
}

// lessNodes returns a fabric without some nodes.
func lessNodes(whole *subnet.Fabric, without []string) (*subnet.Fabric, error) {
	if len(without) == 0 {
		return whole, nil
	}
	var nodes []subnet.Node
	var links []subnet.Link
	at := map[int32]int32{}
	for i := range whole.Nodes {
		if n := whole.Nodes[i]; !slices.Contains(without, n.Name) {
			at[int32(i)] = int32(len(nodes))
			n.Ports = slices.Clone(n.Ports)
			nodes = append(nodes, n)
		}
	}
	for _, l := range whole.Links {
		a, okA := at[l.A.Node]
		b, okB := at[l.B.Node]
		if okA && okB {
			l.A.Node, l.B.Node = a, b
			links = append(links, l)
		}
	}
	return subnet.New(whole.Name, nodes, links)
}

func newWatched(t *testing.T) *watched {
	t.Helper()
	r, _ := controltest.InForce(t)
	w := &watched{t: t}
	list, ahead := controltest.Managers(t, r, 1, func(d *control.Deps) { d.Rescanner = w })
	w.s, w.ahead = list[0], ahead
	if _, err := w.s.Discover(t.Context(), "lab"); err != nil {
		t.Fatal(err)
	}
	w.events()
	return w
}

// rescan advances the clock, rescans what is due, and returns the kinds of the new events.
func (w *watched) rescan(passed time.Duration) string {
	w.t.Helper()
	w.ahead.Add(int64(passed))
	if err := w.s.Rediscover(w.t.Context(), rescanInterval); err != nil {
		w.t.Fatal(err)
	}
	return w.events()
}

func (w *watched) events() string {
	w.t.Helper()
	list, _, err := w.s.Events(w.t.Context(), "lab", 0, control.Page{Limit: 1000})
	if err != nil {
		w.t.Fatal(err)
	}
	var kinds []string
	for _, e := range list[w.seen:] {
		kinds = append(kinds, strings.TrimPrefix(e.Kind, "fabric.")+"("+e.Subject+")")
		if e.Actor != "system" && e.Kind != "fabric.discovered" && w.seen > 0 {
			w.t.Errorf("%s has the actor %s", e.Kind, e.Actor)
		}
	}
	w.seen = len(list)
	return strings.Join(kinds, " ")
}

// nodes returns the number of nodes in the latest topology, and when it was seen last.
func (w *watched) nodes() (n int, seen time.Time) {
	w.t.Helper()
	f, err := w.s.Fabric(w.t.Context(), "lab")
	if err != nil {
		w.t.Fatal(err)
	}
	return f.Snapshot.Nodes, f.Snapshot.SeenAt
}

func TestFabricIsRescannedOnceAnInterval(t *testing.T) {
	t.Parallel()
	w := newWatched(t)
	_, before := w.nodes()
	var last time.Duration
	spans := map[time.Duration]bool{}
	for passed := time.Duration(0); w.scans < 12; passed += time.Second {
		was := w.scans
		if seen := w.rescan(time.Second); seen != "" {
			t.Fatalf("events of a fabric that does not change: %s", seen)
		}
		if w.scans > was {
			if span := passed - last; w.scans > 1 && (span < rescanInterval*9/10 || span > rescanInterval*11/10+time.Second) {
				t.Errorf("scan %d came %s after the one before", w.scans, span)
			} else {
				spans[span] = true
			}
			last = passed
		}
	}
	if len(spans) < 4 {
		t.Errorf("scans come at fixed times: %v", spans)
	}
	if n, seen := w.nodes(); n != 5 || !seen.After(before) {
		t.Errorf("%d nodes, seen at %s and before at %s", n, seen, before)
	}
	w.rescan(0)
	if err := w.s.Rediscover(t.Context(), 0); err != nil || w.scans != 12 {
		t.Errorf("interval 0: %d scans, %v", w.scans, err)
	}
	w.ahead.Add(-int64(48 * time.Hour)) // the clock was set back
	if w.rescan(0); w.scans != 13 {
		t.Error("a clock that was set back ends looking")
	}
}

func TestRescanReportsAndStoresChanges(t *testing.T) {
	t.Parallel()
	w := newWatched(t)
	w.without, w.manager = []string{"h3"}, ident.PortID{Node: 9, Port: 1}
	if seen := w.rescan(2 * rescanInterval); !strings.HasPrefix(seen, "node-gone(h3) rediscovered(") {
		t.Errorf("events %s", seen)
	}
	if n, _ := w.nodes(); n != 4 || w.knew != (ident.PortID{}) {
		t.Errorf("%d nodes are known, the scan knew of the subnet manager on %s", n, w.knew)
	}
	w.without = nil
	if seen := w.rescan(2 * rescanInterval); !strings.HasPrefix(seen, "node-new(h3) rediscovered(") || w.knew != w.manager {
		t.Errorf("events %s, the scan knew of the subnet manager on %s", seen, w.knew)
	}
	if n, _ := w.nodes(); n != 5 {
		t.Errorf("%d nodes are known", n)
	}
}

func TestFailedRescanChangesNothing(t *testing.T) {
	t.Parallel()
	w := newWatched(t)
	w.fault = errors.New("no light on the cable")
	w.wantEvents("silent(lab)", "", "")
	w.fault = nil
	w.wantEvents("answers(lab)", "")
}

// wantEvents rescans repeatedly and compares the events of each scan; all five nodes stay known.
func (w *watched) wantEvents(want ...string) {
	w.t.Helper()
	for i, events := range want {
		if seen := w.rescan(2 * rescanInterval); seen != events {
			w.t.Errorf("scan %d reported %q, want %q", i, seen, events)
		}
	}
	if n, _ := w.nodes(); n != 5 {
		w.t.Errorf("%d nodes are known", n)
	}
}

// When devices do not answer, missing nodes are accepted once two scans, soon after one another, miss the same ones.
func TestIncompleteRescanIsAcceptedWhenTheNextAgrees(t *testing.T) {
	t.Parallel()
	w := newWatched(t)
	for round, c := range []struct {
		without []string
		passed  time.Duration
		seen    string
		nodes   int
	}{
		{[]string{"h2"}, 2 * rescanInterval, "", 5},
		{[]string{"h3"}, 10 * time.Second, "", 5}, // other nodes missing
		{nil, 10 * time.Second, "", 5},            // unchanged
		{[]string{"h3"}, 2 * rescanInterval, "", 5},
		{[]string{"h3"}, 9 * time.Second, "", 5}, // not rescanned
		{[]string{"h3"}, time.Second, "node-gone(h3)", 4},
		{nil, 2 * rescanInterval, "", 4},
		{nil, 10 * time.Second, "node-new(h3)", 5},
	} {
		w.without, w.warnings = c.without, []phrase.Text{phrase.Verbatim("sw1: it does not answer")}
		seen := w.rescan(c.passed)
		if n, _ := w.nodes(); n != c.nodes || !strings.HasPrefix(seen, c.seen) || c.seen == "" && seen != "" {
			t.Errorf("round %d: %d nodes, events %q, want %d and %q", round, n, seen, c.nodes, c.seen)
		}
	}
}

// A scan that misses most of a fabric is blamed on our own port. Only a requested discovery accepts it.
func TestRescanMissingMostOfTheFabricIsNotAccepted(t *testing.T) {
	t.Parallel()
	w := newWatched(t)
	w.without = []string{"sw1", "h2", "h3"}
	w.wantEvents("shrunk(lab)", "", "", "")
	w.without = nil
	w.wantEvents("")
}

// A scan is dropped when a caller discovers or moves the fabric meanwhile.
func TestRescanIsDroppedAfterConcurrentDiscovery(t *testing.T) {
	t.Parallel()
	w := newWatched(t)
	w.without = []string{"h3"}
	w.rescan(2 * rescanInterval)
	w.without = []string{"h2"}
	w.isOvertaken()
}

// It is also dropped when that discovery finds no change.
func TestRescanIsDroppedAfterConcurrentDiscoveryWithoutChange(t *testing.T) {
	t.Parallel()
	w := newWatched(t)
	w.without = []string{"h3"}
	w.isOvertaken()
}

// isOvertaken discovers the whole fabric during a scan, which is dropped then.
func (w *watched) isOvertaken() {
	w.t.Helper()
	w.during = func() {
		w.ahead.Add(int64(time.Second))
		if _, err := w.s.Discover(w.t.Context(), "lab"); err != nil {
			w.t.Error(err)
		}
	}
	if seen := w.rescan(2 * rescanInterval); !strings.HasPrefix(seen, "discovered(") || strings.Contains(seen, " ") {
		w.t.Errorf("events %q", seen)
	}
	if n, _ := w.nodes(); n != 5 {
		w.t.Errorf("%d nodes are known", n)
	}
}

func TestNewSourceResetsRescanState(t *testing.T) {
	t.Parallel()
	w := newWatched(t)
	w.manager = ident.PortID{Node: 7, Port: 1}
	w.wantEvents("")
	w.fault = errors.New("no light on the cable")
	w.wantEvents("silent(lab)")
	if _, err := w.s.UpdateFabric(t.Context(), control.Fabric{Name: "lab", Source: "ibsim:unix:elsewhere", TimeScale: 1}); err != nil {
		t.Fatal(err)
	}
	w.events()
	w.fault = nil
	if seen := w.rescan(2 * rescanInterval); seen != "" || w.knew != (ident.PortID{}) {
		t.Errorf("at another place: events %q, and it knew of the manager %s", seen, w.knew)
	}
}

// A temporary failure of the store does not lose the state of rescans.
func TestRescanStateSurvivesFailureToListFabrics(t *testing.T) {
	t.Parallel()
	w := newWatched(t)
	w.without, w.warnings = []string{"h3"}, []phrase.Text{phrase.Verbatim("sw1: it does not answer")}
	w.wantEvents("")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := w.s.Rediscover(ctx, rescanInterval); err == nil {
		t.Fatal("fabrics could be listed: the test is no test")
	}
	if seen := w.rescan(10 * time.Second); !strings.HasPrefix(seen, "node-gone(h3)") {
		t.Errorf("events %q, want those of the second of two scans", seen)
	}
}

func TestOnlyDiscoveredLiveFabricsAreRescanned(t *testing.T) {
	t.Parallel()
	w := newWatched(t)
	for name, source := range map[string]string{"files": "file:x", "new": "ibsim:unix:new"} {
		if _, err := w.s.CreateFabric(t.Context(), control.Fabric{Name: name, Source: source, TimeScale: 1}); err != nil {
			t.Fatal(err)
		}
	}
	if w.rescan(2 * rescanInterval); w.scans != 1 {
		t.Errorf("%d fabrics were scanned, want lab alone", w.scans)
	}
	if err := w.s.DeleteFabric(t.Context(), "lab", 0, true); err != nil {
		t.Fatal(err)
	}
	w.ahead.Add(int64(2 * rescanInterval))
	if err := w.s.Rediscover(t.Context(), rescanInterval); err != nil || w.scans != 1 {
		t.Errorf("after the fabric was deleted: %d scans, %v", w.scans, err)
	}
}

// A shutdown of the service ends a scan, and is not reported as an unreachable fabric.
func TestShutdownEndsRescanWithoutEvent(t *testing.T) {
	t.Parallel()
	w := newWatched(t)
	ctx, cancel := context.WithCancel(t.Context())
	w.during = cancel
	w.fault = context.Canceled
	w.ahead.Add(int64(2 * rescanInterval))
	if err := w.s.Rediscover(ctx, rescanInterval); !errors.Is(err, context.Canceled) || w.scans != 1 {
		t.Errorf("%d scans, %v", w.scans, err)
	}
	if seen := w.events(); seen != "" {
		t.Errorf("events %q", seen)
	}
}

// A failed scan resets the doubt of the previous one.
func TestFailedRescanResetsDoubt(t *testing.T) {
	t.Parallel()
	w := newWatched(t)
	w.without, w.warnings = []string{"h3"}, []phrase.Text{phrase.Verbatim("sw1: it does not answer")}
	w.wantEvents("")
	w.fault = errors.New("no light on the cable")
	if seen := w.rescan(10 * time.Second); seen != "silent(lab)" {
		t.Errorf("events %q", seen)
	}
	w.fault = nil
	w.wantEvents("answers(lab)")
	if seen := w.rescan(10 * time.Second); !strings.HasPrefix(seen, "node-gone(h3)") {
		t.Errorf("events %q, want those of the second of two scans", seen)
	}
}

func TestAScanRecordsWhichPortsChanged(t *testing.T) {
	t.Parallel()
	w := newWatched(t)
	topo, err := w.s.LatestTopology(t.Context(), "lab")
	if err != nil {
		t.Fatal(err)
	}
	var h2 ident.PortID
	for i := range topo.Nodes {
		if topo.Nodes[i].Name == "h2" {
			h2 = ident.PortID{Node: topo.Nodes[i].GUID, Port: 1}
		}
	}
	change := func() (c control.PortChange) {
		t.Helper()
		err := w.s.Store.View(t.Context(), func(r control.Repos) error {
			list, err := r.PortChanges(t.Context(), "lab", []ident.PortID{h2})
			if len(list) > 0 {
				c = list[0]
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	if c := change(); c != (control.PortChange{}) {
		t.Errorf("before a change: %+v", c)
	}
	before := w.s.Now()
	w.without = []string{"h2"}
	w.rescan(2 * rescanInterval)
	gone := change()
	if gone.State != control.PortUnknown || gone.Since.Before(before.Add(rescanInterval)) || !gone.Seen.Before(gone.Since) {
		t.Errorf("after h2 vanished: %+v, before it was %v", gone, before)
	}
	w.rescan(2 * rescanInterval) // the same topology
	if c := change(); c != gone {
		t.Errorf("an unchanged state is since %v, want %v", c.Since, gone.Since)
	}
	w.without = nil
	w.rescan(2 * rescanInterval)
	if c := change(); c.State != control.PortUp || !c.Since.After(gone.Since) {
		t.Errorf("after h2 was found again: %+v", c)
	}
}

func TestDiscoveryReplacesATopologyThatCannotBeRead(t *testing.T) {
	t.Parallel()
	w := newWatched(t)
	ctx := t.Context()
	err := w.s.Store.Tx(ctx, func(r control.Repos) error {
		_, err := r.PutSnapshot(ctx, control.Snapshot{Fabric: "lab", SHA256: strings.Repeat("0", 64), Topology: []byte("rubbish: ["), TakenAt: w.s.Now(), SeenAt: w.s.Now()})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.s.LatestTopology(ctx, "lab"); err == nil {
		t.Error("rubbish is read as a topology")
	}
	if _, err := w.s.Discover(ctx, "lab"); err != nil {
		t.Fatal(err)
	}
	if _, err := w.s.LatestTopology(ctx, "lab"); err != nil {
		t.Error(err)
	}
}
