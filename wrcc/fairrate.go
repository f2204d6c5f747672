package wrcc

import (
	"math"

	"fairlane/internal/quantity"
)

// Limits of the factor alpha (S0, formula (5)): 1/2 to 1/64; beta is half of alpha.
const (
	minLevel = 2
	maxLevel = 64
)

// PortState is the state of an egress port between periods. The zero value is invalid: use NewPortState.
type PortState struct {
	FairRate float64 // the port fair rate PFR, bit/s, normalized: Fmin to Fmax
	AvgRTT   float64 // average RTT of the port's packets, seconds; 0 before the first packet
}

// NewPortState returns the initial state of a port, which limits no flow.
func NewPortState(p *Params) PortState { return PortState{FairRate: float64(p.Fmax)} }

// PeriodInput holds a switch's measurements for an egress port p during one period (S0, formula (1)). I is the set of the
// ingress ports that sent traffic to p.
type PeriodInput struct {
	RinBps     float64 // input rate: bits from I to p over WRCCT
	SumPFC     uint32  // pause frames sent by the ports of I
	Ingresses  int     // ports in I; with 0, Qp has no limit
	QueueBytes int64   // Qp, bytes in p's queue at the end of the period
	QMaxBytes  int64   // Qmax, the sum of the pause thresholds of I; 0 when a shared buffer is full
	RTTSum     uint64  // sum of the RTT estimates of the packets sent by p, microseconds
	PktNum     uint32  // number of these packets
}

// Step describes the update of a port in a period, for device counters and explanations.
type Step struct {
	FairRate  float64 // PFR after the period, bit/s
	SlowDown  float64 // Rin/Btar, at least 2 after a pause
	Alpha     float64 // 0 after a division of the rate
	ExtraQ    int64   // bytes over the limit
	Divided   bool    // multiplicative decrease, otherwise formula (2)
	Clamped   bool    // limited by Fmin or Fmax
	MeanRTTus float64 // RTTavg of formula (2), microseconds
}

// Update ends a period: it computes the new fair rate by Algorithm 1 and formula (2) of S0.
//
// Invalid inputs (a negative or NaN input rate, a negative queue) count as zero, so that a broken counter cannot move the fair
// rate out of Fmin..Fmax.
func (s *PortState) Update(p *Params, in *PeriodInput) Step {
	s.observeRTT(p, in)
	period := p.Period.Seconds()
	rtt := max(s.AvgRTT, period)
	rin, target := nonNegative(in.RinBps), float64(p.Target)
	st := Step{SlowDown: rin / target, ExtraQ: p.extraQueue(in), MeanRTTus: rtt * 1e6}
	if in.SumPFC > 0 {
		st.SlowDown = max(st.SlowDown, 2)
	}
	rate := s.FairRate
	if st.SlowDown >= float64(p.RateRatioPct)/100 {
		st.Divided = true
		rate /= st.SlowDown
	} else {
		var beta float64
		st.Alpha, beta = AutoParm(rate, rin, target)
		excess := float64(st.Alpha*(target-rin)) - beta*float64(st.ExtraQ)*8/rtt
		rate *= 1 + period/rtt*excess/target
	}
	s.FairRate = min(max(rate, float64(p.Fmin)), float64(p.Fmax))
	st.Clamped = s.FairRate != rate
	st.FairRate = s.FairRate
	return st
}

// observeRTT filters the mean RTT of the period's packets. The filter starts with the first mean: starting from zero would
// treat distant flows as near ones for the first periods.
func (s *PortState) observeRTT(p *Params, in *PeriodInput) {
	if in.PktNum == 0 {
		return
	}
	mean := float64(in.RTTSum) / float64(in.PktNum) * 1e-6
	if s.AvgRTT == 0 {
		s.AvgRTT = mean
		return
	}
	s.AvgRTT += float64(p.Lambda * (mean - s.AvgRTT)) // prevents fusing into a multiply-add
}

// extraQueue returns the bytes of the queue above QRatioMax·Qmax. Without an ingress port there is no limit. A threshold of
// zero is a valid limit: a full shared buffer has no room for any port, so the whole queue is above it.
func (p *Params) extraQueue(in *PeriodInput) int64 {
	if in.Ingresses <= 0 || in.QueueBytes <= 0 {
		return 0
	}
	most := max(in.QMaxBytes, 0)
	// Divide first: a broken counter could overflow the product of queue and percentage.
	limit := most/100*int64(p.QRatioPct) + most%100*int64(p.QRatioPct)/100
	return max(in.QueueBytes-limit, 0)
}

// AutoParm returns the factors of formula (2) (Algorithm 1, lines 16 to 24, and formula (5)): the further the input rate is
// below the target, the larger the step.
//
//	(target-rin)/target | ≥ 1/2 | ≥ 1/4 | ≥ 1/8 | ≥ 1/16 | ≥ 1/32 | less
//	alpha               |  1/2  |  1/4  |  1/8  |  1/16  |  1/32  | 1/64
//
// A fair rate at or above the target limits no flow, and gets the largest factor. All arguments are in bit/s.
func AutoParm(rate, rin, target float64) (alpha, beta float64) {
	level := minLevel
	if rate < target {
		for target-rin < target/float64(level) && level < maxLevel {
			level *= 2
		}
	}
	alpha = 1 / float64(level)
	return alpha, alpha / 2
}

// Mbps returns the fair rate in the unit of a header: Mbit/s, at least 1.
func (s *PortState) Mbps() uint32 { return toMbps(s.FairRate) }

// Limit applies the port to the FairRate of a data packet. It returns the lower of the packet's and the port's rate, and
// whether the packet's was higher, which may require an FCNP.
func (s *PortState) Limit(mbps uint32) (uint32, bool) {
	if own := s.Mbps(); mbps > own {
		return own, true
	}
	return mbps, false
}

// toMbps rounds to the nearest unit of the header. Rounding down would lower a rate by one unit on each round of the loop.
func toMbps(bps float64) uint32 {
	return uint32(min(max(math.Round(bps/float64(quantity.Mbps)), 1), math.MaxUint32))
}

func nonNegative(v float64) float64 {
	if v > 0 {
		return v
	}
	return 0
}
