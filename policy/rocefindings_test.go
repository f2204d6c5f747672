package policy_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"fairlane/ccconfig/profile"
	"fairlane/internal/quantity"
	"fairlane/policy"
	"fairlane/policy/plantest"
	"fairlane/subnet"
	"fairlane/subnet/topogen"
	"fairlane/tenants"
)

// roceStar is an incast: tenants a, b, ... with a port each send to the last host.
func roceStar(t *testing.T, speed quantity.BitRate, weights []float64, qps []int) policy.Input {
	t.Helper()
	f, err := topogen.Star(len(weights)+1, topogen.Wire{Rate: speed, Delay: quantity.Microsecond})
	if err != nil {
		t.Fatal(err)
	}
	hosts := starHosts(f)
	in := policy.Input{Fabric: f, Options: policy.Options{Plane: policy.PlaneRoCE}}
	for i, w := range weights {
		name := string(rune('a' + i))
		in.Tenants = append(in.Tenants, tenants.Tenant{Name: name, Weight: quantity.Weight(math.Round(w * 1000))})
		in.Flows = append(in.Flows, tenants.Flow{Tenant: name, Src: f.PortID(hosts[i]), Dst: f.PortID(hosts[len(weights)]), QPs: qps[i]})
	}
	return in
}

// TestTheStepsOfTheLeverCostNoReach compiles weights that the registers barely reach from the fastest queue pair's rate, and weights that they
// do not: of two queue pairs at 25 Gbit/s the response ends at 128 to one, less than a step of 2^(1/4) above 125.
func TestTheStepsOfTheLeverCostNoReach(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		heavy float64
		found bool
	}{{100, false}, {125, false}, {400, true}} {
		p := plantest.Compiled(t, roceStar(t, 25*quantity.Gbps, []float64{c.heavy, 1}, []int{1, 1}))
		if f := roceFinding(p, policy.CodeWeightUnreachable); (f != nil) != c.found {
			t.Errorf("%g to 1: finding %+v, want one: %v", c.heavy, f, c.found)
		}
	}
}

// TestUnmarkedPortsHaveTheirOwnSettings adds queue pairs to one tenant. The settings of a tenant that sends below its share over
// links that limit no flow, and of a port without flows, remain unchanged.
func TestUnmarkedPortsHaveTheirOwnSettings(t *testing.T) {
	t.Parallel()
	plan := func(qps int) *policy.Plan {
		in := roceStar(t, 100*quantity.Gbps, []float64{4, 1, 1, 1}, []int{qps, 1, 1, 1})
		hosts := starHosts(in.Fabric)
		in.Flows[3].Demand = 5 * quantity.Gbps
		in.Flows[3].Dst = in.Fabric.PortID(hosts[2]) // no other flow goes there
		in.Flows[1].Dst, in.Flows[1].QPs = in.Fabric.PortID(hosts[0]), qps
		in.Tenants[2].Attachments = []tenants.Attachment{{Port: in.Fabric.PortID(hosts[2])}}
		in.Flows = slices.Delete(in.Flows, 2, 3) // its port is idle
		return plantest.Compiled(t, in)
	}
	few, many := plan(1), plan(40)
	for _, i := range []int{2, 3} {
		if a, b := few.RoCE.NICs[i], many.RoCE.NICs[i]; a.Name != b.Name || a.Settings != b.Settings {
			t.Errorf("%s: %+v with one queue pair of another tenant, %+v with 40", a.Name, a.Settings, b.Settings)
		}
	}
	if few.RoCE.NICs[0].Settings == many.RoCE.NICs[0].Settings {
		t.Error("the queue pairs changed nothing: the test has checked nothing")
	}
}

func starHosts(f *subnet.Fabric) []subnet.PortRef {
	var out []subnet.PortRef
	for _, l := range f.Links {
		for _, ref := range []subnet.PortRef{l.A, l.B} {
			if f.Nodes[ref.Node].Kind == subnet.KindCA {
				out = append(out, ref)
			}
		}
	}
	slices.SortFunc(out, func(a, b subnet.PortRef) int { return strings.Compare(f.Nodes[a.Node].Name, f.Nodes[b.Node].Name) })
	return out
}

func roceFinding(p *policy.Plan, code string) *policy.Finding {
	for i := range p.Findings {
		if p.Findings[i].Code == code {
			return &p.Findings[i]
		}
	}
	return nil
}

