package policy_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"fairlane/internal/quantity"
	"fairlane/policy"
	"fairlane/policy/plantest"
)

func findingOf(p *policy.Plan, code string) *policy.Finding {
	for i := range p.Findings {
		if p.Findings[i].Code == code {
			return &p.Findings[i]
		}
	}
	return nil
}

// A bound above 10 % is reported with all its tenants and the range of rates expected of each.
func TestUncertainPredictionsAreNamed(t *testing.T) {
	t.Parallel()
	in := senders(t, []quantity.Weight{3000, 1000}, []int{1, 1})
	in.Options.VLArbitration = false
	unequal := receivers(t, 200*quantity.Gbps, []quantity.Weight{5000, 1000}, []int{1, 16})
	unequal.Options.Plane = policy.PlaneRoCE
	for name, c := range map[string]struct {
		in    policy.Input
		names []string
	}{
		"sending port":               {in, []string{"t00", "t01"}},
		"few fast against many slow": {unequal, []string{"t01"}}, // the slow ones: their misses are small compared with the fast one
	} {
		p := plantest.Compiled(t, c.in)
		f := findingOf(p, policy.CodeShareUncertain)
		if f == nil || !slices.Equal(f.Tenants, c.names) {
			t.Fatalf("%s: %+v, want %v", name, f, c.names)
		}
		for _, x := range p.Tenants {
			if !slices.Contains(c.names, x.Tenant) {
				continue
			}
			low, high := quantity.BitRate(float64(x.Predicted)*(1-x.Bound)+0.5), quantity.BitRate(float64(x.Predicted)*(1+x.Bound)+0.5)
			if want := fmt.Sprintf("%s: %s to %s, entitled to %s", x.Tenant, low, high, x.Entitled); !strings.Contains(f.Message, want) {
				t.Errorf("%s: %q lacks %q", name, f.Message, want)
			}
		}
	}
	equal := receivers(t, 100*quantity.Gbps, []quantity.Weight{1000, 1000}, []int{8, 8})
	for _, plane := range []policy.Plane{policy.PlaneIB, policy.PlaneRoCE, policy.PlaneWRCC} {
		equal.Options.Plane = plane
		if f := findingOf(plantest.Compiled(t, equal), policy.CodeShareUncertain); f != nil {
			t.Errorf("%s: equal queue pairs: %s", plane, f.Message)
		}
	}
}

// On links faster than the calibrated ones the RoCE bound grows in proportion to the speed.
func TestRoCEBoundsGrowBeyondTheCalibratedSpeed(t *testing.T) {
	t.Parallel()
	bound := func(rate quantity.BitRate) float64 {
		in := receivers(t, rate, []quantity.Weight{1000, 1000}, []int{2, 2})
		in.Options.Plane = policy.PlaneRoCE
		return plantest.Compiled(t, in).Tenants[0].Bound - 0.005
	}
	if a, b := bound(100*quantity.Gbps), bound(200*quantity.Gbps); b < 1.99*a || b > 2.01*a || bound(50*quantity.Gbps) != a {
		t.Errorf("bounds %g at 100 Gbit/s, %g at 200", a, b)
	}
}

// No finding prints "X instead of X".
func TestFindingsDoNotPrintAFigureInsteadOfItself(t *testing.T) {
	t.Parallel()
	in := senders(t, []quantity.Weight{3000, 1000, 2000}, []int{1, 1, 1})
	in.Options.VLArbitration = false
	p := plantest.Compiled(t, in)
	f := findingOf(p, policy.CodeSourcePort)
	if f == nil {
		t.Fatalf("findings %+v", p.Findings)
	}
	as := 0
	for _, x := range p.Tenants {
		if strings.Contains(f.Message, fmt.Sprintf("%s instead of %s", x.Entitled, x.Entitled)) {
			t.Errorf("%q", f.Message)
		}
		if x.Predicted.String() == x.Entitled.String() && strings.Contains(f.Message, fmt.Sprintf("%s: %s as entitled", x.Tenant, x.Entitled)) {
			as++
		}
	}
	if as == 0 {
		t.Errorf("%q: want a tenant whose rate is its entitlement", f.Message)
	}
}

// A bound of 100 % means that the error is unknown, so no rates are printed.
func TestRatesOfAnUnknownBoundAreNotPrinted(t *testing.T) {
	t.Parallel()
	text := policy.ExpectedRates(&policy.TenantShare{Tenant: "a", Predicted: quantity.Gbps, Entitled: 2 * quantity.Gbps, Bound: 1}).String()
	if text != "a: unknown, entitled to 2 Gbit/s" {
		t.Errorf("%q", text)
	}
}
