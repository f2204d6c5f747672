package gnmi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"fairlane/ccconfig/driver"
	"fairlane/ccconfig/ecn"
	"fairlane/subnet/ident"
)

// maxASICs is the largest number of ASICs of one switch.
const maxASICs = 64

// sonicSwitch is the dialect of switches with SONiC's native paths. A switch with several ASICs has databases for each (asic0, …), and
// each ASIC configures its own ports. Where the ASICs have virtual output queues, each marks packets for the ports of all.
type sonicSwitch struct {
	s     *session
	asics []asicView // nil until known
	bare  bool       // the switch showed no ports, so that its ASICs are not known yet
	known time.Time  // time at which the ASICs were found
}

// layoutAge is the time for which the ports of the ASICs are assumed not to change, except before writes. The switch splits and joins ports at
// run time, which changes the numbers of others.
const layoutAge = time.Minute

// asicView is an ASIC of a switch.
type asicView struct {
	// queues reads and writes rows of QUEUE: of the ASIC's own ports, or of all ports if it has virtual output queues.
	queues *sonic
	local  *sonic          // its own ports
	ports  []ident.PortNum // number on the switch of its own ports, from its port 1 on
}

func newSONiCSwitch(s *session) *sonicSwitch { return &sonicSwitch{s: s} }

// single reports whether the numbers of ports are the same on the ASIC and on the switch, and there is no other ASIC to ask.
func (c *sonicSwitch) single() bool {
	return len(c.asics) == 1 && c.asics[0].queues == c.asics[0].local
}

// layout finds the ASICs of the switch.
func (c *sonicSwitch) layout(ctx context.Context, dev driver.Device) error {
	type found struct {
		at string // instance
		t  map[string]table
	}
	var all []found
	look := func(at string) (bool, error) {
		t, err := newSONiC(c.s, asicPlace{instance: at}).tables(ctx, dev, configDB, "PORT", "DEVICE_METADATA")
		if err != nil {
			return false, err
		}
		if len(t["PORT"]) == 0 {
			return false, nil
		}
		all = append(all, found{at, t})
		return true, nil
	}
	ok, err := look(instance)
	if err != nil {
		return err
	}
	for i := 0; !ok && i < maxASICs; i++ {
		there, err := look(fmt.Sprintf("asic%d", i))
		if k := driver.KindOf(err); err != nil && (errors.Is(k, driver.ErrUnreachable) || errors.Is(k, driver.ErrBusy)) {
			return err
		}
		if err != nil || !there { // servers differ in their error for an instance that does not exist
			break
		}
	}
	if c.bare = len(all) == 0; c.bare { // every operation then says that there is no table PORT
		one := newSONiC(c.s, asicPlace{instance: instance})
		c.asics = []asicView{{queues: one, local: one}}
		return nil
	}
	var names []string
	owners := map[string]string{}
	for _, f := range all {
		for _, name := range portNames(f.t["PORT"]) {
			if _, twice := owners[name]; twice {
				return fmt.Errorf("%w: %s: port %s is in table PORT of two ASICs, want one", driver.ErrInvalid, dev, name)
			}
			names = append(names, name)
			owners[name] = asicName(f.at, f.t["DEVICE_METADATA"]["localhost"])
		}
	}
	slices.SortFunc(names, compareNames)
	views := make([]asicView, len(all))
	for i, f := range all {
		views[i] = view(c.s, f.at, f.t, names, owners, len(all) > 1)
	}
	if len(names) > driver.MaxSwitchPorts && (len(views) > 1 || views[0].voq()) {
		return fmt.Errorf("%w: %s has %d front ports, want at most %d", driver.ErrInvalid, dev, len(names), driver.MaxSwitchPorts)
	}
	if c.known = time.Now(); !slices.EqualFunc(c.asics, views, asicView.same) { // equal ones keep what they remember
		c.asics = views
	}
	return nil
}

// same reports whether two views have the same ports.
func (v asicView) same(o asicView) bool {
	return slices.Equal(v.ports, o.ports) && reflect.DeepEqual(v.local.at, o.local.at) && reflect.DeepEqual(v.queues.at, o.queues.at)
}

