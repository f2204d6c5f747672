package cc

import (
	"math"

	"fairlane/internal/quantity"
)

// RPState is the reaction point of one DCQCN flow without its timers: the current rate R_C, the
// target rate R_T, alpha and the two stage counters of the DCQCN paper (SIGCOMM 2015, section 3.1).
// The rates are in any one unit, bit/s or a ratio of line rate; the most that R_C may be, "top", is
// in the same unit. All four readings of DCQCN in this package step this state, and so can a
// program without a fabric, one send opportunity at a time: see Step.
type RPState struct {
	Rate      float64 // R_C
	Target    float64 // R_T; with RecoverP 0 while the flow is not registered
	Alpha     float64 // 0 to 1; the vendor reading keeps 1024 times that
	TimeStage uint16  // T: expiries of the timer since the last cut, saturating
	ByteStage uint16  // B: expiries of the byte counter since the last cut, saturating
}

// RPReading tells the published rules of the increase apart.
type RPReading uint8

// Readings.
const (
	// RecoverDCQCN is the paper's and the vendor's: R_T is capped, hyper increase needs both counters.
	RecoverDCQCN RPReading = iota
	// RecoverTimeOnly is that of the ns-3 simulators: additive increase for the one step after fast
	// recovery, then hyper increase, by the timer alone; rates are whole bit/s, and the halves of
	// R_C and R_T are cut off one by one.
	RecoverTimeOnly
	// RecoverP is DCQCN-p (S2): R_T is not capped, each expiry of the timer lowers alpha by S2's
	// two-sided rule, and a flow at the top forgets its state.
	RecoverP
)

// RPParams are the constants of an RPState's steps.
type RPParams struct {
	Reading      RPReading
	G            float64 // gain of alpha, 0 to 1
	InitialAlpha float64 // of a flow that registers; RecoverP
	Threshold    uint16  // F: stages of fast recovery
	Below        bool    // fast recovery while max(T,B) < F; otherwise while max(T,B) <= F
	HyperByStage bool    // hyper increase adds HAI times the stages past the threshold
	AI, HAI      float64 // additive and hyper increase of R_T, in the unit of the rates
	Relative     bool    // AI and HAI are shares of the top instead, rounded to whole units of the rates
	Floor        float64 // least R_C, in the unit of the rates
	Uncapped     bool    // R_T may be above the top, as in S2's figure 4; always so with RecoverP
}

// NewRPState returns the state of a flow that has met no congestion.
func NewRPState(p *RPParams, top float64) RPState {
	s := RPState{Rate: top, Target: top, Alpha: p.InitialAlpha}
	if p.Reading == RecoverP {
		s.Target = 0
	}
	return s
}

// Step is one send opportunity of S2's figure 4: a marked one cuts, an unmarked one is an expiry of
// the timer and a period without a notification.
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

// Cut is the paper's answer to a notification (equation 1): R_T = R_C, R_C = R_C (1 - alpha/2),
// alpha = (1-g) alpha + g, and both counters start again.
func (s *RPState) Cut(p *RPParams, top float64) {
	s.Target = s.Rate
	s.Rate = max(s.Rate*(1-s.Alpha/2), min(p.Floor, top))
	s.Alpha = min(float64((1-p.G)*s.Alpha)+p.G, 1)
	s.TimeStage, s.ByteStage = 0, 0
}

// TimeStep is an expiry of the increase timer. It reports whether it changed more than the counter.
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

// ByteStep is an expiry of the byte counter.
func (s *RPState) ByteStep(p *RPParams, top float64) {
	if s.ByteStage < math.MaxUint16 {
		s.ByteStage++
	}
	s.raise(p, top)
}

// raise is one increase at the stage of the counters: R_T grows, then R_C = (R_C + R_T)/2
// (equations 3 and 4 of the paper).
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

// addition is what an increase adds to R_T.
func (s *RPState) addition(p *RPParams) float64 {
	past := 0 // stages of fast recovery end one event later than the threshold
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
		return float64(p.HAI * float64(low-f)) // not to be fused into a sum
	default:
		return p.HAI
	}
}

// Steps by which RecoverP lowers alpha, and the value that parts them (S2, algorithm, lines 12 to 15).
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

// expire applies the expiries of the increase timer from next up to and including now and returns
// the first one after. It ends early when R_C reaches stop. A flow that has come to rest costs the
// same however long it rests.
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

// atRest reports whether an increase that changed nothing will never change anything: R_T is at the
// top, or no later stage adds more.
func (s *RPState) atRest(p *RPParams, top float64) bool {
	return s.Target >= top || int(s.TimeStage) > max(int(p.Threshold)+1, int(s.ByteStage)) || s.Rate >= top
}
