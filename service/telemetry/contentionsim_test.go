package telemetry_test

import (
	"context"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"fairlane/internal/quantity"
	"fairlane/policy"
	"fairlane/service/telemetry"
	"fairlane/sim/ether"
	"fairlane/sim/lab/evaluate"
	"fairlane/sim/simdev"
	"fairlane/sim/tenantnet"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/tenants"
)

var (
	contentionCases = flag.Int("contention.cases", 8, "random cases of a plane; make soak has more")
	contentionSeed  = flag.Uint64("contention.seed", 1, "seed of the cases")
)

// behaviour is how a tenant of a case sends: without a limit, at a part of its entitlement, or almost nothing.
type behaviour float64

const (
	backlogged behaviour = 1
	idle       behaviour = 0
)

// contentionCase is a random fabric with a plan that was compiled for tenants without demands, and the traffic that they send instead.
type contentionCase struct {
	*evaluate.Case

	plan    *policy.Plan
	traffic policy.Input
	acts    map[string]behaviour
	notices string // of virtual functions, on RoCE: "none", those of the whole "port", or their own
}

func newContentionCase(t *testing.T, seed uint64, index int, plane policy.Plane) *contentionCase {
	t.Helper()
	c, err := evaluate.Generate(seed, index, plane)
	if err != nil {
		t.Fatal(err)
	}
	out := &contentionCase{Case: c, traffic: c.Input, acts: map[string]behaviour{}}
	if out.plan, err = policy.Compile(c.Input); err != nil {
		t.Fatal(err)
	}
	target, err := policy.Entitle(c.Input)
	if err != nil {
		t.Fatal(err)
	}
	rates := make([]float64, len(c.Input.Flows))
	for _, e := range target.Flows {
		rates[e.Flow] += float64(e.Rate)
	}
	rng := rand.New(rand.NewPCG(seed, uint64(index)))
	out.traffic.Flows = slices.Clone(c.Input.Flows)
	for _, tenant := range out.plan.Tenants {
		act := backlogged
		switch rng.IntN(4) {
		case 0:
			act = idle
		case 1:
			act = behaviour(0.1 + 0.7*rng.Float64())
		}
		out.acts[tenant.Tenant] = act
		for i := range out.traffic.Flows {
			f := &out.traffic.Flows[i]
			if f.Tenant == tenant.Tenant && act < backlogged {
				f.Demand = max(1000, quantity.BitRate(rates[i]*float64(act)))
			}
		}
	}
	return out
}

// contends reports which tenants contend by the exact weighted max-min allocation of the traffic: those with a flow that its demand does not
// limit, on a link that several tenants of the plan share. A tenant is unclear when such a flow crosses both a full link of that kind and
// another full link: either may limit it.
func (c *contentionCase) contends(t *testing.T) (want, unclear map[string]bool) {
	t.Helper()
	target, err := policy.Entitle(c.traffic)
	if err != nil {
		t.Fatal(err)
	}
	rates, load, routes := make([]float64, len(c.traffic.Flows)), map[subnet.PortRef]float64{}, c.routes(t)
	for _, e := range target.Flows {
		rates[e.Flow] += float64(e.Rate)
	}
	for i, list := range routes {
		for _, r := range list {
			for _, at := range r.Path {
				load[at] += rates[i] * r.QPs / float64(c.traffic.Flows[i].QPs)
			}
		}
	}
	shared := func(at subnet.PortRef) bool {
		id := c.Input.Fabric.PortID(at)
		return slices.ContainsFunc(c.plan.Links, func(l policy.LinkShare) bool { return l.Port == id })
	}
	want, unclear = map[string]bool{}, map[string]bool{}
	for _, e := range target.Flows {
		f := &c.traffic.Flows[e.Flow]
		if f.Demand > 0 && rates[e.Flow] > 0.99*float64(f.Demand) {
			continue
		}
		full := map[bool]int{}
		for _, r := range routes[e.Flow] {
			for _, at := range r.Path {
				if l, _ := c.Input.Fabric.Link(at); load[at] > 0.93*float64(l.Rate) {
					full[shared(at)]++
				}
			}
		}
		want[f.Tenant] = want[f.Tenant] || shared(e.Bottleneck)
		unclear[f.Tenant] = unclear[f.Tenant] || full[true] > 0 && full[false] > 0
	}
	return want, unclear
}

// routes returns the routes of each flow.
func (c *contentionCase) routes(t *testing.T) [][]policy.Route {
	t.Helper()
	if c.Plane != policy.PlaneIB {
		return c.traffic.Routes
	}
	paths, err := policy.Paths(c.Input.Fabric, c.traffic.Flows)
	if err != nil {
		t.Fatal(err)
	}
	out := make([][]policy.Route, len(paths))
	for i, p := range paths {
		out[i] = []policy.Route{{Path: p, QPs: float64(c.traffic.Flows[i].QPs)}}
	}
	return out
}

