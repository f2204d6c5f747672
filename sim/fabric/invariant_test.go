package fabric

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"fairlane/ccconfig/ibcc"
	"fairlane/internal/quantity"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/subnet/topogen"
)

// check returns an error if the accounting of a network is inconsistent between two events.
func (n *Network) check() error {
	queued := make([]int, len(n.ports)) // packets in each port's VOQs
	for i := range n.switches {
		s := &n.switches[i]
		for vl := range s.queues {
			for j := range s.queues[vl] {
				out := int(n.first[s.node]) + j%s.ports
				for pk := s.queues[vl][j].head; pk != none; pk = n.pool.all[pk].next {
					queued[out]++
				}
			}
		}
	}
	total := 0
	for i := range n.ports {
		p := &n.ports[i]
		total += queued[i] + p.flight.n
		if p.peer == none {
			continue
		}
		for vl := range p.lanes {
			l := &p.lanes[vl]
			for pk := l.acks.head; pk != none; pk = n.pool.all[pk].next {
				total++
			}
			if l.held < 0 || l.buffered < 0 || l.credit < 0 {
				return fmt.Errorf("node %d port %d VL %d: held %d, buffered %d, credit %d", p.node, p.num, vl, l.held, l.buffered, l.credit)
			}
			if !p.carries {
				continue
			}
			blocks := l.credit + n.ports[p.peer].lanes[vl].buffered
			for k := range p.credits.n {
				if c := p.credits.at(k); int(c.vl) == vl {
					blocks += c.blocks
				}
			}
			for k := range p.flight.n {
				if f := &n.pool.all[p.flight.at(k).pkt]; int(f.vl) == vl {
					blocks += int32(f.blocks)
				}
			}
			if blocks != n.creditBlocks {
				return fmt.Errorf("node %d port %d VL %d: %d blocks of credit in total, want %d", p.node, p.num, vl, blocks, n.creditBlocks)
			}
		}
	}
	if total != n.pool.used {
		return fmt.Errorf("%d packets found, %d in use", total, n.pool.used)
	}
	return nil
}

