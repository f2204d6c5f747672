package ether

import (
	"strings"
	"testing"

	"fairlane/internal/quantity"
	"fairlane/sim/cc"
	"fairlane/sim/dci"
	"fairlane/subnet"
	"fairlane/subnet/topogen"
)

// twoSites returns S0's fabric with a long-haul link of the given rate and delay.
func twoSites(tb testing.TB, rate quantity.BitRate, delay quantity.Picoseconds) *subnet.Fabric {
	tb.Helper()
	f, err := topogen.DualDC(topogen.DualDCOptions{DCIRate: rate, DCIDelay: delay})
	if err != nil {
		tb.Fatal(err)
	}
	return f
}

// biccNetwork returns a network of DCQCN flows over DCI switches with deep buffers.
func biccNetwork(tb testing.TB, topo *subnet.Fabric, cfg Config, flows ...FlowSpec) *Network {
	tb.Helper()
	cfg.Algorithms = []cc.Algorithm{build(tb, "dcqcn", nil)}
	if cfg.CNPs {
		cfg.CNPGap = 50 * quantity.Microsecond
	}
	cfg.Buffers = map[int32]Buffer{}
	for i := range topo.Nodes {
		if strings.HasSuffix(topo.Nodes[i].Name, "-dci") {
			cfg.Buffers[int32(i)] = Buffer{Bytes: 250 << 20, Static: 90 << 20}
		}
	}
	n, err := New(topo, cfg)
	if err != nil {
		tb.Fatal(err)
	}
	for _, f := range flows {
		if err := n.Add(f); err != nil {
			tb.Fatal(err)
		}
	}
	return n
}

// balance checks the accounts of every ingress port against the packets in queues and virtual queues.
func balance(t *testing.T, n *Network) {
	t.Helper()
	held := make([]int64, len(n.ingress))
	add := func(l *list) {
		for i := l.head; i != none; i = n.pool.at(i).next {
			if k := n.pool.at(i); k.in != none {
				held[int(k.in)*n.classes+int(k.cls)] += int64(k.wire)
			}
		}
	}
	for i := range n.queues {
		add(&n.queues[i].list)
	}
	for i := range n.edges {
		for q := range n.edges[i].voqs {
			l := &n.edges[i].voqs[q]
			add(l)
			bytes, packets := int64(0), int32(0)
			for k := l.head; k != none; k = n.pool.at(k).next {
				bytes += int64(n.pool.at(k).wire)
				packets++
			}
			if b, k, _ := n.edges[i].far.Backlog(int32(q)); b != bytes || k != packets {
				t.Fatalf("at %s: %d bytes in %d packets are queued, but the accounts have %d bytes in %d packets", n.Now(), bytes, packets, b, k)
			}
		}
	}
	for i := range n.ingress {
		if in := &n.ingress[i]; n.ports[i/n.classes].sw != none && in.used+in.headroom != held[i] {
			t.Fatalf("at %s: ingress %d holds %d bytes, account %+v", n.Now(), i, held[i], *in)
		}
	}
	st := n.Stats()
	if packets, _ := n.InFlight(); st.SentPackets != st.DeliveredPackets+st.DroppedPackets+packets {
		t.Fatalf("at %s: %d packets sent, %d delivered, %d dropped, %d in flight", n.Now(), st.SentPackets, st.DeliveredPackets, st.DroppedPackets, packets)
	}
}

// The DCI switch answers congestion in the sender's data centre: no mark crosses the long haul, so receivers send no
// notification.
func TestDCISwitchAnswersMarksOfItsOwnDataCentre(t *testing.T) {
	t.Parallel()
	topo := twoSites(t, 100*quantity.Gbps, 100*quantity.Microsecond)
	flows := []FlowSpec{{ID: 1, Src: 0, Dst: 32, Bytes: 20e6}, {ID: 2, Src: 8, Dst: 40, Bytes: 20e6}, {ID: 3, Src: 16, Dst: 48, Bytes: 20e6}}
	for _, cnps := range []bool{true, false} {
		n := biccNetwork(t, topo, Config{CNPs: cnps, DCI: &DCI{}}, flows...)
		for !n.Finished() && n.Now() < quantity.Second {
			n.RunUntil(n.Now() + 500*quantity.Microsecond)
			balance(t, n)
		}
		st := n.Stats()
		if !n.Finished() || st.DroppedPackets != 0 {
			t.Fatalf("finished %v with %d packets dropped", n.Finished(), st.DroppedPackets)
		}
		if st.Marks == 0 || st.SenderSideCNPs == 0 || st.CNPs != 0 || st.LocalCNPs != 0 {
			t.Errorf("cnps %v: %d marks, %d near CNPs, %d from receivers, %d of these consumed: want only CNPs of the sender's side", cnps, st.Marks, st.SenderSideCNPs, st.CNPs, st.LocalCNPs)
		}
	}
}

