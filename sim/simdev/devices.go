package simdev

import (
	"fmt"
	"slices"

	"fairlane/internal/quantity"
	"fairlane/sim/fabric"
	"fairlane/sim/pace"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/subnet/mad"
)

// SMMode is the initial state of the fabric.
type SMMode uint8

// Modes.
const (
	// Configured means that ports are active and have LIDs and routes, as after a subnet manager's sweep, and that a built-in
	// stand-in for subnet administration at the first channel-adapter port answers path queries. A subnet manager may still
	// attach.
	Configured SMMode = iota
	// Cold means that ports are in INIT without LIDs or routes and wait for a subnet manager.
	Cold
)

// Options are the properties of the simulated devices. The zero value is usable.
type Options struct {
	// TimeScale is the simulated seconds per wall second in Run; 0 means as fast as possible.
	TimeScale float64
	// Slice is the largest simulated time by which Run advances at once; default 10 ms. Run uses shorter slices when the
	// computation takes long.
	Slice quantity.Picoseconds
	// MKey and CCKey are the initial keys of every device, without read protection; 0 means unchecked. Devices.GuardSM and
	// Devices.GuardCC change them for one node.
	MKey, CCKey mad.Key
	// Vendor is the vendor ID of all nodes, 24 bits; 0 selects the vendor ID of the topology.
	Vendor uint32
	// SMMode is the initial state of the fabric.
	SMMode SMMode
	// ReversedControlMap numbers the bits of SwitchCongestionSetting's Control_Map from the marking rate (bit 0) to the victim
	// mask (bit 4) instead of the reverse. Devices with either order exist.
	ReversedControlMap bool
	// Layout selects, for devices of the generic profiles, the layout of the attributes on which congestion-control documents
	// disagree.
	Layout mad.CCLayout
	// Faults are the initial faults; see Devices.SetFaults.
	Faults Faults
}

// Devices are the management agents of all nodes of a simulated fabric. All methods are safe
// for concurrent use; create it with New.
type Devices struct {
	mu    pace.Turnstile
	net   *fabric.Network
	topo  *subnet.Fabric
	opts  Options
	nodes []node
	fault *injector
	sl    map[ident.PKey]ident.SL // SLs of partitions, for path queries, by base key
	sms   map[subnet.PortRef]bool // ports with a subnet manager
	home  subnet.PortRef          // port of the subnet administration stand-in; Node -1 means none
	vlArb [2][]fabric.VLWeight    // initial arbitration tables: low, high
	traps trapQueue
	hops  []subnet.PortRef // egress ports on the route of the current message
	clock *pace.Clock
}

// node is the management state of one node.
type node struct {
	info   *subnet.Node
	desc   mad.NodeDescription
	ports  []port
	sw     *switchState
	wiped  bool // the tables of the lanes have their default values
	vendor uint32
}

// switchState is the additional state of a switch.
type switchState struct {
	info   mad.SwitchInfo
	blocks int                                     // number of blocks in the linear table that may hold routes
	mcast  map[uint32]mad.MulticastForwardingTable // by modifier; written blocks only
	change bool                                    // PortStateChange bit of SwitchInfo
}

// New creates the agents of a network. It returns an error for a negative slice or time scale and for a vendor ID over 24
// bits. Configured mode uses the LIDs and routes of the network.
func New(n *fabric.Network, o Options) (*Devices, error) {
	switch {
	case !(o.TimeScale >= 0 && o.TimeScale <= 1e6):
		return nil, fmt.Errorf("time scale %v: want 0 to 1000000", o.TimeScale)
	case o.Slice < 0:
		return nil, fmt.Errorf("slice %s: want 0 or more", o.Slice)
	case o.Vendor > 0xffffff:
		return nil, fmt.Errorf("vendor ID 0x%x: want at most 0xffffff", o.Vendor)
	case o.SMMode > Cold:
		return nil, fmt.Errorf("subnet manager mode %d: want 0 (configured) or 1 (cold)", o.SMMode)
	}
	d := &Devices{
		net: n, topo: n.Topology(), opts: o,
		fault: newInjector(o.Faults),
		sl:    map[ident.PKey]ident.SL{},
		sms:   map[subnet.PortRef]bool{},
		home:  subnet.PortRef{Node: -1},
	}
	d.clock = pace.New(&d.mu, counted{n}, pace.Options{TimeScale: o.TimeScale, Slice: o.Slice})
	d.nodes = make([]node, len(d.topo.Nodes))
	for i := range d.nodes {
		if err := d.initNode(int32(i)); err != nil {
			return nil, err
		}
	}
	top := d.topLID()
	for i := range d.nodes {
		if sw := d.nodes[i].sw; sw != nil {
			last := int(top)
			if i < len(d.topo.LFTs) {
				last = max(last, len(d.topo.LFTs[i]))
			}
			sw.blocks = last/mad.LFTBlockSize + 1
		}
	}
	if o.SMMode == Configured {
		d.configure(top)
	} else {
		for i := range d.nodes {
			d.unconfigure(int32(i))
		}
	}
	return d, nil
}

