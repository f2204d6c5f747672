package wrcc

import (
	"errors"
	"fmt"
	"math"

	"fairlane/internal/quantity"
)

// Increase selects how a sender increases its rate.
type Increase uint8

// Increase modes.
const (
	// IncreaseTimer is Algorithm 2 as printed (with min, see the package comment). A packet carries the sender's rate, so the
	// returned rate is never above it, and each expiry of T1 doubles the rate until the next acknowledgement. Only packets sent
	// in between return a higher rate, one round trip later. The increase of flows does not follow their weights, and the queue
	// stays at QRatioMax·Qmax.
	IncreaseTimer Increase = iota
	// IncreaseAsk is our variant: a packet carries twice the sender's rate, up to line rate, as a request. The network returns
	// the minimum of that and the fair rates, so a flow doubles its rate each round trip until the fair rate limits it, and
	// then has exactly the fair rate. The timer doubles the rate only without answers, when neither acknowledgement nor FCNP
	// has arrived for T1, a round trip and two packets, so a flow that was idle starts again. Switches do not change.
	IncreaseAsk
)

// String returns the name of the mode: "timer" or "ask".
func (i Increase) String() string {
	switch i {
	case IncreaseTimer:
		return "timer"
	case IncreaseAsk:
		return "ask"
	}
	return fmt.Sprintf("increase %d", uint8(i))
}

// ParseIncrease parses the name of an increase mode, "timer" or "ask".
func ParseIncrease(word string) (Increase, error) {
	for _, i := range []Increase{IncreaseTimer, IncreaseAsk} {
		if word == i.String() {
			return i, nil
		}
	}
	return 0, fmt.Errorf("increase %q: want %q or %q", word, IncreaseTimer, IncreaseAsk)
}

// SenderParams are the settings of a network adapter, common to all its flows.
type SenderParams struct {
	T1       quantity.Picoseconds // of the increase timer; at least the switches' WRCCT
	MinRate  float64              // minimum rate of a flow, bit/s; 1 or more
	Increase Increase
}

// Validate returns an error for settings out of range, given the switches' sampling period.
func (p *SenderParams) Validate(period quantity.Picoseconds) error {
	err := inRange("increase timer T1", p.T1, max(period, MinPeriod), MaxTimer)
	if !(p.MinRate >= 1 && p.MinRate <= float64(quantity.MaxBitRate)) {
		err = errors.Join(err, fmt.Errorf("minimum rate of a flow %v bit/s: want 1 to %d", p.MinRate, int64(quantity.MaxBitRate)))
	}
	return err
}

// Sender is the state of one flow (S0, Algorithm 2) in its weighted form. Sequence numbers are any numbers that increase along
// the flow, such as PSNs without wrap-around or byte positions, but must be the same kind for acknowledgements and FCNPs.
type Sender struct {
	rate     float64 // Rc, bit/s, physical
	line     float64 // Bsend
	weight   float64
	last     int64                // PSN_last
	deadline quantity.Picoseconds // of the increase timer
	bits     float32              // of a full packet on the wire
	rtt      uint32               // us
	domain   uint16
	burst    bool // FBDP
}

// SenderFlow holds the properties of a flow for its sender.
type SenderFlow struct {
	Line   float64              // Bsend, bit/s of the sending port, above 0
	Weight float64              // above 0; 1 is neutral
	RTT    quantity.Picoseconds // estimated RTT; written into each packet in whole microseconds, rounded up
	Packet int                  // bytes of a full packet on the wire
	Domain uint16               // SDI, data centre of the sender
}

// NewSender starts a flow at line rate with the burst mark set and the timer running.
func NewSender(p *SenderParams, f SenderFlow, now quantity.Picoseconds) Sender {
	us := (max(f.RTT, 1) + quantity.Microsecond - 1) / quantity.Microsecond
	return Sender{
		rate: f.Line, line: f.Line, weight: f.Weight, last: math.MinInt64, deadline: now + p.T1,
		bits: float32(f.Packet) * 8, rtt: uint32(min(us, math.MaxUint32)), domain: f.Domain, burst: true,
	}
}