// The receiver's DCI switch handles congestion at the receiver: it holds the packets back, notifies the other DCI switch, and
// finally sends every packet.
func TestDCISwitchPacesTrafficToACongestedReceiver(t *testing.T) {
	t.Parallel()
	topo := twoSites(t, 400*quantity.Gbps, 200*quantity.Microsecond)
	flows := []FlowSpec{{ID: 1, Src: 0, Dst: 32, Bytes: 30e6}, {ID: 2, Src: 33, Dst: 32, Bytes: 30e6}, {ID: 3, Src: 9, Dst: 41, Bytes: 30e6}}
	for _, cnps := range []bool{true, false} {
		n := biccNetwork(t, topo, Config{CNPs: cnps, DCI: &DCI{}, ECN: ECN{Min: 1000, Max: 20_000, PMax: 1}}, flows...)
		peak, left := int64(0), int64(0)
		for !n.Finished() && n.Now() < quantity.Second {
			n.RunUntil(n.Now() + 100*quantity.Microsecond)
			balance(t, n)
			left = n.waiting(t, "dc2-dci")
			peak = max(peak, left)
		}
		st := n.Stats()
		if !n.Finished() || st.DroppedPackets != 0 {
			t.Fatalf("finished %v with %d packets dropped", n.Finished(), st.DroppedPackets)
		}
		if st.LocalCNPs == 0 || st.Notices == 0 {
			t.Errorf("cnps %v: DCI switches consumed %d notifications, %d notices: want both", cnps, st.LocalCNPs, st.Notices)
		}
		if peak < 10_000 || left != 0 {
			t.Errorf("cnps %v: virtual queues held up to %d bytes and %d at the end: want more than 0, and 0; %+v", cnps, peak, left, st)
		}
	}
}

// waiting returns the bytes in the virtual output queues of a DCI switch.
func (n *Network) waiting(t *testing.T, name string) (bytes int64) {
	t.Helper()
	for i := range n.edges {
		e := &n.edges[i]
		if n.topo.Nodes[n.switches[e.sw].node].Name != name {
			continue
		}
		for q := range e.voqs {
			b, _, _ := e.far.Backlog(int32(q))
			bytes += b
		}
		return bytes
	}
	t.Fatalf("no DCI switch %s", name)
	return 0
}

// Without congestion a DCI switch has no effect: the same packets at the same times.
func TestDCISwitchesDoNothingWithoutCongestion(t *testing.T) {
	t.Parallel()
	topo := twoSites(t, 400*quantity.Gbps, 100*quantity.Microsecond)
	flows := []FlowSpec{{ID: 1, Src: 0, Dst: 32, Bytes: 3e6}, {ID: 2, Src: 12, Dst: 13, Bytes: 1e6}}
	var digest [2]uint64
	var fct [2][2]quantity.Picoseconds
	for i, d := range []*DCI{nil, {}} {
		n := biccNetwork(t, topo, Config{CNPs: true, DCI: d, OnDone: func(d Done) { fct[i][d.ID-1] = d.FCT }}, flows...)
		n.RunUntil(5 * quantity.Millisecond)
		if !n.Finished() {
			t.Fatal("flows have not ended")
		}
		digest[i] = n.Stats().Digest
	}
	if digest[0] != digest[1] {
		t.Errorf("DCI switches changed a run without congestion: flows took %v", fct)
	}
}

