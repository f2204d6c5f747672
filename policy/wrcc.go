package policy

import (
	"slices"
	"sync"

	"fairlane/internal/quantity"
	"fairlane/policy/plan"
	"fairlane/tenants"
	"fairlane/wrcc"
)

// Settings of the WRCC plane that do not depend on the fabric.
const (
	// wrccUnit is the fair rate at which full ports come to rest where links allow it. Headers tell fair rates
	// in whole Mbit/s (S0, section 3.3), so it is told to 0.05 %, and a weight is the queue pair's entitled
	// rate in Gbit/s.
	wrccUnit = quantity.Gbps
	// wrccIncrease is the way to a higher rate with which weighted shares are exact: senders that double by a timer
	// gain at a pace that does not follow their weight.
	wrccIncrease = wrcc.IncreaseAsk
	// demandMargin is how much more than its demand a flow is weighed for, so that its demand and not a
	// fair rate that moves about its point of rest holds it.
	demandMargin = 1.1
	// weightReserve is how many times the weight of the declared flows may meet at a port before its least fair rate
	// holds them.
	weightReserve = 10
)

// Limits of a flow of the target.
const (
	byLink   uint8 = iota // a full link
	byDemand              // its own demand
	byCap                 // its tenant's cap
)

// wrccSettings is what the WRCC plane makes of a target.
type wrccSettings struct {
	m       *model
	target  *allocation
	lay     *wrccLayout
	unit    float64 // bit/s
	limits  []uint8 // by model flow: byLink, byDemand or byCap
	weights []float64
	ceiling []float64 // by model flow: bit/s, 0 is none; nil: none
	entries []wrccEntry
	of      []egress // by link direction
	ports   []wrccEgress
	kinds   []int32 // by port: into the ports of the plan
	domains []wrccDomain
	home    []int32 // by node: its data centre, into domains
	// prev is a compilation of the same flows, or nil. fresh says which entries differ from those in it.
	prev  *wrccSettings
	fresh []bool

	off      map[int32]*wrccOff // by tenant
	swinging []int32            // tenants whose queue pairs learn of fair rates too late
	findings []plan.Finding
}

// compileWRCC compiles the levers of the WRCC plane. A queue pair's weight is the rate that it is entitled to, in
// units of the fair rate at which full ports come to rest. All flows of the target reach it at that one fair
// rate, and each then crosses a full link or has its demand: so the flat weighted max-min allocation, which is
// what WRCC converges to, is the target, however many links, classes and guarantees made it.
//
// prev is a compilation of the same flows and attachments, or nil.
func compileWRCC(t task, prev *wrccSettings) (*wrccSettings, *outcome, error) {
	s := &wrccSettings{m: t.m, target: t.target}
	if prev != nil {
		s.prev, s.lay = prev, prev.lay
	} else {
		s.lay = newWRCCLayout(s.m)
	}
	s.unit = s.lay.unit
	s.findLimits()
	s.weigh()
	s.holdCaps()
	o := &outcome{}
	var section *plan.WRCCPlan
	var failed error
	var work sync.WaitGroup
	work.Go(func() {
		s.measureDomains()
		s.lateFinding()
		if failed = s.setPorts(); failed == nil {
			section = s.plan(t.before, t.digests, t.was)
		}
	})
	predicted, followed := s.predict()
	if work.Wait(); failed != nil {
		return nil, nil, failed
	}
	o.predicted, o.bounds = predicted.allocation, s.bounds(predicted, followed)
	slow := s.settle(o.predicted)
	o.findings, o.settle = slices.Concat(s.findings, s.uncapped(o.predicted), s.slowFinding(slow)), slow.time
	o.write = func(p *plan.Plan) { p.WRCC = section }
	if s.lay.of, s.of = s.of, nil; s.prev != nil {
		s.lay.ports, s.prev = s.prev.ports, nil
	}
	return s, o, nil
}

// findLimits says what limits each flow of the target. A flow that neither has its demand nor crosses a
// full link is held by the cap of its tenant.
func (s *wrccSettings) findLimits() {
	l := s.m.lay()
	var full []bool // when somebody is capped
	if slices.ContainsFunc(s.m.tenants, func(t tenants.Tenant) bool { return t.Cap > 0 }) {
		full = make([]bool, len(s.m.caps))
		for d, load := range s.m.loads(s.target.rates) {
			full[d] = load >= s.m.caps[d]*(1-1e-9)
		}
	}
	s.limits = make([]uint8, len(s.m.flows))
	for i, r := range s.target.rates {
		switch {
		case l.demand[i] > 0 && r >= l.demand[i]*(1-1e-9):
			s.limits[i] = byDemand
		case full != nil && s.m.tenants[l.tenant[i]].Cap > 0 && !slices.ContainsFunc(l.hops[l.first[i]:l.first[i+1]], func(d int32) bool { return full[d] }):
			s.limits[i] = byCap
		}
	}
}

// predict is what the weights, the ports' bounds and the senders' least rate are expected to give. followed is whether turns at sending ports were.
func (s *wrccSettings) predict() (f forecast, followed bool) {
	qps := s.m.lay().qps
	w := shareWeights{marked: make([]float64, len(qps)), floors: make([]float64, len(qps)), ceilings: s.ceiling}
	for i, n := range qps {
		w.marked[i] = float64(s.weights[i] * n)
		w.floors[i] = float64(float64(wrcc.MinFairRate) * n)
	}
	w.caps = s.m.dataCaps(s.target, wrcc.AckShare)
	w.slack = s.m.circleSlack(w.caps)
	if f.allocation = s.m.shareByWeight(w); f.err != nil {
		return f, true
	}
	f.circles = s.m.circleRange(f.allocation, w)
	return f, s.turns(f.allocation, &w)
}

// plan writes the plane's section of a plan. When a plan of the same flows is known, and the digests of its parts, what is as before
// is taken over.
func (s *wrccSettings) plan(before *plan.Plan, d, was *plan.Digests) *plan.WRCCPlan {
	p := &plan.WRCCPlan{Unit: quantity.BitRate(s.unit), Increase: wrccIncrease.String(), MinRate: wrcc.MinFairRate, Domains: []plan.WRCCDomainPlan{}}
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
