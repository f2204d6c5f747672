package telemetry

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"fairlane/internal/quantity"
	"fairlane/policy"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/tenants"
)

// Octets is one reading of a counter of octets.
type Octets struct {
	N uint64
	// At is the device's clock when it read the counter; only differences are meaningful.
	At quantity.Picoseconds
	// Wall is the time of the reading, for a device that reports no time; At is then not set. The pace of the fabric's
	// time comes from a NIC's clock.
	Wall time.Time
	// Every is how often the device refreshes the counter; 0: at each reading.
	Every time.Duration
	Err   error // why there is no value
}

// NICReading holds the counters of a NIC port.
type NICReading struct {
	Tx, Rx    Octets               // of the port, all that is on it
	Functions map[int]FunctionRead // by index; empty when the port has none that can be read
	Senders   map[string]Octets    // sent, by name; WRCC
	Loop      *LoopReading         // of congestion control; nil without these counters
	// ServesPods means that the host serves pods: a function that a pod has is its Tenant's, whatever the plan says.
	ServesPods bool

	read time.Time // by the wall clock
}

// LoopReading holds a NIC port's counters of congestion control: packets, frames and, in Paused, microseconds.
type LoopReading struct {
	Notices

	Ignored        Octets
	Pauses, Paused Octets
}

// Notices are the counters of packets with which congestion is reported: marks received, notifications sent because of them, and
// notifications that slowed senders down.
type Notices struct{ Marks, Sent, Handled Octets }

// FunctionRead holds the counters of a virtual function.
type FunctionRead struct {
	Tenant  string // of the pod that has it, where functions belong to pods; empty: none
	Tx, Rx  Octets
	Notices *Notices // of its queue pairs; nil without these counters
}

// EtherSource reads counters of devices on Ethernet. A method fails when the device cannot be read at all. Methods are
// called concurrently for different ports.
type EtherSource interface {
	ReadNIC(ctx context.Context, port ident.PortID) (NICReading, error)
	// ReadSwitch returns what a port of a switch has sent.
	ReadSwitch(ctx context.Context, port ident.PortID) (Octets, error)
}

// EtherOptions configure an EtherCollector; zero fields are as in Options.
type EtherOptions struct {
	Parallel  int
	TimeScale float64
	Patience  int // as in Options
	Limits
	Fair FairSource // of the WRCC plane; nil: fair rates are not read
}

// EtherCollector measures tenants' shares on an Ethernet fabric: by the port's counters for a tenant with its own port, by
// those of the virtual function for a tenant that shares a port, and on the WRCC plane by those of its senders.
type EtherCollector struct {
	source    EtherSource
	o         Options
	plan      *policy.Plan
	topo      *subnet.Fabric
	flows     []tenants.Flow
	nics      []ident.PortID
	ports     []ident.PortID // of switches
	at        map[ident.PortID][]string
	senders   map[ident.PortID][]string // tenants with flows from a port, by name
	functions map[tenantAt]int          // virtual functions of tenants in the plan
	sends     []senders
	limits    Limits
	fair      FairSource     // nil: none
	fairAt    []ident.PortID // of WRCC switches
}

// tenantAt is a tenant on a port.
type tenantAt struct {
	port   ident.PortID
	tenant string
}

// NewEther returns a collector for a plan of an Ethernet plane and the flows that it was compiled for. It fails on
// options out of range and when there is nothing to measure.
func NewEther(source EtherSource, p *policy.Plan, f *subnet.Fabric, flows []tenants.Flow, o EtherOptions) (*EtherCollector, error) {
	common := Options{Parallel: o.Parallel, TimeScale: o.TimeScale, Patience: o.Patience}
	if err := common.complete(); err != nil {
		return nil, err
	}
	c := &EtherCollector{source: source, o: common, plan: p, topo: f, flows: flows, at: tenantsAt(p, flows),
		senders: map[ident.PortID][]string{}, functions: map[tenantAt]int{}, sends: sendersOf(flows), limits: o.Limits}
	if p.RoCE != nil {
		for i := range p.RoCE.Traffic {
			t := &p.RoCE.Traffic[i]
			c.functions[tenantAt{t.Port, t.Tenant}] = t.Function
		}
	}
	for i := range flows {
		c.senders[flows[i].Src] = insertName(c.senders[flows[i].Src], flows[i].Tenant)
		if p.RoCE != nil { // receivers answer marks
			c.nics = append(c.nics, flows[i].Dst)
		}
		c.nics = append(c.nics, flows[i].Src)
	}
	for i := range p.Links {
		switch l := &p.Links[i]; {
		case c.isNIC(l.Peer):
			c.nics = append(c.nics, l.Peer)
		case c.isNIC(l.Port):
			c.nics = append(c.nics, l.Port)
		default:
			c.ports = append(c.ports, l.Port)
		}
	}
	if p.WRCC != nil {
		var links []ident.PortID
		for i := range p.Links {
			links = append(links, p.Links[i].Port)
		}
		c.fairPorts(o.Fair, links)
	}
	for _, list := range []*[]ident.PortID{&c.nics, &c.ports} {
		slices.SortFunc(*list, ident.PortID.Compare)
		*list = slices.Compact(*list)
	}
	if len(c.nics)+len(c.ports) == 0 {
		return nil, errors.New("no ports to measure: the plan was made for no flows")
	}
	return c, nil
}

