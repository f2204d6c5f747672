package osmfile

import (
	"cmp"
	"slices"

	"fairlane/subnet/ident"
)

// Policy is the part of a QoS policy file that determines service levels by partition and by port.
type Policy struct {
	Default     *ident.SL // for queries that match no rule; nil means missing, and OpenSM rejects the file
	DefaultLine int
	Rules       []PolicyRule // in the order in which OpenSM checks them
}

// PolicyRule is a rule of the policy. It matches a query when all its criteria match.
type PolicyRule struct {
	Line  int
	PKeys [][2]uint16 // ranges without the membership bit; nil means any P_Key
	// Source and Destination contain the port at the start or the end of a path; nil means any port.
	Source, Destination *Ports
	Other               bool     // has further criteria, so not every query that matches the rest matches
	SL                  ident.SL // 0 when Level names it
	Level               string   // of rules in the long form
}

// Ports are the ports of port groups.
type Ports struct {
	GUIDs [][2]ident.GUID // ranges in ascending order that do not overlap
	Open  bool            // there may be more: a group can also select ports by name, kind or partition
}

// has reports whether a port is listed.
func (p *Ports) has(g ident.GUID) bool {
	after, found := slices.BinarySearchFunc(p.GUIDs, g, func(x [2]ident.GUID, g ident.GUID) int { return cmp.Compare(x[0], g) })
	return found || after > 0 && g <= p.GUIDs[after-1][1]
}

// sort sorts and merges the ranges.
func (p *Ports) sort() {
	slices.SortFunc(p.GUIDs, func(a, b [2]ident.GUID) int { return cmp.Compare(a[0], b[0]) })
	kept := p.GUIDs[:0]
	for _, x := range p.GUIDs {
		if n := len(kept); n > 0 && x[0] <= kept[n-1][1] {
			kept[n-1][1] = max(kept[n-1][1], x[1])
			continue
		}
		kept = append(kept, x)
	}
	p.GUIDs = kept
}

// matches reports whether a query with the P_Key may match.
func (r *PolicyRule) matches(k ident.PKey) bool {
	if r.PKeys == nil {
		return true
	}
	return slices.ContainsFunc(r.PKeys, func(x [2]uint16) bool { return x[0] <= uint16(k.Base()) && uint16(k.Base()) <= x[1] })
}

// meet reports whether queries for the partition, between ports of a list, match the rule: all of them, or some. With
// more set, the partition may have ports that are not in the list.
func (r *PolicyRule) meet(k ident.PKey, ports []ident.GUID, more bool) (all, some bool) {
	if !r.matches(k) {
		return false, false
	}
	all, some = !r.Other, true
	for _, end := range []*Ports{r.Source, r.Destination} {
		if end == nil {
			continue
		}
		in := 0
		for _, g := range ports {
			if end.has(g) {
				in++
			}
		}
		all = all && in == len(ports) && !more
		some = some && (in > 0 || more || end.Open)
	}
	return all, some
}

// SL returns the service level of a query with the P_Key and both ports, and no other criteria; 0 when the policy has
// neither default nor rule for it.
func (p *Policy) SL(k ident.PKey, from, to ident.GUID) ident.SL {
	for i := range p.Rules {
		r := &p.Rules[i]
		if !r.Other && r.matches(k) && (r.Source == nil || r.Source.has(from)) && (r.Destination == nil || r.Destination.has(to)) {
			return r.SL
		}
	}
	if p.Default == nil {
		return 0
	}
	return *p.Default
}
