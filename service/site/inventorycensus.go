package site

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"fairlane/ccconfig/driver"
	"fairlane/ccconfig/gnmi"
	"fairlane/ccconfig/prereq"
	"fairlane/internal/phrase"
	"fairlane/internal/quantity"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/subnet/inventory"
)

// etherCensus queries the identity of every device in an inventory.
type etherCensus struct {
	k      *Inventory
	driver *InventoryDriver
	plane  subnet.Plane
	needs  *prereq.Needs // of plans for RoCE

	mu       sync.Mutex
	asked    int
	answered int
	warnings []etherWarning
	settings int
	vendors  map[string][]string // ports by the vendor of their NIC, as far as agents report one
	progress func(asked, of int)
}

// etherWarning is a fault of one device.
type etherWarning struct {
	node int32
	said phrase.Text
}

// discoverParallel is the number of devices that are queried concurrently.
const discoverParallel = 128

// census queries every device in the inventory concurrently. It records faults, in the order of the fabric's nodes, and
// the number of devices that answered. needs are those of plans for RoCE. progress may be nil.
func (o *Found) census(ctx context.Context, k *Inventory, needs *prereq.Needs, progress func(asked, of int)) error {
	d, err := k.Connect()
	if err != nil {
		return err
	}
	defer func() { _ = d.Close() }() // every device has answered, or will not
	c := &etherCensus{k: k, driver: d, plane: k.plane(), needs: needs, progress: progress}
	var g errgroup.Group
	g.SetLimit(discoverParallel)
	unlisted := 0
	for i := range k.Fabric.Nodes {
		n := &k.Fabric.Nodes[i]
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
	_ = g.Wait() // the warnings have the faults
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("ask the devices of %s: %w", k.path, err)
	}
	c.summarize(o)
	o.Warnings = append(o.Warnings, k.sharedIDs()...)
	if unlisted > 0 {
		o.Warnings = append(o.Warnings, phrase.Of("inventory.unlisted", "n", unlisted, "path", k.path))
	}
	return nil
}

// summarize adds what the devices answered. NICs of several vendors count as settings: all of them answered as expected.
func (c *etherCensus) summarize(o *Found) {
	slices.SortStableFunc(c.warnings, func(a, b etherWarning) int { return int(a.node) - int(b.node) })
	for _, w := range c.warnings {
		o.Warnings = append(o.Warnings, w.said)
	}
	mixed := c.mixedVendors()
	o.Warnings = append(o.Warnings, mixed...)
	o.Answered, o.Settings = c.answered, c.settings+len(mixed)
}

// sharedIDs warns of P4Runtime switches that only their addresses distinguish: P4Runtime does not identify the device
// that answers, but every switch rejects requests with a device_id other than its own. It also warns of nodes that lead
// to the same switch by gNMI.
func (k *Inventory) sharedIDs() (warnings []phrase.Text) {
	by := map[uint64][]string{}
	targets := map[[2]string][]string{}
	for i := range k.Fabric.Nodes {
		n := &k.Fabric.Nodes[i]
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
			warnings = append(warnings, phrase.Of("inventory.same-id", "n", len(names), "id", id, "names", firstNames(names)))
		}
	}
	for _, at := range slices.SortedFunc(maps.Keys(targets), func(a, b [2]string) int { return slices.Compare(a[:], b[:]) }) {
		if names := targets[at]; len(names) > 1 {
			warnings = append(warnings, phrase.Of("inventory.same-target", "n", len(names), "target", strconv.Quote(at[1]), "address", at[0], "names", firstNames(names)))
		}
	}
	return warnings
}

// firstNames lists the first few names.
func firstNames(names []string) phrase.Text { return phrase.Names(names, len(names), 4) }

