package wrcc

import (
	"fmt"
	"math"
)

// Loop is the control loop of one port with equal flows, linearised around its point of rest
// (S0, section 3.6, formulas (3) and (4)):
//
//	δq' = N·δR(t-D)
//	δR' = -(α/d)·δR(t-D) - β/(N·d²)·δq(t)
//
// which opens to L(s) = (α/(d·s) + β/(d·s)²)·e^(-D·s). In units of d the number of flows, the
// port's rate and the length of the path have all cancelled: what is left is α, β and D/d. That is
// why one range of factors serves every port.
//
// In S0's fluid model D is d, the round trip. A switch samples: it measures over one period and holds
// the result over the next, half a period late each, and formula (2) puts max(RTT, WRCCT) for d.
// NewLoop takes both into account.
type Loop struct {
	Alpha, Beta float64 // beta 0 is a queue within its limit, which does not count
	Delay       float64 // D, seconds
	Base        float64 // d, seconds
}

// FluidLoop returns S0's model: a path of a round trip in seconds, and no sampling.
func FluidLoop(alpha, rtt float64) Loop {
	return Loop{Alpha: alpha, Beta: alpha / 2, Delay: rtt, Base: rtt}
}

// NewLoop returns the loop with a sampling period WRCCT; both are in seconds.
func NewLoop(alpha, rtt, period float64) Loop {
	return Loop{Alpha: alpha, Beta: alpha / 2, Delay: rtt + period, Base: max(rtt, period)}
}

// Margins say how far a loop is from swinging without end.
type Margins struct {
	Phase     float64 // radians at the gain crossover; at or below 0 is unstable
	Gain      float64 // factor by which the gain may grow; at or below 1 is unstable
	Crossover float64 // rad/s, where the gain is 1
}

// Stable reports whether disturbances die out.
func (m Margins) Stable() bool { return m.Phase > 0 && m.Gain > 1 }

// Margins computes the margins. With x = ω·d and θ = D/d,
//
//	|L| = sqrt(α²x² + β²)/x²        arg L = -π + atan(αx/β) - θx
//
// so the gain crossover is x² = (α² + sqrt(α⁴ + 4β²))/2, and the phase crossover is where
// atan(αx/β) = θx: it exists when α/β > θ, and otherwise no gain is small enough.
func (l Loop) Margins() Margins {
	a2 := l.Alpha * l.Alpha
	x := math.Sqrt((a2 + math.Sqrt(a2*a2+4*l.Beta*l.Beta)) / 2)
	theta := l.Delay / l.Base
	m := Margins{Crossover: x / l.Base, Phase: l.lead(x) - theta*x}
	cross := l.phaseCrossover(theta)
	if cross > 0 {
		m.Gain = cross * cross / math.Hypot(l.Alpha*cross, l.Beta)
	}
	return m
}

// lead is the phase by which the rate term runs ahead of the queue's.
func (l Loop) lead(x float64) float64 { return math.Atan2(l.Alpha*x, l.Beta) }

// phaseCrossover solves lead(x) = θx for x > 0 by halving; 0 when there is no solution. The
// difference rises from 0, if it does at all, and then falls for good, as lead is concave.
func (l Loop) phaseCrossover(theta float64) float64 {
	lo, hi := 0.0, math.Pi/2/theta
	if l.Beta > 0 {
		ratio := l.Alpha / l.Beta
		if ratio <= theta {
			return 0
		}
		lo = l.peak(ratio, theta)
	}
	for range 64 {
		mid := (lo + hi) / 2
		if l.lead(mid) > theta*mid {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo
}

// peak is where lead(x) - θx is largest: ratio/(1 + ratio²x²) = θ.
func (l Loop) peak(ratio, theta float64) float64 { return math.Sqrt(ratio/theta-1) / ratio }

// CheckStable returns an error unless the port's loop dies out for flows of a round trip (seconds)
// with every factor of AutoParm that rules near the point of rest.
//
// Near rest the input is within 1/32 of the target and AutoParm gives the smallest factor, 1/64; that
// one must be stable with the queue above its limit. Larger factors rule only while the input is well
// below the target, when the queue drains and does not count: they must be stable without it. A
// WRCCT of two round trips or more, as S0 asks for, passes; one round trip does not.
func (p *Params) CheckStable(rtt float64) error { return p.CheckLate(rtt, 0) }

// CheckLate is CheckStable for flows that learn of a fair rate later than a round trip, by late seconds of 0 and more: slow ones learn
// once a packet. What they write into headers is the round trip alone.
func (p *Params) CheckLate(rtt, late float64) error {
	period := p.Period.Seconds()
	for level := minLevel; level <= maxLevel; level *= 2 {
		l := NewLoop(1/float64(level), rtt, period)
		l.Delay += late
		if level < maxLevel {
			l.Beta = 0
		}
		if m := l.Margins(); !m.Stable() {
			return fmt.Errorf("alpha 1/%d with WRCCT %s and a round trip of %.3g us: phase margin %.3f rad, gain margin %.2f: want above 0 and 1",
				level, p.Period, rtt*1e6, m.Phase, m.Gain)
		}
	}
	return nil
}
