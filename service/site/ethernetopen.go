package site

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"fairlane/ccconfig/driver"
	"fairlane/ccconfig/driver/grpclink"
	"fairlane/ccconfig/nic/niccount"
	"fairlane/internal/phrase"
	"fairlane/internal/quantity"
	"fairlane/policy"
	"fairlane/service/config"
	"fairlane/service/control"
	"fairlane/service/telemetry"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/subnet/inventory"
)

// openEthernet opens a session on the devices of an inventory. The driver identifies what answers at an address: an
// agent without the expected port is unreachable.
func (p *Access) openEthernet(path string, t control.Target) (*session, error) {
	k, err := p.files.open(path)
	if err != nil {
		return nil, withoutContent(config.KindEthernet+path, err)
	}
	cost := &grpclink.Meter{}
	d, err := k.connect(cost)
	if err != nil {
		return nil, err
	}
	source := &etherSource{driver: d, topo: t.Topology, plane: t.Plan.Plane, priorities: prioritiesOf(t.Plan)}
	o := telemetry.EtherOptions{Parallel: discoverParallel, TimeScale: t.Fabric.TimeScale, Patience: p.Patience, Limits: limitsOf(&t)}
	if t.Plan.Plane == driver.PlaneWRCC {
		o.Fair = source
	}
	return &session{
		close: d.Close, driver: tracedDriver{d},
		others: func(context.Context, []driver.Device) map[ident.PortID]error { return nil },
		measure: func(ctx context.Context, window quantity.Picoseconds) (telemetry.Report, error) {
			if len(t.Flows) == 0 { // a plan that removes everything has no flows
				return telemetry.Shares(t.Plan, telemetry.Window{}), nil
			}
			c, err := telemetry.NewEther(source, t.Plan, t.Topology, t.Flows, o)
			if err != nil {
				return telemetry.Report{}, err
			}
			return c.Measure(ctx, window)
		},
		watch: func(ids []ident.PortID, within time.Duration) (portReader, error) {
			w, err := telemetry.NewEtherPortWatch(source, ids, t.Topology, within, o)
			return etherReader{w, k}, err
		},
		cost: func() control.Cost {
			requests, bytes := cost.Total()
			return control.Cost{Requests: requests, Bytes: bytes}
		},
	}, nil
}

// etherSource reads counters over the driver's connections.
type etherSource struct {
	driver *InventoryDriver
	topo   *subnet.Fabric
	plane  subnet.Plane
	// priorities are those of RoCE traffic.
	priorities []uint8
}

// prioritiesOf returns the priorities of a plan's RoCE traffic.
func prioritiesOf(p *policy.Plan) []uint8 {
	if p.RoCE == nil || len(p.RoCE.Classes) == 0 {
		return []uint8{policy.RoCEPriority}
	}
	var out []uint8
	for i := range p.RoCE.Classes {
		out = append(out, p.RoCE.Classes[i].Queue)
	}
	return out
}

var (
	_ telemetry.EtherSource = (*etherSource)(nil)
	_ telemetry.FairSource  = (*etherSource)(nil)
)

func (s *etherSource) ReadNIC(ctx context.Context, port ident.PortID) (telemetry.NICReading, error) {
	ref, ok := s.topo.PortByID(port)
	if !ok {
		return telemetry.NICReading{}, fmt.Errorf("port %s is not on the fabric", port)
	}
	c, err := s.driver.gnmi.ReadCounters(ctx, driver.PortDevice(s.topo, ref, s.plane))
	if err != nil {
		return telemetry.NICReading{}, err
	}
	// Only differences are used, so an overflow of picoseconds since 1970 does no harm.
	since := func(at time.Time) quantity.Picoseconds {
		return quantity.Picoseconds(at.UnixNano()) * quantity.Nanosecond
	}
	at := since(c.CountersAt)
	read := func(n niccount.Counter, at time.Time) telemetry.Octets {
		return telemetry.Octets{N: n.Value, At: since(at), Err: n.Err}
	}
	r := telemetry.NICReading{
		Tx: whole(c.Counters, at, "tx_bytes_phy", "port_xmit_data"), Rx: whole(c.Counters, at, "rx_bytes_phy", "port_rcv_data"),
		Functions: make(map[int]telemetry.FunctionRead, len(c.Functions)), Senders: make(map[string]telemetry.Octets, len(c.Senders)), ServesPods: c.ServesPods,
	}
	for _, f := range c.Functions {
		one := telemetry.FunctionRead{Tenant: f.Tenant, Tx: read(f.TxOctets, c.FunctionsAt), Rx: read(f.RxOctets, c.FunctionsAt)}
		if s.plane == driver.PlaneRoCE {
			one.Notices = noticesOf(f.Counters, f.Problem, since(c.FunctionsAt))
		}
		r.Functions[f.Index] = one
	}
	if s.plane == driver.PlaneRoCE {
		r.Loop = loopOf(c.Counters, at, s.priorities)
	}
	for _, sender := range c.Senders {
		r.Senders[sender.Name] = read(sender.TxOctets, c.SendersAt)
	}
	return r, nil
}

