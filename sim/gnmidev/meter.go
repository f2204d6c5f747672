package gnmidev

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"fairlane/agent"
	"fairlane/ccconfig/nic/niccount"
	"fairlane/ccconfig/nic/nicfiles"
	"fairlane/internal/quantity"
	"fairlane/sim/plane"
)

// meter reads the counters of a port.
type meter struct{ port *port }

var _ agent.Meter = (*meter)(nil)

func (m meter) Link(ctx context.Context) (agent.Link, error) {
	if err := ctx.Err(); err != nil {
		return agent.Link{}, err
	}
	p := m.port
	p.card.mu.Lock()
	defer p.card.mu.Unlock()
	if p.faults.Dead {
		return agent.Link{}, fmt.Errorf("link of %s: %w", p.netdev, nicfiles.ErrUnreadable)
	}
	out := agent.Link{MAC: p.mac()}
	if _, still := p.plane.(*Still); still || p.plane.Measure().Up {
		out.Up, out.SpeedMbps = true, uint64(p.speed/quantity.Mbps) // speeds are positive, so the conversion cannot overflow
	}
	return out, nil
}

// mac derives a MAC address from the node GUID, the inverse of a vendor's EUI-64.
func (p *port) mac() string {
	g := uint64(p.card.guid) + uint64(p.number) - 1 // the number of ports is small, so the conversion cannot overflow
	b := []byte{byte(g>>56)&^1 | 2, byte(g >> 48), byte(g >> 40), byte(g >> 16), byte(g >> 8), byte(g)}
	return fmt.Sprintf("%02x:%02x:%02x:%02x:%02x:%02x", b[0], b[1], b[2], b[3], b[4], b[5])
}

// Counters implements agent.Meter: the counters of the RDMA port, read through its files, and those of the network device.
func (m meter) Counters(ctx context.Context) (niccount.Counters, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	p := m.port
	p.card.mu.Lock()
	defer p.card.mu.Unlock()
	if p.faults.Dead {
		return nil, fmt.Errorf("counters of %s port %d: %w", p.card.name, p.number, nicfiles.ErrUnreadable)
	}
	now := p.plane.Measure()
	out, err := nicfiles.HWCounters(frozen{p, &now.TransportCounters}, p.card.name, p.number)
	if err != nil {
		return nil, err
	}
	for _, c := range p.card.layout.counters {
		if v, ok := c.of(&now, p.ieee().PFC.Enabled); ok {
			out[c.name] = p.counter(c.name, c.name, v)
		}
	}
	return out, nil
}

// errNoSets is the error for counter sets: the data plane counts ports, functions and senders, but not single queue pairs.
var errNoSets = errors.New("counter sets are not offered: this card cannot bind queue pairs to counter sets")

func (m meter) CounterSets(ctx context.Context) ([]agent.CounterSet, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return nil, errNoSets
}

// frozen reads all counter files of a port, or of one of its functions, from one measurement. The caller holds the card's lock.
type frozen struct {
	port *port
	now  *plane.TransportCounters
}

var _ nicfiles.Files = (*frozen)(nil)

func (f frozen) Read(name string) ([]byte, error) {
	i := strings.LastIndexByte(name, '/')
	v, err := f.port.hwCounter(name[i+1:], f.now)
	if err != nil {
		return nil, pathError("read", name, err)
	}
	return strconv.AppendUint(nil, v, 10), nil
}

func (f frozen) Write(name string, _ []byte) error { return pathError("open", name, fs.ErrPermission) }

func (f frozen) List(string) ([]string, error) { return f.port.counterNames(hwCounterDir), nil }

func (m meter) Functions(ctx context.Context) ([]agent.Function, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	p := m.port
	p.card.mu.Lock()
	defer p.card.mu.Unlock()
	if p.faults.Dead {
		return nil, fmt.Errorf("functions of %s: %w", p.netdev, nicfiles.ErrUnreadable)
	}
	counted := p.plane.Measure().Functions
	var out []agent.Function
	for i := range p.functions {
		var c plane.FunctionCounters
		if at := slices.IndexFunc(counted, func(c plane.FunctionCounters) bool { return c.Index == i }); at >= 0 {
			c = counted[at]
		}
		f := agent.Function{
			Index: i, Name: fmt.Sprintf("pf%dvf%d", p.number-1, i),
			TxOctets: p.counter("tx_vport_rdma_unicast_bytes", "tx_vport_rdma_unicast_bytes", c.TxOctets),
			RxOctets: p.counter("rx_vport_rdma_unicast_bytes", "rx_vport_rdma_unicast_bytes", c.RxOctets),
		}
		if f.Problem = agent.ErrFunctionElsewhere; !slices.Contains(p.faults.Elsewhere, i) {
			f.RDMA = fmt.Sprintf("%s_vf%d", p.card.name, i)
			f.Counters, f.Problem = nicfiles.HWCounters(frozen{p, &c.TransportCounters}, f.RDMA, 1)
		}
		out = append(out, f)
	}
	return out, nil
}
