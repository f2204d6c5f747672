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

// Two ports that send and two that receive form a circle of full links: what a flow gains at one of them, the next loses and the third
// gains, and every one stays full. With data alone the prediction is the sharing that the simulator rests at. Where acknowledgements of other
// traffic take their part of the sending ports, it may rest elsewhere; the bound and a finding have the range.
func TestWRCCCirclesOfFullLinksRestWithinTheirBounds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		more [][2]int // greedy flows of another tenant, by hosts
		sure bool     // the prediction is the point of rest
	}{
		"data alone":             {nil, true},
		"one sender receives":    {[][2]int{{4, 0}}, false},
		"both senders receive":   {[][2]int{{4, 0}, {5, 1}}, false},
		"receivers send to them": {[][2]int{{2, 0}, {3, 1}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := circle(t, c.more)
			plan, s := simulated(t, in, Options{Seed: 1})
			most := anyError
			if c.sure {
				most = 0.001
			}
			moved := s.Tenants[:2] // those that the circle moves
			checkRates(t, plan, moved, most)
			for _, x := range moved {
				if !slices.ContainsFunc(plan.Findings, func(f policy.Finding) bool {
					return f.Code == policy.CodeShareUncertain && slices.Contains(f.Tenants, x.Tenant)
				}) {
					t.Errorf("%s: no finding says that its share is uncertain", x.Tenant)
				}
			}
		})
	}
}

// On InfiniBand the links of the circle that mark are not quite full, so its sending ports have room, and the shares of the weights are nearer
// than those of the turns, which are more than 13 % off for both tenants.
func TestInfiniBandCirclesRestNearTheSharesOfTheWeights(t *testing.T) {
	t.Parallel()
	for name, more := range map[string][][2]int{"data alone": nil, "both senders receive": {{4, 0}, {5, 1}}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := circle(t, more)
			in.Options.Plane = policy.PlaneIB
			plan, s := simulated(t, in, Options{Seed: 1})
			checkRates(t, plan, s.Tenants[:2], 0.08) // those that the circle moves
		})
	}
}

// Where turns alone nearly fill the links that mark, these mark too seldom to leave the sending ports room, and rates stay at the turns, the
// other end of the range, or between both. The bound has it: that of a contended sending port alone would not do.
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
				t.Errorf("the largest error is %.3f: want a circle that rests at its other end", worst)
			}
		})
	}
}

// A flow that has what others leave of its sending port is no circle: one sharing is at rest, and its bound has no range.
func TestCapacityLeftByOthersIsNoCycle(t *testing.T) {
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

// star is hosts of 10 Gbit/s on one switch, and their ports.
func star(t *testing.T, hosts int) (*subnet.Fabric, []ident.PortID) {
	t.Helper()
	f, err := topogen.Star(hosts, topogen.Wire{Rate: 10 * quantity.Gbps})
	if err != nil {
		t.Fatal(err)
	}
	return f, ports(f)
}

// circle has tenants a and b meet c at two sending and two receiving ports.
func circle(t *testing.T, more [][2]int) policy.Input {
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
