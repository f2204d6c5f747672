package evaluate

import (
	"testing"

	"fairlane/internal/quantity"
	"fairlane/policy"
	"fairlane/policy/plantest"
	"fairlane/subnet/topogen"
	"fairlane/tenants"
)

// A queue pair that a fair rate paces and that waits longer for its turn than it makes up for gets less than the fair rate says. Those it
// meets at the switch get more, and so have those that take turns beside it.
func TestPacedQueuePairsWaitForTheirTurns(t *testing.T) {
	t.Parallel()
	topo, err := topogen.Star(6, topogen.Wire{Rate: 25 * quantity.Gbps})
	if err != nil {
		t.Fatal(err)
	}
	hosts := ports(topo)
	flows := []tenants.Flow{
		{Tenant: "turns", Src: hosts[0], Dst: hosts[1], QPs: 80},
		{Tenant: "paced", Src: hosts[0], Dst: hosts[2], QPs: 30}, {Tenant: "rival", Src: hosts[3], Dst: hosts[2], QPs: 8},
		{Tenant: "slow", Src: hosts[0], Dst: hosts[4], QPs: 20}, {Tenant: "other", Src: hosts[5], Dst: hosts[4], QPs: 4},
	}
	w := quantity.WeightOne
	ts := tenants.Attach([]tenants.Tenant{
		{Name: "turns", Weight: 3 * w, PKey: 1}, {Name: "paced", Weight: w, PKey: 2}, {Name: "rival", Weight: 5 * w, PKey: 3},
		{Name: "slow", Weight: w, PKey: 4}, {Name: "other", Weight: 16 * w, PKey: 5},
	}, flows)
	in := policy.Input{Fabric: topo, Tenants: ts, Flows: flows, Options: policy.Options{Plane: policy.PlaneWRCC}}
	plan := plantest.Compiled(t, in)
	s, err := Simulate(t.Context(), in, plan, Options{Seed: 1, MaxHops: 3e6})
	if err != nil {
		t.Fatal(err)
	}
	for i, x := range s.Tenants {
		if x.PredictionError > 0.005 || !x.Within {
			t.Errorf("%s: %s, predicted %s, bound %.4f", x.Tenant, x.Delivered, plan.Tenants[i].Predicted, plan.Tenants[i].Bound)
		}
	}
}
