package wrcc

import (
	"fmt"
	"math"
)

// Loop is the control loop of one port with equal flows, linearized around its equilibrium (S0, section 3.6, formulas (3) and
// (4)):
//
//	δq' = N·δR(t-D)
//	δR' = -(α/d)·δR(t-D) - β/(N·d²)·δq(t)
//
// Its open-loop transfer function is L(s) = (α/(d·s) + β/(d·s)²)·e^(-D·s). In units of d, the number of flows, the
// port's rate and the length of the path cancel out: only α, β and D/d remain. Therefore one range of factors suits every
// port.
//
// In S0's fluid model D is d, the round trip time. A switch samples: it measures over one period and holds the result
// over the next. Both add half a period of delay, and formula (2) uses max(RTT, WRCCT) as d. NewLoop takes both into
// account.
type Loop struct {
	Alpha, Beta float64 // beta 0 means that the queue is within its limit and has no effect
	Delay       float64 // D, seconds
	Base        float64 // d, seconds
}

// FluidLoop returns S0's model: a path with a round trip time in seconds, without sampling.
func FluidLoop(alpha, rtt float64) Loop {
	return Loop{Alpha: alpha, Beta: alpha / 2, Delay: rtt, Base: rtt}
}

// NewLoop returns the loop with a sampling period WRCCT; both times are in seconds.
func NewLoop(alpha, rtt, period float64) Loop {
	return Loop{Alpha: alpha, Beta: alpha / 2, Delay: rtt + period, Base: max(rtt, period)}
}

// Margins are the stability margins of a loop.
type Margins struct {
	Phase     float64 // radians at the gain crossover; at or below 0 means unstable
	Gain      float64 // factor by which the gain may grow; at or below 1 means unstable
	Crossover float64 // rad/s, where the gain is 1
}

// Stable reports whether disturbances decay.
func (m Margins) Stable() bool { return m.Phase > 0 && m.Gain > 1 }

// Margins computes the margins. With x = ω·d and θ = D/d,
//
//	|L| = sqrt(α²x² + β²)/x²        arg L = -π + atan(αx/β) - θx
//
// so the gain crossover is x² = (α² + sqrt(α⁴ + 4β²))/2, and the phase crossover is where atan(αx/β) = θx. It exists
// if α/β > θ; otherwise the loop is unstable at any gain.
func (l Loop) Margins() Margins {
	a2 := l.Alpha * l.Alpha
	x := math.Sqrt((a2 + math.Sqrt(a2*a2+4*l.Beta*l.Beta)) / 2)
	theta := l.Delay / l.Base
	m := Margins{Crossover: x / l.Base, Phase: l.phaseLead(x) - theta*x}
	cross := l.phaseCrossover(theta)
	if cross > 0 {
		m.Gain = cross * cross / math.Hypot(l.Alpha*cross, l.Beta)
	}
	return m
}

// phaseLead returns the phase lead of the rate term over the queue term.
func (l Loop) phaseLead(x float64) float64 { return math.Atan2(l.Alpha*x, l.Beta) }

// phaseCrossover solves lead(x) = θx for x > 0 by bisection; 0 means no solution. The difference either only falls, or rises
// from 0 and then falls, because lead is concave.
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
		if l.phaseLead(mid) > theta*mid {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo
}

// peak returns the x with the largest lead(x) - θx: ratio/(1 + ratio²x²) = θ.
func (l Loop) peak(ratio, theta float64) float64 { return math.Sqrt(ratio/theta-1) / ratio }

// CheckStable returns an error unless the port's loop is stable for flows of a round trip time (seconds) with every factor of
// AutoParm that applies near the equilibrium.
//
// Near the equilibrium the input rate is within 1/32 of the target and AutoParm gives the smallest factor, 1/64, which must be
// stable with the queue above its limit. Larger factors apply only while the input rate is well below the target, when the
// queue drains and has no effect; they must be stable without it. A WRCCT of two round trips or more, as S0 requires, passes;
// one round trip does not.
func (p *Params) CheckStable(rtt float64) error { return p.CheckLate(rtt, 0) }

// CheckLate is CheckStable for flows that receive a fair rate later than a round trip, by late seconds (0 or more): slow flows
// receive one only once per packet. Their headers contain only the round trip time.
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
