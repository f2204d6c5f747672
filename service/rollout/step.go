package rollout

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"fairlane/internal/phrase"
	"fairlane/policy"
	"fairlane/service/control"
	"fairlane/service/device"
)

// Step moves a rollout on as far as possible without waiting for devices. It ignores a stale revision, and a rollout that
// ended or that another manager works on. It returns one of the shard jobs that it queued.
func (e *Engine) Step(ctx context.Context, id, revision int64) (*control.Job, error) {
	s := &step{e: e, id: id, revision: revision}
	for {
		next, err := s.advance(ctx)
		switch {
		case err != nil:
			return nil, err
		case !next.slow():
			return s.opened, nil
		}
		if s.done, err = s.perform(ctx, next); err != nil {
			return nil, errors.Join(err, s.letGo(ctx))
		}
	}
}

// step is one run of Step.
type step struct {
	e  *Engine
	id int64
	// done applies the result of a slow act to the row; nil without one.
	done func(*control.Rollout)
	// opened is one of the jobs that the last transaction queued; nil without any.
	opened *control.Job

	beating sync.Mutex // held during a heartbeat
	// Heartbeats update these while a slow act runs, and only they access them then.
	revision int64
	ro       control.Rollout // as last saved
}

// errStale ends a transaction on work that is not this step's.
var errStale = errors.New("stale")

// advance does, in one transaction, all acts up to a slow one, which it announces and returns.
func (s *step) advance(ctx context.Context) (next act, err error) {
	err = s.e.d.Store.Tx(s.e.on(ctx, s.id), func(r control.Repos) error {
		ro, err := r.LockRollout(ctx, s.id)
		switch {
		case errors.Is(err, control.ErrNotFound):
			return errStale // its fabric was deleted
		case err != nil:
			return err
		case ro.State != control.RolloutRunning, ro.Revision != s.revision, s.done == nil && ro.Owner != "":
			return errStale
		}
		before := ro
		s.opened = nil
		if s.done != nil {
			s.done(&ro)
		}
		ro.Owner = ""
		for range maxActs {
			v, err := s.e.view(ctx, r, ro)
			if err != nil {
				return err
			}
			d := decide(v)
			next = d.act
			if d.act == actWait || d.act.slow() {
				break
			}
			if ro, err = s.apply(ctx, r, ro, d); err != nil {
				return err
			}
			if d.act == actOpen || ro.State != control.RolloutRunning {
				next = actWait
				break
			}
		}
		if next.slow() {
			ro.Owner = s.e.d.Name
		}
		if next == actPlace { // announced like a write: after a lost reply the roll-back has to restore traffic
			ro.Placed = control.PlacedUnverified
		}
		if same(before, ro) {
			return nil
		}
		ro.UpdatedAt = s.e.d.Clock.Now().UTC()
		if ro, err = r.SaveRollout(ctx, ro); err != nil {
			return err
		}
		s.ro, s.revision = ro, ro.Revision
		return nil
	})
	if errors.Is(err, errStale) {
		s.opened = nil
		return actWait, nil
	}
	return next, err
}

// letGo releases the row for another manager when this one shuts down during a slow act. After any other error this
// manager keeps it, so that the retry waits for a lease.
func (s *step) letGo(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	ctx = context.WithoutCancel(ctx)
	err := s.e.d.Store.Tx(s.e.on(ctx, s.id), func(r control.Repos) error {
		ro, err := r.LockRollout(ctx, s.id)
		if err != nil || ro.Revision != s.revision || ro.Owner != s.e.d.Name {
			return errors.Join(err, errStale)
		}
		ro.Owner = ""
		_, err = s.e.kick(ctx, r, ro)
		return err
	})
	if errors.Is(err, errStale) {
		return nil
	}
	return err
}

// maxActs bounds the acts of one transaction; the phases have no cycle, so it is never reached.
const maxActs = 16

