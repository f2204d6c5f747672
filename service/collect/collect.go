// Package collect measures managed fabrics all the time and keeps what it finds as series. Each fabric is measured by one manager, which
// holds a lease; when the manager fails, another takes over the fabric.
package collect

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"fairlane/service/control"
	"fairlane/service/series"
	"fairlane/subnet"
)

// UseCases are the use cases that the collector calls.
type UseCases interface {
	// EachFabric calls do for every fabric; it joins the errors, without those of objects that are missing or in conflict.
	EachFabric(ctx context.Context, what string, do func(fabric string) error) error
	// RefreshTarget returns the target of the plan in force on a fabric, and keeps what it can of the prior one.
	RefreshTarget(ctx context.Context, fabric string, prior control.Target) (control.Target, error)
	// LatestTopology returns the fabric as its latest scan found it.
	LatestTopology(ctx context.Context, fabric string) (*subnet.Fabric, error)
	// ObjectiveSet returns the objectives of the fabric's tenants.
	ObjectiveSet(ctx context.Context, fabric string) (control.ObjectiveSet, error)
	// ClaimCollection reports whether this manager is to measure the fabric until the given time.
	ClaimCollection(ctx context.Context, fabric, owner string, until time.Time) (bool, error)
	// Now returns the service's time, which leases bear.
	Now() time.Time
}

// Options configure a Collector.
type Options struct {
	Name   string        // of this manager
	Period time.Duration // between two measurements of a fabric, of wall time, at least MinPeriod
	// AllPorts keeps the counts of every measured port, and not only of those at either end of a contended link.
	AllPorts bool
	Watch    WatchOptions
	// Clock gives the times of samples; nil is UseCases.Now.
	Clock  func() time.Time
	Log    *slog.Logger // nil discards
	Failed func()       // called for each batch that was not stored, or not completely; may be nil
}

// MinPeriod is the shortest period.
const MinPeriod = time.Second

// maxParallel bounds how many fabrics are measured concurrently.
const maxParallel = 8

// Collector measures fabrics periodically. Run may be called once.
type Collector struct {
	use   UseCases
	meter control.Meter
	keep  series.Store
	o     Options
	watch *watchLoop // nil: no ports are watched

	mu     sync.Mutex
	last   map[string]*fabricState
	others map[string]bool // fabrics that other managers measure
}

// fabricState is the state of a fabric after its latest measurement. One goroutine measures a fabric.
type fabricState struct {
	target  control.Target
	failed  bool              // the latest measurement failed
	totals  map[string]totals // by tenant
	counted time.Time         // of the latest measurement in totals

	// Collector.mu guards changes of these, which others read.
	last   time.Time                // until which samples may be appended
	series map[string]series.Sample // by series.Sample.AppendKey
	at     time.Time                // of series
}

