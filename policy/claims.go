package policy

import (
	"cmp"
	"maps"
	"slices"

	"fairlane/internal/phrase"
	"fairlane/internal/quantity"
	"fairlane/policy/fill"
	"fairlane/policy/model"
	"fairlane/policy/plan"
	"fairlane/policy/roce"
	"fairlane/subnet"
	"fairlane/tenants"
)

// Feeds report the rates that are promised to a tenant's workloads on its ports (tenants.Attachment.Claimed), such as bandwidth that a
// scheduler books. A plan holds their sum against what the tenant has for sure of the port, when every tenant sends there.

// excess is a port on which more is claimed than given.
type excess struct {
	port           string
	line           quantity.BitRate
	claimed, given quantity.BitRate
	weight         quantity.Weight // smallest that gives as much as is claimed; 0: none does
}

func (e excess) missing() quantity.BitRate { return e.claimed - e.given }

// claimFindings reports, for each tenant, the ports on which its workloads are promised more than the plan gives the tenant for sure.
func claimFindings(m *model.Model, s *roce.Settings) []plan.Finding {
	if !slices.ContainsFunc(m.Tenants, claims) {
		return nil
	}
	of := make(map[int32][]excess)
	for _, pt := range m.TenantsByPort() {
		for i, t := range pt.Tenants {
			claimed := m.Tenants[t].Attachments[pt.At[i]].Claimed
			if claimed == 0 {
				continue
			}
			x := newPromise(m, s, &pt, t)
			given := x.given(m.Tenants[t].Weight)
			if claimed <= given {
				continue
			}
			ref, _ := m.Fabric.PortByID(pt.Port)
			of[t] = append(of[t], excess{m.Fabric.PortName(ref), x.line, claimed, given, x.weightFor(claimed)})
		}
	}
	out := make([]plan.Finding, 0, len(of))
	for _, t := range slices.Sorted(maps.Keys(of)) {
		out = append(out, claimFinding(m, t, of[t]))
	}
	return out
}

// claims reports whether workloads of a tenant are promised anything.
func claims(t tenants.Tenant) bool {
	return slices.ContainsFunc(t.Attachments, func(a tenants.Attachment) bool { return a.Claimed > 0 })
}

// claimFinding reports the ports of one tenant, by the one that misses most.
func claimFinding(m *model.Model, t int32, ports []excess) plan.Finding {
	slices.SortStableFunc(ports, func(a, b excess) int { return cmp.Compare(b.missing(), a.missing()) })
	worst, tenant := ports[0], m.Tenants[t].Name
	links, others := make([]string, len(ports)), phrase.Text{}
	for i, e := range ports {
		links[i] = e.port
	}
	if len(ports) > 1 {
		others = phrase.Of("plan.worst-of", "ports", len(ports))
	}
	return plan.NewFinding(plan.CodeClaimsExceed, []string{tenant}, plan.Bounded(links),
		phrase.Of("plan.claims-exceed", "tenant", tenant, "port", worst.port, "others", others, "claimed", worst.claimed, "given", worst.given, "missing", worst.missing()),
		claimFix(m, t, ports))
}

// claimFix returns what gives the tenant as much as is claimed. A weight is one that suffices on all ports where some weight does.
func claimFix(m *model.Model, t int32, ports []excess) phrase.Text {
	worst, most := ports[0], quantity.Weight(0)
	for _, e := range ports {
		most = max(most, e.weight)
	}
	switch limit := m.Tenants[t].Cap; {
	case worst.claimed > worst.line:
		return phrase.Of("plan.claims-exceed.port.fix", "line", worst.line)
	case limit > 0 && limit < worst.claimed:
		return phrase.Of("plan.claims-exceed.cap.fix", "cap", limit, "claimed", worst.claimed)
	case worst.weight == 0 && m.Plane == subnet.PlaneRoCE && worst.given == 0:
		return phrase.Of("plan.claims-exceed.flows.fix")
	case worst.weight == 0:
		return phrase.Of("plan.claims-exceed.alone.fix", "missing", worst.missing())
	case m.Plane == subnet.PlaneRoCE: // shares of virtual functions are by weight alone
		return phrase.Of("plan.claims-exceed.weight.fix", "weight", most.String(), "missing", worst.missing())
	}
	return phrase.Of("plan.claims-exceed.guarantee.fix", "weight", most.String(), "claimed", worst.claimed, "missing", worst.missing())
}

// promise is what a tenant has for sure of a port.
type promise struct {
	line  quantity.BitRate
	given func(quantity.Weight) quantity.BitRate // by the tenant's weight
}

// newPromise returns what tenant t has for sure of one of its ports. On RoCE it is the share of its virtual functions. On other planes it is
// the tenant's part of the link by weights, guarantees and caps.
func newPromise(m *model.Model, s *roce.Settings, pt *model.PortTenants, t int32) promise {
	ref, _ := m.Fabric.PortByID(pt.Port)
	line := m.Caps[model.Direction(m.Fabric, ref)]
	out := promise{line: model.Rate(line)}
	if m.Plane == subnet.PlaneRoCE {
		out.given = func(w quantity.Weight) quantity.BitRate {
			sure := s.ForSure(t, pt.Port, w)
			if limit := m.Tenants[t].Cap; limit > 0 {
				sure = min(sure, limit)
			}
			return sure
		}
		return out
	}
	roles, mine := m.Roles(), 0
	var all fill.Problem
	for i, other := range pt.Tenants {
		switch {
		case other == t:
			mine = len(all.TenantWeight)
		case roles[other][pt.At[i]] == model.RoleReceives:
			continue
		}
		tn := &m.Tenants[other]
		all.TenantWeight, all.Guarantee, all.Cap = append(all.TenantWeight, float64(tn.Weight)), append(all.Guarantee, float64(tn.Guarantee)), append(all.Cap, float64(tn.Cap))
	}
	out.given = func(w quantity.Weight) quantity.BitRate {
		all.TenantWeight[mine] = float64(w)
		return model.Rate(all.Parts(line)[mine])
	}
	return out
}

// weightFor returns the smallest weight by which as much is given as claimed; 0 if none does.
func (p promise) weightFor(claimed quantity.BitRate) quantity.Weight {
	low, high := quantity.MinWeight, quantity.MaxWeight
	if p.given(high) < claimed {
		return 0
	}
	for low < high {
		if mid := low + (high-low)/2; p.given(mid) >= claimed {
			high = mid
		} else {
			low = mid + 1
		}
	}
	return low
}
