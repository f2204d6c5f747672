package policy

import (
	"fmt"
	"math"
	"slices"

	"fairlane/policy/fill"
	"fairlane/policy/plan"
)

// Prediction is what settings are expected to give.
type Prediction struct {
	Tenants []plan.TenantShare // by name
	Links   []plan.LinkShare   // contended links of the target, by transmitting port
}

// Predict computes what a plan's settings and placements are expected to give on the input: the flat
// weighted max-min allocation in which a queue pair counts by its setting's aggressiveness,
// 1/(Increase·Timer) with free-running timers or ln(1+1/Increase)/Timer with restarted ones, divided by
// the number of limiting links that mark it, since it gets the marks of each; where these are several, rates are
// those at which the marks of all links agree, up to 20,000 flows. A port that
// sends does not mark; its queue pairs take turns, so there all count alike. In SL mode the
// queue pairs of an SL split its aggressiveness. No queue pair goes below the rate of its port's
// last table entry. It is for plans of the InfiniBand plane. It fails like Compile, and when the plan is of another
// plane or lacks a port or tenant of the input.
func Predict(in Input, p *plan.Plan) (*Prediction, error) {
	if p.Plane != PlaneIB {
		return nil, fmt.Errorf("%w: a plan of plane %q: want %q", ErrInput, p.Plane, PlaneIB)
	}
	m, err := newModel(in)
	if err != nil {
		return nil, err
	}
	target := m.entitle()
	if target.err != nil {
		return nil, target.err
	}
	s, err := m.settingsOf(p, target)
	if err != nil {
		return nil, err
	}
	predicted := s.predict()
	if predicted.err != nil {
		return nil, predicted.err
	}
	out := &Prediction{Tenants: m.tenantShares(target, predicted.allocation), Links: m.linkShares(target, predicted.allocation)}
	m.setBounds(out.Tenants, nil, out.Links, s.bounds(predicted))
	return out, nil
}

// forecast is what settings are expected to give.
type forecast struct {
	*allocation
	// circles and spare are by tenant how far its rate may be from that, relative: where several sharings are at rest or
	// acknowledgements make links mark, and where full links that limit no flow mark. nil: nowhere.
	circles, spare []float64
}

// predict fills the links by aggressiveness. Where prices replace the rates of that allocation, bottlenecks and the range of circles stay its own.
func (s *settings) predict() (f forecast) {
	floors := make([]float64, len(s.m.flows))
	for i := range floors {
		floors[i] = s.floorOf(int32(i))
	}
	w := shareWeights{marked: s.flowWeights(), floors: floors, ceilings: s.capCeilings(), slack: s.m.circleSlack(nil)}
	if f.allocation = s.predictLanes(&w); f.err != nil {
		return f
	}
	f.circles = larger(s.m.circleRange(f.allocation, w), s.ackRange(f.allocation, w))
	if len(s.m.flows) <= pricedFlows {
		if flows := s.m.joined(s.m.feedable(nil), func(i int) bool { return s.marks[i] > 1 }); flows != nil {
			s.prices(w, flows).run(f.rates)
		}
		f.spare = s.m.spareRange(f.allocation, s.target, w, s.marks, s.prices)
	}
	return f
}

// prices prepares the search for the marks that flows meet. At the marks of the target, prices of 1, flows have their entitlements on the whole.
func (s *settings) prices(w shareWeights, flows []int32) *prices {
	x := s.m.newPrices(w, 1, s.target.limiting, flows)
	rates, weights := 0.0, 0.0
	for i, r := range s.target.rates {
		if s.marks[i] > 0 {
			rates += r
			weights += w.marked[i]
		}
	}
	for _, i := range x.flows {
		x.full[i] = float64(float64(w.marked[i]*(rates/weights)) * float64(max(1, s.marks[i])))
	}
	return x
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

// flowWeights is the aggressiveness of each flow, all its queue pairs together, less what it loses near its port's line rate when it has its
// entitlement.
func (s *settings) flowWeights() []float64 {
	w := make([]float64, len(s.m.flows))
	var last lastTop
	through := make([]float64, len(s.all)) // in SL mode
	for i, k := range s.ofFlow {
		through[k] += s.target.rates[i]
	}
	for i, n := range s.m.lay().qps {
		k := s.ofFlow[i]
		st := &s.all[k]
		p, one := &s.ports[st.port], s.target.rates[i]/n
		if p.perSL {
			n, one = n/st.qps, through[k]
		}
		w[i] = n * s.aggressiveness(st) * s.tookOf(st, p.table, one, &last) / float64(max(1, s.marks[i]))
	}
	return w
}

// floorOf is the rate at a flow's last table entry.
func (s *settings) floorOf(f int32) float64 {
	st := &s.all[s.ofFlow[f]]
	p := &s.ports[st.port]
	n := s.m.flows[f].qps
	floor := float64(p.floor() * n)
	if p.perSL {
		floor /= st.qps
	}
	return float64(floor)
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
