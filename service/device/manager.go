package device

import (
	"fairlane/ccconfig/driver"
	"fairlane/policy"
	"fairlane/subnet/ident"
)

// ManagerName is the name of a fabric's subnet manager among its devices.
const ManagerName = "subnet-manager"

// Manager is the subnet manager of an InfiniBand fabric in the form of a device, for those who look after drift: what it is
// to be are the placements of a plan. It is on no port of its own, since another one may take over at any time.
func Manager() driver.Device {
	return driver.Device{Plane: policy.PlaneIB, Name: ManagerName}
}

// IsManager reports whether a device's ID is that of Manager.
func IsManager(id ident.PortID) bool { return id == ident.PortID{} }

// Manages reports whether a plan has placements that a subnet manager brings about.
func Manages(p *policy.Plan) bool {
	return (p.Plane == policy.PlaneIB || p.Plane == "") && len(p.Placements) > 0
}
