package rollout_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"fairlane/ccconfig/driver"
	"fairlane/internal/phrase"
	"fairlane/policy"
	"fairlane/service/control"
	"fairlane/service/device"
	"fairlane/service/rollout"
	"fairlane/subnet/ident"
)

// world is a fabric, a database and some managers, whose every step is chosen by a seed. One task runs at a time: it
// stops at each operation on the store or a device, and the seed chooses the next task.
type world struct {
	o    outlook
	rng  *rand.Rand
	now  time.Time
	db   *state
	plan control.Target

	devices  map[ident.PortID]*box
	managers []*manager
	names    int
	tasks    []*task
	running  map[control.Job]bool
	retry    []retried
	outage   time.Time            // end of the database's outage
	calm     bool                 // no further faults
	lag      func() time.Duration // latency of each answer of a device; nil: from the outlook
	counts   map[string]int
	faults   []string // violated invariants
	strays   []stray  // in flight to devices
	beaters  []*beater
	beating  bool                             // a heartbeat is running, without interruption
	steady   bool                             // managers send heartbeats; otherwise they are too busy
	opening  func() time.Duration             // duration of each opening of the fabric; nil: from the outlook
	id       int64                            // of the rollout
	prior    control.Target                   // of every plan except the world's own
	earlier  map[ident.PortID]driver.Settings // settings in prior
	wanted   map[ident.PortID]driver.Settings // settings in the plan, with nothing held over
	gate     func(control.Rollout) error
	placed   []policy.Placement // in force
	refuses  bool               // the placer refuses, before it does anything
	deaf     bool               // placements never take effect
	lazy     int                // number of placements refused first
	onPlaced func(*manager)     // called when placements came in force, before their manager learns of it
	unready  string             // a device that lacked the settings for the placements when they were requested
	// Sabotage that the checks must detect: the engine skips the read-back, and no worker learns that it lost its shard.
	credulous, unfenced bool
}

// outlook holds probabilities of faults, per thousand.
type outlook struct {
	loseCommit, outage, crash, stop, reboot, operator  int
	loseRequest, loseReply, partial, slow, clampDevice int
	double                                             int // a write arrives twice
}

// manager is a process.
type manager struct {
	name   string
	engine *rollout.Engine
	alive  bool
	ctx    context.Context
	cancel context.CancelFunc
}

// task is a running job, or a running Keep.
type task struct {
	m      *manager
	job    *control.Job
	resume chan struct{}
	parked chan struct{} // closed when it waits or has ended
	done   bool
	err    error
	wake   time.Time     // sleeps until then
	wire   *stray        // the write that it waits for
	shard  control.Shard // the shard that it took last
}

type retried struct {
	job control.Job
	at  time.Time
}

type taskKey struct{}

func taskOf(ctx context.Context) *task {
	t, _ := ctx.Value(taskKey{}).(*task)
	return t
}

var errKilled = errors.New("this process is dead")

// yield lets the seed choose the next task; it fails when the manager was killed meanwhile.
func (w *world) yield(t *task, m *manager) error {
	if t != nil && !w.beating {
		t.parked <- struct{}{}
		<-t.resume
	}
	if m != nil && !m.alive {
		return errKilled
	}
	return nil
}

func (w *world) chance(in1000 int) bool { return !w.calm && w.rng.IntN(1000) < in1000 }

func (w *world) noDatabase() bool { return w.now.Before(w.outage) }

func (w *world) count(what string) { w.counts[what]++ }

func (w *world) fault(format string, args ...any) {
	w.faults = append(w.faults, fmt.Sprintf(format, args...))
}

const lease = 6 * time.Second

// useCases are those of a world: two plans, and a record of each rollout that ended.
type useCases struct{ w *world }

func (u useCases) LoadTarget(_ context.Context, _, plan string) (control.Target, error) {
	if plan != u.w.plan.Plan.Name {
		return u.w.prior, nil
	}
	return u.w.plan, nil
}

func (useCases) RolloutHome(context.Context, int64) (string, error) { return "", control.ErrNotFound }

func (useCases) RolloutEnded(_ context.Context, r control.Repos, ro control.Rollout) error {
	r.(*repos).s.ended = append(r.(*repos).s.ended, ro.ID)
	return nil
}

