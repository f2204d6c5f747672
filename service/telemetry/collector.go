package telemetry

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"fairlane/internal/phrase"
	"fairlane/internal/quantity"
	"fairlane/subnet/ident"
	"fairlane/subnet/mad"
)

// Options configure a Collector. The zero value suits hardware without a CC_Key.
type Options struct {
	CCKey mad.Key  // for TimeStamp; never logged
	SL    ident.SL // of the management traffic
	// Parallel is the number of devices read concurrently, 1 to 4096; 0 means 64.
	Parallel int
	// TimeScale is device seconds per wall second: 1 on hardware (0 means 1), the pace of a simulated fabric otherwise,
	// from 1e-9 to 1e9.
	TimeScale float64
	// Patience multiplies how long the collector waits for a clock that advances; the base is a tenth of the TimeScale.
	// Use more than 1 (0 means 1) for a simulated fabric on a busy machine.
	Patience int
	// KeepCounters forbids clearing the per-SL counters, for fabrics where another tool measures with them. A counter
	// that saturates can then no longer be measured from 16 GiB after its last clear.
	KeepCounters bool
	// Clears records when a CongestionWatch clears counters, for the PortWatches of the same fabric; nil records nothing.
	Clears *Clears
}

// Collector reads the counters of a set of ports. It is safe for concurrent use; concurrent readings run one after the
// other.
type Collector struct {
	agents

	mu      sync.Mutex // held during a reading
	devices []*device  // by LID
	ports   int
}

// device is the agent that keeps the counters of some ports.
type device struct {
	timekeeper

	ports []*portMeter
}

type portMeter struct {
	Port

	meter   meter
	noSL    bool       // has no PortXmitDataSL
	noClear bool       // cannot clear it
	out     PortSample // of the current reading
}

// New returns a collector for the ports, which it copies. It fails on options or ports out of range, on a duplicate port,
// and without ports.
func New(t mad.Transport, ports []Port, o Options) (*Collector, error) {
	x, err := newAgents(t, o)
	if err != nil {
		return nil, err
	}
	if len(ports) == 0 {
		return nil, errors.New("no ports to measure: want at least one")
	}
	ports = slices.Clone(ports)
	sortPorts(ports)
	c := &Collector{agents: x, ports: len(ports)}
	for i, p := range ports {
		if err := p.validate(); err != nil {
			return nil, err
		}
		if i > 0 && ports[i-1].ID == p.ID {
			return nil, fmt.Errorf("port %s %q: listed twice", p.ID, p.Name)
		}
		if i == 0 || ports[i-1].LID != p.LID {
			c.devices = append(c.devices, &device{timekeeper: timekeeper{lid: p.LID}})
		}
		d := c.devices[len(c.devices)-1]
		d.ports = append(d.ports, &portMeter{Port: p, meter: meter{rate: p.Rate}})
	}
	return c, nil
}

// Format prints the purpose of the collector for every verb: package fmt would otherwise print unexported fields, and
// bypass the methods that hide a key.
func (c *Collector) Format(s fmt.State, _ rune) {
	_, _ = fmt.Fprintf(s, "collector of %d ports", c.ports)
}

// wall returns the wall time of a span of device time at the pace of the fabric, at most a year.
func (o *Options) wall(p quantity.Picoseconds) time.Duration {
	return time.Duration(min(float64(p)/1000/o.TimeScale, float64(365*24*time.Hour)))
}

func (o *Options) complete() error {
	if o.Parallel == 0 {
		o.Parallel = 64
	}
	if o.TimeScale == 0 {
		o.TimeScale = 1
	}
	switch {
	case o.Parallel < 1 || o.Parallel > 4096:
		return fmt.Errorf("devices read in parallel %d: want 1 to 4096", o.Parallel)
	case !(o.TimeScale >= 1e-9 && o.TimeScale <= 1e9):
		return fmt.Errorf("time scale %v: want 1e-9 to 1e9 device seconds per wall second", o.TimeScale)
	case o.SL >= ident.NumSLs:
		return fmt.Errorf("service level %d of management traffic: want 0 to 15", o.SL)
	}
	return nil
}

// Interval returns the wall time within which the next reading must follow so that no counter becomes ambiguous: the
// shortest SafeInterval of the ports, by the time scale.
func (c *Collector) Interval() time.Duration {
	shortest := quantity.Picoseconds(1<<63 - 1)
	for _, d := range c.devices {
		for _, p := range d.ports {
			shortest = min(shortest, SafeInterval(p.Rate))
		}
	}
	return min(max(c.o.wall(shortest), time.Millisecond), 24*time.Hour)
}

// Sample is one reading of all ports of a collector, sorted by agent and port.
type Sample struct {
	Ports []PortSample
}

// PortSample holds the totals of a port since the collector's first reading of it.
type PortSample struct {
	Port Port
	// Err says why this reading is unusable.
	Err error
	// Time is the device's clock at the middle of the reading and Width how long it took.
	Time, Width quantity.Picoseconds
	// Wall says that Time is the scaled wall clock, since the device has no TimeStamp.
	Wall bool
	NoSL bool // the device does not count by SL

	totals totals
}

// Sample reads all ports once. A port that cannot be read carries its own error; Sample fails
// only when the context ends.
func (c *Collector) Sample(ctx context.Context) (*Sample, error) {
	return c.sample(ctx, 0)
}

