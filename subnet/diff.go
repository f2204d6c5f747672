package subnet

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"fairlane/subnet/ident"
)

// Difference lists the changes from one fabric to another. Nodes are matched by node GUID, ports by node GUID and number,
// links by their two ports; every list is sorted.
type Difference struct {
	NodesAdded   []ident.GUID `json:"nodes_added,omitempty"`
	NodesRemoved []ident.GUID `json:"nodes_removed,omitempty"`
	LinksAdded   []LinkID     `json:"links_added,omitempty"`
	LinksRemoved []LinkID     `json:"links_removed,omitempty"`
	// Changes are fields of nodes, ports and links that exist in both fabrics.
	Changes []Change `json:"changes,omitempty"`
}

// LinkID names a link permanently, by its ports; A is the lower one by ident.PortID.Compare.
type LinkID struct {
	A ident.PortID `json:"a"`
	B ident.PortID `json:"b"`
}

// String returns the link as "GUID:PORT - GUID:PORT".
func (l LinkID) String() string { return l.A.String() + " - " + l.B.String() }

// Change is one field with its values before and after, in text form.
type Change struct {
	// What is the node's GUID, a port as GUID:PORT, or a link in the form of LinkID.String.
	What   string `json:"what"`
	Field  string `json:"field"` // such as "name", "lid", "rate", "lft"
	Before string `json:"before"`
	After  string `json:"after"`
}

// Empty reports whether there is no difference.
func (d Difference) Empty() bool {
	return len(d.NodesAdded)+len(d.NodesRemoved)+len(d.LinksAdded)+len(d.LinksRemoved)+len(d.Changes) == 0
}

// String returns one difference per line: "+" added, "-" removed, "~" changed.
func (d Difference) String() string {
	var b strings.Builder
	for _, g := range d.NodesRemoved {
		fmt.Fprintf(&b, "- node %s\n", g)
	}
	for _, g := range d.NodesAdded {
		fmt.Fprintf(&b, "+ node %s\n", g)
	}
	for _, l := range d.LinksRemoved {
		fmt.Fprintf(&b, "- link %s\n", l)
	}
	for _, l := range d.LinksAdded {
		fmt.Fprintf(&b, "+ link %s\n", l)
	}
	for _, c := range d.Changes {
		fmt.Fprintf(&b, "~ %s %s: %s -> %s\n", c.What, c.Field, c.Before, c.After)
	}
	return b.String()
}

// Diff lists the changes from fabric a to fabric b. The names of the fabrics are ignored. A field that is unknown in
// one of the two (0, an empty text, no forwarding table) is no change, so that sources with different detail can be
// compared; a LID that disappears is a change.
func Diff(a, b *Fabric) Difference {
	var d differ
	for i := range a.Nodes {
		na := &a.Nodes[i]
		j, ok := b.NodeByGUID(na.GUID)
		if !ok {
			d.NodesRemoved = append(d.NodesRemoved, na.GUID)
			continue
		}
		d.node(na, &b.Nodes[j])
		if rowA, rowB := a.LFT(int32(i)), b.LFT(j); rowA != nil && rowB != nil {
			d.lft(na.GUID, rowA, rowB)
		}
	}
	for i := range b.Nodes {
		if _, ok := a.NodeByGUID(b.Nodes[i].GUID); !ok {
			d.NodesAdded = append(d.NodesAdded, b.Nodes[i].GUID)
		}
	}
	d.links(a, b)
	d.sort()
	return d.Difference
}

// LFT returns the forwarding table of a node, indexed by LID; nil when it has none. The caller must not change it.
func (f *Fabric) LFT(node int32) []ident.PortNum {
	if int(node) >= len(f.LFTs) {
		return nil
	}
	return f.LFTs[node]
}

// LinkID returns the permanent name of link i.
func (f *Fabric) LinkID(i int32) LinkID {
	id := LinkID{f.PortID(f.Links[i].A), f.PortID(f.Links[i].B)}
	if id.A.Compare(id.B) > 0 {
		id.A, id.B = id.B, id.A
	}
	return id
}

type differ struct{ Difference }

