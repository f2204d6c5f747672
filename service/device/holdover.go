package device

import (
	"slices"

	"fairlane/ccconfig/driver"
	"fairlane/policy"
	"fairlane/subnet/ident"
)

// Levels is a set of service levels, a bit each.
type Levels uint16

// Moving are the service levels by port that tenants have by one plan and none has by the next: those that traffic
// moves away from.
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

// HoldOver is what a device is to be while traffic moves: a channel-adapter port keeps, beside what the next plan wants,
// the parameters that service levels had by the plan before, so that what still comes by them is held to its tenant's
// share. The congestion control table is the next plan's; a CCTI_Min above its CCTI_Limit becomes that. Anything else is
// as wanted.
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
