package etherlive_test

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"fairlane/ccconfig/dcqcn"
	"fairlane/ccconfig/ecn"
	"fairlane/internal/quantity"
	"fairlane/policy"
	"fairlane/sim/etherlive"
	"fairlane/sim/plane"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/subnet/topogen"
	"fairlane/tenants"
	"fairlane/wrcc"
)

const ms = quantity.Millisecond

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// star returns a fabric of hosts at one switch, and the hosts' ports.
func star(tb testing.TB, hosts int, rate quantity.BitRate) (*subnet.Fabric, []ident.PortID) {
	tb.Helper()
	topo, err := topogen.Star(hosts, topogen.Wire{Rate: rate, Delay: quantity.Microsecond})
	must(tb, err)
	var ids []ident.PortID
	for _, h := range topo.Hosts() {
		ids = append(ids, topo.PortID(subnet.PortRef{Node: h, Port: 1}))
	}
	return topo, ids
}

// flow returns a flow of a tenant.
func flow(tenant string, src, dst ident.PortID, qps int) tenants.Flow {
	return tenants.Flow{Tenant: tenant, Src: src, Dst: dst, QPs: qps}
}

func live(tb testing.TB, topo *subnet.Fabric, flows []tenants.Flow, o etherlive.Options) *etherlive.Fabric {
	tb.Helper()
	f, err := etherlive.New(topo, flows, o)
	must(tb, err)
	return f
}

// rates returns the rate that each flow delivers in a window, bit/s.
func rates(f *etherlive.Fabric, settle, window quantity.Picoseconds) []float64 {
	before, after := make([]uint64, f.Flows()), make([]uint64, f.Flows())
	f.RunUntil(f.Now() + settle)
	f.Delivered(before)
	f.RunUntil(f.Now() + window)
	f.Delivered(after)
	out := make([]float64, len(before))
	for i := range out {
		out[i] = float64(after[i]-before[i]) * 8 / window.Seconds()
	}
	return out
}

// worst returns the largest relative error of shares against weights.
func worst(rates, weights []float64) float64 {
	var sum, all, off float64
	for i := range rates {
		sum, all = sum+rates[i], all+weights[i]
	}
	for i := range rates {
		want := weights[i] / all
		off = max(off, math.Abs(rates[i]/sum-want)/want)
	}
	return off
}

// install writes a plan's settings to the data planes, as drivers write them to devices.
func install(tb testing.TB, f *etherlive.Fabric, p *policy.Plan) {
	tb.Helper()
	topo := f.Topology()
	if p.RoCE != nil {
		for i := range p.RoCE.NICs {
			n, err := f.NIC(p.RoCE.NICs[i].Port)
			must(tb, err)
			s := plane.DefaultPort()
			s.Registers = p.RoCE.NICs[i].Settings
			n.Configure(s)
		}
		for _, sw := range p.RoCE.Switches {
			s, err := f.Switch(sw.Node)
			must(tb, err)
			s.Configure(sw.Queues)
		}
		return
	}
	period := map[string]quantity.Picoseconds{}
	sender := map[string]wrcc.NICConfig{}
	inc, err := wrcc.ParseIncrease(p.WRCC.Increase)
	must(tb, err)
	for i, d := range p.WRCC.Domains {
		period[d.Domain] = d.Period
		sender[d.Domain], err = wrcc.NewNICConfig(uint16(i+1), wrcc.SenderParams{T1: d.T1, MinRate: float64(p.WRCC.MinRate), Increase: inc})
		must(tb, err)
	}
	for i := range topo.Nodes {
		if node := &topo.Nodes[i]; node.Kind == subnet.KindSwitch {
			installFair(tb, f, p, int32(i), period[node.Domain], sender[node.Domain].Domain)
		}
	}
	byPort := map[ident.PortID]*wrcc.NICConfig{}
	for i := range p.WRCC.Senders {
		s := &p.WRCC.Senders[i]
		ref, _ := topo.PortByID(s.Port)
		if byPort[s.Port] == nil {
			c := sender[topo.Nodes[ref.Node].Domain]
			byPort[s.Port] = &c
		}
		w, err := wrcc.NewFixedWeight(s.Weight)
		must(tb, err)
		sw := wrcc.SenderWeight{Name: s.Tenant + "/" + s.Class, Weight: w}
		for _, peer := range s.Peers {
			w, err := wrcc.NewFixedWeight(peer.Weight)
			must(tb, err)
			sw.Peers = append(sw.Peers, wrcc.PeerWeight{Port: peer.Port, Weight: w})
		}
		byPort[s.Port].Senders = append(byPort[s.Port].Senders, sw)
	}
	for i := range topo.Nodes {
		for num := range topo.Nodes[i].Ports {
			id := topo.PortID(subnet.PortRef{Node: int32(i), Port: ident.PortNum(num)})
			if n, err := f.NIC(id); err == nil {
				s := plane.DefaultPort()
				if s.WRCC = byPort[id]; s.WRCC == nil {
					c := sender[topo.Nodes[i].Domain]
					s.WRCC = &c
				}
				n.Configure(s)
			}
		}
	}
}