// start adds a manager.
func (w *world) start() {
	w.names++
	m := &manager{name: fmt.Sprintf("m%d", w.names), alive: true}
	m.ctx, m.cancel = context.WithCancel(context.Background())
	var err error
	m.engine, err = rollout.New(rollout.Deps{
		Store: memory{w, m}, Opener: opener{w, m}, Clock: clock{w, m}, Name: m.name, Lease: lease,
		Gate: gate{w}, UseCases: useCases{w},
		Steady: func(every time.Duration, beat func()) func() { return w.steadily(m, every, beat) },
	})
	if err != nil {
		panic(err) // a mistake of the test
	}
	w.managers = append(w.managers, m)
}

// beater sends heartbeats for a task.
type beater struct {
	m     *manager
	every time.Duration
	next  time.Time
	beat  func()
}

// steadily sends heartbeats as time passes, until stop is called.
func (w *world) steadily(m *manager, every time.Duration, beat func()) (stop func()) {
	if !w.steady {
		return func() {}
	}
	b := &beater{m: m, every: every, next: w.now.Add(every), beat: beat}
	w.beaters = append(w.beaters, b)
	return func() { w.beaters = slices.DeleteFunc(w.beaters, func(x *beater) bool { return x == b }) }
}

// run starts a task of a manager.
func (w *world) run(m *manager, j *control.Job, f func(context.Context) error) {
	t := &task{m: m, job: j, resume: make(chan struct{}), parked: make(chan struct{})}
	w.tasks = append(w.tasks, t)
	if j != nil {
		w.running[*j] = true
	}
	ctx := context.WithValue(m.ctx, taskKey{}, t)
	go func() {
		<-t.resume
		t.err = f(ctx)
		t.done = true
		t.parked <- struct{}{}
	}()
}

// step runs one operation, or lets time pass when no task can run.
func (w *world) step() {
	w.disturb()
	var ready []*task
	for _, t := range w.tasks {
		if !t.wake.After(w.now) {
			ready = append(ready, t)
		}
	}
	alive := w.alive()
	var jobs []int
	for i := range w.db.jobs {
		jobs = append(jobs, i)
	}
	n := len(ready)
	if len(alive) > 0 {
		n += len(jobs) + 1
	}
	switch k := w.rng.IntN(n + 2); {
	case k < len(ready):
		w.resume(ready[k])
	case k < n-1 && len(alive) > 0 && len(jobs) > 0:
		i := w.rng.IntN(len(jobs))
		j := w.db.jobs[i]
		w.db.jobs = slices.Delete(slices.Clone(w.db.jobs), i, i+1)
		m := alive[w.rng.IntN(len(alive))]
		w.run(m, &j, func(ctx context.Context) error { return m.engine.Work(ctx, j) })
	case k < n && len(alive) > 0:
		m := alive[w.rng.IntN(len(alive))]
		if !slices.ContainsFunc(w.tasks, func(t *task) bool { return t.m == m && t.job == nil }) {
			w.run(m, nil, m.engine.Keep)
		}
	default:
		most := 800
		if w.calm {
			most = 150 // chance alone delays no task for longer than its lease
		}
		w.pass(time.Duration(w.rng.IntN(most)) * time.Millisecond)
	}
	w.due()
}

func (w *world) alive() (out []*manager) {
	for _, m := range w.managers {
		if m.alive && m.ctx.Err() == nil {
			out = append(out, m)
		}
	}
	return out
}

// pass advances the time.
func (w *world) pass(d time.Duration) {
	w.now = w.now.Add(d)
	w.deliver(func(s stray) bool { return !s.at.After(w.now) })
	for _, b := range slices.Clone(w.beaters) {
		if b.m.alive && !b.next.After(w.now) {
			b.next, w.beating = w.now.Add(b.every), true
			b.beat()
			w.beating = false
		}
	}
}

// due puts failed jobs back into the queue when their retry is due.
func (w *world) due() {
	w.retry = slices.DeleteFunc(w.retry, func(r retried) bool {
		if r.at.After(w.now) {
			return false
		}
		delete(w.running, r.job)
		if !slices.Contains(w.db.jobs, r.job) {
			w.db.jobs = append(slices.Clone(w.db.jobs), r.job)
		}
		return true
	})
}

// resume runs a task to its next operation.
func (w *world) resume(t *task) {
	t.resume <- struct{}{}
	<-t.parked
	if !t.done {
		return
	}
	w.tasks = slices.DeleteFunc(w.tasks, func(x *task) bool { return x == t })
	switch {
	case t.job == nil || !t.m.alive: // the queue never hears of a killed manager's jobs
	case t.err != nil:
		w.retry = append(w.retry, retried{job: *t.job, at: w.now.Add(time.Second)})
	default:
		delete(w.running, *t.job)
	}
}

