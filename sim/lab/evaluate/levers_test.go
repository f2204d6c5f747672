package evaluate_test

import (
	"context"
	"fmt"
	"testing"

	"fairlane/internal/quantity"
	"fairlane/policy"
	"fairlane/policy/plantest"
	"fairlane/sim/lab/evaluate"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/subnet/topogen"
	"fairlane/tenants"
)

// star returns an input with tenants that send from the first host of a star of 100 Gbit/s, each to a separate host.
func star(t *testing.T, weights []quantity.Weight, qps []int) policy.Input {
	t.Helper()
	f, err := topogen.Star(len(weights)+1, topogen.Wire{Rate: 100 * quantity.Gbps})
	if err != nil {
		t.Fatal(err)
	}
	var hosts []ident.PortID
	for _, h := range f.Hosts() {
		hosts = append(hosts, f.PortID(subnet.PortRef{Node: h, Port: 1}))
	}
	in := policy.Input{Fabric: f}
	for i := range weights {
		name := fmt.Sprintf("t%d", i)
		in.Tenants = append(in.Tenants, tenants.Tenant{Name: name, Weight: weights[i]})
		in.Flows = append(in.Flows, tenants.Flow{Tenant: name, Src: hosts[0], Dst: hosts[i+1], QPs: qps[i]})
	}
	return in
}

// simulated compiles and simulates an input. It returns the plan and the results of each tenant.
func simulated(t *testing.T, in policy.Input) (*policy.Plan, []evaluate.SimulatedTenant) {
	t.Helper()
	p := plantest.Compiled(t, in)
	s, err := evaluate.Simulate(context.Background(), in, p, evaluate.Options{Seed: 1, MaxHops: 200_000})
	if err != nil {
		t.Fatal(err)
	}
	return p, s.Tenants
}

func TestLanesDivideASendingPortAsPredicted(t *testing.T) {
	t.Parallel()
	for name, in := range map[string]policy.Input{
		"three to one against the queue pairs": star(t, []quantity.Weight{3000, 1000}, []int{1, 7}),
		"sixteen to one":                       star(t, []quantity.Weight{16000, 1000}, []int{2, 2}),
		"six tenants, three weights":           star(t, []quantity.Weight{4000, 4000, 2000, 2000, 1000, 1000}, []int{1, 1, 1, 1, 1, 1}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in.Options.VLArbitration = true
			p, got := simulated(t, in)
			if len(p.Lanes) != 1 {
				t.Fatalf("lanes %+v", p.Lanes)
			}
			for i, s := range got {
				t.Logf("%s: entitled %s, predicted %s, delivered %s", s.Tenant, p.Tenants[i].Entitled, p.Tenants[i].Predicted, s.Delivered)
				if s.PredictionError > 0.01 || s.ShareError > 0.02 {
					t.Errorf("%s delivers %s, predicted %s, entitled %s", s.Tenant, s.Delivered, p.Tenants[i].Predicted, p.Tenants[i].Entitled)
				}
			}
		})
	}
}

func TestCapsHoldInTheSimulatorWithoutAnyContention(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		limit quantity.BitRate
		qps   int
		mode  policy.PerQPMode
	}{
		"per queue pair": {20 * quantity.Gbps, 4, policy.PerQPOn},
		"per SL":         {20 * quantity.Gbps, 4, policy.PerQPOff},
		"a hundredth":    {quantity.Gbps, 2, policy.PerQPOn},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := star(t, []quantity.Weight{1000}, []int{c.qps})
			in.Tenants[0].Cap = c.limit
			in.Options.PerQP = c.mode
			p, got := simulated(t, in)
			t.Logf("cap %s, predicted %s, delivered %s", c.limit, p.Tenants[0].Predicted, got[0].Delivered)
			if d := got[0].Delivered; d > c.limit*1005/1000 || d < p.Tenants[0].Predicted*98/100 {
				t.Errorf("delivered %s with a cap of %s, predicted %s", d, c.limit, p.Tenants[0].Predicted)
			}
		})
	}
}

// A capped tenant and another tenant share a receiver. The capped tenant also reacts to the marks meant for the other.
func TestCapHoldsAlongsideMarkedFlows(t *testing.T) {
	t.Parallel()
	in := star(t, []quantity.Weight{3000, 1000}, []int{4, 4})
	in.Tenants[0].Cap = 20 * quantity.Gbps
	receiver := in.Flows[0].Src
	for i := range in.Flows {
		in.Flows[i].Src, in.Flows[i].Dst = in.Flows[i].Dst, receiver
	}
	p, got := simulated(t, in)
	for i, s := range got {
		t.Logf("%s: entitled %s, predicted %s, delivered %s", s.Tenant, p.Tenants[i].Entitled, p.Tenants[i].Predicted, s.Delivered)
		if s.ShareError > 0.05 {
			t.Errorf("%s delivers %s of %s", s.Tenant, s.Delivered, p.Tenants[i].Entitled)
		}
	}
	if got[0].Delivered > 20_100*quantity.Mbps {
		t.Errorf("delivered %s with a cap of 20 Gbit/s", got[0].Delivered)
	}
}
