package policy

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sort"
	"strconv"
	"strings"

	"fairlane/ccconfig/ibcc"
	"fairlane/internal/quantity"
	"fairlane/subnet"
	"fairlane/subnet/ident"
)

// Compile turns weights, fabric and flows into a plan: who is entitled to what (Entitle), on which SL each
// tenant's traffic goes, the congestion-control settings of every channel-adapter port that a
// tenant is attached to and the marking of every switch, what these are predicted to give, and the
// findings. Ports without tenants are left as they are. The same input gives the same
// plan on every machine, and so does the same input in another order.
//
// It fails, wrapping ErrInput, on options or tenants out of range, ports that are not in the fabric
// or not channel adapters, links without a rate, and missing routes. What can be compiled but not honoured
// is a finding.
func Compile(in Input) (*Plan, error) { return (&Compiler{once: true}).Compile(in) }

// setBounds writes each tenant's error bound beside its predictions.
func (m *model) setBounds(ts []TenantShare, classes []ClassShare, links []LinkShare, bounds []float64) {
	of := make(map[string]float64, len(bounds))
	for t, b := range bounds {
		ts[t].Bound = sixDecimals(b)
		of[m.tenants[t].Name] = ts[t].Bound
	}
	for i := range classes {
		classes[i].Bound = of[classes[i].Tenant]
	}
	for i := range links {
		for j := range links[i].Tenants {
			links[i].Tenants[j].Bound = of[links[i].Tenants[j].Tenant]
		}
	}
}

func (s *settings) placements() []Placement {
	out := []Placement{}
	for t := range s.m.tenants {
		for i, a := range s.m.tenants[t].Attachments {
			out = append(out, Placement{Tenant: s.m.tenants[t].Name, PKey: s.m.tenants[t].PKey, Port: a.Port, SL: s.place[t][i]})
		}
	}
	return out
}

// plan writes the plane's sections of a plan. What is as in the compilation before is taken over from its plan, with the
// digests.
func (s *settings) plan(before *Plan, d, was *digests) *Plan {
	if s.prev == nil {
		before, was = &Plan{Placements: s.placements()}, &digests{}
	}
	p := &Plan{Lanes: s.lanePlans(), Placements: before.Placements}
	d.places = was.places
	p.CAs, d.cas = renew(before.CAs, was.cas, s.fresh, func(i int) CAPlan { return s.caPlan(&s.ports[i]) })
	p.Switches, d.switches = s.switchPlans(before.Switches, was.switches)
	d.fill(p)
	return p
}

// caPlan assembles a port's settings. SLs that no tenant of the port has get the least
// aggressive of its settings, so that stray traffic yields to every tenant instead of escaping control.
func (s *settings) caPlan(p *port) CAPlan {
	c := CAPlan{Port: p.id, Name: s.m.fabric.PortName(p.ref), Settings: ibcc.CASettings{
		PerSL: p.perSL, Limit: uint16(len(p.table) - 1), Table: p.table,
	}}
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
	const eachPort, eachSetting = 4, 4 // at most
	c.Reasons = make([]Reason, 0, eachPort+eachSetting*len(p.settings))
	c.Reasons = append(c.Reasons, Reason{Field: "per_sl", Value: strconv.FormatBool(p.perSL), Range: "false, true", Rule: "port-control", Formula: p.why})
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
		c.Reasons = append(c.Reasons, Reason{Field: free,
			Value: "timer " + strconv.Itoa(int(least.timer)) + ", increase " + strconv.Itoa(int(least.incr)), Rule: "unassigned-sl",
			Formula: "no tenant here uses them: the parameters of SL " + strconv.Itoa(int(least.sl)) + ", the least aggressive on the port"})
	}
	limit := strconv.Itoa(int(c.Settings.Limit))
	c.Reasons = append(c.Reasons, p.tableWhy, Reason{Field: "ccti_limit", Value: limit,
		Unit: "CCTI", Range: "0.." + limit, Rule: "whole-table", Formula: strconv.Itoa(len(p.table)) + " entries - 1"})
	return c
}

// freeSLs names the SLs that are not used, as "sl[1,2]"; "" when all are.
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

