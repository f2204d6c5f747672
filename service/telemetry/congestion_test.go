package telemetry

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"fairlane/ccconfig/ibcc"
	"fairlane/internal/quantity"
	"fairlane/policy"
	"fairlane/sim/fabric"
	"fairlane/sim/simdev"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/subnet/mad"
	"fairlane/subnet/topogen"
)

// incast is three senders and a receiver on a switch that marks: tenants a and b of the plan, and a stranger.
type incast struct {
	t     *testing.T
	dev   *simdev.Devices
	topo  *subnet.Fabric
	hosts []subnet.PortRef
	out   subnet.PortRef // towards the receiver
	plan  *policy.Plan
	wire  mad.Transport
}

func newIncast(t *testing.T, o simdev.Options) *incast {
	t.Helper()
	topo, err := topogen.Star(4, topogen.Wire{})
	if err != nil {
		t.Fatal(err)
	}
	n, err := fabric.New(topo, fabric.Config{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	x := &incast{t: t, topo: n.Topology()}
	if x.dev, err = simdev.New(n, o); err != nil {
		t.Fatal(err)
	}
	for _, h := range x.topo.Hosts() {
		x.hosts = append(x.hosts, subnet.PortRef{Node: h, Port: 1})
	}
	var table [ibcc.BlockEntries]ibcc.Entry
	for i := range table {
		table[i].Multiplier = uint16(i)
	}
	var params [ident.NumSLs]ibcc.SLParams
	for sl := range params {
		params[sl] = ibcc.SLParams{Timer: 50, Increase: 1, Trigger: 2}
	}
	n.SetSwitchCC(x.topo.Switches()[0], ibcc.SwitchSettings{Threshold: 12, MarkingRate: 4})
	for i, h := range x.hosts[:3] {
		n.SetCCTBlock(h.Node, 1, 63, 0, table)
		n.SetCAParams(h.Node, 1, false, params)
		if _, err := x.dev.AddFlow(fabric.FlowSpec{Tenant: i, Src: h, Dst: x.hosts[3], SL: ident.SL(i + 1), QPs: 1}); err != nil {
			t.Fatal(err)
		}
	}
	x.out, _ = x.topo.Peer(x.hosts[3])
	x.plan = &policy.Plan{
		Placements: []policy.Placement{{Tenant: "a", Port: x.topo.PortID(x.hosts[0]), SL: 1}, {Tenant: "b", Port: x.topo.PortID(x.hosts[1]), SL: 2}},
		Tenants:    []policy.TenantShare{{Tenant: "a"}, {Tenant: "b"}},
		Links:      []policy.LinkShare{{Port: x.topo.PortID(x.out)}},
	}
	if x.wire, err = x.dev.Local(x.hosts[3]); err != nil {
		t.Fatal(err)
	}
	return x
}

func (x *incast) watch(o CongestionOptions) *CongestionWatch {
	x.t.Helper()
	w, err := NewCongestionWatch(x.wire, x.plan, x.topo, o)
	if err != nil {
		x.t.Fatal(err)
	}
	return w
}

func (x *incast) read(w *CongestionWatch) *Congestion {
	x.t.Helper()
	c, err := w.Read(x.t.Context())
	if err != nil {
		x.t.Fatal(err)
	}
	return c
}

// becn returns what the network counted for one host.
func (x *incast) becn(host, sl int) (n uint64) {
	x.dev.With(func(net *fabric.Network) {
		c := net.Counters(x.hosts[host].Node, 1)
		n = c.RcvBECNSL[sl]
	})
	return n
}

func TestCongestionIsAttributedToTenants(t *testing.T) {
	t.Parallel()
	for _, layout := range []mad.CCLayout{{}, {LibibmadLog: true}} {
		t.Run(fmt.Sprintf("libibmad %t", layout.LibibmadLog), func(t *testing.T) {
			t.Parallel()
			x := newIncast(t, simdev.Options{Layout: layout})
			w := x.watch(CongestionOptions{Layout: func(ident.PortID) mad.CCLayout { return layout }})
			x.dev.Advance(quantity.Millisecond)
			base := x.read(w)
			if base.Adapter+base.Switch+base.Missed != 0 || len(base.Events) != 0 || base.Tenants[0].BECN != 0 || base.Err != nil {
				t.Errorf("the baseline contains earlier events: %+v", base)
			}
			before := [2]uint64{x.becn(0, 1), x.becn(1, 2)}
			x.dev.Advance(2 * quantity.Millisecond)
			got := x.read(w)
			for i, name := range []string{"a", "b"} {
				want := x.becn(i, i+1) - before[i]
				if s := got.Tenants[i]; s.Tenant != name || s.BECN != want || want == 0 || s.Events == 0 {
					t.Errorf("tenant %s: %+v, want %d notifications and some events", name, s, want)
				}
			}
			if got.Adapter == 0 || got.Switch == 0 || got.Unattributed == 0 || got.Err != nil {
				t.Errorf("events of adapters %d, of the switch %d, of strangers %d: %v", got.Adapter, got.Switch, got.Unattributed, got.Err)
			}
			if n := uint64(len(got.Events)); got.Missed != got.Adapter+got.Switch-n {
				t.Errorf("%d events missed, want %d and %d without %d", got.Missed, got.Adapter, got.Switch, n)
			}
			for i, e := range got.Events {
				if e.At <= 0 || e.At > 2*quantity.Millisecond || i > 0 && e.At < got.Events[i-1].At || e.To != x.topo.Port(x.hosts[3]).LID {
					t.Errorf("event %d: %+v", i, e)
				}
			}
			var out *PortCongestion
			for i := range got.Ports {
				if got.Ports[i].Err != nil {
					t.Errorf("%s: %v", got.Ports[i].Port.Name, got.Ports[i].Err)
				}
				if got.Ports[i].Port.ID == x.topo.PortID(x.out) {
					out = &got.Ports[i]
				}
			}
			if out == nil || out.Congested[0] == 0 {
				t.Errorf("the contended link was never congested: %+v", out)
			}
			x.dev.With(func(n *fabric.Network) { n.SetSwitchCC(x.topo.Switches()[0], ibcc.SwitchSettings{}) })
			x.dev.Advance(5 * quantity.Millisecond) // packets in flight arrive
			x.read(w)
			x.dev.Advance(quantity.Millisecond)
			if c := x.read(w); c.Adapter+c.Switch+c.Missed+c.Unattributed+c.Tenants[0].BECN != 0 || len(c.Events) != 0 {
				t.Errorf("events without marking: %+v", c)
			}
		})
	}
}

// What a device cannot report is flagged, and everything else is still read.
func TestCongestionOfDevicesWithFewCounters(t *testing.T) {
	t.Parallel()
	x := newIncast(t, simdev.Options{})
	w := x.watch(CongestionOptions{})
	x.read(w)
	x.dev.SetFaults(simdev.Faults{CC: simdev.CCNoAttribute})
	w = x.watch(CongestionOptions{}) // devices without logs are timed by the wall clock
	x.read(w)
	if c := x.read(w); c.Err != nil || c.Adapter+c.Switch != 0 || len(c.Ports) != 3 || c.AdapterLogs.Lacking != 2 || c.SwitchLogs.Lacking != 1 {
		t.Errorf("devices without a log: %+v", c)
	}
	x.dev.SetFaults(simdev.Faults{CC: simdev.CCSilent})
	w = x.watch(CongestionOptions{})
	c := x.read(w)
	if !errors.Is(c.Err, mad.ErrTimeout) {
		t.Errorf("silent devices: %v", c.Err)
	}
	for _, p := range c.Ports {
		if !errors.Is(p.Err, mad.ErrTimeout) {
			t.Errorf("%s of a silent device: %v", p.Port.Name, p.Err)
		}
	}
	x.dev.SetFaults(simdev.Faults{})
	if c := x.read(w); !errors.Is(c.Err, mad.ErrTimeout) || !errors.Is(c.Ports[0].Err, mad.ErrTimeout) {
		t.Errorf("the reading after silence asked: %v", c.Err)
	}
	if c := x.read(w); c.Err != nil || c.Ports[0].Err != nil {
		t.Errorf("the one after that did not: %v, %v", c.Err, c.Ports[0].Err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := w.Read(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if _, err := NewCongestionWatch(x.wire, x.plan, x.topo, CongestionOptions{Options: Options{Parallel: -1}}); err == nil {
		t.Error("minus one device at a time")
	}
	if text := fmt.Sprintf("%+v %x", w, w); strings.Contains(text, "0x") || !strings.Contains(text, "watch of the congestion of 3 devices") {
		t.Errorf("printed as %s", text)
	}
}

// deafCounters answers requests for congestion logs, but none for counters.
type deafCounters struct {
	mad.Transport
	asked atomic.Int64
}

func (d *deafCounters) Exchange(ctx context.Context, to mad.Target, req *mad.Packet) (mad.Packet, error) {
	if req.Class() == mad.ClassPerf {
		d.asked.Add(1)
		return mad.Packet{}, mad.ErrTimeout
	}
	return d.Transport.Exchange(ctx, to, req)
}

// When a device's counters time out, only one of them is requested: each wait takes seconds.
func TestSilentCountersAreReadOnce(t *testing.T) {
	t.Parallel()
	x := newIncast(t, simdev.Options{})
	deaf := &deafCounters{Transport: x.wire}
	w, err := NewCongestionWatch(deaf, x.plan, x.topo, CongestionOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if c := x.read(w); len(c.Ports) != 3 || !errors.Is(c.Ports[0].Err, mad.ErrTimeout) {
		t.Errorf("silent counters: %+v", c)
	}
	if n := deaf.asked.Load(); n != 3 {
		t.Errorf("%d requests for counters of 3 silent devices, want 3", n)
	}
}

// An unprotected key hinders no reading; with a protected one the watch needs it.
func TestCongestionWithAKey(t *testing.T) {
	t.Parallel()
	x := newIncast(t, simdev.Options{})
	for i := range x.topo.Nodes {
		if err := x.dev.GuardCC(int32(i), 77, true, 0); err != nil {
			t.Fatal(err)
		}
	}
	if c := x.read(x.watch(CongestionOptions{Options: Options{CCKey: 77}})); c.Err != nil {
		t.Errorf("with the key: %v", c.Err)
	}
	if c := x.read(x.watch(CongestionOptions{})); !errors.Is(c.Err, mad.ErrTimeout) {
		t.Errorf("without: %v", c.Err)
	}
}

// The number of events kept from many logs is bounded.
func TestEventsAreBounded(t *testing.T) {
	t.Parallel()
	w := &CongestionWatch{plan: &policy.Plan{}}
	for i := range 100 {
		d := &congestedDevice{found: logDelta{counted: 13}}
		for k := range 13 {
			d.found.events = append(d.found.events, CongestionEvent{At: quantity.Picoseconds(k*1000 + i)})
		}
		w.devices = append(w.devices, d)
	}
	c := w.sum()
	if len(c.Events) != maxCongestionEvents || c.Events[len(c.Events)-1].At != 12_099 || c.Adapter != 1300 || c.Unattributed != 1300 {
		t.Errorf("%d events, the last at %d; %d counted, %d of strangers", len(c.Events), c.Events[len(c.Events)-1].At, c.Adapter, c.Unattributed)
	}
}

// chatter answers every request with the bytes of a fuzzer.
type chatter struct {
	data []byte
	at   int
}

func (c *chatter) Exchange(_ context.Context, _ mad.Target, req *mad.Packet) (mad.Packet, error) {
	resp := *req
	resp.Respond(mad.StatusOK)
	for i := range resp.Data() {
		if len(c.data) > 0 {
			resp.Data()[i] = c.data[c.at%len(c.data)]
			c.at++
		}
	}
	return resp, nil
}

// FuzzCongestion reads arbitrary answers: nothing is counted twice, the bounds hold, and nothing fails.
func FuzzCongestion(f *testing.F) {
	f.Add([]byte{2, 0, 0, 5, 0, 8, 0, 0, 0, 0, 0, 9})
	f.Add([]byte{0xff})
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		topo, err := topogen.Star(3, topogen.Wire{})
		if err != nil {
			t.Fatal(err)
		}
		n, err := fabric.New(topo, fabric.Config{})
		if err != nil {
			t.Fatal(err)
		}
		topo = n.Topology()
		id := topo.PortID(subnet.PortRef{Node: topo.Hosts()[0], Port: 1})
		plan := &policy.Plan{
			Placements: []policy.Placement{{Tenant: "a", Port: id, SL: 1}}, Tenants: []policy.TenantShare{{Tenant: "a"}},
			Links: []policy.LinkShare{{Port: topo.PortID(subnet.PortRef{Node: topo.Switches()[0], Port: 1})}},
		}
		w, err := NewCongestionWatch(&chatter{data: data}, plan, topo, CongestionOptions{Options: Options{Parallel: 1}})
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			c, err := w.Read(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if n := uint64(len(c.Events)); n > mad.SwitchLogEvents+mad.CALogEvents || c.Missed+n != c.Adapter+c.Switch {
				t.Errorf("%d events and %d missed of %d and %d", n, c.Missed, c.Adapter, c.Switch)
			}
		}
	})
}

func TestUnreadCountsWhatTheSumsLack(t *testing.T) {
	t.Parallel()
	c := Congestion{Ports: []PortCongestion{{}, {Err: ErrSaturated}, {NoBECN: true}, {NoVL: true}}}
	if got := c.Unread(); got != 3 {
		t.Errorf("%d unread, want three ports", got)
	}
	c.AdapterLogs.Lacking, c.SwitchLogs.Lacking = 1, 2
	if got := c.Unread(); got != 6 {
		t.Errorf("%d unread, want three ports and three logs", got)
	}
}

// The counter of a log has 16 bits and saturates within about a second of marks: from then on it is a lower bound.
func TestSaturatedLogCountersAreLowerBounds(t *testing.T) {
	t.Parallel()
	counter, stamp := uint16(logEnd-3), uint32(100)
	w := &CongestionWatch{agents: agents{t: answers(func(req *mad.Packet) {
		log := mad.CongestionLogSwitch{LogType: mad.LogTypeSwitch, EventsCounter: counter, CurrentTime: stamp}
		log.Events[0] = mad.SwitchLogEvent{SLID: 1, DLID: 2, TimeStamp: stamp - 1}
		if err := log.Encode(req.Data()); err != nil {
			t.Error(err)
		}
	})}, plan: &policy.Plan{}}
	d := &congestedDevice{kind: subnet.KindSwitch}
	w.devices = []*congestedDevice{d}
	read := func() *Congestion {
		d.found = w.readLog(t.Context(), d)
		stamp += 10
		return w.sum()
	}
	whole, lacking := LogCoverage{Counted: 1}, LogCoverage{Lacking: 1}
	read()
	counter++
	if c := read(); c.Switch != 1 || c.SwitchLogs != whole || c.Unread() != 0 {
		t.Errorf("below the end: %+v", c)
	}
	for range 2 {
		counter = logEnd
		if c := read(); c.Switch == 0 || c.SwitchLogs != lacking || c.Unread() != 1 {
			t.Errorf("at the end: %+v", c)
		}
	}
}

// answers fills in the answer to every request.
type answers func(*mad.Packet)

func (a answers) Exchange(_ context.Context, _ mad.Target, req *mad.Packet) (mad.Packet, error) {
	resp := *req
	resp.Respond(mad.StatusOK)
	a(&resp)
	return resp, nil
}
