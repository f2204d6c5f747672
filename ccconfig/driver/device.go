package driver

import (
	"fairlane/subnet"
	"fairlane/subnet/ident"
)

// PortDevice returns the port of a channel adapter or a NIC as a device.
func PortDevice(f *subnet.Fabric, ref subnet.PortRef, plane subnet.Plane) Device {
	d := Device{Plane: plane, ID: f.PortID(ref), Name: f.PortName(ref), Kind: subnet.KindCA}
	if plane == subnet.PlaneIB {
		d.LID = f.Port(ref).LID
	}
	return d
}

// SwitchDevice returns a switch as a device; node is its index on the fabric.
func SwitchDevice(f *subnet.Fabric, node int32, plane subnet.Plane) Device {
	n := &f.Nodes[node]
	d := Device{Plane: plane, ID: ident.PortID{Node: n.GUID}, Name: n.Name, Kind: subnet.KindSwitch, Ports: len(n.Ports) - 1}
	if plane == subnet.PlaneIB {
		d.LID = n.Ports[0].LID
	}
	return d
}
