package evaluate

import (
	"math"
	"slices"
	"testing"

	"fairlane/policy"
	"fairlane/policy/plantest"
)

// anyError is for rates that need be within their bounds alone.
var anyError = math.Inf(1)

// simulated compiles an input and simulates its plan.
func simulated(t *testing.T, in policy.Input, o Options) (*policy.Plan, *Simulation) {
	t.Helper()
	plan := plantest.Compiled(t, in)
	s, err := Simulate(t.Context(), in, plan, o)
	if err != nil {
		t.Fatal(err)
	}
	return plan, s
}

// checkRates checks that rates are within their bounds and no further than most, relative, from their predictions.
func checkRates(t *testing.T, plan *policy.Plan, of []SimulatedTenant, most float64) {
	t.Helper()
	for _, x := range of {
		p := plan.Tenants[slices.IndexFunc(plan.Tenants, func(p policy.TenantShare) bool { return p.Tenant == x.Tenant })]
		if !x.Within {
			t.Errorf("%s: %s, predicted %s, is %.4f off: want at most its bound of %.4f", x.Tenant, x.Delivered, p.Predicted, x.PredictionError, p.Bound)
		}
		if x.PredictionError > most {
			t.Errorf("%s: %s, predicted %s, is %.4f off: want at most %g", x.Tenant, x.Delivered, p.Predicted, x.PredictionError, most)
		}
	}
}
