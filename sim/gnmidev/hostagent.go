package gnmidev

import (
	"context"
	"strconv"

	"fairlane/agent"
	"fairlane/ccconfig/nic/nicfiles"
	"fairlane/subnet/ident"
)

// Inventory values of the simulated cards.
const (
	vendor   = "simulated"
	model    = "ConnectX6DX"
	firmware = "22.41.1000"
)

// machine is the host interface of the agent.
type machine struct {
	host   *Host
	boot   string
	events chan struct{}
	made   []*made // back ends, by card
}

// made holds a card's back ends, which stay the same until the driver is reloaded.
type made struct {
	loads int
	nic   agent.NIC
}

var _ agent.Host = (*machine)(nil)

func (m *machine) BootID(ctx context.Context) (string, error) { return m.boot, ctx.Err() }

func (m *machine) Events() <-chan struct{} { return m.events }

func (m *machine) NICs(ctx context.Context) ([]agent.NIC, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	out := make([]agent.NIC, len(m.host.cards))
	for i, c := range m.host.cards {
		c.mu.Lock()
		loads := c.loads
		c.mu.Unlock()
		if m.made[i] == nil || m.made[i].loads != loads {
			nic, err := m.nic(c, loads)
			if err != nil {
				return nil, err
			}
			m.made[i] = &made{loads, nic}
		}
		out[i] = m.made[i].nic
	}
	return out, nil
}

// nic creates the back ends of a card, in the order of preference of real hosts.
func (m *machine) nic(c *card, loads int) (agent.NIC, error) {
	n := agent.NIC{
		Name: c.name, PCI: c.ports[0].pci, Vendor: vendor, Model: model, Firmware: firmware, Driver: "mlx5_core",
		NodeGUID: c.guid, Incarnation: strconv.Itoa(loads), Table: c.layout.table,
	}
	var accessors []nicfiles.Accessor
	files := root{m.host}
	add := func(a nicfiles.Accessor, err error) error {
		if err == nil {
			accessors = append(accessors, a)
		}
		return err
	}
	for _, p := range c.ports {
		at := nicfiles.Port{Number: p.number, NetDev: p.netdev, PCI: p.pci, RDMA: c.name, RDMAPort: p.number}
		n.Ports = append(n.Ports, p.described())
		if c.virtual {
			continue
		}
		if c.hasSysfs() {
			if err := add(nicfiles.Sysfs(files, c.layout.table, at)); err != nil {
				return n, err
			}
		}
		if c.hasDebugfs() {
			if err := add(nicfiles.Debugfs(files, c.layout.table, at)); err != nil {
				return n, err
			}
		}
		if err := add(nicfiles.NewDCB(socket{m.host}, wire(), c.layout.table, at)); err != nil {
			return n, err
		}
		if err := add(nicfiles.Configfs(files, c.layout.table, at)); err != nil {
			return n, err
		}
	}
	if !c.virtual {
		nv, err := nicfiles.NewNV(tool{m.host}, c.layout.table, c.ports[0].pci, c.ports[len(c.ports)-1].number)
		if err != nil {
			return n, err
		}
		accessors = append(accessors, newRates(c), nv)
		n.NV = nv
	}
	n.Device = nicfiles.NewDevice(c.layout.table, accessors...)
	return n, nil
}

// described returns the agent's description of a port.
func (p *port) described() agent.Port {
	out := agent.Port{
		Number: p.number, ID: ident.PortID{Node: p.card.guid, Port: ident.PortNum(p.number)}, // at most nicparam.MaxPorts, so the conversion cannot overflow
		NetDev: p.netdev, RDMA: p.card.name, RDMAPort: p.number, Meter: meter{p},
	}
	if p.card.layout.table.Caps().Switchdev {
		out.Functions = p.functions
	}
	if p.senders > 0 {
		out.WRCC = senders{p}
	}
	return out
}
