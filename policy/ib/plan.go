package ib

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"sort"
	"strconv"
	"strings"

	"fairlane/ccconfig/ibcc"
	"fairlane/internal/phrase"
	"fairlane/policy/model"
	"fairlane/policy/plan"
	"fairlane/policy/sl"
	"fairlane/subnet/ident"
)

func (s *Settings) placements() []plan.Placement {
	out := []plan.Placement{}
	for t := range s.m.Tenants {
		for i, a := range s.m.Tenants[t].Attachments {
			out = append(out, plan.Placement{Tenant: s.m.Tenants[t].Name, PKey: s.m.Tenants[t].PKey, Port: a.Port, SL: s.place[t][i],
				Receives: s.receivers[model.TenantPort{Tenant: int32(t), Port: a.Port}]})
		}
	}
	return out
}

// plan writes the plane's sections of a plan. It takes over unchanged parts from the plan of the previous compilation, with their digests.
func (s *Settings) plan(before *plan.Plan, d, was *plan.Digests) *plan.Plan {
	if s.prev == nil {
		before, was = &plan.Plan{Placements: s.placements()}, &plan.Digests{}
	}
	p := &plan.Plan{Lanes: s.lanePlans(), Placements: before.Placements}
	d.Places = was.Places
	p.CAs, d.CAs = plan.Renew(before.CAs, was.CAs, s.fresh, func(i int) plan.CAPlan { return s.caPlan(&s.ports[i]) })
	p.Switches, d.Switches = s.switchPlans(before.Switches, was.Switches)
	d.Fill(p)
	return p
}

// caPlan assembles a port's settings. SLs without a tenant on the port get the least aggressive of its settings, so that stray traffic takes
// no more than the lightest tenant and does not escape control.
func (s *Settings) caPlan(p *port) plan.CAPlan {
	c := plan.CAPlan{Port: p.id, Name: s.m.Fabric.PortName(p.ref), Settings: ibcc.CASettings{
		PerSL: p.perSL, Limit: uint16(len(p.table) - 1), Table: p.table,
	}, Profile: profileName(p.profile)}
	if u := p.profile.Adapter.TimerUnit; u != ibcc.TimerUnitPicoseconds {
		c.TimerUnit = u
	}
	var least *setting
	for _, k := range p.settings {
		if st := &s.all[k]; least == nil || s.aggressiveness(st) < s.aggressiveness(least) {
			least = st
		}
	}
	var used [ident.NumSLs]bool
	for sl := range c.Settings.SLs {
		c.Settings.SLs[sl] = ibcc.SLParams{Timer: least.timer, Increase: least.incr}
	}
	const eachPort, eachSetting = 4, 4 // upper bounds
	c.Reasons = make([]plan.Reason, 0, eachPort+eachSetting*len(p.settings))
	c.Reasons = append(c.Reasons, plan.Reason{Field: "per_sl", Value: strconv.FormatBool(p.perSL), Range: phrase.Write("reason.range.boolean"), Rule: plan.RulePortControl, Formula: p.modeReason})
	for _, k := range p.settings {
		st := &s.all[k]
		c.Settings.SLs[st.sl] = ibcc.SLParams{Timer: st.timer, Increase: st.incr, Trigger: s.trigger(p, st), Min: st.min}
		c.Reasons = s.reasons(c.Reasons, p, st)
		if st.min > 0 {
			c.Reasons = append(c.Reasons, s.capReason(p, k, strings.Join(s.names(st.tenants), ",")))
		}
		used[st.sl] = true
	}
	if free := freeSLs(&used); free != "" {
		c.Reasons = append(c.Reasons, plan.Reason{Field: free,
			Value: phrase.Write("reason.value.pace", "timer", strconv.Itoa(int(least.timer)), "increase", strconv.Itoa(int(least.incr))), Rule: plan.RuleUnassigned,
			Formula: phrase.Write("reason.formula.unassigned", "sl", strconv.Itoa(int(least.sl)))})
	}
	limit := strconv.Itoa(int(c.Settings.Limit))
	c.Reasons = append(c.Reasons, p.tableWhy, plan.Reason{Field: "ccti_limit", Value: limit,
		Unit: "CCTI", Range: "0.." + limit, Rule: plan.RuleWholeTable, Formula: phrase.Write("reason.formula.table-whole", "entries", strconv.Itoa(len(p.table)))})
	return c
}

