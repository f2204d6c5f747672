package ether

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fairlane/internal/quantity"
	"fairlane/sim/cc"
	"fairlane/subnet"
	"fairlane/subnet/topogen"
)

// shareOfClass returns the first class's fraction of the octets that a port's first two classes send in a time span.
func shareOfClass(n *Network, at subnet.PortRef, span quantity.Picoseconds) float64 {
	var before, after [MaxClasses]QueueStats
	n.Queues(at, &before)
	n.RunUntil(n.Now() + span)
	n.Queues(at, &after)
	a, b := after[0].TxOctets-before[0].TxOctets, after[1].TxOctets-before[1].TxOctets
	return float64(a) / float64(a+b)
}

// contended returns a network in which two hosts send at full rate to a third, each in a separate class, and the switch port
// to the third host.
func contended(t *testing.T, cfg Config) (*Network, subnet.PortRef) {
	t.Helper()
	n, _ := star(t, 3, cfg, FlowSpec{ID: 0, Src: 0, Dst: 2, Class: 0, Code: 10}, FlowSpec{ID: 1, Src: 1, Dst: 2, Class: uint8(max(0, len(cfg.Classes)-1)), Code: 11})
	return n, n.ref(n.ports[n.hosts[2].port].peer)
}

func TestTheServiceOfAPortChangesWhileItSends(t *testing.T) {
	t.Parallel()
	n, at := contended(t, Config{Classes: []Class{{}, {}}})
	n.RunUntil(ms)
	for _, c := range []struct {
		service Service
		want    float64
	}{
		{Service{}, 0.5},
		{Service{Weights: [MaxClasses]uint8{1, 3}}, 0.25},
		{Service{Weights: [MaxClasses]uint8{9, 1}}, 0.9},
		{Service{Strict: 1}, 1},
		{Service{Strict: 2}, 0},
		{Service{Strict: 3}, 1},
		{Service{Strict: 3, HighFirst: true}, 0},
		{Service{Weights: [MaxClasses]uint8{2, 3}}, 0.4},
	} {
		must(t, n.SetService(at, c.service))
		n.RunUntil(n.Now() + ms)
		if got := shareOfClass(n, at, 2*ms); math.Abs(got-c.want) > 0.01 {
			t.Errorf("%+v: share %.3f of the first class, want %.2f", c.service, got, c.want)
		}
		must(t, n.audit())
	}
}

// A code selects one class at the sending host, another at the switch, and a third for the replies of the receiver.
func TestCodesLeadToAClassAtEachHop(t *testing.T) {
	t.Parallel()
	var ref FlowRef
	n, _ := star(t, 2, Config{Classes: make([]Class, 5), CNPs: true, CNPClass: 0, CNPGap: us, ECN: ECN{Min: 1, Max: 2, RatePer: quantity.Gbps}, Algorithms: []cc.Algorithm{build(t, "dcqcn", nil)}, OnStart: func(_ int64, r FlowRef) { ref = r }})
	nic := func(h int) subnet.PortRef { return n.ref(n.hosts[h].port) }
	port := func(h int) subnet.PortRef { return n.ref(n.ports[n.hosts[h].port].peer) }
	maps := func(code uint8, classes ...uint8) {
		for i, at := range []subnet.PortRef{nic(0), port(0), nic(1), port(1)} {
			m := CodeMap{}
			if at := n.ports[n.first[at.Node]+int32(at.Port)].codes; at > 0 {
				m = n.maps[at-1]
			}
			m[code] = classes[i]
			must(t, n.SetMap(at, &m))
		}
	}
	sent := func(at subnet.PortRef) (classes string) {
		var q [MaxClasses]QueueStats
		n.Queues(at, &q)
		was := q
		n.RunUntil(n.Now() + 100*us)
		n.Queues(at, &q)
		for c := range q {
			if q[c].TxPackets > was[c].TxPackets {
				classes += fmt.Sprint(c)
			}
		}
		return classes
	}
	maps(10, 1, 2, 3, 4)
	maps(20, 4, 3, 2, 1)
	maps(48, 0, 0, 3, 0)
	must(t, n.SetNotificationCode(1, 48))
	add(t, n, FlowSpec{Src: 0, Dst: 1, Code: 10}, FlowSpec{ID: 1, Src: 0, Dst: 1, Code: 10, Bytes: 10_000})
	n.RunUntil(100 * us)
	for _, c := range []struct {
		what string
		at   subnet.PortRef
		want string
	}{{"data of the host", nic(0), "1"}, {"data at the switch", port(1), "2"}, {"replies of the receiver", nic(1), "3"}, {"replies at the switch", port(0), "4"}} {
		if got := sent(c.at); got != c.want {
			t.Errorf("%s: classes %s, want %s", c.what, got, c.want)
		}
	}
	if err := n.SetCode(ref, 20); err == nil {
		t.Error("SetCode accepted a flow that has ended")
	}
	for r := range refs(n) {
		must(t, n.SetCode(r, 20))
	}
	n.RunUntil(n.Now() + 100*us)
	for at, want := range map[subnet.PortRef]string{nic(0): "4", port(1): "3", nic(1): "2", port(0): "1"} {
		if got := sent(at); got != want {
			t.Errorf("%s with another code: classes %s, want %s", n.PortName(at), got, want)
		}
	}
	must(t, n.SetMap(port(0), nil))
	n.RunUntil(n.Now() + 100*us)
	if got := sent(port(1)); got != "4" {
		t.Errorf("without a map at the switch: classes %s, want the classes of the host", got)
	}
	must(t, n.audit())
}

