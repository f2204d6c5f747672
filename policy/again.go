package policy

// again is what two compilations of the same flows, one after the other, tell of what must be computed anew.
type again struct {
	moved []bool // by link direction: it limits somebody now and did not before, or the other way about; nil when none did
	flows []bool // by flow: it is entitled to something else, another link limits it, or a moved link is on its way
}

// since compares a target with one before, of the same flows.
func (m *model) since(target, before *allocation) again {
	a := again{flows: make([]bool, len(m.flows))}
	for d, on := range target.limiting {
		if on != before.limiting[d] {
			if a.moved == nil {
				a.moved = make([]bool, len(m.caps))
			}
			a.moved[d] = true
		}
	}
	l := m.lay()
	for i := range a.flows {
		a.flows[i] = target.rates[i] != before.rates[i] || target.bottleneck[i] != before.bottleneck[i] || target.limits[i] != before.limits[i]
		if a.flows[i] || a.moved == nil {
			continue
		}
		for _, d := range l.hops[l.first[i]:l.first[i+1]] {
			if a.moved[d] {
				a.flows[i] = true
				break
			}
		}
	}
	return a
}

// marksSince is marksOf the target when those before are known.
func (m *model) marksSince(target *allocation, a again, before []int32) []int32 {
	if a.moved == nil {
		return before
	}
	return m.marksOf(target)
}

// settingKind says what a setting's rate was taken from.
type settingKind uint8

const (
	settingContended   settingKind = iota // flows that a marking link limits
	settingUncontended                    // flows that nothing marks
	settingIdle                           // no flows: the tenants' share of the port by weight
)

// marksOf counts the links that limit somebody and mark, on each flow's way.
func (m *model) marksOf(target *allocation) []int32 {
	marking := make([]bool, len(m.caps))
	for d, on := range target.limiting {
		marking[d] = on && m.marks(int32(d))
	}
	out, l := make([]int32, len(m.flows)), m.lay()
	for i := range out {
		n := int32(0)
		for _, d := range l.hops[l.first[i]:l.first[i+1]] {
			if marking[d] {
				n++
			}
		}
		out[i] = n
	}
	return out
}