func installFair(tb testing.TB, f *etherlive.Fabric, p *policy.Plan, node int32, period quantity.Picoseconds, domain uint16) {
	tb.Helper()
	topo := f.Topology()
	var c wrcc.SwitchConfig
	for num := range topo.Nodes[node].Ports {
		ref := subnet.PortRef{Node: node, Port: ident.PortNum(num)}
		l, _ := topo.Link(ref)
		if l == nil {
			continue
		}
		prm, ok := p.WRCC.PortSettings(topo.PortID(ref))
		if !ok {
			prm = wrcc.DefaultParams(l.Rate, period)
		}
		pc, err := wrcc.NewPortConfig(uint16(num), prm)
		must(tb, err)
		c.Ports = append(c.Ports, pc)
		c.Domains = append(c.Domains, wrcc.PortDomain{Port: uint16(num), Domain: domain})
	}
	s, err := f.FairSwitch(topo.Nodes[node].GUID)
	must(tb, err)
	s.Configure(c)
}

// fairDefaults sets the published WRCC configuration on all switches.
func fairDefaults(tb testing.TB, f *etherlive.Fabric) {
	tb.Helper()
	for _, node := range f.Topology().Switches() {
		s, err := f.FairSwitch(f.Topology().Nodes[node].GUID)
		must(tb, err)
		s.Configure(s.DefaultFair())
	}
}

// weighted returns three tenants with weights whose flows share one port, and the compiled plan.
func weighted(tb testing.TB, p policy.Plane, weights ...float64) (*subnet.Fabric, []tenants.Flow, *policy.Plan) {
	tb.Helper()
	topo, ids := star(tb, len(weights)+1, 25*quantity.Gbps)
	in := policy.Input{Fabric: topo, Options: policy.Options{Plane: p}}
	for i, w := range weights {
		name := fmt.Sprintf("tenant-%d", i)
		in.Tenants = append(in.Tenants, tenants.Tenant{Name: name, Weight: quantity.Weight(w * 1000)})
		in.Flows = append(in.Flows, flow(name, ids[i], ids[len(weights)], 4))
	}
	in.Tenants = tenants.Attach(in.Tenants, in.Flows)
	plan, err := policy.Compile(in)
	must(tb, err)
	return topo, in.Flows, plan
}

