package ether

import (
	"math"
	"reflect"
	"strings"
	"testing"

	"fairlane/ccconfig/dcqcn"
	"fairlane/internal/quantity"
	"fairlane/sim/cc"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/subnet/topogen"
	"fairlane/wrcc"
)

// ports returns a star whose NICs have separate registers.
func ports(tb testing.TB, hosts int, rate quantity.BitRate, cfg Config) (*Network, *cc.MlxPorts) {
	tb.Helper()
	d := dcqcn.Default()
	m, err := cc.NewMlxPorts(hosts, &d)
	if err != nil {
		tb.Fatal(err)
	}
	cfg.Algorithms, cfg.CNPs, cfg.CNPGap = []cc.Algorithm{m}, true, 4*us
	topo, err := topogen.Star(hosts, topogen.Wire{Rate: rate, Delay: us})
	must(tb, err)
	n, _ := on(tb, topo, cfg)
	return n, m
}

func write(tb testing.TB, n *Network, m *cc.MlxPorts, host int32, s dcqcn.Settings) {
	tb.Helper()
	if err := m.Set(int(host), n.Now(), &s, true); err != nil {
		tb.Fatal(err)
	}
}

func add(tb testing.TB, n *Network, flows ...FlowSpec) {
	tb.Helper()
	for _, f := range flows {
		if err := n.Add(f); err != nil {
			tb.Fatal(err)
		}
	}
}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// Separate registers per port give the same packets as a separate algorithm for each set of registers.
func TestPortsWithTheirOwnRegistersMoveTheSamePackets(t *testing.T) {
	t.Parallel()
	slow := dcqcn.Default()
	slow.GD, slow.TimeReset, slow.AIRate = 10, 100, 20
	byPort, m := ports(t, 5, 100*quantity.Gbps, Config{Seed: 7})
	write(t, byPort, m, 1, slow)
	cfg := Config{Seed: 7, CNPs: true, CNPGap: 4 * us}
	for _, s := range []dcqcn.Settings{dcqcn.Default(), slow} {
		a, err := cc.NewMlx(&s)
		if err != nil {
			t.Fatal(err)
		}
		cfg.Algorithms = append(cfg.Algorithms, a)
	}
	topo, err := topogen.Star(5, topogen.Wire{Rate: 100 * quantity.Gbps, Delay: us})
	must(t, err)
	bySet, _ := on(t, topo, cfg)
	for i := range int32(4) {
		f := FlowSpec{ID: int64(i), Src: i, Dst: 4, Start: quantity.Picoseconds(i) * 100 * us}
		add(t, byPort, f)
		f.Algorithm = uint16(i & 1 &^ (i >> 1)) // host 1
		add(t, bySet, f)
	}
	byPort.RunUntil(20 * ms)
	bySet.RunUntil(20 * ms)
	if a, b := byPort.Stats(), bySet.Stats(); a != b || a.CNPs < 100 {
		t.Errorf("by port %+v\nby set  %+v", a, b)
	}
}

// shareOf returns host 0's share of the egress port to host 2, for which host 1 competes.
func shareOf(n *Network, settle, window quantity.Picoseconds) float64 {
	n.RunUntil(settle)
	var before, after [2]int64
	for f := range n.Flows {
		before[f.Src] += f.Acked
	}
	n.RunUntil(settle + window)
	for f := range n.Flows {
		after[f.Src] += f.Acked
	}
	a, b := float64(after[0]-before[0]), float64(after[1]-before[1])
	return a / (a + b)
}

// Registers written while flows run give the same shares as registers set before their start.
func TestRegistersWrittenAtRunTimeGiveTheSameShares(t *testing.T) {
	t.Parallel()
	strong := dcqcn.Default()
	strong.TimeReset, strong.AIRate, strong.HAIRate, strong.ByteReset = 60, 40, 200, 8000
	share := func(seed uint64, late quantity.Picoseconds) float64 {
		n, m := ports(t, 3, 10*quantity.Gbps, Config{Seed: seed})
		for i := range int64(8) {
			add(t, n, FlowSpec{ID: i, Src: int32(i & 1), Dst: 2})
		}
		n.RunUntil(late)
		write(t, n, m, 0, strong)
		return shareOf(n, late+200*ms, 200*ms)
	}
	first, other, late := share(1, 0), share(2, 0), share(1, 40*ms)
	if first < 0.6 {
		t.Fatalf("stronger registers give %.3f: the test has no effect to measure", first)
	}
	if off := math.Abs(late-first) / first; off > max(0.02, 2*math.Abs(first-other)/first) {
		t.Errorf("share with registers from the start %.4f and, with another seed, %.4f; with registers written at run time %.4f", first, other, late)
	}
}

