package ib

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"fairlane/ccconfig/ibcc"
	"fairlane/internal/phrase"
	"fairlane/internal/quantity"
	"fairlane/policy/halves"
	"fairlane/policy/model"
	"fairlane/policy/plan"
)

// ratioChoices are the growths of a geometric table, in thousandths. The first four are the good ones by measurement; the rest are for ports
// whose queue pairs have very small entitlements.
var ratioChoices = [...]int{1040, 1045, 1050, 1060, 1070, planRatio, 1100, 1125, 1150, 1200, 1250, 1300, 1400, 1500, 1700, 2000}

// scaleChoices stretch S1's quadratic table, in thousandths.
var scaleChoices = [...]int{1000, 2000, 4000, 8000, 16_000, 32_000, 62_500}

const (
	// reachMargin is the factor below the smallest entitlement that the last entry must reach.
	reachMargin = 2
	// tableTime is the convergence, in seconds, up to which a finer table is preferred.
	tableTime = 0.250
)

// tables builds each table once per shape and form.
type tables struct {
	law  model.CCTLaw
	made map[tableKey][]ibcc.Entry
}

type tableKey struct {
	shape, entries int // shape: ratio or scale
	shift          uint8
	multiplier     uint16
}

func (s *Settings) newTables() *tables {
	return &tables{law: cctLaw(s.m.Input.Options), made: map[tableKey][]ibcc.Entry{}}
}

func cctLaw(o model.Options) model.CCTLaw { return cmp.Or(o.CCTLaw, model.CCTGeometric) }

// finest returns the table for a port unless its queue pairs have very small entitlements.
func (t *tables) finest(p *port) ([]ibcc.Entry, error) { return t.get(p, t.shapes()[0]) }

func (t *tables) get(p *port, shape int) ([]ibcc.Entry, error) {
	a := &p.profile.Adapter
	key := tableKey{shape, p.entries, a.MaxShift, a.MaxMultiplier}
	if e, ok := t.made[key]; ok {
		return e, nil
	}
	make := ibcc.Geometric
	if t.law == model.CCTQuadratic {
		make = ibcc.Quadratic
	}
	e, err := make(p.entries, shape)
	if err != nil {
		return nil, fmt.Errorf("congestion control table: %w", err)
	}
	if !p.standardForm() {
		for i := range e {
			e[i] = a.Entry(e[i])
		}
	}
	t.made[key] = e
	return e, nil
}

func (t *tables) shapes() []int {
	if t.law == model.CCTQuadratic {
		return scaleChoices[:]
	}
	return ratioChoices[:]
}

// chooseTables gives every port the first table that reaches below the smallest rate on it with margin. A geometric table finer than planRatio
// must also settle within tableTime.
func (s *Settings) chooseTables() error {
	var failed [2]error
	halves.Do(len(s.ports), func(from, to int) {
		t := s.newTables()
		for i := from; i < to && failed[min(from, 1)] == nil; i++ {
			if s.fresh[i] {
				failed[min(from, 1)] = s.chooseTable(t, &s.ports[i])
			}
		}
	})
	return cmp.Or(failed[:]...)
}

func (s *Settings) chooseTable(t *tables, p *port) error {
	smallest, slowest := s.slowest(p)
	for _, shape := range t.shapes() {
		table, err := t.get(p, shape)
		if err != nil {
			return err
		}
		p.table, p.shape, p.smallest = table, shape, smallest
		if !p.reaches() {
			continue
		}
		steps, _ := ibcc.Steps(table, model.Rate(p.line), model.Rate(smallest))
		if t.law == model.CCTQuadratic || shape >= planRatio || float64(steps)*slowest <= tableTime {
			break
		}
	}
	return nil
}

// reaches reports whether the port's table slows flows enough.
func (p *port) reaches() bool { return p.floor()*reachMargin <= p.smallest }

// slowest returns the smallest rate that the table of a port must reach below with reachMargin, and the longest duration of one table step.
// Flows at their demand need no slowing, and a cap needs an entry of its own rate.
func (s *Settings) slowest(p *port) (smallest, step float64) {
	smallest = p.line
	for _, k := range p.settings {
		st := &s.all[k]
		if s.needsReach(st) {
			smallest = min(smallest, st.rate)
		}
		if c := s.capOf(k); c > 0 {
			smallest = min(smallest, float64(reachMargin*c))
		}
		step = max(step, float64(float64(st.timer)*p.unit))
	}
	return smallest, step
}

