package telemetry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"fairlane/internal/quantity"
	"fairlane/policy"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/subnet/mad"
)

// Congestion is the activity of congestion control between two readings of a CongestionWatch.
type Congestion struct {
	Ports   []PortCongestion   // sorted by agent and port
	Tenants []TenantCongestion // in the order of the plan
	// Adapter and Switch are the events counted in the logs of channel adapters and of switches. Missed are those that
	// the logs had already overwritten, Unattributed the logged ones that match no tenant of the plan.
	Adapter, Switch, Missed, Unattributed uint64
	AdapterLogs, SwitchLogs               LogCoverage // coverage of the logs behind Adapter and Switch
	// Events are the latest logged events, oldest first by their position in their log, at most 256.
	Events []CongestionEvent
	// Err joins the read errors other than Ports[i].Err.
	Err error
}

// LogCoverage says how many logs a count of events covers.
type LogCoverage struct {
	Counted int // logs with a usable event counter
	Lacking int // logs that are absent or unreadable, or whose counter is saturated: a count is then a lower bound
}

// Unread counts the ports and logs that are missing in the other counts: unreadable, saturated, or absent on the device.
func (c *Congestion) Unread() (n uint64) {
	for i := range c.Ports {
		if p := &c.Ports[i]; p.Err != nil || p.NoBECN || p.NoVL {
			n++
		}
	}
	return n + uint64(c.AdapterLogs.Lacking) + uint64(c.SwitchLogs.Lacking)
}

// maxCongestionEvents bounds Congestion.Events.
const maxCongestionEvents = 256

// PortCongestion is what one port counted. Values that its device does not count are zero, with a flag set.
type PortCongestion struct {
	Port    Port
	Adapter bool  // of a channel adapter, else of a switch
	Err     error // why the counts are unusable; they are then zero, or too low
	// Elapsed is the time between the readings, on the device's clock, or the scaled wall clock for a device without one.
	Elapsed quantity.Picoseconds
	// BECN counts the notifications received, by SL: requests to slow down. Only channel adapters count it.
	BECN [ident.NumSLs]uint64
	// Wait counts ticks with data to send and no credit; the device defines the length of a tick.
	Wait uint64
	// Congested counts ticks, by VL, in which packets waited while the port was congested. Only switches count it.
	Congested [numDataVLs]uint64
	NoBECN    bool // no PortSLRcvBECN
	NoVL      bool // no PortVLXmitTimeCong
}

// numDataVLs is the number of data lanes.
const numDataVLs = len(mad.PortVLXmitTimeCong{}.VL)

// TenantCongestion is the effect of congestion control on one tenant.
type TenantCongestion struct {
	Tenant string
	BECN   uint64 // notifications received on SLs that only this tenant uses on the port
	Events uint64 // from logs: CCTIs that reached a Trigger_Threshold, and packets that switches marked
}

// CongestionEvent is one entry of a log.
type CongestionEvent struct {
	Port   ident.PortID // the adapter port, or the switch with port 0
	Tenant string       // "" when it matches no tenant of the plan
	SL     ident.SL
	From   ident.LID // sender of a packet that a switch marked; 0 in an adapter's log
	To     ident.LID
	At     quantity.Picoseconds // by the device's clock, since its first reading
}

// CongestionOptions configure a CongestionWatch.
type CongestionOptions struct {
	Options
	// Layout returns the layout of a device's log; nil: as in the annex.
	Layout func(ident.PortID) mad.CCLayout
}

// CongestionWatch reads the congestion counters and logs of the ports of a plan. The plan bounds its memory: it stores
// sums and the last readings, without history. It is safe for concurrent use; concurrent readings run one after the
// other.
type CongestionWatch struct {
	agents

	layout func(ident.PortID) mad.CCLayout
	plan   *policy.Plan
	owners map[slot]string // the only tenant on a counter
	lids   map[ident.LID]ident.PortID

	mu      sync.Mutex
	devices []*congestedDevice // by LID
}

// congestedDevice is an agent with a log and the counters of some ports.
type congestedDevice struct {
	lid   ident.LID
	id    ident.PortID // port 0 for a switch
	kind  subnet.NodeKind
	ports []*congestedPort

	clock   deviceClock
	wall    quantity.Picoseconds // scaled wall time of the last reading
	noLog   bool
	seen    bool
	counter uint16 // of events, at the last reading
	stamp   uint32 // CurrentTimeStamp at the last reading

	silent bool // it did not answer at the last reading
	found  logDelta
}

type congestedPort struct {
	Port

	wait      [1]counter32
	congested [numDataVLs]counter32
	becn      [ident.NumSLs]counter32
	out       PortCongestion
}