// At one link the prediction is the entitlement, within the rounding of registers and the interpolation of the response. The lever follows its
// definition: increase in proportion to the rate, period in inverse proportion.
func TestRoCELeverFollowsTheRateOfAQueuePair(t *testing.T) {
	t.Parallel()
	p := plantest.Compiled(t, roceStar(t, 100*quantity.Gbps, []float64{8, 2, 1}, []int{2, 1, 4}))
	if len(p.Findings) > 1 || len(p.Findings) == 1 && p.Findings[0].Code != policy.CodeShareUncertain {
		t.Errorf("findings %+v, want none but that rates 16:1 apart are predicted within a wide bound", p.Findings)
	}
	for _, s := range p.Tenants {
		if s.PredictedError > 0.03 || s.Bound <= 0 || s.Bound > 0.3 {
			t.Errorf("%s: predicted error %g, bound %g", s.Tenant, s.PredictedError, s.Bound)
		}
	}
	perQP := []float64{4, 2, 0.25} // by the weights: 8/2, 2/1, 1/4
	base := p.RoCE.NICs[0].Settings
	if base.TimeReset < 20 || base.TimeReset > 24 {
		t.Errorf("the fastest has a period of %d us, want 20 to 24, a step above", base.TimeReset)
	}
	for i, rate := range perQP {
		s := p.RoCE.NICs[i].Settings
		want := perQP[0] / rate
		if got := float64(s.TimeReset) / float64(base.TimeReset); math.Abs(got/want-1) > 0.15 {
			t.Errorf("port %d: period by the fastest's %g, want about %g", i, got, want)
		}
		if got := float64(base.AIRate) / float64(s.AIRate); math.Abs(got/want-1) > 0.15 {
			t.Errorf("port %d: increase of the fastest by its own %g, want about %g", i, got, want)
		}
	}
}

func TestRoCESharedPortsAreFoundAndPortsOfTheirOwnRemedyIt(t *testing.T) {
	t.Parallel()
	in := roceStar(t, 25*quantity.Gbps, []float64{4, 1, 1}, []int{1, 1, 2})
	own := plantest.Compiled(t, in)
	shared := in
	shared.Flows = slices.Clone(in.Flows)
	shared.Flows[1].Src = in.Flows[0].Src
	p := plantest.Compiled(t, shared)
	f := roceFinding(p, policy.CodeDCQCNSharedPort)
	if f == nil || !slices.Equal(f.Tenants, []string{"a", "b"}) || !strings.Contains(f.Message, "Gbit/s of ") || !strings.Contains(f.Fix, "port of its own") {
		t.Fatalf("finding %+v in %+v", f, p.Findings)
	}
	var shares []int
	for _, tr := range p.RoCE.Traffic {
		if tr.VFShare > 0 && tr.Port == in.Flows[0].Src {
			shares = append(shares, tr.VFShare)
		}
		if tr.DSCP != 26 || tr.Priority != 3 || tr.Queue != 3 {
			t.Errorf("placement %+v", tr)
		}
	}
	if !slices.Equal(shares, []int{800, 200}) {
		t.Errorf("VF shares %v, want 800 and 200 thousandths", shares)
	}
	if roceFinding(own, policy.CodeDCQCNSharedPort) != nil {
		t.Errorf("with ports of their own: %+v", own.Findings)
	}
	if own.Tenants[0].PredictedError > 0.03 || p.Tenants[0].PredictedError < 0.1 {
		t.Errorf("tenant a: error %g on a shared port, %g on its own", p.Tenants[0].PredictedError, own.Tenants[0].PredictedError)
	}
}

func TestRoCERatiosOutOfReachAreFoundAndFewerQueuePairsRemedyIt(t *testing.T) {
	t.Parallel()
	p := plantest.Compiled(t, roceStar(t, 25*quantity.Gbps, []float64{64, 1}, []int{1, 32}))
	f := roceFinding(p, policy.CodeWeightUnreachable)
	if f == nil || f.Fix == "" {
		t.Fatalf("findings %+v", p.Findings)
	}
	if b := p.Tenants[1].Bound; b < 0.07 {
		t.Errorf("bound %g at the end of what was calibrated", b)
	}
	p = plantest.Compiled(t, roceStar(t, 25*quantity.Gbps, []float64{64, 1}, []int{1, 1}))
	if f := roceFinding(p, policy.CodeWeightUnreachable); f != nil {
		t.Errorf("with one queue pair: %+v", f)
	}
}