// asicName returns the name of an ASIC in keys of virtual output queues.
func asicName(at string, metadata row) string {
	if name := metadata["asic_name"]; name != "" {
		return name
	}
	if at == instance {
		return "Asic0"
	}
	return at
}

// view returns the view of an ASIC, given the front ports of all.
func view(s *session, at string, t map[string]table, names []string, owners map[string]string, several bool) asicView {
	metadata := t["DEVICE_METADATA"]["localhost"]
	own := portNames(t["PORT"])
	var v asicView
	for _, name := range own {
		v.ports = append(v.ports, ident.PortNum(slices.Index(names, name)+1)) // at most MaxSwitchPorts
	}
	place := asicPlace{instance: at}
	if several {
		place.names = own
	}
	if metadata["switch_type"] == "voq" {
		place.names = own
		place.voq = &voqKeys{host: metadata["hostname"], asic: asicName(at, metadata), owners: owners}
		all := place
		all.names = names
		v.local, v.queues = newSONiC(s, place), newSONiC(s, all)
		v.local.writeMemory = v.queues.writeMemory
		return v
	}
	v.local = newSONiC(s, place)
	v.queues = v.local
	return v
}

// on returns the device of an ASIC: its ports among the first ones of the switch.
func (v *asicView) on(dev driver.Device) driver.Device {
	n := 0
	for n < len(v.ports) && int(v.ports[n]) <= dev.Ports {
		n++
	}
	dev.Ports = n
	return dev
}

// begin finds the ASICs, and verifies that they have the ports of the inventory. Their ports may be layoutAge old, except for writes.
func (c *sonicSwitch) begin(ctx context.Context, dev driver.Device, writes bool) error {
	global := c.single() && !c.bare && c.asics[0].local.at.instance == instance // whose ports are read with each access
	due := writes || c.bare || time.Since(c.known) >= layoutAge || c.frontPorts() < dev.Ports
	if due && !global {
		if err := c.layout(ctx, dev); err != nil {
			return err
		}
	}
	if n := c.frontPorts(); n < dev.Ports && !c.single() {
		return fmt.Errorf("%w: %s has %d front ports on %d ASICs, want the %d of the inventory", driver.ErrInvalid, dev, n, len(c.asics), dev.Ports)
	}
	return nil
}

func (c *sonicSwitch) frontPorts() int {
	n := 0
	for i := range c.asics {
		n += len(c.asics[i].ports)
	}
	return n
}

// voq reports whether each ASIC has queues for the ports of all.
func (v *asicView) voq() bool { return v.queues != v.local }

// number returns the number of a port of an ASIC on the switch.
func (v *asicView) number(p ident.PortNum) ident.PortNum {
	if p < 1 || int(p) > len(v.ports) {
		return 0
	}
	return v.ports[p-1]
}

// queueDevice returns the device of the ASIC's rows of QUEUE.
func (v *asicView) queueDevice(dev driver.Device) driver.Device {
	if v.voq() {
		return dev
	}
	return v.on(dev)
}

// queueNumber is number for the ASIC's rows of QUEUE.
func (v *asicView) queueNumber(p ident.PortNum) ident.PortNum {
	if v.voq() {
		return p
	}
	return v.number(p)
}

func (c *sonicSwitch) capabilities(ctx context.Context, dev driver.Device) (driver.Capabilities, error) {
	if err := c.begin(ctx, dev, false); err != nil {
		return driver.Capabilities{}, err
	}
	if c.single() {
		return c.asics[0].queues.capabilities(ctx, dev)
	}
	q := &driver.QueueCapabilities{Queues: ecn.MaxQueue + 1}
	for i := range c.asics {
		v := &c.asics[i]
		one, err := v.queues.capabilities(ctx, v.queueDevice(dev))
		if err != nil {
			return driver.Capabilities{}, err
		}
		q.Ports += len(v.ports)
		q.Profiles = max(q.Profiles, one.Queues.Profiles)
		q.Marked = append(q.Marked, one.Queues.Marked...)
		for _, w := range one.Queues.Weighted {
			w.Port = v.queueNumber(w.Port)
			q.Weighted = append(q.Weighted, w)
		}
	}
	slices.Sort(q.Marked)
	q.Marked = slices.Compact(q.Marked)
	slices.SortFunc(q.Weighted, func(a, b driver.PortQueues) int { return cmp.Compare(a.Port, b.Port) })
	return driver.Capabilities{Queues: q}, nil
}

