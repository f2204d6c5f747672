package ib

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"fairlane/ccconfig/ibcc"
	"fairlane/internal/phrase"
	"fairlane/policy/fill"
	"fairlane/policy/model"
	"fairlane/policy/plan"
	"fairlane/tenants"
)

// maxCapMiss is the part of a cap that the steps of a table may lose without a finding.
const maxCapMiss = 0.05

// capRates returns, by setting, the highest rate of one queue pair, in bit/s; 0 is unbounded. The queue pairs of a capped tenant together must
// not exceed the cap on any link, whatever the marks. On the link that its port sends on they share the cap equally. On a link where several
// ports of the tenant meet, each port has a part in proportion to the entitlements of its flows over that link. A port without flows counts as
// one queue pair. Tenants that share a setting share the tightest bound.
func (s *Settings) capRates() []float64 {
	if !slices.ContainsFunc(s.m.Tenants, func(t tenants.Tenant) bool { return t.Cap > 0 }) {
		return nil
	}
	out := make([]float64, len(s.all))
	x := &capper{s: s, out: out, load: make([]float64, len(s.m.Caps)), part: make([]float64, len(s.m.Caps)), qps: make([]float64, len(s.m.Caps))}
	flows := s.m.FlowsByTenant()
	for t := range s.m.Tenants {
		limit := float64(s.m.Tenants[t].Cap)
		if limit <= 0 {
			continue
		}
		x.tenant(flows[t], limit)
	}
	for k := range s.all {
		if out[k] == 0 {
			out[k] = s.idleCap(&s.all[k])
		}
	}
	return out
}

// idleCap returns the cap of a setting that no flow of a capped tenant uses; 0 is none. Receivers that share the setting get the highest of
// their caps, and none when one has no cap: each tenant's cap is enforced where it sends.
func (s *Settings) idleCap(st *setting) float64 {
	out := 0.0
	for i, t := range st.tenants {
		c := float64(s.m.Tenants[t].Cap)
		switch receives := s.receivers[model.TenantPort{Tenant: t, Port: s.ports[st.port].id}]; {
		case receives && c == 0:
			return 0
		case receives && i > 0:
			out = max(out, c)
		case c > 0 && (out == 0 || c < out):
			out = c
		}
	}
	return out
}

// capper divides one tenant's cap over its settings.
type capper struct {
	s    *Settings
	out  []float64
	load []float64 // by link: the tenant's entitlement there
	part []float64 // by link: the part of it from one setting
	qps  []float64 // by link: that setting's queue pairs
}

func (x *capper) tenant(flows []int32, limit float64) {
	m, target := x.s.m, x.s.target
	for _, f := range flows {
		for _, d := range m.Flows[f].Links {
			x.load[d] += target.Rates[f]
		}
	}
	bySetting := slices.Clone(flows)
	slices.SortStableFunc(bySetting, func(a, b int32) int { return int(x.s.ofFlow[a] - x.s.ofFlow[b]) })
	for len(bySetting) > 0 {
		k := x.s.ofFlow[bySetting[0]]
		n := 1
		for n < len(bySetting) && x.s.ofFlow[bySetting[n]] == k {
			n++
		}
		x.setting(k, bySetting[:n], limit)
		bySetting = bySetting[n:]
	}
	for _, f := range flows {
		for _, d := range m.Flows[f].Links {
			x.load[d] = 0
		}
	}
}

// setting bounds one queue pair of a setting: on every link, the setting's part of the cap divided by its queue pairs.
func (x *capper) setting(k int32, flows []int32, limit float64) {
	m := x.s.m
	for _, f := range flows {
		for _, d := range m.Flows[f].Links {
			x.part[d] += x.s.target.Rates[f]
			x.qps[d] += float64(m.Flows[f].QPs)
		}
	}
	for _, f := range flows {
		for _, d := range m.Flows[f].Links {
			if x.load[d] <= 0 || x.qps[d] == 0 {
				continue
			}
			r := limit * (x.part[d] / x.load[d]) / x.qps[d]
			if x.out[k] == 0 || r < x.out[k] {
				x.out[k] = r
			}
		}
	}
	for _, f := range flows {
		for _, d := range m.Flows[f].Links {
			x.part[d], x.qps[d] = 0, 0
		}
	}
}

// capLimits reports whether only its tenant's cap limits a flow in the target.
func (s *Settings) capLimits(f int32) bool {
	return s.target.Limits != nil && s.target.Limits[f] == fill.LimitCap
}

// capOf returns the highest rate of one CCTI of a setting, in bit/s, or 0.
func (s *Settings) capOf(k int32) float64 {
	if s.capped == nil {
		return 0
	}
	if s.ports[s.all[k].port].perSL {
		return float64(s.capped[k] * max(1, s.all[k].qps))
	}
	return s.capped[k]
}

// chooseCaps sets CCTI_Min of the settings of capped tenants: CCTI never falls below it, so one CCTI never exceeds the rate of that table
// entry, marked or not (IBTA vol. 1, annex A10, CACongestionSetting). The shortest delay that holds the cap replaces the first table entry
// that holds it.
func (s *Settings) chooseCaps() {
	for i := range s.ports {
		p := &s.ports[i]
		if !s.fresh[i] {
			continue
		}
		p.coarse = nil
		for _, k := range p.settings {
			s.all[k].min, s.all[k].held = 0, 0
		}
		ks := slices.DeleteFunc(slices.Clone(p.settings), func(k int32) bool { c := s.capOf(k); return c == 0 || c >= p.line })
		slices.SortStableFunc(ks, func(a, b int32) int { return cmp.Compare(s.capOf(b), s.capOf(a)) })
		if len(ks) > 0 {
			p.table = slices.Clone(p.table) // other ports share the table
		}
		for _, k := range ks {
			s.chooseCap(p, k)
		}
	}
}

