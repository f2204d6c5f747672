package wrcc

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"fairlane/internal/quantity"
	"fairlane/subnet/ident"
)

// Limits of a NIC's configuration.
const (
	MaxSenders    = 1024 // senders of a NIC port
	MaxPeers      = 4096 // peers of a sender
	MaxSenderName = 160  // bytes
)

// NICConfig is the WRCC configuration of a NIC port's senders, in whole units of the registers. The host assigns
// queue pairs to senders. S0's NIC is an FPGA with an unpublished interface; this one is a proposal.
type NICConfig struct {
	Domain      uint16         `json:"domain"`        // data centre, as in S0's INT header (SDI)
	T1Us        uint16         `json:"t1_us"`         // T1, microseconds, 1 to 65535
	MinRateMbps uint32         `json:"min_rate_mbps"` // minimum rate of a queue pair, Mbit/s, 1 to 4294967295
	Increase    string         `json:"increase"`      // the increase mode, "ask" or "timer"
	Senders     []SenderWeight `json:"senders"`       // by name; no duplicates
}

// SenderWeight is the weight of one sender, the queue pairs of one class of a tenant, relative to the fair rate.
type SenderWeight struct {
	Name   string       `json:"name"` // 1 to MaxSenderName bytes, such as "astro/bulk"
	Weight FixedWeight  `json:"weight"`
	Peers  []PeerWeight `json:"peers,omitempty"` // by port, no duplicates; only peers with a separate weight
}

// PeerWeight is the weight of the queue pairs to one port.
type PeerWeight struct {
	Port   ident.PortID `json:"port"`
	Weight FixedWeight  `json:"weight"`
}

// FixedWeight is Multiplier/2^Shift, for data planes that cannot divide.
type FixedWeight struct {
	Multiplier uint16 `json:"multiplier"` // 1 to 65535
	Shift      uint8  `json:"shift"`      // 0 to 15
}

// Range of a sender's weight: the intersection of S0's rules for a flow and a NIC register's range.
const (
	MinSenderWeight = MinWeight // above 2^-MaxShift
	MaxSenderWeight = MaxMultiplier
)

// NewFixedWeight returns the fixed-point number nearest to a weight from 2^-15 to 65535. Its relative error is at most 2^-16
// from weight 1 on; below, steps are 2^-15.
func NewFixedWeight(weight float64) (FixedWeight, error) {
	least := math.Ldexp(1, -MaxShift)
	if !(weight >= least && weight <= MaxMultiplier) {
		return FixedWeight{}, fmt.Errorf("weight %v: want %v to %d", weight, least, MaxMultiplier)
	}
	shift := uint8(MaxShift)
	for math.Round(math.Ldexp(weight, int(shift))) > MaxMultiplier {
		shift--
	}
	m := uint16(math.Round(math.Ldexp(weight, int(shift))))
	for m&1 == 0 && shift > 0 { // one form for each value
		m, shift = m/2, shift-1
	}
	return FixedWeight{Multiplier: m, Shift: shift}, nil
}

// Float returns the weight as a float.
func (w FixedWeight) Float() float64 { return math.Ldexp(float64(w.Multiplier), -int(w.Shift)) }

// String formats the number as "multiplier/2^shift".
func (w FixedWeight) String() string { return fmt.Sprintf("%d/2^%d", w.Multiplier, w.Shift) }

func (w FixedWeight) validate(at string) error {
	return errors.Join(
		numberInRange(at+"multiplier", w.Multiplier, 1, MaxMultiplier),
		numberInRange(at+"shift", w.Shift, 0, MaxShift),
	)
}

