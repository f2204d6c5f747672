package roce

import (
	"math"

	"fairlane/internal/num"
	"fairlane/policy/model"
)

// Parts of a bound beyond the calibration's. The calibration's runs have one link, one path and one rate for each port; whatever a plan has
// beyond that adds uncertainty.
const (
	// boundFree is the bound of a flow that its NIC or its demand limits, not marks.
	boundFree = 0.03
	// boundPaths covers what a fabric has beyond the calibration's star: more hops and other traffic on them.
	boundPaths = 0.005
	// boundTurns is for flows of a NIC port at its line rate: a flow limited by its registers waits for its turn there, and so falls behind by
	// some percent, which the others gain.
	boundTurns = 0.10
	// boundTurnsPassed is the error that such a flow passes on at a link shared with flows of other ports. At its own port others make up for half
	// of what it misses.
	boundTurnsPassed = 0.20
	// boundPerLink is for each further link whose marks a flow meets.
	boundPerLink = 0.05
	// boundSpread is the factor on the spread of the wanted rates of a port's flows.
	boundSpread = 0.25
	// boundCoarse is for each factor e by which RPG_AI_RATE, at least 1 Mbit/s, exceeds the lever's: the law of rates is less certain there.
	boundCoarse = 0.06
)

// bounds returns the relative error bound of each tenant's prediction: the mean of its flows' bounds by their rates, BoundSpare, and the
// ranges of circles and of nearly full links.
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

// flowBounds returns the bounds of all flows. At a full sending port, flows that no marks limit get what the others leave, and inherit their
// errors. A tenant also inherits what the other tenants miss by their turns, which exceeds its own part where that is the smaller one.
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

// passedOnErrors returns, by flow, the relative error that others pass on.
func (s *Settings) passedOnErrors() []float64 {
	return s.m.PassedOnErrors(s.target, func(f int32) (alike, apart float64) {
		links, turns := s.extraErrors(f)
		if turns > 0 {
			turns = boundTurnsPassed
		}
		return links, turns
	}, s.contended)
}

// extraErrors returns the errors of a flow because several links mark it, and because its sending port is full.
func (s *Settings) extraErrors(f int32) (links, turns float64) {
	if s.target.Limiting[s.m.Flows[f].Links[0]] {
		turns = boundTurns
	}
	return float64(boundPerLink * float64(max(s.marks[f]-1, 0))), turns
}

// fastest returns the highest intended rate of a queue pair on each link direction.
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

// reached returns the intended rate of a port's queue pair: the wanted one, as far as the lever reaches.
func (s *Settings) reached(p *nicPort) float64 {
	if !p.clamped {
		return p.wanted
	}
	return float64(s.groups[p.group].rate * num.Exp(s.curve(p.link).Gain(p.position)))
}

// flowBound returns the bound of one flow. The error of the response grows with the distance from the fastest queue pair at the link, so the
// flow's own distance counts, not that of the slowest flow it meets.
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

// beyondSpeed returns the ratio of a link's speed to the fastest calibrated one, at least 1: the faster a link, the more the fast ones of
// unequal queue pairs exceed their intended rates.
func (s *Settings) beyondSpeed(d int32) float64 {
	speeds := s.profile.Response.Speeds
	return max(1, s.m.Caps[d]/float64(speeds[len(speeds)-1]))
}
