package fabric

import (
	"testing"

	"fairlane/internal/quantity"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/subnet/topogen"
)

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	f := star(t, 2)
	for name, c := range map[string]struct {
		topo *subnet.Fabric
		cfg  Config
	}{
		"no topology":    {nil, Config{}},
		"no links":       {&subnet.Fabric{}, Config{}},
		"small buffer":   {f, Config{BufferPerVL: 100}},
		"odd MTU":        {f, Config{MTU: 1500}},
		"three lanes":    {f, Config{DataVLs: 3}},
		"BECN mode":      {f, Config{Becn: 7}},
		"aggregate":      {f, Config{Aggregate: 65}},
		"CCT blocks":     {f, Config{CCTBlocks: 17}},
		"ack":            {f, Config{AckEvery: -1}},
		"reference":      {f, Config{ThresholdReference: 1}},
		"switch latency": {f, Config{SwitchLatency: quantity.Second}},
	} {
		if _, err := New(c.topo, c.cfg); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestForwardingTableSelectsTheRoute(t *testing.T) {
	t.Parallel()
	f := star(t, 3)
	n := build(t, f, Config{})
	sw := f.Switches()[0]
	a, b := hostPort(f, 0), hostPort(f, 1)
	id := addFlow(t, n, FlowSpec{Src: a, Dst: b})
	lid, lmc := n.LID(b.Node, b.Port)
	if lid == 0 || lmc != 0 {
		t.Fatalf("LID %d, LMC %d", lid, lmc)
	}
	n.RunUntil(ms)
	block := n.LFTBlock(sw, int(lid)/64)
	for _, wrong := range []ident.PortNum{ident.DropPort, 0, 1, 200} { // no route, the switch itself, the input port, no such port
		changed := block
		changed[lid%64] = wrong
		n.SetLFTBlock(sw, int(lid)/64, changed)
		if n.LFTBlock(sw, int(lid)/64) != changed {
			t.Error("the block read differs from the block written")
		}
		n.RunUntil(n.Now() + 100*us) // packets already queued still arrive
		before, lost := n.Delivered(id), n.Counters(sw, 1).XmitDiscards
		n.RunUntil(n.Now() + 100*us)
		if n.Delivered(id) != before || n.Counters(sw, 1).XmitDiscards == lost {
			t.Errorf("egress %d: delivered %d bytes, %d discards", wrong, n.Delivered(id)-before, n.Counters(sw, 1).XmitDiscards-lost)
		}
	}
	n.SetLFTBlock(sw, int(lid)/64, block)
	r := rates(n, []FlowID{id}, n.Now()+100*us, n.Now()+ms)
	near(t, "rate after the route is restored", r[0], 100, 0.01)
	if err := n.check(); err != nil {
		t.Error(err)
	}
	if got := n.LFTBlock(sw, 700); got[0] != ident.DropPort {
		t.Errorf("a block never written reads %d", got[0])
	}
	n.SetLFTBlock(sw, 5000, block) // multicast: ignored
	n.SetLFTBlock(a.Node, 0, block)
}

func TestQueuePairsWaitForLIDs(t *testing.T) {
	t.Parallel()
	f := star(t, 2)
	n := build(t, f, Config{})
	a, b := hostPort(f, 0), hostPort(f, 1)
	lid, _ := n.LID(b.Node, b.Port)
	n.SetLID(b.Node, b.Port, 0, 0)
	id := addFlow(t, n, FlowSpec{Src: a, Dst: b})
	n.RunUntil(ms)
	if s := n.Flow(id); s.SentPkts != 0 {
		t.Errorf("%d packets sent to a port without a LID", s.SentPkts)
	}
	if e := n.Stats().Events; e > 10 {
		t.Errorf("%d events while nothing can be sent", e)
	}
	n.SetLID(b.Node, b.Port, lid, 0)
	n.RunUntil(2 * ms)
	near(t, "rate", float64(n.Delivered(id))*8/ms.Seconds()/1e9, 100, 0.01)
	// The destination discards a packet for a LID that it no longer has.
	n.SetLID(b.Node, b.Port, lid+7, 0)
	n.RunUntil(3 * ms)
	if c := n.Counters(b.Node, b.Port); c.XmitDiscards == 0 {
		t.Error("packets for a former LID of the port were delivered")
	}
}

func TestPathBitsSelectTheRoute(t *testing.T) {
	t.Parallel()
	f, err := topogen.LeafSpine(topogen.LeafSpineOptions{Leaves: 2, HostsPerLeaf: 2, Spines: 2, Wire: topogen.Wire{LMC: 1}})
	if err != nil {
		t.Fatal(err)
	}
	n := build(t, f, Config{})
	ids := []FlowID{
		addFlow(t, n, FlowSpec{Src: hostPort(f, 0), Dst: hostPort(f, 2), PathBits: 0}),
		addFlow(t, n, FlowSpec{Src: hostPort(f, 1), Dst: hostPort(f, 2), PathBits: 1}),
	}
	n.RunUntil(2 * ms)
	used := 0
	for _, name := range []string{"spine1", "spine2"} {
		sw := f.NodesByName(name)[0]
		for p := range f.Nodes[sw].Ports {
			if c := n.Counters(sw, ident.PortNum(p)); c.XmitBytes > 1<<20 {
				used++
			}
		}
	}
	if used != 2 {
		t.Errorf("two LIDs of one port use %d spine links, want 2", used)
	}
	if n.Delivered(ids[0]) == 0 || n.Delivered(ids[1]) == 0 {
		t.Error("a path does not deliver")
	}
}

func TestTopologyWithoutLIDsIsRouted(t *testing.T) {
	t.Parallel()
	nodes := []subnet.Node{
		{GUID: 1, Kind: subnet.KindSwitch, Name: "s", Ports: subnet.NewPorts(2)},
		{GUID: 2, Kind: subnet.KindCA, Name: "a", Ports: subnet.NewPorts(1)},
		{GUID: 3, Kind: subnet.KindCA, Name: "b", Ports: subnet.NewPorts(1)},
	}
	nodes[1].Ports[1].GUID, nodes[2].Ports[1].GUID = 12, 13
	f, err := subnet.New("bare", nodes, []subnet.Link{
		{A: subnet.PortRef{Node: 0, Port: 1}, B: subnet.PortRef{Node: 1, Port: 1}, Rate: quantity.Gbps, Delay: us},
		{A: subnet.PortRef{Node: 0, Port: 2}, B: subnet.PortRef{Node: 2, Port: 1}, Rate: quantity.Gbps, Delay: us},
	})
	if err != nil {
		t.Fatal(err)
	}
	n := build(t, f, Config{MTU: 2048})
	id := addFlow(t, n, FlowSpec{Src: portRef(1, 1), Dst: portRef(2, 1)})
	r := rates(n, []FlowID{id}, ms, 11*ms)
	near(t, "rate", r[0], 1, 0.01)
	if s := n.Flow(id); s.DeliveredPayload != s.DeliveredPkts*2048 {
		t.Errorf("%d bytes in %d packets, want 2048 each", s.DeliveredPayload, s.DeliveredPkts)
	}
	if n.Topology().LFTs == nil || n.Config().MTU != 2048 {
		t.Error("the network's topology has no routes")
	}
}

func TestLinkStates(t *testing.T) {
	t.Parallel()
	f := star(t, 2)
	n := build(t, f, Config{})
	a, b := hostPort(f, 0), hostPort(f, 1)
	sw := f.Switches()[0]
	id := addFlow(t, n, FlowSpec{Src: a, Dst: b})
	for name, set := range map[string]func(on bool){
		"link down at the host":   func(on bool) { n.SetLinkUp(b.Node, b.Port, on) },
		"link down at the switch": func(on bool) { n.SetLinkUp(sw, 2, on) },
		"host port not active":    func(on bool) { n.SetPortActive(b.Node, b.Port, on) },
		"switch port not active":  func(on bool) { n.SetPortActive(sw, 2, on) },
	} {
		r := rates(n, []FlowID{id}, n.Now()+100*us, n.Now()+ms)
		near(t, name+": before", r[0], 100, 0.02)
		lost := n.Counters(sw, 2).XmitDiscards
		set(false)
		if n.LinkUp(b.Node, b.Port) != n.LinkUp(sw, 2) {
			t.Errorf("%s: the two ends report different states", name)
		}
		before := n.Delivered(id)
		n.RunUntil(n.Now() + ms)
		if n.Delivered(id) != before || n.Counters(sw, 2).XmitDiscards <= lost {
			t.Errorf("%s: delivered %d bytes, %d discards", name, n.Delivered(id)-before, n.Counters(sw, 2).XmitDiscards-lost)
		}
		set(true)
	}
	if !n.PortActive(sw, 2) || n.LinkUp(99, 1) || n.PortActive(99, 1) {
		t.Error("wrong states")
	}
	n.SetLinkUp(99, 1, true)
	n.SetPortActive(99, 1, true)
}

func TestCounters(t *testing.T) {
	t.Parallel()
	f := star(t, 3)
	n := build(t, f, Config{BufferPerVL: 64 << 10})
	a, dst := hostPort(f, 0), hostPort(f, 2)
	sw := f.Switches()[0]
	id := addFlow(t, n, FlowSpec{Src: a, Dst: dst, SL: 4})
	addFlow(t, n, FlowSpec{Src: hostPort(f, 1), Dst: dst})
	n.RunUntil(10 * ms)
	s, c := n.Flow(id), n.Counters(dst.Node, dst.Port)
	if c.RcvBytesSL[4] != s.DeliveredBytes || c.RcvPktsSL[4] != s.DeliveredPkts || c.RcvBytes != c.RcvBytesSL[4]+c.RcvBytesSL[0] {
		t.Errorf("the receiver counts %d bytes on SL 4 and %d in total; the flow delivered %d", c.RcvBytesSL[4], c.RcvBytes, s.DeliveredBytes)
	}
	if c.XmitPktsSL[4] != s.DeliveredPkts/16 || c.XmitBytesSL[4] != c.XmitPktsSL[4]*AckSize {
		t.Errorf("%d acknowledgements of %d bytes for %d packets, want one for 16", c.XmitPktsSL[4], c.XmitBytesSL[4], s.DeliveredPkts)
	}
	// The sender waits half of the time, in ticks of 320 ps.
	near(t, "XmitWait", float64(n.Counters(a.Node, a.Port).XmitWait)*320e-12, 0.005, 0.03)
	n.CountMAD(sw, 3, false)
	n.CountMAD(sw, 3, true)
	n.CountMAD(sw, 99, true)
	after := n.Counters(sw, 3)
	if after.XmitMADs != 1 || after.RcvMADs != 1 || after.RcvPkts != after.RcvPktsSL[0]+after.RcvPktsSL[4]+1 {
		t.Errorf("management packets: %+v", after)
	}
	if n.Counters(sw, 99) != (PortCounters{}) {
		t.Error("counters of a port that does not exist are not zero")
	}
}
