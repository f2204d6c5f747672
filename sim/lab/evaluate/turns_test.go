package evaluate

import (
	"testing"

	"fairlane/internal/quantity"
	"fairlane/policy"
	"fairlane/subnet/ident"
	"fairlane/subnet/topogen"
	"fairlane/tenants"
)

// A queue pair paced at its fair rate gets less than that rate if it waits for its turn longer than the pacing can
// compensate. Queue pairs that compete with it at the switch get more, and so do those that share the round robin at its
// sending port.
func TestPacedQueuePairsAreServedRoundRobin(t *testing.T) {
	t.Parallel()
	w := quantity.WeightOne
	for name, c := range map[string]struct {
		rate    quantity.BitRate
		flows   func(h []ident.PortID) []tenants.Flow
		tenants []tenants.Tenant
	}{
		"paced by less than a turn": {25 * quantity.Gbps, func(h []ident.PortID) []tenants.Flow {
			return []tenants.Flow{
				{Tenant: "turns", Src: h[0], Dst: h[1], QPs: 80},
				{Tenant: "paced", Src: h[0], Dst: h[2], QPs: 30}, {Tenant: "rival", Src: h[3], Dst: h[2], QPs: 8},
				{Tenant: "slow", Src: h[0], Dst: h[4], QPs: 20}, {Tenant: "other", Src: h[5], Dst: h[4], QPs: 4},
			}
		}, []tenants.Tenant{
			{Name: "turns", Weight: 3 * w, PKey: 1}, {Name: "paced", Weight: w, PKey: 2}, {Name: "rival", Weight: 5 * w, PKey: 3},
			{Name: "slow", Weight: w, PKey: 4}, {Name: "other", Weight: 16 * w, PKey: 5},
		}},
		// With round robin alone, all queue pairs would have the same rate.
		"paced by a little more than a turn": {10 * quantity.Gbps, func(h []ident.PortID) []tenants.Flow {
			return []tenants.Flow{
				{Tenant: "turns", Src: h[0], Dst: h[1], QPs: 29}, {Tenant: "paced", Src: h[0], Dst: h[2], QPs: 22},
				{Tenant: "rival", Src: h[3], Dst: h[2], QPs: 6},
			}
		}, []tenants.Tenant{{Name: "turns", Weight: 4 * w, PKey: 1}, {Name: "paced", Weight: 5 * w, PKey: 2}, {Name: "rival", Weight: 5 * w, PKey: 3}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			turns(t, c.rate, c.flows, c.tenants)
		})
	}
}

func turns(t *testing.T, line quantity.BitRate, with func(h []ident.PortID) []tenants.Flow, of []tenants.Tenant) {
	t.Helper()
	topo, err := topogen.Star(6, topogen.Wire{Rate: line})
	if err != nil {
		t.Fatal(err)
	}
	flows := with(ports(topo))
	ts := tenants.Attach(of, flows)
	in := policy.Input{Fabric: topo, Tenants: ts, Flows: flows, Options: policy.Options{Plane: policy.PlaneWRCC}}
	plan, s := simulated(t, in, Options{Seed: 1, MaxHops: 3e6})
	for i, x := range s.Tenants {
		if x.PredictionError > 0.01 {
			t.Errorf("%s: %s, predicted %s, bound %.4f", x.Tenant, x.Delivered, plan.Tenants[i].Predicted, plan.Tenants[i].Bound)
		}
	}
}
