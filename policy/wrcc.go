package policy

import (
	"slices"

	"fairlane/internal/quantity"
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
	unit    float64 // bit/s
	limits  []uint8 // by model flow: byLink, byDemand or byCap
	weights []float64
	ceiling []float64 // by model flow: bit/s, 0 is none
	entries []wrccEntry
	ports   []wrccEgress
	domains []wrccDomain
	home    []int32 // by node: its data centre, into domains

	off      map[int32]*wrccOff // by tenant
	findings []Finding
}

// compileWRCC compiles the levers of the WRCC plane. A queue pair's weight is the rate that it is entitled to, in
// units of the fair rate at which full ports come to rest. All flows of the target reach it at that one fair
// rate, and each then crosses a full link or has its demand: so the flat weighted max-min allocation, which is
// what WRCC converges to, is the target, however many links, classes and guarantees made it.
func (m *model) compileWRCC(target *allocation) (*outcome, error) {
	s := &wrccSettings{m: m, target: target}
	s.unit = s.chooseUnit()
	s.findLimits()
	s.weigh()
	s.measureDomains()
	if err := s.setPorts(); err != nil {
		return nil, err
	}
	predicted := s.predict()
	return &outcome{
		predicted: predicted,
		bounds:    s.bounds(),
		findings:  slices.Concat(s.findings, s.uncapped(predicted)),
		write:     func(p *Plan) { p.WRCC = s.plan() },
	}, nil
}

// chooseUnit is wrccUnit, or half of the slowest link that a flow crosses where that is less: AutoParm takes a
// port whose fair rate is at its target or above for one that limits nobody.
func (s *wrccSettings) chooseUnit() float64 {
	slowest := float64(2 * wrccUnit)
	for i := range s.m.flows {
		for _, d := range s.m.flows[i].links {
			slowest = min(slowest, s.m.caps[d])
		}
	}
	mbps := max(1, int64(slowest/2/float64(quantity.Mbps)))
	return float64(float64(mbps) * float64(quantity.Mbps))
}

// findLimits says what limits each flow of the target. A flow that neither has its demand nor crosses a
// full link is held by the cap of its tenant.
func (s *wrccSettings) findLimits() {
	load := make([]float64, len(s.m.caps))
	for i := range s.m.flows {
		for _, d := range s.m.flows[i].links {
			load[d] += s.target.rates[i]
		}
	}
	s.limits = make([]uint8, len(s.m.flows))
	for i := range s.m.flows {
		f := &s.m.flows[i]
		full := slices.ContainsFunc(f.links, func(d int32) bool { return load[d] >= s.m.caps[d]*(1-1e-9) })
		switch {
		case f.demand > 0 && s.target.rates[i] >= f.demand*(1-1e-9):
			s.limits[i] = byDemand
		case !full && s.m.tenants[f.tenant].Cap > 0:
			s.limits[i] = byCap
		}
	}
}

// predict is what the weights, the ports' bounds and the senders' least rate are expected to give.
func (s *wrccSettings) predict() *allocation {
	w := shareWeights{marked: make([]float64, len(s.m.flows)), floors: make([]float64, len(s.m.flows)), ceilings: s.ceiling}
	for i := range s.m.flows {
		w.marked[i] = float64(s.weights[i] * s.m.flows[i].qps)
		w.floors[i] = float64(float64(wrcc.MinFairRate) * s.m.flows[i].qps)
	}
	w.caps = s.dataCaps()
	return s.m.shareByWeight(w)
}

// dataCaps are the capacities of the link directions without what acknowledgements take of them: those of
// the target's flows, on their ways back. Which of several equal ways an acknowledgement takes is not known; the one that its
// data came counts.
func (s *wrccSettings) dataCaps() []float64 {
	caps := slices.Clone(s.m.caps)
	for i := range s.m.flows {
		f := &s.m.flows[i]
		acks := float64(s.target.rates[i] * wrcc.AckShare(s.target.rates[i]/f.qps))
		for _, d := range f.links {
			caps[d^1] -= acks
		}
	}
	return caps
}

// plan writes the plane's section of a plan.
func (s *wrccSettings) plan() *WRCCPlan {
	p := &WRCCPlan{
		Unit: quantity.BitRate(s.unit), Increase: wrccIncrease.String(), MinRate: wrcc.MinFairRate,
		Domains: []WRCCDomainPlan{}, Ports: s.portPlans(), Senders: s.senderPlans(),
	}
	for i := range s.domains {
		if s.domains[i].used {
			p.Domains = append(p.Domains, s.domainPlan(&s.domains[i]))
		}
	}
	return p
}
