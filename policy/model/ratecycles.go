package model

import (
	"math"
	"slices"

	"fairlane/internal/disjoint"
)

const (
	// cycleSlack is how much faster, relative, sending ports count in a prediction: a hundred times the precision of the rates.
	cycleSlack = 100 * forecastPrecision
	// endSlack is how much faster or slower they count at the ends of the range. The time to find an allocation along a cycle grows with 1/slack.
	endSlack = 20 * cycleSlack
	// MaxCycleFlows is the number of flows up to which allocations along cycles are compared.
	MaxCycleFlows = 20_000
	// minCycleDifference is the relative distance from which two allocations count as different.
	minCycleDifference = 0.01
	// minCycleLoad is the load, as part of the capacity, from which a link may belong to a cycle: acknowledgements take up to 6.8 % of the others.
	minCycleLoad = 0.9
)

// A sending port divides by queue pairs, and other links divide by weight. Where full links of both kinds form a cycle, rates can move along
// it while every link stays full: a whole range of allocations is stable. The slack of the sending ports selects one end of the range. If
// they count as slightly faster than they are, the other links decide, and queue pairs get the shares of their weights; if slightly slower,
// the turns of the sending ports decide.

// CycleSlack returns the slack of the prediction, by link direction. caps are the capacities for data; nil means the full ones.
// Where sending ports carry data only, packet simulations of WRCC converge at the shares of the weights; this is not proven. Where they
// also carry acknowledgements, simulations rested at either end and between; the prediction then uses the capacities without slack, and
// CycleRange gives the distance from the ends. On InfiniBand, links that mark stay some tenths of a percent to 3 % short of full and sending
// ports do not: the sending ports have room, and simulations rest nearer the shares of the weights.
func (m *Model) CycleSlack(caps []float64) []float64 {
	if caps == nil {
		caps = m.Caps
	}
	out := make([]float64, len(caps))
	for d, sends := range m.Layout().Sends {
		if sends && caps[d] == m.Caps[d] {
			out[d] = cycleSlack
		}
	}
	return out
}

// CycleRange returns the relative distance of each tenant's rate from the prediction that other stable allocations allow: the larger of its
// distances from the ends of the range. How acknowledgements take turns with data is unknown, so at the end of the weights they take nothing
// of sending ports. nil means no range, or unknown because there are more than MaxCycleFlows flows.
// Without a cycle only the slack moves rates: by many times the slack where a flow gets what another leaves of a port.
func (m *Model) CycleRange(a *Allocation, w ShareWeights) []float64 {
	if len(m.Flows) > MaxCycleFlows || len(m.FullSenders(a, func(float64) bool { return true })) == 0 {
		return nil
	}
	if !m.onCycle(a, w.Caps) {
		return nil
	}
	caps := m.capsOf(&w)
	weights, turns := make([]float64, len(m.Caps)), make([]float64, len(m.Caps))
	for d, sends := range m.Layout().Sends {
		if sends {
			weights[d], turns[d] = m.Caps[d]/caps[d]-1+endSlack, -endSlack
		}
	}
	var out []float64
	for _, slack := range [][]float64{weights, turns} {
		w.Slack = slack
		b := m.ShareByWeightOn(nil, w)
		if b.Err != nil {
			return nil
		}
		out = Maxima(out, m.SignificantDistances(a, b))
	}
	return out
}

// SignificantDistances returns distances, with 0 for tenants whose rates are the same in both.
func (m *Model) SignificantDistances(a, b *Allocation) []float64 {
	out := m.distances(a, b)
	for t, off := range out {
		if off <= minCycleDifference {
			out[t] = 0
		}
	}
	return out
}

// Maxima returns the element-wise maximum of two lists; nil stands for zeros.
func Maxima(a, b []float64) []float64 {
	if a == nil {
		return b
	}
	out := slices.Clone(a)
	for i, x := range b {
		out[i] = max(out[i], x)
	}
	return out
}

// distances returns, by tenant, the distance of its rates in two allocations, relative to the first.
func (m *Model) distances(from, to *Allocation) []float64 {
	here, out := m.byTenant(from), m.byTenant(to)
	for t, there := range out {
		out[t] = math.Abs(there-here[t]) / max(here[t], 1)
	}
	return out
}

// byTenant sums the rates of an allocation by tenant.
func (m *Model) byTenant(a *Allocation) []float64 {
	out := make([]float64, len(m.Tenants))
	for i, t := range m.Layout().Tenant {
		out[t] += a.Rates[i]
	}
	return out
}

// onCycle reports whether full links and the flows over them form a cycle that includes a full sending port. Without one no rate can move
// while every link stays full, so only one allocation is stable. Links that never fill and flows at their demand do not count.
func (m *Model) onCycle(a *Allocation, caps []float64) bool {
	l, full := m.Layout(), m.Filled(a, caps)
	sets, cycle := disjoint.New(len(m.Caps)), make([]bool, len(m.Caps))
	for i, r := range a.Rates {
		if l.Demand[i] > 0 && r >= float64(l.Demand[i]*(1-endSlack)) {
			continue
		}
		last := int32(-1)
		for _, d := range l.Hops[l.First[i]:l.First[i+1]] {
			if !full[d] {
				continue
			}
			if last >= 0 {
				one, other := sets.Find(last), sets.Find(d)
				closed := one == other || cycle[one] || cycle[other]
				sets.Join(one, other)
				cycle[sets.Find(one)] = closed
			}
			last = d
		}
	}
	for d, sends := range l.Sends {
		if sends && full[d] && cycle[sets.Find(int32(d))] {
			return true
		}
	}
	return false
}

// Filled flags the link directions that an allocation fills, among those that can fill.
func (m *Model) Filled(a *Allocation, caps []float64) []bool {
	full, load := make([]bool, len(m.Caps)), m.Loads(a.Rates)
	for d, c := range m.QueueingCaps(caps) {
		full[d] = load[d] > 0 && load[d] >= float64(minCycleLoad*c)
	}
	return full
}

// FullSenders lists the sending link directions that an allocation fills and that accept selects. accept gets the rate, in bit/s, of a queue
// pair that takes all its turns.
func (m *Model) FullSenders(a *Allocation, accept func(turn float64) bool) []int32 {
	l := m.Layout()
	var out []int32
	turn, load := make([]float64, len(m.Caps)), make([]float64, len(m.Caps))
	for i, r := range a.Rates {
		d := l.Hops[l.First[i]]
		load[d] += r
		turn[d] = max(turn[d], r/l.QPs[i])
	}
	for d := range m.Caps {
		if load[d] > 0 && load[d] >= float64(fullSending*m.Caps[d]) && accept(turn[d]) {
			out = append(out, int32(d))
		}
	}
	return out
}

// fullSending is the load, as part of the capacity, from which queue pairs wait at a sending port.
const fullSending = 0.98
