package policy_test

import (
	"math"
	"strings"
	"testing"

	"fairlane/internal/quantity"
	"fairlane/policy"
	"fairlane/policy/plantest"
	"fairlane/subnet/topogen"
	"fairlane/tenants"
)

// TestAPlanStatesTheSettlingTime compares the times with those of the underlying loops.
func TestAPlanStatesTheSettlingTime(t *testing.T) {
	t.Parallel()
	in := receivers(t, 100*quantity.Gbps, []quantity.Weight{16_000, 1000}, []int{1, 16})
	in.Options.Plane = policy.PlaneRoCE
	p := compile(t, in)
	// The slow tenant's queue pairs gain AI each period, and rest at a 16th of their prediction.
	var slow policy.NICPlan
	for _, n := range p.RoCE.NICs {
		if n.Settings.TimeReset > slow.Settings.TimeReset {
			slow = n
		}
	}
	rest := float64(p.Tenants[1].Predicted) / 16
	want := math.Atanh(0.98) * rest / (float64(slow.Settings.AIRate) * 1e6) * float64(slow.Settings.TimeReset) * 1e-6
	if got := p.Settle.Seconds(); math.Abs(got-want) > 0.05*want {
		t.Errorf("RoCE: %g s, want %g", got, want)
	}
	f := found(t, p, policy.CodeSlowConvergence)
	if !strings.HasPrefix(f.Message, "port "+slow.Name+": a queue pair gains ") || !strings.Contains(f.Message, "needs about "+p.Settle.String()+" until") {
		t.Errorf("finding %q of port %s, for %s", f.Message, slow.Name, p.Settle)
	}
	stored := *p // of an earlier version
	stored.Settle = 0
	if d := policy.Diff(&stored, p); stored.Hash() != p.Name || !d.Empty() {
		t.Errorf("a plan without the time is named %s, want %s, and differs: %+v", stored.Hash(), p.Name, d)
	}

	in.Options.Plane = policy.PlaneWRCC
	if p = compile(t, in); math.Abs(p.Settle.Seconds()/p.WRCC.Domains[0].Period.Seconds()-64) > 3.2 {
		t.Errorf("WRCC: %s, want 64 periods of %s", p.Settle, p.WRCC.Domains[0].Period)
	}
	in.Options.Plane = policy.PlaneIB
	if p = compile(t, in); p.Settle <= 0 || p.Settle > quantity.Second {
		t.Errorf("InfiniBand: %s", p.Settle)
	}
	in.Flows = in.Flows[:1] // no other sender, and a sender as fast as the link
	in.Options.Plane = policy.PlaneRoCE
	if p = compile(t, in); p.Settle != 0 {
		t.Errorf("alone: %s, want none", p.Settle)
	}
}

// A port most of whose load is limited by demands has little load that follows its fair rate, which must move further in proportion.
func TestWRCCPortsThatHoldLittleSettleLate(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		demand  quantity.BitRate
		periods float64
	}{{0, 64}, {90 * quantity.Gbps, 640}, {99 * quantity.Gbps, 3200}} {
		in := receivers(t, 100*quantity.Gbps, []quantity.Weight{1000, 1000}, []int{1, 1})
		in.Options.Plane = policy.PlaneWRCC
		if c.demand > 0 {
			in.Tenants[0].Weight = 200_000
			in.Flows[0].Demand = c.demand
		}
		p := compile(t, in)
		if got := p.Settle.Seconds() / p.WRCC.Domains[0].Period.Seconds(); math.Abs(got/c.periods-1) > 0.06 {
			t.Errorf("demand %s: %.0f periods, want %.0f", c.demand, got, c.periods)
		}
		f := findingOf(p, policy.CodeSlowConvergence)
		if slow := p.Settle > 150*quantity.Millisecond; slow != (f != nil) {
			t.Errorf("demand %s: finding %+v, shares settle in %s", c.demand, f, p.Settle)
		}
	}
}

// When a fair rate gives a queue pair more, those that take turns with it at its full sending port lose as much. If these cross the same link,
// its load hardly follows, and shares settle later in proportion. Here the link limits "paced", 29 % of its load, and 14 of the 16 queue pairs
// of the port that give way to it send over that link as well.
func TestWRCCPortsCompensatedByRoundRobinSettleLate(t *testing.T) {
	t.Parallel()
	f, err := topogen.Star(5, topogen.Wire{Rate: 10 * quantity.Gbps})
	if err != nil {
		t.Fatal(err)
	}
	h := plantest.Hosts(f)
	of := []tenants.Tenant{{Name: "away", Weight: 15000}, {Name: "other", Weight: 2000}, {Name: "paced", Weight: 3000}, {Name: "turns", Weight: 12000}}
	flows := []tenants.Flow{
		{Tenant: "turns", Src: h[0], Dst: h[1], QPs: 14}, {Tenant: "paced", Src: h[0], Dst: h[1], QPs: 9}, {Tenant: "away", Src: h[0], Dst: h[2], QPs: 2},
		{Tenant: "away", Src: h[3], Dst: h[1], QPs: 3}, {Tenant: "other", Src: h[3], Dst: h[4], QPs: 31},
	}
	p := compile(t, policy.Input{Fabric: f, Tenants: tenants.Attach(of, flows), Flows: flows, Options: policy.Options{Plane: policy.PlaneWRCC}})
	if got, want := p.Settle.Seconds()/p.WRCC.Domains[0].Period.Seconds(), 64/(0.294*2/16); math.Abs(got/want-1) > 0.06 {
		t.Errorf("shares settle in %.0f periods, want %.0f", got, want)
	}
}
