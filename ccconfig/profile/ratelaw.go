package profile

import (
	"math"

	"fairlane/ccconfig/dcqcn"
	"fairlane/internal/num"
)

// Law is how the rate of a flow follows RPG_AI_RATE and RPG_TIME_RESET. A mark cuts the rate by a fixed part c, has the target rate follow, and
// starts the timer anew. So of the periods T that marks at random, λ a second, interrupt, the k-th after a mark comes to its end in
// e^(-kλT) of all cases, and adds 1 - 2^-k of RPG_AI_RATE: half of what the target is ahead. What is added between two marks is what a mark
// takes when
//
//	RPG_AI_RATE / (c · rate) = (x - 1)(2x - 1)/x,  x = e^(λT)
//
// λ is in proportion to the rate and to the marking. Where RPG_AI_RATE is in proportion to the rate, as a lever has it, x is the same for all
// flows, and their rates go with 1/T. Registers that hold whole numbers are off that proportion where rates are low.
type Law struct {
	gain  float64 // RPG_AI_RATE / (c · rate) of the lever
	marks float64 // its λT
}

// Law is that of the profile's lever, with registers as of Base: RPG_THRESHOLD 0, and cuts by RPG_MIN_DEC_FAC.
func (p *Profile) Law() Law {
	gain := p.Lever.Step / cut(&p.Base)
	return Law{gain, marksAt(gain)}
}

// cut is by what part a mark lowers a rate.
func cut(s *dcqcn.Settings) float64 { return max(100-float64(s.MinDecFac), 1) / 100 }

// marksAt is the λT at which a gain is at rest: (x - 1)(2x - 1)/x = gain.
func marksAt(gain float64) float64 {
	b := 3 + gain
	return num.Ln((b + math.Sqrt(float64(b*b)-8)) / 4)
}

// gainAt is the inverse of marksAt, and growth its exponent, d ln(gain) / d ln(λT).
func gainAt(marks float64) (gain, growth float64) {
	x := num.Exp(marks)
	gain = float64((x-1)*(float64(2*x)-1)) / x
	return gain, float64(marks*(float64(2*x)-1/x)) / gain
}

const (
	mostMarks = 50.0  // far more than any λT at rest
	lawRounds = 20    // of Newton's method
	lawRest   = 1e-10 // the movement of ln(rate) at which it ends
)

// Rate is the rate, by the one that the lever means, at a period and an increase that are so many times the lever's, both above 0.
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

// Decline is the exponent by which the rate falls with the marking, at a rate and an increase that are so many times the lever's.
func (w Law) Decline(rate, increase float64) float64 {
	_, growth := gainAt(marksAt(float64(w.gain * (increase / rate))))
	return growth / (1 + growth)
}

// Period is that, by the lever's, at which a flow with an increase so many times the lever's has the rate meant.
func (w Law) Period(increase float64) float64 { return marksAt(float64(w.gain*increase)) / w.marks }

// Increase is that, by the lever's, at which a flow with a period so many times the lever's has the rate meant.
func (w Law) Increase(period float64) float64 {
	gain, _ := gainAt(min(float64(w.marks*period), mostMarks))
	return gain / w.gain
}