// disturb injects faults.
func (w *world) disturb() {
	alive := w.alive()
	switch {
	case w.calm:
	case w.chance(w.o.crash) && len(alive) > 0:
		m := alive[w.rng.IntN(len(alive))]
		w.kill(m)
	case w.chance(w.o.stop) && len(alive) > 1:
		alive[w.rng.IntN(len(alive))].cancel() // its tasks end by themselves
		w.count("stopped managers")
	case w.chance(w.o.outage):
		w.outage = w.now.Add(time.Duration(w.rng.IntN(20000)) * time.Millisecond)
		w.count("database outages")
	case w.chance(w.o.reboot):
		adapters := w.plan.Plan.CAs
		if len(adapters) == 0 { // a release, from the previous plan
			adapters = w.prior.Plan.CAs
		}
		b := w.devices[adapters[w.rng.IntN(len(adapters))].Port]
		b.holds, b.rebooted = b.before.Clone(), true
		w.count("reboots")
	case w.chance(w.o.operator):
		w.operate()
	}
	if len(w.alive()) == 0 || len(w.alive()) < 2 && w.rng.IntN(50) == 0 {
		w.start()
	}
}

// operate is an operator that acts at random, under the rules of the use cases in service/control/rollouts.
func (w *world) operate() {
	ro := w.db.rollouts[w.id]
	if ro.State != control.RolloutRunning || w.noDatabase() {
		return
	}
	undoing := ro.Undoing()
	switch w.rng.IntN(6) {
	case 0:
		if ro.Request == control.RequestRun {
			ro.Request = control.RequestPause
		}
	case 1, 2:
		if ro.Request == control.RequestPause {
			ro.Request = control.RequestRun
		}
	case 3:
		if !undoing && w.rng.IntN(3) == 0 {
			ro.Request = control.RequestCancel
		}
	case 4:
		if !undoing && !ro.Confirmed {
			ro.Request, ro.RequestedBy = control.RequestUndo, "ada"
		}
	case 5:
		if ro.Phase == control.PhaseConfirming {
			ro.Request, ro.Confirmed = control.RequestRun, true
		}
	}
	w.request(ro)
	w.count("operator commands")
}

// request stores the operator's request and queues a step, as Service.steer does.
func (w *world) request(ro control.Rollout) {
	next := w.db.clone()
	if ro.Owner == "" {
		ro.Revision++
	}
	next.rollouts[ro.ID] = ro
	if ro.Owner == "" {
		r := &repos{s: next, w: w}
		_ = r.Enqueue(context.Background(), control.Job{Kind: control.JobStep, Rollout: ro.ID, Revision: ro.Revision})
	}
	w.db = next
}

// recorded compares the recorded state of a device with what was read.
func (w *world) recorded(t *task, d control.RolloutDevice) {
	b := w.devices[d.Device.ID]
	switch d.State {
	case device.InSync:
		if b.reader != t || !b.asWant {
			w.fault("%s is recorded as in sync, but was not read so", d.Device)
		}
	case device.RolledBack:
		if b.reader != t || !b.asBefore {
			w.fault("%s is recorded as rolled back, but was not read so", d.Device)
		}
	case device.Applying:
		if d.Before == nil {
			w.fault("%s is about to be written, but what it was is not recorded", d.Device)
		} else if !d.Before.Equal(b.before) {
			w.fault("%s was not as recorded before the rollout", d.Device)
		}
	}
}

// joins checks a device's first baseline: it equals its settings before any rollout, with a known origin.
func (w *world) joins(b control.Baseline) {
	if d := w.devices[b.Device.ID]; !b.Settings.Equal(d.first) || b.Origin != control.OriginBefore {
		w.fault("the baseline of %s is not what it held before the first rollout (origin %s: %s)", b.Device, b.Origin, b.Note)
	}
}

// clock is virtual.
type clock struct {
	w *world
	m *manager
}

// Now implements rollout.Clock.
func (c clock) Now() time.Time { return c.w.now }

