// Package pace advances the time of a simulated fabric with the wall time, at a scale, while other goroutines read and change
// the fabric in between.
package pace

import (
	"context"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"fairlane/internal/quantity"
)

// Limits of the runner's steps. A slice is the time for which the lock is held at once.
const (
	sliceBudget  = 100 * time.Microsecond // target wall time of computing a slice
	maxLag       = 100 * time.Millisecond // largest lag in wall time that is caught up
	busySleep    = time.Millisecond       // sleep while traffic flows and the run is ahead
	idleSleep    = 10 * time.Millisecond  // sleep while nothing happens
	paceWindow   = 500 * time.Millisecond // wall time over which the achieved scale is measured
	minSlice     = 100 * quantity.Nanosecond
	firstSlice   = 10 * quantity.Microsecond
	defaultSlice = 10 * quantity.Millisecond
)

// Fabric is the simulated fabric. Its methods are called with the lock held.
type Fabric interface {
	Now() quantity.Picoseconds
	RunUntil(t quantity.Picoseconds)
	Events() uint64 // events handled so far
}

// Options are the options of a run.
type Options struct {
	// TimeScale is the simulated seconds per wall second; 0 means as fast as possible.
	TimeScale float64
	// Slice is the largest simulated time for which the lock is held at once; 0 means 10 ms.
	Slice quantity.Picoseconds
}

// Clock advances the time of a fabric. Only one Run may be active.
type Clock struct {
	lock sync.Locker
	net  Fabric
	wake chan struct{}
	opts Options

	scale  atomic.Uint64 // math.Float64bits
	behind atomic.Int64
}

// New returns the clock of a fabric guarded by a lock; with a Turnstile, Run cannot starve the other users of the lock.
func New(lock sync.Locker, f Fabric, o Options) *Clock {
	if o.Slice <= 0 {
		o.Slice = defaultSlice
	}
	return &Clock{lock: lock, net: f, wake: make(chan struct{}, 1), opts: o}
}

// Wake ends the current sleep of Run. Call it when the fabric has new work.
func (c *Clock) Wake() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// Pace describes how well the live run keeps its time scale.
type Pace struct {
	Scale  float64       // simulated seconds per wall second over the last half second
	Behind time.Duration // lag of the run behind its schedule, in wall time
}

// Pace returns the current pace; zero before the first measurement.
func (c *Clock) Pace() Pace {
	return Pace{Scale: math.Float64frombits(c.scale.Load()), Behind: time.Duration(c.behind.Load())}
}

// Run advances simulated time until ctx ends, at Options.TimeScale simulated seconds per wall second, or as fast as possible if
// that is 0. It never sleeps while it is behind. If the lag exceeds 100 ms, Run drops the rest of the lag instead of racing
// later; Pace().Scale is then below the requested TimeScale. A fabric without events costs almost nothing and, with scale 0,
// advances in real time. Run returns nil when ctx ends.
func (c *Clock) Run(ctx context.Context) error {
	r := newRunner(c, time.Now())
	timer := time.NewTimer(0)
	defer timer.Stop()
	for ctx.Err() == nil {
		sleep := r.step()
		if sleep <= 0 {
			continue
		}
		timer.Reset(sleep)
		select {
		case <-ctx.Done():
		case <-timer.C:
		case <-c.wake:
		}
	}
	return nil
}

// runner is the state of one Run.
type runner struct {
	c     *Clock
	slice quantity.Picoseconds
	quiet bool // no events in the last step

	anchorWall time.Time
	anchorSim  quantity.Picoseconds

	paceWall time.Time
	paceSim  quantity.Picoseconds
}

func newRunner(c *Clock, now time.Time) *runner {
	c.lock.Lock()
	sim := c.net.Now()
	c.lock.Unlock()
	return &runner{
		c: c, slice: min(firstSlice, c.opts.Slice),
		anchorWall: now, anchorSim: sim,
		paceWall: now, paceSim: sim,
	}
}

// step computes at most one slice and returns the time to sleep.
func (r *runner) step() time.Duration {
	start := time.Now()
	target := r.target(start)
	r.c.lock.Lock()
	now := r.c.net.Now()
	if now >= target {
		r.c.lock.Unlock()
		r.c.behind.Store(0)
		r.measure(start, now)
		return r.sleep(now - target)
	}
	end := min(now+r.slice, target)
	before := r.c.net.Events()
	r.c.net.RunUntil(end)
	quiet := r.c.net.Events() == before
	r.c.lock.Unlock()

	if r.quiet != quiet {
		r.quiet = quiet
		if r.scale() == 0 {
			r.anchorWall, r.anchorSim = start, end
		}
	}
	stop := time.Now()
	r.adapt(stop.Sub(start))
	r.dropLag(stop, end)
	r.measure(stop, end)
	if end == target {
		return r.sleep(0) // events that have become due in the meantime can wait
	}
	return 0
}

func (r *runner) scale() float64 { return r.c.opts.TimeScale }

// effective returns the current scale: real time while a run without a scale has no events.
func (r *runner) effective() float64 {
	if s := r.scale(); s > 0 {
		return s
	}
	if r.quiet {
		return 1
	}
	return 0
}

// target returns the simulated time that is due at a wall time.
func (r *runner) target(now time.Time) quantity.Picoseconds {
	s := r.effective()
	if s == 0 {
		return math.MaxInt64
	}
	ps := float64(now.Sub(r.anchorWall).Nanoseconds()) * 1000 * s
	if ps >= float64(math.MaxInt64-r.anchorSim) {
		return math.MaxInt64
	}
	return r.anchorSim + quantity.Picoseconds(ps)
}

// sleep returns the time to sleep when simulated time is ahead of its schedule.
func (r *runner) sleep(ahead quantity.Picoseconds) time.Duration {
	base := busySleep
	if r.quiet {
		base = idleSleep
	}
	if s := r.effective(); s > 0 {
		if wall := time.Duration(float64(ahead) / 1000 / s); wall > base {
			return min(wall, time.Second)
		}
	}
	return base
}

// adapt keeps the computing time of a slice near sliceBudget.
func (r *runner) adapt(took time.Duration) {
	switch {
	case took > 2*sliceBudget:
		r.slice = max(r.slice/2, minSlice)
	case took < sliceBudget/2:
		r.slice = min(r.slice*2, r.c.opts.Slice)
	}
}

// dropLag moves the schedule if the run is too far behind it.
func (r *runner) dropLag(wall time.Time, sim quantity.Picoseconds) {
	s := r.effective()
	if s == 0 {
		r.c.behind.Store(0)
		return
	}
	lag := time.Duration(float64(r.target(wall)-sim) / 1000 / s)
	r.c.behind.Store(int64(max(lag, 0)))
	if lag > maxLag {
		r.anchorWall, r.anchorSim = wall.Add(-maxLag), sim
	}
}

// measure publishes the achieved scale once per window.
func (r *runner) measure(wall time.Time, sim quantity.Picoseconds) {
	span := wall.Sub(r.paceWall)
	if span < paceWindow {
		return
	}
	scale := float64(sim-r.paceSim) / 1000 / float64(span.Nanoseconds())
	r.c.scale.Store(math.Float64bits(scale))
	r.paceWall, r.paceSim = wall, sim
}