// tenantsAt lists the tenants of each port by name. Where a plan does not assign functions, a tenant's position is the
// index of its virtual function.
func tenantsAt(p *policy.Plan, flows []tenants.Flow) map[ident.PortID][]string {
	at := make(map[ident.PortID][]string)
	add := func(id ident.PortID, tenant string) { at[id] = insertName(at[id], tenant) }
	if p.RoCE != nil {
		for i := range p.RoCE.Traffic {
			add(p.RoCE.Traffic[i].Port, p.RoCE.Traffic[i].Tenant)
		}
	}
	for i := range flows {
		add(flows[i].Src, flows[i].Tenant)
		add(flows[i].Dst, flows[i].Tenant)
	}
	return at
}

// insertName adds a name to a sorted list without duplicates.
func insertName(list []string, name string) []string {
	if k, has := slices.BinarySearch(list, name); !has {
		list = slices.Insert(list, k, name)
	}
	return list
}

func (c *EtherCollector) isNIC(id ident.PortID) bool {
	ref, ok := c.topo.PortByID(id)
	return ok && c.topo.Nodes[ref.Node].Kind == subnet.KindCA
}

// etherSample is one reading of all devices.
type etherSample struct {
	nics   map[ident.PortID]*NICReading
	ports  map[ident.PortID]Octets
	silent map[ident.PortID]error
	fair   fairSample
}

func (c *EtherCollector) sample(ctx context.Context) (*etherSample, error) {
	nics, faults := make([]NICReading, len(c.nics)), make([]error, len(c.nics))
	ports := make([]Octets, len(c.ports))
	var g errgroup.Group
	g.SetLimit(c.o.Parallel)
	for i, id := range c.nics {
		g.Go(func() error {
			begun := time.Now()
			nics[i], faults[i] = c.source.ReadNIC(ctx, id)
			nics[i].read = begun.Add(time.Since(begun) / 2)
			return nil
		})
	}
	for i, id := range c.ports {
		g.Go(func() error {
			var err error
			if ports[i], err = c.source.ReadSwitch(ctx, id); err != nil {
				ports[i].Err = err
			}
			return nil
		})
	}
	var fair fairSample
	g.Go(func() error {
		fair = c.sampleFair(ctx)
		return nil
	})
	_ = g.Wait() // each reading carries its own error
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("read counters: %w", err)
	}
	s := &etherSample{nics: make(map[ident.PortID]*NICReading, len(nics)), ports: make(map[ident.PortID]Octets, len(ports)), silent: map[ident.PortID]error{}, fair: fair}
	for i, id := range c.nics {
		s.nics[id] = &nics[i]
		if faults[i] != nil {
			s.silent[id] = faults[i]
		}
	}
	for i, id := range c.ports {
		s.ports[id] = ports[i]
	}
	return s, nil
}

// Measure reads counters until window has passed on the clocks of all readable devices, and reports the shares over that
// time. The window is device time, from 1 us to 1 h. It fails as Collector.Measure does.
func (c *EtherCollector) Measure(ctx context.Context, window quantity.Picoseconds) (Report, error) {
	if window < quantity.Microsecond || window > 3600*quantity.Second {
		return Report{}, fmt.Errorf("window of %s: want 1 us to 1 h", window)
	}
	first, err := c.sample(ctx)
	if err != nil {
		return Report{}, err
	}
	p := c.o.patience(window, 1)
	for left := window; ; {
		if err := sleep(ctx, max(c.o.wall(left), time.Millisecond)); err != nil {
			return Report{}, fmt.Errorf("measure: %w", err)
		}
		last, err := c.sample(ctx)
		if err != nil {
			return Report{}, err
		}
		w := etherWindow{c: c, a: first, b: last}
		r := w.report()
		switch {
		case r.Window >= window:
			return r, nil
		case !w.read:
			return r, w.unread()
		}
		left = window - r.Window
		if err := p.lost(left); err != nil {
			return r, err
		}
	}
}