func drawFabric(t *rapid.T) *subnet.Fabric {
	w := topogen.Wire{
		Rate:  rapid.SampledFrom([]quantity.BitRate{10 * quantity.Gbps, 56 * quantity.Gbps, 100 * quantity.Gbps}).Draw(t, "rate"),
		Delay: quantity.Picoseconds(rapid.IntRange(1, 2000).Draw(t, "delay")) * quantity.Nanosecond,
		LMC:   uint8(rapid.IntRange(0, 2).Draw(t, "lmc")),
	}
	var f *subnet.Fabric
	var err error
	switch rapid.IntRange(0, 2).Draw(t, "shape") {
	case 0:
		f, err = topogen.Star(rapid.IntRange(2, 6).Draw(t, "hosts"), w)
	case 1:
		f, err = topogen.Dumbbell(topogen.DumbbellOptions{Left: rapid.IntRange(1, 4).Draw(t, "left"), Right: rapid.IntRange(1, 4).Draw(t, "right"), Wire: w})
	default:
		f, err = topogen.LeafSpine(topogen.LeafSpineOptions{
			Leaves: rapid.IntRange(2, 3).Draw(t, "leaves"), HostsPerLeaf: rapid.IntRange(1, 3).Draw(t, "hosts"),
			Spines: rapid.IntRange(1, 2).Draw(t, "spines"), Wire: w, UplinkRate: 40 * quantity.Gbps,
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// drawNetwork returns a small fabric with random lanes, congestion control and flows.
func drawNetwork(t *rapid.T, f *subnet.Fabric) (*Network, []FlowID) {
	vls := rapid.SampledFrom([]int{1, 2, 4}).Draw(t, "vls")
	n, err := New(f, Config{
		Seed: rapid.Uint64().Draw(t, "seed"), BufferPerVL: 8 << rapid.IntRange(10, 14).Draw(t, "buffer"),
		MTU: rapid.SampledFrom([]int{256, 1024, 4096}).Draw(t, "mtu"), DataVLs: vls,
		AckEvery: rapid.IntRange(1, 20).Draw(t, "ack"), Aggregate: rapid.IntRange(1, 4).Draw(t, "aggregate"),
		Becn: BecnMode(rapid.IntRange(0, 1).Draw(t, "becn")), TimerRestart: rapid.Bool().Draw(t, "restart"),
		MarkBy: MarkBasis(rapid.IntRange(0, 1).Draw(t, "mark by")), UseWindow: quantity.Picoseconds(rapid.IntRange(1, 300).Draw(t, "use window")) * us,
	})
	if err != nil {
		t.Fatal(err)
	}
	for i := range f.Nodes {
		for out := range f.Nodes[i].Ports {
			for in := range f.Nodes[i].Ports {
				var m [ident.NumSLs]ident.VL
				for sl := range m {
					m[sl] = ident.VL(sl % vls)
				}
				n.SetSL2VL(int32(i), ident.PortNum(in), ident.PortNum(out), m)
			}
		}
	}
	for _, sw := range f.Switches() {
		n.SetSwitchCC(sw, ibcc.SwitchSettings{
			Threshold: uint8(rapid.IntRange(0, 15).Draw(t, "threshold")), MarkingRate: uint16(rapid.IntRange(0, 40).Draw(t, "marking")),
		})
	}
	table := geometric(1.1, 64)
	for _, h := range f.Hosts() {
		n.ApplyCA(h, 1, ibcc.CASettings{
			PerSL: rapid.Bool().Draw(t, "per SL"), Limit: 63, Table: table,
			SLs: allSLs(ibcc.SLParams{Timer: uint16(rapid.IntRange(0, 20).Draw(t, "timer")), Increase: uint8(rapid.IntRange(0, 3).Draw(t, "increase"))}),
		})
	}
	var ids []FlowID
	hosts := len(f.Hosts())
	for range rapid.IntRange(1, 6).Draw(t, "flows") {
		a := rapid.IntRange(0, hosts-1).Draw(t, "src")
		b := (a + rapid.IntRange(1, hosts-1).Draw(t, "dst")) % hosts
		id, err := n.AddFlow(FlowSpec{
			Src: hostPort(f, a), Dst: hostPort(f, b), SL: ident.SL(rapid.IntRange(0, 15).Draw(t, "SL")),
			QPs: rapid.IntRange(1, 5).Draw(t, "QPs"), Demand: quantity.BitRate(rapid.IntRange(0, 1).Draw(t, "limited")) * 5 * quantity.Gbps,
			Start: quantity.Picoseconds(rapid.IntRange(0, 100).Draw(t, "start")) * us, PathBits: uint8(rapid.IntRange(0, 3).Draw(t, "path")),
			Bytes: uint64(rapid.IntRange(0, 1).Draw(t, "finite")) * 300_007,
		})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	return n, ids
}

// Credits never become negative and are conserved on every link and lane, no packet is lost or duplicated, and all packets
// arrive after the sources stop.
func TestNothingIsLostAndCreditsAreConserved(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f := drawFabric(t)
		n, ids := drawNetwork(t, f)
		for range 20 {
			n.RunUntil(n.Now() + quantity.Picoseconds(rapid.IntRange(1, 30_000).Draw(t, "dt"))*quantity.Nanosecond)
			if err := n.check(); err != nil {
				t.Fatal(err)
			}
			if d := n.Deadlock(); d != nil {
				t.Fatalf("a loop is reported for routes without loops: %s", d)
			}
		}
		for _, id := range ids {
			n.StopFlow(id)
		}
		n.RunUntil(n.Now() + 200*ms)
		if err := n.check(); err != nil {
			t.Fatal(err)
		}
		if st := n.Stats(); st.InFabric != 0 || st.Discards != 0 {
			t.Fatalf("at rest: %+v", st)
		}
		for _, id := range ids {
			s := n.Flow(id)
			if s.SentPkts != s.DeliveredPkts || s.SentPayload != s.DeliveredPayload {
				t.Fatalf("flow %d sent %d packets, %d bytes; delivered %d, %d", id, s.SentPkts, s.SentPayload, s.DeliveredPkts, s.DeliveredPayload)
			}
			qps := uint64(0)
			for _, b := range s.QPDelivered {
				qps += b
			}
			if qps != s.DeliveredBytes || s.DeliveredBytes != n.Delivered(id) {
				t.Fatalf("flow %d: %d bytes by queue pair, %d in total", id, qps, s.DeliveredBytes)
			}
		}
		checkLinkCounters(t, n, f)
	})
}

// checkLinkCounters compares both ends of every link: one end receives what the other sent.
func checkLinkCounters(t *rapid.T, n *Network, f *subnet.Fabric) {
	for i := range f.Links {
		a, b := f.Links[i].A, f.Links[i].B
		ca, cb := n.Counters(a.Node, a.Port), n.Counters(b.Node, b.Port)
		if ca.XmitBytesSL != cb.RcvBytesSL || cb.XmitPktsSL != ca.RcvPktsSL || ca.XmitPkts != cb.RcvPkts || ca.RcvBytes != cb.XmitBytes {
			t.Fatalf("link %d: ends disagree: %+v, %+v", i, ca, cb)
		}
	}
}

// Links that fail and recover keep the accounting consistent, and finite flows still complete.
func TestLinkFailuresKeepAccountingConsistent(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f := drawFabric(t)
		n, ids := drawNetwork(t, f)
		down := make(map[subnet.PortRef]bool)
		for range 15 {
			n.RunUntil(n.Now() + quantity.Picoseconds(rapid.IntRange(1, 30_000).Draw(t, "dt"))*quantity.Nanosecond)
			p := f.Links[rapid.IntRange(0, len(f.Links)-1).Draw(t, "link")].A
			down[p] = !down[p]
			if rapid.Bool().Draw(t, "logical") {
				n.SetPortActive(p.Node, p.Port, !down[p])
			} else {
				n.SetLinkUp(p.Node, p.Port, !down[p])
			}
			if err := n.check(); err != nil {
				t.Fatal(err)
			}
		}
		for _, l := range f.Links {
			n.SetPortActive(l.A.Node, l.A.Port, true)
			n.SetLinkUp(l.A.Node, l.A.Port, true)
		}
		for _, id := range ids {
			if n.Flow(id).Spec.Bytes == 0 {
				n.StopFlow(id)
			}
		}
		n.RunUntil(n.Now() + 2000*ms)
		if err := n.check(); err != nil {
			t.Fatal(err)
		}
		for _, id := range ids {
			if s := n.Flow(id); s.Spec.Bytes > 0 && (!s.Done || s.DeliveredPayload != s.Spec.Bytes) {
				t.Fatalf("flow %d of %d bytes delivered %d", id, s.Spec.Bytes, s.DeliveredPayload)
			}
		}
	})
}

func TestSameSeedSamePackets(t *testing.T) {
	t.Parallel()
	run := func(seed uint64, others ...*Network) Stats {
		f := star(t, 6)
		n := build(t, f, Config{Seed: seed})
		managed(n)
		for i := range 5 {
			addFlow(t, n, FlowSpec{Src: hostPort(f, i), Dst: hostPort(f, 5), QPs: 3})
		}
		for range 50 {
			n.RunUntil(n.Now() + 100*us)
			for _, o := range others {
				o.RunUntil(o.Now() + 70*us)
			}
		}
		return n.Stats()
	}
	a, b, c := run(1), run(1), run(2)
	if a != b {
		t.Errorf("two runs with the same seed differ: %+v, %+v", a, b)
	}
	if a.Digest == c.Digest {
		t.Error("two runs with different seeds are identical")
	}
	// Neither another simulation in between nor smaller steps change the results.
	f := star(t, 3)
	other := build(t, f, Config{Seed: 9})
	addFlow(t, other, FlowSpec{Src: hostPort(f, 0), Dst: hostPort(f, 1)})
	if d := run(1, other); d != a {
		t.Errorf("in turn with another network: %+v, want %+v", d, a)
	}
}

func TestSteadyStateDoesNotAllocate(t *testing.T) {
	f := star(t, 21)
	n := build(t, f, Config{Seed: 1})
	managed(n)
	for i := range 20 {
		addFlow(t, n, FlowSpec{Src: hostPort(f, i), Dst: hostPort(f, 20), QPs: 4})
	}
	n.RunUntil(20 * ms)
	if a := testing.AllocsPerRun(20, func() { n.RunUntil(n.Now() + 100*us) }); a != 0 {
		t.Errorf("%v allocations per 100 us of traffic, want none", a)
	}
}
