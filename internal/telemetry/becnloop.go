package telemetry

import (
	"slices"
	"strings"

	"fairlane/internal/phrase"
)

// JudgeBECN judges whether the congestion control of an InfiniBand fabric acts, by what its ports counted while the use of the
// contended links was measured: switches mark packets, and adapters receive BECNs in answer.
func JudgeBECN(c *Congestion, links []LinkUse) Loop {
	becn, counts, held := uint64(0), false, false
	for i := range c.Ports {
		p := &c.Ports[i]
		if p.Err != nil {
			continue
		}
		held = held || p.Wait > 0 || slices.ContainsFunc(p.Congested[:], func(n uint64) bool { return n > 0 })
		for _, n := range p.BECN {
			becn += n
		}
		counts = counts || p.Adapter && !p.NoBECN
	}
	figures := phrase.Of("{} packets in the logs of switches, {} BECNs received, {} events in the logs of adapters", c.Switch, becn, c.Adapter)
	l := Loop{State: LoopNotTested, Marks: c.Switch, Handled: becn}
	var full []string
	for i := range links {
		if u := &links[i]; held && u.Utilisation != nil && *u.Utilisation >= fullLink && len(full) < maxLoopPorts {
			full = append(full, u.Name)
		}
	}
	slices.Sort(full)
	switch {
	case c.Adapter > 0: // CCTIs reached their Trigger_Threshold, so that adapters delayed packets (IBTA vol. 1, annex A10)
		l.State, l.Text = LoopActing, figures
	case becn > 0: // no attribute shows a CCTI below the threshold
		l.State, l.Text = LoopActing, phrase.Of("{}; whether rates moved was not measured: no adapter logged a CCTI at its Trigger_Threshold", figures)
	case !counts:
		l.Text = phrase.Of("{}: {}", phrase.Of("no adapter reports the BECNs that it received"), figures)
	case len(full) == 0:
		l.Text = phrase.Of("{}: {}", phrase.Of("no contended link was measured full with packets waiting"), figures)
	case c.Switch > 0:
		l.State, l.Stage, l.Where = LoopDead, StageNotifications, full
		l.Text = phrase.Of("{} at {}: {}", phrase.Of("switches mark packets and no adapter receives a BECN"), strings.Join(full, ", "), figures)
	default:
		l.State, l.Stage, l.Where = LoopDead, StageMarks, full
		l.Text = phrase.Of("{} at {}: {}", phrase.Of("links are full, packets wait, and none is marked"), strings.Join(full, ", "), figures)
	}
	return l
}