// measureIB measures a window of the case's traffic through the management agents of the simulated devices.
func (c *contentionCase) measureIB(t *testing.T, settle, window quantity.Picoseconds) (telemetry.Report, map[string]float64) {
	t.Helper()
	n, ids, err := evaluate.InfiniBand(&c.traffic, c.plan, c.Traffic())
	if err != nil {
		t.Fatal(err)
	}
	topo := n.Topology()
	dev, err := simdev.New(n, simdev.Options{CCKey: 77})
	if err != nil {
		t.Fatal(err)
	}
	ports, err := telemetry.PortsOf(c.plan, topo)
	if err != nil {
		t.Fatal(err)
	}
	wire, err := dev.Local(subnet.PortRef{Node: topo.Hosts()[0], Port: 1})
	if err != nil {
		t.Fatal(err)
	}
	o := telemetry.Options{CCKey: 77}
	counters, err := telemetry.New(wire, ports, o)
	if err != nil {
		t.Fatal(err)
	}
	watch, err := telemetry.NewCongestionWatch(wire, c.plan, topo, telemetry.CongestionOptions{Options: o})
	if err != nil {
		t.Fatal(err)
	}
	dev.Advance(settle)
	read := func() (*telemetry.Sample, *telemetry.Congestion) {
		cong, err := watch.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		s, err := counters.Sample(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return s, cong
	}
	delivered := func(flow int) uint64 { return n.Delivered(ids[flow]) }
	before := c.bytes(delivered)
	first, _ := read()
	dev.Advance(window)
	last, cong := read()
	truth := c.rates(before, c.bytes(delivered), window)
	w := telemetry.Between(first, last)
	r := telemetry.Shares(c.plan, w)
	loop := telemetry.JudgeBECN(cong, r.Links)
	r.Loop = &loop
	telemetry.JudgeBECNs(c.plan, &w, cong, &telemetry.Traffic{Flows: c.Input.Flows}, &r)
	return r, truth
}

// bytes returns the bytes on the wire that each tenant's flows have delivered.
func (c *contentionCase) bytes(delivered func(flow int) uint64) map[string]uint64 {
	out := map[string]uint64{}
	for i := range c.traffic.Flows {
		out[c.traffic.Flows[i].Tenant] += delivered(i)
	}
	return out
}

// rates returns the rate of each tenant in a window by the simulator's own count, in bit/s.
func (c *contentionCase) rates(before, after map[string]uint64, window quantity.Picoseconds) map[string]float64 {
	out := map[string]float64{}
	for tenant, n := range after {
		out[tenant] = float64(n-before[tenant]) * 8 / window.Seconds()
	}
	return out
}

// etherCounters reads the counters of a simulated Ethernet fabric.
type etherCounters struct {
	c        *contentionCase
	n        *tenantnet.Network
	function func(tenant string, port ident.PortID) (int32, bool)
}

// ReadNIC implements telemetry.EtherSource.
func (s *etherCounters) ReadNIC(_ context.Context, id ident.PortID) (telemetry.NICReading, error) {
	h, ok := s.n.HostOf(id)
	if !ok {
		return telemetry.NICReading{}, fmt.Errorf("no host at %s", id)
	}
	at := s.n.Now()
	read := func(n uint64) telemetry.Octets { return telemetry.Octets{N: n, At: at} }
	notices := func(h *ether.HostStats) *telemetry.Notices {
		return &telemetry.Notices{Marks: read(h.Marked), Sent: read(h.CNPsSent), Handled: read(h.CNPsHandled)}
	}
	l, host := s.n.Link(s.n.HostPort(h)), s.n.Host(h)
	r := telemetry.NICReading{Tx: read(l.TxOctets), Rx: read(l.RxOctets), Functions: map[int]telemetry.FunctionRead{}, Senders: map[string]telemetry.Octets{}}
	if p := s.c.plan.RoCE; p != nil {
		r.Loop = &telemetry.LoopReading{Notices: *notices(&host), Ignored: read(host.CNPsIgnored),
			Pauses: read(0), Paused: read(0)}
		for i := range p.Traffic {
			if x := &p.Traffic[i]; x.Port == id {
				if number, ok := s.function(x.Tenant, id); ok {
					f := s.n.Function(number)
					one := telemetry.FunctionRead{Tx: read(f.TxOctets), Rx: read(f.RxOctets), Notices: notices(&f.HostStats)}
					switch s.c.notices {
					case "none":
						one.Notices = nil
					case "port":
						one.Notices = notices(&host)
					}
					r.Functions[x.Function] = one
				}
			}
		}
		return r, nil
	}
	sent := map[string]uint64{}
	for f := range s.n.Flows {
		flow := &s.c.traffic.Flows[s.n.Pairs[f.ID]]
		if flow.Src == id {
			sent[flow.Tenant+"/"+tenants.DefaultClass] += uint64(float64(f.Sent) * s.n.Wire)
		}
	}
	for name, n := range sent {
		r.Senders[name] = read(n)
	}
	return r, nil
}

// ReadSwitch implements telemetry.EtherSource.
func (s *etherCounters) ReadSwitch(_ context.Context, id ident.PortID) (telemetry.Octets, error) {
	ref, _ := s.c.Input.Fabric.PortByID(id)
	return telemetry.Octets{N: s.n.Link(ref).TxOctets, At: s.n.Now()}, nil
}

func (c *contentionCase) measureEther(t *testing.T, settle, window quantity.Picoseconds) (telemetry.Report, map[string]float64) {
	t.Helper()
	n, function, err := evaluate.Ethernet(&c.traffic, c.plan, c.Traffic())
	if err != nil {
		t.Fatal(err)
	}
	n.RunUntil(settle)
	src := &etherCounters{c: c, n: n, function: function}
	col, err := telemetry.NewEther(src, c.plan, c.Input.Fabric, c.Input.Flows, telemetry.EtherOptions{Parallel: 1})
	if err != nil {
		t.Fatal(err)
	}
	read := func() map[string]uint64 {
		of := make([]uint64, len(c.traffic.Flows))
		for f := range n.Flows {
			of[n.Pairs[f.ID]] += uint64(float64(f.Received) * n.Wire)
		}
		return c.bytes(func(flow int) uint64 { return of[flow] })
	}
	before := read()
	r, err := col.MeasureAround(t.Context(), func() { n.RunUntil(n.Now() + window) })
	if err != nil {
		t.Fatal(err)
	}
	return r, c.rates(before, read(), window)
}

// differences compares the delivered rates of a window with the simulator's: how many were compared, which differs most, and by how much.
func differences(r *telemetry.Report, truth map[string]float64, window quantity.Picoseconds) (rates int, tenant string, most float64) {
	for _, ts := range r.Tenants {
		packets := truth[ts.Tenant] * window.Seconds() / (8 * 1500)
		if ts.Delivered == nil || packets < 500 {
			continue
		}
		rates++
		if d := math.Abs(float64(*ts.Delivered)/truth[ts.Tenant] - 1); d > most {
			tenant, most = ts.Tenant, d
		}
	}
	return rates, tenant, most
}

// TestContentionIsJudgedAsByTheExactAllocation compares the judgement by counters with the exact allocation of the traffic, for random
// fabrics and tenants that have a backlog, send less than their part, or are idle. What each tenant received is compared with the simulator's
// own count of delivered packets.
func TestContentionIsJudgedAsByTheExactAllocation(t *testing.T) {
	t.Parallel()
	for _, plane := range policy.Planes() {
		t.Run(string(plane), func(t *testing.T) {
			t.Parallel()
			var right, wrong, unmeasured, tied, rates int
			var most float64
			for i := range *contentionCases {
				c := newContentionCase(t, *contentionSeed, i, plane)
				measure := c.measureEther
				if plane == policy.PlaneIB {
					measure = c.measureIB
				}
				settle := max(6*c.plan.Settle, 30*quantity.Millisecond)
				const window = 100 * quantity.Millisecond
				r, truth := measure(t, settle, window)
				n, differs, worst := differences(&r, truth, window)
				if worst > 0.01 { // counters count what was sent: packets that wait at one end of a short window count more than in a long one
					t.Logf("case %d, %s: %s differs by %.2f %% in 100 ms", i, c.Kind, differs, 100*worst)
					longer, sent := measure(t, settle, 10*window)
					_, differs, worst = differences(&longer, sent, 10*window)
				}
				rates += n
				if most = max(most, worst); worst > 0.01 {
					t.Errorf("case %d, %s: the rate of %s by counters differs by %.2f %% from the simulator's", i, c.Kind, differs, 100*worst)
				}
				want, unclear := c.contends(t)
				for _, ts := range r.Tenants {
					switch got := ts.Contention == telemetry.Contending; {
					case unclear[ts.Tenant]:
						tied++
					case ts.Contention == telemetry.NotMeasured:
						unmeasured++
					case got == want[ts.Tenant]:
						right++
					default:
						wrong++
						t.Logf("case %d, %s: %s with demand %.2f is %s; contends by the allocation: %v", i, c.Kind, ts.Tenant, c.acts[ts.Tenant], ts.Contention, want[ts.Tenant])
					}
				}
			}
			t.Logf("%d judged right, %d wrong, %d not measured, %d at ties; %d rates differ by %.2f %% at most", right, wrong, unmeasured, tied, rates, 100*most)
			if rates < 2**contentionCases {
				t.Errorf("only %d rates were compared", rates)
			}
			if most := max(1, (right+wrong)*15/1000); wrong > most || unmeasured > (right+wrong)/5 {
				t.Errorf("%d of %d tenants judged wrong, want at most %d; %d not measured", wrong, right+wrong, most, unmeasured)
			}
		})
	}
}