// changed adds a field that is known on both sides and differs.
func changed[T comparable](d *differ, what fmt.Stringer, field string, before, after T) {
	var unknown T
	if before != after && before != unknown && after != unknown {
		d.Changes = append(d.Changes, Change{what.String(), field, fmt.Sprint(before), fmt.Sprint(after)})
	}
}

func (d *differ) node(a, b *Node) {
	changed(d, a.GUID, "kind", a.Kind, b.Kind)
	changed(d, a.GUID, "name", a.Name, b.Name)
	changed(d, a.GUID, "domain", a.Domain, b.Domain)
	changed(d, a.GUID, "system_guid", a.SystemGUID, b.SystemGUID)
	changed(d, a.GUID, "vendor_id", a.VendorID, b.VendorID)
	changed(d, a.GUID, "device_id", a.DeviceID, b.DeviceID)
	changed(d, a.GUID, "revision", a.Revision, b.Revision)
	changed(d, a.GUID, "ports", len(a.Ports)-1, len(b.Ports)-1)
	for p := range min(len(a.Ports), len(b.Ports)) {
		d.port(ident.PortID{Node: a.GUID, Port: ident.PortNum(p)}, &a.Ports[p], &b.Ports[p])
	}
}

func (d *differ) port(id ident.PortID, a, b *Port) {
	changed(d, id, "guid", a.GUID, b.GUID)
	changed(d, id, "state", a.State, b.State)
	changed(d, id, "mtu", a.MTU, b.MTU)
	changed(d, id, "vls", a.VLCap, b.VLCap)
	if a.LID != b.LID {
		d.Changes = append(d.Changes, Change{id.String(), "lid", fmt.Sprint(a.LID), fmt.Sprint(b.LID)})
	}
	if a.LMC != b.LMC {
		d.Changes = append(d.Changes, Change{id.String(), "lmc", fmt.Sprint(a.LMC), fmt.Sprint(b.LMC)})
	}
}

// lft adds the number of differing entries of a forwarding table and the first of them.
func (d *differ) lft(g ident.GUID, a, b []ident.PortNum) {
	entry := func(row []ident.PortNum, lid int) ident.PortNum {
		if lid < len(row) {
			return row[lid]
		}
		return ident.DropPort
	}
	first, n := 0, 0
	for lid := 1; lid < max(len(a), len(b)); lid++ {
		if entry(a, lid) == entry(b, lid) {
			continue
		}
		if n == 0 {
			first = lid
		}
		n++
	}
	if n > 0 {
		d.Changes = append(d.Changes, Change{g.String(), fmt.Sprintf("lft (%d entries, first LID %d)", n, first),
			fmt.Sprint(entry(a, first)), fmt.Sprint(entry(b, first))})
	}
}

func (d *differ) links(a, b *Fabric) {
	inA := make(map[LinkID]*Link, len(a.Links))
	for i := range a.Links {
		inA[a.LinkID(int32(i))] = &a.Links[i]
	}
	for i := range b.Links {
		id, after := b.LinkID(int32(i)), &b.Links[i]
		before, ok := inA[id]
		if !ok {
			d.LinksAdded = append(d.LinksAdded, id)
			continue
		}
		delete(inA, id)
		changed(d, id, "width", before.Width, after.Width)
		changed(d, id, "speed", before.Speed, after.Speed)
		changed(d, id, "rate", before.Rate, after.Rate)
		changed(d, id, "delay", before.Delay, after.Delay)
	}
	for id := range inA {
		d.LinksRemoved = append(d.LinksRemoved, id)
	}
}

func (d *differ) sort() {
	slices.Sort(d.NodesAdded)
	slices.Sort(d.NodesRemoved)
	byPorts := func(x, y LinkID) int { return cmp.Or(x.A.Compare(y.A), x.B.Compare(y.B)) }
	slices.SortFunc(d.LinksAdded, byPorts)
	slices.SortFunc(d.LinksRemoved, byPorts)
	slices.SortFunc(d.Changes, func(x, y Change) int {
		return cmp.Or(cmp.Compare(x.What, y.What), cmp.Compare(x.Field, y.Field))
	})
}
