package evaluate

import (
	"testing"

	"fairlane/internal/quantity"
	"fairlane/policy"
	"fairlane/policy/plantest"
	"fairlane/subnet/topogen"
	"fairlane/tenants"
)

// A link at 98 % of its capacity limits no flow but marks when the rates of few fast queue pairs swing. A small tenant that does not cross it gets none
// of these marks and gains what the others lose.
func TestFlowsThatCrossNoNearlyFullLinkGain(t *testing.T) {
	t.Parallel()
	for plane, least := range map[policy.Plane]float64{policy.PlaneIB: 0.2, policy.PlaneRoCE: 0.5} {
		t.Run(string(plane), func(t *testing.T) {
			t.Parallel()
			gainBesideNearlyFull(t, plane, least)
		})
	}
}

func gainBesideNearlyFull(t *testing.T, plane policy.Plane, least float64) {
	t.Helper()
	f, err := topogen.Dumbbell(topogen.DumbbellOptions{Left: 4, Right: 2, Wire: topogen.Wire{Rate: 100 * quantity.Gbps}, CoreRate: 100 * quantity.Gbps})
	if err != nil {
		t.Fatal(err)
	}
	h := plantest.Hosts(f)
	w := quantity.WeightOne
	in := policy.Input{
		Fabric: f, Options: policy.Options{Plane: plane},
		Tenants: []tenants.Tenant{
			{Name: "beyond", Weight: w}, {Name: "one", Weight: 15 * w}, {Name: "pair", Weight: 12 * w}, {Name: "several", Weight: 31 * w},
		},
		Flows: []tenants.Flow{
			{Tenant: "beyond", Src: h[5], Dst: h[4], QPs: 4}, {Tenant: "one", Src: h[0], Dst: h[4], QPs: 1},
			{Tenant: "pair", Src: h[1], Dst: h[4], QPs: 2}, {Tenant: "several", Src: h[2], Dst: h[4], QPs: 12},
		},
	}
	p, s := simulated(t, in, Options{Seed: 1, MaxHops: 5e6})
	checkRates(t, p, s.Tenants, anyError)
	if x := s.Tenants[0]; x.PredictionError < least {
		t.Errorf("%s: %s, predicted %s: want a gain that marks of the limiting link alone do not explain", x.Tenant, x.Delivered, p.Tenants[0].Predicted)
	}
}
