package model

import (
	"math"
	"slices"

	"fairlane/policy/fill"
	"fairlane/policy/plan"
	"fairlane/subnet"
)

// Forecast is the predicted effect of settings.
type Forecast struct {
	*Allocation
	// Cycles and Spare are relative uncertainties of each tenant's rate. Cycles: several allocations are stable, or acknowledgements make links
	// mark. Spare: full links that limit no flow mark. nil: zero everywhere.
	Cycles, Spare []float64
}

// ShareWeights defines how flows share links in a prediction. Slices are indexed by model flow and immutable after first use.
type ShareWeights struct {
	Marked   []float64 // weight of each flow, all its queue pairs together, on links transmitted by a switch
	Sending  []float64 // the same on links transmitted by an adapter; nil: the number of queue pairs
	Floors   []float64 // bit/s, by flow: links do not push the flow below it; nil: none
	Ceilings []float64 // bit/s, by flow: the flow cannot exceed it; 0 is unbounded; nil: none
	Caps     []float64 // bit/s to share, by link direction; nil: the full capacity
	Slack    []float64 // by link direction: relative amount by which a sending port counts as faster than it is, or slower if negative; nil: none
}

// capsOf returns w.Caps, or the full capacities.
func (m *Model) capsOf(w *ShareWeights) []float64 {
	if w.Caps == nil {
		return m.Caps
	}
	return w.Caps
}

// forecastPrecision is the relative movement at which predicted rates count as stable. Errors are reported to six decimals, and bounds are
// percents.
const forecastPrecision = 1e-6

// ShareByWeight is the prediction of every plane: the flat weighted max-min allocation of the flows over the links that can queue. No link
// pushes a flow below its floor; floors that exceed 99 % of a link are scaled down in proportion.
func (m *Model) ShareByWeight(w ShareWeights) *Allocation { return m.ShareByWeightOn(m.Forecasts, w) }

// ShareByWeightOn is ShareByWeight on the given solver; nil selects one without memory.
func (m *Model) ShareByWeightOn(solver *fill.Solver, w ShareWeights) *Allocation {
	p := m.problem()
	if p.Capacity = m.QueueingCaps(w.Caps); w.Caps != nil {
		p.Nominal = m.Caps
	}
	p.Precision = forecastPrecision
	l := m.Layout()
	p.Count, p.Sends, p.Units, p.Sending, p.Floor, p.Ceiling = l.QPs, l.Sends, w.Marked, w.Sending, w.Floors, w.Ceilings
	if p.Sending == nil {
		p.Sending = l.QPs
	}
	if m.Plane == subnet.PlaneIB {
		p.Count = p.Sending // lanes are settled in rounds, and each round solves from scratch
	}
	if w.Slack == nil {
		return m.share(solver, p)
	}
	fits := p.Capacity
	p.Capacity = slices.Clone(fits)
	for d, x := range w.Slack {
		p.Capacity[d] += float64(fits[d] * x)
	}
	a := m.share(solver, p)
	m.fitSending(a, fits)
	return a
}

// fitSending lowers the rates of flows whose sending ports carry more than their capacity.
func (m *Model) fitSending(a *Allocation, caps []float64) {
	l := m.Layout()
	load := make([]float64, len(caps))
	for i, r := range a.Rates {
		load[l.Hops[l.First[i]]] += r
	}
	for i := range a.Rates {
		if d := l.Hops[l.First[i]]; load[d] > caps[d] {
			a.Rates[i] = float64(a.Rates[i] * (caps[d] / load[d]))
		}
	}
}

// TenantShares sums both allocations by tenant.
func (m *Model) TenantShares(target, predicted *Allocation) []plan.TenantShare {
	out := make([]plan.TenantShare, len(m.Tenants))
	entitled, expected, qps := make([]float64, len(m.Tenants)), make([]float64, len(m.Tenants)), make([]float64, len(m.Tenants))
	for i := range m.Tenants {
		out[i].Tenant, out[i].Weight = m.Tenants[i].Name, m.Tenants[i].Weight
	}
	l := m.Layout()
	for i, t := range l.Tenant {
		entitled[t] += target.Rates[i]
		expected[t] += predicted.Rates[i]
		qps[t] += l.QPs[i]
	}
	for t := range out {
		out[t].QPs, out[t].Entitled, out[t].Predicted = RoundQPs(qps[t]), Rate(entitled[t]), Rate(expected[t])
		if entitled[t] > 0 {
			out[t].PredictedError = sixDecimals(math.Abs(expected[t]-entitled[t]) / entitled[t])
		}
	}
	return out
}

// sixDecimals rounds a relative error; finer digits are rounding errors of the prediction.
func sixDecimals(x float64) float64 { return math.Floor(float64(x*1e6)+0.5) / 1e6 }

// SetBounds writes each tenant's error bound into its predictions.
func (m *Model) SetBounds(ts []plan.TenantShare, classes []plan.ClassShare, links []plan.LinkShare, bounds []float64) {
	of := make(map[string]float64, len(bounds))
	for t, b := range bounds {
		ts[t].Bound = sixDecimals(min(plan.UnknownBound, b))
		of[m.Tenants[t].Name] = ts[t].Bound
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
