package telemetry

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"fairlane/internal/quantity"
)

// A tenant whose cap is just above its entitlement by the plan is entitled to no more than the cap when others leave some of the link; what
// it cannot use goes to the others that contend.
func TestWhatACapLeavesGoesToTheOthers(t *testing.T) {
	t.Parallel()
	l := LinkUse{Capacity: 100e9, Used: gbit(90), Tenants: []LinkTenant{
		{Tenant: "red", Entitled: 40e9, Delivered: gbit(40), Contention: Contending},
		{Tenant: "blue", Entitled: 40e9, Delivered: gbit(40), Contention: Contending},
		{Tenant: "green", Entitled: 20e9, Delivered: gbit(10), Contention: OwnDemand},
	}}
	entitleNow(&l, map[string]quantity.BitRate{"red": 40.4e9})
	if red, blue := *l.Tenants[0].EntitledNow, *l.Tenants[1].EntitledNow; red != 40.4e9 || blue != 49.6e9 {
		t.Errorf("red %v, blue %v; want 40.4 Gbit/s, its cap, and 49.6 Gbit/s, the rest of 90", red, blue)
	}
	if l.Tenants[2].EntitledNow != nil {
		t.Errorf("green does not contend and has %v", *l.Tenants[2].EntitledNow)
	}
}

// A cap that was lowered below the entitlement by the plan holds before the next plan, and what it leaves over goes to the others.
func TestALoweredCapHoldsBeforeTheNextPlan(t *testing.T) {
	t.Parallel()
	for used, want := range map[*quantity.BitRate]quantity.BitRate{gbit(100): 80e9, nil: 50e9} { // an unmeasured link: the plan's
		l := LinkUse{Capacity: 100e9, Used: used, Tenants: []LinkTenant{
			{Tenant: "red", Entitled: 50e9, Delivered: gbit(30), Contention: Contending},
			{Tenant: "blue", Entitled: 50e9, Delivered: gbit(70), Contention: Contending},
		}}
		entitleNow(&l, map[string]quantity.BitRate{"red": 20e9})
		if red, blue := *l.Tenants[0].EntitledNow, *l.Tenants[1].EntitledNow; red != 20e9 || blue != want {
			t.Errorf("red %v, blue %v; want 20 Gbit/s, its cap, and %v", red, blue, want)
		}
	}
}

// drawnLink is a link of tenants that contend or do not, with and without caps.
func drawnLink(t *rapid.T) (l LinkUse, caps map[string]quantity.BitRate, contending quantity.BitRate) {
	l.Capacity, caps = 100e9, map[string]quantity.BitRate{}
	used := quantity.BitRate(0)
	for i := range rapid.IntRange(1, 6).Draw(t, "tenants") {
		name := fmt.Sprint("t", i)
		e := quantity.BitRate(rapid.Int64Range(1e6, 16e9).Draw(t, "entitled"))
		d := quantity.BitRate(rapid.Int64Range(0, 16e9).Draw(t, "delivered"))
		lt := LinkTenant{Tenant: name, Entitled: e, Delivered: &d, Contention: OwnDemand}
		used += d
		if rapid.Bool().Draw(t, "contends") {
			lt.Contention = Contending
			contending += d
		}
		if rapid.Bool().Draw(t, "capped") {
			caps[name] = e + quantity.BitRate(rapid.Int64Range(0, 40e9).Draw(t, "above"))
		}
		l.Tenants = append(l.Tenants, lt)
	}
	l.Used = &used
	return l, caps, contending
}

// The division is judged by its laws: at most the cap, at least the plan's entitlement, never more together than the room unless the plan's
// entitlements exceed it, all of the room unless caps hold all, and equal levels of the tenants below their caps.
func TestEntitledNowKeepsCapsAndLeavesNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		l, caps, contending := drawnLink(t)
		entitleNow(&l, caps)
		room := float64(l.Capacity - (*l.Used - contending))
		var sum, planned, level float64
		free := 0
		for _, x := range l.Tenants {
			if x.Contention != Contending {
				continue
			}
			now := *x.EntitledNow
			if limit, capped := caps[x.Tenant]; capped && now > limit {
				t.Fatalf("%s is entitled to %d, above its cap of %d", x.Tenant, now, limit)
			}
			if now < x.Entitled {
				t.Fatalf("%s is entitled to %d, less than %d by the plan", x.Tenant, now, x.Entitled)
			}
			sum, planned = sum+float64(now), planned+float64(x.Entitled)
			if limit, capped := caps[x.Tenant]; capped && now >= limit-1 {
				continue
			}
			own := float64(now) / float64(x.Entitled)
			if free > 0 && (own < level-1e-5 || own > level+1e-5) {
				t.Fatalf("%s has the level %v, another below its cap %v", x.Tenant, own, level)
			}
			free, level = free+1, own
		}
		if sum > max(room, planned)+float64(len(l.Tenants)) {
			t.Fatalf("together %.0f of a room of %.0f, %.0f by the plan", sum, room, planned)
		}
		if free > 0 && sum < room-float64(len(l.Tenants)) {
			t.Fatalf("%.0f of a room of %.0f are left although %d tenants are below their caps", room-sum, room, free)
		}
	})
}
