package policy

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
	m := s.m
	full := m.fullLinks(s.target)
	turns := s.tenantsTakingTurns()
	meets := make([]bool, len(m.caps)) // full links that such a tenant crosses
	links := make([]int, len(m.tenants))
	qps := make([]float64, len(m.tenants))
	for i := range m.flows {
		f := &m.flows[i]
		n := 0
		for _, d := range f.links {
			if full[d] {
				n++
				meets[d] = meets[d] || turns[f.tenant]
			}
		}
		links[f.tenant] = max(links[f.tenant], n)
		qps[f.tenant] += f.qps
	}
	near := make([]bool, len(m.tenants))
	for i := range m.flows {
		for _, d := range m.flows[i].links {
			near[m.flows[i].tenant] = near[m.flows[i].tenant] || meets[d]
		}
	}
	out := make([]float64, len(m.tenants))
	for t := range out {
		out[t] = boundBase + float64(boundFull*float64(max(0, links[t]-1)))
		if qps[t] < fewQPs {
			out[t] += boundFew
		}
		if turns[t] || near[t] {
			out[t] += boundSending
		}
	}
	return out
}

// fullLinks are the link directions that the entitlements nearly fill.
func (m *model) fullLinks(target *allocation) []bool {
	load := make([]float64, len(m.caps))
	for i := range m.flows {
		for _, d := range m.flows[i].links {
			load[d] += target.rates[i]
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
	for i := range m.flows {
		switch d := m.flows[i].links[0]; only[d] {
		case none:
			only[d] = m.flows[i].tenant
		case m.flows[i].tenant, many:
		default:
			only[d] = many
		}
	}
	out := make([]bool, len(m.tenants))
	for i := range m.flows {
		if d := m.flows[i].links[0]; only[d] == many && s.target.limiting[d] {
			out[m.flows[i].tenant] = true
		}
	}
	return out
}