// refs yields the references of the active flows.
func refs(n *Network) func(func(FlowRef) bool) {
	return func(yield func(FlowRef) bool) {
		for f := range n.Flows {
			if !yield(FlowRef{f.Slot, f.gen}) {
				return
			}
		}
	}
}

// Without pauses the switch loses packets and senders resend. With pauses enabled again it loses no packets.
func TestPauseIsTurnedOffAndOnAgain(t *testing.T) {
	t.Parallel()
	for _, where := range []string{"at the switch", "at the hosts", "at both"} {
		n, at := contended(t, Config{Buffer: Buffer{Static: 30_000}, Recovery: Recovery{NackGap: 10 * us, Timeout: ms}})
		set := func(classes uint8) {
			for h := range n.hosts {
				p := n.hosts[h].port
				if where != "at the hosts" {
					must(t, n.SetPFC(n.ref(n.ports[p].peer), classes))
				}
				if where != "at the switch" {
					must(t, n.SetPFC(n.ref(p), classes))
				}
			}
		}
		drops := func(span quantity.Picoseconds) uint64 {
			was := n.Stats().DroppedPackets
			n.RunUntil(n.Now() + span)
			must(t, n.audit())
			return n.Stats().DroppedPackets - was
		}
		accepted := func() uint64 { return n.Stats().AcceptedBytes }
		if d := drops(2 * ms); d != 0 {
			t.Errorf("%s: %d packets lost with pauses", where, d)
		}
		set(0)
		was := accepted()
		if d := drops(5 * ms); d == 0 || n.Stats().Nacks == 0 || accepted() == was {
			t.Errorf("%s: %d packets lost without pauses, %d accepted bytes, %+v", where, d, accepted()-was, n.Stats())
		}
		if in := n.Link(n.ref(n.ports[n.hosts[0].port].peer)).InDrops[0] + n.Link(n.ref(n.ports[n.hosts[1].port].peer)).InDrops[0]; in != n.Stats().DroppedPackets {
			t.Errorf("%s: %d packets lost at ingress ports, %d in total", where, in, n.Stats().DroppedPackets)
		}
		set(1)
		drops(ms)
		if d := drops(5 * ms); d != 0 {
			t.Errorf("%s: %d packets lost with pauses again", where, d)
		}
		if l := n.Link(at); l.PausedTimes[0] != l.PausedTime {
			t.Errorf("%s: paused for %s, its only class for %s", where, l.PausedTime, l.PausedTimes[0])
		}
	}
}

