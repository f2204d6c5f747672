package roce

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"fairlane/ccconfig/dcqcn"
	"fairlane/ccconfig/ecn"
	"fairlane/internal/num"
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
		return plan.NICPlan{
			Port: p.id, Name: s.m.Fabric.PortName(p.ref), Profile: s.profile.Name, Settings: p.set,
			Reasons: slices.Concat(s.leverReasons(p, registers), s.shareReasons(p), base),
		}
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

// baseFormulas explain the registers of all managed ports.
var baseFormulas = [...][2]string{
	{"clamp_tgt_rate", "every cut counts: without it two cuts in a row are undone by the next increase"},
	{"rpg_byte_reset", "off: increases come by time alone, at a pace that the plan sets; with the vendor's other values a faster flow would earn more of them and take most"},
	{"rpg_threshold", "additive increase from the first event on"},
	{"rpg_min_dec_fac", "every cut is to this, since alpha stays at full scale: rates vary little and a queue seldom runs empty"},
	{"dce_tcp_g", "alpha stays at full scale, so that a cut does not depend on the history of a flow"},
	{"dce_tcp_rtt", "the longest there is: alpha stays at full scale"},
	{"initial_alpha_value", "alpha is at full scale from the first notification on"},
	{"rate_reduce_monitor_period", "the shortest: marks of fast flows do not fall together"},
	{"min_time_between_cnps", "short: notifications of fast flows do not fall together"},
}

