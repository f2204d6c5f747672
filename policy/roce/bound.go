package roce

import (
	"math"

	"fairlane/internal/num"
	"fairlane/policy/model"
)

// Parts of a bound beyond the calibration's. The calibration's runs have one link, one path and one
// rate for each port; what a plan has beyond that is less sure.
const (
	// boundFree is the bound of a flow that no marks limit: its NIC or its demand does.
	boundFree = 0.03
	// boundPaths is for what a fabric has beyond the calibration's star: more hops and other traffic on them.
	boundPaths = 0.005
	// boundTurns is for flows of a NIC port at its line rate: a flow that its registers hold waits for its turn there, and
	// so falls behind by some percent, which the others gain.
	boundTurns = 0.10
	// boundTurnsPassed is what such a flow passes on at a link that flows of other ports share: at its own port others make up for half of what it misses.
	boundTurnsPassed = 0.20
	// boundPerLink is for each further link whose marks a flow meets.
	boundPerLink = 0.05
	// boundSpread is the part of the spread of what a port's flows want.
	boundSpread = 0.25
	// boundCoarse is for each factor e by which RPG_AI_RATE, of at least 1 Mbit/s, is more than the lever's: the law of rates is less sure there.
	boundCoarse = 0.06
)

// bounds is the relative error that each tenant's prediction may have: the mean of its flows' by their rates, BoundSpare, and the ranges of circles and of
// nearly full links.
func (s *Settings) bounds(predicted model.Forecast) []float64 {
	out := s.m.MeanByTenant(s.target, s.flowBounds())
	spare := s.m.TenantsMeeting(s.target, s.m.Crosses(s.m.SpareLinks(s.target, s.m.FullLinks(s.target), nil)))
	for t := range out {
		if spare[t] {
			out[t] += model.BoundSpare
		}
		if predicted.Circles != nil {
			out[t] += predicted.Circles[t]
		}
		if predicted.Spare != nil {
			out[t] += predicted.Spare[t]
		}
	}
	return out
}

// flowBounds are those of all flows. At a full sending port flows that no marks limit have what the others leave, and so what these are off by;
// and a tenant has what the other tenants miss by their turns, which is more than its own part where it is the smaller one.
func (s *Settings) flowBounds() []float64 {
	fastest, out, own := s.fastest(), make([]float64, len(s.m.Flows)), make([]float64, len(s.m.Tenants))
	for i := range out {
		out[i] = s.flowBound(int32(i), fastest)
	}
	for i := range s.ports {
		p := &s.ports[i]
		if !s.target.Limiting[p.out] {
			continue
		}
		off, left, all := 0.0, 0.0, 0.0
		for _, t := range p.tenants {
			own[t] = 0
		}
		for _, f := range p.flows {
			all += s.target.Rates[f]
			own[s.m.Flows[f].Tenant] += s.target.Rates[f]
			if s.contended(f) {
				by := float64(out[f] * s.target.Rates[f])
				off += float64(by * by)
			} else {
				left += s.target.Rates[f]
			}
		}
		for _, f := range p.flows {
			if !s.contended(f) && left > 0 {
				out[f] = max(out[f], math.Sqrt(off)/left)
			}
			t := s.m.Flows[f].Tenant
			out[f] += float64(boundTurns * max(0, (all-own[t])/max(own[t], 1)-1))
		}
	}
	for i, more := range s.passedOnErrors() {
		out[i] += more
	}
	return out
}

// passedOnErrors is by flow the error that others pass on, relative.
func (s *Settings) passedOnErrors() []float64 {
	return s.m.PassedOnErrors(s.target, func(f int32) (alike, apart float64) {
		links, turns := s.extraErrors(f)
		if turns > 0 {
			turns = boundTurnsPassed
		}
		return links, turns
	}, s.contended)
}

// extraErrors is what a flow may be off by because several links mark it, and because its sending port is full.
func (s *Settings) extraErrors(f int32) (links, turns float64) {
	if s.target.Limiting[s.m.Flows[f].Links[0]] {
		turns = boundTurns
	}
	return float64(boundPerLink * float64(max(s.marks[f]-1, 0))), turns
}

// fastest is the largest rate that settings mean a queue pair on each link direction to have.
func (s *Settings) fastest() []float64 {
	most := make([]float64, len(s.m.Caps))
	for i := range s.m.Flows {
		w := s.reached(&s.ports[s.ofFlow[i]])
		for _, d := range s.m.Flows[i].Links {
			most[d] = max(most[d], w)
		}
	}
	return most
}

// reached is what a port's settings mean a queue pair to have: what is wanted, as far as the lever goes.
func (s *Settings) reached(p *nicPort) float64 {
	if !p.clamped {
		return p.wanted
	}
	return float64(s.groups[p.group].rate * num.Exp(s.curve(p.link).Gain(p.position)))
}

// flowBound is that of one flow. What the response is off by grows with the distance from the fastest queue pair at the link, so that of
// the flow counts, and not that of the slowest it meets.
func (s *Settings) flowBound(f int32, fastest []float64) float64 {
	d := s.responseLink(f)
	links, turns := s.extraErrors(f)
	b := boundPaths + links + turns
	if d < 0 {
		return b + boundFree
	}
	p := &s.ports[s.ofFlow[f]]
	return b + float64(s.profile.Bound(fastest[d]/s.reached(p))*s.beyondSpeed(d)) + float64(boundSpread*p.spread) + float64(boundCoarse*p.coarse)
}

// beyondSpeed is by how much a link is faster than the fastest that the profile was calibrated at, at least 1: the faster a link, the more
// the fast queue pairs of unequal ones get beyond what they are meant to have.
func (s *Settings) beyondSpeed(d int32) float64 {
	speeds := s.profile.Response.Speeds
	return max(1, s.m.Caps[d]/float64(speeds[len(speeds)-1]))
}
