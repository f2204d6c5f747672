package wrcc

import (
	"math"
	"slices"

	"fairlane/internal/num"
	"fairlane/internal/phrase"
	"fairlane/internal/quantity"
	"fairlane/policy/model"
	"fairlane/policy/plan"
	"fairlane/wrcc"
)

// Error contributions of a prediction, from packet simulations of random cases at 10 to 100 Gbit/s.
const (
	boundFair = 0.0002 // movement of fair rates at rest, over four settling times
	// boundTurnsFair is for tenants that contend for a sending port, and for those that they meet on full links.
	boundTurnsFair = 0.0035
	// boundTurnsLate is for the same tenants if the turns were not modelled: there are too many, or they do not converge.
	boundTurnsLate = 0.25
	// boundPacket is a packet of 1,024 bytes of payload on the wire, in bits.
	boundPacket = float64((1024 + overhead) * 8)
)

// weightMiss records where the weights of a tenant miss the entitlements of its queue pairs.
type weightMiss struct {
	shared  int     // number of (port, class, peer) whose queue pairs want different weights
	spread  float64 // the largest of their spreads
	worst   string  // where that is
	rate    float64
	clamped int
	beyond  float64 // bit/s of the queue pair whose weight was furthest out of range
	by      float64 // its distance from the range, as |ln|
}

// noteMiss records the miss of the weight towards a peer.
func (s *Settings) noteMiss(e *entry, p *peerRates) {
	clamped := s.outOfRange(p)
	if s.misses == nil {
		s.misses = make(map[int32]*weightMiss)
	}
	o := s.misses[e.tenant]
	if o == nil {
		o = &weightMiss{}
		s.misses[e.tenant] = o
	}
	if p.spread > model.MaxQuantisation {
		o.shared++
		if p.spread > o.spread {
			o.spread, o.rate, o.worst = p.spread, p.rate, s.m.Fabric.PortName(e.ref)
		}
	}
	if clamped {
		if by := math.Abs(num.Ln(p.rate / (p.weight * s.unit))); o.clamped == 0 || by > o.by {
			o.beyond, o.by = p.rate, by
		}
		o.clamped++
	}
}

// outOfRange reports whether the weight towards a peer had to be changed to be legal.
func (s *Settings) outOfRange(p *peerRates) bool { return p.weight != p.rate/s.unit }

// reportCompromises reports the weights that miss their purpose, and a unit that is too small.
func (s *Settings) reportCompromises() {
	for t := range s.m.Tenants {
		o := s.misses[int32(t)]
		if o == nil {
			continue
		}
		names := []string{s.m.Tenants[t].Name}
		if o.shared > 0 {
			s.findings = append(s.findings, plan.NewFinding(plan.CodeSharedSetting, names, []string{o.worst},
				phrase.Of("plan.wrcc-paths",
					"pairs", plan.Counted(o.shared, plan.KindPortPair), "worst", o.worst, "each", model.Rate(o.rate), "off", phrase.PercentOf(o.spread, 1)),
				phrase.Of("plan.wrcc-paths.fix")))
		}
		if o.clamped > 0 {
			fix := phrase.Of("plan.fewer-qps-port.fix")
			if o.beyond > s.unit {
				fix = phrase.Of("plan.wrcc-unit.fix")
			}
			s.findings = append(s.findings, plan.NewFinding(plan.CodeWeightRange, names, nil,
				phrase.Of("plan.weight-out-of-range",
					"weights", plan.Counted(o.clamped, plan.KindWeight), "min", wrcc.MinSenderWeight, "max", wrcc.MaxSenderWeight, "unit", quantity.BitRate(s.unit), "worst", model.Rate(o.beyond)), fix))
		}
	}
	if e := s.resolution(); e > 0.001 {
		s.findings = append(s.findings, plan.NewFinding(plan.CodeFairRateCoarse, nil, nil,
			phrase.Of("plan.fair-rate-coarse", "unit", quantity.BitRate(s.unit), "precision", phrase.PercentOf(e, 2)),
			phrase.Of("plan.fair-rate-coarse.fix")))
	}
}

// resolution returns the relative error of a fair rate of one unit in headers.
func (s *Settings) resolution() float64 { return float64(wrcc.MinFairRate) / 2 / s.unit }

// bounds returns the relative error bound of each tenant's prediction. Where fair rates may oscillate the bound is unknown.
func (s *Settings) bounds(predicted model.Forecast, followed bool) []float64 {
	meetsTurns := s.m.TenantsMeetingTurns(s.target, s.m.FullLinks(s.target))
	out := make([]float64, len(s.m.Tenants))
	for t := range out {
		switch out[t] = boundFair + s.resolution(); {
		case slices.Contains(s.swinging, int32(t)):
			out[t] = 1
		case meetsTurns[t] && followed:
			out[t] += boundTurnsFair
		case meetsTurns[t]:
			out[t] += boundTurnsLate
		}
		if predicted.Cycles != nil {
			out[t] += predicted.Cycles[t]
		}
	}
	return out
}

// uncapped reports the tenants that no link and no setting keeps below their cap.
func (s *Settings) uncapped(predicted *model.Allocation) []plan.Finding {
	return s.m.UnenforcedCaps(predicted, phrase.Of("plan.cap-no-demand"),
		phrase.Of("plan.cap-no-demand.fix"))
}
