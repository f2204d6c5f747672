package subnet

import "fairlane/subnet/ident"

// index answers lookups in constant time. New fills it; nothing changes it afterwards.
type index struct {
	nodes    map[ident.GUID]int32
	ports    map[ident.GUID]PortRef
	names    map[string][]int32
	lids     []PortRef // by LID, up to the highest LID in use; Node -1 for unused LIDs
	switches []int32
	hosts    []int32
}

// noPort is an invalid reference.
var noPort = PortRef{Node: -1}

func newIndex(nodes []Node) index {
	x := index{
		nodes: make(map[ident.GUID]int32, len(nodes)),
		ports: make(map[ident.GUID]PortRef, len(nodes)),
		names: make(map[string][]int32, len(nodes)),
	}
	for i := range nodes {
		n, at := &nodes[i], int32(i)
		x.nodes[n.GUID] = at
		if n.Name != "" {
			x.names[n.Name] = append(x.names[n.Name], at)
		}
		if n.Kind == KindSwitch {
			x.switches = append(x.switches, at)
		} else {
			x.hosts = append(x.hosts, at)
		}
		for p := range n.Ports {
			port := &n.Ports[p]
			ref := PortRef{at, ident.PortNum(p)}
			if port.GUID != 0 {
				x.ports[port.GUID] = ref
			}
			x.addLIDs(port, ref)
		}
	}
	return x
}

func (x *index) addLIDs(p *Port, ref PortRef) {
	if p.LID == 0 {
		return
	}
	end := int(p.LID) + 1<<p.LMC
	for len(x.lids) < end {
		x.lids = append(x.lids, noPort)
	}
	for l := int(p.LID); l < end; l++ {
		x.lids[l] = ref
	}
}

// NodeByGUID returns the position in Nodes of the node with this node GUID.
func (f *Fabric) NodeByGUID(g ident.GUID) (int32, bool) {
	i, ok := f.index.nodes[g]
	return i, ok
}

// PortByGUID returns the port with this port GUID.
func (f *Fabric) PortByGUID(g ident.GUID) (PortRef, bool) {
	r, ok := f.index.ports[g]
	return r, ok
}

// PortByID returns the port with this node GUID and port number.
func (f *Fabric) PortByID(id ident.PortID) (PortRef, bool) {
	i, ok := f.index.nodes[id.Node]
	r := PortRef{i, id.Port}
	return r, ok && f.Valid(r)
}

// PortByLID returns the port with the LID: with an LMC of n a port has 2^n consecutive LIDs. The LID of a switch is that
// of its port 0.
func (f *Fabric) PortByLID(l ident.LID) (PortRef, bool) {
	if int(l) >= len(f.index.lids) {
		return noPort, false
	}
	r := f.index.lids[l]
	return r, r.Node >= 0
}

// TopLID returns the highest LID of a port; 0 when no port has one.
func (f *Fabric) TopLID() ident.LID {
	if len(f.index.lids) == 0 {
		return 0
	}
	return ident.LID(len(f.index.lids) - 1)
}

// NodesByName returns the positions of the nodes with this NodeDescription, in order. The
// caller must not change the slice.
func (f *Fabric) NodesByName(name string) []int32 { return f.index.names[name] }

// Switches returns the positions of the switches, in order. The caller must not change it.
func (f *Fabric) Switches() []int32 { return f.index.switches }

// Hosts returns the positions of the channel adapters and routers, in order. The caller
// must not change it.
func (f *Fabric) Hosts() []int32 { return f.index.hosts }

// Valid reports whether the reference names a port of this fabric. Port 0 exists on switches only.
func (f *Fabric) Valid(r PortRef) bool {
	if r.Node < 0 || int(r.Node) >= len(f.Nodes) {
		return false
	}
	n := &f.Nodes[r.Node]
	return int(r.Port) < len(n.Ports) && (r.Port != 0 || n.Kind == KindSwitch)
}

// Port returns the port at the reference, or nil when there is none. The caller must not
// change it.
func (f *Fabric) Port(r PortRef) *Port {
	if !f.Valid(r) {
		return nil
	}
	return &f.Nodes[r.Node].Ports[r.Port]
}

// Link returns the link plugged into the port and its position in Links, or nil and -1.
func (f *Fabric) Link(r PortRef) (*Link, int32) {
	p := f.Port(r)
	if p == nil || p.Link < 0 {
		return nil, -1
	}
	return &f.Links[p.Link], p.Link
}

// Peer returns the port at the other end of the port's link; false when nothing is plugged in.
func (f *Fabric) Peer(r PortRef) (PortRef, bool) {
	l, _ := f.Link(r)
	if l == nil {
		return noPort, false
	}
	if l.A == r {
		return l.B, true
	}
	return l.A, true
}

// PortID returns the permanent name of the port at the reference; the zero PortID when the reference names no node.
func (f *Fabric) PortID(r PortRef) ident.PortID {
	if r.Node < 0 || int(r.Node) >= len(f.Nodes) {
		return ident.PortID{}
	}
	return ident.PortID{Node: f.Nodes[r.Node].GUID, Port: r.Port}
}
