package rollout

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"fairlane/ccconfig/driver"
	"fairlane/internal/phrase"
	"fairlane/service/control"
	"fairlane/service/device"
	"fairlane/subnet/ident"
)

// Clock is the time of a manager. Now only measures time spans, except for the end of a confirm window.
type Clock interface {
	device.Clock
	Now() time.Time
	// Deadline returns a context that ends at t.
	Deadline(ctx context.Context, t time.Time) (context.Context, context.CancelFunc)
}

// SystemClock is the real clock.
type SystemClock struct{ device.SystemClock }

// Now returns the current time.
func (SystemClock) Now() time.Time { return time.Now() }

// Deadline is context.WithDeadline.
func (SystemClock) Deadline(ctx context.Context, t time.Time) (context.Context, context.CancelFunc) {
	return context.WithDeadline(ctx, t)
}

// Session is an open connection to one fabric.
type Session struct {
	Driver driver.Driver
	Placer device.Placer // nil where placements cannot even be verified
	Close  func() error
}

// Opener opens sessions. It verifies that each device has the identity that the plan expects. When one has another, the
// error wraps driver.ErrInvalid and no device may be written.
type Opener interface {
	Open(ctx context.Context, t control.Target, devices []driver.Device) (Session, error)
}

// Gate judges the health of a fabric during a rollout.
type Gate interface {
	// Check returns an error that says what is wrong, or that nothing could be measured. notice says what could not be
	// judged when the rest is healthy; it is empty when everything was judged.
	Check(ctx context.Context, t control.Target, ro control.Rollout) (notice phrase.Text, err error)
}

// UseCases are the use cases that the engine calls.
type UseCases interface {
	// LoadTarget returns a plan of a fabric with the fabric and its topology; plan "" is the one in force.
	LoadTarget(ctx context.Context, fabric, plan string) (control.Target, error)
	// RolloutHome returns the fabric of a rollout, which is the scope of its transactions. When it fails, they use the
	// scope of the whole service.
	RolloutHome(ctx context.Context, rollout int64) (fabric string, err error)
	// RolloutEnded is called in the transaction that ends a rollout.
	RolloutEnded(ctx context.Context, r control.Repos, ro control.Rollout) error
}

// Deps are the dependencies of the engine. Store, UseCases and Opener are required.
type Deps struct {
	Store    control.Store
	UseCases UseCases
	Opener   Opener
	Gate     Gate // nil passes everything
	// Prerequisites reads devices for the gate before the first write of a rollout; nil skips the gate.
	Prerequisites control.Observer
	Clock         Clock  // nil is SystemClock
	Name          string // of this manager, unique among running ones; it is displayed
	// Lease is how long a worker may go without a heartbeat; 0 is DefaultLease, the minimum is MinLease.
	Lease time.Duration
	// Steady calls beat periodically until stop is called; stop waits for it. nil uses a goroutine and a ticker.
	// Deterministic tests pass a function that does nothing.
	Steady func(every time.Duration, beat func()) (stop func())
}

// Bounds of the lease.
const (
	DefaultLease = 6 * time.Second
	MinLease     = 200 * time.Millisecond
)

// Engine executes rollouts. It is safe for concurrent use.
type Engine struct {
	d Deps

	mu           sync.Mutex
	plans        []cachedPlan     // most recently used last, at most maxPlans
	planSettings []planSettings   // oldest first, at most maxOurs
	homes        map[int64]string // fabrics of rollouts, at most maxHomes
	seen         map[string]sighting
}

// cachedPlan is a plan with the settings of its devices.
type cachedPlan struct {
	fabric, plan string
	target       control.Target
	want         map[ident.PortID]device.Target
}

// maxPlans bounds the cache of decoded plans.
const maxPlans = 4

// Errors of workers.
var (
	// ErrFenced means that another manager has taken the work over.
	ErrFenced = errors.New("another manager has taken the work over")
	// errParked is the cause of a context that ends because an operator stops the rollout.
	errParked = errors.New("stop requested: the rollout stops at the next safe point")
)

// New returns an engine over the given dependencies.
func New(d Deps) (*Engine, error) {
	if d.Store == nil || d.UseCases == nil || d.Opener == nil {
		return nil, errors.New("engine needs a store, use cases and an opener")
	}
	if d.Clock == nil {
		d.Clock = SystemClock{}
	}
	if d.Lease == 0 {
		d.Lease = DefaultLease
	}
	if d.Lease < MinLease || d.Lease > time.Hour {
		return nil, fmt.Errorf("lease of %s: want %s to 1h", d.Lease, MinLease)
	}
	if d.Steady == nil {
		d.Steady = steady
	}
	return &Engine{d: d, homes: map[int64]string{}, seen: map[string]sighting{}}, nil
}

// steady calls beat in its own goroutine.
func steady(every time.Duration, beat func()) (stop func()) {
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				beat()
			}
		}
	})
	return func() {
		close(done)
		wg.Wait()
	}
}

// Work does a job, and then, for a while, the jobs that follow from it, without the delay of the queue. These are in the
// queue as well, in case this manager dies; a second worker finds them done. After an error the job must be retried
// later.
func (e *Engine) Work(ctx context.Context, j control.Job) error {
	began := e.d.Clock.Now()
	next, err := e.Do(ctx, j)
	for err == nil && next != nil && ctx.Err() == nil && e.d.Clock.Now().Sub(began) < goOnFor {
		following := *next
		var broken error
		if next, broken = e.Do(ctx, following); broken != nil {
			return e.again(ctx, following)
		}
	}
	return err
}