// Writing a register for the attachment of a limiter does not change an attached limiter.
func TestRegistersOfAttachmentActAtTheNext(t *testing.T) {
	t.Parallel()
	n, m := ports(t, 3, 100*quantity.Gbps, Config{Seed: 1})
	add(t, n, FlowSpec{ID: 0, Src: 0, Dst: 2}, FlowSpec{ID: 1, Src: 1, Dst: 2})
	n.RunUntil(5 * ms)
	before := n.Stats().Digest
	s := dcqcn.Default()
	s.InitialAlpha, s.RateOnFirstCNP = 100, 5000
	write(t, n, m, 0, s)
	n.RunUntil(5*ms + 50*us)
	same, _ := ports(t, 3, 100*quantity.Gbps, Config{Seed: 1})
	add(t, same, FlowSpec{ID: 0, Src: 0, Dst: 2}, FlowSpec{ID: 1, Src: 1, Dst: 2})
	same.RunUntil(5*ms + 50*us)
	if n.Stats() != same.Stats() || n.Stats().Digest == before {
		t.Error("the rate at the first notification changed an attached limiter")
	}
}

func TestReactionAndNotificationCanBeTurnedOff(t *testing.T) {
	t.Parallel()
	n, m := ports(t, 3, 100*quantity.Gbps, Config{Seed: 1})
	add(t, n, FlowSpec{ID: 0, Src: 0, Dst: 2}, FlowSpec{ID: 1, Src: 1, Dst: 2})
	n.RunUntil(5 * ms)
	s := dcqcn.Default()
	must(t, m.Set(0, n.Now(), &s, false))
	must(t, n.SetReaction(0, false))
	n.RunUntil(10 * ms)
	if h := n.Host(0); h.CNPsIgnored == 0 || h.CNPsHandled == 0 {
		t.Errorf("host without reaction: %+v", h)
	}
	line := float64(n.ports[n.hosts[0].port].rate)
	for f := range n.Flows {
		if (f.Src == 0) != (f.Rate == line) {
			t.Errorf("flow of host %d at %.3g of %.3g bit/s", f.Src, f.Rate, line)
		}
	}
	must(t, n.SetNotification(2, Notification{Off: true, Gap: 4 * us}))
	n.RunUntil(11 * ms)
	before := n.Host(2)
	n.RunUntil(20 * ms)
	if h := n.Host(2); h.CNPsSent != before.CNPsSent || h.Marked == before.Marked {
		t.Errorf("silent receiver: %+v, before %+v", h, before)
	}
}

// One gap for the whole port gives fewer notifications than one gap per flow.
func TestCNPGapMayApplyToThePort(t *testing.T) {
	t.Parallel()
	sent := func(perPort bool) float64 {
		n, _ := ports(t, 9, 100*quantity.Gbps, Config{Seed: 1, ECN: ECN{Min: 1000, Max: 2000, PMax: 1}})
		for i := range int32(8) {
			add(t, n, FlowSpec{ID: int64(i), Src: i, Dst: 8})
		}
		n.RunUntil(ms)
		must(t, n.SetNotification(8, Notification{PerPort: perPort, Gap: 50 * us}))
		before := n.Host(8).CNPsSent
		n.RunUntil(21 * ms)
		return float64(n.Host(8).CNPsSent - before)
	}
	flow, port := sent(false), sent(true)
	if port > 401 || flow < 1.5*port {
		t.Errorf("%g notifications in 20 ms with one gap of 50 us for the port, %g with one gap per flow", port, flow)
	}
}

