package fabric

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"fairlane/internal/quantity"
	"fairlane/subnet"
	"fairlane/subnet/ident"
)

// totals are the results of a walk over all packets of a network.
type totals struct {
	pkts, payload []uint64 // data packets and payload in the fabric, by flow
	buffered      []int32  // blocks in input buffers, by (port, VL)
	held          []int32  // bytes waiting for an output, by (port, VL)
}

// walk counts every packet in switches and on links.
func (n *Network) walk() totals {
	t := totals{
		pkts: make([]uint64, len(n.flows)), payload: make([]uint64, len(n.flows)),
		buffered: make([]int32, len(n.ports)*ident.NumVLs), held: make([]int32, len(n.ports)*ident.NumVLs),
	}
	count := func(pk int32) {
		if k := &n.pool.all[pk]; k.flags&flagAck == 0 {
			f := n.qps[k.qp].flow
			t.pkts[f]++
			t.payload[f] += uint64(k.payload)
		}
	}
	for i := range n.switches {
		s := &n.switches[i]
		for vl := range s.queues {
			for j := range s.queues[vl] {
				in, out := n.first[s.node]+int32(j/s.ports), n.first[s.node]+int32(j%s.ports)
				for pk := s.queues[vl][j].head; pk != none; pk = n.pool.all[pk].next {
					count(pk)
					k := &n.pool.all[pk]
					t.buffered[in*ident.NumVLs+int32(k.vl)] += int32(k.blocks)
					t.held[out*ident.NumVLs+int32(vl)] += int32(k.size)
				}
			}
		}
	}
	for i := range n.ports {
		for k := range n.ports[i].flight.n {
			count(n.ports[i].flight.at(k).pkt)
		}
	}
	return t
}

// audit compares the counters of a network with its packets. For each flow, every sent packet is delivered, discarded or in the
// fabric. For each buffer, the accounted bytes are present and fit. check covers credits and lost packets.
func (n *Network) audit() error {
	t := n.walk()
	for i := range n.flows {
		s := n.Flow(FlowID(i))
		if s.SentPkts != s.DeliveredPkts+s.DiscardedPkts+t.pkts[i] || s.SentPayload != s.DeliveredPayload+s.DiscardedPayload+t.payload[i] {
			return fmt.Errorf("flow %d: sent %d packets (%d bytes); delivered %d (%d), discarded %d (%d), in the fabric %d (%d)", i,
				s.SentPkts, s.SentPayload, s.DeliveredPkts, s.DeliveredPayload, s.DiscardedPkts, s.DiscardedPayload, t.pkts[i], t.payload[i])
		}
	}
	for i := range n.ports {
		p := &n.ports[i]
		for vl := range p.lanes {
			l, at := &p.lanes[vl], i*ident.NumVLs+vl
			if l.buffered != t.buffered[at] || l.buffered > n.creditBlocks || l.credit > n.creditBlocks || l.held != t.held[at] {
				return fmt.Errorf("node %d port %d VL %d: %d blocks accounted, %d found, buffer of %d, %d credits; %d bytes accounted, %d found",
					p.node, p.num, vl, l.buffered, t.buffered[at], n.creditBlocks, l.credit, l.held, t.held[at])
			}
		}
	}
	return n.check()
}

// disturb applies one random action of an operator, an application or a failing cable.
func disturb(t *rapid.T, n *Network, ids []FlowID) {
	f := n.topo
	link := f.Links[rapid.IntRange(0, len(f.Links)-1).Draw(t, "link")]
	id := ids[rapid.IntRange(0, len(ids)-1).Draw(t, "flow")]
	up := rapid.Bool().Draw(t, "up")
	switch rapid.IntRange(0, 7).Draw(t, "disturb") {
	case 0:
		n.SetLinkUp(link.A.Node, link.A.Port, up)
	case 1:
		n.SetPortActive(link.B.Node, link.B.Port, up)
	case 2: // routes to 64 LIDs are removed, or restored
		for i, sw := range f.Switches() {
			if i%2 == 0 || up {
				setRoutes(n, sw, up)
			}
		}
	case 3:
		mapLanes(n, rapid.SampledFrom([]int{1, 2, 4}).Draw(t, "lanes"))
	case 4:
		n.SetOperationalVLs(link.A.Node, link.A.Port, rapid.SampledFrom([]int{1, 2, 4}).Draw(t, "operational"))
	case 5:
		n.SetFlowSL(id, ident.SL(rapid.IntRange(0, 15).Draw(t, "SL")))
	case 6:
		n.StopFlow(id)
	default: // no action: only traffic
	}
}

