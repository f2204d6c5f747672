package gnmidev

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"

	"fairlane/ccconfig/nic/nicparam"
	"fairlane/subnet/ident"
)

// maxFunctions is the largest number of virtual functions of a port, the capacity of a card's e-switch.
const maxFunctions = 254

// card is a simulated NIC. Its lock also guards its ports.
type card struct {
	host    *Host
	layout  *layout
	name    string
	guid    ident.GUID
	slot    int
	driver  Driver
	virtual bool
	ports   []*port

	mu     sync.Mutex
	nv     *nonVolatile // nil means factory settings
	loads  int          // number of driver reloads and firmware resets
	faults CardFaults
}

// CardFaults are the faults of a card. The zero value injects no faults.
type CardFaults struct {
	// NoTool makes mstconfig fail, as without access to the card's configuration space.
	NoTool bool
	// ReloadAfter reloads the driver after this number of written values; 0 means never.
	ReloadAfter int
}

func newCard(h *Host, slot int, o *CardOptions, l *layout) (*card, error) {
	c := &card{host: h, layout: l, name: cmp.Or(o.Name, fmt.Sprintf("mlx5_%d", slot)), guid: o.GUID, slot: slot, driver: o.Driver, virtual: o.Virtual}
	if o.Driver > BothDrivers {
		return nil, fmt.Errorf("card %s: driver %d, want %d to %d", c.name, o.Driver, VendorDriver, BothDrivers)
	}
	if slices.ContainsFunc(h.cards, func(other *card) bool { return other.name == c.name || other.guid == c.guid }) {
		return nil, fmt.Errorf("card %s with node GUID %s: another card has this name or GUID", c.name, c.guid)
	}
	if len(o.Ports) == 0 {
		return nil, fmt.Errorf("card %s: no ports: want at least one", c.name)
	}
	last := 0
	for i := range o.Ports {
		p, err := newPort(c, last, &o.Ports[i])
		if err != nil {
			return nil, fmt.Errorf("card %s: %w", c.name, err)
		}
		last = p.number
		c.ports = append(c.ports, p)
	}
	for _, p := range c.ports {
		p.configure()
	}
	return c, nil
}

func newPort(c *card, last int, o *PortOptions) (*port, error) {
	p := &port{card: c, number: o.Number, plane: o.Plane, speed: o.Speed, functions: o.Functions, senders: o.Senders}
	if p.number == 0 {
		p.number = last + 1
	}
	if p.number <= last || p.number > nicparam.MaxPorts {
		return nil, fmt.Errorf("port %d after %d: want ports in order, 1 to %d", p.number, last, nicparam.MaxPorts)
	}
	if o.Functions < 0 || o.Functions > maxFunctions {
		return nil, fmt.Errorf("port %d: %d virtual functions, want 0 to %d", p.number, o.Functions, maxFunctions)
	}
	if o.Senders < 0 || o.Senders > maxSenders {
		return nil, fmt.Errorf("port %d: %d WRCC senders, want 0 to %d", p.number, o.Senders, maxSenders)
	}
	if p.plane == nil {
		p.plane = &Still{}
	}
	p.reset()
	function := p.number - 1
	p.netdev = fmt.Sprintf("ens%df%dnp%d", c.slot+1, function, function)
	p.pci = fmt.Sprintf("0000:%02x:%02x.%d", 0x3b+c.slot, function/8, function%8)
	return p, nil
}

// port returns the card's port with the given number.
func (c *card) port(number int) (*port, error) {
	i := slices.IndexFunc(c.ports, func(p *port) bool { return p.number == number })
	if i < 0 {
		return nil, fmt.Errorf("card %s has no port %d", c.name, number)
	}
	return c.ports[i], nil
}

// written counts a value written through any interface. The caller holds the lock.
func (c *card) written() {
	if c.faults.ReloadAfter > 0 {
		if c.faults.ReloadAfter--; c.faults.ReloadAfter == 0 {
			c.reload()
		}
	}
}

// reload reloads the driver: volatile settings return to the initial values of the firmware. The caller holds the lock.
func (c *card) reload() {
	c.loads++
	for _, p := range c.ports {
		p.reset()
		p.configure()
	}
}

// firmwareReset makes the next boot's non-volatile configuration the current one. The caller holds the lock.
func (c *card) firmwareReset() {
	if c.nv != nil {
		c.nv.boot()
	}
	c.reload()
}

var errNoCard = errors.New("no such card")

// cardOf returns the host's card with the given node GUID.
func (h *Host) cardOf(guid ident.GUID) (*card, error) {
	i := slices.IndexFunc(h.cards, func(c *card) bool { return c.guid == guid })
	if i < 0 {
		return nil, fmt.Errorf("host %q, node GUID %s: %w", h.name, guid, errNoCard)
	}
	return h.cards[i], nil
}

// at calls do with a port, under its card's lock.
func (h *Host) at(id ident.PortID, do func(*port) error) error {
	c, err := h.cardOf(id.Node)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	p, err := c.port(int(id.Port))
	if err != nil {
		return err
	}
	return do(p)
}
