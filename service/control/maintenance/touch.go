package maintenance

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"fairlane/internal/phrase"
	"fairlane/service/control"
	"fairlane/subnet"
	"fairlane/subnet/ident"
)

// addTouched sets the tenants that a maintenance touches: those of its scope, and those whose traffic can use one of its places. Faults of the
// scope are added to bad, by their position in the scope as it was given.
func (s *Announcements) addTouched(ctx context.Context, r control.Repos, m *control.Maintenance, given control.MaintenanceScope, all []control.Tenant, bad *control.InvalidError) error {
	touched := map[string]bool{}
	known := map[string]bool{}
	for i := range all {
		known[all[i].Name] = true
		touched[all[i].Name] = m.Scope.Whole()
	}
	for _, name := range m.Scope.Tenants {
		if !known[name] {
			bad.Add(fmt.Sprintf("/scope/tenants/%d", slices.Index(given.Tenants, name)), phrase.Of("maintenance.tenant", "found", name, "fabric", m.Fabric))
		}
		touched[name] = true
	}
	if len(m.Scope.Places) > 0 {
		_, topo, err := s.Latest(ctx, r, m.Fabric)
		if err != nil {
			return err
		}
		var places place
		for _, text := range m.Scope.Places {
			at, err := placeIn(topo, text)
			if err != nil {
				bad.AddFrom(fmt.Sprintf("/scope/places/%d", slices.Index(given.Places, text)), err)
				continue
			}
			places.add(at)
		}
		for i := range all {
			if places.touches(topo, &all[i]) {
				touched[all[i].Name] = true
			}
		}
	}
	m.Touches = nil
	for i := range all {
		if name := all[i].Name; touched[name] {
			m.Touches = append(m.Touches, name)
		}
	}
	slices.Sort(m.Touches)
	return nil
}

// place is a part of a fabric: hosts and ports of hosts whose traffic always uses it, and whether traffic between other hosts can.
type place struct {
	hosts   map[ident.GUID]bool
	ports   map[ident.PortID]bool
	transit bool
}

// add extends a place by another one.
func (p *place) add(o place) {
	if p.hosts == nil {
		p.hosts, p.ports = map[ident.GUID]bool{}, map[ident.PortID]bool{}
	}
	maps.Copy(p.hosts, o.hosts)
	maps.Copy(p.ports, o.ports)
	p.transit = p.transit || o.transit
}

// placeIn resolves the name of a switch, a host or a port.
func placeIn(f *subnet.Fabric, text string) (place, error) {
	if _, _, ok := subnet.SplitPort(text); ok {
		ref, err := f.ResolvePort(text)
		if err != nil {
			return place{}, err
		}
		return portPlace(f, ref), nil
	}
	nodes := slices.Clone(f.NodesByName(text))
	if g, err := ident.ParseGUID(text); err == nil {
		if n, ok := f.NodeByGUID(g); ok && !slices.Contains(nodes, n) {
			nodes = append(nodes, n)
		}
	}
	if len(nodes) != 1 {
		return place{}, &phrase.Error{Text: phrase.Of("maintenance.place", "found", fmt.Sprintf("%.80q", text), "n", len(nodes))}
	}
	return nodePlace(f, nodes[0]), nil
}

// portPlace is the link of a port.
func portPlace(f *subnet.Fabric, ref subnet.PortRef) place {
	peer, linked := f.Peer(ref)
	for _, end := range []subnet.PortRef{ref, peer} {
		if (end == ref || linked) && f.Nodes[end.Node].Kind == subnet.KindCA {
			return place{ports: map[ident.PortID]bool{f.PortID(end): true}}
		}
	}
	return place{transit: linked}
}

// nodePlace is a host, or a switch with all its links. Traffic between other hosts can cross a switch without hosts, and one between a switch
// with hosts and a second switch; a leaf below spines is crossed by its own hosts' traffic alone.
func nodePlace(f *subnet.Fabric, n int32) place {
	node := &f.Nodes[n]
	if node.Kind == subnet.KindCA {
		return place{hosts: map[ident.GUID]bool{node.GUID: true}}
	}
	p := place{hosts: hostsAt(f, n)}
	switches, withHosts := neighbours(f, n)
	p.transit = len(p.hosts) == 0 || switches > 1 && withHosts
	return p
}

// hostsAt returns the hosts that are linked to a switch.
func hostsAt(f *subnet.Fabric, n int32) map[ident.GUID]bool {
	out := map[ident.GUID]bool{}
	for num := range f.Nodes[n].Ports {
		if peer, ok := f.Peer(subnet.PortRef{Node: n, Port: ident.PortNum(num)}); ok && f.Nodes[peer.Node].Kind == subnet.KindCA {
			out[f.Nodes[peer.Node].GUID] = true
		}
	}
	return out
}

// neighbours counts the switches that are linked to a switch, and reports whether any of them has hosts.
func neighbours(f *subnet.Fabric, n int32) (switches int, withHosts bool) {
	seen := map[int32]bool{}
	for num := range f.Nodes[n].Ports {
		peer, ok := f.Peer(subnet.PortRef{Node: n, Port: ident.PortNum(num)})
		if !ok || f.Nodes[peer.Node].Kind == subnet.KindCA || seen[peer.Node] {
			continue
		}
		seen[peer.Node] = true
		withHosts = withHosts || len(hostsAt(f, peer.Node)) > 0
	}
	return len(seen), withHosts
}

// touches reports whether traffic of a tenant can use the place.
func (p place) touches(f *subnet.Fabric, t *control.Tenant) bool {
	leaves := map[int32]bool{}
	for i := range t.Attachments {
		id := t.Attachments[i].Port
		if p.ports[id] || p.hosts[id.Node] {
			return true
		}
		if ref, ok := f.PortByID(id); ok && p.transit {
			if peer, ok := f.Peer(ref); ok {
				leaves[peer.Node] = true
			}
		}
	}
	return len(leaves) > 1 // ports on one switch need no other
}

// checkNames rejects a text with the name of a tenant, unless that tenant alone reads it.
func checkNames(m *control.Maintenance, all []control.Tenant, bad *control.InvalidError) {
	for _, x := range []struct{ pointer, text string }{{"/text/en", m.Text.EN}, {"/text/zh", m.Text.ZH}} {
		words := map[string]bool{}
		for _, w := range strings.FieldsFunc(strings.ToLower(x.text), func(r rune) bool { return !(r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-') }) {
			words[strings.Trim(w, "-")] = true
		}
		for i := range all {
			name := all[i].Name
			if words[strings.Trim(name, "-")] && !(len(m.Touches) == 1 && m.Touches[0] == name && !m.Scope.Whole()) {
				bad.Add(x.pointer, phrase.Of("maintenance.names", "tenant", name))
			}
		}
	}
}
