package policy_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"fairlane/internal/quantity"
	"fairlane/policy"
	"fairlane/policy/plantest"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/subnet/topogen"
	"fairlane/tenants"
	"fairlane/wrcc"
)

// wrccStar is three tenants of weight 4, 2 and 1 with 1, 4 and 16 queue pairs into one port of a star.
func wrccStar(t testing.TB, rate quantity.BitRate) policy.Input {
	t.Helper()
	f, err := topogen.Star(9, topogen.Wire{Rate: rate})
	if err != nil {
		t.Fatal(err)
	}
	h := plantest.Hosts(f)
	return policy.Input{
		Fabric: f, Options: policy.Options{Plane: policy.PlaneWRCC},
		Tenants: []tenants.Tenant{{Name: "red", Weight: 4000}, {Name: "green", Weight: 2000}, {Name: "blue", Weight: 1000}},
		Flows: []tenants.Flow{
			{Tenant: "red", Src: h[0], Dst: h[8], QPs: 1}, {Tenant: "green", Src: h[1], Dst: h[8], QPs: 4}, {Tenant: "blue", Src: h[2], Dst: h[8], QPs: 16},
		},
	}
}

func codes(p *policy.Plan) []string {
	out := []string{}
	for _, f := range p.Findings {
		out = append(out, f.Code)
	}
	return slices.Compact(out)
}

func TestWRCCWeightsAreTheEntitledRatesOfQueuePairs(t *testing.T) {
	t.Parallel()
	in := wrccStar(t, 70*quantity.Gbps)
	p := compile(t, in)
	for i, want := range []float64{40, 5, 0.625} {
		f := in.Flows[i]
		s, ok := p.WRCC.Sender(f.Src, f.Tenant, tenants.DefaultClass)
		if !ok || math.Abs(s.WeightTo(f.Dst)-want) > 1e-6 || len(s.Peers) != 0 || s.Reasons[0].Rule != "entitled-rate" {
			t.Errorf("%s: %+v: want weight %g", f.Tenant, s, want)
		}
	}
	if p.WRCC.Unit != quantity.Gbps || p.WRCC.Increase != "ask" || p.WRCC.MinRate != wrcc.MinFairRate || len(p.Findings) != 0 {
		t.Errorf("unit %s, increase %s, minimum rate %s, findings %v", p.WRCC.Unit, p.WRCC.Increase, p.WRCC.MinRate, p.Findings)
	}
	for _, s := range p.Tenants {
		if s.PredictedError > 1e-6 || s.Bound <= 0 || s.Bound > 0.1 {
			t.Errorf("%+v: want the entitled rate, and a bound", s)
		}
	}
	// A fair rate of one unit is the target over the sum of weights; the least must be well below, and the lightest flow alone must be able to
	// fill the port.
	set, ok := p.WRCC.PortSettings(in.Fabric.PortID(subnet.PortRef{Node: 0, Port: 9}))
	if !ok || set.Target != 70*quantity.Gbps || set.Fmin > 100*quantity.Mbps || float64(set.Fmax)*0.625 < 70e9 {
		t.Errorf("settings %+v of the contended port", set)
	}
}

// S0's fabric has a largest round trip of 12 us on the links alone, for which the paper uses a WRCCT of 24 us, and allows 48.
func TestWRCCPeriodsFollowTheRoundTripsOfEachDataCentre(t *testing.T) {
	t.Parallel()
	f, err := topogen.S0DualDC()
	if err != nil {
		t.Fatal(err)
	}
	h := plantest.Hosts(f)
	in := policy.Input{
		Fabric: f, Options: policy.Options{Plane: policy.PlaneWRCC}, Tenants: []tenants.Tenant{{Name: "a", Weight: 1000}},
		Flows: []tenants.Flow{{Tenant: "a", Src: h[0], Dst: h[40], QPs: 2}, {Tenant: "a", Src: h[1], Dst: h[9], QPs: 1}},
	}
	p := compile(t, in)
	ofLoop := func(c string) bool {
		return c == policy.CodeWRCCUnstable || c == policy.CodePeriodClamped || c == policy.CodeSlowConvergence
	}
	if len(p.WRCC.Domains) != 2 || slices.ContainsFunc(codes(p), ofLoop) {
		t.Fatalf("domains %+v, findings %v", p.WRCC.Domains, p.Findings)
	}
	for _, d := range p.WRCC.Domains {
		if d.MaxRTT < 12*quantity.Microsecond || d.MaxRTT > 15*quantity.Microsecond || d.Period < 24*quantity.Microsecond || d.Period > 48*quantity.Microsecond || d.T1 < d.Period {
			t.Errorf("%+v: want 12 us and the packets' own time, WRCCT 24 to 48 us, T1 no less", d)
		}
		params := wrcc.DefaultParams(100*quantity.Gbps, d.Period)
		for _, rtt := range []float64{d.MaxRTT.Seconds(), 2e-3} {
			if err := params.CheckStable(rtt); err != nil {
				t.Errorf("%s: %v", d.Domain, err)
			}
		}
	}
}

