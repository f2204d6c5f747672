package profile

import (
	"fmt"
	"math"

	"fairlane/ccconfig/dcqcn"
	"fairlane/ccconfig/ecn"
	"fairlane/internal/quantity"
)

// Lever is the family of settings that divides links by weight. A flow with the intended rate r increases by Step·r once in
// the time in which it sends a fixed number of bits: RPG_AI_RATE is proportional to r, and RPG_TIME_RESET inversely
// proportional. Between two increases every flow then sends the same number of packets and gets the same number of marks, each
// of which cuts by the same factor. All flows thus behave equally per packet, each on its own time scale. Where all get the
// same marking, their rates settle in proportion to r, for any number of flows.
type Lever struct {
	MinPeriod uint32 `json:"min_period_us"` // minimum RPG_TIME_RESET, used at position 0
	MaxPeriod uint32 `json:"max_period_us"` // maximum RPG_TIME_RESET
	// Volume is the minimum number of bits that a flow sends between two increases, so that there are enough packets for a
	// mark.
	Volume float64 `json:"volume_bits"`
	Step   float64 `json:"step"`       // RPG_AI_RATE divided by the intended rate
	First  float64 `json:"first_rate"` // RATE_TO_SET_ON_FIRST_CNP divided by the intended rate
	// Decline is the exponent with which the rate of a flow with the lever's registers falls with the marking, and with its
	// period at constant RPG_AI_RATE. Law covers other registers.
	Decline float64 `json:"decline"`
}

func (l *Lever) validate() error {
	switch {
	case l.MinPeriod < 1 || l.MaxPeriod < l.MinPeriod || l.MaxPeriod > dcqcn.MaxNarrow:
		return fmt.Errorf("lever: periods from %d to %d us: want 1 to %d, ascending", l.MinPeriod, l.MaxPeriod, dcqcn.MaxNarrow)
	case !(l.Volume >= 1 && l.Volume <= 1e9):
		return fmt.Errorf("lever: volume %g bits: want 1 to 1e9", l.Volume)
	case !(l.Step > 0 && l.Step <= 1):
		return fmt.Errorf("lever: step %g: want above 0 to 1", l.Step)
	case !(l.First >= 1 && l.First <= 100):
		return fmt.Errorf("lever: first rate %g: want 1 to 100", l.First)
	case !(l.Decline > 0 && l.Decline < 1):
		return fmt.Errorf("lever: decline %g: want between 0 and 1", l.Decline)
	}
	return nil
}

// firstRateMost is the largest fraction of line rate that the vendor's page allows for RATE_TO_SET_ON_FIRST_CNP; above it the
// register is 0, which means line rate.
const firstRateMost = 0.85

// coarseAI is the increase, in Mbit/s, below which the period compensates for the rounding of the increase; above it the
// increase compensates for the rounding of the period.
const coarseAI = 25

// Shortest returns the period, in us, at position 0 of a lever that starts at a rate, in bit/s: MinPeriod, or the time in which
// a flow sends enough for a mark.
func (l *Lever) Shortest(rate float64) float64 {
	return max(float64(l.MinPeriod), float64(l.Volume/rate*1e6))
}

// nearRest is atanh(0.98), see Settle.
const nearRest = 2.3

// MeanSettles is the averaging window of a port's mean rate, in settling times (Settle): single marks make slow queue pairs
// oscillate for about one settling time.
const MeanSettles = 4

// Settle returns the time, in seconds, that a queue pair needs from zero to within 2 % of a rate (bit/s) at which marks hold
// it. Its rate grows by RPG_AI_RATE each RPG_TIME_RESET and shrinks in proportion to the marks on its packets and to itself, so
// to its square: with equilibrium rate r, x = rate/r follows x' = g/r · (1 - x²), where g is the growth, so x = tanh(t·g/r).
func Settle(rate float64, s *dcqcn.Settings) float64 {
	growth := float64(s.AIRate) * 1e12 / float64(s.TimeReset) // bit/s per second
	return float64(nearRest * (rate / growth))
}

