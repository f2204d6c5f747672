package control

import (
	"fairlane/subnet/ident"
)

// NodeName is the name of a node of the target's fabric, "" when it has no such node.
func (t *Target) NodeName(g ident.GUID) string {
	if n, ok := t.Topology.NodeByGUID(g); ok {
		return t.Topology.Nodes[n].Name
	}
	return ""
}