// again queues a job once more: the queue may have finished it while Work was doing it.
func (e *Engine) again(ctx context.Context, j control.Job) error {
	return e.d.Store.Tx(e.on(context.WithoutCancel(ctx), j.Rollout), func(r control.Repos) error { return r.Enqueue(ctx, j) })
}

// maxHomes bounds the cache of rollouts' fabrics.
const maxHomes = 1024

// on gives write transactions the scope of a rollout's fabric; when the fabric is unknown, that of the whole service.
func (e *Engine) on(ctx context.Context, rollout int64) context.Context {
	e.mu.Lock()
	fabric, ok := e.homes[rollout]
	e.mu.Unlock()
	if !ok {
		var err error
		if fabric, err = e.d.UseCases.RolloutHome(ctx, rollout); err != nil {
			return ctx
		}
		e.mu.Lock()
		if len(e.homes) >= maxHomes {
			clear(e.homes)
		}
		e.homes[rollout] = fabric
		e.mu.Unlock()
	}
	return control.OnFabric(ctx, fabric)
}

// goOnFor bounds how long Work continues with following jobs, so that the rollouts of many fabrics take turns.
const goOnFor = 2 * time.Second

// Do does one job. next is one of the jobs that follow from it.
func (e *Engine) Do(ctx context.Context, j control.Job) (next *control.Job, err error) {
	switch j.Kind {
	case control.JobStep:
		return e.Step(ctx, j.Rollout, j.Revision)
	case control.JobShard:
		return e.WorkShard(ctx, control.ShardKey{Rollout: j.Rollout, Undo: j.Undo, Wave: j.Wave, Shard: j.Shard}, j.Revision)
	}
	return nil, fmt.Errorf("job of kind %q: want %s or %s", j.Kind, control.JobStep, control.JobShard)
}

// plan returns a plan with the settings of its devices, from the cache when possible. The fabric is always read from the
// store: its source may have changed, and nothing may be written at the former address.
func (e *Engine) plan(ctx context.Context, fabric, plan string) (cachedPlan, error) {
	if c, ok := e.cached(fabric, plan); ok && len(c.want) > 0 { // a plan without devices uses the latest topology
		err := e.d.Store.View(ctx, func(r control.Repos) (err error) { c.target.Fabric, err = r.Fabric(ctx, fabric); return err })
		return c, err
	}
	c, err := e.load(ctx, fabric, plan)
	if err != nil {
		return cachedPlan{}, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	// The workers of a wave start together, so several may have loaded it.
	e.plans = slices.DeleteFunc(e.plans, func(x cachedPlan) bool { return x.fabric == fabric && x.plan == plan })
	if len(e.plans) == maxPlans {
		e.plans = slices.Delete(e.plans, 0, 1)
	}
	e.plans = append(e.plans, c)
	return c, nil
}

// load reads a plan with the settings of its devices from the store.
func (e *Engine) load(ctx context.Context, fabric, plan string) (cachedPlan, error) {
	t, err := e.d.UseCases.LoadTarget(ctx, fabric, plan)
	if err != nil {
		return cachedPlan{}, err
	}
	list, err := device.Desired(t.Plan, t.Topology)
	if err != nil {
		return cachedPlan{}, &unfitError{err}
	}
	c := cachedPlan{fabric: fabric, plan: plan, target: t, want: make(map[ident.PortID]device.Target, len(list))}
	for _, x := range list {
		c.want[x.Device.ID] = x
	}
	return c, nil
}

// unfitError means that a plan no longer fits the fabric.
type unfitError struct{ error }

// Unwrap returns the cause.
func (e *unfitError) Unwrap() error { return e.error }

// outlived reports whether an error means that an earlier plan was deleted, or no longer fits the fabric.
func outlived(err error) bool {
	var unfit *unfitError
	return errors.As(err, &unfit) || errors.Is(err, control.ErrNotFound)
}

// holdOver returns a function that changes a device's settings to those that apply while a rollout moves traffic. A
// previous plan that no longer fits the fabric has nothing to hold over.
func (e *Engine) holdOver(ctx context.Context, ro control.Rollout, next cachedPlan) (func(ident.PortID, driver.Settings) driver.Settings, error) {
	none := func(_ ident.PortID, want driver.Settings) driver.Settings { return want }
	if !ro.Moves() {
		return none, nil
	}
	before, err := e.plan(ctx, ro.Fabric, ro.Prior)
	switch {
	case outlived(err):
		return none, nil
	case err != nil:
		return nil, err
	}
	moving := device.Moving(before.target.Plan, next.target.Plan)
	return func(id ident.PortID, want driver.Settings) driver.Settings {
		return device.HoldOver(want, before.want[id].Want, moving[id])
	}, nil
}

// cached returns a plan from the cache, and marks it as used.
func (e *Engine) cached(fabric, plan string) (cachedPlan, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for i, c := range e.plans {
		if c.fabric == fabric && c.plan == plan {
			e.plans = append(slices.Delete(e.plans, i, i+1), c)
			return c, true
		}
	}
	return cachedPlan{}, false
}

// event sets the common fields of the engine's events.
func (e *Engine) event(ro control.Rollout, kind string, said phrase.Text) control.Event {
	return control.Event{At: e.d.Clock.Now().UTC(), Fabric: ro.Fabric, Rollout: ro.ID, Actor: "system", Kind: kind, Subject: ro.Plan, Said: said}
}