// NewNICConfig converts sender settings to a NIC configuration without senders. It returns an error if T1 is not whole
// microseconds from 1 to 65535, or the minimum rate is not whole Mbit/s.
func NewNICConfig(domain uint16, p SenderParams) (NICConfig, error) {
	c := NICConfig{
		Domain: domain, T1Us: uint16(p.T1 / quantity.Microsecond), MinRateMbps: uint32(p.MinRate / float64(quantity.Mbps)), Increase: p.Increase.String(),
	}
	if quantity.Picoseconds(c.T1Us)*quantity.Microsecond != p.T1 {
		return NICConfig{}, fmt.Errorf("T1 %s: want whole microseconds, 1 to %d", p.T1, math.MaxUint16)
	}
	if float64(c.MinRateMbps)*float64(quantity.Mbps) != p.MinRate {
		return NICConfig{}, fmt.Errorf("minimum rate %v bit/s: want whole Mbit/s, 1 to %d", p.MinRate, uint32(math.MaxUint32))
	}
	return c, c.Validate()
}

// Validate checks every value against its range, and the order of the entries.
func (c *NICConfig) Validate() error {
	_, increase := ParseIncrease(c.Increase)
	if increase != nil {
		increase = fmt.Errorf("increase: %w", increase)
	}
	if len(c.Senders) > MaxSenders {
		return fmt.Errorf("senders: found %d, want at most %d", len(c.Senders), MaxSenders)
	}
	errs := []error{numberInRange("t1_us", c.T1Us, 1, math.MaxUint16), numberInRange("min_rate_mbps", c.MinRateMbps, 1, math.MaxUint32), increase}
	for i := range c.Senders {
		errs = append(errs, c.Senders[i].validate(fmt.Sprintf("senders[%d].", i)))
		if i > 0 && c.Senders[i-1].Name >= c.Senders[i].Name {
			errs = append(errs, fmt.Errorf("senders[%d].name: found %q after %q, want senders in the order of their names, each once", i, c.Senders[i].Name, c.Senders[i-1].Name))
		}
	}
	return errors.Join(errs...)
}

func (s *SenderWeight) validate(at string) error {
	if n := len(s.Name); n < 1 || n > MaxSenderName {
		return fmt.Errorf("%sname: found %d bytes, want 1 to %d", at, n, MaxSenderName)
	}
	if len(s.Peers) > MaxPeers {
		return fmt.Errorf("%speers: found %d, want at most %d", at, len(s.Peers), MaxPeers)
	}
	errs := []error{s.Weight.validate(at + "weight.")}
	for i, p := range s.Peers {
		errs = append(errs, p.Weight.validate(fmt.Sprintf("%speers[%d].weight.", at, i)))
		if i > 0 && s.Peers[i-1].Port.Compare(p.Port) >= 0 {
			errs = append(errs, fmt.Errorf("%speers[%d].port: found %s after %s, want peers in the order of their ports, each once", at, i, p.Port, s.Peers[i-1].Port))
		}
	}
	return errors.Join(errs...)
}

// Compare orders senders by name.
func (s SenderWeight) Compare(t SenderWeight) int { return cmp.Compare(s.Name, t.Name) }

// Compare orders peers by port.
func (p PeerWeight) Compare(q PeerWeight) int { return p.Port.Compare(q.Port) }

// Sort sorts the entries.
func (c *NICConfig) Sort() {
	slices.SortFunc(c.Senders, SenderWeight.Compare)
	for i := range c.Senders {
		slices.SortFunc(c.Senders[i].Peers, PeerWeight.Compare)
	}
}

// Clone returns a copy that shares no memory with c.
func (c *NICConfig) Clone() *NICConfig {
	out := *c
	out.Senders = slices.Clone(c.Senders)
	for i := range out.Senders {
		out.Senders[i].Peers = slices.Clone(out.Senders[i].Peers)
	}
	return &out
}

// Sender returns the entry with a name; false if there is none.
func (c *NICConfig) Sender(name string) (SenderWeight, bool) {
	i, ok := slices.BinarySearchFunc(c.Senders, SenderWeight{Name: name}, SenderWeight.Compare)
	if !ok {
		return SenderWeight{}, false
	}
	return c.Senders[i], true
}

// WeightTo returns the weight of a queue pair to a port.
func (s *SenderWeight) WeightTo(peer ident.PortID) FixedWeight {
	if i, ok := slices.BinarySearchFunc(s.Peers, PeerWeight{Port: peer}, PeerWeight.Compare); ok {
		return s.Peers[i].Weight
	}
	return s.Weight
}