func TestPlanTakesEffectOnRunningRoCEFabric(t *testing.T) {
	t.Parallel()
	topo, flows, plan := weighted(t, policy.PlaneRoCE, 4, 2, 1)
	f := live(t, topo, flows, etherlive.Options{Seed: 1})
	before := rates(f, 50*ms, 50*ms)
	if off := worst(before, []float64{1, 1, 1}); off > 0.15 {
		t.Errorf("initial shares are %.3g", before)
	}
	install(t, f, plan)
	after := rates(f, 200*ms, 200*ms)
	if off := worst(after, []float64{4, 2, 1}); off > 0.1 {
		t.Errorf("with the plan, shares are %.3g, error %.1f %%", after, 100*off)
	}
	for i := range flows {
		n, err := f.NIC(flows[i].Src)
		must(t, err)
		n.Reset()
	}
	if off := worst(rates(f, 300*ms, 100*ms), []float64{1, 1, 1}); off > 0.25 {
		t.Errorf("after a reset the shares have an error of %.1f %%", 100*off)
	}
	must(t, f.Err())
}

func TestPlanTakesEffectOnRunningWRCCFabric(t *testing.T) {
	t.Parallel()
	topo, flows, plan := weighted(t, policy.PlaneWRCC, 4, 2, 1)
	f := live(t, topo, flows, etherlive.Options{Seed: 1, WRCC: true})
	fairDefaults(t, f)
	before := rates(f, 30*ms, 20*ms)
	if off := worst(before, []float64{1, 1, 1}); off > 0.02 {
		t.Errorf("with the published configuration, shares are %.3g", before)
	}
	install(t, f, plan)
	after := rates(f, 50*ms, 50*ms)
	if off := worst(after, []float64{4, 2, 1}); off > 0.01 {
		t.Errorf("with the plan, shares are %.3g, error %.2f %%", after, 100*off)
	}
	var sum, all float64
	for i := range before {
		all, sum = all+before[i], sum+after[i]
	}
	if sum < 0.97*all {
		t.Errorf("%.3g bit/s with the plan, %.3g before", sum, all)
	}
	s, err := f.FairSwitch(topo.Nodes[topo.Switches()[0]].GUID)
	must(t, err)
	to, _ := topo.PortByID(flows[0].Dst)
	out, _ := topo.Peer(to)
	if m := s.Measure(uint16(out.Port)); m.FairRateMbps == 0 || m.Input.Bytes == 0 || m.Input.Packets == 0 || m.Rewrites == 0 || m.FairRateSum.Packets == 0 || m.AvgRTTUs == 0 {
		t.Errorf("the congested port measures %+v", m)
	}
	if m := s.Measure(0); m.FairRateMbps != 0 || m.Input.Bytes != 0 {
		t.Errorf("port 0 measures %+v", m)
	}
	s.Configure(wrcc.SwitchConfig{}) // as after a reboot
	if m := s.Measure(uint16(out.Port)); m.FairRateMbps != 0 {
		t.Errorf("without tables the port has a fair rate: %+v", m)
	}
	must(t, f.Err())
}

// Tenants share by weight, over a link of 1 ms and in competition with flows inside a data centre.
func TestTwoDataCentresShareByWeight(t *testing.T) {
	t.Parallel()
	const g = quantity.Gbps
	topo, err := topogen.DualDC(topogen.DualDCOptions{DCIRate: 25 * g, Site: topogen.ThreeTierOptions{Wire: topogen.Wire{Rate: 25 * g}}})
	must(t, err)
	var ids []ident.PortID
	for _, h := range topo.Hosts() {
		ids = append(ids, topo.PortID(subnet.PortRef{Node: h, Port: 1}))
	}
	in := policy.Input{Fabric: topo, Options: policy.Options{Plane: policy.PlaneWRCC}}
	weights, last := []float64{4, 2, 1}, len(ids)-1
	for i, src := range []ident.PortID{ids[0], ids[1], ids[last-3]} {
		name := fmt.Sprintf("tenant-%d", i)
		in.Tenants = append(in.Tenants, tenants.Tenant{Name: name, Weight: quantity.Weight(weights[i] * 1000)})
		in.Flows = append(in.Flows, flow(name, src, ids[last], 2))
	}
	in.Tenants = tenants.Attach(in.Tenants, in.Flows)
	plan, err := policy.Compile(in)
	must(t, err)
	f := live(t, topo, in.Flows, etherlive.Options{Seed: 1, WRCC: true})
	fairDefaults(t, f)
	f.RunUntil(20 * ms)
	install(t, f, plan)
	got := rates(f, 100*ms, 20*ms)
	if off := worst(got, weights); off > 0.01 || got[0]+got[1]+got[2] < 0.9*25e9 {
		t.Errorf("shares %.4g, %.2f %% off", got, 100*off)
	}
	must(t, f.Err())
}