// needsReach reports whether marks must slow a setting: another limit than its own demands and caps limits a flow of it, or it has no flow
// yet.
func (s *Settings) needsReach(st *setting) bool {
	return len(st.flows) == 0 || slices.ContainsFunc(st.flows, func(f int32) bool { return s.target.Bottleneck[f] >= 0 && !s.capLimits(f) })
}

// explainTables states why each port has its table, when caps have their entries in it.
func (s *Settings) explainTables() {
	law := cctLaw(s.m.Input.Options)
	halves.Do(len(s.ports), func(from, to int) {
		for i := from; i < to; i++ {
			if p := &s.ports[i]; s.fresh[i] {
				p.tableWhy, p.clamps = p.tableReason(law), s.limitClamps(p)
			}
		}
	})
}

func (p *port) tableReason(law model.CCTLaw) plan.Reason {
	a := &p.profile.Adapter
	r := plan.Reason{Field: "cct", Rule: plan.RuleTableGeometric, Unit: phrase.Write("reason.unit.table"),
		Range: phrase.Write("reason.range.table", "shift", strconv.Itoa(int(a.MaxShift)), "multiplier", strconv.Itoa(int(a.MaxMultiplier))),
		Value: phrase.Write("reason.value.table", "entries", strconv.Itoa(len(p.table)), "last", p.table[len(p.table)-1].String())}
	shape := fixed(float64(p.shape)/1000, 3)
	grows := phrase.Write("reason.formula.table-geometric", "ratio", shape, "steps", strconv.Itoa(1<<a.MaxShift))
	if law == model.CCTQuadratic {
		r.Rule = plan.RuleTableQuadratic
		grows = phrase.Write("reason.formula.table-quadratic", "scale", shape)
	}
	last, smallest := model.Rate(p.floor()).String(), model.Rate(p.smallest).String()
	reach := phrase.Write("reason.formula.table-last", "rate", last, "smallest", smallest)
	if !p.reaches() {
		reach = phrase.Write("reason.formula.table-last-above", "rate", last, "smallest", smallest)
		r.Clamped = phrase.Write("reason.limit.table", "rate", last)
	}
	r.Formula = phrase.Clauses(grows, reach)
	return r
}

// limitClamps returns the finding about flows that the port's table does not slow enough, or nil. Caps that a table cannot hold have their own
// findings.
func (s *Settings) limitClamps(p *port) *plan.Finding {
	if p.reaches() {
		return nil
	}
	var names []string
	crowd, smallest := 1.0, p.line
	for _, k := range p.settings {
		st := &s.all[k]
		if st.rate >= p.floor()*reachMargin || len(st.flows) == 0 || !s.needsReach(st) {
			continue
		}
		smallest = min(smallest, st.rate)
		names = append(names, s.names(st.tenants)...)
		if !p.perSL {
			crowd = max(crowd, st.qps)
		}
	}
	if len(names) == 0 {
		return nil
	}
	port := s.m.Fabric.PortName(p.ref)
	f := plan.NewFinding(plan.CodeCCTLimit, names, []string{port},
		phrase.Of("plan.cct-limit-clamps",
			"port", port, "limit", len(p.table)-1, "passed", model.Rate(p.floor()), "smallest", model.Rate(smallest)), p.reachFix(crowd > 1,
			phrase.Of("plan.table-floor.fix", "floor", model.Rate(p.floor()))))
	return &f
}

// reachFix returns the advice where a table does not slow a CCTI enough. several states that it is one of several on its SL; beyond is the
// advice for a limit that no table can extend.
func (p *port) reachFix(several bool, beyond phrase.Text) phrase.Text {
	a := &p.profile.Adapter
	longest := p.table[len(p.table)-1].Eighths() >= uint32(a.MaxMultiplier)<<ibcc.MaxShift || !p.profile.Generic() && len(p.table) >= a.TableEntries
	switch {
	case longest && several:
		return phrase.Of("plan.sl-mode.fix")
	case longest:
		return beyond
	case several:
		return phrase.Of("plan.longer-tables-or.fix")
	}
	return phrase.Of("plan.longer-tables.fix")
}

// seconds prints a time, at most the longest that quantity.Picoseconds holds.
func seconds(s float64) string { return quantity.Picoseconds(min(float64(s*1e12), 1<<62)).String() }
