package app

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"fairlane/ccconfig/driver"
	"fairlane/ccconfig/gnmi"
	"fairlane/internal/quantity"
	"fairlane/policy"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/subnet/inventory"
)

// etherCensus asks every device of an inventory who it is.
type etherCensus struct {
	k      *keptInventory
	driver *etherDriver
	plane  string

	mu       sync.Mutex
	asked    int
	answered int
	warnings []etherWarning
	progress func(asked, of int)
}

// etherWarning is what is wrong with one device.
type etherWarning struct {
	node int32
	text string
}

// discoverParallel is how many devices are asked at the same time.
const discoverParallel = 128

// census asks every device of the inventory, in parallel, and returns what is wrong, in the order of the fabric's nodes, and
// how many answered. progress may be nil.
func (k *keptInventory) census(ctx context.Context, progress func(asked, of int)) (warnings []string, answered int, err error) {
	d, err := k.connect()
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = d.close() }() // everything was answered, or will not be
	c := &etherCensus{k: k, driver: d, plane: k.plane(), progress: progress}
	var g errgroup.Group
	g.SetLimit(discoverParallel)
	unlisted := 0
	for i := range k.fabric.Nodes {
		n := &k.fabric.Nodes[i]
		e, ok := k.devices[n.GUID]
		if !ok {
			if n.Kind == subnet.KindCA || n.Kind == subnet.KindSwitch {
				unlisted++
			}
			continue
		}
		g.Go(func() error {
			c.ask(ctx, int32(i), e)
			return nil
		})
	}
	_ = g.Wait() // what is wrong is in the warnings
	if err := ctx.Err(); err != nil {
		return nil, 0, fmt.Errorf("ask the devices of %s: %w", k.path, err)
	}
	slices.SortStableFunc(c.warnings, func(a, b etherWarning) int { return int(a.node) - int(b.node) })
	for _, w := range c.warnings {
		warnings = append(warnings, w.text)
	}
	warnings = append(warnings, k.sharedIDs()...)
	if unlisted > 0 {
		warnings = append(warnings, fmt.Sprintf("%d hosts and switches have no address in %s: they are part of the topology and are not managed", unlisted, k.path))
	}
	return warnings, c.answered, nil
}