func TestDCISwitchesAreChosenAndChecked(t *testing.T) {
	t.Parallel()
	topo := twoSites(t, 400*quantity.Gbps, quantity.Millisecond)
	star, err := topogen.Star(3, topogen.Wire{})
	if err != nil {
		t.Fatal(err)
	}
	var edges []int32
	host := int32(-1)
	for i := range topo.Nodes {
		switch {
		case strings.HasSuffix(topo.Nodes[i].Name, "-dci"):
			edges = append(edges, int32(i))
		case topo.Nodes[i].Kind != subnet.KindSwitch:
			host = int32(i)
		}
	}
	n := biccNetwork(t, topo, Config{DCI: &DCI{Params: func(_ int32, def dci.Config) dci.Config {
		if def.HaulRTT != 2*quantity.Millisecond || def.LineRate != 100*quantity.Gbps || def.LocalRTT < 12*quantity.Microsecond || def.LocalRTT > 14*quantity.Microsecond {
			t.Errorf("derived settings %+v", def)
		}
		return def
	}}})
	hauls := 0
	for i := range n.ports {
		if n.ports[i].haul {
			hauls++
		}
	}
	if len(n.edges) != 2 || hauls != 2 {
		t.Errorf("%d DCI switches, %d ends of long hauls, want 2 and 2", len(n.edges), hauls)
	}
	for _, bad := range []struct {
		topo *subnet.Fabric
		dci  DCI
		want string
	}{
		{star, DCI{}, "different domains"},
		{topo, DCI{Nodes: []int32{host}}, "nodes that are switches"},
		{topo, DCI{Nodes: []int32{edges[0], edges[0]}}, "distinct nodes"},
		{topo, DCI{Nodes: []int32{9999}}, "nodes that are switches"},
		{topo, DCI{Nodes: edges[:1]}, "want a long-haul link"},
		{topo, DCI{Params: func(_ int32, c dci.Config) dci.Config { c.VOQs = 0; return c }}, "virtual output queues"},
		{topo, DCI{Pace: func() (cc.Algorithm, error) { return build(t, "hpcc", nil), nil }}, "takes no CNPs"},
	} {
		_, err := New(bad.topo, Config{Buffer: Buffer{Bytes: 250 << 20}, DCI: &bad.dci, Algorithms: []cc.Algorithm{build(t, "dcqcn", nil)}})
		if err == nil || !strings.Contains(err.Error(), bad.want) {
			t.Errorf("got %v, want an error about %q", err, bad.want)
		}
	}
}

// A DCI switch removes the marks of its data centre, so an algorithm must react to its notifications instead.
func TestBiCCRejectsAlgorithmsThatReactToMarksOnly(t *testing.T) {
	t.Parallel()
	topo := twoSites(t, 400*quantity.Gbps, quantity.Millisecond)
	for name, ok := range map[string]bool{"dcqcn": true, "dcqcn-mlx": true, "none": true, "hpcc": true, "timely": true, "dctcp": false} {
		_, err := New(topo, Config{Buffer: Buffer{Bytes: 250 << 20}, DCI: &DCI{}, Algorithms: []cc.Algorithm{build(t, "dcqcn", nil), build(t, name, nil)}})
		if ok && err != nil || !ok && (err == nil || !strings.Contains(err.Error(), "algorithm 1 reacts to marks but not to notification packets")) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The long haul loses nothing with any backlog behind a receiver: the headroom of a DCI switch must hold 400 Gbit/s for a
// millisecond in each direction.
func TestLongHaulIsLossless(t *testing.T) {
	t.Parallel()
	topo := twoSites(t, 400*quantity.Gbps, quantity.Millisecond)
	var flows []FlowSpec
	for i := range int32(8) {
		flows = append(flows, FlowSpec{ID: int64(i), Src: 4 * i, Dst: 32, Bytes: 40e6})
	}
	cfg := Config{Payload: 4000, ECN: ECN{Off: true}, Buffer: Buffer{Bytes: 16 << 20}}
	n := biccNetwork(t, topo, cfg, flows...)
	n.RunUntil(60 * quantity.Millisecond)
	st := n.Stats()
	if st.DroppedPackets != 0 || st.Pauses == 0 || !n.Finished() {
		t.Errorf("%d packets dropped, %d pauses, %d flows open: want no loss, some pauses, all done", st.DroppedPackets, st.Pauses, st.Active)
	}
}

// After arrays have reached their working size, neither the switches of WRCC nor those of BiCC allocate. The test is not
// parallel, because it counts the allocations of the process.
func TestSwitchControlsDoNotAllocate(t *testing.T) {
	topo := twoSites(t, 400*quantity.Gbps, 20*quantity.Microsecond)
	for name, cfg := range map[string]Config{
		"wrcc":       {FairRate: &FairRate{Period: 24 * quantity.Microsecond}},
		"dcqcn-peer": {DCI: &DCI{}},
	} {
		cfg.Algorithms = []cc.Algorithm{build(t, name, nil)}
		cfg.ECN = ECN{Min: 1000, Max: 20_000, PMax: 1}
		n, err := New(topo, cfg)
		if err != nil {
			t.Fatal(err)
		}
		for i := range int32(8) {
			if err := n.Add(FlowSpec{ID: int64(i), Src: 4 * i, Dst: 32 + i%2}); err != nil {
				t.Fatal(err)
			}
		}
		n.RunUntil(8 * quantity.Millisecond)
		before := n.Stats()
		if a := testing.AllocsPerRun(5, func() { n.RunUntil(n.Now() + 100*quantity.Microsecond) }); a != 0 {
			t.Errorf("%s: %g allocations in 100 us", name, a)
		}
		after := n.Stats()
		if after.FCNPs+after.LocalCNPs+after.SenderSideCNPs == before.FCNPs+before.LocalCNPs+before.SenderSideCNPs {
			t.Errorf("%s: no switch sent a notification in 500 us", name)
		}
	}
}
