package gnmidev

import (
	"fmt"
	"syscall"

	"fairlane/ccconfig/nic/dcbnl"
	"fairlane/ccconfig/nic/nicparam"
	"fairlane/sim/plane"
	"fairlane/subnet/ident"
	"fairlane/wrcc"
)

// State returns the state of a port. It returns an error for a port that the host does not have.
func (h *Host) State(id ident.PortID) (plane.PortState, error) {
	var s plane.PortState
	err := h.at(id, func(p *port) error {
		s = p.state()
		return nil
	})
	return s, err
}

// Settings returns a port's run-time parameters as the driver reports them, and the configuration of its senders, which is
// nil without WRCC. It returns an error for a port that the host does not have.
func (h *Host) Settings(id ident.PortID) ([]nicparam.Setting, *wrcc.NICConfig, error) {
	var out []nicparam.Setting
	var senders *wrcc.NICConfig
	err := h.at(id, func(p *port) error {
		out = p.settings()
		if p.senders > 0 {
			senders = defaultNIC()
			if p.wrcc != nil {
				senders = p.wrcc.Clone()
			}
		}
		return nil
	})
	return out, senders, err
}

// settings returns the values of a port's parameters. The caller holds the card's lock.
func (p *port) settings() []nicparam.Setting {
	var out []nicparam.Setting
	add := func(name string, index int, v uint64) {
		out = append(out, nicparam.Setting{Key: nicparam.Key{Port: p.number, Name: name, Index: index}, Value: v})
	}
	if p.card.virtual {
		return nil
	}
	for i, row := range p.card.layout.rows {
		_, sysfs := row.Source(nicparam.Sysfs)
		_, debugfs := row.Source(nicparam.Debugfs)
		if sysfs && p.card.hasSysfs() || debugfs && p.card.hasDebugfs() {
			add(row.Name, 0, p.register(i))
		}
	}
	for i := range plane.Priorities {
		if !p.card.hasSysfs() {
			break
		}
		add("rp_enable", i, uint64(p.enabled(reaction)>>i&1))
		add("np_enable", i, uint64(p.enabled(notification)>>i&1))
	}
	out = append(out, p.ieee().Settings(p.number)...)
	add("default_roce_tos", 0, p.tos)
	add("default_roce_mode", 0, p.version)
	for _, row := range p.card.layout.table.By(nicparam.Devlink) {
		n := p.functions
		if row.Scope == nicparam.ScopeFunctionTC {
			n *= plane.Priorities
		}
		for i := range n {
			add(row.Name, i, p.rate(row, i))
		}
	}
	return out
}

// Put writes parameters of a port as another program on the host does: without the agent, and without faults. It returns an
// error for a port or a parameter that does not exist.
func (h *Host) Put(id ident.PortID, set []nicparam.Setting) error {
	return h.at(id, func(p *port) error {
		defer p.configure()
		var objects []nicparam.Setting
		for _, s := range set {
			s.Port = p.number
			row, ok := p.card.layout.table.Find(s.Name)
			if !ok {
				return fmt.Errorf("no parameter %q", s.Name)
			}
			if _, is := row.Source(nicparam.DCB); is {
				objects = append(objects, s)
				continue
			}
			if err := p.putOne(row, s); err != nil {
				return err
			}
		}
		return p.putObjects(objects)
	})
}

// Hold gives a function of a port the share, in Mbit/s, that a pod has with it. It acts instead of the one that managers read and set,
// as with fairlane-agent; 0 ends it. Hold returns an error for a port that the host does not have.
func (h *Host) Hold(id ident.PortID, function int, share uint32) error {
	return h.at(id, func(p *port) error {
		defer p.configure()
		key := rateKey{"vf_tx_share", function}
		if share == 0 {
			delete(p.held, key)
			return nil
		}
		if p.held == nil {
			p.held = map[rateKey]uint64{}
		}
		p.held[key] = uint64(share)
		return nil
	})
}

// putOne writes a parameter that is not part of DCB.
func (p *port) putOne(row *nicparam.Param, s nicparam.Setting) error {
	side := map[string]int{"rp_enable": reaction, "np_enable": notification}
	switch i, register := p.card.layout.byName[s.Name]; {
	case register:
		p.setRegister(i, s.Value)
	case row.Group == nicparam.GroupShare:
		if p.rates == nil {
			p.rates = map[rateKey]uint64{}
		}
		p.rates[rateKey{s.Name, s.Index}] = s.Value
	case s.Name == "default_roce_tos":
		p.tos = s.Value
	case s.Name == "default_roce_mode":
		p.version = s.Value & 1
	case s.Name == "rp_enable", s.Name == "np_enable":
		at := &p.off[side[s.Name]]
		*at &^= 1 << s.Index
		if s.Value == 0 {
			*at |= 1 << s.Index
		}
	default:
		return fmt.Errorf("parameter %q takes effect after a reset: write it with mstconfig", s.Name)
	}
	return nil
}

// putObjects writes parameters that are part of DCB.
func (p *port) putObjects(set []nicparam.Setting) error {
	if len(set) == 0 {
		return nil
	}
	o := cloneIEEE(p.ieee())
	c, err := o.Plan(set)
	if err != nil {
		return err
	}
	for _, m := range []dcbnl.Message{{Command: dcbnl.CommandIEEESet, IEEE: c.Set}, {Command: dcbnl.CommandIEEEDel, IEEE: &dcbnl.IEEE{Apps: c.Delete}}} {
		if m.IEEE == nil || m.Command == dcbnl.CommandIEEEDel && len(c.Delete) == 0 {
			continue
		}
		gone := syscall.Errno(0)
		if m.Command == dcbnl.CommandIEEEDel {
			gone = syscall.ENOENT // the driver removed the old entry of the DSCP when it added the new one
		}
		if errno := p.alter(&m); errno != 0 && errno != gone {
			return fmt.Errorf("DCB of %s: %w", p.netdev, errno)
		}
	}
	return nil
}

// PutSenders sets the configuration of a port's WRCC senders without the agent; nil selects the initial one. It returns an
// error for a port that the host does not have.
func (h *Host) PutSenders(id ident.PortID, c *wrcc.NICConfig) error {
	return h.at(id, func(p *port) error {
		p.wrcc = nil
		if c != nil {
			p.wrcc = c.Clone()
		}
		p.configure()
		return nil
	})
}