func TestSenderCountersFollowTheirNames(t *testing.T) {
	t.Parallel()
	topo, ids := star(t, 3, 25*quantity.Gbps)
	flows := []tenants.Flow{flow("a", ids[0], ids[2], 2), {Tenant: "a", Class: "bulk", Src: ids[0], Dst: ids[2], QPs: 1}, flow("b", ids[0], ids[1], 1)}
	f := live(t, topo, flows, etherlive.Options{Seed: 1, WRCC: true})
	fairDefaults(t, f)
	f.RunUntil(5 * ms)
	n, err := f.NIC(ids[0])
	must(t, err)
	m := n.Measure()
	sum := uint64(0)
	var names []string
	for _, s := range m.Senders {
		names = append(names, s.Name)
		sum += s.TxOctets
	}
	if got := strings.Join(names, " "); got != "a/bulk a/default b/default" {
		t.Errorf("senders %q", got)
	}
	if sum > m.TxOctets || float64(sum) < 0.99*float64(m.TxOctets) {
		t.Errorf("senders sent %d octets, the port %d", sum, m.TxOctets)
	}
	if got := strings.Join(n.Tenants(), " "); got != "a b" || len(m.Functions) != 2 || m.Functions[1].Tenant != "b" || m.Functions[0].TxOctets+m.Functions[1].TxOctets != m.TxOctets {
		t.Errorf("functions of %q: %+v", got, m.Functions)
	}
}

func TestSharesOfFunctionsAndCountersOfASharedPort(t *testing.T) {
	t.Parallel()
	topo, ids := star(t, 3, 25*quantity.Gbps)
	f := live(t, topo, []tenants.Flow{flow("zebra", ids[0], ids[1], 1), flow("ant", ids[0], ids[2], 8)}, etherlive.Options{Seed: 1})
	n, err := f.NIC(ids[0])
	must(t, err)
	share := func(functions ...plane.Function) float64 {
		s := plane.DefaultPort()
		s.Functions = functions
		n.Configure(s)
		f.RunUntil(f.Now() + 5*ms)
		before := n.Measure()
		f.RunUntil(f.Now() + 10*ms)
		after := n.Measure()
		a, z := after.Functions[0].TxOctets-before.Functions[0].TxOctets, after.Functions[1].TxOctets-before.Functions[1].TxOctets
		return float64(a) / float64(a+z)
	}
	if got := share(); math.Abs(got-0.5) > 0.01 {
		t.Errorf("equal functions: share of the first %.3f", got)
	}
	if got := share(plane.Function{Index: 0, Weight: 1}, plane.Function{Index: 1, Weight: 3}); math.Abs(got-0.25) > 0.01 {
		t.Errorf("weights 1 and 3: share of the first %.3f", got)
	}
	if got := share(plane.Function{Index: 0, Max: 5 * quantity.Gbps}); math.Abs(got-0.2) > 0.01 {
		t.Errorf("maximum rate of 5 out of 25 Gbit/s: share of the first %.3f", got)
	}
	if got := share(); math.Abs(got-0.5) > 0.01 {
		t.Errorf("equal functions again: share of the first %.3f", got)
	}
	must(t, f.Err())
}

