package telemetry

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"fairlane/internal/quantity"
	"fairlane/sim/fabric"
	"fairlane/sim/simdev"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/subnet/mad"
)

// getsOnly fails a test when a request is not a Get.
type getsOnly struct {
	mad.Transport

	t    *testing.T
	fail func(to mad.Target, attr mad.AttrID) error // nil: none
	n    atomic.Int64
}

func (g *getsOnly) Exchange(ctx context.Context, to mad.Target, p *mad.Packet) (mad.Packet, error) {
	if p.Method() != mad.MethodGet {
		g.t.Errorf("%v of %v: a watch only gets", p.Method(), p.Attr())
	}
	g.n.Add(1)
	if g.fail != nil {
		if err := g.fail(to, p.Attr()); err != nil {
			return mad.Packet{}, err
		}
	}
	return g.Transport.Exchange(ctx, to, p)
}

// watched is an incast with a watch of a sender and of the switch port towards the receiver.
type watched struct {
	*incast

	w    *PortWatch
	wire *getsOnly
	ids  []ident.PortID
	ends []subnet.PortRef
}

func newWatched(t *testing.T, c *Clears) *watched {
	t.Helper()
	x := &watched{incast: newIncast(t, simdev.Options{})}
	x.wire = &getsOnly{Transport: x.incast.wire, t: t}
	x.ends = []subnet.PortRef{x.hosts[0], x.out}
	for _, at := range x.ends {
		x.ids = append(x.ids, x.topo.PortID(at))
	}
	var err error
	if x.w, err = NewPortWatch(x.wire, x.ids, x.topo, time.Minute, Options{Clears: c}); err != nil {
		t.Fatal(err)
	}
	x.dev.Advance(quantity.Millisecond)
	return x
}

func (x *watched) read() map[ident.PortID]PortActivity {
	x.t.Helper()
	list, err := x.w.Read(x.t.Context())
	if err != nil {
		x.t.Fatal(err)
	}
	out := map[ident.PortID]PortActivity{}
	for _, p := range list {
		out[p.Port] = p
	}
	if len(list) != len(x.ids) || len(out) != len(x.ids) {
		x.t.Fatalf("%d ports: %+v", len(list), list)
	}
	return out
}

// truth returns the network's own counts of the ports.
func (x *watched) truth() (out []fabric.PortCounters) {
	x.dev.With(func(n *fabric.Network) {
		for _, at := range x.ends {
			out = append(out, n.Counters(at.Node, at.Port))
		}
	})
	return out
}

func countOf(p PortActivity, kind CountKind, lane int) (float64, bool) {
	i := slices.IndexFunc(p.Counts, func(c PortCount) bool { return c.Kind == kind && c.Lane == lane })
	if i < 0 {
		return 0, false
	}
	return p.Counts[i].PerSecond, true
}

// compare compares what a watch read with what the network counted in a span.
func (x *watched) compare(got map[ident.PortID]PortActivity, a, b []fabric.PortCounters, span quantity.Picoseconds) {
	x.t.Helper()
	close := func(what string, got, want float64) {
		x.t.Helper()
		if math.Abs(got-want) > 0.002*want {
			x.t.Errorf("%s: %v, the network counted %v", what, got, want)
		}
	}
	for i, id := range x.ids {
		p := got[id]
		if p.Err != nil || p.Sent == nil {
			x.t.Errorf("%s: %+v", p.Name, p)
			continue
		}
		close(p.Name+" sent", float64(*p.Sent), float64(b[i].XmitBytes-a[i].XmitBytes)*8/span.Seconds())
		wait, _ := countOf(p, CountWait, 0)
		close(p.Name+" wait", wait, float64(b[i].XmitWait-a[i].XmitWait)/span.Seconds())
		for sl := range b[i].RcvBECNSL {
			n, _ := countOf(p, CountBECN, sl)
			close(p.Name+" BECN", n, float64(b[i].RcvBECNSL[sl]-a[i].RcvBECNSL[sl])/span.Seconds())
		}
		for vl := range numDataVLs {
			n, _ := countOf(p, CountCongested, vl)
			close(p.Name+" congested", n, float64(b[i].XmitTimeCongVL[vl]-a[i].XmitTimeCongVL[vl])/span.Seconds())
		}
	}
}

func TestWatchedPortsMatchTheNetwork(t *testing.T) {
	t.Parallel()
	x := newWatched(t, &Clears{})
	for _, p := range x.read() {
		if !errors.Is(p.Err, ErrUnread) || p.Sent != nil || p.Counts != nil {
			t.Errorf("the baseline is %+v", p)
		}
	}
	const span = 4 * quantity.Millisecond
	for range 3 {
		a, before := x.truth(), x.wire.n.Load()
		x.dev.Advance(span)
		got := x.read()
		x.compare(got, a, x.truth(), span)
		if n := x.wire.n.Load() - before; n != 2*5 { // for each device its clock twice and three attributes
			t.Errorf("%d requests for two ports, want 10", n)
		}
	}
	if b := x.truth(); b[0].RcvBECNSL[1] == 0 || b[1].XmitTimeCongVL[0] == 0 {
		t.Errorf("the network counted no congestion: %+v", b)
	}
}

