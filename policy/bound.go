package policy

import "slices"

// What the prediction of an InfiniBand plan may be off by, relative: fitted to packet simulations of random cases
// (see docs/compiler.md), of which 95 in 100 lie within the sum.
const (
	boundBase    = 0.025  // saw-tooth, and the chance of who is marked
	boundFew     = 0.025  // of a tenant with less than fewQPs queue pairs, whose chances do not average out
	boundFull    = 0.0175 // for each full link beyond the first on a flow's way
	boundSending = 0.20   // where queue pairs take turns at a sending port and answer marks as well
	fewQPs       = 4
	fullLoad     = 0.97 // of a link's capacity, entitled: from here on it marks now and then
)

// bounds is the relative error that each tenant's prediction may have on InfiniBand.
func (s *settings) bounds() []float64 {
	m, l := s.m, s.m.lay()
	full := m.fullLinks(s.target)
	near := s.besideTurns(full)
	links := make([]int, len(m.tenants))
	qps := make([]float64, len(m.tenants))
	for i, t := range l.tenant {
		n := 0
		for _, d := range l.hops[l.first[i]:l.first[i+1]] {
			if full[d] {
				n++
			}
		}
		links[t] = max(links[t], n)
		qps[t] += l.qps[i]
	}
	out := make([]float64, len(m.tenants))
	for t := range out {
		out[t] = boundBase + float64(boundFull*float64(max(0, links[t]-1)))
		if qps[t] < fewQPs {
			out[t] += boundFew
		}
		if near[t] {
			out[t] += boundSending
		}
	}
	return out
}

// besideTurns are the tenants that take turns at a sending port, and those that meet one of these on a full link.
func (s *settings) besideTurns(full []bool) []bool {
	turns := s.tenantsTakingTurns()
	near := slices.Clone(turns)
	if !slices.Contains(turns, true) {
		return near
	}
	l := s.m.parts()
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
func (s *settings) tenantsTakingTurns() []bool {
	m := s.m
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
		if d := l.hops[l.first[i]]; only[d] == many && s.target.limiting[d] {
			out[t] = true
		}
	}
	return out
}