func TestRoCELinksOutsideTheCalibrationAreFound(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		speed quantity.BitRate
		found bool
	}{{400 * quantity.Gbps, true}, {100 * quantity.Gbps, false}, {40 * quantity.Gbps, false}, {1 * quantity.Gbps, true}} {
		p := plantest.Compiled(t, roceStar(t, c.speed, []float64{2, 1}, []int{2, 2}))
		if f := roceFinding(p, policy.CodeUncalibratedSpeed); (f != nil) != c.found || f != nil && !strings.HasPrefix(f.Message, "the speed of 1 contended link is outside") {
			t.Errorf("%s: %+v", c.speed, p.Findings)
		}
	}
}

func TestRoCECapsAreReportedAsUnenforced(t *testing.T) {
	t.Parallel()
	in := roceStar(t, 25*quantity.Gbps, []float64{1, 1}, []int{1, 1})
	in.Flows[1].Demand = 2 * quantity.Gbps
	in.Tenants[0].Cap = 5 * quantity.Gbps
	p := plantest.Compiled(t, in)
	if f := roceFinding(p, policy.CodeCapUnenforced); f == nil || !slices.Equal(f.Tenants, []string{"a"}) {
		t.Errorf("findings %+v", p.Findings)
	}
}

func TestRoCEProfiles(t *testing.T) {
	t.Parallel()
	in := roceStar(t, 25*quantity.Gbps, []float64{2, 1}, []int{1, 1})
	in.Options.Profile = "connectx-9"
	if _, err := policy.Compile(in); err == nil || !strings.Contains(err.Error(), "want one of connectx-5") {
		t.Errorf("error %v", err)
	}
	own, err := profile.Lookup(profile.Default)
	if err != nil {
		t.Fatal(err)
	}
	own.Name, own.Lever.MinPeriod = "connectx-9", 40
	in.Profiles = []profile.Profile{*own}
	p := plantest.Compiled(t, in)
	if n := p.RoCE.NICs[0]; n.Profile != "connectx-9" || n.Settings.TimeReset < 40 {
		t.Errorf("port %+v", n)
	}
	in.Profiles[0].Bounds = nil
	if _, err := policy.Compile(in); err == nil || !strings.Contains(err.Error(), "bounds") {
		t.Errorf("error %v, want one about bounds", err)
	}
}

// A flow that meets the marks of two full links is set for a higher rate than one that meets those of one, and is predicted to get its
// entitlement.
func TestRoCEMakesUpForTheMarksOfSeveralLinks(t *testing.T) {
	t.Parallel()
	// A chain: the long flow crosses the link between the switches and the link to r1; each has another
	// flow of the same weight.
	f, err := topogen.Dumbbell(topogen.DumbbellOptions{Left: 2, Right: 3, Wire: topogen.Wire{Rate: 25 * quantity.Gbps, Delay: quantity.Microsecond}})
	if err != nil {
		t.Fatal(err)
	}
	port := func(name string) subnet.PortRef {
		for _, ref := range starHosts(f) {
			if f.Nodes[ref.Node].Name == name {
				return ref
			}
		}
		t.Fatal(fmt.Errorf("no host %s", name))
		return subnet.PortRef{}
	}
	in := policy.Input{Fabric: f, Options: policy.Options{Plane: policy.PlaneRoCE}}
	for _, fl := range []struct{ tenant, src, dst string }{{"long", "l1", "r1"}, {"first", "l2", "r2"}, {"second", "r3", "r1"}} {
		in.Tenants = append(in.Tenants, tenants.Tenant{Name: fl.tenant, Weight: 1000})
		in.Flows = append(in.Flows, tenants.Flow{Tenant: fl.tenant, Src: f.PortID(port(fl.src)), Dst: f.PortID(port(fl.dst)), QPs: 2})
	}
	p := plantest.Compiled(t, in)
	for _, s := range p.Tenants {
		if s.PredictedError > 0.03 {
			t.Errorf("%s: predicted %s of %s entitled", s.Tenant, s.Predicted, s.Entitled)
		}
	}
	rates := map[string]uint32{}
	for _, n := range p.RoCE.NICs {
		rates[n.Name] = n.Settings.AIRate
	}
	for _, other := range []string{"l2/P1", "r3/P1"} {
		if rates["l1/P1"] < rates[other]*5/4 {
			t.Errorf("increases %v: want the long flow's, of l1, well above the others'", rates)
		}
	}
}

