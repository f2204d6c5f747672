package telemetry

import (
	"slices"
	"strings"

	"fairlane/internal/phrase"
)

// JudgeBECN judges whether the congestion control of an InfiniBand fabric acts, by what its ports counted while the use of the
// contended links was measured: switches mark packets, and adapters receive BECNs in answer.
func JudgeBECN(c *Congestion, links []LinkUse) Loop {
	becn, held, counts := uint64(0), false, LogCoverage{}
	for i := range c.Ports {
		p := &c.Ports[i]
		if p.Adapter && (p.Err != nil || p.NoBECN) {
			counts.Lacking++
		} else if p.Adapter {
			counts.Counted++
		}
		if p.Err != nil {
			continue
		}
		held = held || p.Wait > 0 || slices.ContainsFunc(p.Congested[:], func(n uint64) bool { return n > 0 })
		for _, n := range p.BECN {
			becn += n
		}
	}
	figures := figuresOf(c, becn, counts)
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
	case counts.Counted == 0:
		l.Text = phrase.Of("{}: {}", phrase.Of("no adapter reports the BECNs that it received"), figures)
	case len(full) == 0:
		l.Text = phrase.Of("{}: {}", phrase.Of("no contended link was measured full with packets waiting"), figures)
	case c.Switch > 0:
		l.State, l.Stage, l.Where = LoopDead, StageNotifications, full
		l.Text = phrase.Of("{} at {}: {}", phrase.Of("switches mark packets and no adapter receives a BECN"), strings.Join(full, ", "), figures)
	case c.SwitchLogs.Lacking > 0:
		l.State, l.Stage, l.Where = LoopDead, StageNotifications, full
		l.Text = phrase.Of("{} at {}: {}", phrase.Of("no adapter receives a BECN, and whether switches mark packets was not measured"), strings.Join(full, ", "), figures)
	default:
		l.State, l.Stage, l.Where = LoopDead, StageMarks, full
		l.Text = phrase.Of("{} at {}: {}", phrase.Of("links are full, packets wait, and none is marked"), strings.Join(full, ", "), figures)
	}
	return l
}

// figuresOf says what was counted, and of each count whether something is missing in it.
func figuresOf(c *Congestion, becn uint64, ports LogCoverage) phrase.Text {
	if c.SwitchLogs.Lacking+c.AdapterLogs.Lacking+ports.Lacking == 0 {
		return phrase.Of("{} packets in the logs of switches, {} BECNs received, {} events in the logs of adapters", c.Switch, becn, c.Adapter)
	}
	figure := func(n uint64, of LogCoverage, whole, least, none phrase.Text) phrase.Text {
		switch {
		case of.Lacking == 0:
			return whole
		case n == 0:
			return none
		}
		return least
	}
	return phrase.Of("{}", phrase.Commas{
		figure(c.Switch, c.SwitchLogs, phrase.Of("{} packets in the logs of switches", c.Switch),
			phrase.Of("at least {} packets in the logs of switches", c.Switch), phrase.Of("packets in the logs of switches not measured")),
		figure(becn, ports, phrase.Of("{} BECNs received", becn),
			phrase.Of("at least {} BECNs received", becn), phrase.Of("BECNs received not measured")),
		figure(c.Adapter, c.AdapterLogs, phrase.Of("{} events in the logs of adapters", c.Adapter),
			phrase.Of("at least {} events in the logs of adapters", c.Adapter), phrase.Of("events in the logs of adapters not measured")),
	})
}