// read returns the marking that every ASIC with a queue for the port has, and the weights of the ASIC that owns the port.
func (c *sonicSwitch) read(ctx context.Context, dev driver.Device) (driver.Settings, error) {
	if err := c.begin(ctx, dev, false); err != nil {
		return driver.Settings{}, err
	}
	if c.single() {
		return c.asics[0].queues.read(ctx, dev)
	}
	count := map[ecn.QueueMarking]int{}
	out := &driver.QueueState{}
	for i := range c.asics {
		v := &c.asics[i]
		one, err := v.queues.read(ctx, v.queueDevice(dev))
		if err != nil {
			return driver.Settings{}, err
		}
		for _, m := range one.Queues.Marking {
			m.Port = v.queueNumber(m.Port)
			if count[m]++; !v.voq() || count[m] == len(c.asics) {
				out.Marking = append(out.Marking, m)
			}
		}
		for _, w := range one.Queues.Weights {
			w.Port = v.queueNumber(w.Port)
			out.Weights = append(out.Weights, w)
		}
	}
	out.Sort()
	return driver.Settings{Queues: out}, nil
}

// part returns the settings of an ASIC, by its own numbers of ports.
func (v *asicView) part(want *driver.QueueState) *driver.QueueState {
	out := &driver.QueueState{}
	for _, m := range want.Marking {
		if v.voq() {
			out.Marking = append(out.Marking, m)
		} else if i := slices.Index(v.ports, m.Port); i >= 0 {
			m.Port = ident.PortNum(i + 1) // at most MaxSwitchPorts
			out.Marking = append(out.Marking, m)
		}
	}
	for _, w := range want.Weights {
		i := slices.Index(v.ports, w.Port)
		if i < 0 {
			continue
		}
		if !v.voq() {
			w.Port = ident.PortNum(i + 1) // at most MaxSwitchPorts
		}
		out.Weights = append(out.Weights, w)
	}
	return out
}

// apply plans the changes of all ASICs, and then sends one Set to each. An ASIC that fails stops the rest.
func (c *sonicSwitch) apply(ctx context.Context, dev driver.Device, want driver.Settings) (driver.Receipt, error) {
	if err := c.begin(ctx, dev, true); err != nil {
		return driver.Receipt{}, driver.Unsent(err)
	}
	if c.single() {
		return c.asics[0].queues.apply(ctx, dev, want)
	}
	sets := make([]*sonicSet, len(c.asics))
	for i := range c.asics {
		v := &c.asics[i]
		var err error
		if sets[i], err = v.queues.prepare(ctx, v.queueDevice(dev), v.part(want.Queues)); err != nil {
			return driver.Receipt{}, err
		}
	}
	var r mergedReceipt
	var failed error
	for i, set := range sets {
		v := &c.asics[i]
		if failed != nil {
			r.add(receiptOf(set.change, set.want, driver.OutcomeSkipped, nil), v.queueNumber)
			continue
		}
		one, err := v.queues.send(ctx, v.queueDevice(dev), set)
		r.add(one, v.queueNumber)
		failed = err
	}
	return r.Receipt, failed
}

// mergedReceipt is the receipt of several ASICs. A field that several have gets the worst outcome.
type mergedReceipt struct{ driver.Receipt }

// outcomes orders outcomes from best to worst.
var outcomes = []driver.Outcome{driver.OutcomeUnchanged, driver.OutcomeAcknowledged, driver.OutcomeSkipped, driver.OutcomeSent, driver.OutcomeRefused}

func (r *mergedReceipt) add(of driver.Receipt, number func(ident.PortNum) ident.PortNum) {
	for _, f := range of.Fields {
		var p, q int
		if n, _ := fmt.Sscanf(f.Field, "queues[%d/%d]", &p, &q); n == 2 {
			own := queueKey{ident.PortNum(p), uint8(q)} // from a receipt of this driver
			as := queueKey{number(own.port), own.queue}
			f.Field = "queues[" + as.String() + f.Field[len("queues[")+len(own.String()):]
		}
		i := slices.IndexFunc(r.Fields, func(have driver.FieldReceipt) bool { return have.Field == f.Field })
		switch {
		case i < 0:
			r.Fields = append(r.Fields, f)
		case slices.Index(outcomes, f.Outcome) > slices.Index(outcomes, r.Fields[i].Outcome):
			r.Fields[i] = f
		}
	}
}