// Set returns the settings of a port with a line rate whose flows are each meant to have a rate (bit/s) with an exact period
// (us). Registers hold whole numbers, so the finer of the two compensates for the rounding of the coarser.
func (p *Profile) Set(rate, period float64, line quantity.BitRate) dcqcn.Settings {
	s := p.Base
	l := &p.Lever
	w := p.Law()
	exact := float64(l.Step*rate) / 1e6
	most := float64(p.Limits().MaxRate())
	var increase, time float64
	if exact < coarseAI {
		increase = bounded(exact, 1, most)
		time = bounded(float64(period*w.Period(increase/exact)), float64(l.MinPeriod), float64(l.MaxPeriod))
	} else {
		time = bounded(period, float64(l.MinPeriod), float64(l.MaxPeriod))
		increase = bounded(float64(exact*w.Increase(time/period)), 1, most)
	}
	s.TimeReset, s.AIRate, s.HAIRate = uint32(time), uint32(increase), uint32(increase)
	s.RateOnFirstCNP = 0
	if first := float64(l.First * rate); first < firstRateMost*float64(line) {
		s.RateOnFirstCNP = uint32(bounded(first/1e6, 1, most))
	}
	return s
}

// bounded returns the whole number nearest to x within limits.
func bounded(x, low, high float64) float64 { return min(max(math.Floor(x+0.5), low), high) }

// MarkingRule determines the marking thresholds of switches. A threshold as a time is the time in which a link sends the queued
// bytes.
type MarkingRule struct {
	Floor   quantity.Picoseconds `json:"floor_ps"`      // Min is the round trip time plus this
	PerRTT  int                  `json:"span_per_rtt"`  // from Min to Max: this number of round trip times,
	MinSpan quantity.Picoseconds `json:"min_span_ps"`   // but at least this
	MaxSpan quantity.Picoseconds `json:"max_span_ps"`   // and at most this
	PMaxPct int                  `json:"p_max_percent"` // at Max
}

func (m *MarkingRule) validate() error {
	const most = 10 * quantity.Millisecond
	switch {
	case m.Floor < 0 || m.Floor > most:
		return fmt.Errorf("marking: floor %s: want 0 to %s", m.Floor, most)
	case m.PerRTT < 0 || m.PerRTT > 1000:
		return fmt.Errorf("marking: span per round trip %d: want 0 to 1000", m.PerRTT)
	case m.MinSpan < 1 || m.MaxSpan < m.MinSpan || m.MaxSpan > most:
		return fmt.Errorf("marking: span from %s to %s: want above 0 to %s, ascending", m.MinSpan, m.MaxSpan, most)
	case m.PMaxPct < 1 || m.PMaxPct > ecn.MaxPercent:
		return fmt.Errorf("marking: p_max %d: want 1 to %d percent", m.PMaxPct, ecn.MaxPercent)
	}
	return nil
}

// At returns the marking for a link speed and a base round trip time of the flows.
func (m *MarkingRule) At(speed quantity.BitRate, rtt quantity.Picoseconds) ecn.Marking {
	low := heldBytes(speed, m.Floor+markedRoundTrip(rtt))
	return ecn.Marking{Min: low, Max: min(low+heldBytes(speed, m.Span(rtt)), ecn.MaxThreshold), PMaxPct: m.PMaxPct}
}

// Span returns the time from Min to Max of At for a base round trip time of the flows.
func (m *MarkingRule) Span(rtt quantity.Picoseconds) quantity.Picoseconds {
	return min(max(quantity.Picoseconds(m.PerRTT)*markedRoundTrip(rtt), m.MinSpan), m.MaxSpan)
}

// markedRoundTrip returns the part of a round trip time that increases the thresholds: at most a millisecond.
func markedRoundTrip(rtt quantity.Picoseconds) quantity.Picoseconds {
	return min(max(rtt, 0), quantity.Millisecond)
}

// heldBytes returns the bytes that a link sends in a time, in whole KiB.
func heldBytes(speed quantity.BitRate, t quantity.Picoseconds) int64 {
	const kib = 1024
	bytes := float64(float64(speed) / 8 * t.Seconds())
	return max(kib, int64(min(bytes, ecn.MaxThreshold/2)/kib)*kib)
}
