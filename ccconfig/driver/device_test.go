package driver_test

import (
	"testing"

	"fairlane/ccconfig/driver"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/subnet/topogen"
)

func TestDevicesOfAFabric(t *testing.T) {
	t.Parallel()
	f, err := topogen.Star(2, topogen.Wire{})
	if err != nil {
		t.Fatal(err)
	}
	host, leaf := f.Hosts()[0], f.Switches()[0]
	f.Nodes[host].Ports[1].LID, f.Nodes[leaf].Ports[0].LID = 7, 9
	ref := subnet.PortRef{Node: host, Port: 1}
	port := driver.Device{Plane: subnet.PlaneIB, ID: ident.PortID{Node: f.Nodes[host].GUID, Port: 1}, Name: f.PortName(ref), Kind: subnet.KindCA, LID: 7}
	sw := driver.Device{Plane: subnet.PlaneIB, ID: ident.PortID{Node: f.Nodes[leaf].GUID}, Name: f.Nodes[leaf].Name, Kind: subnet.KindSwitch, LID: 9, Ports: len(f.Nodes[leaf].Ports) - 1}
	for _, plane := range subnet.Planes() {
		port.Plane, sw.Plane = plane, plane
		if plane != subnet.PlaneIB { // Ethernet has no LIDs, even if the fabric file has them
			port.LID, sw.LID = 0, 0
		}
		if got := driver.PortDevice(f, ref, plane); got != port {
			t.Errorf("port on %s: %+v, want %+v", plane, got, port)
		}
		if got := driver.SwitchDevice(f, leaf, plane); got != sw {
			t.Errorf("switch on %s: %+v, want %+v", plane, got, sw)
		}
	}
}
