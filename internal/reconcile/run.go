package reconcile

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"fairlane/ccconfig/driver"
	"fairlane/subnet"
)

// Run brings every target to what it should be and returns when nothing is under way any
// more. It never returns half a truth: a device is InSync only when it was read back equal to
// what is wanted, RolledBack only when read back equal to what it was before. When the
// context ends, devices in work are finished within Options.Grace, no other is begun, and the
// outcome is OutcomePaused.
func Run(ctx context.Context, r Rollout, d Deps) Result {
	run, err := newRunner(r, d)
	if err != nil {
		return Result{Outcome: OutcomeRefused, Reason: err.Error(), Err: err, Placement: PlacementNone, Devices: []DeviceResult{}}
	}
	stop := run.openWork(ctx)
	defer stop()
	run.note(fmt.Sprintf("rollout of %s to %d devices begins", run.r.Plan, len(run.devs)))
	if why := run.forward(ctx); why != nil && !run.paused(ctx) {
		run.rollBack(ctx, why)
	}
	return run.result(ctx)
}

// runner is one Run. A device belongs to one goroutine at a time.
type runner struct {
	r    Rollout
	o    Options
	d    Deps
	devs []*device // sorted by device
	// work is the context of device I/O: it outlives the caller's by Options.Grace.
	work context.Context

	failures  atomic.Int32
	placement PlacementState
	stopped   error // why the rollout was rolled back or refused half-way; nil when it went through
	undone    bool  // rollBack ran to its end

	mu     sync.Mutex
	halted error // first failure of the recorder
}

// device is the runtime state of one target.
type device struct {
	DeviceResult

	want driver.Settings
}

func newRunner(r Rollout, d Deps) (*runner, error) {
	o, err := r.Options.withDefaults()
	if err != nil {
		return nil, err
	}
	if d.Driver == nil {
		return nil, errors.New("rollout without a driver")
	}
	if d.Clock == nil {
		d.Clock = SystemClock{}
	}
	targets := slices.Clone(r.Targets)
	sortTargets(targets)
	if err := checkTargets(targets); err != nil {
		return nil, err
	}
	run := &runner{r: r, o: o, d: d, placement: PlacementNone}
	for _, t := range targets {
		if err := t.Want.Validate(t.Device); err != nil {
			return nil, fmt.Errorf("wanted state of %s: %w", t.Device, err)
		}
		dev := &device{DeviceResult: DeviceResult{Device: t.Device, State: Unknown}, want: t.Want.Clone()}
		if t.Before != nil {
			if err := t.Before.ValidateRanges(t.Device); err != nil {
				return nil, fmt.Errorf("recorded state of %s before the rollout: %w", t.Device, err)
			}
			b := t.Before.Clone()
			dev.Before, dev.Touched = &b, true
		}
		run.devs = append(run.devs, dev)
	}
	return run, nil
}

func (o Options) withDefaults() (Options, error) {
	for _, f := range []struct {
		name string
		v    *int
		def  int
		max  int
	}{
		{"canary", &o.Canary, 1, MaxTargets},
		{"wave", &o.Wave, 64, MaxTargets},
		{"parallel", &o.Parallel, 16, 4096},
		{"attempts", &o.Attempts, 4, 100},
		{"failure_budget", &o.FailureBudget, 0, MaxTargets},
	} {
		if *f.v < 0 || *f.v > f.max {
			return o, fmt.Errorf("rollout option %s: %d, want 0 to %d", f.name, *f.v, f.max)
		}
		if *f.v == 0 {
			*f.v = f.def
		}
	}
	for _, f := range []struct {
		name string
		v    *time.Duration
		def  time.Duration
	}{{"backoff", &o.Backoff, 100 * time.Millisecond}, {"max_backoff", &o.MaxBackoff, 5 * time.Second}, {"grace", &o.Grace, 10 * time.Second}} {
		if *f.v < 0 || *f.v > time.Hour {
			return o, fmt.Errorf("rollout option %s: %s, want 0 to 1h", f.name, *f.v)
		}
		if *f.v == 0 {
			*f.v = f.def
		}
	}
	return o, nil
}