// freeSLs names the unused SLs, as "sl[1,2]"; "" when there are none.
func freeSLs(used *[ident.NumSLs]bool) string {
	out := make([]byte, 0, 48)
	for sl, u := range used {
		switch {
		case u:
			continue
		case len(out) == 0:
			out = append(out, "sl["...)
		default:
			out = append(out, ',')
		}
		out = strconv.AppendInt(out, int64(sl), 10)
	}
	if len(out) == 0 {
		return ""
	}
	return string(append(out, ']'))
}

// reasons appends the reasons for the timer and the increase of one setting to out.
func (s *Settings) reasons(out []plan.Reason, p *port, st *setting) []plan.Reason {
	names := make([]string, len(st.tenants))
	for i, t := range st.tenants {
		names[i] = s.m.Tenants[t].Name
	}
	tenant := strings.Join(names, ",")
	field := "sl[" + strconv.Itoa(int(st.sl)) + "]."
	timer := plan.Reason{Field: field + "timer", Value: strconv.Itoa(int(st.timer)), Unit: p.unitText(), Range: from1(int(p.profile.Adapter.MaxTimer)), Tenant: tenant, Rule: s.rule(st), Formula: s.formula(p, st)}
	if st.exact < 1 {
		timer.Clamped = phrase.Write("reason.limit.timer-shortest", "exact", fixed(st.exact, 3), "shortest", "1")
	}
	if longest := p.profile.Adapter.MaxTimer; st.exact >= float64(longest)+0.5 {
		timer.Clamped = phrase.Write("reason.limit.timer-longest", "exact", fixed(st.exact, 0), "longest", strconv.Itoa(int(longest)), "increase", strconv.Itoa(int(st.incr)))
	}
	incr := plan.Reason{Field: field + "increase", Value: strconv.Itoa(int(st.incr)), Unit: phrase.Write("reason.unit.becn"), Range: from1(int(p.profile.Adapter.MaxIncrease)), Tenant: tenant, Rule: plan.RuleSmallestIncrease,
		Formula: phrase.Write("reason.formula.increase", "bits", strconv.Itoa(bits.Len16(p.profile.Adapter.MaxTimer)))}
	if s.m.Input.Options.Mode == model.ModeTheorem1 && st.group >= 0 {
		incr.Rule, incr.Formula = plan.RuleTheorem1, phrase.Write("reason.formula.increase-theorem1", "rate", model.Rate(st.rate).String())
	}
	out = append(out, timer, incr)
	if trigger := s.trigger(p, st); trigger > 0 {
		out = append(out, plan.Reason{Field: field + "trigger", Value: strconv.Itoa(int(trigger)), Unit: "CCTI", Range: "0..255", Tenant: tenant, Rule: plan.RuleTrigger,
			Formula: phrase.Write("reason.formula.trigger", "rate", model.Rate(st.rate).String())})
	}
	return out
}

// trigger returns the CCTI at which a device logs that a CCTI is held to half of its intended rate. It is 0, no log, if that CCTI is off the
// table, beyond 8 bits, or below the cap's CCTI_Min.
func (s *Settings) trigger(p *port, st *setting) uint8 {
	half := st.rate / 2
	i := sort.Search(len(p.table), func(i int) bool { return p.line/(1+p.table[i].Factor()) <= half })
	if i == len(p.table) || i > math.MaxUint8 || i <= int(st.min) {
		return 0
	}
	return uint8(i)
}

func (s *Settings) rule(st *setting) string {
	switch {
	case st.kind == model.Idle:
		return plan.RuleIdle
	case st.kind == model.Uncontended:
		return plan.RuleUncontended
	case s.m.Input.Options.Mode == model.ModeTheorem1:
		return plan.RuleTheorem1
	}
	return plan.RuleProduct
}

