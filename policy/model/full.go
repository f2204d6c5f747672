package model

import "slices"

const (
	// BoundSpare is the relative error of predictions for a flow that crosses a full link limiting no flow: such a link marks now and then.
	BoundSpare = 0.08
	// fullLoad is the entitled load, as part of the capacity, above which a link marks now and then.
	fullLoad = 0.95
)

// TenantsMeeting flags the tenants with a flow that kind selects, and the tenants that meet such a flow on a link that limits flows and marks.
func (m *Model) TenantsMeeting(target *Allocation, kind func(i int) bool) []bool {
	l, out, meeting := m.Layout(), make([]bool, len(m.Tenants)), make([]bool, len(m.Caps))
	for i, t := range l.Tenant {
		if !kind(i) {
			continue
		}
		out[t] = true
		for _, d := range l.Hops[l.First[i]:l.First[i+1]] {
			meeting[d] = target.Limiting[d] && !l.Sends[d]
		}
	}
	for i, t := range l.Tenant {
		out[t] = out[t] || slices.ContainsFunc(l.Hops[l.First[i]:l.First[i+1]], func(d int32) bool { return meeting[d] })
	}
	return out
}

// TenantsMeetingTurns flags the tenants that take turns at a sending port, and the tenants that meet one of them on a full link.
func (m *Model) TenantsMeetingTurns(target *Allocation, full []bool) []bool {
	turns := m.tenantsTakingTurns(target)
	out := slices.Clone(turns)
	if !slices.Contains(turns, true) {
		return out
	}
	l := m.Parts()
	for d, on := range full {
		meeting := l.carries[l.FirstPart[d]:l.FirstPart[d+1]]
		if !on || !slices.ContainsFunc(meeting, func(c Carried) bool { return turns[c.tenant] }) {
			continue
		}
		for _, c := range meeting {
			out[c.tenant] = true
		}
	}
	return out
}

// FullLinks flags the link directions that an allocation nearly fills.
func (m *Model) FullLinks(a *Allocation) []bool { return fullOf(m.Loads(a.Rates), m.Caps) }

// fullOf flags the link directions whose load is close to their capacity.
func fullOf(load, caps []float64) []bool {
	full := make([]bool, len(caps))
	for d, c := range caps {
		full[d] = load[d] >= float64(fullLoad*c)
	}
	return full
}

// tenantsTakingTurns flags the tenants with a flow limited by a sending port from which other tenants send as well.
func (m *Model) tenantsTakingTurns(target *Allocation) []bool {
	const none, many = -1, -2
	only := make([]int32, len(m.Caps)) // the only tenant that sends there
	for d := range only {
		only[d] = none
	}
	l := m.Layout()
	for i, t := range l.Tenant {
		switch d := l.Hops[l.First[i]]; only[d] {
		case none:
			only[d] = t
		case t, many:
		default:
			only[d] = many
		}
	}
	out := make([]bool, len(m.Tenants))
	for i, t := range l.Tenant {
		if d := l.Hops[l.First[i]]; only[d] == many && target.Limiting[d] {
			out[t] = true
		}
	}
	return out
}