// TestMeasurementsOfSharesDoNotFalsifyAWatch has a counter that a measurement clears between two readings of a watch: the watch has a gap there, and
// correct values of everything else and afterwards. The measurement has the result that it has without the watch, which only gets.
func TestMeasurementsOfSharesDoNotFalsifyAWatch(t *testing.T) {
	t.Parallel()
	clears := &Clears{}
	x := newWatched(t, clears)
	at := x.topo.Nodes[x.out.Node].Ports[0].LID
	full := mad.PortCounters{PortSelect: x.out.Port, CounterSelect2: 1, XmitWait: 3 << 30}
	set := agents{t: x.incast.wire, o: x.w.o}
	if err := set.perf(t.Context(), at, mad.MethodSet, mad.AttrPortCounters, &full); err != nil {
		t.Fatal(err)
	}
	shares := x.watch(CongestionOptions{Options: Options{Clears: clears}})
	x.read()
	x.incast.read(shares) // clears
	const span = 4 * quantity.Millisecond
	x.dev.Advance(span)
	got := x.read()
	out := got[x.ids[1]]
	if _, ok := countOf(out, CountWait, 0); ok || !errors.Is(out.Err, ErrCleared) || out.Sent == nil {
		t.Errorf("after a clear: %+v", out)
	}
	if p := got[x.ids[0]]; p.Err != nil {
		t.Errorf("a port that was not cleared: %+v", p)
	}
	a := x.truth()
	x.dev.Advance(span)
	x.compare(x.read(), a, x.truth(), span)
	// Cleared and counted up again beyond its previous value: only the record of clears shows it.
	clears.begin(clearKey{at, x.out.Port, mad.AttrPortCounters})()
	x.dev.Advance(span)
	if out := x.read()[x.ids[1]]; !errors.Is(out.Err, ErrCleared) || out.Sent == nil {
		t.Errorf("after a clear that the value hides: %+v", out)
	}
	if c := x.incast.read(shares); c.Err != nil || len(c.Ports) == 0 || slices.ContainsFunc(c.Ports, func(p PortCongestion) bool { return p.Err != nil }) {
		t.Errorf("the measurement beside the watch: %+v", c)
	}
}

// TestAPortThatDoesNotAnswerIsAGap has a switch that does not answer once. The sender is measured all the same, and the switch needs a new baseline.
func TestAPortThatDoesNotAnswerIsAGap(t *testing.T) {
	t.Parallel()
	x := newWatched(t, nil)
	x.read()
	lid := x.topo.Nodes[x.out.Node].Ports[0].LID
	for i, silent := range []bool{true, false, false} {
		x.wire.fail = func(to mad.Target, _ mad.AttrID) error {
			if silent && to.LID == lid {
				return mad.ErrTimeout
			}
			return nil
		}
		x.dev.Advance(4 * quantity.Millisecond)
		got := x.read()
		if p := got[x.ids[0]]; p.Sent == nil {
			t.Errorf("reading %d of the sender: %+v", i, p)
		}
		if p := got[x.ids[1]]; (p.Sent != nil) != (i == 2) || (p.Err == nil) != (i == 2) {
			t.Errorf("reading %d of the switch: %+v", i, p)
		}
	}
}

// TestAmbiguousCountersHaveNoValue compares with a counter that wraps or saturates and that a measurement clears from half its range on: the move is
// correct, or there is none.
func TestAmbiguousCountersHaveNoValue(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		most := rapid.Uint64Range(0, 1<<34).Draw(t, "most")
		s := step32{most: most, sticks: rapid.Bool().Draw(t, "sticks"), mayClear: rapid.Bool().Draw(t, "clears")}
		wraps := !s.sticks && rapid.Bool().Draw(t, "wraps")
		last := rapid.Uint32().Draw(t, "last")
		moved, v := uint64(0), last
		for range 3 {
			n := rapid.Uint64Range(0, most-moved).Draw(t, "moves")
			moved += n
			if wraps {
				v += uint32(n)
			} else {
				v = uint32(min(uint64(v)+n, counterEnd))
			}
			if s.mayClear && v >= clearAt && rapid.Bool().Draw(t, "clear") {
				v = 0
			}
		}
		if got, err := s.moved(last, v); err == nil && got != moved {
			t.Errorf("from %d to %d with at most %d: %d, it moved by %d", last, v, most, got, moved)
		}
	})
	// A second at 100 Gbit/s: notifications are always measured, ticks when measurements tell of their clears.
	most := wordsIn(quantity.Second, 100*quantity.Gbps)
	for name, c := range map[string]struct {
		s  step32
		ok bool
	}{
		"notifications": {step32{most: most / leastPacketWords, mayClear: true}, true}, "ticks": {step32{most: most}, true},
		"ticks that may be cleared": {step32{most: most, mayClear: true}, false}, "ticks at 200 Gbit/s": {step32{most: 2 * most}, false},
		"wait at 200 Gbit/s": {step32{most: 2 * most, sticks: true}, true},
	} {
		if n, err := c.s.moved(1000, 1500); (err == nil) != c.ok || c.ok && n != 500 {
			t.Errorf("%s: %d, %v", name, n, err)
		}
	}
}

func TestAWatchRefusesPortsThatAreNotThere(t *testing.T) {
	t.Parallel()
	x := newIncast(t, simdev.Options{})
	if _, err := NewPortWatch(x.wire, nil, x.topo, 0, Options{}); err == nil {
		t.Error("a watch of no ports")
	}
	if _, err := NewPortWatch(x.wire, []ident.PortID{{Node: 1, Port: 1}}, x.topo, 0, Options{}); err == nil {
		t.Error("a watch of a port that is not on the fabric")
	}
}
