package device

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"fairlane/ccconfig/driver"
	"fairlane/internal/phrase"
	"fairlane/subnet/ident"
)

// Part is the work of one worker on some devices of a rollout, while other workers do other parts.
type Part struct {
	Items []Item // of different devices
	// Undo returns touched devices to their previous settings; otherwise devices get their desired settings.
	Undo    bool
	Options Options
	// Failures is the number of devices of the rollout that failed before; above Options.FailureBudget no further one is
	// started.
	Failures int
	// Canary says that no device of this part may fail.
	Canary bool
	// Repair sets wrong prerequisites that may be set, together with the target.
	Repair bool
}

// Item is one device of a part and its state.
type Item struct {
	Target

	Before  *driver.Settings // settings before the rollout's first write; nil when they were never read
	State   State            // as last recorded; after a crash it may be Applying or Verifying
	Touched bool             // a write may have reached it
	// AsRead says that Want was once read from the device: only its ranges are checked, as for Before.
	AsRead bool
}

// validate rejects a target that no device could hold.
func (it *Item) validate() error {
	if it.AsRead {
		return it.Want.ValidateRanges(it.Device)
	}
	return it.Want.Validate(it.Device)
}

// Options bound the work on devices. Zero fields take the default in their comment; negative ones are rejected.
type Options struct {
	Parallel int // devices written concurrently; default 128
	// FailureBudget is the number of devices of the rollout that may fail before no further one is started; default 0.
	FailureBudget int
	Attempts      int           // tries of each step on a device; default 4, at most 100
	Backoff       time.Duration // wait after the first failed try, doubled each time; default 100 ms
	MaxBackoff    time.Duration // longest wait; default 5 s
	// Grace is how long the devices in progress when the context ends may take to finish and be read back; default 10 s.
	Grace time.Duration
}

// WithDefaults returns the options with defaults for zero fields, or an error that names a field out of range.
func (o Options) WithDefaults() (Options, error) {
	for _, f := range []struct {
		name string
		v    *int
		def  int
		max  int
	}{{"parallel", &o.Parallel, 128, 4096}, {"attempts", &o.Attempts, 4, 100}, {"failure_budget", &o.FailureBudget, 0, MaxTargets}} {
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

// Pause returns the wait before try number i, from 1. It requires options with defaults.
func (o Options) Pause(i int) time.Duration {
	if shift := i - 1; shift < 30 && o.Backoff < o.MaxBackoff>>shift {
		return o.Backoff << shift
	}
	return o.MaxBackoff
}

// Work advances the devices of a part as far as possible; the last recorded move of each is its result. After a crash at any
// point it can be called again with the recorded values: settled devices are skipped, others are read and finished. When
// the context ends, devices in progress are finished within Options.Grace and no other is started. When the recorder
// fails, no device is touched any more. The error is the recorder's or, when nothing was done, an invalid part.
func Work(ctx context.Context, p Part, d Deps) error {
	r, err := newRunner(p, d)
	if err != nil {
		return err
	}
	stop := r.openWork(ctx)
	defer stop()
	if p.Undo {
		r.each(ctx, func(dev *device) { r.undo(ctx, dev) })
	} else {
		budget := r.o.FailureBudget
		if p.Canary {
			budget = p.Failures
		}
		r.each(ctx, func(dev *device) { r.push(ctx, dev, budget) })
	}
	return r.haltErr()
}

// runner is the state of one Work.
type runner struct {
	o    Options
	d    Deps
	devs []*device
	// repair is Part.Repair, except in an undo.
	repair bool
	// work is the context of device I/O: it outlives the caller's by up to Options.Grace.
	work context.Context

	failures atomic.Int32

	mu     sync.Mutex
	halted error // first failure of the recorder
}

// device is an item in progress, worked by one goroutine at a time.
type device struct {
	Item
	more bool // meetPrerequisites extended Want
}

func newRunner(p Part, d Deps) (*runner, error) {
	o, err := p.Options.WithDefaults()
	if err != nil {
		return nil, err
	}
	if d.Driver == nil || d.Recorder == nil {
		return nil, errors.New("rollout without a driver or a recorder")
	}
	if d.Clock == nil {
		d.Clock = SystemClock{}
	}
	r := &runner{o: o, d: d, repair: p.Repair && !p.Undo}
	r.failures.Store(int32(p.Failures))
	seen := make(map[ident.PortID]bool, len(p.Items))
	for _, it := range p.Items {
		if seen[it.Device.ID] {
			return nil, fmt.Errorf("device %s is there twice, want once", it.Device)
		}
		seen[it.Device.ID] = true
		if err := it.validate(); err != nil {
			return nil, fmt.Errorf("wanted state of %s: %w", it.Device, err)
		}
		it.Want = it.Want.Clone()
		if it.Before != nil {
			if err := it.Before.ValidateRanges(it.Device); err != nil {
				return nil, fmt.Errorf("recorded state of %s before the rollout: %w", it.Device, err)
			}
			before := it.Before.Clone()
			it.Before = &before
		}
		r.devs = append(r.devs, &device{Item: it})
	}
	return r, nil
}

// openWork creates the context of device I/O. It ends Options.Grace after ctx does, so that a pause does not interrupt
// the writes of a device. The returned function waits for the watcher.
func (r *runner) openWork(ctx context.Context) (stop func()) {
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	r.work = work
	var wg sync.WaitGroup
	wg.Go(func() {
		select {
		case <-ctx.Done():
			_ = r.d.Clock.Sleep(work, r.o.Grace) // returns early when the run ends
			cancel()
		case <-work.Done():
		}
	})
	return func() {
		cancel()
		wg.Wait()
	}
}

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

// each runs f for the devices, Options.Parallel at a time, until the context ends or the recorder fails. It returns when
// all that were started have ended.
func (r *runner) each(ctx context.Context, f func(*device)) {
	var g errgroup.Group
	g.SetLimit(r.o.Parallel)
	for _, dev := range r.devs {
		g.Go(func() error {
			if ctx.Err() == nil && r.haltErr() == nil {
				f(dev)
			}
			return nil
		})
	}
	_ = g.Wait() // failures are recorded with the devices
}

// push writes a device's desired settings, unless the failure budget is exceeded.
func (r *runner) push(ctx context.Context, dev *device, budget int) {
	switch {
	case dev.State == Failed && dev.Touched:
		r.restore(ctx, dev) // a crash came between the failure and the return
	case dev.State.Settled():
	case int(r.failures.Load()) > budget && !dev.Touched: // a device in progress is finished
	case r.takeUp(dev) == nil:
		r.writeDevice(ctx, dev)
	}
}

// undo returns a touched device to its previous settings.
func (r *runner) undo(ctx context.Context, dev *device) {
	if !dev.Touched || dev.State == RolledBack || dev.Before == nil {
		return
	}
	if dev.State != InSync && dev.State != Failed && r.takeUp(dev) != nil {
		return
	}
	r.restore(ctx, dev)
}

// takeUp moves a device that waits, or that a crash left half done, to Pending.
func (r *runner) takeUp(dev *device) error {
	if dev.State == Pending {
		return nil
	}
	if dev.State == Applying || dev.State == Verifying {
		dev.State = Unknown // the state left by another worker is unknown
	}
	return r.move(dev, Pending, Event{Said: phrase.Of("note.resumed", "device", dev.Device), Before: dev.Before})
}