// NewCongestionWatch prepares the ports that telemetry measures for a plan. It fails as PortsOf and New do.
func NewCongestionWatch(t mad.Transport, p *policy.Plan, f *subnet.Fabric, o CongestionOptions) (*CongestionWatch, error) {
	x, err := newAgents(t, o.Options)
	if err != nil {
		return nil, err
	}
	ports, err := PortsOf(p, f)
	if err != nil {
		return nil, err
	}
	sortPorts(ports)
	w := &CongestionWatch{agents: x, layout: o.Layout, plan: p, owners: map[slot]string{}, lids: map[ident.LID]ident.PortID{}}
	users := slotUsers(p)
	for _, pl := range p.Placements {
		if s := (slot{pl.Port, pl.SL}); users[s] == 1 {
			w.owners[s] = pl.Tenant
		}
	}
	for i, port := range ports {
		if i == 0 || ports[i-1].LID != port.LID {
			d := &congestedDevice{lid: port.LID, id: port.ID, kind: subnet.KindCA}
			if ref, ok := f.PortByID(port.ID); ok && f.Nodes[ref.Node].Kind == subnet.KindSwitch {
				d.id.Port, d.kind = 0, subnet.KindSwitch
			}
			w.devices = append(w.devices, d)
		}
		d := w.devices[len(w.devices)-1]
		d.ports = append(d.ports, &congestedPort{Port: port, wait: [1]counter32{{sticks: true}}})
	}
	for _, h := range f.Hosts() {
		for num := range f.Nodes[h].Ports {
			ref := subnet.PortRef{Node: h, Port: ident.PortNum(num)}
			if x := f.Port(ref); x != nil && x.LID != 0 {
				for k := range 1 << x.LMC {
					w.lids[x.LID+ident.LID(k)] = f.PortID(ref)
				}
			}
		}
	}
	return w, nil
}

// Format prints the purpose of the watch for every verb, never its key.
func (w *CongestionWatch) Format(s fmt.State, _ rune) {
	_, _ = fmt.Fprintf(s, "watch of the congestion of %d devices", len(w.devices))
}

// Read returns the activity since the last reading; the first reading is the baseline. It fails only when the context
// ends.
func (w *CongestionWatch) Read(ctx context.Context) (*Congestion, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := each(ctx, w.devices, w.o.Parallel, func(d *congestedDevice) { w.readDevice(ctx, d) }); err != nil {
		return nil, fmt.Errorf("read congestion: %w", err)
	}
	return w.sum(), nil
}

// sum combines the devices' readings.
func (w *CongestionWatch) sum() *Congestion {
	c := &Congestion{Tenants: make([]TenantCongestion, len(w.plan.Tenants))}
	at := make(map[string]*TenantCongestion, len(w.plan.Tenants))
	for i, t := range w.plan.Tenants {
		c.Tenants[i].Tenant = t.Tenant
		at[t.Tenant] = &c.Tenants[i]
	}
	for _, d := range w.devices {
		for _, p := range d.ports {
			c.Ports = append(c.Ports, p.out)
			for sl, n := range p.out.BECN {
				if t := at[w.owners[slot{p.ID, ident.SL(sl)}]]; t != nil {
					t.BECN += n
				}
			}
		}
		c.Err = errors.Join(c.Err, d.found.err)
		total, logs := &c.Adapter, &c.AdapterLogs
		if d.kind == subnet.KindSwitch {
			total, logs = &c.Switch, &c.SwitchLogs
		}
		*total += d.found.counted
		if d.noLog || d.found.err != nil || d.found.least {
			logs.Lacking++
		} else {
			logs.Counted++
		}
		c.Missed += d.found.missed
		for _, e := range d.found.events {
			t := at[e.Tenant]
			if t == nil {
				c.Unattributed++
			} else {
				t.Events++
			}
			c.Events = append(c.Events, e)
		}
	}
	slices.SortStableFunc(c.Events, func(a, b CongestionEvent) int { return cmp.Compare(a.At, b.At) })
	if extra := len(c.Events) - maxCongestionEvents; extra > 0 {
		c.Events = slices.Delete(c.Events, 0, extra)
	}
	return c
}

// readDevice reads the log, whose clock also bounds the counters, and then the counters of the ports. After one request
// without an answer it skips the rest of the device, and the device in the next reading: waiting for it takes seconds.
func (w *CongestionWatch) readDevice(ctx context.Context, d *congestedDevice) {
	if d.silent {
		d.silent = false
		d.found = logDelta{err: d.found.err}
		for _, p := range d.ports {
			p.out = PortCongestion{Port: p.Port, Adapter: d.kind == subnet.KindCA, Err: cmp.Or(p.out.Err, d.found.err, ErrUnread)}
		}
		return
	}
	wall := w.elapsed()
	before := d.clock.now
	d.found = w.readLog(ctx, d)
	span := d.clock.now - before
	if d.noLog {
		span = wall - d.wall
	}
	d.wall = wall
	silent := errors.Is(d.found.err, mad.ErrTimeout)
	for _, p := range d.ports {
		p.out = PortCongestion{Port: p.Port, Adapter: d.kind == subnet.KindCA, Elapsed: span}
		if silent {
			p.out.Err = d.found.err
			continue
		}
		most := wordsIn(span, p.Rate) // a tick is at least one word
		first, then := w.readBECN, w.readWait
		if d.kind == subnet.KindSwitch {
			first, then = w.readWait, w.readCongested
		}
		if p.out.Err = first(ctx, d, p, most); p.out.Err == nil {
			p.out.Err = then(ctx, d, p, most)
		}
		if silent = errors.Is(p.out.Err, mad.ErrTimeout); silent {
			d.found.err = errors.Join(d.found.err, p.out.Err)
		}
	}
	d.silent = silent
}