// New returns a collector.
func New(u UseCases, m control.Meter, keep series.Store, o Options) (*Collector, error) {
	if o.Period < MinPeriod {
		return nil, fmt.Errorf("period of measurements %v: want at least %v", o.Period, MinPeriod)
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Failed == nil {
		o.Failed = func() {}
	}
	if o.Clock == nil {
		o.Clock = u.Now
	}
	if len(o.Watch.Ports) > 0 && o.Watch.Period < MinPeriod {
		return nil, fmt.Errorf("period of watched ports %v: want at least %v", o.Watch.Period, MinPeriod)
	}
	c := &Collector{use: u, meter: m, keep: keep, o: o, last: map[string]*fabricState{}, others: map[string]bool{}}
	c.watch = newWatchLoop(c, o.Watch)
	return c, nil
}

// Watched returns the number of watched ports by state: "read" and "unread" at the latest reading, "omitted" beyond MaxWatched, and in "unknown" the
// entries of WatchOptions.Ports that match no port.
func (c *Collector) Watched() map[string]int { return c.watch.counts() }

// Run measures until the context ends. Errors of single fabrics are logged, and show as gaps in their series.
func (c *Collector) Run(ctx context.Context) {
	var watch sync.WaitGroup
	defer watch.Wait()
	if c.watch != nil {
		watch.Go(func() { c.watch.run(ctx) })
	}
	tick := time.NewTicker(c.o.Period)
	defer tick.Stop()
	for {
		if err := c.Round(ctx); err != nil && ctx.Err() == nil {
			c.o.Log.Warn("fabrics could not be measured", "error", err.Error())
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// Round measures every fabric that this manager holds once. Fabrics without a plan in force have nothing to measure.
func (c *Collector) Round(ctx context.Context) error {
	var names []string
	err := c.use.EachFabric(ctx, "measure", func(fabric string) error {
		names = append(names, fabric)
		return nil
	})
	if err != nil {
		return err
	}
	c.forget(names)
	c.watch.known(names)
	var wg sync.WaitGroup
	places := make(chan struct{}, maxParallel)
	errs := make([]error, len(names))
	for i, name := range names {
		wg.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			errs[i] = c.fabric(ctx, name)
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// forget drops the state of deleted fabrics.
func (c *Collector) forget(names []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	maps.DeleteFunc(c.last, func(name string, _ *fabricState) bool { return !slices.Contains(names, name) })
	maps.DeleteFunc(c.others, func(name string, _ bool) bool { return !slices.Contains(names, name) })
}

// leasePeriods is how long a lease holds, in periods: a manager that misses this number of rounds loses its fabrics.
const leasePeriods = 3

// fabric measures a fabric and appends what was found. A measurement that fails ends the fabric's series until the next.
func (c *Collector) fabric(ctx context.Context, name string) error {
	until := c.use.Now().Round(0).Add(leasePeriods * c.o.Period) // by the wall clock: that of a suspended machine's process stands still
	mine, err := c.use.ClaimCollection(ctx, name, c.o.Name, until)
	if err != nil {
		return missing(err)
	}
	if !mine {
		c.watch.withdraw(name, false)
		c.mu.Lock()
		delete(c.last, name) // another manager continues the series
		c.others[name] = true
		c.mu.Unlock()
		return nil
	}
	// The first measurement of the next manager stands for a period too, which must not overlap this one's.
	s := c.state(name, until.Add(-c.o.Period))
	t, known, of, err := c.read(ctx, name, s.target)
	switch {
	case ctx.Err() != nil || c.late(name, s):
		return nil // the service ends, or another manager may measure: what is missing is not the fabric's fault
	case missing(err) != nil: // nothing is measured in this round
		c.watch.extend(name, until)
		return errors.Join(err, c.append(ctx, name, s, c.o.Clock(), []series.Sample{coverage(name, 0)}))
	case err != nil:
		c.watch.withdraw(name, true)
		return c.append(ctx, name, s, c.o.Clock(), nil)
	}
	watched := c.watch.offer(name, t, until)
	c.mu.Lock()
	leaveWatched(s.series, watched)
	c.mu.Unlock()
	within, cancel := context.WithTimeout(ctx, c.o.Period)
	defer cancel()
	sh, err := c.meter.Measure(within, t, Window(t.Fabric, c.o.Period))
	at := c.o.Clock()
	if ctx.Err() != nil || c.late(name, s) {
		return nil
	}
	c.note(name, s, t, err)
	if err != nil {
		return c.append(ctx, name, s, at, append(known, coverage(name, 0)))
	}
	s.count(&sh, &of, c.use.Now(), c.o.Period)
	sh.Ports = withoutWatched(sh.Ports, watched)
	if !c.o.AllPorts {
		sh.Ports = atLinks(sh.Ports, sh.Links)
	}
	return c.append(ctx, name, s, at, append(known, samples(name, t.Plan, &sh, s.totals, c.o.Period, t.Fabric.TimeScale)...))
}

// late reports, and logs, that the lease of a fabric is over, such as after the process was stopped: another manager may measure it.
func (c *Collector) late(name string, s *fabricState) bool {
	if !c.use.Now().After(s.last) {
		return false
	}
	c.o.Log.Warn("a measurement ended after the lease of its fabric and is dropped", "fabric", name)
	return true
}

// read returns what the service has about a fabric: the target, which keeps what it can of the prior one, the samples that need no
// measurement, and the objectives.
func (c *Collector) read(ctx context.Context, name string, prior control.Target) (t control.Target, known []series.Sample, of control.ObjectiveSet, err error) {
	if t, err = c.use.RefreshTarget(ctx, name, prior); err != nil {
		return t, nil, of, err
	}
	if len(t.Plan.Links) > 0 {
		topo, err := c.use.LatestTopology(ctx, name)
		switch {
		case missing(err) != nil:
			return t, nil, of, err
		case err == nil:
			t.Latest = topo
			known = linkStates(name, t.Plan, topo)
		}
	}
	if of, err = c.use.ObjectiveSet(ctx, name); err != nil {
		return t, nil, of, err
	}
	return t, append(known, targets(name, t.Plan, &of)...), of, nil
}

// missing hides errors that only say that there is nothing to measure.
func missing(err error) error {
	if errors.Is(err, control.ErrNotFound) || errors.Is(err, control.ErrConflict) {
		return nil
	}
	return err
}

// note remembers the target of a measurement and logs when measurements begin to fail and when they succeed again.
func (c *Collector) note(name string, s *fabricState, t control.Target, err error) {
	changed := s.failed != (err != nil)
	s.target, s.failed = t, err != nil
	switch {
	case changed && err != nil:
		c.o.Log.Warn("a fabric could not be measured", "fabric", name, "error", err.Error())
	case changed:
		c.o.Log.Info("a fabric is measured again", "fabric", name)
	}
}

// state returns what is known of a fabric that this manager measures, and whose samples may be appended until last.
func (c *Collector) state(name string, last time.Time) *fabricState {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.others, name)
	s := c.last[name]
	if s == nil {
		s = &fabricState{totals: map[string]totals{}}
		c.last[name] = s
	}
	s.last = last
	return s
}

// Holds returns true for the fabrics that this manager measures, from their first measurement to the end of their lease, and false for
// others.
func (c *Collector) Holds() map[string]bool {
	now := c.use.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	out := make(map[string]bool, len(c.last)+len(c.others))
	for name, s := range c.last {
		out[name] = !s.at.IsZero() && !now.After(s.last.Add(c.o.Period))
	}
	for name := range c.others {
		out[name] = false
	}
	return out
}

// append keeps the samples of a fabric, and ends those of its series that have none now.
func (c *Collector) append(ctx context.Context, name string, s *fabricState, at time.Time, batch []series.Sample) error {
	batch, now := withGaps(batch, s.series)
	c.mu.Lock()
	s.series, s.at = now, at
	c.mu.Unlock()
	if len(batch) == 0 {
		return nil
	}
	if err := c.keep.Append(ctx, at, batch); err != nil {
		c.o.Failed()
		return fmt.Errorf("keep the series of %s: %w", name, err)
	}
	return nil
}

// withGaps adds to a batch the ends of the series that had samples before and have none now. It returns the series that have.
func withGaps(batch []series.Sample, before map[string]series.Sample) ([]series.Sample, map[string]series.Sample) {
	now := make(map[string]series.Sample, len(batch))
	for _, x := range batch {
		now[string(x.AppendKey(nil))] = x
	}
	for id, x := range before {
		if _, ok := now[id]; !ok {
			x.Gap = true
			batch = append(batch, x)
		}
	}
	return batch, now
}

// Latest returns the samples of the latest measurement of each fabric that this manager measures, without those that are stale.
func (c *Collector) Latest() []series.Sample {
	now := c.o.Clock()
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []series.Sample
	for _, s := range c.last {
		if now.Sub(s.at) <= stalePeriods*c.o.Period {
			out = slices.AppendSeq(out, maps.Values(s.series))
		}
	}
	return out
}

// stalePeriods is how long a sample is current, in periods: as long as queries find it.
const stalePeriods = 3

// maxWall bounds the wall time of a measurement. Other measurements of the fabric, such as those of share show, wait for its end.
const maxWall = time.Second

// Window returns the length of a measurement in the fabric's own time: what passes there in a third of the period, at most a second, of
// wall time. Some counters have 32 bits and fill within a second or less, so they are read often during the window and not at all
// between windows.
func Window(f control.Fabric, period time.Duration) time.Duration {
	scale := f.TimeScale
	if scale <= 0 {
		scale = 1
	}
	return min(max(time.Duration(float64(min(period/3, maxWall))*scale), control.MinWindow), control.MaxWindow)
}
