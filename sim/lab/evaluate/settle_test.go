package evaluate

import (
	"math"
	"testing"

	"fairlane/internal/quantity"
	"fairlane/policy"
	"fairlane/policy/plantest"
	"fairlane/subnet/topogen"
	"fairlane/tenants"
)

// TestSharesAreReachedInTheSettlingTime uses queue pairs that are entitled to a 128th of the rate of others. After the settling
// time of the plan they have the predicted rate; after a tenth of that time they do not.
func TestSharesAreReachedInTheSettlingTime(t *testing.T) {
	t.Parallel()
	topo, err := topogen.Star(3, topogen.Wire{Rate: 25 * quantity.Gbps, Delay: quantity.Microsecond})
	if err != nil {
		t.Fatal(err)
	}
	hosts := ports(topo)
	in := policy.Input{
		Fabric: topo, Options: policy.Options{Plane: policy.PlaneRoCE},
		Tenants: []tenants.Tenant{{Name: "fast", Weight: 16 * quantity.WeightOne}, {Name: "slow", Weight: quantity.WeightOne}},
		Flows:   []tenants.Flow{{Tenant: "fast", Src: hosts[0], Dst: hosts[2], QPs: 2}, {Tenant: "slow", Src: hosts[1], Dst: hosts[2], QPs: 16}},
	}
	plan := plantest.Compiled(t, in)
	if plan.Settle < 200*quantity.Millisecond || plan.Settle > 500*quantity.Millisecond {
		t.Fatalf("shares need %s: the test needs about 300 ms", plan.Settle)
	}
	// off returns the relative error of the slow tenant's rate in a window as long as the wait before it.
	off := func(wait quantity.Picoseconds) float64 {
		n, err := newNetwork(&in, plan, 1)
		if err != nil {
			t.Fatal(err)
		}
		r := &run{ctx: t.Context(), in: &in, plan: plan, parts: 1, o: Options{Progress: func(float64) {}}}
		c, err := r.count(n, pace{settle: wait, window: wait})
		if err != nil {
			t.Fatal(err)
		}
		bytes := 0.0
		for i, s := range c.streams {
			if in.Flows[s.flow].Tenant == "slow" {
				bytes += float64(c.first[i] + c.second[i])
			}
		}
		return math.Abs(bytes*8/c.seconds/float64(plan.Tenants[1].Predicted) - 1)
	}
	if x := off(plan.Settle); x > 0.05 {
		t.Errorf("%.1f %% off after %s", 100*x, plan.Settle)
	}
	if x := off(plan.Settle / 10); x < 0.10 {
		t.Errorf("error of only %.1f %% after %s, a tenth of the plan's settling time", 100*x, plan.Settle/10)
	}
}
