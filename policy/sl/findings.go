package sl

import (
	"fmt"
	"slices"
	"strings"

	"fairlane/internal/phrase"
	"fairlane/policy/colour"
	"fairlane/policy/model"
	"fairlane/policy/plan"
	"fairlane/subnet/ident"
)

var splitFix = phrase.Of("plan.sl-split.fix")

func split(tenant string, sls []string, groups int) plan.Finding {
	return plan.NewFinding(plan.CodeSLSplit, []string{tenant}, nil,
		phrase.Of("plan.sl-split",
			"tenant", tenant, "sls", sls, "groups", groups), splitFix)
}

// maxSharings bounds the number of tenant sets sharing an SL that have a finding of their own.
const maxSharings = 64

var (
	exhaustedFix = phrase.Of("plan.sl-exhausted.fix")
	undeclared   = phrase.Of("plan.sl-exhausted.declare.fix")
)

// sharers is a set of tenants that have one SL on some ports.
type sharers struct {
	tenants []int32
	sl      ident.SL
	ports   []string
	count   int
	pinned  bool // two of them are pinned to the SL on a port
	unknown bool // one of them is on a port where none of its declared flows begins or ends
}

// sharedSLs reports tenants that share an SL on a port from which they send or may send, one finding for each set of tenants.
func sharedSLs(m *model.Model, x *problem, senders []model.PortTenants, p Placements) []plan.Finding {
	roles := m.Roles()
	groups := make(map[string]*sharers)
	var order []*sharers
	for i := range senders {
		pt := &senders[i]
		var bySL [ident.NumSLs][]int32
		var pins [ident.NumSLs]int
		var unknown [ident.NumSLs]bool
		for k, t := range pt.Tenants {
			sl := p[t][pt.At[k]]
			bySL[sl] = append(bySL[sl], t)
			unknown[sl] = unknown[sl] || roles[t][pt.At[k]] == model.RoleUnknown
			if m.Tenants[t].Attachments[pt.At[k]].SL != nil {
				pins[sl]++
			}
		}
		for sl, ts := range bySL {
			if len(ts) < 2 {
				continue
			}
			key := fmt.Sprint(ts)
			g := groups[key]
			if g == nil {
				g = &sharers{tenants: ts, sl: ident.SL(sl)}
				groups[key] = g
				order = append(order, g)
			}
			g.pinned = g.pinned || pins[sl] > 1
			g.unknown = g.unknown || unknown[sl]
			if g.count++; g.count <= plan.MaxNames {
				ref, _ := m.Fabric.PortByID(pt.Port)
				g.ports = append(g.ports, m.Fabric.PortName(ref))
			}
		}
	}
	if len(order) == 0 {
		return nil
	}
	why := x.exhaustedReason()
	slices.SortStableFunc(order, func(a, b *sharers) int { return b.count - a.count })
	var out []plan.Finding
	for _, g := range order[:min(len(order), maxSharings)] {
		out = append(out, exhausted(m, g, why))
	}
	if rest := order[len(out):]; len(rest) > 0 {
		count := 0
		for _, g := range rest {
			count += g.count
		}
		out = append(out, plan.NewFinding(plan.CodeSLExhausted, nil, nil,
			phrase.Of("plan.sl-more", "sets", len(rest), "ports", count, "reason", why), exhaustedFix))
	}
	return out
}

// exhaustedReason states the least number of SLs needed, and which tenants need them.
func (x *problem) exhaustedReason() phrase.Text {
	if x.lowerBound != nil {
		x = x.lowerBound
	}
	var known []int32
	var where phrase.Text
	for i := range x.ports {
		p := &x.ports[i]
		if len(p.Tenants) <= len(known) {
			continue
		}
		known = known[:0:0]
		for k, t := range p.Tenants {
			known = append(known, x.nodeOf[t][p.At[k]])
		}
		ref, _ := x.m.Fabric.PortByID(p.Port)
		where = phrase.Of("plan.sl-from", "port", x.m.Fabric.PortName(ref))
	}
	found, exact := x.c.Clique(known, colour.CliqueSearch)
	if len(found) > len(known) {
		where = phrase.Of("plan.sl-pairwise")
	}
	search := phrase.Of("plan.sl-set-found")
	if exact {
		search = phrase.Of("plan.sl-set")
	}
	var names []string
	for _, v := range found {
		names = append(names, x.m.Tenants[x.nodes[v].tenant].Name)
	}
	slices.Sort(names)
	return phrase.Of("plan.sl-need",
		"n", len(found), "where", where, "names", []phrase.Text{phrase.Names(names, len(names), plan.MaxNames), search}, "need", len(found), "usable", len(x.m.Usable))
}

func exhausted(m *model.Model, g *sharers, why phrase.Text) plan.Finding {
	var names []string
	for _, t := range g.tenants {
		names = append(names, m.Tenants[t].Name)
	}
	fix := exhaustedFix
	if g.unknown {
		fix = undeclared
	}
	if g.pinned {
		why, fix = phrase.Of("plan.sl-pinned"), phrase.Of("plan.sl-pinned.fix")
	}
	return plan.NewFinding(plan.CodeSLExhausted, names, g.ports,
		phrase.Of("plan.sl-exhausted",
			"tenants", names, "sl", g.sl, "ports", plan.Counted(g.count, plan.KindPort), "reason", why), fix)
}

// WithShares adds the predicted shares of the tenants to the findings about shared SLs.
func WithShares(fs []plan.Finding, shares []plan.TenantShare) []plan.Finding {
	out := slices.Clone(fs)
	for i := range out {
		if out[i].Code != plan.CodeSLExhausted {
			continue
		}
		var parts []phrase.Text
		for _, t := range out[i].Tenants {
			k, ok := slices.BinarySearchFunc(shares, t, func(s plan.TenantShare, name string) int { return strings.Compare(s.Tenant, name) })
			if ok && shares[k].QPs > 0 {
				parts = append(parts, plan.InsteadOf(t, shares[k].Predicted, shares[k].Entitled))
			}
		}
		if len(parts) > 0 {
			out[i] = out[i].WithStatement(phrase.Of("plan.sl-predicted", "text", *out[i].Statement, "parts", parts))
		}
	}
	return out
}
