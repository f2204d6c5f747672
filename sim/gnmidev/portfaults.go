package gnmidev

import (
	"io/fs"
	"slices"
	"syscall"

	"fairlane/ccconfig/dcqcn"
	"fairlane/ccconfig/nic/nicparam"
	"fairlane/subnet/ident"
)

// PortFaults are the faults of a NIC port. Parameters have their names in nicparam. The zero value injects no faults.
type PortFaults struct {
	Absent     []string // parameters that the driver or the firmware does not have
	Unreadable []string // parameters and counters whose files are unreadable
	Refused    []string // parameters that the firmware does not allow to change
	Ignored    []string // parameters whose writes succeed without effect
	// Dead makes every access to the port fail: files, netlink, counters.
	Dead bool
	// PassWrites is the number of writes that succeed; after that, the next Refuse writes are rejected, or all if Refuse is
	// negative.
	PassWrites, Refuse int
	// SkipWrites is the number of writes, after PassWrites, that succeed without effect.
	SkipWrites int
	// Clip17 silently truncates rates to 17 bits, as firmware without wide registers does.
	Clip17 bool
	// MostAIRate silently limits rpg_ai_rate; 0 means no limit.
	MostAIRate uint64
	// MaxWeight silently limits the multipliers of WRCC senders' weights; 0 means no limit.
	MaxWeight uint16
	// Elsewhere lists virtual functions, by index, whose RDMA devices are in the network namespaces of containers.
	Elsewhere []int
	// Wrap32 reduces all counters to 32 bits.
	Wrap32 bool
	// CNPsPerPort applies the minimum gap between CNPs to the port instead of each flow, regardless of the configuration.
	CNPsPerPort bool
}

// InjectPort changes the faults of a port. It returns an error for a port that the host does not have.
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

// Heal removes all faults of the host, its cards and ports. Settings stay.
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

// readable returns an error if a fault makes a name unreadable. The caller holds the card's lock.
func (f *PortFaults) readable(name string) error {
	switch {
	case slices.Contains(f.Absent, name):
		return fs.ErrNotExist
	case f.Dead || slices.Contains(f.Unreadable, name):
		return syscall.EIO
	}
	return nil
}

// writable returns an error if a parameter cannot be written now, and whether the write has no effect. The caller holds the
// card's lock.
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

// keep returns the value that a register stores for a written value.
func (f *PortFaults) keep(p *nicparam.Param, v uint64) uint64 {
	if f.Clip17 && p.Unit == "Mbit/s" {
		v &= dcqcn.MaxNarrow
	}
	if f.MostAIRate > 0 && p.Name == "rpg_ai_rate" {
		v = min(v, f.MostAIRate)
	}
	return v
}

// count returns the reported value of a counter.
func (f *PortFaults) count(v uint64, bits int) uint64 {
	if f.Wrap32 || bits == 32 {
		return uint64(uint32(v)) // the register wraps
	}
	return v
}
