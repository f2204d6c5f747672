package topofile

import (
	"fairlane/subnet"
	"fairlane/subnet/ident"
)

// guidBases assigns GUIDs to nodes without one, as ibsim does: channel adapters from 0x100000, switches from 0x200000,
// and routers, for which ibsim has no base, from 0x300000. A node's GUID is the next of its kind, followed by those of a
// channel adapter's ports.
type guidBases struct {
	next, base [subnet.KindRouter + 1]ident.GUID
}

func newGUIDBases() guidBases {
	first := [subnet.KindRouter + 1]ident.GUID{subnet.KindCA: 0x100000, subnet.KindSwitch: 0x200000, subnet.KindRouter: 0x300000}
	return guidBases{next: first, base: first}
}

// set moves the next GUID of a kind: to the value, or relative to the last value set.
func (g *guidBases) set(kind subnet.NodeKind, v ident.GUID, relative bool) {
	if !relative {
		g.base[kind] = v
		v = 0
	}
	g.next[kind] = g.base[kind] + v
}

func (g *guidBases) take(kind subnet.NodeKind, ports int) ident.GUID {
	v := g.next[kind]
	if kind == subnet.KindSwitch {
		g.next[kind]++
	} else {
		g.next[kind] += ident.GUID(ports) + 1
	}
	return v
}

// fillPortGUIDs sets the GUIDs of a node's ports as ibsim does: a switch's port 0 has the node's, port p of a channel
// adapter the node's plus p.
func fillPortGUIDs(n *subnet.Node) {
	if n.Kind == subnet.KindSwitch {
		n.Ports[0].GUID = n.GUID
		return
	}
	for p := 1; p < len(n.Ports); p++ {
		n.Ports[p].GUID = n.GUID + ident.GUID(p)
	}
}
