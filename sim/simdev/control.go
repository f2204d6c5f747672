package simdev

import (
	"encoding/binary"
	"fmt"
	"net"
	"strings"

	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/subnet/mad"
)

// vendorPart is the part number that GET_VENDOR reports; it has no meaning.
const vendorPart = 1

// answerControl handles a control request. An error reply has type 0.
func (s *Server) answerControl(from net.Addr, req *control) control {
	if req.kind == ctlConnect {
		return s.connect(from, req)
	}
	c := s.clientOf(from, req.client)
	if c == nil {
		return control{client: req.client, kind: ctlError}
	}
	reply := control{client: req.client, kind: req.kind}
	ok := true
	switch req.kind {
	case ctlDisconnect:
		s.detach(c)
	case ctlGetPort:
		ok = s.getPort(c, &reply)
	case ctlGetVendor:
		s.getVendor(c, &reply)
	case ctlGetGID:
		s.getGID(c, &reply)
	case ctlGetGUID:
		binary.BigEndian.PutUint64(reply.data[:], uint64(s.dev.topo.Nodes[c.port.Node].GUID))
		reply.length = 8
	case ctlGetNodeInfo:
		ok = s.query(c, &reply, mad.AttrNodeInfo, 0)
	case ctlGetPortInfo:
		port := uint32(req.data[0])
		if port == 0 {
			port = uint32(c.port.Port)
		}
		ok = s.query(c, &reply, mad.AttrPortInfo, port)
	case ctlSetIsSM:
		ok = s.setIsSM(c, binary.LittleEndian.Uint32(req.data[:]) != 0)
		copy(reply.data[:4], req.data[:4])
		reply.length = 4
	case ctlGetPKeys:
		ok = s.query(c, &reply, mad.AttrPKeyTable, 0)
	default:
		ok = false
	}
	if !ok {
		return control{client: req.client, kind: ctlError}
	}
	return reply
}

// connect attaches a client to the requested node.
func (s *Server) connect(from net.Addr, req *control) control {
	info := decodeClientInfo(&req.data)
	port, name, ok := s.dev.clientPort(info.node)
	if !ok {
		s.stats.refused.Add(1)
		return control{kind: ctlError}
	}
	c, err := s.attach(from, info, port, name)
	if err != nil {
		s.stats.refused.Add(1)
		return control{kind: ctlError}
	}
	reply := control{client: uint32(c.slot), kind: ctlConnect}
	clientInfo{id: uint32(c.slot), isSM: c.isSM.Load(), node: name}.encode(&reply)
	return reply
}

// clientOf returns the client of a control address; the number in the message must match.
func (s *Server) clientOf(from net.Addr, id uint32) *client {
	s.mu.Lock()
	defer s.mu.Unlock()
	if id >= uint32(len(s.slots)) {
		return nil
	}
	if c := s.slots[id]; c != nil && c.ctl == from.String() {
		return c
	}
	return nil
}

func (s *Server) getPort(c *client, reply *control) bool {
	if !s.query(c, reply, mad.AttrPortInfo, uint32(c.port.Port)) {
		return false
	}
	var info mad.PortInfo
	if err := info.Decode(reply.data[:]); err != nil {
		return false
	}
	reply.data = [controlDataSize]byte{}
	binary.LittleEndian.PutUint16(reply.data[0:], uint16(info.LID))
	reply.data[2] = info.State
	reply.length = 3
	return true
}

func (s *Server) getVendor(c *client, reply *control) {
	n := &s.dev.nodes[c.port.Node] // these fields never change
	binary.LittleEndian.PutUint32(reply.data[0:], n.vendor)
	binary.LittleEndian.PutUint32(reply.data[4:], vendorPart)
	binary.LittleEndian.PutUint32(reply.data[8:], n.info.Revision)
	reply.length = 24
}

func (s *Server) getGID(c *client, reply *control) {
	s.dev.mu.Lock()
	defer s.dev.mu.Unlock()
	g := s.dev.gid(s.dev.manager(c.port))
	copy(reply.data[:], g[:])
	reply.length = uint32(len(g))
}