// openWork makes the context of device I/O, which ends Options.Grace after ctx does, so that
// a pause does not cut a device in the middle of its writes. The returned function waits for
// the watcher.
func (r *runner) openWork(ctx context.Context) (stop func()) {
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	r.work = work
	var wg sync.WaitGroup
	wg.Go(func() {
		select {
		case <-ctx.Done():
			_ = r.d.Clock.Sleep(work, r.o.Grace) // ends early when the run does
			cancel()
		case <-work.Done():
		}
	})
	return func() {
		cancel()
		wg.Wait()
	}
}

// paused reports that no further device may be touched.
func (r *runner) paused(ctx context.Context) bool { return ctx.Err() != nil || r.haltErr() != nil }

func (r *runner) haltErr() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.halted
}

func (r *runner) halt(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.halted == nil {
		r.halted = err
	}
}

// forward does the placement stage and the waves. An error asks for a roll-back.
func (r *runner) forward(ctx context.Context) error {
	if err := r.place(ctx); err != nil {
		return err
	}
	for _, dev := range r.devs {
		if r.paused(ctx) {
			return nil
		}
		if r.move(dev, Pending, Event{Message: dev.Device.String() + " is taken up"}) != nil {
			return nil //nolint:nilerr // the recorder halted the run; result tells why
		}
	}
	ws := r.waves()
	for i, w := range ws {
		if r.paused(ctx) {
			return nil
		}
		w.Index, w.Total = i, len(ws)
		if err := r.wave(ctx, w); err != nil {
			return err
		}
	}
	return nil
}

// wave is the devices that are written together.
type wave struct {
	Wave

	devs []*device
}

// waves cuts the devices into waves: the kinds one after the other in the safe order, each
// with its canaries first.
func (r *runner) waves() []wave {
	var cas, switches []*device
	marks := false
	for _, dev := range r.devs {
		if dev.Device.Kind == subnet.KindSwitch {
			switches = append(switches, dev)
			marks = marks || dev.want.Marks()
		} else {
			cas = append(cas, dev)
		}
	}
	kinds := [][]*device{cas, switches}
	if !marks {
		// Marking is turned off: end it before the adapters forget how to react.
		kinds = [][]*device{switches, cas}
	}
	var ws []wave
	for _, devs := range kinds {
		if len(devs) == 0 {
			continue
		}
		n := min(r.o.Canary, len(devs))
		ws = append(ws, newWave(devs[:n], true))
		for part := range slices.Chunk(devs[n:], r.o.Wave) {
			ws = append(ws, newWave(part, false))
		}
	}
	return ws
}

func newWave(devs []*device, canary bool) wave {
	w := wave{Wave: Wave{Canary: canary}, devs: devs}
	for _, dev := range devs {
		w.Devices = append(w.Devices, dev.Device)
	}
	return w
}

func (r *runner) wave(ctx context.Context, w wave) error {
	budget := r.o.FailureBudget
	if w.Canary {
		budget = int(r.failures.Load()) // none may fail here
	}
	r.each(ctx, w.devs, func(dev *device) {
		if int(r.failures.Load()) <= budget {
			r.bring(ctx, dev)
		}
	})
	if r.paused(ctx) {
		return nil
	}
	if n := int(r.failures.Load()); n > budget {
		return r.overBudget(w, n)
	}
	if r.d.Gate != nil {
		if err := r.d.Gate(ctx, w.Wave); err != nil && !r.paused(ctx) {
			return fmt.Errorf("health gate after wave %d of %d: %w", w.Index+1, w.Total, err)
		}
	}
	r.note(fmt.Sprintf("wave %d of %d is read back: %d devices", w.Index+1, w.Total, len(w.devs)))
	return nil
}

func (r *runner) overBudget(w wave, failures int) error {
	var errs []error
	for _, dev := range r.devs {
		if dev.Err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", dev.Device, dev.Err))
		}
	}
	kind := ""
	if w.Canary {
		kind = " (canary)"
	}
	return fmt.Errorf("wave %d of %d%s: %d devices failed, %d are allowed: %w",
		w.Index+1, w.Total, kind, failures, r.o.FailureBudget, errors.Join(errs...))
}

// each runs f for the devices, Options.Parallel at a time, until the run pauses. It returns
// when all that were begun have ended.
func (r *runner) each(ctx context.Context, devs []*device, f func(*device)) {
	var g errgroup.Group
	g.SetLimit(r.o.Parallel)
	for _, dev := range devs {
		g.Go(func() error {
			if !r.paused(ctx) {
				f(dev)
			}
			return nil
		})
	}
	_ = g.Wait() // failures are kept with the devices
}
