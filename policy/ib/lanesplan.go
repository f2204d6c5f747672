package ib

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"fairlane/internal/phrase"
	"fairlane/policy/model"
	"fairlane/policy/plan"
	"fairlane/subnet/ident"
)

// maxLaneMiss is the relative error of a lane's share up to which there is no finding.
const maxLaneMiss = 0.05

// lanePlans assembles the lanes of each port.
func (s *Settings) lanePlans() []plan.LanePlan {
	var out []plan.LanePlan
	for i := range s.lanes {
		l := &s.lanes[i]
		p := &s.ports[l.port]
		out = append(out, plan.LanePlan{Port: p.id, Name: s.m.Fabric.PortName(p.ref), SL2VL: l.sl2vl, Low: l.low, Reasons: s.laneReasons(l)})
	}
	return out
}

func (s *Settings) laneReasons(l *lanes) []plan.Reason {
	out := []plan.Reason{{Field: "sl2vl", Value: vlList(l.sl2vl[:]), Range: fmt.Sprintf("0..%d", l.vls-1), Rule: plan.RuleLaneBySL,
		Formula: phrase.Write("reason.formula.lanes", "lanes", strconv.Itoa(l.vls))}}
	sum, total := 0, 0.0
	for _, p := range l.parts {
		sum += p.packets
		total += p.entitled
	}
	for _, p := range l.parts {
		out = append(out, plan.Reason{Field: fmt.Sprintf("vl[%d].weight", p.vl), Value: fmt.Sprint(p.packets * l.blocks), Unit: "64 B", Range: phrase.Write("reason.range.entry", "least", "1", "most", "255"),
			Tenant: strings.Join(s.laneNames(p), ","), Rule: plan.RuleLaneWeight,
			Formula: phrase.Clauses(
				phrase.Write("reason.formula.lane-part", "packets", strconv.Itoa(p.packets), "all", strconv.Itoa(sum), "units", strconv.Itoa(l.blocks),
					"part", fixed(float64(100*float64(p.packets)/float64(sum)), 1)+" %"),
				phrase.Write("reason.formula.lane-entitled", "rate", model.Rate(p.entitled).String(), "all", model.Rate(total).String(),
					"part", fixed(float64(100*p.entitled/total), 1)+" %"))})
	}
	return out
}

func vlList(vls []ident.VL) string {
	out := make([]string, len(vls))
	for i, v := range vls {
		out[i] = strconv.Itoa(int(v))
	}
	return strings.Join(out, ",")
}

// laneNames lists the tenants with flows on a lane.
func (s *Settings) laneNames(p lane) []string {
	var out []string
	for _, k := range p.settings {
		out = append(out, s.names(s.all[k].tenants)...)
	}
	return out
}

// text prints the low table in the format of OpenSM's options.
func (l *lanes) text() string {
	out := make([]string, len(l.low))
	for i, e := range l.low {
		out[i] = fmt.Sprintf("%d:%d", e.VL, e.Weight)
	}
	return strings.Join(out, ",")
}

// laneFindings states who must set the lanes, and reports where lanes are too few or too coarse.
func (s *Settings) laneFindings() []plan.Finding {
	if len(s.lanes) == 0 {
		return nil
	}
	var out []plan.Finding
	var ports, tables []string
	for i := range s.lanes {
		l := &s.lanes[i]
		name := s.m.Fabric.PortName(s.ports[l.port].ref)
		ports = append(ports, name)
		t := fmt.Sprintf("qos_ca_max_vls %d, qos_ca_high_limit 0, qos_ca_sl2vl %s, qos_ca_vlarb_high none, qos_ca_vlarb_low %s", l.vls, vlList(l.sl2vl[:]), l.text())
		if !slices.Contains(tables, t) {
			tables = append(tables, t)
		}
		out = append(out, s.laneCoarse(l, name)...)
	}
	fix := phrase.Of("plan.opensm-options", "table", tables[0])
	if len(tables) > 1 {
		fix = phrase.Of("plan.opensm-one-table", "tables", len(tables))
	}
	return append(out, plan.NewFinding(plan.CodeLanesNeedSM, nil, plan.Bounded(ports),
		phrase.Of("plan.vl-arbitration-needs-sm", "ports", plan.Counted(len(ports), plan.KindPort)), fix))
}