// reasons appends to out what explains the timer and the increase of one setting.
func (s *settings) reasons(out []Reason, p *port, st *setting) []Reason {
	names := make([]string, len(st.tenants))
	for i, t := range st.tenants {
		names[i] = s.m.tenants[t].Name
	}
	tenant := strings.Join(names, ",")
	field := "sl[" + strconv.Itoa(int(st.sl)) + "]."
	timer := Reason{Field: field + "timer", Value: strconv.Itoa(int(st.timer)), Unit: "1.024 us", Range: "1..65535", Tenant: tenant, Rule: s.rule(st), Formula: s.formula(p, st)}
	if st.exact < 1 {
		timer.Clamped = fmt.Sprintf("%.3f to 1, the shortest timer", st.exact)
	}
	if st.exact >= math.MaxUint16+0.5 {
		timer.Clamped = fmt.Sprintf("%.0f to 65535, the longest timer, at increase %d", st.exact, st.incr)
	}
	incr := Reason{Field: field + "increase", Value: strconv.Itoa(int(st.incr)), Unit: "CCTI a BECN", Range: "1..255", Tenant: tenant, Rule: "smallest-increase",
		Formula: "the smallest with which the timer fits 16 bits: each unit widens the saw-tooth"}
	if s.m.in.Options.Mode == ModeTheorem1 && st.group >= 0 {
		incr.Rule, incr.Formula = "theorem1", "in inverse proportion to the rate "+rate(st.rate).String()+" among settings with one timer"
	}
	out = append(out, timer, incr)
	if trigger := s.trigger(p, st); trigger > 0 {
		out = append(out, Reason{Field: field + "trigger", Value: strconv.Itoa(int(trigger)), Unit: "CCTI", Range: "0..255", Tenant: tenant, Rule: "log-at-half-share",
			Formula: fmt.Sprintf("the first entry at or below %s/2: a device logs a queue pair that is pushed to half of its share", rate(st.rate))})
	}
	return out
}

// trigger is the CCTI at which a device is to log that a CCTI is held to half of what its setting is made for; 0, no
// log, where that is off the table, beyond 8 bits, or where a cap holds it anyway.
func (s *settings) trigger(p *port, st *setting) uint8 {
	half := st.rate / 2
	i := sort.Search(len(p.table), func(i int) bool { return p.line/(1+p.table[i].Factor()) <= half })
	if i == len(p.table) || i > math.MaxUint8 || i <= int(st.min) {
		return 0
	}
	return uint8(i)
}

func (s *settings) rule(st *setting) string {
	switch {
	case st.kind == settingIdle:
		return "idle-share"
	case st.kind == settingUncontended:
		return "uncontended"
	case s.m.in.Options.Mode == ModeTheorem1:
		return "theorem1"
	}
	return "product-rule"
}

