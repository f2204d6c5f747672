package fabric

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fairlane/internal/quantity"
	"fairlane/subnet"
	"fairlane/subnet/ident"
)

// newRing returns switches s1 to sN in a ring, each with hosts. Port 1 leads clockwise, port 2 counter-clockwise. All packets
// are routed clockwise; a real subnet manager would avoid such routes.
func newRing(t testing.TB, switches, hosts int, rate quantity.BitRate) *subnet.Fabric {
	t.Helper()
	var nodes []subnet.Node
	var links []subnet.Link
	add := func(kind subnet.NodeKind, name string, ports int) int32 {
		guid := ident.GUID(0x100*len(nodes) + 0x100)
		n := subnet.Node{GUID: guid, SystemGUID: guid, Kind: kind, Name: name, Ports: subnet.NewPorts(ports)}
		for p := range n.Ports {
			if p > 0 || kind == subnet.KindSwitch {
				n.Ports[p].State, n.Ports[p].MTU, n.Ports[p].GUID = subnet.PortActive, 4096, guid+ident.GUID(p)
			}
		}
		nodes = append(nodes, n)
		return int32(len(nodes) - 1)
	}
	link := func(a int32, ap int, b int32, bp int) {
		links = append(links, subnet.Link{
			A: subnet.PortRef{Node: a, Port: ident.PortNum(ap)}, B: subnet.PortRef{Node: b, Port: ident.PortNum(bp)},
			Rate: rate, Delay: 500 * quantity.Nanosecond,
		})
	}
	for i := range switches {
		add(subnet.KindSwitch, fmt.Sprintf("s%d", i+1), 2+hosts)
	}
	for i := range switches {
		link(int32(i), 1, int32((i+1)%switches), 2)
		for h := range hosts {
			link(add(subnet.KindCA, fmt.Sprintf("h%d-%d", i+1, h+1), 1), 1, int32(i), 3+h)
		}
	}
	f, err := subnet.New("ring", nodes, links)
	if err == nil {
		f, err = subnet.AssignLIDs(f, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	lfts := make([][]ident.PortNum, len(f.Nodes))
	for i := range switches {
		row := make([]ident.PortNum, int(f.TopLID())+1)
		for lid := range row {
			row[lid] = 1
		}
		row[0] = ident.DropPort
		row[f.Nodes[i].Ports[0].LID] = 0
		for p := 3; p < len(f.Nodes[i].Ports); p++ {
			peer, _ := f.Peer(subnet.PortRef{Node: int32(i), Port: ident.PortNum(p)})
			row[f.Nodes[peer.Node].Ports[1].LID] = ident.PortNum(p)
		}
		lfts[i] = row
	}
	if f, err = f.WithLFTs(lfts); err != nil {
		t.Fatal(err)
	}
	return f
}

// across adds flows from each switch's first host to that of the previous switch, almost once around the ring: switches forward
// more than half of the traffic that they receive.
func across(t testing.TB, n *Network, sl func(i int) ident.SL) (ids []FlowID) {
	t.Helper()
	f := n.Topology()
	switches := len(f.Switches())
	for i := range switches {
		ids = append(ids, addFlow(t, n, FlowSpec{
			Src: named(t, f, fmt.Sprintf("h%d-1", i+1)), Dst: named(t, f, fmt.Sprintf("h%d-1", (i+switches-1)%switches+1)), SL: sl(i), QPs: 2,
		}))
	}
	return ids
}

func onSL0(int) ident.SL { return 0 }

func TestDeadlockNamesRingOfClockwiseRoutes(t *testing.T) {
	t.Parallel()
	f := newRing(t, 4, 1, 100*quantity.Gbps)
	n := build(t, f, Config{Seed: 1, BufferPerVL: 64 << 10})
	if n.Deadlock() != nil {
		t.Fatal("an empty fabric reports a loop")
	}
	across(t, n, onSL0)
	n.RunUntil(10 * ms)
	before := n.Stats()
	d := n.Deadlock()
	if d == nil {
		t.Fatalf("no loop found; %+v", before)
	}
	want := "credit loop: s1/P1 VL 0 waits for s2/P1 VL 0 waits for s3/P1 VL 0 waits for s4/P1 VL 0 waits for s1/P1 VL 0; "
	if !strings.HasPrefix(d.String(), want) {
		t.Errorf("got  %s\nwant %s", d, want)
	}
	if d.Packets != before.InFabric || d.Packets == 0 {
		t.Errorf("%d packets can never move, want all %d", d.Packets, before.InFabric)
	}
	for _, l := range d.Cycle {
		if l.Packets == 0 || l.Bytes == 0 {
			t.Errorf("nothing waits at %+v", l)
		}
	}
	n.RunUntil(50 * ms)
	if after := n.Stats(); after.Digest != before.Digest || after.InFabric != before.InFabric {
		t.Errorf("packets of the loop moved: %+v, then %+v", before, after)
	}
	// A failing link discards the packets queued for it, which breaks the loop.
	n.SetLinkUp(0, 1, false)
	n.RunUntil(51 * ms)
	if d := n.Deadlock(); d != nil {
		t.Errorf("the ring is disconnected, but the report is: %s", d)
	}
}

// With a separate lane for each flow no loop can form: the same ring keeps forwarding.
func TestRingWithLanePerFlowHasNoDeadlock(t *testing.T) {
	t.Parallel()
	f := newRing(t, 4, 1, 100*quantity.Gbps)
	n := build(t, f, Config{Seed: 1, BufferPerVL: 64 << 10, DataVLs: 4})
	mapLanes(n, 4)
	across(t, n, func(i int) ident.SL { return ident.SL(i) })
	for range 100 {
		n.RunUntil(n.Now() + 100*us)
		if d := n.Deadlock(); d != nil {
			t.Fatal(d)
		}
	}
	if n.Stats().Packets < 10_000 {
		t.Errorf("little moved: %+v", n.Stats())
	}
}

// Deadlock finds a loop on one lane while another lane carries traffic.
func TestDeadlockIsFoundDespiteOtherTraffic(t *testing.T) {
	t.Parallel()
	f := newRing(t, 4, 2, 100*quantity.Gbps)
	n := build(t, f, Config{Seed: 1, BufferPerVL: 64 << 10, DataVLs: 2})
	mapLanes(n, 2)
	across(t, n, onSL0)
	other := addFlow(t, n, FlowSpec{Src: named(t, f, "h1-2"), Dst: named(t, f, "h2-2"), SL: 1})
	n.RunUntil(10 * ms)
	delivered := n.Delivered(other)
	d := n.Deadlock()
	if d == nil || len(d.Cycle) != 4 || d.Cycle[0].Name != "s1/P1" || d.Cycle[0].VL != 0 {
		t.Fatalf("got %+v, want the loop of VL 0", d)
	}
	n.RunUntil(11 * ms)
	if n.Delivered(other) == delivered {
		t.Error("the flow on the other lane delivers nothing")
	}
}

// An output serves its inputs round robin, so a short packet that would fit waits behind a long packet of another input that
// does not fit. Without other traffic it waits forever. With other traffic, a packet of a third input may use that turn, and
// the short packet is next.
func TestShortPacketIsDeadlockedOnlyIfNothingElseMoves(t *testing.T) {
	t.Parallel()
	f := newRing(t, 4, 2, 100*quantity.Gbps)
	n := build(t, f, Config{Seed: 1, BufferPerVL: 64 << 10, DataVLs: 2})
	mapLanes(n, 2)
	across(t, n, onSL0)
	n.RunUntil(10 * ms)
	if n.Deadlock() == nil {
		t.Fatal("the ring did not deadlock")
	}
	o := n.port(0, 1)
	l := &o.lanes[0]
	other := 2 + 3 - int(nextInput(l)) // the input from the ring and the input from the first host are 2 and 3
	if l.credit < 1 || l.inputs[0] != 1<<2|1<<3 {
		t.Fatalf("want both inputs waiting and a credit: %+v", l)
	}
	short := n.pool.get()
	n.pool.all[short] = packet{size: AckSize, blocks: 1, flags: flagAck}
	q := n.switches[0].queue(0, other, 1)
	*q = emptyList()
	q.pushPacket(n.pool.all, short)
	if _, stuck := stuckPackets(n)[short]; !stuck {
		t.Error("no other packet moves, but the short packet is not reported as stuck")
	}
	addFlow(t, n, FlowSpec{Src: named(t, f, "h1-2"), Dst: named(t, f, "h2-2"), SL: 1})
	if _, stuck := stuckPackets(n)[short]; stuck {
		t.Error("other packets move, but the short packet is reported as stuck")
	}
}

// mapLanes maps SL s to lane s modulo vls everywhere.
func mapLanes(n *Network, vls int) {
	for i := range n.topo.Nodes {
		for out := range n.topo.Nodes[i].Ports {
			for in := range n.topo.Nodes[i].Ports {
				var m [ident.NumSLs]ident.VL
				for sl := range m {
					m[sl] = ident.VL(sl % vls)
				}
				n.SetSL2VL(int32(i), ident.PortNum(in), ident.PortNum(out), m)
			}
		}
	}
}

// stuckPackets returns the packets reported as unable to move, with the lane of each.
func stuckPackets(n *Network) map[int32][2]int32 {
	m := make(map[int32][2]int32)
	if n.pool.used == 0 {
		return m
	}
	p := n.search()
	for i := range p.lanes {
		for _, c := range p.lanes[i].queues {
			for pk := c.pk; pk != none; pk = n.pool.all[pk].next {
				m[pk] = [2]int32{p.lanes[i].port, n.pool.all[pk].qp}
			}
		}
	}
	return m
}

// Rings under random traffic sometimes deadlock. Reported packets must never move again, and packets that no longer move must
// be reported.
func TestALoopIsReportedExactlyWhenPacketsCanNeverMove(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		switches, hosts := rapid.IntRange(3, 5).Draw(rt, "switches"), rapid.IntRange(1, 2).Draw(rt, "hosts")
		n, ids := drawNetwork(rt, newRing(t, switches, hosts, 40*quantity.Gbps))
		if rapid.Bool().Draw(rt, "loaded") {
			ids = append(ids, across(t, n, onSL0)...)
		}
		for range 10 {
			n.RunUntil(n.Now() + quantity.Picoseconds(rapid.IntRange(1, 60_000).Draw(rt, "dt"))*quantity.Nanosecond)
			stuck := stuckPackets(n)
			if (len(stuck) > 0) != (n.Deadlock() != nil) {
				rt.Fatalf("%d packets can never move, and the report is %v", len(stuck), n.Deadlock())
			}
			n.RunUntil(n.Now() + 100*us)
			later := stuckPackets(n)
			for pk, where := range stuck {
				if later[pk] != where {
					rt.Fatalf("packet %d was reported as stuck in %v and is now in %v", pk, where, later[pk])
				}
			}
		}
		for _, id := range ids {
			n.StopFlow(id)
		}
		n.RunUntil(n.Now() + 300*ms)
		if err := n.check(); err != nil {
			rt.Fatal(err)
		}
		d, left := n.Deadlock(), n.Stats().InFabric
		if (d != nil) != (left > 0) {
			rt.Fatalf("after the end of traffic, with %d packets, the report is %v", left, d)
		}
		if d != nil {
			checkLoop(rt, n, d)
		}
	})
}

