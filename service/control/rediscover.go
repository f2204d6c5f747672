package control

import (
	"context"

	"fairlane/internal/phrase"
	"fairlane/subnet"
	"fairlane/subnet/ident"
)

// Looker looks again at fabrics that were discovered before.
type Looker interface {
	// Look finds a fabric as it is now, and tells what changed since it was as known and managed by the subnet manager on a
	// port, which is zero when that is not known.
	Look(ctx context.Context, f Fabric, known *subnet.Fabric, manager ident.PortID) (Look, error)
}

// Look is a fabric as it was found.
type Look struct {
	Topology *subnet.Fabric
	Stats    DiscoverStats // with warnings when something did not answer
	Manager  ident.PortID  // the port of the master subnet manager; zero when there is none
	Changes  []FabricChange
}

// FabricChange is one thing that happened to a fabric.
type FabricChange struct {
	Kind string       // stable code, such as "link-down" and "sm-handover"
	Port ident.PortID // port 0 of what concerns a whole node
	Peer ident.PortID // of links: the other end
	Node string       // the node's name
	Said phrase.Text
}
