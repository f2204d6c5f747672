package gnmidev

import (
	"context"
	"fmt"
	"syscall"

	"fairlane/agent"
	"fairlane/ccconfig/nic/niccount"
	"fairlane/ccconfig/nic/nicfiles"
	"fairlane/wrcc"
)

// senders is the WRCC part of a port.
type senders struct{ port *port }

// wrccFault is the name of the WRCC configuration in PortFaults.
const wrccFault = "wrcc"

// defaultNIC returns the initial configuration of a port's senders: all senders have the same weight (S0).
func defaultNIC() *wrcc.NICConfig {
	return &wrcc.NICConfig{T1Us: 24, MinRateMbps: 100, Increase: wrcc.IncreaseTimer.String()}
}

var _ agent.WRCC = (*senders)(nil)

func (s senders) Read(ctx context.Context) (*wrcc.NICConfig, error) {
	s.port.card.mu.Lock()
	defer s.port.card.mu.Unlock()
	if err := s.port.faults.readable(wrccFault); err != nil || ctx.Err() != nil {
		return nil, fmt.Errorf("senders of port %d: %w: %w", s.port.number, nicfiles.ErrUnreadable, firstOf(ctx.Err(), err))
	}
	if s.port.wrcc == nil {
		return defaultNIC(), nil
	}
	return s.port.wrcc.Clone(), nil
}

func firstOf(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

func (s senders) Write(ctx context.Context, c *wrcc.NICConfig) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	p := s.port
	p.card.mu.Lock()
	defer p.card.mu.Unlock()
	skip, err := p.faults.writable(wrccFault)
	if err == nil {
		err = c.Validate()
	}
	if err == nil && len(c.Senders) > p.senders {
		err = fmt.Errorf("%d senders: the device supports at most %d: %w", len(c.Senders), p.senders, syscall.ENOSPC)
	}
	if err != nil {
		return fmt.Errorf("senders of port %d: %w: %w", p.number, nicfiles.ErrRefused, err)
	}
	if skip {
		return nil
	}
	p.wrcc = c.Clone()
	if m := p.faults.MaxWeight; m > 0 {
		for i := range p.wrcc.Senders {
			p.wrcc.Senders[i].Weight.Multiplier = min(p.wrcc.Senders[i].Weight.Multiplier, m)
		}
	}
	p.configure()
	p.card.written()
	return nil
}

func (s senders) Sent(ctx context.Context) (niccount.Counters, error) {
	p := s.port
	p.card.mu.Lock()
	defer p.card.mu.Unlock()
	if err := p.faults.readable(wrccFault); err != nil || ctx.Err() != nil {
		return nil, fmt.Errorf("senders of port %d: %w: %w", p.number, nicfiles.ErrUnreadable, firstOf(ctx.Err(), err))
	}
	out := niccount.Counters{}
	for _, c := range p.plane.Measure().Senders {
		out[c.Name] = p.counter(c.Name, "sender_tx_octets", c.TxOctets)
	}
	return out, nil
}

func (s senders) MaxSenders() int { return s.port.senders }

// counter returns a counter as the device reports it, with the port's faults. name is the name of the counter in PortFaults.
func (p *port) counter(key, name string, v uint64) niccount.Counter {
	c := niccount.Counter{Name: key, Value: p.faults.count(v, 64)}
	if err := p.faults.readable(name); err != nil {
		c = niccount.Counter{Name: key, Err: fmt.Errorf("%s: %w: %w", name, nicfiles.ErrUnreadable, err)}
	}
	return c
}
