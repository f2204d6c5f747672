package roce

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"fairlane/ccconfig/dcqcn"
	"fairlane/ccconfig/ecn"
	"fairlane/ccconfig/qos"
	"fairlane/internal/num"
	"fairlane/internal/phrase"
	"fairlane/policy/model"
	"fairlane/policy/plan"
	"fairlane/subnet"
	"fairlane/subnet/ident"
)

// RoCE traffic on ports and switches: the values that operators use and vendors' guides recommend. Plans assume that DSCP RoCEDSCP maps to
// queue RoCEQueue, which is lossless.
const (
	DSCP     = 26
	Queue    = 3
	Priority = 3 // of NIC ports
)

// nicPlans builds the settings of all ports; it takes unchanged ones from the previous plan.
func (s *Settings) nicPlans(before []plan.NICPlan, was []plan.Digest) ([]plan.NICPlan, []plan.Digest) {
	fresh := make([]bool, len(s.ports))
	for i := range fresh {
		fresh[i] = !s.planUnchanged(i)
	}
	base, registers := s.baseReasons(), s.registers()
	return plan.Renew(before, was, fresh, func(i int) plan.NICPlan {
		p := &s.ports[i]
		out := plan.NICPlan{
			Port: p.id, Name: s.m.Fabric.PortName(p.ref), Profile: s.profile.Name, Settings: p.set,
			Reasons: slices.Concat(s.leverReasons(p, registers), s.shareReasons(p), base),
		}
		if s.classes == nil {
			return out
		}
		shares, reasons := s.classShares(s.classes, p)
		out.Shares, out.Reasons = shares, slices.Concat(reasons, out.Reasons)
		return out
	})
}

// switchPlans builds the marking of all switches from the fabric and the longest round trip of a flow.
func (s *Settings) switchPlans() []plan.ECNPlan {
	out := []plan.ECNPlan{}
	for _, n := range s.m.Fabric.Switches() {
		out = append(out, s.switchPlan(n))
	}
	return out
}

// registers returns the registers by name.
func (s *Settings) registers() map[string]dcqcn.Register {
	out := make(map[string]dcqcn.Register)
	for _, r := range s.profile.Limits().Registers() {
		out[r.Name] = r
	}
	return out
}

// leverSets reports whether the lever sets a register.
func leverSets(name string) bool {
	return name == "rpg_time_reset" || name == "rpg_ai_rate" || name == "rpg_hai_rate" || name == "rate_to_set_on_first_cnp"
}

// baseFormulas returns why managed ports have values of their own in common, by register.
func baseFormulas() map[string]string {
	return map[string]string{
		"clamp_tgt_rate":             phrase.Write("reason.formula.clamp-target"),
		"rpg_byte_reset":             phrase.Write("reason.formula.byte-reset"),
		"rpg_threshold":              phrase.Write("reason.formula.threshold-additive"),
		"rpg_min_dec_fac":            phrase.Write("reason.formula.min-cut"),
		"dce_tcp_g":                  phrase.Write("reason.formula.alpha-gain"),
		"dce_tcp_rtt":                phrase.Write("reason.formula.alpha-period"),
		"initial_alpha_value":        phrase.Write("reason.formula.alpha-start"),
		"rate_reduce_monitor_period": phrase.Write("reason.formula.cut-period"),
		"min_time_between_cnps":      phrase.Write("reason.formula.cnp-period"),
	}
}

// baseReasons explains the values that all managed ports have in common.
func (s *Settings) baseReasons() []plan.Reason {
	defaults, formulas := dcqcn.Default(), baseFormulas()
	var out []plan.Reason
	for _, r := range s.profile.Limits().Registers() {
		if leverSets(r.Name) {
			continue
		}
		v := r.Value(&s.profile.Base)
		why := plan.Reason{Field: r.Name, Value: strconv.FormatUint(v, 10), Unit: r.Unit, Range: r.Range(), Rule: plan.RuleVendorDefault, Formula: phrase.Write("reason.formula.device-default")}
		if v != r.Value(&defaults) {
			why.Rule, why.Formula = plan.RuleManagedPort, cmp.Or(formulas[r.Name], phrase.Write("reason.formula.calibrated", "profile", s.profile.Name))
		}
		out = append(out, why)
	}
	return out
}

// leverReasons explains the registers that the lever sets.
func (s *Settings) leverReasons(p *nicPort, registers map[string]dcqcn.Register) []plan.Reason {
	g, l := &s.groups[p.group], &s.profile.Lever
	tenant := strings.Join(plan.Bounded(s.names(p.tenants)), ",")
	scale := num.Exp(p.position)
	meant, increase := s.targetText(p), float64(l.Step*g.rate)/scale/1e6
	first := phrase.Write("reason.formula.first-rate", "times", digits(l.First, 3))
	if p.set.RateOnFirstCNP == 0 {
		first = phrase.Clauses(first, phrase.Write("reason.formula.first-line"))
	}
	clamped := ""
	if p.clamped {
		clamped = phrase.Write("reason.limit.ratio", "wanted", times(g.rate/p.wanted), "reached", times(g.rate/s.reached(p)))
	}
	reason := func(field, formula, clamped string) plan.Reason {
		r := registers[field]
		return plan.Reason{
			Field: field, Value: strconv.FormatUint(r.Value(&p.set), 10), Unit: r.Unit, Range: r.Range(),
			Tenant: tenant, Rule: plan.RuleCalibratedLever, Formula: formula, Clamped: clamped,
		}
	}
	return []plan.Reason{
		reason("rpg_time_reset", phrase.Clauses(meant, phrase.Write("reason.formula.response",
			"times", digits(scale, 4), "shortest", digits(g.period, 4), "period", digits(p.period, 5))), clamped),
		reason("rpg_ai_rate", phrase.Write("reason.formula.additive-step", "step", digits(l.Step, 3), "rate", model.Rate(g.rate).String(), "times", digits(scale, 4),
			"increase", digits(increase, 5), "rounding", strconv.FormatFloat(float64(p.set.AIRate)/increase, 'f', 4, 64)), ""),
		reason("rpg_hai_rate", phrase.Write("reason.formula.hyper-step", "register", "rpg_ai_rate"), ""),
		reason("rate_to_set_on_first_cnp", first, ""),
	}
}

