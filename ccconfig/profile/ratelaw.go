package profile

import (
	"math"

	"fairlane/ccconfig/dcqcn"
	"fairlane/internal/num"
)

// Law describes how the rate of a flow follows RPG_AI_RATE and RPG_TIME_RESET. A mark cuts the rate by a fixed fraction c, sets
// the target rate to it, and restarts the timer. Marks arrive at random, λ per second. The k-th period T after a mark
// therefore completes with probability e^(-kλT), and adds 1 - 2^-k of RPG_AI_RATE: half of the distance to the target. The
// increase between two marks equals the decrease by a mark when
//
//	RPG_AI_RATE / (c · rate) = (x - 1)(2x - 1)/x,  x = e^(λT)
//
// λ is proportional to the rate and to the marking. If RPG_AI_RATE is proportional to the rate, as with a lever, x is the same
// for all flows, and their rates are proportional to 1/T. Registers with whole numbers deviate from this proportion at low
// rates.
type Law struct {
	gain  float64 // RPG_AI_RATE / (c · rate) of the lever
	marks float64 // its λT
}

// Law returns the law of the profile's lever, with registers as in Base: RPG_THRESHOLD 0, and cuts by RPG_MIN_DEC_FAC.
func (p *Profile) Law() Law {
	gain := p.Lever.Step / decreaseFactor(&p.Base)
	return Law{gain, marksAt(gain)}
}

// decreaseFactor returns the fraction by which a mark lowers a rate.
func decreaseFactor(s *dcqcn.Settings) float64 { return max(100-float64(s.MinDecFac), 1) / 100 }

// marksAt returns the λT at the equilibrium of a gain: (x - 1)(2x - 1)/x = gain.
func marksAt(gain float64) float64 {
	b := 3 + gain
	return num.Ln((b + math.Sqrt(float64(b*b)-8)) / 4)
}

// gainAt returns the inverse of marksAt and its exponent growth, d ln(gain) / d ln(λT).
func gainAt(marks float64) (gain, growth float64) {
	x := num.Exp(marks)
	gain = float64((x-1)*(float64(2*x)-1)) / x
	return gain, float64(marks*(float64(2*x)-1/x)) / gain
}

const (
	mostMarks = 50.0  // far above any λT at equilibrium
	lawRounds = 20    // iterations of Newton's method
	lawRest   = 1e-10 // change of ln(rate) at which the iteration ends
)

// Rate returns the rate relative to the lever's intended rate; period and increase are relative to the lever's, both above 0.
func (w Law) Rate(period, increase float64) float64 {
	v, most := 0.0, num.Ln(mostMarks/float64(w.marks*period)) // ln of the rate
	for range lawRounds {
		v = min(v, most)
		gain, growth := gainAt(float64(w.marks * float64(period*num.Exp(v))))
		step := (num.Ln(gain/float64(w.gain*increase)) + v) / (1 + growth)
		v -= min(max(step, -1), 1)
		if math.Abs(step) < lawRest {
			break
		}
	}
	return num.Exp(v)
}

// Decline returns the exponent with which the rate falls with the marking; rate and increase are relative to the lever's.
func (w Law) Decline(rate, increase float64) float64 {
	_, growth := gainAt(marksAt(float64(w.gain * (increase / rate))))
	return growth / (1 + growth)
}

// Period returns the period, relative to the lever's, at which a flow has the intended rate; increase is relative to the
// lever's.
func (w Law) Period(increase float64) float64 { return marksAt(float64(w.gain*increase)) / w.marks }

// Increase returns the increase, relative to the lever's, at which a flow has the intended rate; period is relative to the
// lever's.
func (w Law) Increase(period float64) float64 {
	gain, _ := gainAt(min(float64(w.marks*period), mostMarks))
	return gain / w.gain
}

// HoldingRate returns the marks per second that hold a flow at a rate, bit/s and above 0, by the law that Law describes, for registers with
// RPG_THRESHOLD 0 and cuts by RPG_MIN_DEC_FAC. It is 0 without an increase by the timer.
func HoldingRate(s *dcqcn.Settings, rate float64) float64 {
	if s.TimeReset == 0 || s.AIRate == 0 {
		return 0
	}
	return marksAt(float64(s.AIRate)*1e6/float64(decreaseFactor(s)*rate)) / (float64(s.TimeReset) / 1e6)
}
