package model

// Again is what two compilations of the same flows, one after the other, tell of what must be recomputed.
type Again struct {
	Moved []bool // by link direction: it limits a flow now and did not before, or the other way about; nil when none did
	Flows []bool // by flow: it is entitled to something else, another link limits it, or a moved link is on its path
}

// Since compares a target with one before, of the same flows.
func (m *Model) Since(target, before *Allocation) Again {
	a := Again{Flows: make([]bool, len(m.Flows))}
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

// MarksSince is MarksOf the target when those before are known.
func (m *Model) MarksSince(target *Allocation, a Again, before []int32) []int32 {
	if a.Moved == nil {
		return before
	}
	return m.MarksOf(target)
}

// Kind says what a setting's rate was taken from.
type Kind uint8

// What a rate was taken from.
const (
	Contended   Kind = iota // flows that a marking link limits
	Uncontended             // flows that nothing marks
	Idle                    // no flows: the tenants' share of the port by weight
)

// MarksOf counts the links that limit a flow and mark, on each flow's path.
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