func (d *Devices) initNode(at int32) error {
	topo := &d.topo.Nodes[at]
	nd := &d.nodes[at]
	desc, err := mad.NewNodeDescription(topo.Name)
	if err != nil {
		return fmt.Errorf("node %s: %w", topo.GUID, err)
	}
	nd.info, nd.desc, nd.wiped = topo, desc, true
	nd.vendor = topo.VendorID
	if d.opts.Vendor != 0 {
		nd.vendor = d.opts.Vendor
	}
	nd.ports = make([]port, len(topo.Ports))
	if topo.Kind == subnet.KindSwitch {
		nd.sw = &switchState{info: mad.SwitchInfo{
			LinearFDBCap:    uint16(ident.MaxUnicastLID) + 1,
			MulticastFDBCap: 1024,
			LifeTimeValue:   18,
			PartEnforceCap:  uint16(pkeysPerSwitchPort),
		}}
	}
	for p := range nd.ports {
		ref := subnet.PortRef{Node: at, Port: ident.PortNum(p)}
		if d.topo.Valid(ref) {
			d.initPort(ref)
			if len(d.vlArb[0]) == 0 && p > 0 {
				d.vlArb[0] = slices.Clone(d.net.VLArb(at, ref.Port, false))
				d.vlArb[1] = slices.Clone(d.net.VLArb(at, ref.Port, true))
			}
		}
	}
	return nil
}

// configure sets the state of the fabric to that after a subnet manager's sweep.
func (d *Devices) configure(top ident.LID) {
	for _, h := range d.topo.Hosts() {
		for p := 1; p < len(d.nodes[h].ports) && d.home.Node < 0; p++ {
			if lid, _ := d.net.LID(h, ident.PortNum(p)); lid != 0 && d.topo.Nodes[h].Ports[p].Link >= 0 {
				d.home = subnet.PortRef{Node: h, Port: ident.PortNum(p)}
			}
		}
	}
	smLID := ident.LID(0)
	if d.home.Node >= 0 {
		smLID, _ = d.net.LID(d.home.Node, d.home.Port)
	}
	for i := range d.nodes {
		nd := &d.nodes[i]
		for p := range nd.ports {
			ref := subnet.PortRef{Node: int32(i), Port: ident.PortNum(p)}
			if d.endPort(ref) {
				nd.ports[p].smLID = smLID
			}
			if d.topo.Valid(ref) && nd.info.Ports[p].Link >= 0 {
				d.setState(ref, mad.StateActive)
			}
		}
		if nd.sw != nil {
			nd.sw.info.LinearFDBTop = uint16(top)
		}
	}
}

// topLID returns the highest LID of any port.
func (d *Devices) topLID() ident.LID {
	top := ident.LID(0)
	for i := range d.nodes {
		for p := range d.nodes[i].ports {
			if ref := (subnet.PortRef{Node: int32(i), Port: ident.PortNum(p)}); d.endPort(ref) {
				lid, lmc := d.net.LID(ref.Node, ref.Port)
				top = max(top, lid+1<<lmc-1)
			}
		}
	}
	return top
}

// unconfigure removes the configuration by a subnet manager: LIDs, routes, lanes and port states.
func (d *Devices) unconfigure(at int32) {
	nd := &d.nodes[at]
	if nd.sw != nil {
		var drop [mad.LFTBlockSize]ident.PortNum
		for i := range drop {
			drop[i] = ident.DropPort
		}
		for block := range nd.sw.blocks {
			d.net.SetLFTBlock(at, block, drop)
		}
		nd.sw.blocks = 0
		nd.sw.info.LinearFDBTop, nd.sw.info.MulticastFDBTop = 0, 0
		nd.sw.mcast = nil
	}
	d.wipeLanes(at)
	for p := range nd.ports {
		ref := subnet.PortRef{Node: at, Port: ident.PortNum(p)}
		if !d.topo.Valid(ref) {
			continue
		}
		if d.endPort(ref) {
			d.net.SetLID(at, ref.Port, 0, 0)
		}
		// Ports power up with all their lanes operational. OpenSM maps SLs to the operational lanes before it sets their
		// number. With one lane it would map all SLs to VL 0.
		d.net.SetOperationalVLs(at, ref.Port, int(mad.VLsFromCode(d.vlCap(ref))))
		d.initPort(ref)
		if p > 0 {
			d.setState(ref, mad.StateInit)
		}
	}
}

