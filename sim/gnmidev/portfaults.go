package gnmidev

import (
	"io/fs"
	"slices"
	"syscall"

	"fairlane/ccconfig/dcqcn"
	"fairlane/ccconfig/nic/nicparam"
	"fairlane/subnet/ident"
)

// PortFaults is what goes wrong with a port of a NIC. Parameters are named as in nicparam. The zero value injects nothing.
type PortFaults struct {
	Absent     []string // parameters that the driver or the firmware does not offer
	Unreadable []string // parameters and counters whose files cannot be read
	Refused    []string // parameters that the firmware refuses to change
	Ignored    []string // parameters whose writes are accepted and not kept
	// Dead makes everything about the port fail: files, netlink, counters.
	Dead bool
	// PassWrites lets so many writes pass and refuses the next Refuse of them; negative: all.
	PassWrites, Refuse int
	// SkipWrites accepts so many writes of values, after PassWrites, and does nothing.
	SkipWrites int
	// Clip17 cuts rates to 17 bits, as firmware without wide registers does, and says nothing.
	Clip17 bool
	// MostAIRate cuts rpg_ai_rate to that, and says nothing; 0: not.
	MostAIRate uint64
	// MostWeight cuts the multipliers of WRCC senders' weights to that, and says nothing; 0: not.
	MostWeight uint16
	// Wrap32 makes all counters have 32 bits.
	Wrap32 bool
	// CNPsPerPort keeps the gap between CNPs for the port instead of each flow, whatever the configuration says.
	CNPsPerPort bool
}

// InjectPort changes the faults of a port. It fails for a port that the host has not.
func (h *Host) InjectPort(id ident.PortID, change func(*PortFaults)) error {
	return h.at(id, func(p *port) error {
		change(&p.faults)
		p.configure()
		return nil
	})
}

// InjectCard changes the faults of a card, by its node GUID.
func (h *Host) InjectCard(guid ident.GUID, change func(*CardFaults)) error {
	c, err := h.cardOf(guid)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	change(&c.faults)
	return nil
}

// Heal ends all faults of the host, its cards and ports. What they hold stays.
func (h *Host) Heal() {
	h.Inject(func(f *Faults) { *f = Faults{} })
	for _, c := range h.cards {
		c.mu.Lock()
		c.faults = CardFaults{}
		for _, p := range c.ports {
			p.faults = PortFaults{}
			p.configure()
		}
		c.mu.Unlock()
	}
}

// readable tells whether something of a name can be read. The caller holds the card's lock.
func (f *PortFaults) readable(name string) error {
	switch {
	case slices.Contains(f.Absent, name):
		return fs.ErrNotExist
	case f.Dead || slices.Contains(f.Unreadable, name):
		return syscall.EIO
	}
	return nil
}

// writable tells whether a parameter can be written now, and whether the write does anything. The caller holds the card's
// lock.
func (f *PortFaults) writable(name string) (skip bool, err error) {
	switch {
	case slices.Contains(f.Absent, name):
		return false, fs.ErrNotExist
	case f.Dead || slices.Contains(f.Refused, name):
		return false, syscall.EIO
	case f.PassWrites > 0:
		f.PassWrites--
	case f.Refuse != 0:
		if f.Refuse > 0 {
			f.Refuse--
		}
		return false, syscall.EIO
	case f.SkipWrites > 0:
		f.SkipWrites--
		return true, nil
	}
	return slices.Contains(f.Ignored, name), nil
}

// keep is what a register keeps of a value.
func (f *PortFaults) keep(p *nicparam.Param, v uint64) uint64 {
	if f.Clip17 && p.Unit == "Mbit/s" {
		v &= dcqcn.MaxNarrow
	}
	if f.MostAIRate > 0 && p.Name == "rpg_ai_rate" {
		v = min(v, f.MostAIRate)
	}
	return v
}

// count is what a counter shows.
func (f *PortFaults) count(v uint64, bits int) uint64 {
	if f.Wrap32 || bits == 32 {
		return uint64(uint32(v)) // the register wraps
	}
	return v
}
