package device

import (
	"fairlane/ccconfig/driver"
	"fairlane/ccconfig/ibcc"
	"fairlane/policy"
	"fairlane/subnet"
	"fairlane/subnet/ident"
)

// Left are the ports that a plan set for its tenants and that have no target among those of the plan after it: NIC ports whose
// functions had shares, and channel-adapter ports that answered BECNs or had a CCTI_Min. Each is to become what Gone
// says, or what a tenant had would stay on it for whoever comes next. Ports that the fabric does not have any more, and
// channel-adapter ports without a LID, are left out.
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

// Gone is what a device is to be that is no part of a plan any more; ok is false where nothing is taken back. On a NIC port no
// function has a share; its other parameters stay, and act on nobody's flows but those of whoever uses the port now.
// A channel-adapter port is as it was before anybody set it: it answers no BECN, holds nobody down, and its table has the one
// entry that delays nothing.
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