// wipeLanes resets SL2VL tables, arbitration and operational VLs to their initial values.
func (d *Devices) wipeLanes(at int32) {
	nd := &d.nodes[at]
	if nd.wiped {
		return
	}
	nd.wiped = true
	for out := range nd.ports {
		o := ident.PortNum(out)
		if !d.topo.Valid(subnet.PortRef{Node: at, Port: o}) {
			continue
		}
		if nd.sw == nil {
			d.net.SetSL2VL(at, 0, o, [ident.NumSLs]ident.VL{})
		} else {
			for in := range nd.ports {
				d.net.SetSL2VL(at, ident.PortNum(in), o, [ident.NumSLs]ident.VL{})
			}
		}
		if out == 0 {
			continue
		}
		d.net.SetVLArb(at, o, false, 0, d.vlArb[0])
		d.net.SetVLArb(at, o, true, 0, d.vlArb[1])
		d.net.SetVLHighLimit(at, o, 0)
	}
}

// endPort reports whether the port has its own LID: a CA's port or a switch's port 0.
func (d *Devices) endPort(ref subnet.PortRef) bool {
	return (d.nodes[ref.Node].sw != nil) == (ref.Port == 0) && d.topo.Valid(ref)
}

// port returns the state of a valid port.
func (d *Devices) port(ref subnet.PortRef) *port { return &d.nodes[ref.Node].ports[ref.Port] }

// manager returns the end port whose keys protect requests received through ref.
func (d *Devices) manager(ref subnet.PortRef) subnet.PortRef {
	if d.nodes[ref.Node].sw != nil {
		ref.Port = 0
	}
	return ref
}

// With calls f under the lock, to read the network or to change its traffic. f must not keep n and must not call methods of
// d.
func (d *Devices) With(f func(n *fabric.Network)) {
	d.mu.Lock()
	f(d.net)
	d.mu.Unlock()
	d.change()
}

// change ends a sleep of Run early.
func (d *Devices) change() { d.clock.Wake() }

// Now returns the simulated time.
func (d *Devices) Now() quantity.Picoseconds {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.net.Now()
}

// Advance advances simulated time by span, for callers that do not use Run.
func (d *Devices) Advance(span quantity.Picoseconds) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.net.RunUntil(d.net.Now() + max(span, 0))
}

// SetFaults replaces the injected faults and restarts their random draws.
func (d *Devices) SetFaults(f Faults) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.fault = newInjector(f)
}

// Managed reports whether any subnet manager is attached.
func (d *Devices) Managed() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.sms) > 0
}

// SetSM sets whether a subnet manager is attached at the port. It sets the port's IsSM bit; requests to subnet administration
// and SMInfo are then forwarded to the port.
func (d *Devices) SetSM(at subnet.PortRef, attached bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.topo.Valid(at) {
		return
	}
	if attached {
		d.sms[at] = true
	} else {
		delete(d.sms, at)
	}
}

// SetPartitionSL sets the SL of a partition for path queries, and makes the simulated applications of that partition resolve
// their paths again: every flow with the P_Key, with any membership bit, moves to the SL. It returns the number of such flows;
// for an SL above 15 it changes nothing and returns 0.
func (d *Devices) SetPartitionSL(pkey ident.PKey, sl ident.SL) int {
	if sl >= ident.NumSLs {
		return 0
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.sl[pkey.Base()] = sl
	moved := 0
	for id := range d.net.Flows() {
		if d.net.Flow(fabric.FlowID(id)).Spec.PKey.Base() == pkey.Base() {
			d.net.SetFlowSL(fabric.FlowID(id), sl)
			moved++
		}
	}
	return moved
}

// PartitionSL returns the SL in answers to path queries for the partition; 0 for a partition without an SL.
func (d *Devices) PartitionSL(pkey ident.PKey) ident.SL {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.sl[pkey.Base()]
}

// AddFlow adds a flow whose application resolves its path first: the SL of its partition, if set, overrides that of the spec.
func (d *Devices) AddFlow(f fabric.FlowSpec) (fabric.FlowID, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	defer d.change()
	if sl, ok := d.sl[f.PKey.Base()]; ok {
		f.SL = sl
	}
	return d.net.AddFlow(f)
}