// sharedIDs tells of switches that only their address tells apart, since P4Runtime says nothing of who answers, but every
// switch refuses requests that name another device_id than its own; and of nodes that lead to one and the same switch by gNMI.
func (k *keptInventory) sharedIDs() (warnings []string) {
	by := map[uint64][]string{}
	targets := map[[2]string][]string{}
	for i := range k.fabric.Nodes {
		n := &k.fabric.Nodes[i]
		switch e := k.devices[n.GUID]; e.Protocol {
		case inventory.P4Runtime:
			by[e.DeviceID] = append(by[e.DeviceID], n.Name)
		case inventory.SONiC, inventory.OpenConfig:
			at := [2]string{e.Address, e.Target}
			targets[at] = append(targets[at], n.Name)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(by)) {
		if names := by[id]; len(names) > 1 {
			warnings = append(warnings, fmt.Sprintf("%d switches have device_id %d (%s): nothing would tell when the addresses of two of them are mistaken for each other; give each switch an id of its own", len(names), id, firstNames(names)))
		}
	}
	for _, at := range slices.SortedFunc(maps.Keys(targets), func(a, b [2]string) int { return slices.Compare(a[:], b[:]) }) {
		if names := targets[at]; len(names) > 1 {
			warnings = append(warnings, fmt.Sprintf("%d switches are target %q at %s (%s): they are one and the same device; give each an address or a target of its own", len(names), at[1], at[0], firstNames(names)))
		}
	}
	return warnings
}

// firstNames lists the first few of some names.
func firstNames(names []string) string {
	const most = 4
	if len(names) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return strings.Join(names, ", ")
}

// ask asks one node.
func (c *etherCensus) ask(ctx context.Context, node int32, e inventory.Endpoint) {
	if ctx.Err() != nil {
		return
	}
	f := c.k.fabric
	var faults []string
	var answered bool
	if f.Nodes[node].Kind == subnet.KindSwitch {
		faults, answered = c.askSwitch(ctx, node, e)
	} else {
		faults, answered = c.askHost(ctx, node, e)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked++
	if answered {
		c.answered++
	}
	for _, text := range faults {
		c.warnings = append(c.warnings, etherWarning{node, f.Nodes[node].Name + ": " + text})
	}
	if c.progress != nil {
		c.progress(c.asked, len(c.k.devices))
	}
}

// askHost asks the agent of a host which ports it has.
func (c *etherCensus) askHost(ctx context.Context, node int32, e inventory.Endpoint) (faults []string, answered bool) {
	f := c.k.fabric
	n := &f.Nodes[node]
	var ports []subnet.PortRef // with a link
	for num := range n.Ports {
		ref := subnet.PortRef{Node: node, Port: ident.PortNum(num)}
		if l, _ := f.Link(ref); l != nil {
			ports = append(ports, ref)
		}
	}
	if len(ports) == 0 {
		return nil, true // nothing of it is part of the fabric
	}
	list, err := c.driver.gnmi.HostPorts(ctx, portDevice(f, ports[0], c.plane))
	if err != nil {
		return []string{fmt.Sprintf("the agent at %s does not say who it is: %v", e.Address, err)}, false
	}
	for _, ref := range ports {
		link, _ := f.Link(ref)
		at := slices.IndexFunc(list, func(p gnmi.HostPort) bool { return p.ID == f.PortID(ref) })
		switch {
		case at < 0:
			faults = append(faults, fmt.Sprintf("the agent at %s is of another host: it has no port %s, it has %s", e.Address, f.PortID(ref), idsOf(list)))
		case !list[at].Up:
			faults = append(faults, fmt.Sprintf("port %d has no link", ref.Port))
		case list[at].SpeedMbps > 0 && quantity.BitRate(list[at].SpeedMbps)*quantity.Mbps != link.Rate:
			faults = append(faults, fmt.Sprintf("port %d runs at %s, the fabric file says %s", ref.Port, quantity.BitRate(list[at].SpeedMbps)*quantity.Mbps, link.Rate))
		}
		if at >= 0 && c.plane == driver.PlaneWRCC && list[at].Senders == 0 {
			faults = append(faults, fmt.Sprintf("port %d has no WRCC, which the fabric's switches are for: plans for it will be refused", ref.Port))
		}
		if at >= 0 && len(faults) == 0 {
			faults = append(faults, c.clockOf(ctx, ref)...)
		}
	}
	return faults, true
}

// maxClockOff is how far a host's clock may be off before it is told: certificates live for days, logs are compared by minutes.
const maxClockOff = 5 * time.Minute

// clockOf tells when a host's clock is off. Without TLS it is not asked: nothing is judged by it then, and simulated fabrics have a
// time of their own.
func (c *etherCensus) clockOf(ctx context.Context, ref subnet.PortRef) []string {
	if c.k.file.TLS == nil {
		return nil
	}
	r, err := c.driver.gnmi.ReadCounters(ctx, portDevice(c.k.fabric, ref, c.plane))
	if err != nil {
		return nil // who measures is told why
	}
	off := time.Until(r.At).Round(time.Second)
	if off.Abs() <= maxClockOff {
		return nil
	}
	way := "ahead of"
	if off < 0 {
		way = "behind"
	}
	return []string{fmt.Sprintf("its clock is %s %s ours: certificates are judged by it; set both by the same time servers", off.Abs(), way)}
}

// idsOf lists ports for people.
func idsOf(list []gnmi.HostPort) string {
	if len(list) == 0 {
		return "none"
	}
	ids := make([]string, len(list))
	for i, p := range list {
		ids[i] = p.ID.String()
	}
	return firstNames(ids)
}

// askSwitch asks a switch what it can be told.
func (c *etherCensus) askSwitch(ctx context.Context, node int32, e inventory.Endpoint) (faults []string, answered bool) {
	f := c.k.fabric
	dev := switchDevice(f, node, c.plane)
	caps, err := c.driver.Capabilities(ctx, dev)
	var other *driver.IdentityError
	if errors.As(err, &other) {
		return []string{other.Reason()}, true
	}
	if err != nil {
		return []string{fmt.Sprintf("the switch at %s does not say who it is: %v", e.Address, err)}, false
	}
	has := 0
	switch {
	case caps.Queues != nil:
		has = caps.Queues.Ports
	case caps.WRCC != nil:
		has = caps.WRCC.Ports
	}
	if used := lastLinked(f, node); has < used {
		faults = append(faults, fmt.Sprintf("the switch at %s is another one: it has %d ports, the fabric file has a link at port %d", e.Address, has, used))
	}
	if e.Protocol != inventory.P4Runtime {
		faults = append(faults, c.preflight(ctx, dev)...)
	}
	return faults, true
}

// preflight lists what of a switch is not as plans take it for granted.
func (c *etherCensus) preflight(ctx context.Context, dev driver.Device) (faults []string) {
	list, err := c.driver.gnmi.Preflight(ctx, dev, gnmi.Expectation{DSCP: policy.RoCEDSCP, Queue: policy.RoCEQueue, Lossless: true})
	if err != nil {
		return []string{fmt.Sprintf("its classes of service cannot be read: %v", err)}
	}
	for _, f := range list {
		switch f.Code {
		case gnmi.FindingUnknown, gnmi.FindingGuarded: // not a fault
		default:
			faults = append(faults, f.Code+": "+f.Text)
		}
	}
	return faults
}

// lastLinked is the highest port of a node with a link.
func lastLinked(f *subnet.Fabric, node int32) int {
	for num := len(f.Nodes[node].Ports) - 1; num > 0; num-- {
		if l, _ := f.Link(subnet.PortRef{Node: node, Port: ident.PortNum(num)}); l != nil {
			return num
		}
	}
	return 0
}
