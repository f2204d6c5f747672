package evaluate

import (
	"testing"

	"fairlane/internal/quantity"
	"fairlane/policy"
	"fairlane/subnet/topogen"
	"fairlane/tenants"
)

// A link with traffic from a single sending port normally has no queue. With acknowledgements of other traffic it has a
// queue, and so it marks. The queue pairs of the port have one set of registers. They then share by their number and not by
// the shares of the port's virtual functions.
func TestAcknowledgementsMakeALinkMarkThatDataCannotFill(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answers bool    // the receiver also sends data, to a host that acknowledges
		want    float64 // predicted rate of tenant "few" divided by that of "many"
	}{"data only": {false, 1}, "with acknowledgements": {true, 0.2}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			topo, h := star(t, 3)
			flows := []tenants.Flow{{Tenant: "few", Src: h[0], Dst: h[1], QPs: 4}, {Tenant: "many", Src: h[0], Dst: h[1], QPs: 20}}
			of := []tenants.Tenant{{Name: "few", Weight: 1000}, {Name: "many", Weight: 1000}}
			if c.answers {
				flows = append(flows, tenants.Flow{Tenant: "other", Src: h[1], Dst: h[2], QPs: 5})
				of = append(of, tenants.Tenant{Name: "other", Weight: 1000})
			}
			in := policy.Input{Fabric: topo, Tenants: tenants.Attach(of, flows), Flows: flows, Options: policy.Options{Plane: policy.PlaneRoCE}}
			plan, s := simulated(t, in, Options{Seed: 1, MaxHops: 1e6})
			few, many := plan.Tenants[0].Predicted, plan.Tenants[1].Predicted
			if r := float64(few) / float64(many); r < c.want*0.98 || r > c.want*1.02 {
				t.Errorf("predicted %s and %s: want a ratio of %g", few, many, c.want)
			}
			checkRates(t, plan, s.Tenants[:2], 0.03)
			checkRates(t, plan, s.Tenants[2:], anyError) // the prediction ignores notifications, which use a part of the port of "other"
		})
	}
}

// On InfiniBand such a link also marks, although acknowledgements use less than a thousandth of it. Rates then settle between
// the round robin shares of the sending port and the weights.
func TestAcknowledgementsMakeInfiniBandLinksMark(t *testing.T) {
	t.Parallel()
	for name, answers := range map[string]bool{"data only": false, "with acknowledgements": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			topo, err := topogen.Dumbbell(topogen.DumbbellOptions{Left: 2, Right: 3, Wire: topogen.Wire{Rate: 40 * quantity.Gbps}, CoreRate: 40 * quantity.Gbps})
			if err != nil {
				t.Fatal(err)
			}
			h := ports(topo)
			flows := []tenants.Flow{{Tenant: "heavy", Src: h[0], Dst: h[2], QPs: 10}, {Tenant: "light", Src: h[0], Dst: h[3], QPs: 12}}
			of := []tenants.Tenant{{Name: "heavy", Weight: 10000}, {Name: "light", Weight: 1000}}
			if answers {
				flows = append(flows, tenants.Flow{Tenant: "other", Src: h[4], Dst: h[1], QPs: 5})
				of = append(of, tenants.Tenant{Name: "other", Weight: 1000})
			}
			plan, s := simulated(t, policy.Input{Fabric: topo, Tenants: tenants.Attach(of, flows), Flows: flows}, Options{Seed: 1, MaxHops: 3e6})
			if !answers {
				checkRates(t, plan, s.Tenants, 0.01)
				return
			}
			checkRates(t, plan, s.Tenants, anyError)
			if x := s.Tenants[0]; x.PredictionError < 0.3 {
				t.Errorf("%s: %s, predicted %s: want the rate that marks of the link cause", x.Tenant, x.Delivered, plan.Tenants[0].Predicted)
			}
		})
	}
}
