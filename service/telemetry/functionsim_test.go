package telemetry_test

import (
	"math/rand/v2"
	"testing"

	"fairlane/internal/quantity"
	"fairlane/policy"
	"fairlane/service/telemetry"
	"fairlane/sim/lab/evaluate"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/subnet/topogen"
	"fairlane/tenants"
)

// starvedCase is a star on which blue and green share the port of h2 by virtual functions, red is alone on h1, and all send to h4. Red uses
// several times as many queue pairs as planned, which starves the others. One of blue and green may send less than it is entitled to.
func starvedCase(t *testing.T, seed uint64) *contentionCase {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 0))
	topo, err := topogen.Star(4, topogen.Wire{Rate: 10 * quantity.Gbps, Delay: quantity.Microsecond})
	if err != nil {
		t.Fatal(err)
	}
	var ids []ident.PortID
	for _, h := range topo.Hosts() {
		ids = append(ids, topo.PortID(subnet.PortRef{Node: h, Port: 1}))
	}
	flows := []tenants.Flow{{Tenant: "red", Src: ids[0], Dst: ids[3], QPs: 1 + rng.IntN(2)}, {Tenant: "blue", Src: ids[1], Dst: ids[3], QPs: 1 + rng.IntN(3)}, {Tenant: "green", Src: ids[1], Dst: ids[3], QPs: 1 + rng.IntN(3)}}
	weight := func() quantity.Weight { return quantity.Weight(1+rng.IntN(2)) * quantity.WeightOne }
	list := tenants.Attach([]tenants.Tenant{{Name: "red", Weight: weight()}, {Name: "blue", Weight: weight()}, {Name: "green", Weight: weight()}}, flows)
	c := &contentionCase{acts: map[string]behaviour{}, Case: &evaluate.Case{Seed: seed, Plane: policy.PlaneRoCE, Kind: "shared port", Shared: true,
		Input: policy.Input{Fabric: topo, Tenants: list, Flows: flows, Options: policy.Options{Plane: policy.PlaneRoCE}}}}
	if c.plan, err = policy.Compile(c.Input); err != nil {
		t.Fatal(err)
	}
	c.traffic = c.Input
	c.traffic.Flows = append([]tenants.Flow(nil), flows...)
	c.traffic.Flows[0].QPs *= 3 + rng.IntN(4)
	for i := range c.plan.Tenants {
		c.acts[c.plan.Tenants[i].Tenant] = backlogged
	}
	if few := 1 + rng.IntN(3); few < 3 { // or neither
		f := &c.traffic.Flows[few]
		c.acts[f.Tenant] = behaviour(0.05 + 0.15*rng.Float64())
		for i := range c.plan.Tenants {
			if c.plan.Tenants[i].Tenant == f.Tenant {
				f.Demand = quantity.BitRate(float64(c.plan.Tenants[i].Entitled) * float64(c.acts[f.Tenant]))
			}
		}
	}
	return c
}

// TestStarvedTenantsOnASharedPortContend tells tenants that are starved from those that send little, on one port, by the notifications of
// their virtual functions. Without these, or where every function has the counters of the port, a starved tenant passes for one that sends
// little.
func TestStarvedTenantsOnASharedPortContend(t *testing.T) {
	t.Parallel()
	starved := 0
	for seed := uint64(901); seed <= 905; seed++ {
		c := starvedCase(t, seed)
		reports := map[string]telemetry.Report{}
		for _, notices := range []string{"", "none", "port"} {
			c.notices = notices
			reports[notices], _ = c.measureEther(t, max(6*c.plan.Settle, 30*quantity.Millisecond), 100*quantity.Millisecond)
		}
		for i, ts := range reports[""].Tenants {
			low := ts.Delivered != nil && float64(*ts.Delivered) < 0.6*float64(ts.Entitled) && c.acts[ts.Tenant] == backlogged
			t.Logf("seed %d: %s with demand %.2f received %v of %v and is %s; %s without counters of functions", seed, ts.Tenant, c.acts[ts.Tenant], *ts.Delivered, ts.Entitled, ts.Contention, reports["none"].Tenants[i].Contention)
			if got := ts.Contention == telemetry.Contending; got != (c.acts[ts.Tenant] == backlogged) {
				t.Errorf("seed %d: %s with demand %.2f received %v of %v and is %s", seed, ts.Tenant, c.acts[ts.Tenant], *ts.Delivered, ts.Entitled, ts.Contention)
			}
			if none, port := reports["none"].Tenants[i].Contention, reports["port"].Tenants[i].Contention; none != port {
				t.Errorf("seed %d: %s is %s without counters, and %s with those of the port", seed, ts.Tenant, none, port)
			}
			if low && reports["none"].Tenants[i].Contention == telemetry.OwnDemand {
				starved++
			}
		}
	}
	if starved < 5 {
		t.Errorf("%d starved tenants were only told by their notifications", starved)
	}
}