// sample is Sample, with repeated readings: it reads a port again, up to maxReadings times, while the reading took longer
// than width of device time. 0 accepts the first.
func (c *Collector) sample(ctx context.Context, width quantity.Picoseconds) (*Sample, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := each(ctx, c.devices, c.o.Parallel, func(d *device) { c.readDevice(ctx, d, width) }); err != nil {
		return nil, fmt.Errorf("read counters: %w", err)
	}
	s := &Sample{Ports: make([]PortSample, 0, c.ports)}
	for _, d := range c.devices {
		for _, p := range d.ports {
			s.Ports = append(s.Ports, p.out)
		}
	}
	return s, nil
}

// maxReadings bounds the readings of a port for one sample. They are repeated when a reading takes so long that the time
// of its counters is too uncertain.
const maxReadings = 10

// readDevice reads the ports of one device, with a TimeStamp before, between and after them. After one request without an
// answer it skips the device's other ports.
func (c *Collector) readDevice(ctx context.Context, d *device, width quantity.Picoseconds) {
	before, err := c.now(ctx, d)
	for _, p := range d.ports {
		p.out = PortSample{Port: p.Port, Wall: d.noTime, Err: err}
		for try := 0; err == nil && try < maxReadings; try++ {
			before, err = c.readPort(ctx, d, p, before)
			if width == 0 || p.out.Err != nil || p.out.Width <= width {
				break
			}
		}
	}
}

// readPort reads one port after the device's time before, and returns the time after. An error means that the device no
// longer answers.
func (c *Collector) readPort(ctx context.Context, d *device, p *portMeter, before quantity.Picoseconds) (quantity.Picoseconds, error) {
	r, err := c.reading(ctx, d, p, before)
	if err != nil {
		p.out.Err = err
		return before, silence(err)
	}
	p.meter.observe(r)
	if !c.o.KeepCounters && !p.noClear && p.meter.needsClear() {
		r, err = c.restart(ctx, d, p, r)
	}
	p.out = PortSample{Port: p.Port, Wall: d.noTime, NoSL: p.noSL, Time: r.middle(), Width: r.width(), totals: p.meter.totals}
	return r.after, err
}

// silence returns an error when the device no longer answers, nil when the error concerns one port.
func silence(err error) error {
	if errors.Is(err, mad.ErrTimeout) {
		return err
	}
	return nil
}

// restart clears the counters of a port after the reading last, and takes and returns a new reading as baseline: traffic
// in between is not counted. When it cannot clear, it returns last, and the next reading is the baseline.
func (c *Collector) restart(ctx context.Context, d *device, p *portMeter, last reading) (reading, error) {
	err := c.clear(ctx, d, p)
	if unsupported(err) {
		p.noClear = true
		return last, nil
	}
	if err == nil {
		var r reading
		if r, err = c.reading(ctx, d, p, last.after); err == nil {
			p.meter.restart(r)
			return r, nil
		}
	}
	err = phrase.Because(err, phrase.Of("measure.clear-failed", "reason", err))
	p.meter.breakOff(err)
	return last, silence(err)
}

// reading reads the counters of a port after the device's time before.
func (c *Collector) reading(ctx context.Context, d *device, p *portMeter, before quantity.Picoseconds) (reading, error) {
	r, err := c.counters(ctx, d, p)
	if err != nil {
		return r, err
	}
	r.before = before
	r.after, err = c.now(ctx, d)
	return r, err
}

// counters reads both counter attributes of a port.
func (c *Collector) counters(ctx context.Context, d *device, p *portMeter) (reading, error) {
	r := reading{perSL: !p.noSL}
	ext := mad.PortCountersExtended{PortSelect: p.ID.Port}
	if err := c.perf(ctx, d.lid, mad.MethodGet, mad.AttrPortCountersExtended, &ext); err != nil {
		return r, err
	}
	r.xmit = ext.XmitData
	if p.noSL {
		return r, nil
	}
	sl := mad.PortSLCounters{PortSelect: p.ID.Port}
	err := c.perf(ctx, d.lid, mad.MethodGet, mad.AttrPortXmitDataSL, &sl)
	if unsupported(err) {
		p.noSL, r.perSL = true, false
		return r, nil
	}
	if err != nil {
		return r, err
	}
	r.sl = sl.SL
	return r, nil
}

// unsupported reports whether the agent answered that it lacks the attribute.
func unsupported(err error) bool {
	var status *mad.StatusError
	return errors.As(err, &status) && status.Status.Unsupported()
}

// clear sets the per-SL counters of a port to zero.
func (c *Collector) clear(ctx context.Context, d *device, p *portMeter) error {
	zero := mad.PortSLCounters{PortSelect: p.ID.Port, CounterSelect: 0xffff}
	return c.perf(ctx, d.lid, mad.MethodSet, mad.AttrPortXmitDataSL, &zero)
}

// now reads the clock of a device.
func (c *Collector) now(ctx context.Context, d *device) (quantity.Picoseconds, error) {
	now, jump, err := d.read(ctx, &c.agents)
	if jump != nil {
		for _, p := range d.ports {
			p.meter.breakOff(jump)
		}
	}
	return now, err
}