// Adopt changes the flow's settings from was to p; the caller has called Settle with was up to now. Its rate stays,
// except for the new minimum; the timer restarts if its period changes.
func (s *Sender) Adopt(was, p *SenderParams, now quantity.Picoseconds) {
	s.rate = min(max(s.rate, p.MinRate), s.line)
	if was.T1 == p.T1 && was.Increase == p.Increase {
		return
	}
	s.deadline = now + p.T1
	if p.Increase == IncreaseAsk {
		s.deadline = now + s.silenceTimeout(p)
	}
}

// Move changes the number of the flow's data centre.
func (s *Sender) Move(domain uint16) { s.domain = domain }

// Reweigh changes the weight of the flow; it must be above 0. The rate follows with the network's next answer.
func (s *Sender) Reweigh(weight float64) { s.weight = weight }

// Rate returns the rate at which the flow may send, bit/s.
func (s *Sender) Rate() float64 { return s.rate }

// FairRate returns the rate normalized by the flow's weight, bit/s.
func (s *Sender) FairRate() float64 { return s.rate / s.weight }

// Deadline returns the next expiry of the increase timer.
func (s *Sender) Deadline() quantity.Picoseconds { return s.deadline }

// Settle applies the expiries of the increase timer up to and including now: each doubles the rate, up to line rate (Algorithm
// 2, lines 16 to 18). It takes constant time for any interval.
func (s *Sender) Settle(p *SenderParams, now quantity.Picoseconds) {
	if now < s.deadline {
		return
	}
	k := 1 + (now-s.deadline)/p.T1
	s.deadline += k * p.T1
	s.rate = min(math.Ldexp(s.rate, int(min(k, 64))), s.line)
}

// Ack handles an acknowledgement up to a sequence number with a normalized fair rate in bit/s, 0 if it carries none, from a
// receiver in a data centre (Algorithm 2, lines 1 to 9).
func (s *Sender) Ack(p *SenderParams, now quantity.Picoseconds, seq int64, fair float64, receiver uint16) {
	if seq > s.last {
		s.last = seq
		if fair > 0 {
			s.rate = s.bound(p, fair)
		}
	}
	s.burst = receiver != s.domain
	if p.Increase == IncreaseAsk {
		s.deadline = now + s.silenceTimeout(p)
	}
}

// silenceTimeout returns the longest time without an answer for a flow that sends continuously, plus T1.
func (s *Sender) silenceTimeout(p *SenderParams) quantity.Picoseconds {
	packets := quantity.Picoseconds(2 * float64(s.bits) / s.rate * float64(quantity.Second))
	return p.T1 + quantity.Picoseconds(s.rtt)*quantity.Microsecond + packets
}

// FCNP handles a fast notification with a normalized fair rate in bit/s, caused by the packet with a sequence number (Algorithm
// 2, lines 10 to 15). It can only lower the rate, and reports whether it did. Acknowledgements up to that packet are then
// outdated, because their rates were set before the FCNP.
func (s *Sender) FCNP(p *SenderParams, now quantity.Picoseconds, seq int64, fair float64) bool {
	rate := s.bound(p, fair)
	if !(fair > 0) || rate >= s.rate {
		return false
	}
	s.rate = rate
	s.last = max(s.last, seq)
	s.deadline = now + p.T1
	return true
}

func (s *Sender) bound(p *SenderParams, fair float64) float64 {
	return min(max(fair*s.weight, p.MinRate), s.line)
}

// Header returns the INT header of the flow's next data packet (Algorithm 2, lines 19 to 21).
func (s *Sender) Header(p *SenderParams) Header {
	rate := s.rate
	if p.Increase == IncreaseAsk {
		rate = min(2*rate, s.line)
	}
	h := Header{Domain: s.domain, FairRate: toMbps(rate / s.weight), RTT: s.rtt}
	if s.burst {
		h.FBDP = fbdpBurst
	}
	return h
}
