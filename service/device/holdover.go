package device

import (
	"slices"

	"fairlane/ccconfig/driver"
	"fairlane/policy"
	"fairlane/subnet/ident"
)

// Levels is a set of service levels, one bit each.
type Levels uint16

// Moving returns, by port, the service levels that traffic moves away from: those that tenants have in one plan and none
// has in the next.
func Moving(before, next *policy.Plan) map[ident.PortID]Levels {
	out := map[ident.PortID]Levels{}
	for _, p := range before.Placements {
		out[p.Port] |= 1 << p.SL
	}
	for _, p := range next.Placements {
		if l, ok := out[p.Port]; ok {
			out[p.Port] = l &^ (1 << p.SL)
		}
	}
	return out
}

// HoldOver returns a device's settings while traffic moves. A channel-adapter port gets the next plan's settings and
// keeps the parameters that the moving service levels had in the previous plan, so that traffic still on them stays
// limited to its tenant's share. The congestion control table is the next plan's; a CCTI_Min above its CCTI_Limit is
// lowered to it. All other settings are the desired ones.
func HoldOver(want, before driver.Settings, moving Levels) driver.Settings {
	if want.CA == nil || before.CA == nil || moving == 0 {
		return want
	}
	held := *want.CA
	held.Table = slices.Clone(held.Table)
	for sl, old := range before.CA.SLs {
		if moving>>sl&1 == 1 {
			old.Min = uint8(min(uint16(old.Min), held.Limit))
			held.SLs[sl] = old
		}
	}
	want.CA = &held
	return want
}
