// Package etherlive is a live Ethernet fabric: tenants' traffic on the packet simulator in scaled time, with a data plane for
// each simulated NIC and switch. A data plane applies its device's settings immediately, and counts. Other packages implement
// the management protocols of the devices.
//
// The packets are a function of topology, flows, options and seed, and of the settings of the data planes with their simulated
// times.
package etherlive

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"fairlane/ccconfig/dcqcn"
	"fairlane/ccconfig/qos"
	"fairlane/internal/quantity"
	"fairlane/sim/cc"
	"fairlane/sim/ether"
	"fairlane/sim/pace"
	"fairlane/sim/plane"
	"fairlane/sim/tenantnet"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/tenants"
	"fairlane/wrcc"
)

// Options are the options of a fabric.
type Options struct {
	// WRCC makes switches and NICs use WRCC instead of marking and DCQCN.
	WRCC bool
	Seed uint64
	// TimeScale is the simulated seconds per wall second, 0 to 1000000; 0 means as fast as possible.
	TimeScale float64
	// Slice is the largest simulated time by which Run advances at once; 0 means 10 ms.
	Slice quantity.Picoseconds
	// Priority is the lossless class of service, 0 to 7, besides those of Classes: only in lossless classes do switches have headroom for packets after a pause. In
	// a RoCE fabric it is initially the priority of RoCE traffic. In a WRCC fabric it is always that of all traffic, and
	// settings for other priorities have no effect. The zero value selects plane.RoCEPriority.
	Priority uint8
	// Classes are classes of traffic whose priorities, the numbers of their queues, are lossless too. Devices map packets to them.
	Classes []qos.TrafficClass
	// DSCPs are those that the applications of tenants choose for their queue pairs, 0 to 63; others have the DSCP of their port.
	DSCPs map[string]uint8
	// Waiting are the indices of flows that do not send until StartFlow.
	Waiting []int
	// Functions are the numbers of virtual functions of ports with more of them than tenants, up to 4096.
	Functions map[ident.PortID]int
	// ECN is the initial marking of switches; the zero value selects ether's default.
	ECN ether.ECN
	// Buffer is the packet buffer of every switch. Buffers are the buffers of single switches, by node; zero values select
	// ether's default.
	Buffer  ether.Buffer
	Buffers map[int32]ether.Buffer
}

// timeout is the time without progress after which a sender resends, because its last packets were lost with a link; it is
// above any round trip time with full buffers.
const timeout = 20 * quantity.Millisecond

// defaultPeriod is the published WRCCT of switches (S0): twice the largest round trip time of the data centre.
const defaultPeriod = 24 * quantity.Microsecond

// Fabric is a live fabric. Its methods, and those of its data planes, are safe for concurrent use.
type Fabric struct {
	mu    pace.Turnstile
	clock *pace.Clock
	o     Options

	topo  *subnet.Fabric
	net   *tenantnet.Network
	flows []tenants.Flow

	mlx  *cc.MlxPorts  // only in a RoCE fabric
	wrcc *cc.WRCCPorts // only in a WRCC fabric

	nics     []*NIC           // by host
	switches []*Switch        // by node; nil for hosts
	pairs    []pair           // queue pairs, by their number in the network
	byFlow   [][]int32        // queue pairs of each flow
	domains  map[uint16]uint8 // data centres by their number on devices
	rejected []error
}

// pair is a queue pair.
type pair struct {
	spec   ether.FlowSpec
	ref    ether.FlowRef
	active bool  // ref is valid
	wanted bool  // the flow is meant to send
	done   int64 // payload bytes sent in its earlier runs
}

