package model

// Changes lists what a second compilation of the same flows must compute anew.
type Changes struct {
	Moved []bool // by link direction: it limits a flow in only one of the two compilations; nil when no link direction differs
	Flows []bool // by flow: its entitlement or its bottleneck differs, or its path crosses a moved link
}

// ChangesSince compares a target with an earlier one of the same flows.
func (m *Model) ChangesSince(target, before *Allocation) Changes {
	a := Changes{Flows: make([]bool, len(m.Flows))}
	for d, on := range target.Limiting {
		if on != before.Limiting[d] {
			if a.Moved == nil {
				a.Moved = make([]bool, len(m.Caps))
			}
			a.Moved[d] = true
		}
	}
	l := m.Layout()
	for i := range a.Flows {
		a.Flows[i] = target.Rates[i] != before.Rates[i] || target.Bottleneck[i] != before.Bottleneck[i] || target.Limits[i] != before.Limits[i]
		if a.Flows[i] || a.Moved == nil {
			continue
		}
		for _, d := range l.Hops[l.First[i]:l.First[i+1]] {
			if a.Moved[d] {
				a.Flows[i] = true
				break
			}
		}
	}
	return a
}

// MarksSince returns MarksOf(target), reusing the result of the earlier compilation.
func (m *Model) MarksSince(target *Allocation, a Changes, before []int32) []int32 {
	if a.Moved == nil {
		return before
	}
	return m.MarksOf(target)
}

// Kind states which flows a setting's rate was derived from.
type Kind uint8

// Kinds of rates.
const (
	Contended   Kind = iota // flows limited by a link that marks
	Uncontended             // flows that no link marks
	Idle                    // no flows: the rate is the tenants' share of the port by weight
)

// MarksOf counts, for each flow, the links on its path that mark and that limit at least one flow.
func (m *Model) MarksOf(target *Allocation) []int32 {
	marking := make([]bool, len(m.Caps))
	for d, on := range target.Limiting {
		marking[d] = on && m.Marks(int32(d))
	}
	out, l := make([]int32, len(m.Flows)), m.Layout()
	for i := range out {
		n := int32(0)
		for _, d := range l.Hops[l.First[i]:l.First[i+1]] {
			if marking[d] {
				n++
			}
		}
		out[i] = n
	}
	return out
}
