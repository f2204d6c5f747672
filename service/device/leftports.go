package device

import (
	"fairlane/ccconfig/driver"
	"fairlane/ccconfig/ibcc"
	"fairlane/policy"
	"fairlane/subnet"
	"fairlane/subnet/ident"
)

// Left returns the ports that a plan set for its tenants and that have no target in the next plan: NIC ports whose
// functions had shares, and channel-adapter ports that answered BECNs or had a CCTI_Min. The settings of each become
// those of Gone; otherwise the next tenant on the port would inherit the old ones. Ports that are no longer on the
// fabric, and channel-adapter ports without a LID, are omitted.
func Left(before *policy.Plan, f *subnet.Fabric, after []Target) []Target {
	has := make(map[ident.PortID]bool, len(after))
	for i := range after {
		has[after[i].Device.ID] = true
	}
	var out []Target
	add := func(dev driver.Device) {
		if want, ok := Gone(dev); ok && !has[dev.ID] {
			out = append(out, Target{Device: dev, Want: want})
		}
	}
	for i := range before.CAs {
		if c := &before.CAs[i]; !c.Settings.Reacts() && c.Settings.HighestMin() == 0 {
			continue
		}
		if t, err := caTarget(&before.CAs[i], f); err == nil && t.Device.LID.IsUnicast() {
			add(t.Device)
		}
	}
	if before.RoCE != nil {
		shares := before.RoCE.Functions()
		for i := range before.RoCE.NICs {
			nic := &before.RoCE.NICs[i]
			if dev, _, err := nicDevice(driver.PlaneRoCE, nic.Port, nic.Name, f); err == nil && len(shares[nic.Port]) > 0 {
				add(dev)
			}
		}
	}
	return out
}

// Gone returns the settings of a device that is no longer in a plan; ok is false where nothing is removed. On a NIC port
// no function has a share; its other parameters stay, since they affect only the flows of the port's current user. A
// channel-adapter port gets its unconfigured state: it answers no BECN, limits no flow, and its table has the one entry
// without delay.
func Gone(d driver.Device) (want driver.Settings, ok bool) {
	switch {
	case d.Kind != subnet.KindCA:
		return want, false
	case d.Plane == driver.PlaneRoCE:
		return driver.Settings{NIC: &driver.NICState{Params: []driver.NICParam{}, AllShares: true}}, true
	case d.Plane == policy.PlaneIB:
		return driver.Settings{CA: &ibcc.CASettings{Table: make([]ibcc.Entry, 1)}}, true
	}
	return want, false
}