func TestMarkingAndSwitchCounters(t *testing.T) {
	t.Parallel()
	topo, ids := star(t, 3, 25*quantity.Gbps)
	f := live(t, topo, []tenants.Flow{flow("a", ids[0], ids[2], 2), flow("b", ids[1], ids[2], 2)}, etherlive.Options{Seed: 1})
	sw := topo.Nodes[topo.Switches()[0]].GUID
	s, err := f.Switch(sw)
	must(t, err)
	to, _ := topo.PortByID(ids[2])
	out, _ := topo.Peer(to)
	def := s.Default()
	if len(def) != 3 || def[0].Queue != plane.RoCEPriority || def[0].Marking.Min != 100_000 || def[0].Marking.Max != 400_000 || def[0].Marking.PMaxPct != 20 {
		t.Errorf("marking of the default state: %+v", def)
	}
	marks := func(m []ecn.QueueMarking) uint64 {
		s.Configure(m)
		f.RunUntil(f.Now() + 2*ms)
		before := s.Measure(int(out.Port)).Queues[plane.RoCEPriority]
		f.RunUntil(f.Now() + 10*ms)
		after := s.Measure(int(out.Port)).Queues[plane.RoCEPriority]
		if after.Packets-before.Packets < 1000 {
			t.Errorf("only %d packets: the test has no traffic", after.Packets-before.Packets)
		}
		return after.Marks - before.Marks
	}
	if got := marks(def); got == 0 {
		t.Error("no mark by default")
	}
	if got := marks([]ecn.QueueMarking{{Port: out.Port, Queue: 5, Marking: ecn.Marking{Max: 10, PMaxPct: 100}}}); got != 0 {
		t.Errorf("%d marks although the rule is for another queue", got)
	}
	if got := marks([]ecn.QueueMarking{{Port: out.Port, Queue: plane.RoCEPriority, Marking: ecn.Marking{Min: 1000, Max: 2000, PMaxPct: 100}}}); got == 0 {
		t.Error("no mark under a rule that marks everything")
	}
	nic, err := f.NIC(ids[2])
	must(t, err)
	n, m := nic.Measure(), s.Measure(int(out.Port))
	if n.ECNMarked > m.Queues[3].Marks || n.ECNMarked == 0 || n.CNPsSent == 0 || n.RxOctets > m.TxOctets || m.TxOctets-n.RxOctets > 1_000_000 || !m.Up || m.At != f.Now() {
		t.Errorf("NIC %+v\nswitch %+v", n, m)
	}
	if a, b := s.Measure(-1), s.Measure(300); a.TxOctets != 0 || b.Up {
		t.Error("counters of a port that does not exist are not zero")
	}
	must(t, f.Err())
}

func TestFlowsStartStopAndChange(t *testing.T) {
	t.Parallel()
	topo, ids := star(t, 3, 25*quantity.Gbps)
	f := live(t, topo, []tenants.Flow{flow("a", ids[0], ids[2], 3), flow("b", ids[1], ids[2], 1)}, etherlive.Options{Seed: 1, Waiting: []int{1}})
	near := func(what string, got []float64, want ...float64) {
		t.Helper()
		for i := range want {
			if math.Abs(got[i]/1e9-want[i]) > 0.3+0.02*want[i] {
				t.Errorf("%s: flow %d has %.3g bit/s, want %v Gbit/s", what, i, got[i], want[i])
			}
		}
	}
	near("one waits", rates(f, 2*ms, 5*ms), 25, 0)
	must(t, f.StartFlow(1))
	if r := rates(f, 2*ms, 5*ms); r[1] < 1e9 || r[0]+r[1] < 24e9 {
		t.Errorf("both: %.3g", r)
	}
	must(t, f.StopFlow(0))
	must(t, f.StopFlow(0))
	if r := rates(f, 200*ms, 5*ms); r[0] != 0 || r[1] < 20e9 {
		t.Errorf("after the stop of the first flow: %.3g", r)
	}
	must(t, f.SetDemand(1, 2*quantity.Gbps))
	must(t, f.SetDemand(0, 3*quantity.Gbps))
	must(t, f.StartFlow(0))
	must(t, f.StopFlow(0)) // before its start
	must(t, f.StartFlow(0))
	near("demands", rates(f, 5*ms, 20*ms), 3, 2)
	must(t, f.SetDemand(1, 0))
	if r := rates(f, 100*ms, 5*ms); r[1] < 15e9 {
		t.Errorf("without bound: %.3g", r)
	}
	for want, err := range map[string]error{"flow 2: want 0 to 1": f.StartFlow(2), "demand -1": f.SetDemand(0, -1), "flow -1": f.StopFlow(-1)} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	must(t, f.Err())
}