func TestWRCCPlansAreLegalAndDoNotDependOnOrderOrScale(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		in := plantest.Input(rt)
		in.Options.Plane = policy.PlaneWRCC
		p := compile(rt, in)
		checkWRCC(rt, &in, p)
		b, err := p.Encode()
		if err != nil {
			rt.Fatalf("encode: %v", err)
		}
		q, err := policy.Decode(b)
		if err != nil {
			rt.Fatalf("decode: %v", err)
		}
		if d := cmp.Diff(p, q); d != "" {
			rt.Fatalf("decoded plan differs: %s", d)
		}
		other := in
		other.Tenants = rapid.Permutation(in.Tenants).Draw(rt, "tenants")
		other.Flows = rapid.Permutation(in.Flows).Draw(rt, "flows")
		if o := compile(rt, other); o.Name != p.Name {
			rt.Fatalf("plans differ: %s", cmp.Diff(p, o))
		}
		other = in
		other.Tenants = slices.Clone(in.Tenants)
		for i := range other.Tenants {
			other.Tenants[i].Weight *= 2
		}
		if d := cmp.Diff(p.WRCC, compile(rt, other).WRCC); d != "" {
			rt.Fatalf("with all weights doubled: %s", d)
		}
	})
}

// checkWRCC finds settings that are missing, illegal or without a reason.
func checkWRCC(t rapid.TB, in *policy.Input, p *policy.Plan) {
	t.Helper()
	domains := make(map[string]policy.WRCCDomainPlan)
	for _, d := range p.WRCC.Domains {
		domains[d.Domain] = d
	}
	for _, g := range p.WRCC.Ports {
		if err := g.Settings.Validate(); err != nil || len(g.Ports) == 0 || len(g.Reasons) < 7 {
			t.Fatalf("%+v: %v", g, err)
		}
		for _, n := range g.Ports {
			ref, ok := in.Fabric.PortByID(n.Port)
			if d := domains[in.Fabric.Nodes[ref.Node].Domain]; !ok || n.Name != in.Fabric.PortName(ref) || d.Period != g.Settings.Period {
				t.Fatalf("port %+v: period %s, its domain's %+v", n, g.Settings.Period, d)
			}
			if set, ok := p.WRCC.PortSettings(n.Port); !ok || set != g.Settings {
				t.Fatalf("settings of %s: %+v, want %+v", n.Name, set, g.Settings)
			}
		}
	}
	for _, d := range p.WRCC.Domains {
		s := wrcc.SenderParams{T1: d.T1, MinRate: float64(p.WRCC.MinRate)}
		if err := s.Validate(d.Period); err != nil || len(d.Reasons) != 2 {
			t.Fatalf("%+v: %v", d, err)
		}
	}
	for _, f := range in.Flows {
		class := f.Class
		if class == "" {
			class = tenants.DefaultClass
		}
		s, ok := p.WRCC.Sender(f.Src, f.Tenant, class)
		if !ok || len(s.Reasons) == 0 || s.Reasons[0].Formula == "" {
			t.Fatalf("no sender, or no reason, for %+v", f)
		}
		if _, err := wrcc.NewFixedWeight(s.WeightTo(f.Dst)); err != nil {
			t.Fatalf("%+v: %v", f, err)
		}
	}
}