// ask queries one node.
func (c *etherCensus) ask(ctx context.Context, node int32, e inventory.Endpoint) {
	if ctx.Err() != nil {
		return
	}
	f := c.k.Fabric
	var faults, settings []phrase.Text
	var answered bool
	if f.Nodes[node].Kind == subnet.KindSwitch {
		faults, settings, answered = c.askSwitch(ctx, node, e)
	} else {
		faults, settings, answered = c.askHost(ctx, node, e)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked++
	if answered {
		c.answered++
	}
	c.settings += len(settings)
	for _, said := range append(faults, settings...) {
		c.warnings = append(c.warnings, etherWarning{node, phrase.Of("labelled", "label", f.Nodes[node].Name, "text", said)})
	}
	if c.progress != nil {
		c.progress(c.asked, len(c.k.devices))
	}
}

// askHost queries the agent of a host for its ports. Settings that do not meet a plan's prerequisites are counted apart
// from other faults.
func (c *etherCensus) askHost(ctx context.Context, node int32, e inventory.Endpoint) (faults, settings []phrase.Text, answered bool) {
	f := c.k.Fabric
	n := &f.Nodes[node]
	var ports []subnet.PortRef // with a link
	for num := range n.Ports {
		ref := subnet.PortRef{Node: node, Port: ident.PortNum(num)}
		if l, _ := f.Link(ref); l != nil {
			ports = append(ports, ref)
		}
	}
	if len(ports) == 0 {
		return nil, nil, true // no port of it belongs to the fabric
	}
	list, err := c.driver.gnmi.HostPorts(ctx, driver.PortDevice(f, ports[0], c.plane))
	if err != nil {
		return []phrase.Text{phrase.Of("inventory.agent-unidentified", "address", e.Address, "reason", err)}, nil, false
	}
	for _, ref := range ports {
		link, _ := f.Link(ref)
		at := slices.IndexFunc(list, func(p gnmi.HostPort) bool { return p.ID == f.PortID(ref) })
		switch {
		case at < 0:
			faults = append(faults, phrase.Of("inventory.other-host", "address", e.Address, "port", f.PortID(ref), "ports", idsOf(list)))
		case !list[at].Up:
			faults = append(faults, phrase.Of("inventory.no-link", "port", ref.Port))
		case list[at].SpeedMbps > 0 && quantity.BitRate(list[at].SpeedMbps)*quantity.Mbps != link.Rate:
			faults = append(faults, phrase.Of("inventory.speed", "port", ref.Port, "speed", quantity.BitRate(list[at].SpeedMbps)*quantity.Mbps, "file", link.Rate))
		}
		if at >= 0 && c.plane == driver.PlaneWRCC && list[at].Senders == 0 {
			faults = append(faults, phrase.Of("inventory.no-wrcc", "port", ref.Port))
		}
		if at >= 0 && len(faults) == 0 {
			faults = append(faults, c.clockOf(ctx, ref)...)
		}
		if at >= 0 && c.plane == driver.PlaneRoCE {
			settings = append(settings, c.prerequisites(ctx, ref)...)
		}
	}
	return faults, settings, true
}

// prerequisites lists the prerequisites of DCQCN that a port does not meet, or whose state is unknown.
func (c *etherCensus) prerequisites(ctx context.Context, ref subnet.PortRef) (faults []phrase.Text) {
	dev := driver.PortDevice(c.k.Fabric, ref, c.plane)
	got, err := c.driver.Read(ctx, dev)
	if err != nil {
		return []phrase.Text{phrase.Of("inventory.prereq-unknown", "port", ref.Port, "reason", err)}
	}
	if got.NIC != nil && got.NIC.Algorithm != nil {
		c.countVendor(got.NIC.Algorithm.Name.Vendor(), dev.Name)
	}
	for _, item := range prereq.Unmet(driver.Examine(ctx, c.driver, dev, got, c.needs)) {
		faults = append(faults, phrase.Of("inventory.port", "port", ref.Port, "text", item.Sentence()))
	}
	return faults
}

// maxClockOff is the largest deviation of a host's clock that is not reported: certificates are valid for days, and
// logs are compared by minutes.
const maxClockOff = 5 * time.Minute

// clockOf reports a deviating clock of a host. Without TLS nothing depends on the clock, and simulated fabrics have
// their own time, so it is not queried.
func (c *etherCensus) clockOf(ctx context.Context, ref subnet.PortRef) []phrase.Text {
	if c.k.file.TLS == nil {
		return nil
	}
	r, err := c.driver.gnmi.ReadCounters(ctx, driver.PortDevice(c.k.Fabric, ref, c.plane))
	if err != nil {
		return nil // a measurement reports the reason
	}
	off := time.Until(r.At).Round(time.Second)
	if off.Abs() <= maxClockOff {
		return nil
	}
	if off < 0 {
		return []phrase.Text{phrase.Of("inventory.clock-behind", "off", off.Abs())}
	}
	return []phrase.Text{phrase.Of("inventory.clock-ahead", "off", off)}
}

// idsOf lists ports for a message.
func idsOf(list []gnmi.HostPort) phrase.Text {
	if len(list) == 0 {
		return phrase.Of("none")
	}
	ids := make([]string, len(list))
	for i, p := range list {
		ids[i] = p.ID.String()
	}
	return firstNames(ids)
}

// askSwitch reads the capabilities of a switch, as askHost does.
func (c *etherCensus) askSwitch(ctx context.Context, node int32, e inventory.Endpoint) (faults, settings []phrase.Text, answered bool) {
	f := c.k.Fabric
	dev := driver.SwitchDevice(f, node, c.plane)
	caps, err := c.driver.Capabilities(ctx, dev)
	var other *driver.IdentityError
	if errors.As(err, &other) {
		return []phrase.Text{phrase.Verbatim(other.Reason())}, nil, true
	}
	if err != nil {
		return []phrase.Text{phrase.Of("inventory.switch-unidentified", "address", e.Address, "reason", err)}, nil, false
	}
	has := 0
	switch {
	case caps.Queues != nil:
		has = caps.Queues.Ports
	case caps.WRCC != nil:
		has = caps.WRCC.Ports
	}
	if used := lastLinked(f, node); has < used {
		faults = append(faults, phrase.Of("inventory.other-switch", "address", e.Address, "ports", has, "port", used))
	}
	if e.Protocol != inventory.P4Runtime {
		settings = c.preflight(ctx, dev)
	}
	return faults, settings, true
}

// preflight lists the settings of a switch that do not meet a plan's prerequisites.
func (c *etherCensus) preflight(ctx context.Context, dev driver.Device) (faults []phrase.Text) {
	list, err := c.driver.gnmi.Preflight(ctx, dev, gnmi.Expect(*c.needs)...)
	if err != nil {
		return []phrase.Text{phrase.Of("inventory.classes-unread", "reason", err)}
	}
	for _, f := range list {
		switch f.Code {
		case gnmi.FindingUnknown, gnmi.FindingGuarded: // not a fault
		default:
			faults = append(faults, phrase.Of("labelled", "label", f.Code, "text", f.Text))
		}
	}
	return faults
}

// lastLinked returns the highest port of a node with a link.
func lastLinked(f *subnet.Fabric, node int32) int {
	for num := len(f.Nodes[node].Ports) - 1; num > 0; num-- {
		if l, _ := f.Link(subnet.PortRef{Node: node, Port: ident.PortNum(num)}); l != nil {
			return num
		}
	}
	return 0
}