func TestMarkingChangesTakeEffect(t *testing.T) {
	t.Parallel()
	topo, err := topogen.Star(3, topogen.Wire{})
	must(t, err)
	n, _ := on(t, topo, Config{Seed: 1, Buffer: Buffer{Static: 400_000}}, FlowSpec{ID: 0, Src: 0, Dst: 2}, FlowSpec{ID: 1, Src: 1, Dst: 2})
	pi, _ := n.outTo(2)
	at := n.ref(pi)
	marks := func(e ECN) (marked, sent uint64) {
		must(t, n.SetECN(at, 0, e))
		n.RunUntil(n.Now() + 2*ms)
		var before, after [MaxClasses]QueueStats
		n.Queues(at, &before)
		n.RunUntil(n.Now() + 2*ms)
		n.Queues(at, &after)
		return after[0].Marks - before[0].Marks, after[0].TxPackets - before[0].TxPackets
	}
	if m, s := marks(ECN{Off: true}); m != 0 || s < 100 {
		t.Errorf("%d of %d packets marked with marking off", m, s)
	}
	if m, s := marks(ECN{Min: 0, Max: 1 << 30, PMax: 1}); m == 0 || m > s/100 {
		t.Errorf("%d of %d packets marked by a rule with a very low probability", m, s)
	}
	if m, s := marks(ECN{Min: 10, Max: 20, PMax: 0.5}); m < s-1 {
		t.Errorf("%d of %d packets marked above Max", m, s)
	}
	for _, c := range []struct {
		at    subnet.PortRef
		class uint8
		e     ECN
		want  string
	}{
		{at, 0, ECN{Min: 2, Max: 1}, "ecn min 2: want 0 to 1"},
		{at, 1, ECN{}, "class 1: want 0 to 0"},
		{subnet.PortRef{Node: 99}, 0, ECN{}, "node 99"},
		{subnet.PortRef{Node: at.Node, Port: 77}, 0, ECN{}, "port 77"},
	} {
		if err := n.SetECN(c.at, c.class, c.e); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.e, err, c.want)
		}
	}
}

// fair returns a WRCC star of 100 Gbit/s in which every other host sends to the last one.
func fair(tb testing.TB, weights ...float64) (*Network, *cc.WRCCPorts, []FlowRef) {
	tb.Helper()
	topo, err := topogen.Star(len(weights)+1, topogen.Wire{Rate: 100 * quantity.Gbps, Delay: us})
	must(tb, err)
	w, err := cc.NewWRCCPorts(len(weights)+1, cc.WRCCPort{SenderParams: wrcc.SenderParams{T1: 24 * us, MinRate: 1e6, Increase: wrcc.IncreaseAsk}})
	must(tb, err)
	refs := make([]FlowRef, len(weights))
	n, _ := on(tb, topo, Config{
		Seed: 1, Algorithms: []cc.Algorithm{w}, AckEvery: wrcc.AckEvery, PaceCredit: 20 * us, FairRate: &FairRate{Period: 24 * us},
		OnStart: func(id int64, ref FlowRef) { refs[id] = ref },
	})
	for i, weight := range weights {
		add(tb, n, FlowSpec{ID: int64(i), Src: int32(i), Dst: int32(len(weights)), Weight: weight})
	}
	return n, w, refs
}

func TestWeightsOfRunningSendersTakeEffect(t *testing.T) {
	t.Parallel()
	n, _, refs := fair(t, 1, 1)
	if s := shareOf(n, 10*ms, 5*ms); math.Abs(s-0.5) > 0.005 {
		t.Errorf("share with equal weights %.4f", s)
	}
	must(t, n.Reweigh(refs[0], 3))
	if s := shareOf(n, 30*ms, 5*ms); math.Abs(s-0.75) > 0.0075 {
		t.Errorf("weights 3 to 1 share %.4f", s)
	}
	if err := n.Reweigh(refs[0], math.NaN()); err == nil {
		t.Error("Reweigh accepted NaN")
	}
	n.Stop(refs[0])
	n.RunUntil(40 * ms)
	if err := n.Reweigh(refs[0], 2); err == nil {
		t.Error("Reweigh accepted a flow that has ended")
	}
	if _, ok := n.Flow(refs[0]); ok {
		t.Error("Flow returned a flow that has ended")
	}
}

