// Package pace lets the time of a simulated fabric pass as wall time does, at a scale, while others look at the fabric and
// change it in between.
package pace

import (
	"context"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"fairlane/internal/quantity"
)

// Bounds of the runner's steps. A slice is what the lock is held for at a time.
const (
	sliceBudget  = 100 * time.Microsecond // wall time of computing that a slice aims at
	maxLag       = 100 * time.Millisecond // wall time of debt that is still worked off
	busyNap      = time.Millisecond       // nap while traffic flows and the run is ahead
	idleNap      = 10 * time.Millisecond  // nap while nothing happens
	paceWindow   = 500 * time.Millisecond // wall time over which the achieved scale is measured
	minSlice     = 100 * quantity.Nanosecond
	firstSlice   = 10 * quantity.Microsecond
	defaultSlice = 10 * quantity.Millisecond
)

// Fabric is what runs. Its methods are called with the lock held.
type Fabric interface {
	Now() quantity.Picoseconds
	RunUntil(t quantity.Picoseconds)
	Events() uint64 // handled so far
}

// Options say how a fabric runs.
type Options struct {
	// TimeScale is simulated seconds per wall second; 0 is as fast as the machine can.
	TimeScale float64
	// Slice is the most simulated time for which the lock is held at a time; 0 is 10 ms.
	Slice quantity.Picoseconds
}

// Clock lets the time of a fabric pass. One Run at a time.
type Clock struct {
	lock sync.Locker
	net  Fabric
	wake chan struct{}
	opts Options

	scale  atomic.Uint64 // math.Float64bits
	behind atomic.Int64
}

// New returns the clock of a fabric that a lock guards; a Turnstile serves those who wait for it best.
func New(lock sync.Locker, f Fabric, o Options) *Clock {
	if o.Slice <= 0 {
		o.Slice = defaultSlice
	}
	return &Clock{lock: lock, net: f, wake: make(chan struct{}, 1), opts: o}
}

// Wake ends a nap, because there is something to do.
func (c *Clock) Wake() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// Pace says how the live run keeps up.
type Pace struct {
	Scale  float64       // simulated seconds per wall second over the last half second
	Behind time.Duration // wall time by which the run lags behind its schedule
}

// Pace returns how the live run keeps up; zero before Run has measured anything.
func (c *Clock) Pace() Pace {
	return Pace{Scale: math.Float64frombits(c.scale.Load()), Behind: time.Duration(c.behind.Load())}
}

// Run advances simulated time until ctx ends, at Options.TimeScale simulated seconds per wall
// second, or as fast as the machine can when that is 0. It never sleeps while it is behind; when
// it falls back by more than 100 ms it gives up the rest of the debt rather than racing
// later, so Pace().Scale is then below the TimeScale asked for. A fabric in which nothing moves costs
// next to nothing and advances in real time when the scale is 0. Run returns nil when ctx ends.
func (c *Clock) Run(ctx context.Context) error {
	r := newRunner(c, time.Now())
	timer := time.NewTimer(0)
	defer timer.Stop()
	for ctx.Err() == nil {
		nap := r.step()
		if nap <= 0 {
			continue
		}
		timer.Reset(nap)
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
	quiet bool // nothing happened in the last step

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

// step computes at most one slice and returns how long to sleep.
func (r *runner) step() time.Duration {
	start := time.Now()
	target := r.target(start)
	r.c.lock.Lock()
	now := r.c.net.Now()
	if now >= target {
		r.c.lock.Unlock()
		r.c.behind.Store(0)
		r.measure(start, now)
		return r.nap(now - target)
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
	r.forgive(stop, end)
	r.measure(stop, end)
	if end == target {
		return r.nap(0) // what has become due meanwhile can wait for more
	}
	return 0
}

func (r *runner) scale() float64 { return r.c.opts.TimeScale }

// effective is the scale that rules now: real time while an unlimited run has nothing to do.
func (r *runner) effective() float64 {
	if s := r.scale(); s > 0 {
		return s
	}
	if r.quiet {
		return 1
	}
	return 0
}

// target is the simulated time that is due at the given wall time.
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

// nap is how long to sleep when simulated time is ahead of its schedule by so much.
func (r *runner) nap(ahead quantity.Picoseconds) time.Duration {
	base := busyNap
	if r.quiet {
		base = idleNap
	}
	if s := r.effective(); s > 0 {
		if wall := time.Duration(float64(ahead) / 1000 / s); wall > base {
			return min(wall, time.Second)
		}
	}
	return base
}

// adapt keeps the computing of a slice near sliceBudget.
func (r *runner) adapt(took time.Duration) {
	switch {
	case took > 2*sliceBudget:
		r.slice = max(r.slice/2, minSlice)
	case took < sliceBudget/2:
		r.slice = min(r.slice*2, r.c.opts.Slice)
	}
}

// forgive moves the schedule up when the run is too far behind it.
func (r *runner) forgive(wall time.Time, sim quantity.Picoseconds) {
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

// measure publishes the achieved scale once a window.
func (r *runner) measure(wall time.Time, sim quantity.Picoseconds) {
	span := wall.Sub(r.paceWall)
	if span < paceWindow {
		return
	}
	scale := float64(sim-r.paceSim) / 1000 / float64(span.Nanoseconds())
	r.c.scale.Store(math.Float64bits(scale))
	r.paceWall, r.paceSim = wall, sim
}
