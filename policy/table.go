package policy

import (
	"cmp"
	"fmt"

	"fairlane/ccconfig/ibcc"
	"fairlane/internal/phrase"
	"fairlane/internal/quantity"
)

// ratioChoices are the growths of a geometric table, in thousandths. The first four are the measured
// good ones; the rest are for ports whose queue pairs are entitled to very little.
var ratioChoices = [...]int{1040, 1045, 1050, 1060, 1070, planRatio, 1100, 1125, 1150, 1200, 1250, 1300, 1400, 1500, 1700, 2000}

// scaleChoices stretch S1's quadratic table, in thousandths.
var scaleChoices = [...]int{1000, 2000, 4000, 8000, 16_000, 32_000, 62_500}

const (
	// reachMargin is how far below the smallest entitlement the last entry must slow a flow.
	reachMargin = 2
	// tableTime is the convergence, in seconds, up to which a finer table is preferred.
	tableTime = 0.250
)

// tables makes each port's table once per shape.
type tables struct {
	law     CCTLaw
	entries int
	made    map[int][]ibcc.Entry // by ratio or scale
}

func (t *tables) get(shape int) ([]ibcc.Entry, error) {
	if e, ok := t.made[shape]; ok {
		return e, nil
	}
	make := ibcc.Geometric
	if t.law == CCTQuadratic {
		make = ibcc.Quadratic
	}
	e, err := make(t.entries, shape)
	if err != nil {
		return nil, fmt.Errorf("congestion control table: %w", err)
	}
	t.made[shape] = e
	return e, nil
}

func (t *tables) shapes() []int {
	if t.law == CCTQuadratic {
		return scaleChoices[:]
	}
	return ratioChoices[:]
}

// chooseTables gives every port the first table that reaches below the smallest rate on it with
// margin and, while finer ones are to be had, settles within tableTime.
func (s *settings) chooseTables() error {
	law := s.m.in.Options.CCTLaw
	if law == "" {
		law = CCTGeometric
	}
	var failed [2]error
	inHalves(len(s.ports), func(from, to int) {
		t := &tables{law: law, entries: s.m.entries, made: map[int][]ibcc.Entry{}}
		for i := from; i < to && failed[min(from, 1)] == nil; i++ {
			if s.fresh[i] {
				failed[min(from, 1)] = s.chooseTable(t, &s.ports[i])
			}
		}
	})
	return cmp.Or(failed[:]...)
}

func (s *settings) chooseTable(t *tables, p *port) error {
	smallest, slowest := s.slowest(p)
	shape, reaches := 0, false
	for _, shape = range t.shapes() {
		table, err := t.get(shape)
		if err != nil {
			return err
		}
		p.table = table
		if p.floor()*reachMargin > smallest {
			continue
		}
		reaches = true
		steps, _ := ibcc.Steps(table, rate(p.line), rate(smallest))
		if t.law == CCTQuadratic || shape >= planRatio || float64(steps)*slowest <= tableTime {
			break
		}
	}
	p.tableWhy, p.clamps = t.reason(p, shape, smallest), nil
	if !reaches {
		f := s.limitClamps(p, smallest)
		p.clamps = &f
		p.tableWhy.Clamped = "the last entry lets " + rate(p.floor()).String() + " through"
	}
	return nil
}

// slowest returns the smallest rate of a port's settings and the longest time one table step takes.
func (s *settings) slowest(p *port) (smallest, step float64) {
	smallest = p.line
	for _, k := range p.settings {
		st := &s.all[k]
		smallest = min(smallest, st.rate)
		if c := s.capOf(k); c > 0 {
			smallest = min(smallest, c)
		}
		step = max(step, float64(float64(st.timer)*timerUnit))
	}
	return smallest, step
}

func (t *tables) reason(p *port, shape int, smallest float64) Reason {
	r := Reason{Field: "cct", Rule: RuleTableGeometric, Unit: "shift:multiplier", Range: "shift 0..3, multiplier 0..16383, not decreasing",
		Value: fmt.Sprintf("%d entries to %s", len(p.table), p.table[len(p.table)-1])}
	law := fmt.Sprintf("1 + delay grows by %d.%03d a step, at least 1/8 packet time", shape/1000, shape%1000)
	if t.law == CCTQuadratic {
		r.Rule = RuleTableQuadratic
		law = fmt.Sprintf("delay = %d.%03d·14·i²/1062 us at 1024 B and 10 Gbit/s", shape/1000, shape%1000)
	}
	r.Formula = fmt.Sprintf("%s; last entry %s <= %s/%d, half the smallest rate on the port", law, rate(p.floor()), rate(smallest), reachMargin)
	return r
}

func (s *settings) limitClamps(p *port, smallest float64) Finding {
	var names []string
	for _, k := range p.settings {
		if c := s.capOf(k); s.all[k].rate < p.floor()*reachMargin || c > 0 && c < p.floor()*reachMargin {
			for _, t := range s.all[k].tenants {
				names = append(names, s.m.tenants[t].Name)
			}
		}
	}
	fix := phrase.Of("use SL mode, or open fewer queue pairs")
	if p.table[len(p.table)-1].Eighths() < ibcc.MaxMultiplier<<ibcc.MaxShift { // not yet the longest delay there is
		fix = phrase.Of("allow longer tables, use SL mode, or open fewer queue pairs")
	}
	port := s.m.fabric.PortName(p.ref)
	return finding(CodeCCTLimit, names, []string{port},
		phrase.Of("port {}: CCTI_Limit {} lets {} through, more than half of the smallest entitlement {}; flows at the limit take more than their share",
			port, len(p.table)-1, rate(p.floor()), rate(smallest)), fix)
}

// seconds prints a time; a longer one than quantity.Picoseconds holds as the longest.
func seconds(s float64) string { return quantity.Picoseconds(min(float64(s*1e12), 1<<62)).String() }