func TestFairRateSettingsTakeEffect(t *testing.T) {
	t.Parallel()
	n, w, _ := fair(t, 1, 1)
	n.RunUntil(10 * ms)
	pi, _ := n.outTo(2)
	at := n.ref(pi)
	rate := func(change func(*FairPort)) float64 {
		must(t, n.SetFairRate(at.Node, func(_ ident.PortNum, rate quantity.BitRate) FairPort {
			p := FairPort{Params: wrcc.DefaultParams(rate, 24*us)}
			change(&p)
			return p
		}))
		n.RunUntil(n.Now() + 40*ms)
		before, from := n.Port(at).TxBytes, n.Now()
		n.RunUntil(n.Now() + 10*ms)
		return float64(n.Port(at).TxBytes-before) * 8 / (n.Now() - from).Seconds() / 1e9
	}
	if r := rate(func(*FairPort) {}); r < 97 {
		t.Errorf("%.1f Gbit/s with the previous settings", r)
	}
	if r := rate(func(p *FairPort) { p.Params.Target = 60 * quantity.Gbps }); math.Abs(r-60) > 2 {
		t.Errorf("%.1f Gbit/s with a target of 60", r)
	}
	if r := rate(func(p *FairPort) { p.Params.Target, p.Params.Period = 60*quantity.Gbps, 48*us }); math.Abs(r-60) > 2 {
		t.Errorf("%.1f Gbit/s with a target of 60 and another period", r)
	}
	s, ok := n.FairRate(at)
	before := s.Periods
	n.RunUntil(n.Now() + 4800*us)
	if s, _ = n.FairRate(at); !ok || s.Periods-before != 100 || s.FairRateMbps < 25_000 || s.FairRateMbps > 35_000 || s.Rewrites == 0 {
		t.Errorf("%d periods in 100: %+v", s.Periods-before, s)
	}
	if r := rate(func(p *FairPort) { p.Params.Fmax = 10 * quantity.Gbps }); math.Abs(r-20) > 1 {
		t.Errorf("%.1f Gbit/s of two flows with a maximum fair rate of 10", r)
	}
	if r := rate(func(p *FairPort) {
		p.Params.Fmax, p.Weights[0] = 10*quantity.Gbps, wrcc.ClassWeight{Multiplier: 3, Shift: 1}
	}); math.Abs(r-30) > 1.5 {
		t.Errorf("%.1f Gbit/s of two flows with a maximum fair rate of 10 and a class of weight 1.5", r)
	}
	if r := rate(func(p *FairPort) { p.Off = true }); r < 97 {
		t.Errorf("%.1f Gbit/s through a switch without fair rates", r)
	}
	if s, _ := n.FairRate(at); s.FairRateMbps != 0 {
		t.Errorf("a port without a fair rate reports %d", s.FairRateMbps)
	}
	for want, f := range map[string]func(num ident.PortNum, rate quantity.BitRate) FairPort{
		"sampling period": func(num ident.PortNum, rate quantity.BitRate) FairPort {
			return FairPort{Params: wrcc.DefaultParams(rate, 20*us+quantity.Picoseconds(num)*us)}
		},
		"data centre 256": func(_ ident.PortNum, rate quantity.BitRate) FairPort {
			return FairPort{Params: wrcc.DefaultParams(rate, 24*us), Domain: 256}
		},
	} {
		if err := n.SetFairRate(at.Node, f); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if err := n.SetFairRate(n.hosts[0].node, nil); err == nil {
		t.Error("FairRate accepted a host")
	}
	if err := w.Set(0, n.Now(), cc.WRCCPort{}); err == nil {
		t.Error("Set accepted senders without settings")
	}
}

// A changed minimum rate of senders affects running flows.
func TestSenderSettingsTakeEffect(t *testing.T) {
	t.Parallel()
	n, w, _ := fair(t, 1, 1)
	n.RunUntil(10 * ms)
	p := wrcc.SenderParams{T1: 50 * us, MinRate: 80e9, Increase: wrcc.IncreaseAsk}
	must(t, w.Set(0, n.Now(), cc.WRCCPort{SenderParams: p}))
	if s := shareOf(n, 40*ms, 5*ms); math.Abs(s-0.8) > 0.02 {
		t.Errorf("share %.3f of a flow with a minimum rate of 80 out of 100 Gbit/s", s)
	}
}

// The counters of ports, functions and queues agree with the fabric's totals.
func TestCountersAgreeWithTheAccounting(t *testing.T) {
	t.Parallel()
	topo, err := topogen.LeafSpine(topogen.LeafSpineOptions{Leaves: 2, HostsPerLeaf: 3, Spines: 2})
	must(t, err)
	d := dcqcn.Default()
	m, err := cc.NewMlxPorts(6, &d)
	must(t, err)
	n, _ := on(t, topo, Config{Seed: 1, Algorithms: []cc.Algorithm{m}, CNPs: true, CNPGap: 4 * us, Buffer: Buffer{Static: 100_000}, ECN: ECN{Min: 50_000, Max: 300_000, PMax: 0.1, RatePer: 100 * quantity.Gbps}, AckEvery: 4})
	numbers := make([]int32, 6)
	for h := range numbers {
		numbers[h], err = n.AddFunction(int32(h), FunctionShare{})
		must(t, err)
	}
	for i := range int32(12) {
		src, dst := i%6, (i+1+i/6*2)%6
		if i%2 == 0 {
			dst = 5
		}
		if src != dst {
			add(t, n, FlowSpec{ID: int64(i), Src: src, Dst: dst, Function: numbers[src], PeerFunction: numbers[dst]})
		}
	}
	for range 40 {
		n.RunUntil(n.Now() + 333*us)
		checkCounters(t, n, numbers)
	}
	if s := n.Stats(); s.Marks == 0 || s.CNPs == 0 || s.Pauses == 0 {
		t.Errorf("the traffic is insufficient for the test: %+v", s)
	}
}

// checkCounters compares all counters at an instant.
func checkCounters(t *testing.T, n *Network, numbers []int32) {
	t.Helper()
	var marks, handled, cnps, pauses uint64
	for pi := range n.ports {
		p := &n.ports[pi]
		if p.peer == none {
			continue
		}
		at := n.ref(int32(pi))
		l, far := n.Link(at), n.Link(n.ref(p.peer))
		flying := uint64(0)
		for i := p.pipe.head; i != none; i = n.pool.at(i).next {
			flying += uint64(n.pool.at(i).wire)
		}
		if l.TxOctets != far.RxOctets+flying+p.lostLoad {
			t.Errorf("%s sent %d octets, %d arrived, %d on the link", n.PortName(at), l.TxOctets, far.RxOctets, flying)
		}
		pauses += l.PausesSent[0]
		if p.sw == none {
			continue
		}
		var q [MaxClasses]QueueStats
		n.Queues(at, &q)
		marks += q[0].Marks
		if ctrl := l.TxOctets - q[0].TxOctets; ctrl != uint64(n.cfg.Headers.Pause)*(l.TxPackets-q[0].TxPackets) {
			t.Errorf("%s sent %d octets, its queue %d", n.PortName(at), l.TxOctets, q[0].TxOctets)
		}
	}
	for h, number := range numbers {
		l, s := n.Link(n.HostPort(int32(h))), n.Function(number)
		if l.TxOctets != s.TxOctets || l.TxPackets != s.TxPackets {
			t.Errorf("host %d sent %d octets, its function %d", h, l.TxOctets, s.TxOctets)
		}
		pause := uint64(n.cfg.Headers.Pause) * (l.RxPackets - s.RxPackets)
		if l.RxOctets != s.RxOctets+pause {
			t.Errorf("host %d received %d octets, its function %d, and %d of pauses", h, l.RxOctets, s.RxOctets, pause)
		}
		st := n.Host(int32(h))
		handled += st.CNPsHandled
		cnps += st.CNPsSent
	}
	if s := n.Stats(); marks != s.Marks || cnps != s.CNPs || handled > cnps || pauses > s.Pauses {
		t.Errorf("%d marks, %d notifications, %d handled, %d pauses: %+v", marks, cnps, handled, pauses, s)
	}
}

// Live settings, functions included, allocate nothing for packets.
func TestLiveFabricsDoNotAllocate(t *testing.T) {
	n, m := ports(t, 5, 100*quantity.Gbps, Config{Seed: 1})
	var numbers []int32
	for h := range int32(4) {
		for range 2 {
			number, err := n.AddFunction(h, FunctionShare{Max: 20 * quantity.Gbps})
			must(t, err)
			numbers = append(numbers, number)
		}
	}
	for i := range int32(8) {
		add(t, n, FlowSpec{ID: int64(i), Src: i / 2, Dst: 4, Function: numbers[i]})
	}
	n.RunUntil(20 * ms)
	s := dcqcn.Default()
	s.GD = 10
	write(t, n, m, 1, s)
	before := n.Stats().DeliveredPackets
	if allocs := testing.AllocsPerRun(20, func() { n.RunUntil(n.Now() + 50*us) }); allocs != 0 {
		t.Errorf("%g allocations in 50 us", allocs)
	}
	if n.Stats().DeliveredPackets-before < 100 {
		t.Error("too few packets for the test")
	}
}

func TestFlowsRerouteAroundAFailedLink(t *testing.T) {
	t.Parallel()
	topo, err := topogen.LeafSpine(topogen.LeafSpineOptions{Leaves: 2, HostsPerLeaf: 2, Spines: 2})
	must(t, err)
	var done int
	n, _ := on(t, topo, Config{Seed: 1, Recovery: Recovery{Timeout: ms}, OnDone: func(Done) { done++ }})
	for i := range int64(8) {
		add(t, n, FlowSpec{ID: i, Src: int32(i % 2), Dst: int32(2 + i%2), Bytes: 20_000_000, Entropy: uint32(i)})
	}
	path, err := n.Path(FlowSpec{ID: 0, Src: 0, Dst: 2})
	must(t, err)
	n.RunUntil(300 * us)
	must(t, n.SetLink(path[1], false)) // leaf to spine: there is another path
	n.RunUntil(ms)
	around, err := n.Path(FlowSpec{ID: 0, Src: 0, Dst: 2})
	must(t, err)
	if reflect.DeepEqual(path, around) {
		t.Error("the path uses a disconnected link")
	}
	must(t, n.SetLink(n.HostPort(1), false)) // there is no other path
	n.RunUntil(4 * ms)
	sent := n.Link(n.HostPort(1)).TxOctets
	n.RunUntil(6 * ms)
	if l := n.Link(n.HostPort(1)); l.Up || l.TxOctets != sent {
		t.Errorf("a disconnected link sends: %+v, before %d", l, sent)
	}
	must(t, n.audit())
	must(t, n.SetLink(n.HostPort(1), true))
	must(t, n.SetLink(path[1], true))
	n.RunUntil(200 * ms)
	if err := n.audit(); err != nil || done != 8 || n.Stats().DroppedPackets == 0 {
		t.Errorf("%d of 8 flows done, %d packets lost, %v", done, n.Stats().DroppedPackets, err)
	}
	if err := n.SetLink(subnet.PortRef{Node: 99}, false); err == nil {
		t.Error("SetLink accepted a node that does not exist")
	}
}

// Received counts every byte at the receivers, including bytes whose acknowledgement has not reached the sender.
func TestReceivedCountsReceiverBytes(t *testing.T) {
	t.Parallel()
	n, _ := ports(t, 4, 10*quantity.Gbps, Config{Seed: 3})
	for i := range int64(12) {
		add(t, n, FlowSpec{ID: i, Src: int32(i % 4), Dst: int32((i + 1 + i/4) % 4)})
	}
	waiting := int64(0)
	for range 40 {
		n.RunUntil(n.Now() + 100*us)
		sum := int64(0)
		for f := range n.Flows {
			if f.Received < f.Acked || f.Received > f.Sent {
				t.Fatalf("at %s flow %d has %d sent, %d received, %d acknowledged", n.Now(), f.ID, f.Sent, f.Received, f.Acked)
			}
			sum += f.Received
			waiting = max(waiting, f.Received-f.Acked)
		}
		if accepted := int64(n.Stats().AcceptedBytes); sum != accepted || sum == 0 {
			t.Fatalf("at %s flows have %d bytes, receivers %d", n.Now(), sum, accepted)
		}
	}
	if waiting == 0 {
		t.Error("at no time was an acknowledgement on its way, so the test has checked nothing")
	}
}