// same reports whether two readings of a rollout are equal in what SaveRollout stores.
func same(a, b control.Rollout) bool {
	return a.Phase == b.Phase && a.Owner == b.Owner && a.Wave == b.Wave && a.Placed == b.Placed && a.Gated == b.Gated &&
		a.ConfirmBy.Equal(b.ConfirmBy) && a.Reason.Canonical() == b.Reason.Canonical() && a.State == b.State
}

// view reads the input of decide.
func (e *Engine) view(ctx context.Context, r control.Repos, ro control.Rollout) (v view, err error) {
	v = view{ro: ro, now: e.d.Clock.Now(), lower: -1}
	shards, err := r.Shards(ctx, ro.ID)
	if err != nil {
		return v, err
	}
	undo := ro.Phase == control.PhaseUndoing
	for _, s := range shards {
		switch {
		case s.State == control.ShardQueued || s.State == control.ShardWorking:
			v.busy++
		case s.State == control.ShardReady && s.Key.Undo == undo && s.Key.Wave == ro.Wave:
			v.ready++
		}
	}
	if v.tally, err = r.TallyRollout(ctx, ro.ID, -1); err != nil {
		return v, err
	}
	if ro.Wave >= 0 {
		t, err := r.TallyRollout(ctx, ro.ID, ro.Wave)
		if err != nil {
			return v, err
		}
		v.failedHere = t.Failed
	}
	if undo {
		touched, err := r.TouchedWaves(ctx, ro.ID)
		if err != nil {
			return v, err
		}
		for _, w := range touched {
			if w.Wave < ro.Wave {
				v.lower = w.Wave
			}
		}
	}
	if v.tally.Failed+v.tally.Dirty > 0 {
		faulty, err := r.FaultyDevices(ctx, ro.ID, maxFaults)
		if err != nil {
			return v, err
		}
		for _, d := range faulty {
			v.faults = append(v.faults, phrase.Of("labelled", "label", d.Device.Name, "text", d.Error))
		}
	}
	if undo || ro.Placed == control.PlacedUnverified {
		f, err := r.Fabric(ctx, ro.Fabric)
		if err != nil {
			return v, err
		}
		v.unplaced = !places(f.Plane)
	}
	return v, nil
}

// places reports whether a plane has placements of tenants on service levels.
func places(plane policy.Plane) bool { return plane == policy.PlaneIB || plane == "" }

// maxFaults bounds the devices that a reason names.
const maxFaults = 8

// apply does a fast act.
func (s *step) apply(ctx context.Context, r control.Repos, ro control.Rollout, d decision) (control.Rollout, error) {
	e := s.e
	switch d.act {
	case actPush:
		ro.Phase = control.PhasePushing
		return ro, nil
	case actOpen:
		ro.Wave = d.wave
		jobs, err := e.open(ctx, r, ro)
		if len(jobs) > 0 {
			s.opened = &jobs[0]
		}
		return ro, err
	case actConfirm:
		ro.Phase, ro.ConfirmBy = control.PhaseConfirming, e.d.Clock.Now().UTC().Add(ro.Options.ConfirmWindow)
		return ro, r.AddEvents(ctx, []control.Event{e.event(ro, "rollout.confirming",
			phrase.Of("event.confirming", "rollout", ro.ID, "window", ro.Options.ConfirmWindow))})
	case actSettle:
		ro.Phase = control.PhasePlacing
		return ro, nil
	case actUndo:
		ro.Phase, ro.Reason, ro.Wave = control.PhaseUnplacing, d.reason, ro.Waves
		return ro, r.AddEvents(ctx, []control.Event{e.event(ro, "rollout.progress", phrase.Of("event.rolling-back", "reason", d.reason))})
	case actUnwind:
		ro.Phase = control.PhaseUndoing
		return ro, nil
	case actEnd:
		return e.end(ctx, r, ro, d)
	}
	return ro, fmt.Errorf("act %d of rollout %d: not one that takes no time", d.act, ro.ID)
}

