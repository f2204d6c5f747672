package control

import (
	"fairlane/ccconfig/driver"
	"fairlane/policy"
	"fairlane/subnet"
)

// Present returns a device with the address that it has by a topology; false when that has no such port.
func Present(d driver.Device, f *subnet.Fabric) (driver.Device, bool) {
	n, ok := f.NodeByGUID(d.ID.Node)
	if !ok || int(d.ID.Port) >= len(f.Nodes[n].Ports) {
		return d, false
	}
	d.LID = f.Nodes[n].Ports[d.ID.Port].LID
	if d.Plane == policy.PlaneIB && !d.LID.IsUnicast() {
		return d, false
	}
	return d, true
}
