package discover

import (
	"cmp"
	"slices"

	"fairlane/internal/phrase"
	"fairlane/subnet"
	"fairlane/subnet/ident"
)

// EventKind is a stable code.
type EventKind string

// Kinds of events.
const (
	EventNodeNew    EventKind = "node-new"
	EventNodeGone   EventKind = "node-gone"
	EventLinkUp     EventKind = "link-up"
	EventLinkDown   EventKind = "link-down"
	EventPortMoved  EventKind = "port-moved" // a node's port is plugged in elsewhere
	EventLinkSpeed  EventKind = "link-speed" // a link has another width or speed
	EventPortState  EventKind = "port-state"
	EventLIDChanged EventKind = "lid-changed"
	EventRoutes     EventKind = "routes-changed"
	EventRenamed    EventKind = "node-renamed"
	EventSMHandover EventKind = "sm-handover" // another port manages the subnet
)

// Event is one change between two sweeps.
type Event struct {
	Kind EventKind     `json:"kind"`
	Node ident.GUID    `json:"node"`
	Port ident.PortNum `json:"port"` // 0 when it concerns the whole node
	Peer ident.PortID  `json:"peer"` // for links: the other end
	Text string        `json:"text"` // displayed: "host-3/P1 moved from leaf-1/P3 to leaf-2/P7"
	Said phrase.Text   `json:"-"`    // Text in localisable form
}

// Changes lists the changes between two sweeps of a fabric, by kind, node and port. A link that disappeared with one of
// its nodes belongs to that node's event; likewise for links of new nodes and for moved ports.
func Changes(before, after *Result) []Event {
	d := &changes{a: before.Fabric, b: after.Fabric, moved: make(map[ident.PortID]bool)}
	diff := subnet.Diff(d.a, d.b)
	for _, g := range diff.NodesRemoved {
		n, _ := d.a.NodeByGUID(g)
		d.add(EventNodeGone, ident.PortID{Node: g}, ident.PortID{}, phrase.Of("discovery.gone", "node", d.a.Nodes[n].Label()))
	}
	for _, g := range diff.NodesAdded {
		n, _ := d.b.NodeByGUID(g)
		d.add(EventNodeNew, ident.PortID{Node: g}, ident.PortID{}, phrase.Of("discovery.new", "node", d.b.Nodes[n].Label()))
	}
	d.links(&diff)
	for i := range d.b.Nodes {
		if j, ok := d.a.NodeByGUID(d.b.Nodes[i].GUID); ok {
			d.node(j, int32(i))
		}
	}
	d.manager(before, after)
	slices.SortFunc(d.events, func(x, y Event) int {
		return cmp.Or(cmp.Compare(x.Kind, y.Kind), cmp.Compare(x.Node, y.Node), cmp.Compare(x.Port, y.Port), cmp.Compare(x.Text, y.Text))
	})
	return d.events
}

type changes struct {
	a, b   *subnet.Fabric
	moved  map[ident.PortID]bool
	events []Event
}

func (d *changes) add(kind EventKind, at, peer ident.PortID, said phrase.Text) {
	d.events = append(d.events, Event{Kind: kind, Node: at.Node, Port: at.Port, Peer: peer, Text: said.String(), Said: said})
}

func portName(f *subnet.Fabric, id ident.PortID) string {
	if ref, ok := f.PortByID(id); ok {
		return f.PortName(ref)
	}
	return id.String()
}

// peer returns the other end of a port; false when the fabric lacks the port or the link.
func peer(f *subnet.Fabric, id ident.PortID) (ident.PortID, bool) {
	ref, ok := f.PortByID(id)
	if !ok {
		return ident.PortID{}, false
	}
	far, ok := f.Peer(ref)
	return f.PortID(far), ok
}

func has(f *subnet.Fabric, g ident.GUID) bool {
	_, ok := f.NodeByGUID(g)
	return ok
}