// formula states the product rule with its numbers, and what they are.
func (s *Settings) formula(p *port, st *setting) string {
	marking, load := defaultMarking, loadTarget
	if st.group >= 0 {
		marking, load = s.groups[st.group].marking, s.groups[st.group].load
	}
	packets, loaded, exact := strconv.Itoa(marking), fixed(float64(load)/1000, 3), fixed(st.exact, 3)
	if s.m.Input.Options.Mode == model.ModeTheorem1 && st.group >= 0 {
		return phrase.Write("reason.formula.timer-theorem1", "packets", packets, "load", loaded, "exact", exact)
	}
	rate, factors := model.Rate(st.rate).String(), ""
	if st.marked > 1 {
		factors = strconv.Itoa(st.marked) + " · "
	}
	factors += rate + " · " + p.unitText() + " · "
	if p.restart {
		factors += "1/ln(1+1/" + strconv.Itoa(int(st.incr)) + ")"
	} else {
		factors += strconv.Itoa(int(st.incr))
	}
	var text string
	if taken := fixed(st.taken, 3); st.taken < 1 {
		text = phrase.Write("reason.formula.timer-lost", "packets", packets, "bits", fixed(p.packet, 0), "load", loaded, "factors", factors, "taken", taken, "exact", exact)
	} else {
		text = phrase.Write("reason.formula.timer", "packets", packets, "bits", fixed(p.packet, 0), "load", loaded, "factors", factors, "exact", exact)
	}
	switch {
	case p.perSL:
		text = phrase.Clauses(text, phrase.Write("reason.formula.timer-sl", "rate", rate))
	case st.spread > 0:
		text = phrase.Clauses(text, phrase.Write("reason.formula.timer-mean", "rate", rate))
	default:
		text = phrase.Clauses(text, phrase.Write("reason.formula.timer-qp", "rate", rate))
	}
	if st.marked > 1 {
		text = phrase.Clauses(text, phrase.Write("reason.formula.timer-links", "links", strconv.Itoa(st.marked)))
	}
	if st.taken < 1 {
		text = phrase.Clauses(text, phrase.Write("reason.formula.timer-taken", "taken", fixed(st.taken, 3)))
	}
	return text
}

// fixed prints a number with a fixed number of decimals.
func fixed(x float64, decimals int) string { return strconv.FormatFloat(x, 'f', decimals, 64) }

// settingsOf rebuilds the settings from a plan, to predict their effect.
func settingsOf(m *model.Model, p *plan.Plan, target *model.Allocation) (*Settings, error) {
	place := make(sl.Placements, len(m.Tenants))
	at := make(map[model.TenantPort]ident.SL, len(p.Placements))
	names := make(map[string]int32, len(m.Tenants))
	for t := range m.Tenants {
		names[m.Tenants[t].Name] = int32(t)
	}
	for _, pl := range p.Placements {
		if t, ok := names[pl.Tenant]; ok {
			at[model.TenantPort{Tenant: t, Port: pl.Port}] = pl.SL % ident.NumSLs
		}
	}
	for t := range m.Tenants {
		for _, a := range m.Tenants[t].Attachments {
			sl, ok := at[model.TenantPort{Tenant: int32(t), Port: a.Port}]
			if !ok {
				return nil, fmt.Errorf("%w: the plan does not place tenant %s on port %s", model.ErrInput, m.Tenants[t].Name, a.Port)
			}
			place[t] = append(place[t], sl)
		}
	}
	s := newSettings(m, target, place)
	for i := range s.ports {
		port := &s.ports[i]
		k, ok := slices.BinarySearchFunc(p.CAs, port.id, func(c plan.CAPlan, id ident.PortID) int { return c.Port.Compare(id) })
		if !ok {
			return nil, fmt.Errorf("%w: the plan has no settings for port %s", model.ErrInput, port.id)
		}
		ca := &p.CAs[k].Settings
		port.perSL, port.table = ca.PerSL, ca.Table
		for _, j := range port.settings {
			st := &s.all[j]
			st.timer, st.incr, st.min = ca.SLs[st.sl].Timer, ca.SLs[st.sl].Increase, ca.SLs[st.sl].Min
			if st.timer == 0 || st.incr == 0 {
				return nil, fmt.Errorf("%w: the plan gives SL %d of port %s timer %d and increase %d: want both above 0",
					model.ErrInput, st.sl, port.id, st.timer, st.incr)
			}
		}
	}
	return s, s.lanesOfPlan(p.Lanes)
}
