package sl

import (
	"fairlane/policy/colour"
	"fairlane/subnet/ident"
)

// preferInForce makes the problem prefer the placements of the plan in force. It identifies a tenant by name or, after a rename, by partition,
// since the subnet manager maps partitions to SLs. Pinned attachments have no choice and do not count.
func (x *problem) preferInForce() {
	old := x.m.Input.InForce
	if old == nil || len(old.Placements) == 0 {
		return
	}
	names := make(map[string]bool)
	byKey := make(map[ident.PKey]string)
	for _, p := range old.Placements {
		names[p.Tenant] = true
		if p.PKey != 0 && p.PKey != ident.DefaultPKey {
			byKey[p.PKey.Base()] = p.Tenant
		}
	}
	x.c.Move = make([][colour.Colours]int32, len(x.nodes))
	for v := range x.nodes {
		t := &x.m.Tenants[x.nodes[v].tenant]
		name := t.Name
		if !names[name] && t.PKey != 0 {
			name = byKey[t.PKey.Base()]
		}
		for _, i := range x.nodes[v].at {
			sl, ok := old.SL(name, t.Attachments[i].Port)
			if ok && sl < ident.NumSLs && t.Attachments[i].SL == nil {
				x.addMoveCost(v, int8(sl), 1)
			}
		}
	}
	x.inForce = true
}

// addMoveCost raises the cost of every SL but one, for a node, by a number of ports.
func (x *problem) addMoveCost(v int, sl int8, ports int32) {
	for k := range colour.Colours {
		if int8(k) != sl {
			x.c.Move[v][k] += ports
		}
	}
}

// preferPlacements makes the problem of parts prefer the SL of the whole tenant, so that few tenants are split, and the SL in force twice as
// much.
func (x *problem) preferPlacements(p Placements) {
	x.preferInForce()
	if x.c.Move == nil {
		x.c.Move = make([][colour.Colours]int32, len(x.nodes))
	} else {
		for v := range x.c.Move {
			for k := range colour.Colours {
				x.c.Move[v][k] *= 2
			}
		}
	}
	for v := range x.nodes {
		n := &x.nodes[v]
		for _, i := range n.at {
			if x.m.Tenants[n.tenant].Attachments[i].SL == nil {
				x.addMoveCost(v, int8(p[n.tenant][i]), 1)
			}
		}
	}
}