// setRoutes writes a switch's first block of routes: the initial routes, or none.
func setRoutes(n *Network, sw int32, whole bool) {
	var b [lftBlock]ident.PortNum
	for i := range b {
		b[i] = ident.DropPort
		if whole && i < len(n.topo.LFTs[sw]) {
			b[i] = n.topo.LFTs[sw][i]
		}
	}
	n.SetLFTBlock(sw, 0, b)
}

// restore undoes the actions of disturb on the fabric.
func restore(n *Network) {
	for _, sw := range n.topo.Switches() {
		setRoutes(n, sw, true)
	}
	for _, l := range n.topo.Links {
		for _, e := range [2]subnet.PortRef{l.A, l.B} {
			n.SetPortActive(e.Node, e.Port, true)
			n.SetOperationalVLs(e.Node, e.Port, 4)
		}
		n.SetLinkUp(l.A.Node, l.A.Port, true)
	}
}

// Under random disturbances the byte counts agree and no buffer exceeds its size, at every instant of the check. At the end
// all credits have returned, unless routes formed a loop. make soak runs the test 10,000 times.
func TestConservation(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		f := drawFabric(rt)
		if rapid.IntRange(0, 3).Draw(rt, "ring") == 0 {
			f = newRing(t, rapid.IntRange(3, 5).Draw(rt, "switches"), rapid.IntRange(1, 2).Draw(rt, "hosts"), 40*quantity.Gbps)
		}
		n, ids := drawNetwork(rt, f)
		hosts := len(f.Hosts())
		for i := range hosts * rapid.IntRange(0, 1).Draw(rt, "loaded") { // for each link that the flows can saturate
			ids = append(ids, addFlow(t, n, FlowSpec{Src: hostPort(f, i), Dst: hostPort(f, (i+hosts-1)%hosts), QPs: 2}))
		}
		for range rapid.IntRange(1, 25).Draw(rt, "steps") {
			n.RunUntil(n.Now() + quantity.Picoseconds(rapid.IntRange(100, 60_000).Draw(rt, "dt"))*quantity.Nanosecond)
			disturb(rt, n, ids)
			if err := n.audit(); err != nil {
				rt.Fatal(err)
			}
		}
		restore(n)
		for _, id := range ids {
			n.StopFlow(id)
		}
		n.RunUntil(n.Now() + 300*ms)
		if err := n.audit(); err != nil {
			rt.Fatal(err)
		}
		d := n.Deadlock()
		if left := n.Stats().InFabric; (d != nil) != (left > 0) {
			rt.Fatalf("after the end of traffic %d packets are in the fabric; loop %v", left, d)
		}
		if d == nil {
			checkCreditsBack(rt, n)
		}
	})
}

// checkCreditsBack fails unless every lane of every link has the credits of an empty buffer.
func checkCreditsBack(t *rapid.T, n *Network) {
	for i := range n.ports {
		p := &n.ports[i]
		if p.peer == none {
			continue
		}
		n.collect(p, n.Now())
		for vl := range p.lanes {
			if p.lanes[vl].credit != n.creditBlocks || p.lanes[vl].buffered != 0 || p.lanes[vl].held != 0 {
				t.Fatalf("node %d port %d VL %d after the end of traffic: %+v, want %d credits", p.node, p.num, vl, p.lanes[vl], n.creditBlocks)
			}
		}
	}
}