// flowsAt is a star of 100 Gbit/s with flows between hosts by number.
func flowsAt(t *testing.T, ts []tenants.Tenant, flows ...rocePair) policy.Input {
	t.Helper()
	f, err := topogen.Star(8, topogen.Wire{Rate: 100 * quantity.Gbps, Delay: quantity.Microsecond})
	if err != nil {
		t.Fatal(err)
	}
	hosts := starHosts(f)
	in := policy.Input{Fabric: f, Tenants: ts, Options: policy.Options{Plane: policy.PlaneRoCE}}
	for _, x := range flows {
		in.Flows = append(in.Flows, tenants.Flow{Tenant: x.tenant, Class: x.class, Src: f.PortID(hosts[x.src]), Dst: f.PortID(hosts[x.dst]), QPs: 4})
	}
	return in
}

type rocePair struct {
	tenant, class string
	src, dst      int
}

// Tenant b only receives where a sends: a has its own registers, and no advice is to move b.
func TestATenantThatOnlyReceivesSharesNoRegisters(t *testing.T) {
	t.Parallel()
	ts := []tenants.Tenant{{Name: "a", Weight: 1000}, {Name: "b", Weight: 4000}, {Name: "c", Weight: 1000}}
	p := plantest.Compiled(t, flowsAt(t, ts, rocePair{"a", "", 0, 2}, rocePair{"a", "", 0, 3}, rocePair{"b", "", 4, 2}, rocePair{"b", "", 5, 0}, rocePair{"c", "", 6, 3}))
	if f := roceFinding(p, policy.CodeSharedSetting); f == nil || !slices.Equal(f.Tenants, []string{"a"}) || roceFinding(p, policy.CodeDCQCNSharedPort) != nil {
		t.Errorf("findings %+v", p.Findings)
	}
	both := plantest.Compiled(t, flowsAt(t, ts, rocePair{"a", "", 0, 2}, rocePair{"b", "", 0, 3}, rocePair{"b", "", 4, 2}, rocePair{"b", "", 6, 3}, rocePair{"a", "", 7, 3}))
	if f := roceFinding(both, policy.CodeDCQCNSharedPort); f == nil || !strings.Contains(f.Message, "sends for 2 tenants") || strings.Contains(f.Message, " 0 bit/s") {
		t.Errorf("of two senders: %+v", both.Findings)
	}
}

// The advice separates queue pairs of a port that differ.
func TestRoCEAdviceForUnequalQueuePairsOfAPortHelps(t *testing.T) {
	t.Parallel()
	classes := []tenants.Class{{Name: "x", Weight: 3000}, {Name: "y", Weight: 1000}}
	ts := []tenants.Tenant{{Name: "a", Weight: 1000, Classes: classes}, {Name: "b", Weight: 1000}, {Name: "c", Weight: 1000}}
	b, c := rocePair{"b", "", 1, 4}, rocePair{"c", "", 2, 5}
	for name, x := range map[string]struct {
		flows, after []rocePair
		advice       string
	}{
		"classes at one link": {[]rocePair{{"a", "x", 0, 4}, {"a", "y", 0, 4}, b}, []rocePair{{"a", "x", 0, 4}, {"a", "y", 3, 4}, b},
			"send the traffic of each class from a port of its own"},
		"links": {[]rocePair{{"a", "x", 0, 4}, {"a", "x", 0, 5}, b, c, {"c", "", 3, 5}, {"b", "", 6, 5}}, []rocePair{{"a", "x", 0, 4}, {"a", "x", 7, 5}, b, c, {"c", "", 3, 5}, {"b", "", 6, 5}},
			"send the traffic to each contended link from a port of its own"},
		"both": {[]rocePair{{"a", "x", 0, 4}, {"a", "y", 0, 4}, {"a", "x", 0, 5}, b, c, {"b", "", 6, 5}}, []rocePair{{"a", "x", 0, 4}, {"a", "y", 3, 4}, {"a", "x", 7, 5}, b, c, {"b", "", 6, 5}},
			"send queue pairs that are entitled to different rates from different ports"},
	} {
		p := plantest.Compiled(t, flowsAt(t, ts, x.flows...))
		if f := roceFinding(p, policy.CodeSharedSetting); f == nil || f.Fix != x.advice || !slices.Equal(f.Tenants, []string{"a"}) {
			t.Errorf("%s: %+v, want advice %q", name, p.Findings, x.advice)
		}
		if p = plantest.Compiled(t, flowsAt(t, ts, x.after...)); roceFinding(p, policy.CodeSharedSetting) != nil {
			t.Errorf("%s: with the advice followed: %+v", name, p.Findings)
		}
	}
}