// Traffic stops while a link is disconnected and continues after the link is connected again.
func TestLinksGoDownAndComeUp(t *testing.T) {
	t.Parallel()
	topo, ids := star(t, 3, 25*quantity.Gbps)
	f := live(t, topo, []tenants.Flow{flow("a", ids[0], ids[2], 1)}, etherlive.Options{Seed: 1})
	f.RunUntil(ms)
	must(t, f.SetLink(ids[2], false))
	if r := rates(f, 2*ms, 5*ms); r[0] != 0 {
		t.Errorf("%.3g bit/s over a disconnected link", r[0])
	}
	n, err := f.NIC(ids[2])
	must(t, err)
	if n.Measure().Up {
		t.Error("a failed link is up")
	}
	must(t, f.SetLink(ids[2], true))
	if r := rates(f, 50*ms, 5*ms); r[0] < 20e9 {
		t.Errorf("%.3g bit/s over a link that is connected again", r[0])
	}
	if err := f.SetLink(ident.PortID{Node: 5, Port: 9}, true); err == nil {
		t.Error("SetLink accepted a port that does not exist")
	}
}

func TestBadOptionsAreRefused(t *testing.T) {
	t.Parallel()
	topo, ids := star(t, 3, 25*quantity.Gbps)
	flows := []tenants.Flow{flow("a", ids[0], ids[2], 1)}
	for want, o := range map[string]etherlive.Options{
		"time scale": {TimeScale: math.NaN()}, "slice": {Slice: -1}, "priority 8": {Priority: 8}, "waiting flow 1": {Waiting: []int{1}},
	} {
		if _, err := etherlive.New(topo, flows, o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	f := live(t, topo, flows, etherlive.Options{})
	if _, err := f.FairSwitch(topo.Nodes[topo.Switches()[0]].GUID); err == nil {
		t.Error("FairSwitch accepted a RoCE fabric")
	}
	if _, err := f.Switch(ids[0].Node); err == nil {
		t.Error("a host is a switch")
	}
	if _, err := f.NIC(ident.PortID{Node: ids[0].Node, Port: 7}); err == nil {
		t.Error("NIC accepted a port that does not exist")
	}
}

// The same settings at the same simulated times give the same packets, whether RunUntil advances time in one step or Run
// follows the wall clock.
func TestSameSettingsAtTheSameTimesSamePackets(tb *testing.T) {
	tb.Parallel()
	topo, ids := star(tb, 4, 10*quantity.Gbps)
	flows := []tenants.Flow{flow("a", ids[0], ids[3], 2), flow("b", ids[1], ids[3], 2), flow("c", ids[2], ids[3], 1), flow("b", ids[0], ids[1], 1)}
	rapid.Check(tb, func(t *rapid.T) {
		type change struct {
			gap quantity.Picoseconds
			do  func(f *etherlive.Fabric)
		}
		var plan []change
		for range rapid.IntRange(1, 12).Draw(t, "changes") {
			kind, a, b := rapid.IntRange(0, 5).Draw(t, "kind"), rapid.IntRange(0, 3).Draw(t, "a"), rapid.IntRange(0, 60).Draw(t, "b")
			c := change{gap: quantity.Picoseconds(rapid.IntRange(0, 400).Draw(t, "gap")) * quantity.Microsecond}
			c.do = func(f *etherlive.Fabric) {
				n, err := f.NIC(ids[a])
				must(tb, err)
				s := n.State()
				switch kind {
				case 0:
					s.Registers.TimeReset, s.Registers.AlphaPeriod = uint32(b+1), uint32(b%5+1)
					n.Configure(s)
				case 1:
					s.Functions = []plane.Function{{Index: b % 2, Weight: uint32(b)}}
					n.Configure(s)
				case 2:
					sw, err := f.Switch(topo.Nodes[topo.Switches()[0]].GUID)
					must(tb, err)
					sw.Configure([]ecn.QueueMarking{{Port: ident.PortNum(a + 1), Queue: 3, Marking: ecn.Marking{Min: int64(b) * 500, Max: int64(b) * 900, PMaxPct: b}}})
				case 3:
					must(tb, f.StopFlow(a))
				case 4:
					must(tb, f.StartFlow(a))
				default:
					must(tb, f.SetLink(ids[a], b%2 == 0))
				}
			}
			plan = append(plan, c)
		}
		run := func(step quantity.Picoseconds) string {
			f := live(tb, topo, flows, etherlive.Options{Seed: 5})
			for _, c := range plan {
				for end := f.Now() + c.gap; f.Now() < end; {
					f.RunUntil(min(end, f.Now()+step))
				}
				c.do(f)
			}
			f.RunUntil(f.Now() + ms)
			must(tb, f.Err())
			n, err := f.NIC(ids[3])
			must(tb, err)
			return fmt.Sprintf("%+v %+v", f.Stats(), n.Measure())
		}
		if a, b := run(ms), run(37*quantity.Microsecond); a != b {
			t.Errorf("%s\n%s", a, b)
		}
	})
}

func TestRunKeepsItsTimeScale(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		topo, ids := star(t, 2, quantity.Gbps)
		f := live(t, topo, []tenants.Flow{flow("a", ids[0], ids[1], 1)}, etherlive.Options{TimeScale: 0.02})
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() { done <- f.Run(ctx) }()
		time.Sleep(2 * time.Second)
		n, err := f.NIC(ids[0])
		must(t, err)
		m := n.Measure()
		if at := m.At.Seconds(); at > 0.04 || at < 0.039 {
			t.Errorf("%v simulated seconds in 2 s", at)
		}
		if rate := float64(m.TxOctets) * 8 / m.At.Seconds(); rate < 0.98e9 || rate > 1.001e9 {
			t.Errorf("%.4g bit/s over a link of 1 Gbit/s", rate)
		}
		cancel()
		must(t, <-done)
	})
}

// The cost of setting one port does not depend on the number of flows and ports.
func BenchmarkConfigureNIC(b *testing.B) {
	for _, hosts := range []int{8, 512} {
		b.Run(fmt.Sprintf("hosts=%d", hosts), func(b *testing.B) {
			topo, err := topogen.LeafSpine(topogen.LeafSpineOptions{Leaves: hosts / 8, HostsPerLeaf: 8, Spines: 4})
			must(b, err)
			var flows []tenants.Flow
			var ids []ident.PortID
			for _, h := range topo.Hosts() {
				ids = append(ids, topo.PortID(subnet.PortRef{Node: h, Port: 1}))
			}
			for i := range ids {
				flows = append(flows, flow("a", ids[i], ids[(i+1)%len(ids)], 8))
			}
			f := live(b, topo, flows, etherlive.Options{})
			f.RunUntil(20 * quantity.Microsecond)
			n, err := f.NIC(ids[0])
			must(b, err)
			s := plane.DefaultPort()
			b.ReportAllocs()
			for b.Loop() {
				s.Registers.TimeReset = dcqcn.Default().TimeReset + (s.Registers.TimeReset+1)%100
				n.Configure(s)
			}
		})
	}
}
