package fill

import "slices"

// same reports whether a part of a problem has the same solution as a part of the last problem.
func (s *Solver) same(p *Problem, use []bool, pt, old *part) bool {
	if len(pt.flows) != len(old.flows) {
		return false
	}
	q := s.problem
	for i, f := range pt.flows {
		g := old.flows[i]
		if !s.sameHops(p, use, f, g) || !sameFlow(p, q, f, g) {
			return false
		}
		if p.flat() {
			continue
		}
		if !sameOwner(p, q, f, g) || !slices.Equal(p.linkWeights(f), q.linkWeights(g)) {
			return false
		}
		if i > 0 && !sameOwners(p, q, [2]int32{pt.flows[i-1], f}, [2]int32{old.flows[i-1], g}) {
			return false
		}
	}
	return true
}

// sameHops reports whether two flows cross the same links with the same effect.
func (s *Solver) sameHops(p *Problem, use []bool, f, g int32) bool {
	q := s.problem
	a, b := p.Hops[p.First[f]:p.First[f+1]], q.Hops[q.First[g]:q.First[g+1]]
	if !slices.Equal(a, b) {
		return false
	}
	for _, l := range a {
		if use[l] != s.use[l] || use[l] && (p.Capacity[l] != q.Capacity[l] || p.nominal()[l] != q.nominal()[l] || p.sends(l) != q.sends(l)) {
			return false
		}
	}
	return true
}

// linkWeights returns the weights of a flow's tenant along its path; nil where they are the same on all links.
func (p *Problem) linkWeights(f int32) []float64 {
	if p.LinkWeight == nil {
		return nil
	}
	return p.LinkWeight[p.First[f]:p.First[f+1]]
}

func (p *Problem) sends(l int32) bool { return p.Sends != nil && p.Sends[l] }

// sameFlow compares the demands, bounds and weights of two flows.
func sameFlow(p, q *Problem, f, g int32) bool {
	for _, s := range [...][2][]float64{{p.Units, q.Units}, {p.Demand, q.Demand}, {p.Ceiling, q.Ceiling}, {p.Floor, q.Floor}, {p.Sending, q.Sending}, {p.count(), q.count()}} {
		if entry(s[0], f) != entry(s[1], g) {
			return false
		}
	}
	return true
}

// sameOwner compares the tenants and classes of two flows, ignoring their numbers.
func sameOwner(p, q *Problem, f, g int32) bool {
	t, u := p.Tenant[f], q.Tenant[g]
	return p.TenantWeight[t] == q.TenantWeight[u] && p.ClassWeight[p.Class[f]] == q.ClassWeight[q.Class[g]] &&
		entry(p.Guarantee, t) == entry(q.Guarantee, u) && entry(p.Cap, t) == entry(q.Cap, u)
}

// sameOwners reports whether two pairs of flows agree on sharing a tenant and on sharing a class.
func sameOwners(p, q *Problem, f, g [2]int32) bool {
	return (p.Tenant[f[0]] == p.Tenant[f[1]]) == (q.Tenant[g[0]] == q.Tenant[g[1]]) &&
		(p.Class[f[0]] == p.Class[f[1]]) == (q.Class[g[0]] == q.Class[g[1]])
}

func entry(s []float64, i int32) float64 {
	if s == nil {
		return 0
	}
	return s[i]
}

// reuse takes over the solution of a part.
func (s *Solver) reuse(sol *Solution, pt, old *part) {
	pt.over, pt.residual, pt.approximate, pt.misses = old.over, old.residual, old.approximate, old.misses
	for i, f := range pt.flows {
		g := old.flows[i]
		sol.Rates[f], sol.Bottleneck[f], sol.Limits[f] = s.found.Rates[g], s.found.Bottleneck[g], s.found.Limits[g]
	}
}