// open queues the shards of the open wave that are not done, and returns the jobs.
func (e *Engine) open(ctx context.Context, r control.Repos, ro control.Rollout) ([]control.Job, error) {
	undo := ro.Phase == control.PhaseUndoing
	shards, err := r.Shards(ctx, ro.ID)
	if err != nil {
		return nil, err
	}
	have := map[control.ShardKey]bool{}
	for _, s := range shards {
		have[s.Key] = true
	}
	for _, s := range shards {
		if k := s.Key; undo && !k.Undo && k.Wave == ro.Wave {
			if k.Undo = true; !have[k] {
				shards = append(shards, control.Shard{Key: k, State: control.ShardReady})
			}
		}
	}
	var jobs []control.Job
	for _, s := range shards {
		if s.State != control.ShardReady || s.Key.Undo != undo || s.Key.Wave != ro.Wave {
			continue
		}
		job, err := queue(ctx, r, s)
		if err != nil {
			return nil, err
		}
		jobs = append(jobs, job)
	}
	return jobs, r.Enqueue(ctx, jobs...)
}

// askAgain queues a shard again; its former worker is fenced off from then on.
func askAgain(ctx context.Context, r control.Repos, s control.Shard) error {
	job, err := queue(ctx, r, s)
	if err != nil {
		return err
	}
	return r.Enqueue(ctx, job)
}

// queue gives a shard a new epoch and returns its job.
func queue(ctx context.Context, r control.Repos, s control.Shard) (control.Job, error) {
	s.State, s.Owner = control.ShardQueued, ""
	s.Epoch++
	job := control.Job{Kind: control.JobShard, Rollout: s.Key.Rollout, Revision: s.Epoch, Undo: s.Key.Undo, Wave: s.Key.Wave, Shard: s.Key.Shard}
	return job, r.PutShard(ctx, s)
}

// end writes the final state.
func (e *Engine) end(ctx context.Context, r control.Repos, ro control.Rollout, d decision) (control.Rollout, error) {
	now := e.d.Clock.Now().UTC()
	ro.State, ro.Result, ro.Phase = d.state, d.reason, control.PhaseEnded
	ro.FinishedAt, ro.ConfirmBy = now, time.Time{}
	ev := e.event(ro, "rollout."+string(ro.State), control.RolloutEndedText(ro))
	if err := r.AddEvents(ctx, []control.Event{ev}); err != nil {
		return ro, err
	}
	return ro, e.d.UseCases.RolloutEnded(ctx, r, ro)
}

// perform does a slow act and returns a function that applies its result. The row gets heartbeats meanwhile.
func (s *step) perform(ctx context.Context, a act) (func(*control.Rollout), error) {
	ro := s.ro
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop := s.e.d.Steady(s.e.d.Lease/3, func() {
		if err := s.beat(ctx); err != nil {
			cancel(err)
		}
	})
	note, err := s.slowAct(ctx, a, ro)
	stop()
	if err == nil {
		err = context.Cause(ctx)
	}
	return note, err
}

// beat renews the row, so that other managers see that its step is running.
func (s *step) beat(ctx context.Context) error {
	if !s.beating.TryLock() {
		return nil // a heartbeat is running; when it fails, the work ends
	}
	defer s.beating.Unlock()
	return s.e.d.Store.Tx(s.e.on(ctx, s.id), func(r control.Repos) error {
		ro := s.ro
		ro.UpdatedAt = s.e.d.Clock.Now().UTC()
		ro, err := r.SaveRollout(ctx, ro)
		if err == nil {
			s.ro, s.revision = ro, ro.Revision
		}
		return err
	})
}

// placingText says what the placement stage will do.
func placingText(p *policy.Plan) phrase.Text {
	switch {
	case places(p.Plane) && len(p.Placements) == 0:
		return phrase.Of("event.unplacing")
	case places(p.Plane):
		return phrase.Of("event.placing", "n", len(p.Placements))
	}
	return phrase.Of("event.no-placing")
}

