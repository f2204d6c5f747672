package scenario

import (
	"fmt"
	"math"

	"fairlane/internal/quantity"
	"fairlane/sim/cc"
	"fairlane/sim/ether"
	"fairlane/subnet"
	"fairlane/wrcc"
)

// weights describes the weights of a scenario's flows for the switches of weighted WRCC. Only ratios matter, so the unit is
// the weight of the lightest flow. Headers are in whole Mbit/s for a weight of 1. They then have the best resolution at which
// a single flow can still request its full link rate.
type weights struct {
	weighted   bool
	unit       float64 // divisor of the scenario's weights
	least, sum float64 // in that unit; sum over the flows that may share one port
}

// Kinds of controls by their use of weights.
const (
	noFairRate = iota
	plainFairRate
	weightedFairRate
)

// fairRateOf reports whether flows of a control follow fair rates, and whether by weight.
func (c *Control) fairRateOf() int {
	spec, err := cc.ByName(c.Algorithm)
	if err != nil {
		return noFairRate
	}
	p, ok := spec.Param("weighted")
	if !ok {
		return noFairRate
	}
	on, given := c.Values[p.Name]
	if !given {
		on = p.Default
	}
	if on == 0 {
		return plainFairRate
	}
	return weightedFairRate
}

// weights collects the weights of all flows. The number of a generator's concurrent flows is unknown: weights assumes a
// thousand flows of the heaviest weight, the number that S0's minimum fair rate allows.
func (s *Scenario) weights() weights {
	e := s.Ethernet
	w := weights{unit: 1, least: math.Inf(1)}
	heaviest, plain := 0.0, false
	add := func(control uint16, weight, count float64) {
		switch e.Controls[control].fairRateOf() {
		case noFairRate:
			return
		case plainFairRate:
			weight, plain = 1, true
		default:
			w.weighted = true
		}
		w.least = min(w.least, weight)
		w.sum += float64(weight * count)
		if count == 0 {
			heaviest = max(heaviest, weight)
		}
	}
	perTenant := s.listedFlows()
	for i := range e.Flows {
		f := &e.Flows[i]
		add(f.Control, s.Tenants[f.Tenant].Weight.Float()/perTenant[f.Tenant], float64(f.Count))
	}
	for i := range e.Workload {
		g := &e.Workload[i]
		for t := range s.Tenants {
			if t == g.Tenant || g.Kind == KindTrace { // the lines of a trace may name tenants
				add(g.Control, s.Tenants[t].Weight.Float(), 0)
			}
		}
	}
	if !w.weighted {
		return weights{unit: 1}
	}
	if !plain { // a flow without weight has weight 1, in any unit
		w.unit = w.least
	}
	w.least, w.sum = w.least/w.unit, (w.sum+heaviest*wrcc.FminPart)/w.unit
	return w
}

// listedFlows returns the number of listed flows of each tenant.
func (s *Scenario) listedFlows() []float64 {
	count := make([]float64, len(s.Tenants))
	for i := range s.Ethernet.Flows {
		count[s.Ethernet.Flows[i].Tenant] += float64(s.Ethernet.Flows[i].Count)
	}
	return count
}

// fairRate returns the switch settings for flows with weights: wrcc.Derive's, overridden by the scenario's own. Fmin and Fmax
// of the scenario are for a flow of weight 1.
func (w *WRCC) fairRate(f *subnet.Fabric, of weights) (*ether.FairRate, error) {
	out := &ether.FairRate{Period: w.Period, Params: w.params}
	if !of.weighted {
		return out, nil
	}
	byRate := make(map[quantity.BitRate]wrcc.Params)
	for i := range f.Links {
		rate := f.Links[i].Rate
		if _, ok := byRate[rate]; ok {
			continue
		}
		d, err := wrcc.Derive(wrcc.Facts{
			PortRate: rate, MaxIntraRTT: w.Period / wrcc.MaxPeriodRTTs, PeriodRTTs: wrcc.MaxPeriodRTTs, TargetPct: w.TargetPct,
			MinWeight: max(of.least, wrcc.MinWeight), WeightSum: min(of.sum, wrcc.MaxWeightSum),
		})
		if err != nil {
			return nil, fmt.Errorf("wrcc: links of %s: %w", rate, err)
		}
		p := w.params(subnet.PortRef{}, rate)
		p.Fmin, p.Fmax = d.Port.Fmin, d.Port.Fmax
		set(&p.Fmin, perUnit(w.Fmin, of.unit))
		set(&p.Fmax, perUnit(w.Fmax, of.unit))
		byRate[rate] = p
	}
	out.Params = func(_ subnet.PortRef, rate quantity.BitRate) wrcc.Params { return byRate[rate] }
	return out, nil
}

// perUnit converts a fair rate for weight 1 to the fair rate for one unit of weight; 0 stays 0.
func perUnit(rate quantity.BitRate, unit float64) quantity.BitRate {
	if rate == 0 {
		return 0
	}
	return quantity.BitRate(min(max(float64(rate)*unit, float64(wrcc.MinFairRate)), float64(wrcc.MaxFairRate)))
}
