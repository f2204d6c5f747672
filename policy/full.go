package policy

import "slices"

const (
	// boundSpare is what a prediction may be off by, relative, beside a flow over a full link that limits no flow: it marks now and then.
	boundSpare = 0.08
	// fullLoad is the part of a link's capacity, entitled, from which on it marks now and then.
	fullLoad = 0.95
)

// beside are the tenants with a flow of some kind, and those that meet one on a link that limits flows and marks.
func (m *model) beside(target *allocation, kind func(i int) bool) []bool {
	l, out, met := m.lay(), make([]bool, len(m.tenants)), make([]bool, len(m.caps))
	for i, t := range l.tenant {
		if !kind(i) {
			continue
		}
		out[t] = true
		for _, d := range l.hops[l.first[i]:l.first[i+1]] {
			met[d] = target.limiting[d] && !l.sends[d]
		}
	}
	for i, t := range l.tenant {
		out[t] = out[t] || slices.ContainsFunc(l.hops[l.first[i]:l.first[i+1]], func(d int32) bool { return met[d] })
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

// fullLinks are the link directions that an allocation nearly fills.
func (m *model) fullLinks(a *allocation) []bool { return fullOf(m.loads(a.rates), m.caps) }

// fullOf are those whose load is nearly their capacity.
func fullOf(load, caps []float64) []bool {
	full := make([]bool, len(caps))
	for d, c := range caps {
		full[d] = load[d] >= float64(fullLoad*c)
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
