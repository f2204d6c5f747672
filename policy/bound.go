package policy

import "slices"

// What the prediction of an InfiniBand plan may be off by, relative: fitted to packet simulations of random cases
// (see docs/compiler.md), of which 95 in 100 lie well within the sum.
const (
	boundBase    = 0.02   // the chance of who is marked
	boundSingle  = 0.0125 // of a tenant that marks steer by a single CCTI, so that its chances do not average out
	boundFew     = 0.015  // of one with less than fewQPs queue pairs
	boundFull    = 0.015  // for each full link beyond the first on the longest way that meets the tenant's: links that wait for each other do not fill
	boundSending = 0.20   // where queue pairs take turns at a sending port and answer marks as well
	fewQPs       = 4
	fullLoad     = 0.97 // of a link's capacity, entitled: from here on it marks now and then
)

// bounds is the relative error that each tenant's prediction may have on InfiniBand.
func (s *settings) bounds() []float64 {
	full := s.m.fullLinks(s.target)
	near, links := s.m.besideTurns(s.target, full), s.m.longestWays(full)
	qps, steered := s.steered()
	out := make([]float64, len(s.m.tenants))
	for t := range out {
		out[t] = boundBase + float64(boundFull*float64(max(0, links[t]-1)))
		if steered[t] <= 1 {
			out[t] += boundSingle
		}
		if qps[t] < fewQPs {
			out[t] += boundFew
		}
		if near[t] {
			out[t] += boundSending
		}
	}
	return out
}

// steered counts the queue pairs of each tenant, and the CCTIs that hold them.
func (s *settings) steered() (qps, cctis []float64) {
	qps, cctis = make([]float64, len(s.m.tenants)), make([]float64, len(s.m.tenants))
	last := make([]int32, len(s.all)) // tenant + 1 whose flow was the last to be seen on a setting
	l := s.m.lay()
	for i, t := range l.tenant {
		k := s.ofFlow[i]
		qps[t] += l.qps[i]
		switch {
		case !s.ports[s.all[k].port].perSL:
			cctis[t] += l.qps[i]
		case last[k] != t+1:
			cctis[t]++
			last[k] = t + 1
		}
	}
	return qps, cctis
}

// longestWays is, of each tenant, the most full links that a flow crosses which meets one of the tenant's on a full link. Only links that mark count.
func (m *model) longestWays(full []bool) []int {
	l := m.lay()
	most, out := make([]int, len(m.caps)), make([]int, len(m.tenants))
	marks := func(d int32) bool { return full[d] && !l.sends[d] }
	for i := range l.tenant {
		hops, n := l.hops[l.first[i]:l.first[i+1]], 0
		for _, d := range hops {
			if marks(d) {
				n++
			}
		}
		for _, d := range hops {
			most[d] = max(most[d], n)
		}
	}
	for i, t := range l.tenant {
		for _, d := range l.hops[l.first[i]:l.first[i+1]] {
			if marks(d) {
				out[t] = max(out[t], most[d])
			}
		}
	}
	return out
}

// besideTurns are the tenants that take turns at a sending port, and those that meet one of these on a full link.
func (m *model) besideTurns(target *allocation, full []bool) []bool {
	turns := m.tenantsTakingTurns(target)
	near := slices.Clone(turns)
	if !slices.Contains(turns, true) {
		return near
	}
	l := m.parts()
	for d, on := range full {
		met := l.carries[l.firstPart[d]:l.firstPart[d+1]]
		if !on || !slices.ContainsFunc(met, func(c carried) bool { return turns[c.tenant] }) {
			continue
		}
		for _, c := range met {
			near[c.tenant] = true
		}
	}
	return near
}

// fullLinks are the link directions that the entitlements nearly fill.
func (m *model) fullLinks(target *allocation) []bool {
	load, l := make([]float64, len(m.caps)), m.lay()
	for i, r := range target.rates {
		for _, d := range l.hops[l.first[i]:l.first[i+1]] {
			load[d] += r
		}
	}
	full := make([]bool, len(m.caps))
	for d := range full {
		full[d] = load[d] >= float64(fullLoad*m.caps[d])
	}
	return full
}

// tenantsTakingTurns are those with a flow over a sending port that limits it and that other tenants send
// from as well.
func (m *model) tenantsTakingTurns(target *allocation) []bool {
	const none, many = -1, -2
	only := make([]int32, len(m.caps)) // the one tenant that sends there
	for d := range only {
		only[d] = none
	}
	l := m.lay()
	for i, t := range l.tenant {
		switch d := l.hops[l.first[i]]; only[d] {
		case none:
			only[d] = t
		case t, many:
		default:
			only[d] = many
		}
	}
	out := make([]bool, len(m.tenants))
	for i, t := range l.tenant {
		if d := l.hops[l.first[i]]; only[d] == many && target.limiting[d] {
			out[t] = true
		}
	}
	return out
}
