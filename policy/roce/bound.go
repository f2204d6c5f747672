package roce

import (
	"math"

	"fairlane/internal/num"
	"fairlane/policy/model"
)

// Parts of a bound beyond the calibration's. Calibration runs have one link, one path and one rate per port. More of any of these in a plan adds
// uncertainty.
const (
	// boundFree is the bound of a flow that is limited by its NIC or its demand, not by marks.
	boundFree = 0.03
	// boundPaths covers the longer paths of a fabric: the calibration's star has fewer hops and no other traffic on them.
	boundPaths = 0.005
	// boundTurns is for flows of a NIC port at its line rate. A flow limited by its registers waits there for its turn. It loses some percent, and
	// the other flows gain them.
	boundTurns = 0.10
	// boundTurnsPassed is the error that such a flow passes on at a link shared with flows of other ports. At its own port, the other flows
	// compensate for half of its loss.
	boundTurnsPassed = 0.20
	// boundPerLink is for each further link whose marks a flow meets.
	boundPerLink = 0.05
	// boundSpread multiplies the spread of the intended rates of a port's flows.
	boundSpread = 0.25
	// boundCoarse is for each factor e by which RPG_AI_RATE, which is at least 1 Mbit/s, exceeds the lever's value. The law of rates is less
	// certain there.
	boundCoarse = 0.06
)

// bounds returns the relative error bound of each tenant's prediction. It is the sum of the mean of its flows' bounds, weighted by their rates,
// of BoundSpare, and of the ranges of cycles and of nearly full links.
func (s *Settings) bounds(predicted model.Forecast) []float64 {
	out := s.m.MeanByTenant(s.target, s.flowBounds())
	spare := s.m.TenantsMeeting(s.target, s.m.Crosses(s.m.SpareLinks(s.target, s.m.FullLinks(s.target), nil)))
	for t := range out {
		if spare[t] {
			out[t] += model.BoundSpare
		}
		if predicted.Cycles != nil {
			out[t] += predicted.Cycles[t]
		}
		if predicted.Spare != nil {
			out[t] += predicted.Spare[t]
		}
	}
	return out
}

// flowBounds returns the bounds of all flows. At a full sending port, flows that are not limited by marks get the rest, and inherit the errors of
// the other flows. A tenant also gains what the other tenants lose by waiting for their turns. If it sends less than they do, this exceeds its own
// loss.
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

// passedOnErrors returns, by flow, the relative error that it inherits from other flows.
func (s *Settings) passedOnErrors() []float64 {
	return s.m.PassedOnErrors(s.target, func(f int32) (alike, apart float64) {
		links, turns := s.extraErrors(f)
		if turns > 0 {
			turns = boundTurnsPassed
		}
		return links, turns
	}, s.contended)
}

// extraErrors returns two errors of a flow: links if several links mark it, and turns if its sending port is full.
func (s *Settings) extraErrors(f int32) (links, turns float64) {
	if s.target.Limiting[s.m.Flows[f].Links[0]] {
		turns = boundTurns
	}
	return float64(boundPerLink * float64(max(s.marks[f]-1, 0))), turns
}

// fastest returns the highest intended rate of a queue pair in each queue.
func (s *Settings) fastest() []float64 {
	most := make([]float64, len(s.m.Caps)*s.queues())
	for i := range s.m.Flows {
		w := s.reached(&s.ports[s.ofFlow[i]])
		for _, d := range s.m.Flows[i].Links {
			q := s.queueOf(int32(i), d)
			most[q] = max(most[q], w)
		}
	}
	return most
}

// reached returns the rate of a port's queue pair that the lever can set: the wanted one, or the nearest in its range.
func (s *Settings) reached(p *nicPort) float64 {
	if !p.clamped {
		return p.wanted
	}
	return float64(s.groups[p.group].rate * num.Exp(s.curve(p.queue).Gain(p.position)))
}

// flowBound returns the bound of one flow. The error of the response grows with the ratio to the fastest queue pair at the link. The flow's own
// ratio counts, not that of the slowest flow at the link.
func (s *Settings) flowBound(f int32, fastest []float64) float64 {
	q := s.responseQueue(f)
	links, turns := s.extraErrors(f)
	b := boundPaths + links + turns
	if q < 0 {
		return b + boundFree
	}
	p := &s.ports[s.ofFlow[f]]
	return b + float64(s.profile.Bound(fastest[q]/s.reached(p))*s.beyondSpeed(q)) + float64(boundSpread*p.spread) + float64(boundCoarse*p.coarse)
}

// beyondSpeed returns the ratio of a queue's speed to the fastest calibrated one, at least 1. Among unequal queue pairs, the fast ones exceed their
// intended rates more on faster links.
func (s *Settings) beyondSpeed(queue int32) float64 {
	speeds := s.profile.Response.Speeds
	return max(1, s.speed(queue)/float64(speeds[len(speeds)-1]))
}