// A paused host resumes at once when it no longer obeys pauses; a switch that no longer sends pauses resumes the host.
func TestPauseEndsWhenPFCIsDisabled(t *testing.T) {
	t.Parallel()
	for _, atHost := range []bool{false, true} {
		n, _ := star(t, 2, Config{Buffer: Buffer{Static: 30_000}}, FlowSpec{Src: 0, Dst: 1})
		n.block(1, true)
		n.RunUntil(100 * us)
		nic := &n.ports[n.hosts[0].port]
		if nic.paused != 1 {
			t.Fatal("the sender is not paused")
		}
		at, wait := n.ref(nic.peer), us+43*80*quantity.Picosecond
		if atHost {
			at, wait = n.ref(n.hosts[0].port), 0
		}
		must(t, n.SetPFC(at, 0xfe))
		n.RunUntil(n.Now() + wait)
		if nic.paused != 0 || nic.held[0] == 0 {
			t.Errorf("host %v: paused %b, its class for %s", atHost, nic.paused, nic.held[0])
		}
	}
}

func TestChangesOfClassesOutOfRangeAreRefused(t *testing.T) {
	t.Parallel()
	var ref FlowRef
	n, _ := star(t, 2, Config{Classes: make([]Class, 2), OnStart: func(_ int64, r FlowRef) { ref = r }}, FlowSpec{Src: 0, Dst: 1})
	n.RunUntil(us)
	at, away := n.ref(n.hosts[0].port), subnet.PortRef{Node: 99}
	for want, err := range map[string]error{
		"class 2 of code 7: want 0 to 1": n.SetMap(at, &CodeMap{7: 2}),
		"code 64: want 0 to 63":          n.SetCode(ref, 64),
		"code 65: want 0 to 63":          n.SetNotificationCode(0, 65),
		"host 9":                         n.SetNotificationCode(9, 0),
		"the flow has ended":             n.SetCode(FlowRef{slot: 7}, 1),
		"code 77: want 0 to 63":          n.Add(FlowSpec{Src: 0, Dst: 1, Code: 77}),
		"node 99: want":                  n.SetMap(away, nil),
		"node 99":                        n.SetService(away, Service{}),
		"node 99: ":                      n.SetPFC(away, 0),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// auditLines compares the turn queues of ready flows with the state of hosts and functions.
func (n *Network) auditLines() error {
	lines := 0
	check := func(what string, t turns, cls int, bit bool) error {
		if (t.head != none) != bit {
			return fmt.Errorf("%s class %d: head %d, its bit %v", what, cls, t.head, bit)
		}
		last := none
		for at := t.head; at != none; at = n.flow(at).next2 {
			f := n.flow(at)
			if f.state != stateReady && f.state != stateFree || f.state == stateReady && int(f.cls) != cls {
				return fmt.Errorf("%s class %d: flow %d of class %d in state %d", what, cls, at, f.cls, f.state)
			}
			if f.state == stateReady {
				lines++
			}
			last = at
		}
		if last != t.tail {
			return fmt.Errorf("%s class %d: ends with %d, tail %d", what, cls, last, t.tail)
		}
		return nil
	}
	for i := range n.hosts {
		h := &n.hosts[i]
		for c := range n.classes {
			ready := h.flowsReady>>c&1 == 1
			if h.shares == nil {
				if err := check(fmt.Sprint("host ", i), n.turns[i*n.classes+c], c, ready); err != nil {
					return err
				}
				continue
			}
			waiting := int32(0)
			for _, at := range h.shares.functions {
				fn := &n.functions[at]
				if err := check(fmt.Sprint("function ", at), fn.turns[c], c, fn.ready>>c&1 == 1); err != nil {
					return err
				}
				if fn.ready>>c&1 == 1 {
					waiting++
				}
			}
			if ready != (waiting > 0) || h.shares.waiting[c] != waiting {
				return fmt.Errorf("host %d class %d: %d functions ready, %d counted, bit %v", i, c, waiting, h.shares.waiting[c], ready)
			}
		}
	}
	ready := 0
	for slot := range n.slots {
		if n.flow(slot).state == stateReady {
			ready++
		}
	}
	if ready != lines {
		return fmt.Errorf("%d flows ready, %d in turn queues", ready, lines)
	}
	return nil
}

// Under random changes while packets flow, accounts and turn queues stay consistent, and every flow ends after pauses are
// enabled again.
func TestClassesChangeWhilePacketsFlow(tb *testing.T) {
	tb.Parallel()
	topo, err := topogen.LeafSpine(topogen.LeafSpineOptions{Leaves: 2, HostsPerLeaf: 3, Spines: 2})
	must(tb, err)
	rapid.Check(tb, func(t *rapid.T) {
		draw := func(name string, high int) int { return rapid.IntRange(0, high).Draw(t, name) }
		cfg := Config{
			Seed: 1, Classes: []Class{{}, {Lossy: true}, {Weight: 3}}, CNPs: true, CNPGap: 4 * us, AckEvery: 1 + draw("acks", 3),
			ECN: ECN{Min: 20_000, Max: 80_000, PMax: 0.2, RatePer: 100 * quantity.Gbps}, Buffer: Buffer{Static: 60_000}, Recovery: Recovery{NackGap: 10 * us, Timeout: ms},
			Algorithms: []cc.Algorithm{build(tb, "dcqcn-mlx", nil)},
		}
		n, err := New(topo, cfg)
		must(tb, err)
		numbers := make([]int32, 2*len(n.hosts))
		shared := draw("functions", 1) == 1
		for i := range numbers {
			if shared {
				numbers[i], err = n.AddFunction(int32(i/2), FunctionShare{})
				must(tb, err)
			}
		}
		for i := range 24 {
			src := draw("src", len(n.hosts)-1)
			dst := (src + 1 + draw("dst", len(n.hosts)-2)) % len(n.hosts)
			must(tb, n.Add(FlowSpec{
				ID: int64(i), Src: int32(src), Dst: int32(dst), Bytes: 100_000, Code: uint8(draw("code", 3)), Class: uint8(draw("class", 2)),
				Function: numbers[2*src+i%2], PeerFunction: numbers[2*dst+i%2],
			}))
		}
		ports := linkedPorts(n)
		for range 40 {
			at := ports[draw("port", len(ports)-1)]
			switch draw("what", 4) {
			case 0:
				m := CodeMap{}
				for c := range 4 {
					m[c] = uint8(draw("to", 2))
				}
				must(tb, n.SetMap(at, &m))
			case 1:
				nth := draw("flow", 23)
				for r := range refs(n) {
					if nth--; nth < 0 {
						must(tb, n.SetCode(r, uint8(draw("code", 3))))
						break
					}
				}
			case 2:
				must(tb, n.SetService(at, Service{Strict: uint8(draw("strict", 7)), HighFirst: draw("high", 1) == 1, Weights: [MaxClasses]uint8{uint8(draw("w0", 9)), uint8(draw("w1", 9))}}))
			case 3:
				must(tb, n.SetPFC(at, uint8(draw("pfc", 7))))
			default:
				must(tb, n.SetMap(at, nil))
			}
			n.RunUntil(n.Now() + quantity.Picoseconds(draw("span", 9))*us)
			if err := errorsOf(n.audit(), n.auditLines()); err != nil {
				t.Fatal(err)
			}
		}
		for _, at := range ports {
			must(tb, n.SetPFC(at, 0xff))
		}
		for !n.Finished() && n.Now() < 2*quantity.Second {
			n.RunUntil(n.Now() + ms)
		}
		n.RunUntil(n.Now() + 10*ms)
		if err := errorsOf(n.audit(), n.auditLines()); err != nil || !n.Finished() || n.pool.used != 0 {
			t.Fatalf("%v; finished %v with %d packets: %+v", err, n.Finished(), n.pool.used, n.Stats())
		}
		for i := range n.ports {
			if n.ports[i].paused != 0 {
				t.Errorf("%s is paused in an idle fabric", n.PortName(n.ref(int32(i))))
			}
		}
	})
}

func errorsOf(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

// linkedPorts returns all ports with a link.
func linkedPorts(n *Network) (out []subnet.PortRef) {
	for i := range n.ports {
		if n.ports[i].peer != none {
			out = append(out, n.ref(int32(i)))
		}
	}
	return out
}
