package evaluate

import (
	"math"
	"slices"
	"testing"

	"fairlane/policy"
	"fairlane/policy/plantest"
)

// anyError is the limit for rates that must only be within their bounds.
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

// checkRates verifies that rates are within their bounds, and that their relative prediction errors are at most most.
func checkRates(t *testing.T, plan *policy.Plan, of []SimulatedTenant, most float64) {
	t.Helper()
	for _, x := range of {
		p := plan.Tenants[slices.IndexFunc(plan.Tenants, func(p policy.TenantShare) bool { return p.Tenant == x.Tenant })]
		if !x.Within {
			t.Errorf("%s: %s, predicted %s, error %.4f: want at most the bound of %.4f", x.Tenant, x.Delivered, p.Predicted, x.PredictionError, p.Bound)
		}
		if x.PredictionError > most {
			t.Errorf("%s: %s, predicted %s, error %.4f: want at most %g", x.Tenant, x.Delivered, p.Predicted, x.PredictionError, most)
		}
	}
}
