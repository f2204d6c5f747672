package policy

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"fairlane/policy/fill"
)

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
// last table entry. It is for plans of the InfiniBand plane. It fails like Compile, and when the plan is of another
// plane or lacks a port or tenant of the input.
func Predict(in Input, p *Plan) (*Prediction, error) {
	if p.Plane != string(PlaneIB) {
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
	out := &Prediction{Tenants: m.tenantShares(target, predicted), Links: m.linkShares(target, predicted)}
	m.setBounds(out.Tenants, nil, out.Links, s.bounds())
	return out, nil
}

// predict fills the links by aggressiveness.
func (s *settings) predict() *allocation {
	floors := make([]float64, len(s.m.flows))
	for i := range floors {
		floors[i] = s.floorOf(int32(i))
	}
	return s.predictLanes(shareWeights{marked: s.flowWeights(), floors: floors, ceilings: s.capCeilings()})
}

// shareWeights says how flows share the links of a prediction. Slices go by model flow.
type shareWeights struct {
	marked   []float64 // weight of each flow, all its queue pairs together, on links whose transmitter is a switch
	sending  []float64 // on links that an adapter sends on; nil: its queue pairs
	floors   []float64 // bit/s below which a flow is not pushed; nil: none
	ceilings []float64 // bit/s above which a flow cannot go, 0 is no bound; nil: none
	caps     []float64 // bit/s of each link direction that is to be shared; nil: all of it
}

// shareByWeight is the prediction of every plane: the flat weighted max-min allocation of the flows
// over the links that can queue. No link pushes a flow below its floor; floors that ask for more than 99 %
// of a link count in proportion.
func (m *model) shareByWeight(w shareWeights) *allocation {
	p := m.problem()
	if p.Capacity = m.feedableCaps(); w.caps != nil {
		p.Capacity = m.feedable(w.caps)
	}
	// The solver keeps the problem, and the weights are the caller's to change.
	p.Units, p.Sending = slices.Clone(w.marked), slices.Clone(w.sending)
	if p.Sending == nil {
		p.Sending = make([]float64, len(m.flows))
		for i := range p.Sending {
			p.Sending[i] = m.flows[i].qps
		}
	}
	p.Floor, p.Ceiling = slices.Clone(w.floors), slices.Clone(w.ceilings)
	p.Sends = make([]bool, len(m.caps))
	for d := range p.Sends {
		p.Sends[d] = !m.marks(int32(d))
	}
	return m.share(m.forecasts, p)
}

// feedableCaps is feedable of all that the links carry. Models of the same flows share it.
func (m *model) feedableCaps() []float64 {
	if m.allFeedable == nil {
		m.allFeedable = m.feedable(m.caps)
	}
	return m.allFeedable
}

// feedable are capacities of the link directions, but boundless where what feeds a link is never more than
// it carries: all its flows come out of one and the same link that is no faster, or out of sending ports that are together
// no faster. Such a link neither queues nor marks, and only the links before it divide.
func (m *model) feedable(caps []float64) []float64 {
	out, senders := slices.Clone(caps), m.senderRates(caps)
	for d, b := range m.linksBefore() {
		if b >= 0 && caps[b] <= caps[d] || senders[d] > 0 && senders[d] <= caps[d] {
			out[d] = fill.Boundless
		}
	}
	return out
}

// linksBefore is, for each link direction, the one link from which all its flows come; negative when there are
// several, or flows begin there.
func (m *model) linksBefore() []int32 {
	const none, many = -1, -2
	before := slices.Repeat([]int32{none}, len(m.caps))
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
	return before
}

// senderRates sums, for each link direction, the given capacities of the ports whose flows cross it, each once; 0 for
// links on which flows begin.
func (m *model) senderRates(caps []float64) []float64 {
	order := make([]int32, len(m.flows))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(a, b int32) int { return cmp.Compare(m.flows[a].links[0], m.flows[b].links[0]) })
	sum, last := make([]float64, len(m.caps)), slices.Repeat([]int32{-1}, len(m.caps))
	for _, i := range order {
		first := m.flows[i].links[0]
		for _, d := range m.flows[i].links[1:] {
			if last[d] != first {
				last[d] = first
				sum[d] += caps[first]
			}
		}
	}
	return sum
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