// New builds a fabric with its flows, in the initial state of unmanaged devices. It returns an error for flows whose ends are
// not linked host ports, for more than 65,536 host ports and for options out of range.
func New(topo *subnet.Fabric, flows []tenants.Flow, o Options) (*Fabric, error) {
	if !(o.TimeScale >= 0 && o.TimeScale <= 1e6) {
		return nil, fmt.Errorf("time scale %v: want 0 to 1000000", o.TimeScale)
	}
	if o.Slice < 0 {
		return nil, fmt.Errorf("slice %s: want 0 or more", o.Slice)
	}
	if o.Priority >= plane.Priorities {
		return nil, fmt.Errorf("priority %d: want 0 to %d", o.Priority, plane.Priorities-1)
	}
	for i, c := range o.Classes {
		if err := c.Validate(); err != nil {
			return nil, fmt.Errorf("class of traffic %d: %w", i, err)
		}
	}
	if err := checkDSCPs(o.DSCPs); err != nil {
		return nil, err
	}
	if o.Priority == 0 {
		o.Priority = plane.RoCEPriority
	}
	f := &Fabric{o: o, topo: topo, flows: slices.Clone(flows), domains: make(map[uint16]uint8)}
	if err := f.build(); err != nil {
		return nil, fmt.Errorf("live fabric: %w", err)
	}
	f.clock = pace.New(&f.mu, f.net, pace.Options{TimeScale: o.TimeScale, Slice: o.Slice})
	return f, nil
}

func (f *Fabric) build() error {
	ports := hostPorts(f.topo)
	if ports < 1 || ports > cc.MaxPorts {
		return fmt.Errorf("%d host ports: want 1 to %d", ports, cc.MaxPorts)
	}
	cfg, err := f.config(ports)
	if err != nil {
		return err
	}
	if f.net, err = tenantnet.New(f.topo, f.flows, cfg); err != nil {
		return err
	}
	if err := f.addNICs(); err != nil {
		return err
	}
	f.addSwitches()
	if f.mlx != nil {
		f.addClasses()
	}
	if err := f.addPairs(); err != nil {
		return err
	}
	if f.o.WRCC {
		for _, s := range f.switches {
			if s != nil {
				s.resetFair()
			}
		}
	}
	return errors.Join(f.rejected...)
}

// config returns the network's configuration, with algorithms whose settings can change.
func (f *Fabric) config(ports int) (ether.Config, error) {
	var cfg ether.Config
	if f.o.WRCC {
		cfg = tenantnet.WRCC(f.o.Seed)
		a, err := cc.NewWRCCPorts(ports, cc.WRCCPort{SenderParams: defaultSender()})
		if err != nil {
			return cfg, err
		}
		f.wrcc, cfg.Algorithms = a, []cc.Algorithm{a}
		cfg.FairRate = &ether.FairRate{Period: defaultPeriod}
	} else {
		cfg = tenantnet.RoCE(f.o.Seed)
		d := dcqcn.Default()
		a, err := cc.NewMlxPorts(ports, &d)
		if err != nil {
			return cfg, err
		}
		f.mlx, cfg.Algorithms = a, []cc.Algorithm{a}
		cfg.CNPGap = quantity.Picoseconds(d.CNPGap) * quantity.Microsecond
		cfg.ECN = f.o.ECN
		for c := range uint8(plane.Priorities) {
			lossless := slices.ContainsFunc(f.o.Classes, func(t qos.TrafficClass) bool { return t.Queue == c })
			cfg.Classes = append(cfg.Classes, ether.Class{Lossy: c != f.o.Priority && !lossless})
		}
	}
	cfg.Buffer, cfg.Buffers = f.o.Buffer, f.o.Buffers
	cfg.Recovery.Timeout = timeout
	cfg.OnStart, cfg.OnDone = f.started, f.ended
	return cfg, nil
}

// defaultSender returns the initial settings of WRCC senders (S0).
func defaultSender() wrcc.SenderParams {
	return wrcc.SenderParams{T1: defaultPeriod, MinRate: float64(wrcc.DefaultFmin), Increase: wrcc.IncreaseTimer}
}