// checkLoop verifies a report independently: each lane's link leads to the switch of the next lane, and the buffer there is
// full.
func checkLoop(t *rapid.T, n *Network, d *Deadlock) {
	for i, l := range d.Cycle {
		next := d.Cycle[(i+1)%len(d.Cycle)]
		peer, ok := n.topo.Peer(l.Port)
		if !ok || peer.Node != next.Port.Node {
			t.Fatalf("%s leads to node %d, but the next in the loop is %s", l.Name, peer.Node, next.Name)
		}
		p := n.port(l.Port.Node, l.Port.Port)
		if l.Packets == 0 || p.lanes[l.VL].credit >= 65 {
			t.Fatalf("%+v has %d credits", l, p.lanes[l.VL].credit)
		}
	}
	names := make([]string, len(d.Cycle))
	for i := range d.Cycle {
		names[i] = fmt.Sprint(d.Cycle[i].Name, d.Cycle[i].VL)
	}
	slices.Sort(names)
	if len(slices.Compact(names)) != len(d.Cycle) {
		t.Fatalf("a lane appears twice in %s", d)
	}
}

// The check runs together with traffic, so its cost must not exceed that of a few packets.
func BenchmarkDeadlockCheck(b *testing.B) {
	f := star(b, 21)
	n := build(b, f, Config{Seed: 1})
	for i := range 20 {
		addFlow(b, n, FlowSpec{Src: hostPort(f, i), Dst: hostPort(f, 20)})
	}
	n.RunUntil(5 * ms)
	b.ReportAllocs()
	for b.Loop() {
		if n.Deadlock() != nil {
			b.Fatal("an incast locked up")
		}
	}
	b.ReportMetric(float64(n.Stats().InFabric), "packets")
}