func (s *Settings) chooseCap(p *port, k int32) {
	st, want := &s.all[k], s.capOf(k)
	exact := entryFor(p.line / want)
	if !p.standardForm() {
		exact = p.profile.Adapter.EntryUp(exact)
	}
	last := min(len(p.table)-1, math.MaxUint8)
	i := 1
	for i < last && p.table[i].Eighths() < exact.Eighths() {
		i++
	}
	// Entries before i delay less, so the table stays monotone. An entry that serves another cap is equal or remains unchanged.
	if p.table[i].Eighths() >= exact.Eighths() && !s.holds(p, k, i) {
		p.table[i] = exact
	}
	st.min = uint8(i)
	st.held = p.line / (1 + p.table[i].Factor())
	if st.held > want*(1+1e-9) || st.held < float64(want*(1-maxCapMiss)) {
		p.coarse = append(p.coarse, s.capCoarse(p, st, want))
	}
}

// holds reports whether another setting of the port uses the table entry as its CCTI_Min.
func (s *Settings) holds(p *port, k int32, entry int) bool {
	return slices.ContainsFunc(p.settings, func(j int32) bool { return j != k && int(s.all[j].min) == entry })
}

// entryFor returns the shortest delay that slows a flow by at least a factor: 1 + delay >= factor.
func entryFor(factor float64) ibcc.Entry {
	e := max(1, math.Ceil(float64((factor-1)*8)-1e-6))
	for shift := ibcc.MaxShift; shift >= 0; shift-- {
		unit := float64(int(1) << (ibcc.MaxShift - shift)) // eighths in one unit of the multiplier
		if m := math.Ceil(e / unit); m <= ibcc.MaxMultiplier {
			return ibcc.Entry{Shift: uint8(shift), Multiplier: uint16(m)}
		}
	}
	return ibcc.Entry{Multiplier: ibcc.MaxMultiplier}
}

func (s *Settings) capCoarse(p *port, st *setting, want float64) plan.Finding {
	of := phrase.Of("plan.each-queue-pair")
	if p.perSL {
		of = phrase.Of("plan.the-sl")
	}
	// From 8/20 of the line rate down, a step of an eighth changes a rate by at most maxCapMiss; a coarser step does so from a proportionally
	// lower rate on.
	steps := float64(int(1) << p.profile.Adapter.MaxShift)
	fix := phrase.Of("plan.cap-coarse.fix", "who", of, "held", model.Rate(st.held), "step", model.Rate(float64(p.line*(steps/20))))
	if st.held > want {
		fix = p.reachFix(!p.perSL && st.qps > 1,
			phrase.Of("plan.cap-too-low.fix", "floor", model.Rate(p.floor()), "times", math.Ceil(float64(st.held/want*10))/10))
	}
	port := s.m.Fabric.PortName(p.ref)
	statement := phrase.Of("plan.cap-coarse",
		"port", port, "who", of, "allowed", model.Rate(want), "min", st.min, "held", model.Rate(st.held), "line", model.Rate(p.line))
	if steps != 8 {
		statement = phrase.Of("plan.cap-coarse-model",
			"port", port, "who", of, "allowed", model.Rate(want), "min", st.min, "held", model.Rate(st.held), "model", p.profile.Name, "line", model.Rate(p.line), "steps", int(steps))
	}
	return plan.NewFinding(plan.CodeCapCoarse, s.names(st.tenants), []string{port}, statement, fix)
}

// capReason explains CCTI_Min of one setting.
func (s *Settings) capReason(p *port, k int32, tenant string) plan.Reason {
	st := &s.all[k]
	entry, delay := p.table[st.min].String(), fixed(p.table[st.min].Factor(), 3)
	allowed, line, held := model.Rate(s.capOf(k)).String(), model.Rate(p.line).String(), model.Rate(st.held).String()
	formula := phrase.Write("reason.formula.cap-qp", "cap", allowed, "entry", entry, "line", line, "delay", delay, "held", held)
	if p.perSL {
		formula = phrase.Write("reason.formula.cap-sl", "cap", allowed, "entry", entry, "line", line, "delay", delay, "held", held)
	}
	return plan.Reason{Field: fmt.Sprintf("sl[%d].min", st.sl), Value: fmt.Sprint(st.min), Range: "0..255", Tenant: tenant, Rule: plan.RuleCap, Formula: formula}
}

// capCeilings returns, by flow, the rate at CCTI_Min, in bit/s; nil when no setting has one.
func (s *Settings) capCeilings() []float64 {
	var out []float64
	for i := range s.m.Flows {
		st := &s.all[s.ofFlow[i]]
		p := &s.ports[st.port]
		if st.min == 0 || len(p.table) == 0 {
			continue
		}
		if out == nil {
			out = make([]float64, len(s.m.Flows))
		}
		out[i] = float64(p.line / (1 + p.table[min(int(st.min), len(p.table)-1)].Factor()) * s.m.Flows[i].QPs)
		if p.perSL {
			out[i] /= st.qps
		}
	}
	return out
}