// hostPorts returns the number of linked ports of channel adapters.
func hostPorts(topo *subnet.Fabric) int {
	count := 0
	for i := range topo.Nodes {
		if n := &topo.Nodes[i]; n.Kind != subnet.KindSwitch {
			for p := range n.Ports {
				if n.Ports[p].Link >= 0 {
					count++
				}
			}
		}
	}
	return count
}

// addPairs starts the queue pairs of the flows that are not waiting.
func (f *Fabric) addPairs() error {
	for _, i := range f.o.Waiting {
		if i < 0 || i >= len(f.flows) {
			return fmt.Errorf("waiting flow %d: want 0 to %d", i, len(f.flows)-1)
		}
	}
	f.byFlow = make([][]int32, len(f.flows))
	f.pairs = make([]pair, len(f.net.Pairs))
	for i, at := range f.net.Pairs {
		p := &f.pairs[i]
		p.spec = f.net.Spec(i)
		t := f.flows[at].Tenant
		p.spec.Function = f.nics[p.spec.Src].functionOf(t)
		p.spec.PeerFunction = f.nics[p.spec.Dst].functionOf(t)
		f.byFlow[at] = append(f.byFlow[at], int32(i))
		nic := f.nics[p.spec.Src]
		nic.pairs = append(nic.pairs, int32(i))
	}
	for i := range f.flows {
		if slices.Contains(f.o.Waiting, i) {
			continue
		}
		if err := f.setFlow(i, true); err != nil {
			return err
		}
	}
	return nil
}

// setFlow starts or stops the queue pairs of a flow.
func (f *Fabric) setFlow(i int, on bool) error {
	for _, at := range f.byFlow[i] {
		p := &f.pairs[at]
		if p.wanted == on {
			continue
		}
		p.wanted = on
		switch {
		case !on && p.active:
			f.net.Stop(p.ref)
		case on && !p.active:
			if err := f.launch(p); err != nil {
				return err
			}
		}
	}
	return nil
}

// launch starts a queue pair now.
func (f *Fabric) launch(p *pair) error {
	s := p.spec
	s.Start, s.Code = f.net.Now(), f.codeOf(int32(s.ID), f.nics[s.Src].state.DSCP)
	return f.net.Add(s)
}

// started handles the start of a flow of the network.
func (f *Fabric) started(id int64, ref ether.FlowRef) {
	p := &f.pairs[id]
	p.ref, p.active = ref, true
	f.catchUp(p)
	if !p.wanted { // the flow was stopped before its start
		f.net.Stop(ref)
	}
}

// catchUp applies the changes since the scheduling of a queue pair that has just started.
func (f *Fabric) catchUp(p *pair) {
	err := errors.Join(f.net.SetDemand(p.ref, p.spec.Demand), f.net.SetCode(p.ref, f.codeOf(int32(p.spec.ID), f.nics[p.spec.Src].state.DSCP)))
	if err == nil && f.wrcc != nil && p.spec.Weight > 0 {
		err = f.net.Reweigh(p.ref, p.spec.Weight)
	}
	if err != nil {
		f.reject("queue pair %d: %w", p.spec.ID, err)
	}
}

// ended handles a flow that has stopped and delivered all its bytes.
func (f *Fabric) ended(d ether.Done) {
	p := &f.pairs[d.ID]
	p.active = false
	p.done += d.Bytes
	if p.wanted { // the flow was started again before its end
		if err := f.launch(p); err != nil {
			f.reject("queue pair %d: %w", d.ID, err)
		}
	}
}

// maxRejected is the largest number of errors that Err joins.
const maxRejected = 16

// reject records a configuration that the model rejected; the previous one stays.
func (f *Fabric) reject(format string, args ...any) {
	if len(f.rejected) < maxRejected {
		f.rejected = append(f.rejected, fmt.Errorf(format, args...))
	}
}

// Run advances time until ctx ends, at Options.TimeScale (pace.Clock). It returns nil when ctx ends.
func (f *Fabric) Run(ctx context.Context) error { return f.clock.Run(ctx) }

// Pace returns how well Run keeps its time scale.
func (f *Fabric) Pace() pace.Pace { return f.clock.Pace() }