// links distinguishes moved ports from links that appeared or disappeared.
func (d *changes) links(diff *subnet.Difference) {
	for _, l := range diff.LinksAdded {
		for _, end := range [2][2]ident.PortID{{l.A, l.B}, {l.B, l.A}} {
			near, now := end[0], end[1]
			was, ok := peer(d.a, near)
			if !ok || was == now || isSwitch(d.b, near.Node) && !isSwitch(d.b, now.Node) {
				continue // the move is reported as an event of the host
			}
			d.moved[near] = true
			d.add(EventPortMoved, near, now, phrase.Of("discovery.moved", "node", portName(d.b, near), "from", portName(d.a, was), "to", portName(d.b, now)))
		}
	}
	for _, l := range diff.LinksAdded {
		if !d.moved[l.A] && !d.moved[l.B] && has(d.a, l.A.Node) && has(d.a, l.B.Node) {
			d.add(EventLinkUp, l.A, l.B, phrase.Of("discovery.link-up", "port", portName(d.b, l.A), "peer", portName(d.b, l.B)))
		}
	}
	for _, l := range diff.LinksRemoved {
		if !d.moved[l.A] && !d.moved[l.B] && has(d.b, l.A.Node) && has(d.b, l.B.Node) {
			d.add(EventLinkDown, l.A, l.B, phrase.Of("discovery.link-down", "port", portName(d.a, l.A), "peer", portName(d.a, l.B)))
		}
	}
}

func isSwitch(f *subnet.Fabric, g ident.GUID) bool {
	n, ok := f.NodeByGUID(g)
	return ok && f.Nodes[n].Kind == subnet.KindSwitch
}

// node compares a node that is in both fabrics.
func (d *changes) node(i, j int32) {
	a, b := &d.a.Nodes[i], &d.b.Nodes[j]
	id := ident.PortID{Node: b.GUID}
	if a.Name != b.Name {
		d.add(EventRenamed, id, ident.PortID{}, phrase.Of("discovery.renamed", "node", b.Label(), "before", a.Label()))
	}
	for p := range min(len(a.Ports), len(b.Ports)) {
		id.Port = ident.PortNum(p)
		d.port(id, &a.Ports[p], &b.Ports[p])
	}
	id.Port = 0
	if was, now := d.a.LFT(i), d.b.LFT(j); was != nil && now != nil && !slices.Equal(was, now) {
		d.add(EventRoutes, id, ident.PortID{}, phrase.Of("discovery.forwards-differently", "node", b.Label()))
	}
}

func (d *changes) port(id ident.PortID, a, b *subnet.Port) {
	if a.LID != b.LID || a.LMC != b.LMC {
		d.add(EventLIDChanged, id, ident.PortID{}, phrase.Of("discovery.lid-changed", "port", portName(d.b, id), "lid", b.LID, "lmc", b.LMC, "lid_before", a.LID, "lmc_before", a.LMC))
	}
	if a.State != b.State && a.State != 0 && b.State != 0 && (a.Link < 0) == (b.Link < 0) && b.Link >= 0 {
		d.add(EventPortState, id, ident.PortID{}, phrase.Of("discovery.state-changed", "port", portName(d.b, id), "state", b.State, "before", a.State))
	}
	if a.Link < 0 || b.Link < 0 {
		return
	}
	was, now := &d.a.Links[a.Link], &d.b.Links[b.Link]
	farA, _ := peer(d.a, id)
	farB, _ := peer(d.b, id)
	if farA == farB && id.Compare(farB) < 0 && (was.Width != now.Width || was.Speed != now.Speed) {
		d.add(EventLinkSpeed, id, farB, phrase.Of("discovery.speed-changed", "port", portName(d.b, id), "peer", portName(d.b, farB),
			"speed", subnet.FormatWidthSpeed(now.Width, now.Speed), "before", subnet.FormatWidthSpeed(was.Width, was.Speed)))
	}
}

// manager reports another port as subnet manager; its LID may be unchanged.
func (d *changes) manager(before, after *Result) {
	was, now := before.manager(), after.manager()
	if was == now || now == (ident.PortID{}) || was == (ident.PortID{}) {
		return
	}
	d.add(EventSMHandover, now, was, phrase.Of("discovery.sm-changed", "port", portName(d.b, now), "before", portName(d.a, was)))
}

// manager returns the port with the LID of the master subnet manager; the zero PortID without one.
func (r *Result) manager() ident.PortID {
	ref, ok := r.Fabric.PortByLID(r.Details.SM)
	if !ok {
		return ident.PortID{}
	}
	return r.Fabric.PortID(ref)
}
