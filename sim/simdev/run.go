package simdev

import (
	"context"
	"math"
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

// Pace says how the live run keeps up.
type Pace struct {
	Scale  float64       // simulated seconds per wall second over the last half second
	Behind time.Duration // wall time by which the run lags behind its schedule
}

// pace publishes Pace without a lock.
type pace struct {
	scale  atomic.Uint64 // math.Float64bits
	behind atomic.Int64
}

// Pace returns how the live run keeps up; zero before Run has measured anything.
func (d *Devices) Pace() Pace {
	return Pace{
		Scale:  math.Float64frombits(d.pace.scale.Load()),
		Behind: time.Duration(d.pace.behind.Load()),
	}
}

// Run advances simulated time until ctx ends, at Options.TimeScale simulated seconds per wall
// second, or as fast as the machine can when that is 0. It never sleeps while it is behind; when
// it falls back by more than 100 ms it gives up the rest of the debt rather than racing
// later, so Pace().Scale is then below the TimeScale asked for. A fabric in which nothing moves costs
// next to nothing and advances in real time when the scale is 0. Run returns nil when ctx ends.
func (d *Devices) Run(ctx context.Context) error {
	r := newRunner(d, time.Now())
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
		case <-d.wake:
		}
	}
	return nil
}

// runner is the state of one Run.
type runner struct {
	d     *Devices
	slice quantity.Picoseconds
	quiet bool // nothing happened in the last step

	anchorWall time.Time
	anchorSim  quantity.Picoseconds

	paceWall time.Time
	paceSim  quantity.Picoseconds
}

func newRunner(d *Devices, now time.Time) *runner {
	sim := d.Now()
	return &runner{
		d: d, slice: min(firstSlice, d.opts.Slice),
		anchorWall: now, anchorSim: sim,
		paceWall: now, paceSim: sim,
	}
}

// step computes at most one slice and returns how long to sleep.
func (r *runner) step() time.Duration {
	start := time.Now()
	target := r.target(start)
	r.d.mu.Lock()
	now := r.d.net.Now()
	if now >= target {
		r.d.mu.Unlock()
		r.d.pace.behind.Store(0)
		r.measure(start, now)
		return r.nap(now - target)
	}
	end := min(now+r.slice, target)
	before := r.d.net.Stats().Events
	r.d.net.RunUntil(end)
	quiet := r.d.net.Stats().Events == before
	r.d.mu.Unlock()

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

func (r *runner) scale() float64 { return r.d.opts.TimeScale }

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
		r.slice = min(r.slice*2, r.d.opts.Slice)
	}
}

// forgive moves the schedule up when the run is too far behind it.
func (r *runner) forgive(wall time.Time, sim quantity.Picoseconds) {
	s := r.effective()
	if s == 0 {
		r.d.pace.behind.Store(0)
		return
	}
	lag := time.Duration(float64(r.target(wall)-sim) / 1000 / s)
	r.d.pace.behind.Store(int64(max(lag, 0)))
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
	r.d.pace.scale.Store(math.Float64bits(scale))
	r.paceWall, r.paceSim = wall, sim
}