// RunUntil advances time to t at once, for runs without a wall clock.
func (f *Fabric) RunUntil(t quantity.Picoseconds) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.net.RunUntil(t)
}

// Now returns the simulated time.
func (f *Fabric) Now() quantity.Picoseconds {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.net.Now()
}

// Scale returns Options.TimeScale: simulated seconds per wall second; 0 means as fast as possible.
func (f *Fabric) Scale() float64 { return f.o.TimeScale }

// Topology returns the fabric's topology.
func (f *Fabric) Topology() *subnet.Fabric { return f.topo }

// Err returns the joined errors of settings that the model rejected; the previous settings stay. It is normally nil, because
// devices check their settings.
func (f *Fabric) Err() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return errors.Join(f.rejected...)
}

// Stats returns the totals of the fabric.
func (f *Fabric) Stats() ether.Stats {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.net.Stats()
}

// Flows returns the number of flows. A flow is identified by its index in the argument of New.
func (f *Fabric) Flows() int { return len(f.flows) }

// StartFlow starts the queue pairs of a flow; it has no effect on one that already sends.
func (f *Fabric) StartFlow(i int) error { return f.flow(i, func() error { return f.setFlow(i, true) }) }

// MoveFlow makes a virtual function of the sending port the sender of a flow, by the function's index. The flow must not send.
func (f *Fabric) MoveFlow(i, function int) error {
	return f.flow(i, func() error {
		for _, at := range f.byFlow[i] {
			p := &f.pairs[at]
			nic := f.nics[p.spec.Src]
			switch {
			case p.active || p.wanted:
				return errors.New("it still sends: stop it first")
			case function < 0 || function >= len(nic.numbers):
				return fmt.Errorf("function %d: want 0 to %d", function, len(nic.numbers)-1)
			}
			p.spec.Function = nic.numbers[function]
		}
		return nil
	})
}

// StopFlow stops the sending of a flow; packets in flight still arrive.
func (f *Fabric) StopFlow(i int) error { return f.flow(i, func() error { return f.setFlow(i, false) }) }

// SetDemand changes the largest rate of a flow, over all queue pairs; 0 means no limit.
func (f *Fabric) SetDemand(i int, d quantity.BitRate) error {
	return f.flow(i, func() error {
		if d < 0 {
			return fmt.Errorf("demand %d bit/s: want 0 (no limit) or more", int64(d))
		}
		each := d
		if d > 0 {
			each = max(1, d/quantity.BitRate(len(f.byFlow[i])))
		}
		for _, at := range f.byFlow[i] {
			p := &f.pairs[at]
			p.spec.Demand = each
			if p.active {
				if err := f.net.SetDemand(p.ref, each); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// flow calls do for a flow, after a check that the flow exists.
func (f *Fabric) flow(i int, do func() error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if i < 0 || i >= len(f.flows) {
		return fmt.Errorf("flow %d: want 0 to %d", i, len(f.flows)-1)
	}
	defer f.clock.Wake()
	if err := do(); err != nil {
		return fmt.Errorf("flow %d: %w", i, err)
	}
	return nil
}

// Delivered stores the acknowledged bytes on the wire of each flow's queue pairs, by flow.
func (f *Fabric) Delivered(dst []uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	clear(dst)
	for i := range f.pairs {
		p := &f.pairs[i]
		bytes := p.done
		if s, ok := f.net.Flow(p.ref); p.active && ok {
			bytes += s.Acked
		}
		dst[f.net.Pairs[i]] += uint64(float64(bytes) * f.net.Wire)
	}
}

// SetLink connects or disconnects the link of a port (ether.Network.SetLink).
func (f *Fabric) SetLink(id ident.PortID, up bool) error {
	ref, ok := f.topo.PortByID(id)
	if !ok {
		return fmt.Errorf("port %s: no such port", id)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	defer f.clock.Wake()
	return f.net.SetLink(ref, up)
}
