package p4dev

import (
	"fmt"
	"sync"

	configv1 "github.com/p4lang/p4runtime/go/p4/config/v1"
	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"

	"fairlane/wrcc"
	"fairlane/wrcc/p4info"
)

// MaxPorts is the largest number of ports of a device. Its registers have one more cell, for port 0.
const MaxPorts = p4info.Size - 1

// Options are the properties of a device.
type Options struct {
	Ports int       // number of egress ports, numbered from 1; at most MaxPorts
	Plane DataPlane // nil means no traffic
	// Program changes the initial P4Info of the device, for a switch without some features; nil changes nothing.
	Program func(*configv1.P4Info)
}

// Device is one simulated switch. Its methods are safe for concurrent use.
type Device struct {
	id    uint64
	ports int

	mu       sync.Mutex
	plane    DataPlane
	program  *configv1.P4Info // features of its program
	features p4info.Features
	sizes    map[uint32]int // capacities of the tables
	cookie   uint64

	portCfg map[uint16]wrcc.PortConfig
	weights map[uint32]wrcc.ClassWeight // by key
	domains map[uint16]wrcc.PortDomain
	digest  *p4v1.DigestEntry // nil means no digests
	listID  uint64            // list_id of the last digest list

	clients []*client // clients whose stream has arbitrated
	primary *client
	highest *p4v1.Uint128 // highest election id received so far

	faults Faults
	writes int
}

func newDevice(id uint64, o Options) (*Device, error) {
	if o.Ports < 1 || o.Ports > MaxPorts {
		return nil, fmt.Errorf("device %d: %d ports, want 1 to %d", id, o.Ports, MaxPorts)
	}
	d := &Device{id: id, ports: o.Ports, plane: o.Plane}
	if d.plane == nil {
		d.plane = &idle{}
	}
	return d, d.load(o.Program, p4info.Cookie())
}

// Load loads a different program, as a user with access to the device can, and empties its tables. change modifies a copy of
// our P4Info; nil changes nothing.
func (d *Device) Load(change func(*configv1.P4Info), cookie uint64) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.load(change, cookie)
}

// load implements Load. Callers hold the lock, or the device is not published yet.
func (d *Device) load(change func(*configv1.P4Info), cookie uint64) error {
	info, err := p4info.New()
	if err != nil {
		return err
	}
	if change != nil {
		change(info)
	}
	d.program, d.cookie, d.sizes = info, cookie, map[uint32]int{}
	for _, t := range info.GetTables() {
		d.sizes[t.GetPreamble().GetId()] = int(t.GetSize())
	}
	// A different program may have none of our features, but the device still answers.
	d.features, _ = p4info.Compare(info)
	d.clear()
	return nil
}

// clear empties the tables. Callers hold the lock, or the device is not published yet.
func (d *Device) clear() {
	d.portCfg, d.weights, d.domains = map[uint16]wrcc.PortConfig{}, map[uint32]wrcc.ClassWeight{}, map[uint16]wrcc.PortDomain{}
	d.digest = nil
	d.configure()
}

func (d *Device) configure() { d.plane.Configure(d.config()) }

func (d *Device) config() wrcc.SwitchConfig {
	var c wrcc.SwitchConfig
	for _, p := range d.portCfg {
		c.Ports = append(c.Ports, p)
	}
	for _, w := range d.weights {
		c.Weights = append(c.Weights, w)
	}
	for _, p := range d.domains {
		c.Domains = append(c.Domains, p)
	}
	c.Sort()
	return c
}

// ID returns the device_id.
func (d *Device) ID() uint64 { return d.id }

// Config returns the device's configuration.
func (d *Device) Config() wrcc.SwitchConfig {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.config()
}

// Put sets the configuration to c, as a second controller does, even if its tables do not allow it.
func (d *Device) Put(c wrcc.SwitchConfig) {
	d.mu.Lock()
	defer d.mu.Unlock()
	clear(d.portCfg)
	clear(d.weights)
	clear(d.domains)
	for _, p := range c.Ports {
		d.portCfg[p.Port] = p
	}
	for _, w := range c.Weights {
		d.weights[w.Key()] = w
	}
	for _, p := range c.Domains {
		d.domains[p.Port] = p
	}
	d.configure()
}

// Reboot empties the tables, breaks every stream and clears the elections. The program is loaded again.
func (d *Device) Reboot() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.clear()
	for _, c := range d.clients {
		c.end(errLost)
	}
	d.clients, d.primary, d.highest = nil, nil, nil
}

// Writes returns the number of Write requests sent to the device, including lost and rejected ones.
func (d *Device) Writes() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.writes
}

// Congested sends a digest to the primary, if it has enabled digests, and reports whether it was sent.
func (d *Device) Congested(c p4info.Congestion) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.digest == nil || d.primary == nil {
		return false
	}
	d.listID++
	return d.primary.send(&p4v1.StreamMessageResponse{Update: &p4v1.StreamMessageResponse_Digest{Digest: &p4v1.DigestList{
		DigestId: p4info.DigestCongestion, ListId: d.listID, Data: []*p4v1.P4Data{p4info.Digest(c)},
		Timestamp: int64(c.TimeUs) * 1000,
	}}})
}
