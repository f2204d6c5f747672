package evaluate

import (
	"testing"

	"fairlane/internal/quantity"
	"fairlane/policy"
	"fairlane/policy/plantest"
	"fairlane/subnet/topogen"
	"fairlane/tenants"
)

// Bounds of InfiniBand plans apply to means over policy.BoundTime. If fast tenants used up the packet hops of a case earlier,
// a slow tenant would get few marks, and its rate would be less accurate than its bound.
func TestWindowsAreAsLongAsTheMeansThatBoundsAreFor(t *testing.T) {
	t.Parallel()
	topo, err := topogen.Star(3, topogen.Wire{Rate: 100 * quantity.Gbps})
	if err != nil {
		t.Fatal(err)
	}
	h := ports(topo)
	flows := []tenants.Flow{{Tenant: "fast", Src: h[0], Dst: h[2], QPs: 8}, {Tenant: "slow", Src: h[1], Dst: h[2], QPs: 1}}
	in := policy.Input{Fabric: topo, Tenants: tenants.Attach([]tenants.Tenant{{Name: "fast", Weight: 99_000}, {Name: "slow", Weight: 1000}}, flows), Flows: flows}
	plan := plantest.Compiled(t, in)
	n, err := newNetwork(&in, plan, 1)
	if err != nil {
		t.Fatal(err)
	}
	const few = 1e6
	if pc := paceOf(&in, plan, n, &Options{MaxHops: few}); pc.window.Seconds() >= policy.BoundTime {
		t.Fatalf("%.2f s take %.0f packet hops: the case is unsuitable", pc.window.Seconds(), few)
	}
	if pc := paceOf(&in, plan, n, &Options{MaxHops: few, MinSeconds: policy.BoundTime}); pc.window.Seconds() != policy.BoundTime {
		t.Errorf("a window of %.2f s: want %d s", pc.window.Seconds(), policy.BoundTime)
	}
}

// If a fair rate controls only a small part of a port's load, it varies for a whole settling time. A window of less than
// several settling times is then too short (seed 415263, case 10: an error of 5.4 % over a third of a settling time, and of
// 3.7 % over four).
func TestWRCCIsCountedForFourSettlingTimes(t *testing.T) {
	t.Parallel()
	c, err := Generate(415263, 10, policy.PlaneWRCC)
	if err != nil {
		t.Fatal(err)
	}
	plan := plantest.Compiled(t, c.Input)
	n, err := newNetwork(&c.Input, plan, c.Traffic())
	if err != nil {
		t.Fatal(err)
	}
	if pc := paceOf(&c.Input, plan, n, &Options{}); pc.window < 4*plan.Settle {
		t.Errorf("settling time %s, counted time %s: want four times the settling time", plan.Settle, pc.window)
	}
}