// Where every port sends one flow, weights alone decide: the prediction is the target for any classes and demands, less the acknowledgements
// where data goes in both directions.
func TestWRCCPredictsTheTargetWhereNoPortSendsForSeveral(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		in := plantest.Input(rt)
		in.Options.Plane = policy.PlaneWRCC
		seen := map[ident.PortID]bool{}
		in.Flows = slices.DeleteFunc(in.Flows, func(f tenants.Flow) bool {
			was := seen[f.Src]
			seen[f.Src] = true
			return was
		})
		paths, err := policy.Paths(in.Fabric, in.Flows)
		if err != nil {
			rt.Fatal(err)
		}
		for i, w := range paths {
			in.Routes = append(in.Routes, []policy.Route{{Path: w, QPs: float64(in.Flows[i].QPs)}})
		}
		// At worst a flow pays for all acknowledgements on the fastest link, because the others there have their demands.
		acks := 0.0
		if bothWays(&in) {
			for _, l := range in.Fabric.Links {
				acks = max(acks, wrcc.AckShare(1)*float64(l.Rate))
			}
		}
		for _, s := range compile(rt, in).Tenants {
			flows := 0.0
			for _, f := range in.Flows {
				if f.Tenant == s.Tenant {
					flows++
				}
			}
			if d := math.Abs(float64(s.Predicted - s.Entitled)); d > 1e-5*float64(s.Entitled)+acks*flows {
				rt.Fatalf("%+v: want what it is entitled to, to %g bit/s for each flow", s, acks)
			}
		}
	})
}

// bothWays reports whether data crosses a link in both directions.
func bothWays(in *policy.Input) bool {
	used := map[subnet.PortRef]bool{}
	for _, ways := range in.Routes {
		for _, ref := range ways[0].Path {
			used[ref] = true
		}
	}
	for _, l := range in.Fabric.Links {
		if used[l.A] && used[l.B] {
			return true
		}
	}
	return false
}

// Acknowledgements precede data at a port that sends both, and their part depends on how many packets each one answers.
func TestWRCCPredictionsCountAcknowledgements(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		qps  int
		want float64 // Gbit/s of each direction
	}{
		{1, 100 - 100*72/(6*1060.0)}, // 72 bytes for six packets
		{200, 100 - 100*72/1060.0},   // 0.5 Gbit/s each: packets come 17 us apart, and each is answered
	} {
		in := wrccStar(t, 100*quantity.Gbps)
		h := plantest.Hosts(in.Fabric)
		in.Tenants = in.Tenants[:2]
		in.Flows = []tenants.Flow{
			{Tenant: "red", Src: h[0], Dst: h[1], QPs: c.qps}, {Tenant: "green", Src: h[1], Dst: h[0], QPs: c.qps},
		}
		for _, s := range compile(t, in).Tenants {
			if got := s.Predicted.Gbit(); math.Abs(got-c.want) > 1e-3 {
				t.Errorf("%d queue pairs: %s is predicted %g Gbit/s, want %g", c.qps, s.Tenant, got, c.want)
			}
		}
	}
}

func TestWRCCFlowsWithADemandGetIt(t *testing.T) {
	t.Parallel()
	in := wrccStar(t, 70*quantity.Gbps)
	in.Flows[0].Demand = 10 * quantity.Gbps
	p := compile(t, in)
	s, _ := p.WRCC.Sender(in.Flows[0].Src, "red", tenants.DefaultClass)
	if math.Abs(s.Weight-11) > 1e-6 || s.Reasons[0].Rule != "demand" {
		t.Errorf("%+v: want the demand and a tenth", s)
	}
	for i, want := range []quantity.BitRate{20, 40, 10} { // blue, green, red
		if got := p.Tenants[i].Predicted; got != want*quantity.Gbps {
			t.Errorf("%s is predicted %s, want %s Gbit/s", p.Tenants[i].Tenant, got, fmt.Sprint(int(want)))
		}
	}
}