// leastPacketWords is the length of the shortest packet: headers, checks and the following gap, in words of four octets.
const leastPacketWords = 8

// readBECN reads the number of notifications that an adapter port received.
func (w *CongestionWatch) readBECN(ctx context.Context, d *congestedDevice, p *congestedPort, most uint64) error {
	a := mad.PortSLCounters{PortSelect: p.ID.Port}
	err := w.perf(ctx, d.lid, mad.MethodGet, mad.AttrPortSLRcvBECN, &a)
	if unsupported(err) {
		p.out.NoBECN = true
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s: %w", p.Name, err)
	}
	err = advanceAll(p.becn[:], a.SL[:], most/leastPacketWords, p.out.BECN[:])
	zero := mad.PortSLCounters{PortSelect: p.ID.Port}
	zero.CounterSelect = w.highs(p.becn[:])
	if zero.CounterSelect != 0 {
		err = errors.Join(err, w.clear(ctx, d, p, mad.AttrPortSLRcvBECN, &zero, p.becn[:], zero.CounterSelect))
	}
	return named(p, "PortSLRcvBECN", err)
}

// readWait reads how long a port had data to send and no credit.
func (w *CongestionWatch) readWait(ctx context.Context, d *congestedDevice, p *congestedPort, most uint64) error {
	c := mad.PortCounters{PortSelect: p.ID.Port}
	if err := w.perf(ctx, d.lid, mad.MethodGet, mad.AttrPortCounters, &c); err != nil {
		return fmt.Errorf("%s: %w", p.Name, err)
	}
	var moved [1]uint64
	err := advanceAll(p.wait[:], []uint32{c.XmitWait}, most, moved[:])
	p.out.Wait = moved[0]
	if select2 := w.highs(p.wait[:]); select2 != 0 {
		zero := mad.PortCounters{PortSelect: p.ID.Port, CounterSelect2: uint8(select2)}
		err = errors.Join(err, w.clear(ctx, d, p, mad.AttrPortCounters, &zero, p.wait[:], select2))
	}
	return named(p, "PortXmitWait", err)
}

// readCongested reads how long a switch port was congested.
func (w *CongestionWatch) readCongested(ctx context.Context, d *congestedDevice, p *congestedPort, most uint64) error {
	v := mad.PortVLXmitTimeCong{PortSelect: p.ID.Port}
	err := w.perf(ctx, d.lid, mad.MethodGet, mad.AttrPortVLXmitTimeCong, &v)
	if unsupported(err) {
		p.out.NoVL = true
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s: %w", p.Name, err)
	}
	err = advanceAll(p.congested[:], v.VL[:], most, p.out.Congested[:])
	zero := mad.PortVLXmitTimeCong{PortSelect: p.ID.Port, CounterSelect: w.highs(p.congested[:])}
	if zero.CounterSelect != 0 {
		err = errors.Join(err, w.clear(ctx, d, p, mad.AttrPortVLXmitTimeCong, &zero, p.congested[:], zero.CounterSelect))
	}
	return named(p, "PortVLXmitTimeCong", err)
}

// named adds the port and attribute to an error; nil stays nil.
func named(p *congestedPort, what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %s: %w", p.Name, what, err)
}

// highs returns the counters to clear before they saturate, one bit each.
func (w *CongestionWatch) highs(cs []counter32) (selected uint16) {
	for i := range cs {
		if !w.o.KeepCounters && cs[i].high() {
			selected |= 1 << i
		}
	}
	return selected
}

// clear sets the selected counters to zero.
func (w *CongestionWatch) clear(ctx context.Context, d *congestedDevice, p *congestedPort, id mad.AttrID, zero mad.Attribute, cs []counter32, selected uint16) error {
	defer w.o.Clears.begin(clearKey{d.lid, p.ID.Port, id})()
	if err := w.perf(ctx, d.lid, mad.MethodSet, id, zero); err != nil {
		return fmt.Errorf("clear: %w", err)
	}
	for i := range cs {
		if selected&(1<<i) != 0 {
			cs[i].cleared()
		}
	}
	return nil
}
