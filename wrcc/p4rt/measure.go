package p4rt

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"

	"fairlane/ccconfig/driver"
	"fairlane/wrcc/p4info"
)

// Source is the source of a fair rate.
type Source string

// Sources, best first.
const (
	SourceRegister Source = "register" // the current fair rate
	SourceCounter  Source = "counter"  // the mean since the last reading
)

// FairRate is the fair rate of an egress port.
type FairRate struct {
	Port   uint16
	Mbps   uint32
	Source Source
}

// FairRates returns the fair rates of the device's ports, in port order, from the best source that its program and its server
// support: the register of fair rates, or the counter of their sums, whose growth between two calls gives the mean, so the first call
// returns none. Neither needs a write, so FairRates never becomes the primary of the device. Ports without a known fair rate are
// omitted. FairRates returns driver.ErrUnsupported if there is no source.
func (d *Driver) FairRates(ctx context.Context, dev driver.Device) ([]FairRate, error) {
	s, release, err := d.begin(ctx, dev)
	if err != nil {
		return nil, err
	}
	defer release()
	if s.features.Registers[p4info.RegisterPFR] && !s.noRegisters {
		rates, err := s.registerRates(ctx)
		if !errors.Is(err, driver.ErrUnsupported) {
			return rates, err
		}
		s.noRegisters = true // for this program on this server, until the program changes
	}
	if s.features.Counters[p4info.CounterPFRSum] {
		return s.counterRates(ctx)
	}
	return nil, fmt.Errorf("%w: %s reports its fair rates by no register and no counter", driver.ErrUnsupported, dev)
}

func (s *session) registerRates(ctx context.Context) ([]FairRate, error) {
	cells, err := s.registers(ctx, p4info.RegisterPFR)
	if err != nil {
		return nil, err
	}
	var out []FairRate
	for port, v := range cells {
		if v > 0 { // a port without settings has no fair rate
			out = append(out, FairRate{port, v, SourceRegister})
		}
	}
	return sorted(out), nil
}

func (s *session) counterRates(ctx context.Context) ([]FairRate, error) {
	now, err := s.counters(ctx, p4info.CounterPFRSum)
	if err != nil {
		return nil, err
	}
	before := s.sums
	s.sums = now
	var out []FairRate
	for port, n := range now {
		b, known := before[port]
		if !known || n.Packets <= b.Packets || n.Bytes < b.Bytes {
			continue // the first reading, no period since then, or the device has restarted
		}
		mean := math.Round(float64(n.Bytes-b.Bytes) / float64(n.Packets-b.Packets))
		out = append(out, FairRate{port, uint32(min(mean, math.MaxUint32)), SourceCounter})
	}
	return sorted(out), nil
}

// PortCounters are the counters of an egress port. A counter that the device's program does not have is nil, never zero.
type PortCounters struct {
	Port     uint16
	Input    *p4info.Count // traffic received for the port
	FCNPs    *uint64       // fast congestion notifications caused by the port
	Rewrites *uint64       // packets whose fair rate the port lowered
	Pauses   *uint64       // pause frames that the port sent as an ingress
}

// Counters returns the counters of ports 1 to dev.Ports, or driver.ErrUnsupported if the program has none.
func (d *Driver) Counters(ctx context.Context, dev driver.Device) ([]PortCounters, error) {
	s, release, err := d.begin(ctx, dev)
	if err != nil {
		return nil, err
	}
	defer release()
	out := make([]PortCounters, dev.Ports)
	for i := range out {
		out[i].Port = uint16(i + 1)
	}
	found := false
	for id, put := range map[uint32]func(*PortCounters, p4info.Count){
		p4info.CounterInput:    func(p *PortCounters, c p4info.Count) { p.Input = &c },
		p4info.CounterFCNP:     func(p *PortCounters, c p4info.Count) { p.FCNPs = &c.Packets },
		p4info.CounterRewrites: func(p *PortCounters, c p4info.Count) { p.Rewrites = &c.Packets },
		p4info.CounterPauses:   func(p *PortCounters, c p4info.Count) { p.Pauses = &c.Packets },
	} {
		if !s.features.Counters[id] {
			continue
		}
		found = true
		cells, err := s.counters(ctx, id)
		if err != nil {
			return nil, err
		}
		for i := range out {
			if c, ok := cells[out[i].Port]; ok {
				put(&out[i], c)
			}
		}
	}
	if !found {
		return nil, fmt.Errorf("%w: the program of %s has no counters", driver.ErrUnsupported, dev)
	}
	return out, nil
}

func (s *session) counters(ctx context.Context, id uint32) (map[uint16]p4info.Count, error) {
	ask := p4info.Entity(p4info.Counters(id))
	return cells(ctx, s, "counters", ask, func(e *p4v1.Entity) (uint16, p4info.Count, error) {
		return p4info.DecodeCounter(e.GetCounterEntry(), id)
	})
}

func (s *session) registers(ctx context.Context, id uint32) (map[uint16]uint32, error) {
	ask := p4info.Entity(p4info.Registers(id))
	return cells(ctx, s, "registers", ask, func(e *p4v1.Entity) (uint16, uint32, error) { return p4info.DecodeRegister(e.GetRegisterEntry(), id) })
}

// cells reads all cells of a counter or register, by port.
func cells[T any](ctx context.Context, s *session, what string, ask *p4v1.Entity, decode func(*p4v1.Entity) (uint16, T, error)) (map[uint16]T, error) {
	all, err := s.entities(ctx, what, p4info.Size, ask)
	if err != nil {
		return nil, err
	}
	out := make(map[uint16]T, len(all))
	for _, e := range all {
		port, v, err := decode(e)
		if err != nil {
			return nil, fmt.Errorf("%s of %s: %w", what, s.dev, err)
		}
		out[port] = v
	}
	return out, nil
}

func sorted(rates []FairRate) []FairRate {
	slices.SortFunc(rates, func(a, b FairRate) int { return cmp.Compare(a.Port, b.Port) })
	return rates
}
