package policy

import (
	"fmt"

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
	s, err := settingsOf(m, p, target)
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
