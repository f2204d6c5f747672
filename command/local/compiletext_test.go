package local

import (
	"strings"
	"testing"

	"fairlane/command/cmdline/cmdlinetest"
	"fairlane/policy"
	"fairlane/sim/lab/evaluate"
)

func TestTenantsSimulatedOutsideTheirBoundAreNamed(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	c := &Compiled{Plan: &policy.Plan{Tenants: []policy.TenantShare{{Tenant: "red", Bound: 0.02}, {Tenant: "blue", Bound: 0.5}}}}
	a := &app{cmdlinetest.App(t, "en")}
	if a.printOutside(&out, c); out.Len() > 0 {
		t.Errorf("without a simulation: %q", out.String())
	}
	c.Simulation = &evaluate.Simulation{Tenants: []evaluate.SimulatedTenant{
		{Tenant: "red", PredictionError: 0.064}, {Tenant: "blue", PredictionError: 0.064, Within: true},
	}}
	a.printOutside(&out, c)
	if want := "simulated outside the bound: red is 6.4 % off its prediction, whose bound is 2 %\n"; out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
}