// laneCoarse reports a port whose lanes miss their shares.
func (s *Settings) laneCoarse(l *lanes, name string) []plan.Finding {
	var shared []phrase.Text
	var names []string
	for _, p := range l.parts {
		on := s.laneNames(p)
		names = append(names, on...)
		if slices.ContainsFunc(p.settings[1:], func(k int32) bool { return s.differing(&s.all[p.settings[0]], &s.all[k]) > 0 }) {
			shared = append(shared, phrase.Of("on-lane", "list", on, "lane", p.vl))
		}
	}
	slices.Sort(names)
	var statement, fix phrase.Text
	switch {
	case len(shared) > 0:
		statement = phrase.Of("plan.lanes-few", "port", name, "lanes", l.vls, "shared", shared)
		fix = phrase.Of("plan.lanes-few.fix")
	case l.miss > maxLaneMiss:
		statement = phrase.Of("plan.vl-arbitration-coarse", "port", name, "entries", l.vls, "units", l.blocks, "off", phrase.PercentOf(l.miss, 1))
		fix = phrase.Of("plan.vl-arbitration-coarse.fix")
	default:
		return nil
	}
	return []plan.Finding{plan.NewFinding(plan.CodeLanesCoarse, slices.Compact(names), []string{name}, statement, fix)}
}

// lanesOfPlan takes over the lanes of a plan, to predict their effect.
func (s *Settings) lanesOfPlan(plans []plan.LanePlan) error {
	for i := range s.ports {
		p := &s.ports[i]
		plan := lanesAt(plans, p.id)
		if plan == nil {
			continue
		}
		l := lanes{port: int32(i), sl2vl: plan.SL2VL, low: plan.Low, busy: s.busy(p), blocks: p.blocks()}
		for sl, vl := range l.sl2vl {
			if vl > ident.MaxDataVL {
				return fmt.Errorf("%w: the plan puts SL %d of port %s on lane %d: want 0 to %d", model.ErrInput, sl, p.id, vl, ident.MaxDataVL)
			}
		}
		s.assignLanes(&l)
		for j := range l.parts {
			for _, e := range l.low {
				if e.VL == l.parts[j].vl {
					l.parts[j].packets += (int(e.Weight) + l.blocks - 1) / l.blocks
				}
			}
			if l.parts[j].packets == 0 {
				return fmt.Errorf("%w: the plan gives lane %d of port %s no weight", model.ErrInput, l.parts[j].vl, p.id)
			}
		}
		if len(l.parts) > 0 {
			s.lanes = append(s.lanes, l)
		}
	}
	return nil
}

// laneRounds bounds how often the shares inside lanes are adjusted to what other links leave.
const laneRounds = 4

// predictLanes is ShareByWeight on ports with lane weights. A lane sends its packets of a round as long as it has traffic, and its queue pairs
// take turns. What flows limited by other links leave goes to the other flows of their lane first; the weights are therefore settled in
// rounds, and stored in w.
func (s *Settings) predictLanes(w *model.ShareWeights) *model.Allocation {
	if len(s.lanes) == 0 {
		return s.m.ShareByWeight(*w)
	}
	w.Sending = make([]float64, len(s.m.Flows))
	for i := range w.Sending {
		w.Sending[i] = s.m.Flows[i].QPs
	}
	elsewhere := make([]bool, len(s.m.Flows)) // limited by another link in some round
	var a *model.Allocation
	for range laneRounds {
		moved := false
		for i := range s.lanes {
			moved = s.divideLanes(&s.lanes[i], a, w.Sending, elsewhere) || moved
		}
		if !moved {
			break
		}
		round := *w
		round.Sending = slices.Clone(w.Sending)
		a = s.m.ShareByWeight(round)
	}
	return a
}

// divideLanes sets the sending weights of a port's flows from the previous allocation, nil for none, and reports whether any changed. Flows
// once limited elsewhere stay so: their weight equals their rate, so that the port and the other link limit them together.
func (s *Settings) divideLanes(l *lanes, before *model.Allocation, weights []float64, elsewhere []bool) bool {
	d := model.Direction(s.m.Fabric, s.ports[l.port].ref)
	sum := 0
	for _, p := range l.parts {
		sum += p.packets
	}
	moved := false
	for _, p := range l.parts {
		part := float64(s.m.Caps[d] * (float64(p.packets) / float64(sum)))
		left, qps := part, 0.0
		var limited, open []int32
		for _, k := range p.settings {
			for _, f := range s.all[k].flows {
				elsewhere[f] = elsewhere[f] || before != nil && before.Bottleneck[f] != d
				if elsewhere[f] {
					limited = append(limited, f)
					left -= before.Rates[f]
				} else {
					open = append(open, f)
					qps += s.m.Flows[f].QPs
				}
			}
		}
		if len(open) == 0 || left <= 0 {
			continue // the weights so far are correct
		}
		set := func(f int32, w float64) {
			moved = moved || weights[f] != w
			weights[f] = w
		}
		for _, f := range limited {
			set(f, before.Rates[f])
		}
		for _, f := range open {
			set(f, float64(left*(s.m.Flows[f].QPs/qps)))
		}
	}
	return moved
}
