package reconcile

import (
	"slices"

	"fairlane/ccconfig/dcqcn"
	"fairlane/ccconfig/driver"
	"fairlane/ccconfig/ibcc"
	"fairlane/ccconfig/nicparam"
	"fairlane/policy"
	"fairlane/subnet"
)

// Factory is what a device is to be with no congestion control of anybody in force, given its baseline.
//
//   - InfiniBand: an adapter answers no BECN and its table delays nothing; a switch marks nothing.
//   - RoCE: the DCQCN registers of a NIC port have the vendor's defaults and no function has a share. What else there is
//     returns to the baseline, so does a switch: no default of its queues is known.
//   - WRCC: no sender and no class has a weight. The rest returns to the baseline.
func Factory(d driver.Device, baseline driver.Settings) driver.Settings {
	if d.Plane == string(policy.PlaneIB) {
		if want, ok := Gone(d); ok {
			return want
		}
		if d.Kind == subnet.KindSwitch {
			return driver.Settings{Switch: &driver.SwitchState{Ports: make([]ibcc.PortMarking, d.Ports+1)}}
		}
	}
	want := baseline.Clone()
	switch {
	case want.WRCC != nil:
		want.WRCC.Weights = nil
	case want.NIC != nil && want.NIC.WRCC != nil:
		want.NIC.WRCC.Senders = nil
	case want.NIC != nil:
		vendor := dcqcn.Default()
		for _, s := range nicparam.OfDCQCN(int(d.ID.Port), &vendor) {
			i := slices.IndexFunc(want.NIC.Params, func(p driver.NICParam) bool { return p.Name == s.Name && p.Index == s.Index })
			if i >= 0 { // else the device has no such register
				want.NIC.Params[i].Value = s.Value
			}
		}
		want.NIC.Params = slices.DeleteFunc(want.NIC.Params, func(p driver.NICParam) bool { return p.Name == driver.ShareParam })
		want.NIC.AllShares = true
	}
	return want
}

// Restored is what a device is to be when it returns to its baseline: as it was, and without the shares of functions that had
// none then.
func Restored(baseline driver.Settings) driver.Settings {
	want := baseline.Clone()
	if want.NIC != nil && want.NIC.WRCC == nil {
		want.NIC.AllShares = true
	}
	return want
}