// targetText describes the rate that a port is set for.
func (s *Settings) targetText(p *nicPort) string {
	rate := model.Rate(p.wanted).String()
	switch p.kind {
	case model.Idle:
		return phrase.Write("reason.formula.rate-idle", "rate", rate)
	case model.Uncontended:
		return phrase.Write("reason.formula.rate-unmarked", "times", strconv.Itoa(spare), "rate", rate)
	}
	text := phrase.Write("reason.formula.rate-qp", "rate", rate, "largest", model.Rate(s.groups[p.group].rate).String())
	if p.spread > sharedSpread {
		text = phrase.Clauses(text, phrase.Write("reason.formula.rate-mean", "rate", rate, "times", digits(num.Exp(p.spread), 3)))
	}
	return text
}

// switchPlan returns the marking of every linked port of a switch, for the queue of RoCE traffic.
func (s *Settings) switchPlan(n int32) plan.ECNPlan {
	f := s.m.Fabric
	node := &f.Nodes[n]
	out := plan.ECNPlan{Node: node.GUID, Name: node.Name, Queues: []ecn.QueueMarking{}}
	explained := make(map[ecn.Marking]bool)
	for i := range node.Ports {
		ref := subnet.PortRef{Node: n, Port: ident.PortNum(i)}
		if _, ok := f.Peer(ref); !ok {
			continue
		}
		l, _ := f.Link(ref)
		mark := s.profile.Marking.At(l.Rate, s.rtt)
		out.Queues = append(out.Queues, ecn.QueueMarking{Port: ref.Port, Queue: Queue, Marking: mark})
		if !explained[mark] {
			explained[mark] = true
			out.Reasons = append(out.Reasons, s.markingReasons(l, mark)...)
		}
	}
	return out
}

func (s *Settings) markingReasons(l *subnet.Link, mark ecn.Marking) []plan.Reason {
	r := &s.profile.Marking
	rate := l.Rate.String()
	field := func(name string) string {
		return phrase.Write("reason.field.queue", "queue", strconv.Itoa(Queue), "rate", rate, "field", name)
	}
	thresholds := fmt.Sprintf("0..%d", int64(ecn.MaxThreshold))
	return []plan.Reason{
		{Field: field("min_bytes"), Value: strconv.FormatInt(mark.Min, 10), Unit: phrase.Write("reason.unit.bytes"), Range: thresholds, Rule: plan.RuleMarkingByRTT,
			Formula: phrase.Write("reason.formula.ecn-min", "rate", rate, "floor", r.Floor.String(), "rtt", s.rtt.String())},
		{Field: field("max_bytes"), Value: strconv.FormatInt(mark.Max, 10), Unit: phrase.Write("reason.unit.bytes"), Range: fmt.Sprintf("%d..%d", mark.Min, int64(ecn.MaxThreshold)), Rule: plan.RuleMarkingByRTT,
			Formula: phrase.Write("reason.formula.ecn-max", "rate", rate, "span", r.Span(s.rtt).String(), "trips", strconv.Itoa(r.PerRTT), "rtt", s.rtt.String(),
				"least", r.MinSpan.String(), "most", r.MaxSpan.String())},
		{Field: field("p_max_percent"), Value: strconv.Itoa(mark.PMaxPct), Unit: phrase.Write("reason.unit.percent"), Range: "0..100", Rule: plan.RuleMarkingByRTT,
			Formula: phrase.Write("reason.formula.calibrated", "profile", s.profile.Name)},
	}
}

// digits prints a number with a number of significant digits.
func digits(x float64, significant int) string { return strconv.FormatFloat(x, 'g', significant, 64) }

// traffic places every tenant's traffic: in its class, or without classes in one for all of RoCE, since parameters are per port. On ports of
// several tenants each has a share for its VFs, by weight.
func (s *Settings) traffic() []plan.RoCEPlacement {
	out := []plan.RoCEPlacement{}
	for t := range s.m.Tenants {
		class := qos.TrafficClass{DSCP: DSCP, Queue: Queue}
		if s.classes != nil {
			class = s.classes.site[s.classes.of[t]]
		}
		for _, a := range s.m.Tenants[t].Attachments {
			out = append(out, plan.RoCEPlacement{Tenant: s.m.Tenants[t].Name, Port: a.Port, DSCP: class.DSCP, Priority: class.Queue, Queue: class.Queue,
				VFShare: s.shares[model.TenantPort{Tenant: int32(t), Port: a.Port}], Function: s.functions[model.TenantPort{Tenant: int32(t), Port: a.Port}]})
		}
	}
	return out
}
