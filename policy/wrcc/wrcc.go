// Package wrcc holds the levers of WRCC and their prediction: weights of senders, and the fair-rate parameters of switches by data centre.
package wrcc

import (
	"slices"
	"sync"

	"fairlane/internal/quantity"
	"fairlane/policy/model"
	"fairlane/policy/plan"
	"fairlane/tenants"
	"fairlane/wrcc"
)

// Settings of the WRCC plane that do not depend on the fabric.
const (
	// defaultUnit is the fair rate at which full ports converge where links allow it. Headers carry fair rates in whole Mbit/s (S0, section
	// 3.3), so its resolution is 0.05 %, and a weight is the queue pair's entitled rate in Gbit/s.
	defaultUnit = quantity.Gbps
	// Increase is the method of increase with which weighted shares are exact: senders that double by a timer gain at a pace that does not follow
	// their weight.
	Increase = wrcc.IncreaseAsk
	// demandMargin is the factor on the demand of a flow in its weight, so that its demand limits it and not a fair rate that moves about its
	// point of rest.
	demandMargin = 1.1
	// weightReserve is how many times the weight of the declared flows may meet at a port before its least fair rate limits them.
	weightReserve = 10
)

// Limits of a flow of the target.
const (
	byLink   uint8 = iota // a full link
	byDemand              // its own demand
	byCap                 // its tenant's cap
)

// Settings holds the WRCC plane's settings for a target.
type Settings struct {
	m       *model.Model
	target  *model.Allocation
	layout  *layout
	unit    float64 // bit/s
	limits  []uint8 // by model flow: byLink, byDemand or byCap
	weights []float64
	ceiling []float64 // by model flow: bit/s, 0 is none; nil: none
	entries []entry
	of      []egress // by link direction
	ports   []egressKind
	kinds   []int32 // by port: into the ports of the plan
	domains []domain
	home    []int32 // by node: its data centre, into domains
	// prev is a compilation of the same flows, or nil. fresh flags the entries that differ from it.
	prev  *Settings
	fresh []bool

	misses   map[int32]*weightMiss // by tenant
	swinging []int32               // tenants whose queue pairs learn fair rates too late
	findings []plan.Finding
}

// Compile compiles the levers of the WRCC plane. A queue pair's weight is its entitled rate in units of the fair rate at which full ports come
// to rest. All flows of the target reach it at that one fair rate, and each then crosses a full link or has its demand. The flat weighted
// max-min allocation, to which WRCC converges, is therefore the target, regardless of the links, classes and guarantees that shaped it.
//
// prev is a compilation of the same flows and attachments, or nil.
func Compile(t model.Task, prev *Settings) (*Settings, *model.Outcome, error) {
	s := &Settings{m: t.Model, target: t.Target}
	if prev != nil {
		s.prev, s.layout = prev, prev.layout
	} else {
		s.layout = newLayout(s.m)
	}
	s.unit = s.layout.unit
	s.findLimits()
	s.weigh()
	s.holdCaps()
	o := &model.Outcome{}
	var section *plan.WRCCPlan
	var failed error
	var work sync.WaitGroup
	work.Go(func() {
		s.measureDomains()
		s.lateFinding()
		if failed = s.setPorts(); failed == nil {
			section = s.plan(t.Before, t.Digests, t.Was)
		}
	})
	predicted, followed := s.predict()
	if work.Wait(); failed != nil {
		return nil, nil, failed
	}
	o.Predicted, o.Bounds = predicted.Allocation, s.bounds(predicted, followed)
	slow := s.settle(o.Predicted)
	o.Findings, o.Settle = slices.Concat(s.findings, s.uncapped(o.Predicted), s.slowFinding(slow)), slow.time
	o.Write = func(p *plan.Plan) { p.WRCC = section }
	if s.layout.of, s.of = s.of, nil; s.prev != nil {
		s.layout.ports, s.prev = s.prev.ports, nil
	}
	return s, o, nil
}

// findLimits determines what limits each flow of the target. A flow that neither has its demand nor crosses a full link is limited by its
// tenant's cap.
func (s *Settings) findLimits() {
	l := s.m.Layout()
	var full []bool // set when a tenant has a cap
	if slices.ContainsFunc(s.m.Tenants, func(t tenants.Tenant) bool { return t.Cap > 0 }) {
		full = make([]bool, len(s.m.Caps))
		for d, load := range s.m.Loads(s.target.Rates) {
			full[d] = load >= s.m.Caps[d]*(1-1e-9)
		}
	}
	s.limits = make([]uint8, len(s.m.Flows))
	for i, r := range s.target.Rates {
		switch {
		case l.Demand[i] > 0 && r >= l.Demand[i]*(1-1e-9):
			s.limits[i] = byDemand
		case full != nil && s.m.Tenants[l.Tenant[i]].Cap > 0 && !slices.ContainsFunc(l.Hops[l.First[i]:l.First[i+1]], func(d int32) bool { return full[d] }):
			s.limits[i] = byCap
		}
	}
}

// predict returns the predicted effect of the weights, the ports' bounds and the senders' minimum rate. followed reports whether it models the
// turns at sending ports.
func (s *Settings) predict() (f model.Forecast, followed bool) {
	qps := s.m.Layout().QPs
	w := model.ShareWeights{Marked: make([]float64, len(qps)), Floors: make([]float64, len(qps)), Ceilings: s.ceiling}
	for i, n := range qps {
		w.Marked[i] = float64(s.weights[i] * n)
		w.Floors[i] = float64(float64(wrcc.MinFairRate) * n)
	}
	w.Caps = s.m.DataCaps(s.target, wrcc.AckShare)
	w.Slack = s.m.CycleSlack(w.Caps)
	if f.Allocation = s.m.ShareByWeight(w); f.Err != nil {
		return f, true
	}
	f.Cycles = s.m.CycleRange(f.Allocation, w)
	return f, s.turns(f.Allocation, &w)
}

// plan writes the plane's section of a plan. It takes over unchanged parts from a previous plan of the same flows, with their digests.
func (s *Settings) plan(before *plan.Plan, d, was *plan.Digests) *plan.WRCCPlan {
	p := &plan.WRCCPlan{Unit: quantity.BitRate(s.unit), Increase: Increase.String(), MinRate: wrcc.MinFairRate, Domains: []plan.WRCCDomainPlan{}}
	if s.prev == nil {
		before, was = &plan.Plan{WRCC: &plan.WRCCPlan{}}, &plan.Digests{}
	}
	p.Ports, d.Ports = s.portPlans(before.WRCC.Ports, was.Ports)
	p.Senders, d.Senders = s.senderPlans(before.WRCC.Senders, was.Senders)
	for i := range s.domains {
		if s.domains[i].used {
			p.Domains = append(p.Domains, s.domainPlan(&s.domains[i]))
		}
	}
	d.Fill(&plan.Plan{WRCC: p})
	return p
}
