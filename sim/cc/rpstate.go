package cc

import (
	"math"

	"fairlane/internal/quantity"
)

// RPState is the reaction point of one DCQCN flow without its timers: the current rate R_C, the target rate R_T, alpha and the
// two stage counters of the DCQCN paper (SIGCOMM 2015, section 3.1). Rates and the argument top, the maximum of R_C, are in the
// same unit: bit/s or a fraction of line rate. All four readings of DCQCN in this package use RPState. A program without a
// fabric can also use it, one send opportunity at a time: see Step.
type RPState struct {
	Rate      float64 // R_C
	Target    float64 // R_T; with RecoverP, 0 while the flow is not registered
	Alpha     float64 // 0 to 1; multiplied by 1024 in the vendor reading
	TimeStage uint16  // T: expiries of the timer since the last cut, saturating
	ByteStage uint16  // B: expiries of the byte counter since the last cut, saturating
}

// RPReading selects one of the published increase rules.
type RPReading uint8

// Published increase rules.
const (
	// RecoverDCQCN is the rule of the paper and the vendor: R_T is capped, and hyper increase requires both counters.
	RecoverDCQCN RPReading = iota
	// RecoverTimeOnly is the rule of the ns-3 simulators: additive increase for the first step after fast recovery, then hyper
	// increase, by the timer only. Rates are whole bit/s; the halves of R_C and R_T are truncated separately.
	RecoverTimeOnly
	// RecoverP is the rule of DCQCN-p (S2): R_T is not capped, each timer expiry lowers alpha by S2's two-sided rule, and a
	// flow that reaches the top resets its state.
	RecoverP
)

// RPParams are the constants of RPState's steps.
type RPParams struct {
	Reading      RPReading
	G            float64 // gain of alpha, 0 to 1
	InitialAlpha float64 // alpha of a flow that registers; RecoverP only
	Threshold    uint16  // F: stages of fast recovery
	Below        bool    // fast recovery while max(T,B) < F; otherwise while max(T,B) <= F
	HyperByStage bool    // hyper increase adds HAI times the stages past the threshold
	AI, HAI      float64 // additive and hyper increase of R_T, in the unit of the rates
	Relative     bool    // AI and HAI are fractions of the top, rounded to whole units of the rates
	Floor        float64 // minimum R_C, in the unit of the rates
	Uncapped     bool    // R_T may exceed the top, as in S2's figure 4; always with RecoverP
}

// NewRPState returns the state of a flow without congestion.
func NewRPState(p *RPParams, top float64) RPState {
	s := RPState{Rate: top, Target: top, Alpha: p.InitialAlpha}
	if p.Reading == RecoverP {
		s.Target = 0
	}
	return s
}

// Step is one send opportunity of S2's figure 4: a marked one cuts; an unmarked one is an expiry of the timer and a period
// without a notification.
func (s *RPState) Step(p *RPParams, top float64, marked bool) {
	if marked {
		s.Cut(p, top)
		return
	}
	s.TimeStep(p, top)
	if p.Reading != RecoverP {
		s.Alpha *= 1 - p.G
	}
}

// Cut applies a notification (equation 1 of the paper): R_T = R_C, R_C = R_C (1 - alpha/2), alpha = (1-g) alpha + g, and both
// counters restart.
func (s *RPState) Cut(p *RPParams, top float64) {
	s.Target = s.Rate
	s.Rate = max(s.Rate*(1-s.Alpha/2), min(p.Floor, top))
	s.Alpha = min(float64((1-p.G)*s.Alpha)+p.G, 1)
	s.TimeStage, s.ByteStage = 0, 0
}

// TimeStep applies an expiry of the increase timer. It reports whether more than the counter changed.
func (s *RPState) TimeStep(p *RPParams, top float64) bool {
	if s.TimeStage < math.MaxUint16 {
		s.TimeStage++
	}
	was := *s
	s.raise(p, top)
	if p.Reading == RecoverP && s.Target != 0 {
		s.lowerAlpha(p.G)
	}
	return s.Rate != was.Rate || s.Target != was.Target || s.Alpha != was.Alpha
}

// ByteStep applies an expiry of the byte counter.
func (s *RPState) ByteStep(p *RPParams, top float64) {
	if s.ByteStage < math.MaxUint16 {
		s.ByteStage++
	}
	s.raise(p, top)
}

// raise applies one increase at the stage of the counters: R_T grows, then R_C = (R_C + R_T)/2 (equations 3 and 4 of the
// paper).
func (s *RPState) raise(p *RPParams, top float64) {
	if p.Reading == RecoverP && s.Rate >= top {
		return
	}
	add := s.addition(p)
	if p.Relative {
		add = math.Round(add * top)
	}
	s.Target += add
	if p.Reading != RecoverP && !p.Uncapped {
		s.Target = min(s.Target, top)
	}
	if p.Reading == RecoverTimeOnly {
		s.Rate = min(math.Floor(s.Rate/2)+math.Floor(s.Target/2), top)
		return
	}
	s.Rate = min((s.Rate+s.Target)/2, top)
	if p.Reading == RecoverP && s.Rate >= top {
		*s = NewRPState(p, top)
	}
}

// addition returns the amount that an increase adds to R_T.
func (s *RPState) addition(p *RPParams) float64 {
	past := 0 // stages past the threshold; the first one ends fast recovery
	if p.Below {
		past = 1
	}
	f := int(p.Threshold) - past
	high, low := int(max(s.TimeStage, s.ByteStage)), int(min(s.TimeStage, s.ByteStage))
	if p.Reading == RecoverTimeOnly {
		low = high - 1
	}
	switch {
	case high <= f:
		return 0
	case low <= f:
		return p.AI
	case p.HyperByStage:
		return float64(p.HAI * float64(low-f)) // prevents fusing into a multiply-add
	default:
		return p.HAI
	}
}

// Steps by which RecoverP lowers alpha, and the alpha value that selects the step (S2, algorithm, lines 12 to 15).
const (
	alphaHalf     = 0.5
	alphaStepHigh = 1.0 / 40
	alphaStepLow  = 1.0 / 25
)

func (s *RPState) lowerAlpha(g float64) {
	if s.Alpha > alphaHalf {
		s.Alpha = max(s.Alpha-alphaStepHigh, (1-g)*s.Alpha)
		return
	}
	s.Alpha = max(min(s.Alpha-alphaStepLow, (1-g)*s.Alpha), 0)
}

// expire applies the expiries of the increase timer from next up to and including now, and returns the first one after now. It
// ends early when R_C reaches stop. Once the state no longer changes, further expiries are computed in one step.
func (s *RPState) expire(p *RPParams, top, stop float64, next, now, period quantity.Picoseconds) quantity.Picoseconds {
	for next <= now {
		changed := s.TimeStep(p, top)
		next += period
		if s.Rate >= stop {
			break
		}
		if !changed && s.atRest(p, top) && next <= now {
			k := (now-next)/period + 1
			s.TimeStage = uint16(min(int64(s.TimeStage)+int64(k), math.MaxUint16))
			next += k * period
		}
	}
	return next
}

// atRest reports whether an increase without effect implies that no later one has an effect: R_T is at the top, or no later
// stage adds more.
func (s *RPState) atRest(p *RPParams, top float64) bool {
	return s.Target >= top || int(s.TimeStage) > max(int(p.Threshold)+1, int(s.ByteStage)) || s.Rate >= top
}
