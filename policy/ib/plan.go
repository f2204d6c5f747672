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
	c.Reasons = append(c.Reasons, plan.Reason{Field: "per_sl", Value: strconv.FormatBool(p.perSL), Range: "false, true", Rule: plan.RulePortControl, Formula: p.modeReason})
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
			Value: "timer " + strconv.Itoa(int(least.timer)) + ", increase " + strconv.Itoa(int(least.incr)), Rule: plan.RuleUnassigned,
			Formula: "no tenant here uses them: the parameters of SL " + strconv.Itoa(int(least.sl)) + ", the least aggressive on the port"})
	}
	limit := strconv.Itoa(int(c.Settings.Limit))
	c.Reasons = append(c.Reasons, p.tableWhy, plan.Reason{Field: "ccti_limit", Value: limit,
		Unit: "CCTI", Range: "0.." + limit, Rule: plan.RuleWholeTable, Formula: strconv.Itoa(len(p.table)) + " entries - 1"})
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
		timer.Clamped = fmt.Sprintf("%.3f to 1, the shortest timer", st.exact)
	}
	if longest := p.profile.Adapter.MaxTimer; st.exact >= float64(longest)+0.5 {
		timer.Clamped = fmt.Sprintf("%.0f to %d, the longest timer, at increase %d", st.exact, longest, st.incr)
	}
	incr := plan.Reason{Field: field + "increase", Value: strconv.Itoa(int(st.incr)), Unit: "CCTI a BECN", Range: from1(int(p.profile.Adapter.MaxIncrease)), Tenant: tenant, Rule: plan.RuleSmallestIncrease,
		Formula: "the smallest with which the timer fits " + strconv.Itoa(bits.Len16(p.profile.Adapter.MaxTimer)) + " bits: each unit widens the saw-tooth"}
	if s.m.Input.Options.Mode == model.ModeTheorem1 && st.group >= 0 {
		incr.Rule, incr.Formula = plan.RuleTheorem1, "in inverse proportion to the rate "+model.Rate(st.rate).String()+" among settings with one timer"
	}
	out = append(out, timer, incr)
	if trigger := s.trigger(p, st); trigger > 0 {
		out = append(out, plan.Reason{Field: field + "trigger", Value: strconv.Itoa(int(trigger)), Unit: "CCTI", Range: "0..255", Tenant: tenant, Rule: plan.RuleTrigger,
			Formula: fmt.Sprintf("the first entry at or below %s/2: a device logs a queue pair that is pushed to half of its share", model.Rate(st.rate))})
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

// formula prints the product rule with its numbers.
func (s *Settings) formula(p *port, st *setting) string {
	marking, load := defaultMarking, loadTarget
	if st.group >= 0 {
		marking, load = s.groups[st.group].marking, s.groups[st.group].load
	}
	if s.m.Input.Options.Mode == model.ModeTheorem1 && st.group >= 0 {
		return fmt.Sprintf("one timer for all settings that meet, that of the fastest of them at increase 1, every %dth packet marked and a mark load of 0.%03d = %.3f", marking, load, st.exact)
	}
	links := ""
	if st.marked > 1 {
		links = fmt.Sprintf("up to %d links · ", st.marked)
	}
	response := strconv.Itoa(int(st.incr))
	if p.restart {
		response = fmt.Sprintf("1/ln(1+1/%d)", st.incr)
	}
	of := "queue pair's"
	if p.perSL {
		of = "SL's"
	}
	mean := ""
	if st.spread > 0 && !p.perSL {
		mean = ", geometric mean of unequal ones"
	}
	lost := ""
	if st.taken < 1 {
		lost = fmt.Sprintf(" · %.3f (ticks that find CCTI above 0)", st.taken)
	}
	return fmt.Sprintf("%d packets per mark · %.0f bit / (0.%03d mark load · %s%s (%s rate%s) · %s · %s)%s = %.3f",
		marking, p.packet, load, links, model.Rate(st.rate), of, mean, response, p.unitText(), lost, st.exact)
}

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