func (c *sonicSwitch) preflight(ctx context.Context, dev driver.Device, classes []Expectation) ([]Finding, error) {
	if err := c.begin(ctx, dev, false); err != nil {
		return nil, err
	}
	var out findings
	var ports []string
	out.nameless(c.s)
	for i := range c.asics {
		v, on := &c.asics[i], dev
		if !c.single() {
			on = v.on(dev)
		}
		if on.Ports == 0 {
			continue
		}
		names, err := v.local.preflight(ctx, on, classes, &out)
		if err != nil {
			return nil, err
		}
		ports = append(ports, names...)
	}
	if err := c.uneven(ctx, dev, classes, &out); err != nil {
		return nil, err
	}
	slices.SortFunc(ports, compareNames)
	for i := range out.list {
		slices.SortFunc(out.list[i].Ports, compareNames)
	}
	return out.listed(ports), nil
}

// uneven adds queues that some ASICs mark and others do not, or not alike.
func (c *sonicSwitch) uneven(ctx context.Context, dev driver.Device, classes []Expectation, out *findings) error {
	if len(c.asics) < 2 || !c.asics[0].voq() {
		return nil
	}
	by := make([]map[queueKey]ecn.Marking, len(c.asics))
	var names []string
	for i := range c.asics {
		m, err := c.asics[i].queues.survey(ctx, dev)
		if err != nil {
			return err
		}
		names, by[i] = m.ports, map[queueKey]ecn.Marking{}
		for _, q := range m.observed() {
			by[i][queueKey{q.Port, q.Queue}] = q.Marking
		}
	}
	for port := 1; port <= dev.Ports; port++ {
		for _, x := range classes {
			k := queueKey{ident.PortNum(port), x.Queue} // at most MaxSwitchPorts
			for i := range by {
				if by[i][k] != by[0][k] {
					out.add(FindingVOQ, names[port-1], fmt.Sprintf("queue %d has other marking on %s than on %s, so that packets are marked by where they enter: set the profile of the queue on every ASIC", x.Queue, c.asics[i].queues.at.instance, c.asics[0].queues.at.instance))
				}
			}
		}
	}
	return nil
}

func (c *sonicSwitch) scheduling(ctx context.Context, dev driver.Device) ([]PortSchedule, error) {
	if err := c.begin(ctx, dev, false); err != nil {
		return nil, err
	}
	if c.single() {
		return c.asics[0].local.scheduling(ctx, dev)
	}
	var out []PortSchedule
	for i := range c.asics {
		v := &c.asics[i]
		list, err := v.local.scheduling(ctx, v.on(dev))
		if err != nil {
			return nil, err
		}
		for _, p := range list {
			p.Port = v.number(p.Port)
			out = append(out, p)
		}
	}
	slices.SortFunc(out, func(a, b PortSchedule) int { return cmp.Compare(a.Port, b.Port) })
	return out, nil
}

// count reads the counters of the ASIC that owns a port: on other ASICs a virtual output queue counts no marks.
func (c *sonicSwitch) count(ctx context.Context, dev driver.Device, port ident.PortNum, queues []uint8) ([]QueueReading, error) {
	if err := c.begin(ctx, dev, false); err != nil {
		return nil, err
	}
	if c.single() {
		return c.asics[0].local.count(ctx, dev, port, queues)
	}
	var out []QueueReading
	for i := range c.asics {
		v := &c.asics[i]
		own := ident.PortNum(slices.Index(v.ports, port) + 1) // at most MaxSwitchPorts
		if on := v.on(dev); port != 0 && own == 0 || on.Ports == 0 {
			continue
		}
		list, err := v.local.count(ctx, v.on(dev), own, queues)
		if err != nil {
			return nil, err
		}
		for _, q := range list {
			q.Port = v.number(q.Port)
			out = append(out, q)
		}
	}
	slices.SortFunc(out, func(a, b QueueReading) int { return cmp.Or(cmp.Compare(a.Port, b.Port), cmp.Compare(a.Queue, b.Queue)) })
	return out, nil
}
