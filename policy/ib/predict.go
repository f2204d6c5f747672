package ib

import (
	"fmt"

	"fairlane/policy/model"
	"fairlane/policy/plan"
	"fairlane/subnet"
)

// Prediction is the predicted effect of settings.
type Prediction struct {
	Tenants []plan.TenantShare // by name
	Links   []plan.LinkShare   // contended links of the target, by transmitting port
}

// Predict computes the effect of a plan's settings and placements on the input: the flat weighted max-min allocation in which a queue pair
// counts by its setting's aggressiveness, 1/(Increase·Timer) with free-running timers or ln(1+1/Increase)/Timer with restarted ones, divided
// by the number of limiting links that mark it, since it gets the marks of each. Where these are several, rates are those at which the marks
// of all links agree, up to 20,000 flows. A sending port does not mark; it serves its queue pairs round-robin, so they count equally there. In SL mode
// the queue pairs of an SL split its aggressiveness. No queue pair goes below the rate of its port's last table entry.
//
// Predict is for plans of the InfiniBand plane. It fails like Compile, and when the plan is of another plane or lacks a port or tenant of the
// input.
func Predict(in model.Input, p *plan.Plan) (*Prediction, error) {
	if p.Plane != subnet.PlaneIB {
		return nil, fmt.Errorf("%w: a plan of plane %q: want %q", model.ErrInput, p.Plane, subnet.PlaneIB)
	}
	m, err := model.New(in)
	if err != nil {
		return nil, err
	}
	target := m.Entitle()
	if target.Err != nil {
		return nil, target.Err
	}
	s, err := settingsOf(m, p, target)
	if err != nil {
		return nil, err
	}
	predicted := s.predict()
	if predicted.Err != nil {
		return nil, predicted.Err
	}
	out := &Prediction{Tenants: m.TenantShares(target, predicted.Allocation), Links: m.LinkShares(target, predicted.Allocation)}
	m.SetBounds(out.Tenants, nil, out.Links, s.bounds(predicted))
	return out, nil
}

// predict fills the links by aggressiveness. If prices replace the rates of that allocation, its bottlenecks and cycle ranges remain.
func (s *Settings) predict() (f model.Forecast) {
	floors := make([]float64, len(s.m.Flows))
	for i := range floors {
		floors[i] = s.floorOf(int32(i))
	}
	w := model.ShareWeights{Marked: s.flowWeights(), Floors: floors, Ceilings: s.capCeilings(), Slack: s.m.CycleSlack(nil)}
	if f.Allocation = s.predictLanes(&w); f.Err != nil {
		return f
	}
	f.Cycles = model.Maxima(s.m.CycleRange(f.Allocation, w), s.ackRange(f.Allocation, w))
	if len(s.m.Flows) <= model.PricedFlows {
		if flows := s.m.ConnectedFlows(s.m.QueueingCaps(nil), func(i int) bool { return s.marks[i] > 1 }); flows != nil {
			s.prices(w, flows).Run(f.Rates)
		}
		f.Spare = s.m.SpareRange(f.Allocation, s.target, w, s.marks, s.prices)
	}
	return f
}

// prices prepares the search for the marks that flows meet. At the marks of the target, which are prices of 1, flows have their entitlements
// in sum.
func (s *Settings) prices(w model.ShareWeights, flows []int32) *model.Prices {
	x := s.m.NewPrices(w, 1, s.target.Limiting, flows)
	rates, weights := 0.0, 0.0
	for i, r := range s.target.Rates {
		if s.marks[i] > 0 {
			rates += r
			weights += w.Marked[i]
		}
	}
	for _, i := range x.Flows {
		x.Full[i] = float64(float64(w.Marked[i]*(rates/weights)) * float64(max(1, s.marks[i])))
	}
	return x
}

// flowWeights returns the aggressiveness of each flow, all its queue pairs together, less what it loses near its port's line rate at its
// entitlement.
func (s *Settings) flowWeights() []float64 {
	w := make([]float64, len(s.m.Flows))
	var last lastTop
	through := make([]float64, len(s.all)) // in SL mode
	for i, k := range s.ofFlow {
		through[k] += s.target.Rates[i]
	}
	for i, n := range s.m.Layout().QPs {
		k := s.ofFlow[i]
		st := &s.all[k]
		p, one := &s.ports[st.port], s.target.Rates[i]/n
		if p.perSL {
			n, one = n/st.qps, through[k]
		}
		w[i] = n * s.aggressiveness(st) * s.takenPartOf(st, p.table, one, &last) / float64(max(1, s.marks[i]))
	}
	return w
}

// floorOf returns the rate at a flow's last table entry.
func (s *Settings) floorOf(f int32) float64 {
	st := &s.all[s.ofFlow[f]]
	p := &s.ports[st.port]
	n := s.m.Flows[f].QPs
	floor := float64(p.floor() * n)
	if p.perSL {
		floor /= st.qps
	}
	return float64(floor)
}
