package discover

import (
	"errors"
	"slices"

	"fairlane/internal/phrase"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/subnet/mad"
)

// node is the state of a node during the sweep.
type node struct {
	info  mad.NodeInfo
	path  []ident.PortNum // the route it was found by
	desc  mad.NodeDescription
	ports []port // by number; index 0 of a channel adapter stays empty
	lft   []ident.PortNum
	noLFT bool // a block is missing, so the table is not set

	cc     subnet.Answer
	ccInfo mad.CongestionInfo

	named  bool // NodeDescription was answered
	top    uint16
	old    *node // the same node in the previous sweep; nil: new
	judged bool  // stale was determined
	stale  bool  // the ports may have changed
}

// port is the state of a port during the sweep.
type port struct {
	asked    bool // PortInfo was requested
	known    bool // PortInfo was answered
	fdr10    bool // a vendor's speed that PortInfo reports as QDR
	info     portFacts
	guid     ident.GUID
	peer     *node // nil: no known neighbour
	peerPort ident.PortNum
	path     []ident.PortNum // for a channel adapter's port: the route that enters through it
	answer   subnet.Answer   // to PortInfo
	tables   tables
}

// portFacts are the fields of PortInfo that the model keeps.
type portFacts struct {
	lid                    ident.LID
	lmc                    uint8
	state                  uint8
	mtu, vlCap             uint8 // codes
	width, speed, speedExt uint8 // codes
	capabilities           uint32

	phys, mtuCap, operVLs uint8
	widths, widthsOn      uint8
	speeds, speedsOn      uint8 // codes of the base speed
	exts, extsOn          uint8
	protect               uint8
	highLimit             uint8
	arbLowCap, arbHighCap uint8
	smLID                 ident.LID
}

func (n *node) isSwitch() bool { return n.info.NodeType == mad.NodeTypeSwitch }

// via returns the route through one of the node's ports.
func (n *node) via(p ident.PortNum) []ident.PortNum {
	return append(slices.Clip(n.path), p)
}

func (s *sweep) warn(kind WarningKind, n *node, p ident.PortNum, path []ident.PortNum, err error, said phrase.Text) {
	w := Warning{Kind: kind, Port: p, Path: path, Text: said.String(), Err: err, Said: said}
	if n != nil {
		w.Node = n.info.NodeGUID
	}
	s.warnings = append(s.warnings, w)
}

// lost converts a request without a valid answer into a warning about the missing value.
func (s *sweep) lost(j job, err error) {
	kind, answer := WarnUnresponsive, subnet.Silent
	var st *mad.StatusError
	if errors.As(err, &st) {
		kind, answer = WarnRefused, subnet.Refused
	}
	switch {
	case j.isTable():
		s.lostTable(j, answer)
		return
	case j.closing == closingNode:
		s.clearNodeData(j, phrase.Of("discovery.no-answer"))
		return
	case j.closing == closingSwitch:
		return // the same request was answered, or lost, before
	}
	var missing phrase.Text
	switch j.attr {
	case mad.AttrMlnxExtPortInfo:
		if kind == WarnRefused {
			return // a device without FDR10
		}
		missing = phrase.Of("discovery.fdr10")
	case mad.AttrNodeInfo:
		missing = phrase.Of("discovery.unknown-peer")
	case mad.AttrNodeDescription:
		missing = phrase.Of("discovery.no-name")
	case mad.AttrSwitchInfo, mad.AttrLinearForwardingTable:
		if j.attr == mad.AttrSwitchInfo && j.from.old != nil {
			s.judge(j.from, true)
		}
		if j.from.noLFT || s.opts.SkipRoutes {
			return // reported already
		}
		j.from.noLFT = true
		missing = phrase.Of("discovery.no-table")
	case mad.AttrPortInfo:
		j.from.ports[j.port].answer = answer
		missing = phrase.Of("discovery.no-port")
	}
	s.warn(kind, j.from, j.port, j.path, err, phrase.Of("discovery.missing", "attribute", mad.AttrName(mad.ClassSubnDR, j.attr), "text", missing))
}

