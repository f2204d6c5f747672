package evaluate

import (
	"testing"

	"fairlane/internal/quantity"
	"fairlane/policy"
	"fairlane/policy/plantest"
	"fairlane/subnet/topogen"
	"fairlane/tenants"
)

// A link at 97 or 98 % of its capacity limits no flow, but it marks when the rates of a few fast queue pairs oscillate. A
// small tenant that does not use the link gets none of these marks, and gains what the others lose.
func TestFlowsThatAvoidNearlyFullLinksGain(t *testing.T) {
	t.Parallel()
	w := quantity.WeightOne
	for plane, beyond := range map[policy.Plane]quantity.Weight{policy.PlaneIB: w, policy.PlaneRoCE: 2 * w} {
		t.Run(string(plane), func(t *testing.T) {
			t.Parallel()
			f, err := topogen.Dumbbell(topogen.DumbbellOptions{Left: 4, Right: 2, Wire: topogen.Wire{Rate: 100 * quantity.Gbps}, CoreRate: 100 * quantity.Gbps})
			if err != nil {
				t.Fatal(err)
			}
			h := plantest.Hosts(f)
			p, s := simulated(t, policy.Input{
				Fabric: f, Options: policy.Options{Plane: plane},
				Tenants: []tenants.Tenant{
					{Name: "beyond", Weight: beyond}, {Name: "one", Weight: 15 * w}, {Name: "pair", Weight: 12 * w}, {Name: "several", Weight: 31 * w},
				},
				Flows: []tenants.Flow{
					{Tenant: "beyond", Src: h[5], Dst: h[4], QPs: 4}, {Tenant: "one", Src: h[0], Dst: h[4], QPs: 1},
					{Tenant: "pair", Src: h[1], Dst: h[4], QPs: 2}, {Tenant: "several", Src: h[2], Dst: h[4], QPs: 12},
				},
			}, Options{Seed: 1, MaxHops: 5e6})
			checkRates(t, p, s.Tenants, anyError)
			if x := s.Tenants[0]; x.PredictionError < 0.3 {
				t.Errorf("%s: %s, predicted %s: want a gain beyond the effect of marks at the limiting link", x.Tenant, x.Delivered, p.Tenants[0].Predicted)
			}
			if b := p.Tenants[0].Bound; b > 0.85 {
				t.Errorf("bound %.3f: want a useful bound", b)
			}
		})
	}
}