// loopOf returns a port's congestion-control counters. Pauses and their time are sums over the priorities.
func loopOf(c niccount.Counters, at quantity.Picoseconds, priorities []uint8) *telemetry.LoopReading {
	read := func(name string) telemetry.Octets {
		n, err := c.Read(name)
		return telemetry.Octets{N: n, At: at, Err: err}
	}
	sum := func(suffix string) telemetry.Octets {
		all := telemetry.Octets{At: at}
		for _, p := range priorities {
			one := read(fmt.Sprintf("rx_prio%d_pause%s", p, suffix))
			all.N, all.Err = all.N+one.N, cmp.Or(all.Err, one.Err)
		}
		return all
	}
	return &telemetry.LoopReading{Notices: *noticesOf(c, nil, at), Ignored: read("rp_cnp_ignored"), Pauses: sum(""), Paused: sum("_duration")}
}

// noticesOf returns the marks and notifications of a port or a function. A problem is the reason of all that are missing.
func noticesOf(c niccount.Counters, problem error, at quantity.Picoseconds) *telemetry.Notices {
	read := func(name string) telemetry.Octets {
		n, err := c.Read(name)
		if _, listed := c[name]; !listed && problem != nil {
			err = problem
		}
		return telemetry.Octets{N: n, At: at, Err: err}
	}
	return &telemetry.Notices{Marks: read("np_ecn_marked_roce_packets"), Sent: read("np_cnp_sent"), Handled: read("rp_cnp_handled")}
}

// whole returns a port's total: octets from ethtool's counter, or words of four octets from the RDMA port's counter.
func whole(c niccount.Counters, at quantity.Picoseconds, octets, words string) telemetry.Octets {
	if n, ok := c[octets]; ok && n.Err == nil {
		return telemetry.Octets{N: n.Value, At: at}
	}
	n, err := c.Read(words)
	return telemetry.Octets{N: 4 * n, At: at, Err: err}
}

// ReadSwitch reads octets. A marking switch reports what its queues have sent, and may refresh these counters rarely. A
// WRCC switch counts the traffic that arrives at a port, and reports no time.
func (s *etherSource) ReadSwitch(ctx context.Context, port ident.PortID) (telemetry.Octets, error) {
	node, ok := s.topo.NodeByGUID(port.Node)
	if !ok {
		return telemetry.Octets{}, fmt.Errorf("port %s is not on the fabric", port)
	}
	dev := driver.SwitchDevice(s.topo, node, s.plane)
	e, err := s.driver.endpoint(dev)
	switch {
	case err != nil:
		return telemetry.Octets{}, err
	case e.Protocol != inventory.P4Runtime:
		return s.queues(ctx, dev, port.Port)
	}
	begun := time.Now()
	counters, err := s.driver.p4rt.Counters(ctx, dev)
	if err != nil {
		return telemetry.Octets{}, err
	}
	read := begun.Add(time.Since(begun) / 2)
	for i := range counters {
		if c := &counters[i]; ident.PortNum(c.Port) == port.Port && c.Input != nil {
			return telemetry.Octets{N: c.Input.Bytes, Wall: read}, nil
		}
	}
	return telemetry.Octets{}, fmt.Errorf("%s has no counter of port %d", dev, port.Port)
}

// queues sums the octets that the queues of a port have sent.
func (s *etherSource) queues(ctx context.Context, dev driver.Device, port ident.PortNum) (telemetry.Octets, error) {
	list, err := s.driver.gnmi.PortQueueCounters(ctx, dev, port, 0, 1, 2, 3, 4, 5, 6, 7)
	if err != nil {
		return telemetry.Octets{}, err
	}
	var out telemetry.Octets
	read, fresh := 0, false
	var every time.Duration
	for i := range list {
		q := &list[i]
		if q.Port != port || q.Octets == nil {
			continue
		}
		read++
		out.N += *q.Octets
		out.At = quantity.Picoseconds(q.At.UnixNano()) * quantity.Nanosecond
		out.Every = q.Every
		fresh, every = fresh || !q.Stale, max(every, q.Every)
	}
	switch {
	case read == 0:
		return telemetry.Octets{}, fmt.Errorf("%s reports no octets of port %d", dev, port)
	case !fresh:
		out.Err = phrase.Because(telemetry.ErrStale, phrase.Of("measure.not-refreshed", "device", dev, "every", every))
	}
	return out, nil
}

// ReadFair reads a WRCC switch. Its fair rates are those of a register, or the means since the last reading; digests would need a write.
func (s *etherSource) ReadFair(ctx context.Context, id ident.GUID) (map[ident.PortNum]telemetry.FairReading, error) {
	node, ok := s.topo.NodeByGUID(id)
	if !ok {
		return nil, fmt.Errorf("node %s is not on the fabric", id)
	}
	dev := driver.SwitchDevice(s.topo, node, s.plane)
	rates, err := s.driver.p4rt.FairRates(ctx, dev)
	if err != nil && !errors.Is(err, driver.ErrUnsupported) {
		return nil, err
	}
	begun := time.Now()
	counters, err := s.driver.p4rt.Counters(ctx, dev)
	if err != nil && !errors.Is(err, driver.ErrUnsupported) {
		return nil, err
	}
	wall := begun.Add(time.Since(begun) / 2)
	out := make(map[ident.PortNum]telemetry.FairReading, dev.Ports)
	for i := range counters {
		c := &counters[i]
		out[ident.PortNum(c.Port)] = telemetry.FairReading{FCNPs: c.FCNPs, Rewrites: c.Rewrites, Pauses: c.Pauses, Wall: wall}
	}
	for _, r := range rates {
		if r.Port > 0 && int(r.Port) <= dev.Ports {
			f := out[ident.PortNum(r.Port)]
			f.Rate, f.Wall = new(quantity.BitRate(r.Mbps)*quantity.Mbps), wall
			out[ident.PortNum(r.Port)] = f
		}
	}
	return out, nil
}