// query sends a request to the client's own node, like a directed-route request without hops.
func (s *Server) query(c *client, reply *control, a mad.AttrID, modifier uint32) bool {
	m := Message{DLID: ident.PermissiveLID, SLID: ident.PermissiveLID, MAD: mad.NewDirected(mad.MethodGet, a, modifier)}
	s.dev.mu.Lock()
	defer s.dev.mu.Unlock()
	m.MAD.SetMKey(s.dev.port(s.dev.manager(c.port)).key.key)
	if s.dev.handle(c.port, &m, true).Outcome != Replied || m.MAD.Status() != mad.StatusOK {
		return false
	}
	copy(reply.data[:], m.MAD.Data())
	reply.length = controlDataSize
	return true
}

// setIsSM makes the client the subnet manager of its port, or ends that role. It rejects a second subnet manager on the same
// port.
func (s *Server) setIsSM(c *client, on bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if on {
		s.vacate(c.port, c)
	}
	if s.slots[c.slot] != c || on && s.subnets[c.port] != nil && s.subnets[c.port] != c {
		return false
	}
	s.promote(c, on)
	return true
}

// clientPort returns the port for a client that names a node by its NodeDescription (truncated to the protocol's 31 bytes), a
// node or port GUID in hexadecimal, or a name from topology listings, such as "H-0002c90300a1b2c3". An empty name selects the
// first channel adapter. On a channel adapter it is the first port with a link, or port 1; on a switch it is port 0.
func (d *Devices) clientPort(name string) (subnet.PortRef, string, bool) {
	at, ok := d.clientNode(name)
	if !ok {
		return subnet.PortRef{}, "", false
	}
	ref := subnet.PortRef{Node: at.Node, Port: at.Port}
	n := &d.topo.Nodes[at.Node]
	if ref.Port == 0 && n.Kind != subnet.KindSwitch {
		ref.Port = 1
		for num := len(n.Ports) - 1; num >= 1; num-- {
			if n.Ports[num].Link >= 0 {
				ref.Port = ident.PortNum(num)
			}
		}
	}
	return ref, n.Label(), true
}

// clientNode returns the node, and also the port if a port GUID names it.
func (d *Devices) clientNode(name string) (subnet.PortRef, bool) {
	if name == "" {
		for _, h := range d.topo.Hosts() {
			return subnet.PortRef{Node: h}, true
		}
		return subnet.PortRef{}, len(d.topo.Nodes) > 0
	}
	if nodes := d.topo.NodesByName(name); len(nodes) > 0 {
		return subnet.PortRef{Node: nodes[0]}, true
	}
	if len(name) == nodeIDSize-1 {
		for i := range d.topo.Nodes {
			if strings.HasPrefix(d.topo.Nodes[i].Name, name) {
				return subnet.PortRef{Node: int32(i)}, true
			}
		}
	}
	hex := name
	for _, kind := range [...]string{"H-", "S-", "R-"} {
		hex = strings.TrimPrefix(hex, kind)
	}
	g, err := ident.ParseGUID(hex)
	if err != nil {
		return subnet.PortRef{}, false
	}
	if at, ok := d.topo.NodeByGUID(g); ok {
		return subnet.PortRef{Node: at}, true
	}
	for i := range d.nodes {
		for num := range d.nodes[i].ports {
			if ref := (subnet.PortRef{Node: int32(i), Port: ident.PortNum(num)}); d.endPort(ref) && d.portGUID(ref) == g {
				return ref, true
			}
		}
	}
	return subnet.PortRef{}, false
}

// PortByName returns the end port for a client that names this node, by the rules of the protocol's connect request: a
// NodeDescription, a GUID in hexadecimal, or a name from a listing such as "H-0002c90300a1b2c3"; an empty name selects the
// first channel adapter.
func (d *Devices) PortByName(name string) (subnet.PortRef, error) {
	ref, _, ok := d.clientPort(name)
	if !ok {
		return ref, fmt.Errorf("node %q: want a NodeDescription, a GUID in hexadecimal, or nothing for the first channel adapter", name)
	}
	return ref, nil
}
