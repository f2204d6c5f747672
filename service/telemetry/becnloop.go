package telemetry

import (
	"slices"

	"fairlane/internal/phrase"
)

// JudgeBECN judges whether the congestion control of an InfiniBand fabric acts, from what its ports counted while the use
// of the contended links was measured: switches mark packets, and adapters receive BECNs in response.
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
		l.State, l.Text = LoopActing, phrase.Of("loop.no-trigger", "figures", figures)
	case counts.Counted == 0:
		l.Text = phrase.Of("labelled", "label", phrase.Of("loop.no-becn-counters"), "text", figures)
	case len(full) == 0:
		l.Text = phrase.Of("labelled", "label", phrase.Of("loop.no-full-link"), "text", figures)
	case c.Switch > 0:
		l.State, l.Stage, l.Where = LoopDead, StageNotifications, full
		l.Text = phrase.Of("loop.finding", "what", phrase.Of("loop.marks-without-becn"), "where", full, "figures", figures)
	case c.SwitchLogs.Lacking > 0:
		l.State, l.Stage, l.Where = LoopDead, StageNotifications, full
		l.Text = phrase.Of("loop.finding", "what", phrase.Of("loop.no-becn"), "where", full, "figures", figures)
	default:
		l.State, l.Stage, l.Where = LoopDead, StageMarks, full
		l.Text = phrase.Of("loop.finding", "what", phrase.Of("loop.no-marks"), "where", full, "figures", figures)
	}
	return l
}

// figuresOf lists the counts, and marks each count that is incomplete.
func figuresOf(c *Congestion, becn uint64, ports LogCoverage) phrase.Text {
	if c.SwitchLogs.Lacking+c.AdapterLogs.Lacking+ports.Lacking == 0 {
		return phrase.Of("loop.figures", "switches", c.Switch, "becn", becn, "adapters", c.Adapter)
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
	return phrase.Commas{
		figure(c.Switch, c.SwitchLogs, phrase.Of("loop.switches", "n", c.Switch),
			phrase.Of("loop.switches-least", "n", c.Switch), phrase.Of("loop.switches-none")),
		figure(becn, ports, phrase.Of("loop.becn", "n", becn),
			phrase.Of("loop.becn-least", "n", becn), phrase.Of("loop.becn-none")),
		figure(c.Adapter, c.AdapterLogs, phrase.Of("loop.adapters", "n", c.Adapter),
			phrase.Of("loop.adapters-least", "n", c.Adapter), phrase.Of("loop.adapters-none")),
	}.Text()
}
