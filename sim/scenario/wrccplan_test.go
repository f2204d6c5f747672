package scenario_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"fairlane/internal/quantity"
	"fairlane/policy"
	"fairlane/policy/plantest"
	"fairlane/sim/cc"
	"fairlane/sim/ether"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/subnet/topogen"
	"fairlane/tenants"
	"fairlane/wrcc"
)

// wrccRun is a compiled case on the packet simulator.
type wrccRun struct {
	in   policy.Input
	plan *policy.Plan
	net  *ether.Network
	of   []int // index in Input.Tenants, by flow ID
}

// simulated compiles a case for the paths that the fabric's hash selects, and installs the plan.
func simulated(t testing.TB, in policy.Input) *wrccRun {
	t.Helper()
	in.Options.Plane = policy.PlaneWRCC
	r := &wrccRun{in: in}
	r.route(t)
	plan := plantest.Compiled(t, r.in)
	r.plan = plan
	r.net = r.network(t)
	r.each(t, func(f ether.FlowSpec, _ int) {
		if err := r.net.Add(f); err != nil {
			t.Fatal(err)
		}
	})
	return r
}

// network builds the fabric with the plan's settings.
func (r *wrccRun) network(t testing.TB) *ether.Network {
	t.Helper()
	cfg := ether.Config{PaceCredit: 10 * quantity.Microsecond, FairRate: &ether.FairRate{Period: 24 * quantity.Microsecond}}
	values := cc.Values{}
	if p := r.plan; p != nil {
		inc, err := wrcc.ParseIncrease(p.WRCC.Increase)
		if err != nil {
			t.Fatal(err)
		}
		values = cc.Values{"t1": float64(p.WRCC.Domains[0].T1), "increase": float64(inc), "min_rate": float64(p.WRCC.MinRate)}
		cfg.FairRate.Params = func(ref subnet.PortRef, rate quantity.BitRate) wrcc.Params {
			s, ok := p.WRCC.PortSettings(r.in.Fabric.PortID(ref))
			if !ok {
				s = wrcc.DefaultParams(rate, cfg.FairRate.Period)
			}
			return s
		}
	}
	spec, err := cc.ByName("wrcc-weighted")
	if err != nil {
		t.Fatal(err)
	}
	a, err := spec.Build(values)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Algorithms = []cc.Algorithm{a}
	n, err := ether.New(r.in.Fabric, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// each yields every queue pair as a flow of the simulator, with the index of its flow.
func (r *wrccRun) each(t testing.TB, yield func(ether.FlowSpec, int)) {
	t.Helper()
	hosts := make(map[ident.PortID]int32)
	for i, h := range r.in.Fabric.Hosts() {
		hosts[r.in.Fabric.PortID(subnet.PortRef{Node: h, Port: 1})] = int32(i)
	}
	r.of = r.of[:0]
	for i, f := range r.in.Flows {
		weight := 1.0
		if r.plan != nil {
			class := f.Class
			if class == "" {
				class = tenants.DefaultClass
			}
			s, ok := r.plan.WRCC.Sender(f.Src, f.Tenant, class)
			if !ok {
				t.Fatalf("the plan has no sender for flow %d", i)
			}
			weight = s.WeightTo(f.Dst)
		}
		tenant := 0
		for k := range r.in.Tenants {
			if r.in.Tenants[k].Name == f.Tenant {
				tenant = k
			}
		}
		for range f.QPs {
			yield(ether.FlowSpec{
				ID: int64(len(r.of)), Src: hosts[f.Src], Dst: hosts[f.Dst], Weight: weight,
				Demand: f.Demand / quantity.BitRate(f.QPs), Entropy: uint32(len(r.of)), Tenant: uint16(tenant),
			}, i)
			r.of = append(r.of, tenant)
		}
	}
}

// route determines the paths of all queue pairs.
func (r *wrccRun) route(t testing.TB) {
	t.Helper()
	n := r.network(t)
	r.in.Routes = make([][]policy.Route, len(r.in.Flows))
	r.each(t, func(f ether.FlowSpec, i int) {
		path, err := n.Path(f)
		if err != nil {
			t.Fatal(err)
		}
		for k := range r.in.Routes[i] {
			if fmt.Sprint(r.in.Routes[i][k].Path) == fmt.Sprint(policy.FlowPath(path)) {
				r.in.Routes[i][k].QPs++
				return
			}
		}
		r.in.Routes[i] = append(r.in.Routes[i], policy.Route{Path: path, QPs: 1})
	})
}

// sent returns the bytes that the contended links have carried.
func (r *wrccRun) sent() []uint64 {
	out := make([]uint64, len(r.plan.Links))
	for i := range r.plan.Links {
		ref, _ := r.in.Fabric.PortByID(r.plan.Links[i].Port)
		out[i] = r.net.Port(ref).TxBytes
	}
	return out
}

// rates runs the network for count and returns the rate that each tenant delivers in that time, in bit/s on the wire.
func (r *wrccRun) rates(count quantity.Picoseconds) []float64 {
	acked := func() []float64 {
		out := make([]float64, len(r.in.Tenants))
		for f := range r.net.Flows {
			out[f.Tenant] += float64(f.Acked)
		}
		return out
	}
	before := acked()
	r.net.RunUntil(r.net.Now() + count)
	after := acked()
	for i := range after {
		after[i] = (after[i] - before[i]) * 8 / count.Seconds() * float64(1048+wrcc.HeaderSize) / 1000
	}
	return after
}

// wrccCases returns cases with one bottleneck, with two bottlenecks, and with two data centres.
func wrccCases(t testing.TB) map[string]policy.Input {
	t.Helper()
	fabric := func(f *subnet.Fabric, err error) *subnet.Fabric {
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	port := func(f *subnet.Fabric, i int) ident.PortID {
		return f.PortID(subnet.PortRef{Node: f.Hosts()[i], Port: 1})
	}
	three := []tenants.Tenant{{Name: "red", Weight: 4000}, {Name: "green", Weight: 2000}, {Name: "blue", Weight: 1000}}
	out := make(map[string]policy.Input)

	star := fabric(topogen.Star(9, topogen.Wire{Rate: 100 * quantity.Gbps}))
	in := policy.Input{Fabric: star, Tenants: three, Flows: []tenants.Flow{
		{Tenant: "red", Src: port(star, 0), Dst: port(star, 8), QPs: 1},
		{Tenant: "green", Src: port(star, 1), Dst: port(star, 8), QPs: 2}, {Tenant: "green", Src: port(star, 2), Dst: port(star, 8), QPs: 2},
	}}
	for i := range 4 {
		in.Flows = append(in.Flows, tenants.Flow{Tenant: "blue", Src: port(star, 3+i), Dst: port(star, 8), QPs: 4})
	}
	out["star 4:2:1 with 1, 4 and 16 flows"] = in

	tiers := fabric(topogen.Dumbbell(topogen.DumbbellOptions{Left: 6, Right: 6, Wire: topogen.Wire{Rate: 100 * quantity.Gbps}, CoreRate: 150 * quantity.Gbps}))
	left := func(i int) ident.PortID { p, _ := tiers.ResolvePort(fmt.Sprintf("l%d", i)); return tiers.PortID(p) }
	right := func(i int) ident.PortID { p, _ := tiers.ResolvePort(fmt.Sprintf("r%d", i)); return tiers.PortID(p) }
	out["two bottlenecks"] = policy.Input{Fabric: tiers, Tenants: three, Flows: []tenants.Flow{
		{Tenant: "red", Src: left(1), Dst: right(1), QPs: 1}, {Tenant: "red", Src: left(2), Dst: right(2), QPs: 2},
		{Tenant: "green", Src: left(3), Dst: right(3), QPs: 3}, {Tenant: "blue", Src: left(4), Dst: right(4), QPs: 2},
		{Tenant: "green", Src: right(5), Dst: right(1), QPs: 2}, {Tenant: "blue", Src: right(6), Dst: right(1), QPs: 1},
	}}

	far := fabric(topogen.DualDC(topogen.DualDCOptions{
		Site:    topogen.ThreeTierOptions{Pods: 2, ToRs: 1, Aggs: 1, Cores: 1, HostsPerToR: 3, Wire: topogen.Wire{Rate: 100 * quantity.Gbps}},
		DCIRate: 100 * quantity.Gbps, DCIDelay: 20 * quantity.Microsecond,
	}))
	out["two data centres"] = policy.Input{Fabric: far, Tenants: three, Flows: []tenants.Flow{
		{Tenant: "red", Src: port(far, 0), Dst: port(far, 6), QPs: 2}, {Tenant: "green", Src: port(far, 1), Dst: port(far, 7), QPs: 4},
		{Tenant: "blue", Src: port(far, 3), Dst: port(far, 8), QPs: 3}, {Tenant: "red", Src: port(far, 9), Dst: port(far, 8), QPs: 2},
	}}
	return out
}

// For weighted WRCC, the rates in the packet simulator agree with the compiler's predictions to 1 %: with one bottleneck,
// with several, and between data centres. The contended links are full.
func TestCompiledWRCCMeetsItsPrediction(t *testing.T) {
	t.Parallel()
	for name, in := range wrccCases(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const settle, count = 15 * quantity.Millisecond, 10 * quantity.Millisecond
			r := simulated(t, in)
			r.net.RunUntil(settle)
			before := r.sent()
			got := r.rates(count)
			for i, b := range r.sent() {
				l := &r.plan.Links[i]
				if use := float64(b-before[i]) * 8 / count.Seconds() / float64(l.Capacity); use < 0.98 {
					t.Errorf("%s: %.1f %% used", l.Name, 100*use)
				}
			}
			for i := range got {
				k := slices.IndexFunc(r.plan.Tenants, func(s policy.TenantShare) bool { return s.Tenant == r.in.Tenants[i].Name })
				s := &r.plan.Tenants[k]
				if e := math.Abs(got[i]/float64(s.Predicted) - 1); e > 0.01 || e > s.Bound || s.PredictedError > 1e-5 {
					t.Errorf("%s: predicted %s of %s, delivered %.3f Gbit/s, error %.2f %%; bound %.2f %%", s.Tenant, s.Predicted, s.Entitled, got[i]/1e9, 100*e, 100*s.Bound)
				}
			}
			if len(r.plan.Findings) != 0 || len(r.plan.Links) == 0 {
				t.Errorf("findings %v, %d contended links", r.plan.Findings, len(r.plan.Links))
			}
		})
	}
}
