package cc

import (
	"fmt"

	registers "fairlane/ccconfig/dcqcn"
	"fairlane/internal/quantity"
)

// MaxPorts is the largest number of ports with changeable settings: the range of Flow.Host.
const MaxPorts = 1 << 16

// maxBuilt is the largest number of cached reaction points, which ports with equal registers share.
const maxBuilt = 1 << 12

// MlxPorts is "dcqcn-mlx" for NIC ports with separate registers that may be written while flows run. A flow keeps its limiter's
// state and uses the new registers immediately. Timers whose period was written restart with the new period; registers for the
// attachment of a limiter apply to the next attachment. Without register writes, MlxPorts behaves as "dcqcn-mlx".
//
// The vendor does not publish how its NICs treat an active limiter when a register is written.
type MlxPorts struct {
	ports epochs[mlxPoint]
	built map[mlxState]*mlxPoint
	flows slots[mlxPortFlow]
}

// mlxState holds the inputs of a reaction point.
type mlxState struct {
	registers registers.Settings
	on        bool
}

type mlxPortFlow struct {
	dcqcnMlxFlow
	era *epoch[mlxPoint]
}

// NewMlxPorts returns the congestion control of a number of ports, all with the same registers and with DCQCN on. It returns an
// error for a number outside 1 to MaxPorts and for values out of range; the error names the register.
func NewMlxPorts(ports int, s *registers.Settings) (*MlxPorts, error) {
	if ports < 1 || ports > MaxPorts {
		return nil, fmt.Errorf("%d ports with settings of their own: want 1 to %d", ports, MaxPorts)
	}
	m := &MlxPorts{built: make(map[mlxState]*mlxPoint)}
	p, err := m.point(mlxState{*s, true})
	if err != nil {
		return nil, err
	}
	m.ports = newEpochs(ports, p)
	return m, nil
}

// point returns the reaction point for a state.
func (m *MlxPorts) point(s mlxState) (*mlxPoint, error) {
	if p := m.built[s]; p != nil {
		return p, nil
	}
	spec := dcqcnMlxSpec()
	a, err := spec.Build(MlxFromSettings(&s.registers))
	if err != nil {
		return nil, err
	}
	d, ok := a.(*dcqcnMlx)
	if !ok {
		return nil, errOtherKind
	}
	p := d.mlxPoint
	p.off = !s.on
	if len(m.built) >= maxBuilt {
		clear(m.built)
	}
	m.built[s] = &p
	return &p, nil
}

// Set writes the registers of a port at now, which must not be before the last change, and turns its reaction point on or off.
// When it is off, flows lose their limiters. Set returns an error for a port that does not exist and for values out of range;
// the error names the register.
func (m *MlxPorts) Set(port int, now quantity.Picoseconds, s *registers.Settings, on bool) error {
	if port < 0 || port >= len(m.ports.current) {
		return fmt.Errorf("port %d: want 0 to %d", port, len(m.ports.current)-1)
	}
	p, err := m.point(mlxState{*s, on})
	if err != nil {
		return err
	}
	if m.ports.current[port].p != p {
		m.ports.change(port, now, p)
	}
	return nil
}

// Traits implements Algorithm: those of dcqcn-mlx with a byte counter, even if no port enables it.
func (m *MlxPorts) Traits() Traits { return Traits{ECN: true, CNP: true, Sent: true} }

var _ Algorithm = (*MlxPorts)(nil)

func (m *MlxPorts) Reserve(n int) { m.flows.reserve(n) }

// Start implements Algorithm: the flow uses the registers of its host.
func (m *MlxPorts) Start(slot int32, now quantity.Picoseconds, f *Flow) Control {
	s := m.flows.at(slot)
	s.era = m.ports.current[f.Host]
	return s.era.p.begin(&s.dcqcnMlxFlow, now, f)
}

// at returns a flow and its reaction point, both up to date.
func (m *MlxPorts) at(slot int32, c *Control) (*dcqcnMlxFlow, *mlxPoint) {
	f := m.flows.at(slot)
	for f.era.next != nil {
		was := f.era.p
		f.era = f.era.next
		was.upTo(&f.dcqcnMlxFlow, f.era.since, c)
		f.era.p.adopt(&f.dcqcnMlxFlow, was, f.era.since)
		c.Rate = f.Rate
	}
	return &f.dcqcnMlxFlow, f.era.p
}

func (m *MlxPorts) Settle(slot int32, now quantity.Picoseconds, c *Control) {
	f, d := m.at(slot, c)
	d.upTo(f, now, c)
}

func (m *MlxPorts) Sent(slot int32, now quantity.Picoseconds, wire int, c *Control) {
	if f, d := m.at(slot, c); d.bytes > 0 {
		d.count(f, now, wire, c)
	}
}

func (m *MlxPorts) Ack(slot int32, a *Ack, c *Control) {
	f, d := m.at(slot, c)
	d.echoed(f, a, c)
}

func (m *MlxPorts) Notify(slot int32, n *Notification, c *Control) {
	if f, d := m.at(slot, c); n.Kind == NotifyCNP {
		d.notified(f, n.Now, c)
	}
}

func (m *MlxPorts) Gauges() []string { return rpGauges() }

// Read implements Algorithm. The values are those of the last Settle of the flow.
func (m *MlxPorts) Read(slot int32, dst []float64) {
	f := m.flows.at(slot)
	f.era.p.gauges(&f.dcqcnMlxFlow, dst)
}

// adopt moves a flow, settled to now with the previous registers, to the new registers.
func (d *mlxPoint) adopt(f *dcqcnMlxFlow, was *mlxPoint, now quantity.Picoseconds) {
	if !f.is(rpActive) || d.off {
		d.release(&f.rpClock)
		f.incAt = neverTick
		return
	}
	if !f.is(rpAlphaDue) {
		k := (now - f.alphaAt) / was.alpha.period
		f.Alpha = was.alpha.decay(f.Alpha, int64(k))
		f.alphaAt += k * was.alpha.period
	}
	if d.alpha.period != was.alpha.period {
		f.alphaAt = now
	}
	if d.monitor != was.monitor && !d.spaced {
		f.cutAt = now
		if f.is(rpCutDue) {
			f.cutAt += d.monitor
		}
	}
	if d.inc != was.inc {
		f.incAt = now + d.inc
	}
	if d.bytes != was.bytes {
		f.sent = 0
	}
}
