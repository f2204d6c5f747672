package control_test

import (
	"maps"
	"testing"

	"fairlane/service/control"
	"fairlane/subnet"
	"fairlane/subnet/topogen"
	"fairlane/tenants"
)

// A tenant is down when a port from which it sends has lost its link. The port to which it sends does not matter.
func TestTenantsAreDownWithTheirSendingPorts(t *testing.T) {
	t.Parallel()
	topo, err := topogen.Star(3, topogen.Wire{})
	if err != nil {
		t.Fatal(err)
	}
	port := func(f *subnet.Fabric, i int) subnet.PortRef { return subnet.PortRef{Node: f.Hosts()[i], Port: 1} }
	target := control.Target{Topology: topo, Flows: []tenants.Flow{
		{Tenant: "red", Src: topo.PortID(port(topo, 0)), Dst: topo.PortID(port(topo, 2))},
		{Tenant: "blue", Src: topo.PortID(port(topo, 1)), Dst: topo.PortID(port(topo, 2))},
	}}
	for name, c := range map[string]struct {
		down int // host whose port is down in the latest scan; -1: none, -2: no later scan
		want map[string]bool
	}{
		"no later scan":     {-2, map[string]bool{}},
		"all up":            {-1, map[string]bool{}},
		"red's port down":   {0, map[string]bool{"red": true}},
		"the receiver down": {2, map[string]bool{}},
	} {
		target.Latest = nil
		if c.down > -2 {
			if target.Latest, err = topogen.Star(3, topogen.Wire{}); err != nil {
				t.Fatal(err)
			}
			if c.down >= 0 {
				target.Latest.Port(port(target.Latest, c.down)).State = subnet.PortDown
			}
		}
		if got := target.Down(); !maps.Equal(got, c.want) {
			t.Errorf("%s: down are %v, want %v", name, got, c.want)
		}
	}
}