// placedText says what the placement stage did.
func placedText(p *policy.Plan) phrase.Text {
	switch {
	case places(p.Plane) && len(p.Placements) == 0:
		return phrase.Of("event.unplaced")
	case places(p.Plane):
		return phrase.Of("event.placed")
	}
	return phrase.Of("event.none-placed")
}

// slowAct does one slow act. An error means that its result is unknown.
func (s *step) slowAct(ctx context.Context, a act, ro control.Rollout) (func(*control.Rollout), error) {
	c, err := s.e.plan(ctx, ro.Fabric, ro.Plan)
	if err != nil {
		return s.e.broken(ctx, ro, err)
	}
	switch a {
	case actExamine:
		return s.e.examine(ctx, c.target, ro)
	case actCheck:
		before, err := s.e.before(ctx, ro)
		if err != nil {
			return nil, err
		}
		why, err := s.persist(ctx, ro, c.target, func(p device.Placer) error { return p.Check(ctx, c.target.Plan, before) })
		if err != nil {
			return nil, err
		}
		return func(ro *control.Rollout) {
			if ro.Phase = control.PhasePushing; why != nil {
				undo(ro, phrase.OfError(why))
			}
		}, nil
	case actPlace:
		if err := s.e.say(ctx, ro, placingText(c.target.Plan)); err != nil {
			return nil, err
		}
		before, err := s.e.before(ctx, ro)
		if err != nil {
			return nil, err
		}
		return s.place(ctx, ro, c.target, before, control.PlacedVerified, placedText(c.target.Plan))
	case actUnplace:
		prior, err := s.e.d.UseCases.LoadTarget(ctx, ro.Fabric, ro.Prior)
		if err != nil {
			return s.e.broken(ctx, ro, fmt.Errorf("return placements: %w", err))
		}
		// On the fabric as that plan knew it: a port may have left since.
		return s.place(ctx, ro, prior, c.target.Plan, control.PlacedRestored, phrase.Of("event.placements-restored"))
	case actGate:
		return s.e.gate(ctx, c.target, ro)
	}
	return nil, fmt.Errorf("act %d of rollout %d: not one that takes time", a, ro.ID)
}

