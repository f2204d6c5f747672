package device

import (
	"fairlane/ccconfig/driver"
	"fairlane/policy"
	"fairlane/subnet/ident"
)

// ManagerName is the name of a fabric's subnet manager in lists of devices.
const ManagerName = "subnet-manager"

// Manager represents the subnet manager of an InfiniBand fabric as a device, for drift sweeps; the placements of a plan
// are its desired state. It is bound to no port, since another subnet manager may take over at any time.
func Manager() driver.Device {
	return driver.Device{Plane: policy.PlaneIB, Name: ManagerName}
}

// IsManager reports whether a device's ID is that of Manager.
func IsManager(id ident.PortID) bool { return id == ident.PortID{} }

// Manages reports whether a plan has placements for a subnet manager.
func Manages(p *policy.Plan) bool {
	return (p.Plane == policy.PlaneIB || p.Plane == "") && len(p.Placements) > 0
}