// baseReasons explains the values that all managed ports have in common.
func (s *Settings) baseReasons() []plan.Reason {
	defaults := dcqcn.Default()
	var out []plan.Reason
	for _, r := range s.profile.Limits().Registers() {
		if leverSets(r.Name) {
			continue
		}
		v := r.Value(&s.profile.Base)
		why := plan.Reason{Field: r.Name, Value: strconv.FormatUint(v, 10), Unit: r.Unit, Range: r.Range(), Rule: plan.RuleVendorDefault, Formula: "as the device comes"}
		if v != r.Value(&defaults) {
			why.Rule, why.Formula = plan.RuleManagedPort, "as the profile "+s.profile.Name+" was calibrated"
			for _, f := range baseFormulas {
				if f[0] == r.Name {
					why.Formula = f[1]
				}
			}
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
	first := fmt.Sprintf("%.3g x the rate meant: a new flow starts near its share", l.First)
	if p.set.RateOnFirstCNP == 0 {
		first += "; that is above 85 % of line rate, and 0 is line rate"
	}
	clamped := ""
	if p.clamped {
		clamped = fmt.Sprintf("the ratio wanted is %s, the lever reaches %s", times(g.rate/p.wanted), times(g.rate/s.reached(p)))
	}
	reason := func(field, formula, clamped string) plan.Reason {
		r := registers[field]
		return plan.Reason{
			Field: field, Value: strconv.FormatUint(r.Value(&p.set), 10), Unit: r.Unit, Range: r.Range(),
			Tenant: tenant, Rule: plan.RuleCalibratedLever, Formula: formula, Clamped: clamped,
		}
	}
	return []plan.Reason{
		reason("rpg_time_reset", fmt.Sprintf("%s; by the response that takes %.4g times the shortest period, %.4g us: %.5g us", meant, scale, g.period, p.period), clamped),
		reason("rpg_ai_rate", fmt.Sprintf("%.3g x %s / %.4g = %.5g Mbit/s, x %.4f for the rounding of the period", l.Step, model.Rate(g.rate), scale, increase, float64(p.set.AIRate)/increase), ""),
		reason("rpg_hai_rate", "as rpg_ai_rate; never used, since the byte counter is off", ""),
		reason("rate_to_set_on_first_cnp", first, ""),
	}
}

// targetText describes the rate that a port is set for.
func (s *Settings) targetText(p *nicPort) string {
	switch {
	case p.kind == model.Idle:
		return fmt.Sprintf("no flows of the plan leave here: line rate %s", model.Rate(p.wanted))
	case p.kind == model.Uncontended:
		return fmt.Sprintf("no marks limit its flows: %d times their rate, %s", spare, model.Rate(p.wanted))
	case p.spread > sharedSpread:
		return fmt.Sprintf("%s for a queue pair, the geometric mean of rates up to %.3g times from it, by %s, the largest it meets or a step above", model.Rate(p.wanted), num.Exp(p.spread), model.Rate(s.groups[p.group].rate))
	}
	return fmt.Sprintf("%s for a queue pair by %s, the largest it meets or a step above", model.Rate(p.wanted), model.Rate(s.groups[p.group].rate))
}

// switchPlan returns the marking of every linked port of a switch, for the queue of RoCE traffic.
func (s *Settings) switchPlan(n int32) plan.ECNPlan {
	f := s.m.Fabric
	node := &f.Nodes[n]
	out := plan.ECNPlan{Node: node.GUID, Name: node.Name, Queues: []ecn.QueueMarking{}}
	statement := make(map[ecn.Marking]bool)
	for i := range node.Ports {
		ref := subnet.PortRef{Node: n, Port: ident.PortNum(i)}
		if _, ok := f.Peer(ref); !ok {
			continue
		}
		l, _ := f.Link(ref)
		mark := s.profile.Marking.At(l.Rate, s.rtt)
		out.Queues = append(out.Queues, ecn.QueueMarking{Port: ref.Port, Queue: Queue, Marking: mark})
		if !statement[mark] {
			statement[mark] = true
			out.Reasons = append(out.Reasons, s.markingReasons(l, mark)...)
		}
	}
	return out
}

func (s *Settings) markingReasons(l *subnet.Link, mark ecn.Marking) []plan.Reason {
	r := &s.profile.Marking
	field := fmt.Sprintf("queue[%d] of %s ports: ", Queue, l.Rate)
	span := fmt.Sprintf("min + %s x %s, from %d round trips of %s, at least %s, at most %s", l.Rate, r.Span(s.rtt), r.PerRTT, s.rtt, r.MinSpan, r.MaxSpan)
	thresholds := fmt.Sprintf("0..%d", int64(ecn.MaxThreshold))
	return []plan.Reason{
		{Field: field + "min_bytes", Value: strconv.FormatInt(mark.Min, 10), Unit: "bytes", Range: thresholds, Rule: plan.RuleMarkingByRTT,
			Formula: fmt.Sprintf("%s x (%s + longest round trip %s), in KiB: the link stays busy while senders answer", l.Rate, r.Floor, s.rtt)},
		{Field: field + "max_bytes", Value: strconv.FormatInt(mark.Max, 10), Unit: "bytes", Range: fmt.Sprintf("%d..%d", mark.Min, int64(ecn.MaxThreshold)), Rule: plan.RuleMarkingByRTT,
			Formula: span + ": a gentle slope gives all flows the same marks"},
		{Field: field + "p_max_percent", Value: strconv.Itoa(mark.PMaxPct), Unit: "percent", Range: "0..100", Rule: plan.RuleMarkingByRTT,
			Formula: "as the profile " + s.profile.Name + " was calibrated"},
	}
}

// traffic places every tenant's traffic: one priority for all of RoCE, since parameters are per port. On ports of several tenants each has a
// share for its VFs, by weight.
func (s *Settings) traffic() []plan.RoCEPlacement {
	out := []plan.RoCEPlacement{}
	for t := range s.m.Tenants {
		for _, a := range s.m.Tenants[t].Attachments {
			out = append(out, plan.RoCEPlacement{Tenant: s.m.Tenants[t].Name, Port: a.Port, DSCP: DSCP, Priority: Priority, Queue: Queue,
				VFShare: s.shares[model.TenantPort{Tenant: int32(t), Port: a.Port}], Function: s.functions[model.TenantPort{Tenant: int32(t), Port: a.Port}]})
		}
	}
	return out
}
