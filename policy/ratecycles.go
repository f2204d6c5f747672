package policy

import (
	"math"
	"slices"

	"fairlane/internal/disjoint"
)

const (
	// circleSlack is by how much sending ports count as faster than they are in a prediction: hundred times what rates are found to.
	circleSlack = 100 * forecastPrecision
	// endSlack is by how much they count as faster or slower at the ends of the range: sharings along circles are found in a time that
	// goes with 1/slack.
	endSlack = 20 * circleSlack
	// circleFlows bounds the flows for which the sharings along circles are compared.
	circleFlows = 20_000
	// circleApart is the relative distance from which on two sharings are different ones.
	circleApart = 0.01
	// circleFull is the part of its capacity from which on a link may belong to a circle: acknowledgements take up to 6.8 % of the others.
	circleFull = 0.9
)

// A sending port divides by queue pairs, and other links divide by weight. Where full ones of both kinds form a circle, rates can move along
// it while every link stays full: each sharing of a range is at rest. Slack of the sending ports selects one end of the range. Where they
// count as a little faster than they are, the other links decide, and queue pairs have the shares of their weights; where
// they count as a little slower, their turns decide.

// circleSlack is that of the prediction, by link direction. caps are the capacities for data, nil: all of them. Where sending ports carry data
// alone, packet simulations of WRCC come to rest at the shares of the weights. Why is not proven. Where they carry acknowledgements as well,
// either end and what is between was found; the prediction then has what capacities alone give. circleRange has the distance from the ends.
// On InfiniBand links that mark are some tenths of a percent to 3 % short of full, and sending ports are not: they are those that have room,
// and simulations rest nearer the shares of the weights.
func (m *model) circleSlack(caps []float64) []float64 {
	if caps == nil {
		caps = m.caps
	}
	out := make([]float64, len(caps))
	for d, sends := range m.lay().sends {
		if sends && caps[d] == m.caps[d] {
			out[d] = circleSlack
		}
	}
	return out
}

// circleRange is how far, relative, the rate of each tenant may be from a prediction because other sharings are at rest as well: the
// larger of its distances from the ends of the range. How acknowledgements take turns with data is not known, so at the end of the weights
// they take nothing of sending ports. nil is nowhere, or not known, with more than circleFlows flows.
// Without a circle the slack alone moves rates: where a flow has what another leaves of a port, by many times the slack.
func (m *model) circleRange(a *allocation, w shareWeights) []float64 {
	if len(m.flows) > circleFlows || len(m.fullSenders(a, func(float64) bool { return true })) == 0 {
		return nil
	}
	if !m.onCircle(a, w.caps) {
		return nil
	}
	caps := m.capsOf(&w)
	weights, turns := make([]float64, len(m.caps)), make([]float64, len(m.caps))
	for d, sends := range m.lay().sends {
		if sends {
			weights[d], turns[d] = m.caps[d]/caps[d]-1+endSlack, -endSlack
		}
	}
	var out []float64
	for _, slack := range [][]float64{weights, turns} {
		w.slack = slack
		b := m.shareByWeightOn(nil, w)
		if b.err != nil {
			return nil
		}
		out = larger(out, m.different(a, b))
	}
	return out
}

// different is distances, 0 for tenants that have the same in both.
func (m *model) different(a, b *allocation) []float64 {
	out := m.distances(a, b)
	for t, off := range out {
		if off <= circleApart {
			out[t] = 0
		}
	}
	return out
}

// larger is by index the larger of two values; nil stands for zeros.
func larger(a, b []float64) []float64 {
	if a == nil {
		return b
	}
	out := slices.Clone(a)
	for i, x := range b {
		out[i] = max(out[i], x)
	}
	return out
}

// distances is by tenant how far its rate in one allocation is from that in another, relative to the first.
func (m *model) distances(from, to *allocation) []float64 {
	here, out := m.byTenant(from), m.byTenant(to)
	for t, there := range out {
		out[t] = math.Abs(there-here[t]) / max(here[t], 1)
	}
	return out
}

// byTenant sums the rates of an allocation by tenant.
func (m *model) byTenant(a *allocation) []float64 {
	out := make([]float64, len(m.tenants))
	for i, t := range m.lay().tenant {
		out[t] += a.rates[i]
	}
	return out
}

// onCircle reports whether full links and the flows over them form a circle that a full sending port belongs to. Without one no rate can move
// while every link stays full, so one sharing alone is at rest. Links that are never full, and flows that have their demand, do not count.
func (m *model) onCircle(a *allocation, caps []float64) bool {
	l, full := m.lay(), m.filled(a, caps)
	sets, circle := disjoint.New(len(m.caps)), make([]bool, len(m.caps))
	for i, r := range a.rates {
		if l.demand[i] > 0 && r >= float64(l.demand[i]*(1-endSlack)) {
			continue
		}
		last := int32(-1)
		for _, d := range l.hops[l.first[i]:l.first[i+1]] {
			if !full[d] {
				continue
			}
			if last >= 0 {
				one, other := sets.Find(last), sets.Find(d)
				closed := one == other || circle[one] || circle[other]
				sets.Join(one, other)
				circle[sets.Find(one)] = closed
			}
			last = d
		}
	}
	for d, sends := range l.sends {
		if sends && full[d] && circle[sets.Find(int32(d))] {
			return true
		}
	}
	return false
}

// filled are the link directions that an allocation fills, of those that can fill.
func (m *model) filled(a *allocation, caps []float64) []bool {
	full, load := make([]bool, len(m.caps)), m.loads(a.rates)
	for d, c := range m.feedable(caps) {
		full[d] = load[d] > 0 && load[d] >= float64(circleFull*c)
	}
	return full
}

// fullSenders are the sending link directions that an allocation fills and of which accept takes the rate, in bit/s, of a queue pair that
// takes all its turns.
func (m *model) fullSenders(a *allocation, accept func(turn float64) bool) []int32 {
	l := m.lay()
	var out []int32
	turn, load := make([]float64, len(m.caps)), make([]float64, len(m.caps))
	for i, r := range a.rates {
		d := l.hops[l.first[i]]
		load[d] += r
		turn[d] = max(turn[d], r/l.qps[i])
	}
	for d := range m.caps {
		if load[d] > 0 && load[d] >= float64(fullSending*m.caps[d]) && accept(turn[d]) {
			out = append(out, int32(d))
		}
	}
	return out
}

// fullSending is the part of its capacity from which on a sending port has queue pairs wait.
const fullSending = 0.98