// gate runs the health gates. What they could not judge is reported, and stored with the rollout.
func (e *Engine) gate(ctx context.Context, t control.Target, ro control.Rollout) (func(*control.Rollout), error) {
	var notice phrase.Text
	var err error
	if e.d.Gate != nil {
		notice, err = e.d.Gate.Check(ctx, t, ro)
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if notice.ID != "" {
		if err := e.say(ctx, ro, notice); err != nil {
			return nil, err
		}
	}
	return func(ro *control.Rollout) {
		ro.Gated = max(ro.Wave, ro.Gated)
		if ro.Phase == control.PhaseConfirming {
			ro.Gated = ro.Waves
		}
		switch {
		case err != nil:
			undo(ro, phrase.Of("result.gate", "wave", ro.Wave+1, "waves", ro.Waves, "reason", err))
		case notice.ID != "":
			ro.Reason = notice // the latest
		}
	}, nil
}

// undo begins the roll-back.
func undo(ro *control.Rollout, reason phrase.Text) {
	if ro.Undoing() {
		ro.Reason = phrase.Joined(ro.Reason, reason)
		return
	}
	ro.Phase, ro.Reason, ro.Wave = control.PhaseUnplacing, reason, ro.Waves
}

// broken turns back a rollout whose plan cannot be used. It stops in place when the cause may be temporary.
func (e *Engine) broken(ctx context.Context, ro control.Rollout, err error) (func(*control.Rollout), error) {
	if ctx.Err() != nil || errors.Is(err, control.ErrUnavailable) {
		return nil, err
	}
	return func(r *control.Rollout) {
		if ro.Phase == control.PhaseUnplacing {
			r.Prior, r.Placed = "", control.PlacedUnverified // nothing to restore: end in the current state
		}
		undo(r, phrase.OfError(err))
	}, nil
}

// say adds an event about the progress of a rollout as a whole.
func (e *Engine) say(ctx context.Context, ro control.Rollout, said phrase.Text) error {
	return e.d.Store.Tx(control.OnFabric(ctx, ro.Fabric), func(r control.Repos) error {
		return r.AddEvents(ctx, []control.Event{e.event(ro, "rollout.progress", said)})
	})
}

// before returns the plan whose placements a rollout finds in force; nil when it is unknown or deleted.
func (e *Engine) before(ctx context.Context, ro control.Rollout) (*policy.Plan, error) {
	if ro.Prior == "" {
		return nil, nil
	}
	t, err := e.d.UseCases.LoadTarget(ctx, ro.Fabric, ro.Prior)
	if err != nil {
		if outlived(err) {
			err = nil
		}
		return nil, err
	}
	return t.Plan, nil
}

// place applies the placements of a target's plan and verifies them.
func (s *step) place(ctx context.Context, ro control.Rollout, t control.Target, before *policy.Plan, to control.Placed, said phrase.Text) (func(*control.Rollout), error) {
	p, clear := t.Plan, ro.Prior == ro.Plan || ro.Options.To != ""
	t.Repair = ro.Options.Manager
	why, err := s.persist(ctx, ro, t, func(placer device.Placer) error {
		if err := placer.Place(ctx, p, before, clear); err != nil {
			return fmt.Errorf("place: %w", err)
		}
		if err := placer.Verify(ctx, p); err != nil {
			return fmt.Errorf("verify placement: %w", err)
		}
		return nil
	})
	switch {
	case err != nil:
		return nil, err
	case why == nil:
		return func(ro *control.Rollout) { ro.Placed = to }, s.e.say(ctx, ro, said)
	}
	return func(ro *control.Rollout) {
		if ro.Placed = control.PlacedUnverified; to == control.PlacedRestored {
			ro.Reason = notReturned(ro.Reason, why)
			ro.Prior = ""
			return
		}
		if ro.Options.Release && !ro.Undoing() {
			ro.Reason = phrase.OfError(why)
			return
		}
		undo(ro, phrase.OfError(why))
	}, nil
}

// notReturned adds to the reason for the roll-back that placements could not be restored. It does not repeat a refusal
// that the reason already contains.
func notReturned(reason phrase.Text, why error) phrase.Text {
	again := phrase.OfError(why)
	if strings.Contains(reason.String(), again.String()) {
		return phrase.Joined(reason, phrase.Of("result.not-returned-either"))
	}
	return phrase.Joined(reason, phrase.Of("result.not-returned", "reason", again))
}

// persist calls the placer of a fabric, and retries with growing pauses. why is the reason of the last failure; err says
// that it was stopped.
func (s *step) persist(ctx context.Context, ro control.Rollout, t control.Target, ask func(device.Placer) error) (why, err error) {
	o, err := deviceOptions(ro.Options).WithDefaults()
	if err != nil {
		return nil, err
	}
	for i := range o.Attempts {
		if i > 0 {
			if err := s.e.d.Clock.Sleep(ctx, o.Pause(i)); err != nil {
				return nil, err
			}
		}
		// During the wait, or while the process was suspended, another manager may have continued the rollout.
		if err := s.beat(ctx); err != nil {
			return nil, err
		}
		if why = s.e.askPlacer(ctx, t, ask); why == nil {
			return nil, nil
		}
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return why, nil
}

func (e *Engine) askPlacer(ctx context.Context, t control.Target, ask func(device.Placer) error) error {
	s, err := e.d.Opener.Open(ctx, t, nil)
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }() // the session is over either way
	if s.Placer == nil {
		return nil
	}
	return ask(s.Placer)
}

// deviceOptions converts a rollout's options to those of package device.
func deviceOptions(o control.RolloutOptions) device.Options {
	return device.Options{Parallel: o.Parallel, FailureBudget: o.FailureBudget, Attempts: o.Attempts}
}
