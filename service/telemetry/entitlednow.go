package telemetry

import "fairlane/internal/quantity"

// entitleNow divides what the tenants that do not contend leave of a link among those that do, in proportion to their entitlements by the
// plan and up to their caps: what a cap leaves over goes to the others. No tenant is entitled to less than by the plan; that is its
// entitlement where not all that contend are measured, or not the link. The cap applies to that too: one that was lowered after the
// plan was compiled holds at once.
func entitleNow(l *LinkUse, caps map[string]quantity.BitRate) {
	var room float64 // for the tenants that contend
	var parts []cappedPart
	whole := l.Used != nil
	for _, t := range l.Tenants {
		if t.Contention != Contending {
			continue
		}
		whole = whole && t.Delivered != nil
		parts = append(parts, cappedPart{float64(t.Entitled), float64(caps[t.Tenant])})
		if t.Delivered != nil {
			room += float64(*t.Delivered)
		}
	}
	level := 1.0
	if whole {
		room = float64(l.Capacity) - max(float64(*l.Used)-room, 0)
		level = max(level, fillLevel(room, parts))
	}
	for i := range l.Tenants {
		t := &l.Tenants[i]
		if t.Contention != Contending || t.Delivered == nil {
			continue
		}
		now := max(t.Entitled, quantity.BitRate(float64(t.Entitled)*level))
		if limit, capped := caps[t.Tenant]; capped {
			now = min(now, limit)
		}
		t.EntitledNow, t.Received = &now, new(float64(*t.Delivered)/float64(max(now, 1)))
	}
}

// cappedPart is a tenant's weight in a division, and the most that it takes; a cap of 0 is none.
type cappedPart struct{ weight, cap float64 }

// fillLevel returns the level at which the parts min(cap, weight · level) fill a room: where caps hold all of them before, the level from
// which they do; 0 without weights.
func fillLevel(room float64, parts []cappedPart) float64 {
	full, highest := make([]bool, len(parts)), 0.0
	for {
		weights := 0.0
		for i, p := range parts {
			if !full[i] {
				weights += p.weight
			}
		}
		if weights <= 0 {
			return highest
		}
		level, found := max(room, 0)/weights, false
		for i, p := range parts {
			if !full[i] && p.cap > 0 && p.weight*level > p.cap {
				full[i], found = true, true
				room, highest = room-p.cap, max(highest, p.cap/p.weight)
			}
		}
		if !found {
			return level
		}
	}
}
