package policy

import "math"

// Prediction is what settings are expected to give.
type Prediction struct {
	Tenants []TenantShare // by name
	Links   []LinkShare   // contended links of the target, by transmitting port
}

// Predict computes what a plan's settings and placements are expected to give on the input: the flat
// weighted max-min allocation in which a queue pair counts by its setting's aggressiveness,
// 1/(Increase·Timer) with free-running timers or ln(1+1/Increase)/Timer with restarted ones, divided by
// the number of limiting links that mark it, since it gets the marks of each. A port that
// sends does not mark; its queue pairs take turns, so there all count alike. In SL mode the
// queue pairs of an SL split its aggressiveness. No queue pair goes below the rate of its port's
// last table entry. It fails like Compile, and when the plan lacks a port or tenant of the input.
func Predict(in Input, p *Plan) (*Prediction, error) {
	m, err := newModel(in)
	if err != nil {
		return nil, err
	}
	target := m.entitle()
	s, err := m.settingsOf(p, target)
	if err != nil {
		return nil, err
	}
	predicted := s.predict()
	return &Prediction{Tenants: m.tenantShares(target, predicted), Links: m.linkShares(target, predicted)}, nil
}

// predict fills the links by aggressiveness.
func (s *settings) predict() *allocation {
	floors := make([]float64, len(s.m.flows))
	for i := range floors {
		floors[i] = s.floorOf(int32(i))
	}
	return s.m.shareByWeight(shareWeights{marked: s.flowWeights(), floors: floors})
}

// shareWeights says how flows share the links of a prediction. Slices go by model flow.
type shareWeights struct {
	marked   []float64 // weight of each flow, all its queue pairs together, on links whose transmitter is a switch
	sending  []float64 // on links that an adapter sends on; nil: its queue pairs
	floors   []float64 // bit/s below which a flow is not pushed; nil: none
	ceilings []float64 // bit/s above which a flow cannot go, 0 is no bound; nil: none
}

// shareByWeight is the prediction of every plane: the flat weighted max-min allocation of the flows
// over the links that can queue. Flows that come out below their floor are held at it and the
// rest is filled again, since held flows take what the others then lack.
func (m *model) shareByWeight(w shareWeights) *allocation {
	caps := m.feedableCaps()
	held := make([]bool, len(m.flows))
	for {
		a := m.fill(m.predictionFiller(w, caps, held))
		more := m.belowFloor(w, a, held)
		for i, h := range held {
			if h {
				a.rates[i] = w.floor(m, int32(i))
			}
		}
		if !more {
			return a
		}
		caps = m.capsWithout(w, held)
	}
}

// floor is a flow's floor, but no more than it can take.
func (w *shareWeights) floor(m *model, f int32) float64 {
	if w.floors == nil {
		return 0
	}
	if d := w.most(m, f); d > 0 {
		return min(w.floors[f], d)
	}
	return w.floors[f]
}

// most is the least of a flow's demand and its ceiling, 0 when it has neither.
func (w *shareWeights) most(m *model, f int32) float64 {
	d := m.flows[f].demand
	if w.ceilings != nil && w.ceilings[f] > 0 && (d == 0 || w.ceilings[f] < d) {
		d = w.ceilings[f]
	}
	return d
}

// boundless is a capacity that no flow can use up, in bit/s.
const boundless = 1e18

// feedableCaps are the capacities of the link directions, but boundless where all flows come out of one and
// the same link that is no faster: such a link is never offered more than it carries, so it
// neither queues nor marks, and only the link before it divides.
func (m *model) feedableCaps() []float64 {
	const none, many = -1, -2
	before := make([]int32, len(m.caps))
	for d := range before {
		before[d] = none
	}
	for i := range m.flows {
		links := m.flows[i].links
		for k, d := range links {
			switch {
			case k == 0:
				before[d] = many
			case before[d] == none:
				before[d] = links[k-1]
			case before[d] != links[k-1]:
				before[d] = many
			}
		}
	}
	caps := append([]float64(nil), m.caps...)
	for d, b := range before {
		if b >= 0 && m.caps[b] <= m.caps[d] {
			caps[d] = boundless
		}
	}
	return caps
}

// flowWeights is the aggressiveness of each flow, all its queue pairs together.
func (s *settings) flowWeights() []float64 {
	w := make([]float64, len(s.m.flows))
	for i := range s.m.flows {
		st := &s.all[s.ofFlow[i]]
		n := s.m.flows[i].qps
		if s.ports[st.port].perSL {
			n /= st.qps
		}
		w[i] = n * s.aggressiveness(st) / float64(max(1, s.marks[i]))
	}
	return w
}

func (m *model) predictionFiller(w shareWeights, caps []float64, held []bool) *filler {
	x := m.newFiller(sharing{
		group: func(f int32) int32 { return f },
		class: func(int32) int32 { return 0 },
		groupWeight: func(f, d int32) float64 {
			switch {
			case m.marks(d):
				return w.marked[f]
			case w.sending != nil:
				return w.sending[f]
			}
			return float64(m.flows[f].qps)
		},
		classWeight: func(int32) float64 { return 1 },
	}, caps)
	kept := x.open[:0]
	for _, f := range x.open {
		x.flows[f].demand = w.most(m, f)
		if held[f] {
			x.settle(f, 0, -1) // its rate is already taken off the capacities
		} else {
			kept = append(kept, f)
		}
	}
	x.open = kept
	return x
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

// belowFloor holds the flows that a link would push below their floor; false when there are no more. Where
// the floors alone exceed a link its credits rule, so flows there are not held.
func (m *model) belowFloor(w shareWeights, a *allocation, held []bool) bool {
	load := make([]float64, len(m.caps))
	for i, h := range held {
		if h {
			m.addTo(load, int32(i), w.floor(m, int32(i)))
		}
	}
	more := false
	for i := range held {
		floor := w.floor(m, int32(i))
		if held[i] || a.rates[i] >= floor*(1-1e-9) || !m.fits(load, int32(i), floor) {
			continue
		}
		held[i], more = true, true
		m.addTo(load, int32(i), floor)
	}
	return more
}

func (m *model) addTo(load []float64, f int32, r float64) {
	for _, d := range m.flows[f].links {
		load[d] += r
	}
}

func (m *model) fits(load []float64, f int32, r float64) bool {
	for _, d := range m.flows[f].links {
		if load[d]+r > m.caps[d] {
			return false
		}
	}
	return true
}

func (m *model) capsWithout(w shareWeights, held []bool) []float64 {
	caps := m.feedableCaps()
	for i, h := range held {
		if h {
			for _, d := range m.flows[i].links {
				caps[d] = max(0, caps[d]-w.floor(m, int32(i)))
			}
		}
	}
	return caps
}

// tenantShares sums both allocations by tenant.
func (m *model) tenantShares(target, predicted *allocation) []TenantShare {
	out := make([]TenantShare, len(m.tenants))
	entitled, expected, qps := make([]float64, len(m.tenants)), make([]float64, len(m.tenants)), make([]float64, len(m.tenants))
	for i := range m.tenants {
		out[i].Tenant, out[i].Weight = m.tenants[i].Name, m.tenants[i].Weight
	}
	for i := range m.flows {
		t := m.flows[i].tenant
		entitled[t] += target.rates[i]
		expected[t] += predicted.rates[i]
		qps[t] += m.flows[i].qps
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
