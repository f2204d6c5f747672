package telemetry

import (
	"fmt"
	"slices"
	"strings"
)

// JudgeBECN says whether the congestion control of an InfiniBand fabric acts, by what its ports counted while the use of the
// contended links was measured: switches mark, adapters receive the BECNs that answer.
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
	l := Loop{Marks: c.Switch, Handled: becn}
	end := func(s LoopState, stage LoopStage, where []string, text string) Loop {
		l.State, l.Stage, l.Where = s, stage, where
		l.Text = fmt.Sprintf("%s: %d packets in the logs of switches, %d BECNs received, %d events in the logs of adapters", text, c.Switch, becn, c.Adapter)
		return l
	}
	var full []string
	for i := range links {
		if u := &links[i]; held && u.Utilisation != nil && *u.Utilisation >= fullLink && len(full) < maxLoopPorts {
			full = append(full, u.Name)
		}
	}
	slices.Sort(full)
	switch {
	case becn > 0 || c.Adapter > 0:
		return end(LoopActing, "", nil, "congestion control acts")
	case !counts:
		return end(LoopNotTested, "", nil, "congestion control was not tested: no adapter told how many BECNs it received")
	case len(full) == 0:
		return end(LoopNotTested, "", nil, "congestion control was not tested: no contended link was full with packets that wait while counters were read")
	case c.Switch > 0:
		return end(LoopDead, StageNotifications, full, "switches mark packets and no adapter receives a BECN, at "+strings.Join(full, ", "))
	}
	return end(LoopDead, StageMarks, full, "links are full, packets wait, and none is marked, at "+strings.Join(full, ", "))
}
