package policy

import (
	"math"
	"slices"

	"fairlane/policy/fill"
	"fairlane/policy/plan"
)

// forecast is what settings are expected to give.
type forecast struct {
	*allocation
	// circles and spare are by tenant how far its rate may be from that, relative: where several sharings are at rest or
	// acknowledgements make links mark, and where full links that limit no flow mark. nil: nowhere.
	circles, spare []float64
}

// shareWeights says how flows share the links of a prediction. Slices go by model flow, and are not changed once they were
// shared by.
type shareWeights struct {
	marked   []float64 // weight of each flow, all its queue pairs together, on links whose transmitter is a switch
	sending  []float64 // on links that an adapter sends on; nil: its queue pairs
	floors   []float64 // bit/s below which a flow is not pushed; nil: none
	ceilings []float64 // bit/s above which a flow cannot go, 0 is no bound; nil: none
	caps     []float64 // bit/s of each link direction that is to be shared; nil: all of it
	slack    []float64 // part by which a link direction that sends counts as faster than it is, or slower where below 0; nil: none
}

// capsOf is w.caps, or all that links carry.
func (m *model) capsOf(w *shareWeights) []float64 {
	if w.caps == nil {
		return m.caps
	}
	return w.caps
}

// forecastPrecision is the relative movement at which the rates of a prediction are at rest: its errors are told in six decimals,
// and its bounds are percents.
const forecastPrecision = 1e-6

// shareByWeight is the prediction of every plane: the flat weighted max-min allocation of the flows
// over the links that can queue. No link pushes a flow below its floor; floors that ask for more than 99 %
// of a link count in proportion.
func (m *model) shareByWeight(w shareWeights) *allocation { return m.shareByWeightOn(m.forecasts, w) }

// shareByWeightOn does so on a solver; nil is one without a memory.
func (m *model) shareByWeightOn(solver *fill.Solver, w shareWeights) *allocation {
	p := m.problem()
	if p.Capacity = m.feedable(w.caps); w.caps != nil {
		p.Nominal = m.caps
	}
	p.Precision = forecastPrecision
	l := m.lay()
	p.Count, p.Sends, p.Units, p.Sending, p.Floor, p.Ceiling = l.qps, l.sends, w.marked, w.sending, w.floors, w.ceilings
	if p.Sending == nil {
		p.Sending = l.qps
	}
	if m.plane == PlaneIB {
		p.Count = p.Sending // lanes are settled in rounds, each from nothing
	}
	if w.slack == nil {
		return m.share(solver, p)
	}
	fits := p.Capacity
	p.Capacity = slices.Clone(fits)
	for d, x := range w.slack {
		p.Capacity[d] += float64(fits[d] * x)
	}
	a := m.share(solver, p)
	m.fitSending(a, fits)
	return a
}

// fitSending takes off the flows what their sending ports carry above their capacity.
func (m *model) fitSending(a *allocation, caps []float64) {
	l := m.lay()
	load := make([]float64, len(caps))
	for i, r := range a.rates {
		load[l.hops[l.first[i]]] += r
	}
	for i := range a.rates {
		if d := l.hops[l.first[i]]; load[d] > caps[d] {
			a.rates[i] = float64(a.rates[i] * (caps[d] / load[d]))
		}
	}
}

// tenantShares sums both allocations by tenant.
func (m *model) tenantShares(target, predicted *allocation) []plan.TenantShare {
	out := make([]plan.TenantShare, len(m.tenants))
	entitled, expected, qps := make([]float64, len(m.tenants)), make([]float64, len(m.tenants)), make([]float64, len(m.tenants))
	for i := range m.tenants {
		out[i].Tenant, out[i].Weight = m.tenants[i].Name, m.tenants[i].Weight
	}
	l := m.lay()
	for i, t := range l.tenant {
		entitled[t] += target.rates[i]
		expected[t] += predicted.rates[i]
		qps[t] += l.qps[i]
	}
	for t := range out {
		out[t].QPs, out[t].Entitled, out[t].Predicted = whole(qps[t]), rate(entitled[t]), rate(expected[t])
		if entitled[t] > 0 {
			out[t].PredictedError = sixDecimals(math.Abs(expected[t]-entitled[t]) / entitled[t])
		}
	}
	return out
}

// sixDecimals rounds a relative error: what is finer is rounding, not prediction.
func sixDecimals(x float64) float64 { return math.Floor(float64(x*1e6)+0.5) / 1e6 }

// setBounds writes each tenant's error bound beside its predictions.
func (m *model) setBounds(ts []plan.TenantShare, classes []plan.ClassShare, links []plan.LinkShare, bounds []float64) {
	of := make(map[string]float64, len(bounds))
	for t, b := range bounds {
		ts[t].Bound = sixDecimals(min(plan.UnknownBound, b))
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