// Sleep advances to the end. The grace after the end of a context lasts as long as needed.
func (c clock) Sleep(ctx context.Context, d time.Duration) error {
	if d == 10*time.Second {
		<-ctx.Done()
		return ctx.Err()
	}
	t := taskOf(ctx)
	t.wake = c.w.now.Add(d)
	if err := c.w.yield(t, c.m); err != nil {
		return err
	}
	return ctx.Err()
}

type deadlineKey struct{}

// Deadline implements rollout.Clock.
func (c clock) Deadline(ctx context.Context, t time.Time) (context.Context, context.CancelFunc) {
	return context.WithCancel(context.WithValue(ctx, deadlineKey{}, t))
}

// opener opens the devices of the world.
type opener struct {
	w *world
	m *manager
}

// Open implements rollout.Opener.
func (o opener) Open(ctx context.Context, target control.Target, devices []driver.Device) (rollout.Session, error) {
	t := taskOf(ctx)
	if ro := o.w.db.rollouts[o.w.id]; devices == nil && (ro.Phase == control.PhaseUnplacing && ro.Prior == o.w.prior.Plan.Name) != (target.Plan == o.w.prior.Plan) {
		o.w.fault("placements of %.4s are asked for on the fabric of another plan", target.Plan.Name)
	}
	if o.w.opening != nil {
		t.wake = o.w.now.Add(o.w.opening())
	} else if o.w.chance(o.w.o.slow) {
		t.wake = o.w.now.Add(time.Duration(o.w.rng.IntN(12000)) * time.Millisecond)
	}
	if err := o.w.yield(t, o.m); err != nil {
		return rollout.Session{}, err
	}
	if source := target.Fabric.Source; source != "" {
		o.w.count("attached to " + source)
	}
	if o.w.chance(o.w.o.loseRequest) {
		return rollout.Session{}, errors.New("nobody answers")
	}
	return rollout.Session{Driver: boxes(o), Placer: placer(o), Close: func() error { return nil }}, nil
}

type placer opener

// Check implements device.Placer.
func (p placer) Check(ctx context.Context, plan, before *policy.Plan) error {
	if ro := p.w.db.rollouts[p.w.id]; ro.Moves() && (plan != p.w.plan.Plan || before != p.w.prior.Plan) {
		p.w.fault("placements of %.4s were asked about as coming after those of another plan than they do, nil: %t", plan.Name, before == nil)
	}
	if p.w.refuses {
		return errors.New("a partition file was edited by hand")
	}
	return p.w.yield(taskOf(ctx), p.m)
}

// Place implements device.Placer.
func (p placer) Place(ctx context.Context, plan, before *policy.Plan, _ bool) error {
	if err := p.w.yield(taskOf(ctx), p.m); err != nil {
		return err
	}
	if p.w.lazy > 0 {
		p.w.lazy--
		return errors.New("the subnet manager did not reload")
	}
	ro := p.w.db.rollouts[p.w.id]
	other := map[*policy.Plan]*policy.Plan{p.w.plan.Plan: p.w.prior.Plan, p.w.prior.Plan: p.w.plan.Plan}[plan]
	if ro.Moves() && before != other {
		p.w.fault("placements of %.4s were asked for as coming after those of another plan than it is, nil: %t", plan.Name, before == nil)
	}
	for _, d := range p.w.db.devices[p.w.id] {
		b := p.w.devices[d.Device.ID]
		missing := !b.rebooted && !b.clamps && d.State != "failed" && !b.holds.Equal(b.want)
		if ro.Moves() && (missing && !ro.Undoing() || d.State == "rolled-back" && plan == p.w.prior.Plan) {
			p.w.unready = d.Device.Name
		}
	}
	if !p.w.deaf {
		p.w.placed = plan.Placements
	}
	if p.w.onPlaced != nil {
		p.w.onPlaced(p.m)
		return p.w.yield(nil, p.m)
	}
	return nil
}

// Verify implements device.Placer.
func (p placer) Verify(ctx context.Context, plan *policy.Plan) error {
	if p.w.chance(p.w.o.loseReply) || !slices.Equal(p.w.placed, plan.Placements) {
		return errors.New("no path")
	}
	return p.w.yield(taskOf(ctx), p.m)
}

// gate is the health gate of the world.
type gate struct{ w *world }

// Check implements rollout.Gate.
func (g gate) Check(_ context.Context, _ control.Target, ro control.Rollout) (notice phrase.Text, err error) {
	if g.w.gate != nil {
		err = g.w.gate(ro)
	}
	return phrase.Text{}, err
}
