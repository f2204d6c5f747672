package maintenance

import (
	"testing"

	"fairlane/service/control"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/subnet/topogen"
	"fairlane/tenants"
)

// TestLinksBetweenSwitchesTouchTenantsOnSeveralSwitches uses two leaf switches below two spines.
func TestLinksBetweenSwitchesTouchTenantsOnSeveralSwitches(t *testing.T) {
	t.Parallel()
	f, err := topogen.LeafSpine(topogen.LeafSpineOptions{Leaves: 2, HostsPerLeaf: 2})
	if err != nil {
		t.Fatal(err)
	}
	var leaf, spine int32 = -1, -1
	for i := range f.Nodes {
		switch n := int32(i); {
		case f.Nodes[i].Kind != subnet.KindSwitch:
		case len(hostsAt(f, n)) == 0:
			spine = n
		case leaf < 0:
			leaf = n
		}
	}
	below := func(n int32, count int) (t control.Tenant) {
		for g := range hostsAt(f, n) {
			if len(t.Attachments) < count {
				t.Attachments = append(t.Attachments, tenants.Attachment{Port: ident.PortID{Node: g, Port: 1}})
			}
		}
		return t
	}
	var other int32
	for i := range f.Nodes {
		if n := int32(i); f.Nodes[i].Kind == subnet.KindSwitch && n != leaf && len(hostsAt(f, n)) > 0 {
			other = n
		}
	}
	here, there := below(leaf, 2), below(other, 2)
	both := control.Tenant{Tenant: tenants.Tenant{Attachments: append(below(leaf, 1).Attachments, below(other, 1).Attachments...)}}
	var up subnet.PortRef
	for num := range f.Nodes[leaf].Ports {
		ref := subnet.PortRef{Node: leaf, Port: ident.PortNum(num)}
		if peer, ok := f.Peer(ref); ok && f.Nodes[peer.Node].Kind == subnet.KindSwitch {
			up = ref
		}
	}
	for _, c := range []struct {
		name              string
		at                place
		here, there, both bool
	}{
		{"a spine", nodePlace(f, spine), false, false, true},
		{"a leaf", nodePlace(f, leaf), true, false, true},
		{"a link between leaf and spine", portPlace(f, up), false, false, true},
	} {
		if got := [3]bool{c.at.touches(f, &here), c.at.touches(f, &there), c.at.touches(f, &both)}; got != [3]bool{c.here, c.there, c.both} {
			t.Errorf("%s touches here, there, both: %v", c.name, got)
		}
	}
}
