package control

import (
	"context"

	"fairlane/internal/phrase"
	"fairlane/subnet"
	"fairlane/subnet/ident"
)

// Rescanner rescans fabrics that were discovered before.
type Rescanner interface {
	// Rescan scans a fabric and returns what changed since the known state. manager is the port of the subnet manager in
	// the known state, zero when unknown.
	Rescan(ctx context.Context, f Fabric, known *subnet.Fabric, manager ident.PortID) (Rescan, error)
}

// Rescan is the result of a rescan.
type Rescan struct {
	Topology *subnet.Fabric
	Stats    DiscoverStats // with warnings about devices that did not answer
	Manager  ident.PortID  // the port of the master subnet manager; zero when there is none
	Changes  []FabricChange
}

// FabricChange is one change of a fabric.
type FabricChange struct {
	Kind string       // stable code, such as "link-down" and "sm-handover"
	Port ident.PortID // port 0 when it concerns a whole node
	Peer ident.PortID // for links: the other end
	Node string       // the node's name
	Said phrase.Text
}