// foundNode adds the node that answered, and the link that led to it.
func (s *sweep) foundNode(j job, v *mad.NodeInfo) {
	n := s.nodes[v.NodeGUID]
	switch {
	case v.NodeGUID == 0 || v.NodeType < mad.NodeTypeCA || v.NodeType > mad.NodeTypeRouter ||
		v.NumPorts == 0 || v.NumPorts > subnet.MaxPorts:
		s.warn(WarnInvalid, j.from, j.port, j.path, nil,
			phrase.Of("discovery.bad-node",
				"guid", v.NodeGUID, "type", v.NodeType, "ports", v.NumPorts, "max", subnet.MaxPorts))
		return
	case n == nil && len(s.nodes) >= subnet.MaxNodes:
		s.warn(WarnTooFar, j.from, j.port, j.path, nil, phrase.Of("discovery.too-many-nodes", "max", subnet.MaxNodes))
		return
	case v.LocalPort > ident.PortNum(v.NumPorts) || v.LocalPort == 0 && j.from != nil:
		s.warn(WarnInvalid, j.from, j.port, j.path, nil,
			phrase.Of("discovery.bad-entry-port", "node", v.NodeGUID, "port", v.LocalPort, "ports", v.NumPorts))
		return
	case n != nil && !sameNode(&n.info, v):
		s.warn(WarnDuplicateGUID, j.from, j.port, j.path, nil,
			phrase.Of("discovery.guid-differs", "node", v.NodeGUID, "type", v.NodeType, "ports", v.NumPorts))
		return
	case n == nil:
		n = &node{info: *v, path: j.path, ports: make([]port, int(v.NumPorts)+1)}
		s.nodes[v.NodeGUID] = n
		if s.remember(n); n.old != nil {
			s.askKnown(n)
		} else {
			s.askNode(n)
		}
	}
	if j.from != nil && !s.join(j, n, v.LocalPort) {
		return
	}
	if !n.isSwitch() {
		n.ports[v.LocalPort].guid = v.PortGUID
		s.askPort(n, v.LocalPort, j.path)
	}
}

// sameNode compares the fields that are equal in all answers of one node.
func sameNode(a, b *mad.NodeInfo) bool {
	return a.NodeType == b.NodeType && a.NumPorts == b.NumPorts && a.SystemGUID == b.SystemGUID &&
		a.VendorID == b.VendorID && a.DeviceID == b.DeviceID
}

// join connects the link from j.from to port q of n. It returns false when the link contradicts an earlier answer.
func (s *sweep) join(j job, n *node, q ident.PortNum) bool {
	near, far := &j.from.ports[j.port], &n.ports[q]
	switch {
	case near.peer == n && near.peerPort == q:
		return true
	case near.peer != nil:
		s.warn(WarnMismatch, j.from, j.port, j.path, nil, phrase.Of("discovery.relinked",
			"from", near.peer.info.NodeGUID, "from_port", near.peerPort, "to", n.info.NodeGUID, "to_port", q))
		return false
	case n == j.from && q == j.port:
		s.warn(WarnInvalid, j.from, j.port, j.path, nil, phrase.Of("discovery.self-link"))
		return false
	case far.peer != nil:
		s.warn(WarnDuplicateGUID, j.from, j.port, j.path, nil,
			phrase.Of("discovery.guid-twice",
				"node", n.info.NodeGUID, "port", q, "peer", far.peer.info.NodeGUID, "peer_port", far.peerPort))
		return false
	}
	near.peer, near.peerPort = n, q
	far.peer, far.peerPort = j.from, j.port
	return true
}

// askNode queues the queries of a new node.
func (s *sweep) askNode(n *node) {
	s.push(job{attr: mad.AttrNodeDescription, path: n.path, from: n})
	if !n.isSwitch() {
		return
	}
	n.ports[0].guid = n.info.PortGUID
	if !s.opts.SkipRoutes {
		s.push(job{attr: mad.AttrSwitchInfo, path: n.path, from: n})
	}
	for p := range n.ports {
		s.askPort(n, ident.PortNum(p), n.path)
	}
}

