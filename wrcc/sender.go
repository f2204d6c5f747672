package wrcc

import (
	"errors"
	"fmt"
	"math"

	"fairlane/internal/quantity"
)

// Increase says how a sender comes to a higher rate.
type Increase uint8

// Ways to a higher rate.
const (
	// IncreaseTimer is Algorithm 2 as printed (with min, see the package comment): a packet carries
	// the sender's rate, so what comes back is never above it, and each expiry of T1 doubles the rate
	// until the next acknowledgement. Only the packets sent in between bring a higher rate home, one
	// round trip later. Flows gain at a pace that does not follow their weight, and the queue stands
	// at QRatioMax·Qmax.
	IncreaseTimer Increase = iota
	// IncreaseAsk is ours: a packet carries twice the sender's rate, up to the line's, as the rate
	// that it would take. The network answers with the least of that and the fair rates, so a flow
	// doubles each round trip until the fair rate holds it, and then sits exactly on it. The timer
	// doubles the rate only in silence, when neither acknowledgement nor FCNP has come for T1, a round
	// trip and two packets: a flow that was idle starts afresh. Switches stay as they are.
	IncreaseAsk
)

// String returns the word for the way: "timer" or "ask".
func (i Increase) String() string {
	switch i {
	case IncreaseTimer:
		return "timer"
	case IncreaseAsk:
		return "ask"
	}
	return fmt.Sprintf("increase %d", uint8(i))
}

// ParseIncrease reads the word of a way to a higher rate, "timer" or "ask".
func ParseIncrease(word string) (Increase, error) {
	for _, i := range []Increase{IncreaseTimer, IncreaseAsk} {
		if word == i.String() {
			return i, nil
		}
	}
	return 0, fmt.Errorf("increase %q: want %q or %q", word, IncreaseTimer, IncreaseAsk)
}

// SenderParams are the settings of a network adapter, the same for all its flows.
type SenderParams struct {
	T1       quantity.Picoseconds // of the increase timer; at least the switches' WRCCT
	MinRate  float64              // bit/s that a flow always may send; 1 or more
	Increase Increase
}

// Validate reports settings that are out of range, given the switches' sampling period.
func (p *SenderParams) Validate(period quantity.Picoseconds) error {
	err := inRange("increase timer T1", p.T1, max(period, MinPeriod), MaxTimer)
	if !(p.MinRate >= 1 && p.MinRate <= float64(quantity.MaxBitRate)) {
		err = errors.Join(err, fmt.Errorf("least rate of a flow %v bit/s: want 1 to %d", p.MinRate, int64(quantity.MaxBitRate)))
	}
	return err
}

// Sender is the state of one flow (S0, Algorithm 2) in its weighted form. Sequence numbers are any
// numbers that grow along the flow, such as PSNs without wrap or byte positions, as long as
// acknowledgements and FCNPs use the same.
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

// SenderFlow is what a sender must know of its flow.
type SenderFlow struct {
	Line   float64              // Bsend, bit/s of the sending port, more than 0
	Weight float64              // more than 0; 1 is neutral
	RTT    quantity.Picoseconds // estimate, written into each packet in whole microseconds, rounded up
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

// Adopt makes the flow, settled to now by the settings it had, go by p from now on. Its rate stays but for the least
// one; the timer starts anew when it runs otherwise than before.
func (s *Sender) Adopt(was, p *SenderParams, now quantity.Picoseconds) {
	s.rate = min(max(s.rate, p.MinRate), s.line)
	if was.T1 == p.T1 && was.Increase == p.Increase {
		return
	}
	s.deadline = now + p.T1
	if p.Increase == IncreaseAsk {
		s.deadline = now + s.silence(p)
	}
}

// Move tells the flow that its data centre has another number.
func (s *Sender) Move(domain uint16) { s.domain = domain }

// Reweigh gives the flow another weight, more than 0. The rate follows with the next answer of the network.
func (s *Sender) Reweigh(weight float64) { s.weight = weight }

// Rate returns the rate at which the flow may send, bit/s.
func (s *Sender) Rate() float64 { return s.rate }

// FairRate returns the rate normalised by the flow's weight, bit/s.
func (s *Sender) FairRate() float64 { return s.rate / s.weight }

// Deadline returns the instant of the next expiry of the increase timer.
func (s *Sender) Deadline() quantity.Picoseconds { return s.deadline }

// Settle applies the expiries of the increase timer up to and including now: each doubles the rate,
// up to the line's (Algorithm 2, lines 16 to 18). However long the wait, it takes one step.
func (s *Sender) Settle(p *SenderParams, now quantity.Picoseconds) {
	if now < s.deadline {
		return
	}
	k := 1 + (now-s.deadline)/p.T1
	s.deadline += k * p.T1
	s.rate = min(math.Ldexp(s.rate, int(min(k, 64))), s.line)
}

// Ack takes an acknowledgement up to a sequence number with a normalised fair rate in bit/s, 0 when
// it carries none, from a receiver in a data centre (Algorithm 2, lines 1 to 9).
func (s *Sender) Ack(p *SenderParams, now quantity.Picoseconds, seq int64, fair float64, receiver uint16) {
	if seq > s.last {
		s.last = seq
		if fair > 0 {
			s.rate = s.bound(p, fair)
		}
	}
	s.burst = receiver != s.domain
	if p.Increase == IncreaseAsk {
		s.deadline = now + s.silence(p)
	}
}

// silence is how long a flow that sends all the time may have to wait for an answer, and T1 more.
func (s *Sender) silence(p *SenderParams) quantity.Picoseconds {
	packets := quantity.Picoseconds(2 * float64(s.bits) / s.rate * float64(quantity.Second))
	return p.T1 + quantity.Picoseconds(s.rtt)*quantity.Microsecond + packets
}

// FCNP takes a fast notification with a normalised fair rate in bit/s, made from the packet with a
// sequence number (Algorithm 2, lines 10 to 15). It can only lower the rate, and reports whether it
// did. Acknowledgements up to that packet are then old: they were stamped before the switch spoke.
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
