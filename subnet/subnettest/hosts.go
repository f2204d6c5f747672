package subnettest

import (
	"fairlane/subnet"
	"fairlane/subnet/ident"
)

// HostPorts lists the plugged-in ports of channel adapters in the order of the fabric.
func HostPorts(f *subnet.Fabric) (out []ident.PortID) {
	for _, h := range f.Hosts() {
		for p := range f.Nodes[h].Ports {
			ref := subnet.PortRef{Node: h, Port: ident.PortNum(p)}
			if _, ok := f.Peer(ref); ok {
				out = append(out, f.PortID(ref))
			}
		}
	}
	return out
}
