package device

import (
	"slices"

	"fairlane/ccconfig/dcqcn"
	"fairlane/ccconfig/driver"
	"fairlane/ccconfig/ibcc"
	"fairlane/ccconfig/nic/nicparam"
	"fairlane/policy"
	"fairlane/subnet"
)

// Factory returns the settings of a device without active congestion control, given its baseline.
//
//   - InfiniBand: an adapter answers no BECN and its table has no delay; a switch marks nothing.
//   - RoCE: the DCQCN registers of a NIC port have the vendor's defaults and no function has a share. Its other settings
//     are the baseline's, and so are a switch's: the defaults of its queues are unknown.
//   - WRCC: no sender and no class has a weight. Other settings are the baseline's.
func Factory(d driver.Device, baseline driver.Settings) driver.Settings {
	if d.Plane == policy.PlaneIB {
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
			if i >= 0 { // otherwise the device has no such register
				want.NIC.Params[i].Value = s.Value
			}
		}
		want.NIC.Params = slices.DeleteFunc(want.NIC.Params, func(p driver.NICParam) bool { return p.Name == driver.ShareParam })
		want.NIC.AllShares = true
	}
	return want
}

// Restored returns the settings of a device that returns to its baseline: the baseline, with no share on functions that
// had none then.
func Restored(baseline driver.Settings) driver.Settings {
	want := baseline.Clone()
	if want.NIC != nil && want.NIC.WRCC == nil {
		want.NIC.AllShares = true
	}
	return want
}