// The largest fair rate holds a cap that nothing else enforces where the tenant's flows have a port to themselves.
func TestWRCCHoldsACapOnAPortOfItsOwn(t *testing.T) {
	t.Parallel()
	in := wrccStar(t, 100*quantity.Gbps)
	in.Tenants[0].Cap = 20 * quantity.Gbps
	h := plantest.Hosts(in.Fabric)
	in.Flows[0] = tenants.Flow{Tenant: "red", Src: h[0], Dst: h[7], QPs: 2}
	p := compile(t, in)
	if got := p.Tenants[2].Predicted; got != 20*quantity.Gbps || slices.Contains(codes(p), policy.CodeCapUnenforced) {
		t.Errorf("red is predicted %s, findings %v", got, p.Findings)
	}
	set, _ := p.WRCC.PortSettings(in.Fabric.PortID(subnet.PortRef{Node: 0, Port: 8}))
	if set.Fmax != p.WRCC.Unit {
		t.Errorf("largest fair rate %s, want one unit", set.Fmax)
	}
}

func TestWRCCFindings(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		want   string
		change func(*policy.Input)
		mend   func(*policy.Input)
	}{
		"a link of 200 Mbit/s": {policy.CodeFairRateCoarse,
			func(in *policy.Input) { *in = wrccStar(t, 200*quantity.Mbps) },
			func(in *policy.Input) { *in = wrccStar(t, quantity.Gbps) }},
		"queue pairs below 1 Mbit/s": {policy.CodeWeightRange,
			func(in *policy.Input) { in.Flows[2].QPs = 65_536 },
			func(in *policy.Input) { in.Flows[2].QPs = 1000 }},
		"two data centres in one domain": {policy.CodePeriodClamped,
			func(in *policy.Input) { *in = farApart(t, "", "") },
			func(in *policy.Input) { *in = farApart(t, "east", "west") }},
		"a sending port of two tenants": {policy.CodeSourcePort,
			func(in *policy.Input) {
				in.Flows[1].Src = in.Flows[0].Src
				in.Flows[1].Dst = plantest.Hosts(in.Fabric)[7]
			},
			func(in *policy.Input) {}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := wrccStar(t, 100*quantity.Gbps)
			c.mend(&in)
			if got := codes(compile(t, in)); slices.Contains(got, c.want) {
				t.Errorf("found %v without cause", got)
			}
			c.change(&in)
			p := compile(t, in)
			if got := codes(p); !slices.Contains(got, c.want) {
				t.Errorf("found %v, want %s", p.Findings, c.want)
			}
			for _, f := range p.Findings {
				if f.Fix == "" || f.Message == "" {
					t.Errorf("%+v: no remedy", f)
				}
			}
		})
	}
}

// farApart is two groups of hosts with 20 ms between them.
func farApart(t testing.TB, left, right string) policy.Input {
	t.Helper()
	f, err := topogen.Dumbbell(topogen.DumbbellOptions{
		Left: 2, Right: 2, Wire: topogen.Wire{Rate: 100 * quantity.Gbps}, CoreDelay: 20 * quantity.Millisecond, LeftDomain: left, RightDomain: right,
	})
	if err != nil {
		t.Fatal(err)
	}
	h := plantest.Hosts(f)
	return policy.Input{Fabric: f, Options: policy.Options{Plane: policy.PlaneWRCC}, Tenants: []tenants.Tenant{{Name: "a", Weight: 1000}},
		Flows: []tenants.Flow{{Tenant: "a", Src: h[0], Dst: h[2], QPs: 1}}}
}