// formula prints the product rule with its numbers.
func (s *settings) formula(p *port, st *setting) string {
	marking, load := defaultMarking, loadTarget
	if st.group >= 0 {
		marking, load = s.groups[st.group].marking, s.groups[st.group].load
	}
	if s.m.in.Options.Mode == ModeTheorem1 && st.group >= 0 {
		return fmt.Sprintf("one timer for all settings that meet, that of the fastest of them at increase 1, every %dth packet marked and a mark load of 0.%03d = %.3f", marking, load, st.exact)
	}
	links := ""
	if st.marked > 1 {
		links = fmt.Sprintf("up to %d links · ", st.marked)
	}
	response := strconv.Itoa(int(st.incr))
	if s.m.in.Options.TimerRestart {
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
	return fmt.Sprintf("%d packets per mark · %.0f bit / (0.%03d mark load · %s%s (%s rate%s) · %s · 1.024 us) = %.3f",
		marking, p.packet, load, links, rate(st.rate), of, mean, response, st.exact)
}

// settingsOf rebuilds the settings from a plan, to predict what it gives.
func (m *model) settingsOf(p *Plan, target *allocation) (*settings, error) {
	place := make(placements, len(m.tenants))
	at := make(map[tenantPort]ident.SL, len(p.Placements))
	names := make(map[string]int32, len(m.tenants))
	for t := range m.tenants {
		names[m.tenants[t].Name] = int32(t)
	}
	for _, pl := range p.Placements {
		if t, ok := names[pl.Tenant]; ok {
			at[tenantPort{t, pl.Port}] = pl.SL % ident.NumSLs
		}
	}
	for t := range m.tenants {
		for _, a := range m.tenants[t].Attachments {
			sl, ok := at[tenantPort{int32(t), a.Port}]
			if !ok {
				return nil, fmt.Errorf("%w: the plan does not place tenant %s on port %s", ErrInput, m.tenants[t].Name, a.Port)
			}
			place[t] = append(place[t], sl)
		}
	}
	s := m.newSettings(target, place)
	for i := range s.ports {
		port := &s.ports[i]
		k, ok := slices.BinarySearchFunc(p.CAs, port.id, func(c CAPlan, id ident.PortID) int { return c.Port.Compare(id) })
		if !ok {
			return nil, fmt.Errorf("%w: the plan has no settings for port %s", ErrInput, port.id)
		}
		ca := &p.CAs[k].Settings
		port.perSL, port.table = ca.PerSL, ca.Table
		for _, j := range port.settings {
			st := &s.all[j]
			st.timer, st.incr, st.min = ca.SLs[st.sl].Timer, ca.SLs[st.sl].Increase, ca.SLs[st.sl].Min
			if st.timer == 0 || st.incr == 0 {
				return nil, fmt.Errorf("%w: the plan gives SL %d of port %s timer %d and increase %d: want both above 0",
					ErrInput, st.sl, port.id, st.timer, st.incr)
			}
		}
	}
	return s, s.lanesOfPlan(p.Lanes)
}

// leverFindings reports settings that miss their aim before any prediction.
func (s *settings) leverFindings() []Finding {
	out := s.sharedSettings()
	for i := range s.ports {
		if f := s.ports[i].clamps; f != nil {
			out = append(out, *f)
		}
		out = append(out, s.ports[i].coarse...)
	}
	for i := range s.all {
		st := &s.all[i]
		if s.m.in.Options.Mode == ModeTheorem1 && st.incr == 255 {
			out = append(out, Finding{Code: CodeIncreaseClamped, Tenants: s.names(st.tenants),
				Message: fmt.Sprintf("port %s, SL %d: CCTI_Increase is at its largest, 255: the timer alone would reach %s", s.m.fabric.PortName(s.ports[st.port].ref), st.sl, rate(st.rate)),
				Fix:     "use mode product"})
		}
	}
	for i := range s.groups {
		out = append(out, s.groupFindings(&s.groups[i])...)
	}
	return out
}

func (s *settings) names(ts []int32) []string {
	out := make([]string, len(ts))
	for i, t := range ts {
		out[i] = s.m.tenants[t].Name
	}
	return out
}

// sharedSettings reports settings whose flows have different entitlements, one finding for each set of
// tenants, with the worst of its ports first.
func (s *settings) sharedSettings() []Finding {
	worst := map[string][]*setting{}
	for i := range s.all {
		if st := &s.all[i]; st.kind == settingContended && st.spread > maxQuantisation {
			key := strings.Join(s.names(st.tenants), ",")
			worst[key] = append(worst[key], st)
		}
	}
	var out []Finding
	for _, sts := range worst {
		slices.SortStableFunc(sts, func(a, b *setting) int { return cmp.Compare(b.spread, a.spread) })
		var ports []string
		for _, st := range sts[:min(len(sts), maxNames)] {
			ports = append(ports, s.m.fabric.PortName(s.ports[st.port].ref))
		}
		st := sts[0]
		out = append(out, Finding{Code: CodeSharedSetting, Tenants: s.names(st.tenants), Links: ports,
			Message: fmt.Sprintf("on %d port(s) queue pairs with different entitlements share one setting; worst is %s, SL %d, made for %s each, from which the furthest is %.1f %% off",
				len(sts), ports[0], st.sl, rate(s.eachOf(st)), float64(st.spread*100)),
			Fix: "give the unequal traffic different ports, or its own tenant"})
	}
	return out
}

// eachOf is what a setting gives each queue pair when it gives what it is made for, in bit/s.
func (s *settings) eachOf(st *setting) float64 {
	if s.ports[st.port].perSL {
		return st.rate / st.qps
	}
	return st.rate
}

func (s *settings) groupFindings(g *group) []Finding {
	if g.miss <= maxQuantisation && g.marking <= sparseMarking && g.settle <= maxConvergence {
		return nil
	}
	var tenants []int32
	for _, k := range g.settings {
		tenants = append(tenants, s.all[k].tenants...)
	}
	slices.Sort(tenants)
	names := s.names(slices.Compact(tenants))
	var links []string
	for _, d := range g.links {
		links = append(links, s.m.linkName(d))
	}
	add := func(code, message, fix string) Finding {
		return Finding{Code: code, Tenants: names, Links: bounded(links), Message: message, Fix: fix}
	}
	var out []Finding
	if g.miss > maxQuantisation {
		out = append(out, add(CodeTimerQuantised, fmt.Sprintf("the shortest timers round to whole 1.024 us with up to %.1f %% error, at one mark in %d packets", float64(g.miss*100), g.marking),
			"take one CCTI per queue pair (QP mode) and open more queue pairs for the fastest tenants: slower ones have longer timers"))
	}
	if g.marking > sparseMarking {
		out = append(out, add(CodeMarkingSparse, fmt.Sprintf("only one packet in %d is marked, because timers would be too coarse otherwise: shares need %s to settle", g.marking, seconds(g.settle)),
			"take one CCTI per queue pair (QP mode) and open more queue pairs for the fastest tenants, or bring the weights nearer each other: slower queue pairs have longer timers, so that more packets can be marked"))
	}
	if g.settle > maxConvergence {
		out = append(out, add(CodeSlowConvergence, fmt.Sprintf("the slowest queue pair needs about %s to settle at its share, at one mark in %d packets", seconds(g.settle), g.marking),
			"open fewer queue pairs per tenant and port, use SL mode, or bring the weights nearer each other"))
	}
	return out
}

// shareFindings reports where the prediction misses the target.
func (m *model) shareFindings(p *Plan) []Finding {
	var out []Finding
	missed := missedBy(p)
	for _, t := range p.Tenants {
		x := missed[t.Tenant]
		f := Finding{Code: CodeWeightUnreachable, Tenants: []string{t.Tenant}, Fix: seeOthers}
		switch {
		case t.PredictedError > 0.05:
			f.Message = fmt.Sprintf("tenant %s is entitled to %s and predicted to get %s", t.Tenant, t.Entitled, t.Predicted)
		case x != nil && len(x.parts) > 0:
			f.Message = fmt.Sprintf("tenant %s is predicted to get its share in all, but not of each part: %s", t.Tenant, strings.Join(x.parts, "; "))
			if x.more > 0 {
				f.Message += fmt.Sprintf("; and %d more", x.more)
			}
		default:
			continue
		}
		if x != nil {
			f.Links = x.links
		}
		out = append(out, f)
	}
	for _, l := range p.Links {
		if !slices.ContainsFunc(l.Tenants, misses) {
			continue
		}
		ref, _ := m.fabric.PortByID(l.Port)
		if m.fabric.Nodes[ref.Node].Kind != subnet.KindCA {
			continue
		}
		var names []string
		for _, t := range l.Tenants {
			names = append(names, t.Tenant)
		}
		how := "its queue pairs take turns"
		if m.plane == PlaneRoCE {
			how = "their virtual functions divide it, and what a function leaves the others have"
		}
		out = append(out, Finding{Code: CodeSourcePort, Tenants: names, Links: []string{l.Name},
			Message: fmt.Sprintf("the tenants contend for the sending port %s, which marks nothing: %s, so each tenant gets %s", m.fabric.PortName(ref), how, predictedList(l.Tenants)),
			Fix:     seeOthers})
	}
	return out
}

// missed is of what a tenant is predicted to get too much or too little: the first contended links where it is more than 1 %, and
// the first classes and links, in words, where it is more than 5 %, with the number of those beyond.
type missed struct {
	links, parts []string
	more         int
}

func (x *missed) part(format string, args ...any) {
	if len(x.parts) == maxNames {
		x.more++
		return
	}
	x.parts = append(x.parts, fmt.Sprintf(format, args...))
}

// missedBy lists by tenant what it misses.
func missedBy(p *Plan) map[string]*missed {
	off := func(predicted, entitled quantity.BitRate) bool {
		return math.Abs(float64(predicted-entitled)) > float64(0.05*float64(entitled))+1 // the rates are whole
	}
	out := make(map[string]*missed)
	of := func(tenant string) *missed {
		x := out[tenant]
		if x == nil {
			x = &missed{}
			out[tenant] = x
		}
		return x
	}
	for _, c := range p.Classes {
		if off(c.Predicted, c.Entitled) {
			of(c.Tenant).part("class %s %s instead of %s", c.Class, c.Predicted, c.Entitled)
		}
	}
	for i := range p.Links {
		l := &p.Links[i]
		for k := range l.Tenants {
			t := &l.Tenants[k]
			if misses(*t) {
				if x := of(t.Tenant); len(x.links) < maxNames {
					x.links = append(x.links, l.Name)
				}
			}
			if off(t.Predicted, t.Entitled) {
				of(t.Tenant).part("on %s %s instead of %s", l.Name, t.Predicted, t.Entitled)
			}
		}
	}
	return out
}

func misses(t LinkTenant) bool {
	d := t.Predicted - t.Entitled
	return d*100 > t.Entitled || -d*100 > t.Entitled
}

func predictedList(ts []LinkTenant) string {
	parts := make([]string, len(ts))
	for i, t := range ts {
		parts[i] = fmt.Sprintf("%s: %s instead of %s", t.Tenant, t.Predicted, t.Entitled)
	}
	return strings.Join(parts, "; ")
}
