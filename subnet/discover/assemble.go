package discover

import (
	"cmp"
	"slices"

	"fairlane/internal/phrase"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/subnet/mad"
)

// assemble builds the fabric, nodes in the order of their GUIDs.
func (s *sweep) assemble() (*subnet.Fabric, error) {
	all := s.byGUID()
	at := make(map[*node]int32, len(all))
	for i, n := range all {
		at[n] = int32(i)
	}
	nodes := make([]subnet.Node, len(all))
	claims := newClaims(s)
	for i, n := range all {
		nodes[i] = claims.node(n)
	}
	f, err := subnet.New(s.opts.Name, nodes, s.links(all, at))
	if err != nil {
		return nil, err
	}
	if s.opts.SkipRoutes {
		return f, nil
	}
	lfts := make([][]ident.PortNum, len(all))
	for i, n := range all {
		if !n.noLFT {
			lfts[i] = n.lft
		}
	}
	return f.WithLFTs(lfts)
}

// links lists each link once, from the end that sorts first.
func (s *sweep) links(all []*node, at map[*node]int32) []subnet.Link {
	var links []subnet.Link
	for i, n := range all {
		for p := range n.ports {
			near := &n.ports[p]
			if near.peer == nil {
				continue
			}
			a := subnet.PortRef{Node: int32(i), Port: ident.PortNum(p)}
			b := subnet.PortRef{Node: at[near.peer], Port: near.peerPort}
			if b.Node < a.Node || b.Node == a.Node && b.Port < a.Port {
				continue
			}
			l := subnet.Link{A: a, B: b}
			l.Width, l.Speed = s.rate(n, a.Port)
			links = append(links, l)
		}
	}
	return links
}

// rate returns the width and speed of a link; the first end counts when the ends disagree.
func (s *sweep) rate(n *node, p ident.PortNum) (subnet.Width, subnet.Speed) {
	far := n.ports[p].peer
	w1, s1, ok1 := n.rate(p)
	w2, s2, ok2 := far.rate(n.ports[p].peerPort)
	if !ok1 {
		return w2, s2
	}
	if ok2 && (w1 != w2 || s1 != s2) {
		s.warn(WarnMismatch, n, p, n.path, nil, phrase.Of("discovery.widths",
			"here", subnet.FormatWidthSpeed(w1, s1), "there", subnet.FormatWidthSpeed(w2, s2), "node", far.info.NodeGUID, "port", n.ports[p].peerPort))
	}
	return w1, s1
}

// rate returns the width and speed from one port. The extended speed field is valid only when the capability mask has
// its bit; a switch has that mask on port 0.
func (n *node) rate(p ident.PortNum) (subnet.Width, subnet.Speed, bool) {
	at := &n.ports[p]
	if !at.known {
		return 0, subnet.SpeedUnknown, false
	}
	ext := at.info.speedExt
	if !n.extended(p) {
		ext = 0
	}
	speed := subnet.SpeedFromCodes(at.info.speed, ext)
	if speed == subnet.QDR && at.fdr10 {
		speed = subnet.FDR10
	}
	return subnet.WidthFromCode(at.info.width), speed, true
}

// extended reports whether the extended speed fields of a port are valid.
func (n *node) extended(p ident.PortNum) bool {
	if n.isSwitch() {
		p = 0
	}
	return n.ports[p].info.capabilities&mad.PortCapExtendedSpeeds != 0
}

// claims records the GUIDs and LIDs in use. The model rejects duplicates, so only the first port in node order keeps
// the value.
type claims struct {
	s     *sweep
	guids map[ident.GUID]*node
	lids  map[ident.LID]*node
}

func newClaims(s *sweep) *claims {
	return &claims{s: s, guids: make(map[ident.GUID]*node), lids: make(map[ident.LID]*node)}
}

func (c *claims) node(n *node) subnet.Node {
	v := &n.info
	out := subnet.Node{
		GUID:       v.NodeGUID,
		SystemGUID: v.SystemGUID,
		Kind:       subnet.NodeKind(v.NodeType),
		Name:       n.desc.String(),
		VendorID:   v.VendorID,
		DeviceID:   v.DeviceID,
		Revision:   v.Revision,
		Ports:      subnet.NewPorts(int(v.NumPorts)),
	}
	for p := range n.ports {
		c.port(n, ident.PortNum(p), &out.Ports[p])
	}
	return out
}

func (c *claims) port(n *node, p ident.PortNum, out *subnet.Port) {
	at := &n.ports[p]
	if at.guid != 0 {
		if first := c.guids[at.guid]; first != nil {
			c.s.warn(WarnDuplicateGUID, n, p, n.path, nil, phrase.Of("discovery.port-guid", "guid", at.guid, "node", first.info.NodeGUID))
		} else {
			c.guids[at.guid] = n
			out.GUID = at.guid
		}
	}
	if !at.known {
		return
	}
	out.State = subnet.PortState(min(at.info.state, uint8(subnet.PortActive)))
	out.MTU = mad.MTUFromCode(at.info.mtu)
	out.VLCap = mad.VLsFromCode(at.info.vlCap)
	if p == 0 || !n.isSwitch() {
		c.lid(n, p, out)
	}
}

func (c *claims) lid(n *node, p ident.PortNum, out *subnet.Port) {
	at := &n.ports[p].info
	if at.lid == 0 {
		return
	}
	size := ident.LID(1) << at.lmc
	if !at.lid.IsUnicast() || at.lid&(size-1) != 0 || at.lid > ident.MaxUnicastLID-size+1 {
		c.s.warn(WarnInvalid, n, p, n.path, nil, phrase.Of("discovery.bad-lid", "lid", at.lid, "lmc", at.lmc))
		return
	}
	for l := at.lid; l < at.lid+size; l++ {
		if first := c.lids[l]; first != nil {
			c.s.warn(WarnDuplicateLID, n, p, n.path, nil, phrase.Of("discovery.lid-twice", "lid", l, "node", first.info.NodeGUID))
			return
		}
	}
	for l := at.lid; l < at.lid+size; l++ {
		c.lids[l] = n
	}
	out.LID, out.LMC = at.lid, at.lmc
}

func (s *sweep) sortWarnings() {
	slices.SortFunc(s.warnings, func(a, b Warning) int {
		return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(a.Port, b.Port), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Text, b.Text))
	})
}
