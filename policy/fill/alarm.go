package fill

// alarms are visits of the history that the replay must follow, at most one for each link.
type alarms struct {
	due   linkSet     // in the current wave
	later [][][]int32 // by phase, then wave: links
}

// set sets an alarm for a moment after now.
func (a *alarms) set(then, now moment) {
	phase, wave, link := then.phase(), then.wave(), int32(then.link())
	if phase == now.phase() && wave == now.wave() {
		a.due.add(link)
		return
	}
	for len(a.later) <= phase {
		a.later = append(a.later, nil)
	}
	for len(a.later[phase]) <= wave {
		a.later[phase] = append(a.later[phase], nil)
	}
	a.later[phase][wave] = append(a.later[phase][wave], link)
}

// next returns the first later wave of a phase that has alarms; negative when there is none.
func (a *alarms) next(phase, wave int) int {
	if phase < len(a.later) {
		for w := wave + 1; w < len(a.later[phase]); w++ {
			if len(a.later[phase][w]) > 0 {
				return w
			}
		}
	}
	return -1
}

// begin begins a wave, after all alarms of the previous one have gone off.
func (a *alarms) begin(phase, wave int) {
	if phase >= len(a.later) || wave >= len(a.later[phase]) {
		return
	}
	at := &a.later[phase][wave]
	for _, l := range *at {
		a.due.add(l)
	}
	*at = (*at)[:0]
}
