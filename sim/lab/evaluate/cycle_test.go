package evaluate

import (
	"slices"
	"testing"

	"fairlane/internal/quantity"
	"fairlane/policy"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/subnet/topogen"
	"fairlane/tenants"
)

// Two sending and two receiving ports form a cycle of full links. A gain of one flow is a loss of the next and a gain of the
// third, so every link remains full. With data only, the prediction equals the shares at which the simulator settles.
// If acknowledgements of other traffic use a part of the sending ports, the shares may settle elsewhere. The bound and a
// finding then include the range of the possible shares.
func TestWRCCCyclesConvergeWithinTheirBounds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		more    [][2]int // unlimited flows of another tenant, by hosts
		settles bool     // whether the simulation settles at the prediction
	}{
		"data only":                     {nil, true},
		"one sender receives":           {[][2]int{{4, 0}}, false},
		"both senders receive":          {[][2]int{{4, 0}, {5, 1}}, false},
		"receivers send to the senders": {[][2]int{{2, 0}, {3, 1}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := cycleInput(t, c.more)
			plan, s := simulated(t, in, Options{Seed: 1})
			most := anyError
			if c.settles {
				most = 0.001
			}
			moved := s.Tenants[:2] // the tenants whose shares the cycle changes
			checkRates(t, plan, moved, most)
			for _, x := range moved {
				if !slices.ContainsFunc(plan.Findings, func(f policy.Finding) bool {
					return f.Code == policy.CodeShareUncertain && slices.Contains(f.Tenants, x.Tenant)
				}) {
					t.Errorf("%s: no finding states that its share is uncertain", x.Tenant)
				}
			}
		})
	}
}

// On InfiniBand the marking links of the cycle are not quite full, so its sending ports have free capacity. The shares are
// then nearer to the weights than to round robin, which is more than 13 % off for both tenants.
func TestInfiniBandCyclesConvergeNearTheWeightedShares(t *testing.T) {
	t.Parallel()
	for name, more := range map[string][][2]int{"data only": nil, "both senders receive": {{4, 0}, {5, 1}}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := cycleInput(t, more)
			in.Options.Plane = policy.PlaneIB
			plan, s := simulated(t, in, Options{Seed: 1})
			checkRates(t, plan, s.Tenants[:2], 0.08) // the tenants whose shares the cycle changes
		})
	}
}

// If round robin alone nearly fills the marking links, these mark too seldom to leave free capacity at the sending ports.
// Rates then stay at the round robin shares, the other end of the range, or between the two. The bound includes this; the
// bound of a single contended sending port would not suffice.
func TestCyclesMaySettleAtRoundRobinShares(t *testing.T) {
	t.Parallel()
	for plane, least := range map[policy.Plane]float64{policy.PlaneIB: 0.25, policy.PlaneRoCE: 0.13} {
		t.Run(string(plane), func(t *testing.T) {
			t.Parallel()
			topo, h := star(t, 4)
			flows := []tenants.Flow{
				{Tenant: "a", Src: h[0], Dst: h[2], QPs: 4}, {Tenant: "b", Src: h[0], Dst: h[3], QPs: 5}, {Tenant: "c", Src: h[0], Dst: h[2], QPs: 15},
				{Tenant: "b", Src: h[1], Dst: h[2], QPs: 6}, {Tenant: "c", Src: h[1], Dst: h[3], QPs: 14}, {Tenant: "d", Src: h[1], Dst: h[3], QPs: 10},
			}
			of := []tenants.Tenant{{Name: "a", Weight: 3000}, {Name: "b", Weight: 6000}, {Name: "c", Weight: 8000}, {Name: "d", Weight: 14000}}
			in := policy.Input{Fabric: topo, Tenants: tenants.Attach(of, flows), Flows: flows, Options: policy.Options{Plane: plane}}
			plan, s := simulated(t, in, Options{Seed: 1, MaxHops: 2e6})
			checkRates(t, plan, s.Tenants, anyError)
			worst := 0.0
			for _, x := range s.Tenants {
				worst = max(worst, x.PredictionError)
			}
			if worst < least {
				t.Errorf("the largest error is %.3f: want a cycle that settles at the other end of its range", worst)
			}
		})
	}
}

// A flow that gets the remaining capacity of its sending port is not part of a cycle. There is only one equilibrium, and the
// bound has no range.
func TestUnusedCapacityIsNoCycle(t *testing.T) {
	t.Parallel()
	topo, h := star(t, 4)
	flows := []tenants.Flow{
		{Tenant: "most", Src: h[0], Dst: h[2], QPs: 1}, {Tenant: "rest", Src: h[0], Dst: h[3], QPs: 1}, {Tenant: "rival", Src: h[1], Dst: h[2], QPs: 1},
	}
	of := []tenants.Tenant{{Name: "most", Weight: 18000}, {Name: "rest", Weight: 1000}, {Name: "rival", Weight: 2000}}
	in := policy.Input{Fabric: topo, Tenants: tenants.Attach(of, flows), Flows: flows, Options: policy.Options{Plane: policy.PlaneWRCC}}
	plan, s := simulated(t, in, Options{Seed: 1, MaxHops: 1e6})
	checkRates(t, plan, s.Tenants, anyError)
	for _, x := range plan.Tenants {
		if x.Bound > 0.01 {
			t.Errorf("%s: bound %.4f, want at most 0.01", x.Tenant, x.Bound)
		}
	}
}

// star returns a fabric of hosts with 10 Gbit/s at one switch, and the hosts' ports.
func star(t *testing.T, hosts int) (*subnet.Fabric, []ident.PortID) {
	t.Helper()
	f, err := topogen.Star(hosts, topogen.Wire{Rate: 10 * quantity.Gbps})
	if err != nil {
		t.Fatal(err)
	}
	return f, ports(f)
}

// cycleInput returns an input in which tenants a and b compete with c at two sending and two receiving ports.
func cycleInput(t *testing.T, more [][2]int) policy.Input {
	t.Helper()
	topo, h := star(t, 6)
	flow := func(tenant string, src, dst ident.PortID, qps int) tenants.Flow {
		return tenants.Flow{Tenant: tenant, Src: src, Dst: dst, QPs: qps}
	}
	flows := []tenants.Flow{flow("a", h[0], h[2], 1), flow("b", h[1], h[2], 7), flow("c", h[0], h[3], 2), flow("c", h[1], h[3], 3)}
	of := []tenants.Tenant{{Name: "a", Weight: 5000}, {Name: "b", Weight: 10000}, {Name: "c", Weight: 11000}}
	for _, x := range more {
		flows = append(flows, flow("d", h[x[0]], h[x[1]], 1))
	}
	if more != nil {
		of = append(of, tenants.Tenant{Name: "d", Weight: 1000})
	}
	return policy.Input{Fabric: topo, Tenants: tenants.Attach(of, flows), Flows: flows, Options: policy.Options{Plane: policy.PlaneWRCC}}
}