func (s *sweep) askPort(n *node, p ident.PortNum, path []ident.PortNum) {
	if n.ports[p].asked {
		return
	}
	n.ports[p].asked = true
	s.push(job{attr: mad.AttrPortInfo, mod: uint32(p), path: path, from: n, port: p})
}

// qdrCode is LinkSpeedActive of QDR and FDR10, and the base code of an extended speed.
const qdrCode = 4

// foundPort stores the port's facts and explores behind it.
func (s *sweep) foundPort(n *node, p ident.PortNum, path []ident.PortNum, v *mad.PortInfo) {
	at := &n.ports[p]
	at.known, at.answer, at.path = true, subnet.Answered, path
	at.info = portFacts{
		lid: v.LID, lmc: v.LMC, state: v.State, mtu: v.NeighborMTU, vlCap: v.VLCap,
		width: v.LinkWidthActive, speed: v.LinkSpeedActive, speedExt: v.LinkSpeedExtActive,
		capabilities: v.CapabilityMask,
		phys:         v.PhysState, mtuCap: v.MTUCap, operVLs: v.OperationalVLs,
		widths: v.LinkWidthSupported, widthsOn: v.LinkWidthEnabled,
		speeds: v.LinkSpeedSupported, speedsOn: v.LinkSpeedEnabled, exts: v.LinkSpeedExtSupp, extsOn: v.LinkSpeedExtEnabled,
		protect: v.MKeyProtect, highLimit: v.VLHighLimit, arbLowCap: v.VLArbLowCap, arbHighCap: v.VLArbHighCap, smLID: v.MasterSMLID,
	}
	up := at.info.up()
	if up && v.LinkSpeedActive == qdrCode && v.LinkSpeedExtActive == 0 && n.info.VendorID == mad.MellanoxVendorID && p > 0 {
		s.push(job{attr: mad.AttrMlnxExtPortInfo, mod: uint32(p), path: path, from: n, port: p})
	}
	local := len(n.path) == 0
	if p == 0 || !up || at.peer != nil || !n.isSwitch() && !local {
		return
	}
	if len(n.path) >= mad.MaxHops {
		s.warn(WarnTooFar, n, p, n.path, nil, phrase.Of("discovery.too-far", "hops", mad.MaxHops))
		return
	}
	s.findNeighbour(n, p)
}

// foundSwitch queues the blocks of the forwarding table up to the highest LID in use.
func (s *sweep) foundSwitch(n *node, v *mad.SwitchInfo) {
	if n.top = v.LinearFDBTop; n.old != nil {
		if s.opts.SkipRoutes {
			n.top = n.old.top
		}
		s.judge(n, v.PortStateChange || n.top != n.old.top)
		return
	}
	s.askRoutes(n)
}

func (s *sweep) askRoutes(n *node) {
	top := min(int(n.top), int(ident.MaxUnicastLID))
	if n.lft = nil; top == 0 || n.noLFT {
		return // no subnet manager has written it yet, or it could not be read
	}
	blocks := top/mad.LFTBlockSize + 1
	n.lft = make([]ident.PortNum, blocks*mad.LFTBlockSize)
	for b := range blocks {
		s.push(job{attr: mad.AttrLinearForwardingTable, mod: uint32(b), path: n.path, from: n})
	}
}

func (s *sweep) foundBlock(n *node, block uint32, data []byte) error {
	var v mad.LinearForwardingTable
	if err := v.Decode(data); err != nil {
		return err
	}
	base := int(block) * mad.LFTBlockSize
	for i, p := range v {
		if p != ident.DropPort && int(p) >= len(n.ports) {
			s.warn(WarnInvalid, n, p, n.path, nil, phrase.Of("discovery.bad-route", "lid", base+i, "port", p, "ports", len(n.ports)-1))
			p = ident.DropPort
		}
		n.lft[base+i] = p
	}
	return nil
}