// A link of 10 Mbit/s brings the unit down to 5: a queue pair of 400 Gbit/s would need a weight of 80,000.
func TestWRCCWeightsFitSenders(t *testing.T) {
	t.Parallel()
	f, err := topogen.Star(5, topogen.Wire{Rate: 400 * quantity.Gbps, Bare: true})
	if err != nil {
		t.Fatal(err)
	}
	links := slices.Clone(f.Links)
	links[4].Rate = 10 * quantity.Mbps
	if f, err = subnet.New("x", f.Nodes, links); err != nil {
		t.Fatal(err)
	}
	h := plantest.Hosts(f)
	in := policy.Input{Fabric: f, Options: policy.Options{Plane: policy.PlaneWRCC},
		Tenants: []tenants.Tenant{{Name: "a", Weight: 1000}, {Name: "b", Weight: 1000}},
		Flows:   []tenants.Flow{{Tenant: "a", Src: h[0], Dst: h[1], QPs: 1}, {Tenant: "b", Src: h[2], Dst: h[4], QPs: 1}}}
	p := compile(t, in)
	s, _ := p.WRCC.Sender(h[0], "a", tenants.DefaultClass)
	w, err := wrcc.NewFixedWeight(s.Weight)
	if err != nil || w.Float() != 65535 || s.Reasons[0].Range != "0.001..65535" || s.Reasons[0].Clamped == "" {
		t.Errorf("weight %v (%v), range %s, clamped %q", s.Weight, err, s.Reasons[0].Range, s.Reasons[0].Clamped)
	}
	i := slices.IndexFunc(p.Findings, func(f policy.Finding) bool { return f.Code == policy.CodeWeightRange })
	const want = "1 weight would be outside 0.001 to 65535 units of 5 Mbit/s, the range that senders accept: the furthest outside is for 400 Gbit/s"
	if i < 0 || p.Findings[i].Message != want || p.Findings[i].Fix[:14] != "open more queu" {
		t.Fatalf("findings %+v", p.Findings)
	}
	in.Flows[0].QPs = 2 // the finding's advice
	if p = compile(t, in); slices.Contains(codes(p), policy.CodeWeightRange) {
		t.Errorf("with two queue pairs: %+v", p.Findings)
	}
}

// wrccAmong is a star of seven hosts with a flow of each tenant between every two of its hosts, and the given flows.
func wrccAmong(t *testing.T, a, b []int, qps int, more ...[2]int) policy.Input {
	t.Helper()
	f, err := topogen.Star(7, topogen.Wire{Rate: 100 * quantity.Gbps})
	if err != nil {
		t.Fatal(err)
	}
	h := plantest.Hosts(f)
	in := policy.Input{Fabric: f, Options: policy.Options{Plane: policy.PlaneWRCC}, Tenants: []tenants.Tenant{{Name: "a", Weight: 2000}, {Name: "b", Weight: 1000}}}
	for name, hosts := range map[string][]int{"a": a, "b": b} {
		for _, src := range hosts {
			for _, dst := range hosts {
				if src != dst {
					in.Flows = append(in.Flows, tenants.Flow{Tenant: name, Src: h[src], Dst: h[dst], QPs: qps})
				}
			}
		}
	}
	for _, x := range more {
		in.Flows = append(in.Flows, tenants.Flow{Tenant: "b", Src: h[x[0]], Dst: h[x[1]], QPs: qps})
	}
	return in
}

// Links that are full in both directions carry acknowledgements too: every tenant has its share of the rest, and turns are not the cause of
// any miss.
func TestWRCCAcknowledgementsTakeNoTurn(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		in   policy.Input
		less float64
		want []string
		fix  string
	}{
		"some queue pairs": {wrccAmong(t, []int{0, 1, 2, 3, 4}, nil, 2, [2]int{5, 0}, [2]int{5, 1}, [2]int{5, 2}, [2]int{0, 6}, [2]int{1, 6}, [2]int{2, 6}), 12.0 / 1060, []string{}, ""},
		"many slow ones": {wrccAmong(t, []int{0, 1, 2}, []int{3, 4}, 300), 72.0 / 1060, []string{policy.CodeWeightUnreachable},
			"open fewer queue pairs where links are full in both directions: from 848 Mbit/s per queue pair, one acknowledgement covers 6 packets, and acknowledgements take 1.1 % of the links instead of 6.8 %"},
		// All ports are full, in cycles: the shares by weight could be stable as well.
		"turns": {wrccAmong(t, []int{0, 1, 2}, []int{0, 1, 2}, 2), -1, []string{policy.CodeShareUncertain, policy.CodeSourcePort, policy.CodeWeightUnreachable}, ""},
	} {
		p := compile(t, c.in)
		if got := codes(p); !slices.Equal(got, c.want) {
			t.Errorf("%s: findings %v, want %v", name, got, c.want)
		}
		for _, x := range p.Tenants {
			if c.less > 0 && math.Abs(x.PredictedError-c.less) > 1e-3 {
				t.Errorf("%s: %s is predicted %s of %s, want %g less", name, x.Tenant, x.Predicted, x.Entitled, c.less)
			}
		}
		for _, f := range p.Findings {
			if c.fix != "" && f.Fix != c.fix {
				t.Errorf("%s: advice %q, want %q", name, f.Fix, c.fix)
			}
		}
	}
}
