package rollout

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"fairlane/ccconfig/driver"
	"fairlane/internal/phrase"
	"fairlane/internal/span"
	"fairlane/service/control"
	"fairlane/service/device"
	"fairlane/subnet/ident"
)

// WorkShard works the devices of one shard under the given epoch. It does nothing when another worker holds the shard,
// when the shard is done, or when it was queued again since. When ctx ends, devices in progress are finished and the
// others left for another manager. It returns the next step when the shard was the last one.
func (e *Engine) WorkShard(ctx context.Context, k control.ShardKey, epoch int64) (next *control.Job, err error) {
	c, err := e.claim(ctx, k, epoch)
	if c == nil || err != nil {
		return nil, err
	}
	ctx, sp := span.Join(ctx, c.ro.Options.Trace, "rollout.shard", "fabric", c.ro.Fabric, "rollout", k.Rollout, "undo", k.Undo, "wave", k.Wave, "shard", k.Shard, "devices", len(c.rows))
	defer func() { sp.End(err) }()
	parkable, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	c.park = func() { cancel(errParked) }
	if c.parks(c.ro.Request) {
		c.park()
	}
	stop := e.d.Steady(e.d.Lease/3, func() { _ = c.renew(ctx) }) // the next record returns the error
	err = c.attend(ctx, parkable)
	stop()
	if errors.Is(err, ErrFenced) {
		return nil, nil // another worker continues
	}
	if err != nil {
		return nil, c.giveBack(ctx, err)
	}
	return c.finish(context.WithoutCancel(ctx), ctx.Err() != nil)
}

// attend opens the fabric and works the devices. This may take longer than the lease: it waits for silent devices before
// the first one is written.
func (c *claim) attend(ctx, parkable context.Context) error {
	items, err := c.items(ctx)
	if err != nil {
		return err
	}
	session, err := c.e.d.Opener.Open(ctx, c.plan.target, devicesOf(items))
	switch {
	case err != nil && ctx.Err() != nil:
		return err
	case err != nil:
		session = Session{Driver: device.Broken(asDeviceError(err)), Close: func() error { return nil }}
	}
	defer func() { _ = session.Close() }() // the session is over either way
	return c.work(ctx, parkable, items, session.Driver)
}

// work advances the devices as far as possible, and starts none after parkable has ended. Devices that a lost worker left half
// done come first, and are finished even when an operator stops the rollout: a safe point is where no device is half
// done.
func (c *claim) work(ctx, parkable context.Context, items []device.Item, d driver.Driver) error {
	var midway, rest []device.Item
	for _, it := range items {
		if it.Touched && (!it.State.Settled() || it.State == device.Failed && !c.key.Undo) {
			midway = append(midway, it)
		} else {
			rest = append(rest, it)
		}
	}
	deps := device.Deps{Driver: &guard{Driver: d, c: c}, Recorder: c, Clock: c.e.d.Clock}
	part := device.Part{
		Items: midway, Undo: c.key.Undo, Options: deviceOptions(c.ro.Options),
		Failures: c.failures, Canary: slices.Contains(c.ro.Options.CanaryWaves, c.key.Wave),
		Repair: c.plan.target.Fabric.Prerequisites == control.PrerequisitesRepair,
	}
	if len(midway) > 0 {
		if err := device.Work(ctx, part, deps); err != nil {
			return err
		}
	}
	part.Items, part.Failures = rest, c.elsewhere+failedOf(c.rows)
	return device.Work(parkable, part, deps)
}

// parks reports whether an operator's request makes the shard stop at the next safe point.
func (c *claim) parks(request control.RolloutRequest) bool {
	return request == control.RequestPause || !c.key.Undo && request != control.RequestRun
}

func devicesOf(items []device.Item) []driver.Device {
	out := make([]driver.Device, len(items))
	for i := range items {
		out[i] = items[i].Device
	}
	return out
}

// asDeviceError returns an error without a kind as one of kind "unreachable".
func asDeviceError(err error) error {
	if errors.Is(err, driver.KindOf(err)) {
		return err
	}
	return fmt.Errorf("%w: %w", driver.ErrUnreachable, err)
}

// claim takes a queued shard. It returns nil when the shard cannot be taken.
func (e *Engine) claim(ctx context.Context, k control.ShardKey, epoch int64) (*claim, error) {
	c := &claim{e: e, key: k, epoch: epoch, began: e.d.Clock.Now()}
	err := e.d.Store.Tx(e.on(ctx, k.Rollout), func(r control.Repos) (err error) {
		if c.ro, err = r.LockRollout(ctx, k.Rollout); errors.Is(err, control.ErrNotFound) {
			return errStale // its fabric was deleted
		} else if err != nil {
			return err
		}
		s, err := r.LockShard(ctx, k)
		if err != nil {
			return err
		}
		if c.ro.State != control.RolloutRunning || s.State != control.ShardQueued || s.Epoch != epoch {
			return errStale
		}
		s.State, s.Owner = control.ShardWorking, e.d.Name
		s.Beat++
		if err := r.PutShard(ctx, s); err != nil {
			return err
		}
		if c.rows, err = r.ShardDevices(ctx, k.Rollout, k.Wave, k.Shard); err != nil {
			return err
		}
		ids := make([]ident.PortID, len(c.rows))
		for i := range c.rows {
			ids[i] = c.rows[i].Device.ID
		}
		if c.based, err = r.Based(ctx, c.ro.Fabric, ids); err != nil {
			return err
		}
		c.failures, err = r.FailedDevices(ctx, k.Rollout)
		c.elsewhere = c.failures - failedOf(c.rows)
		return err
	})
	switch {
	case errors.Is(err, errStale):
		return nil, nil
	case err != nil:
		return nil, err
	}
	c.index()
	return c, nil
}

// items returns the devices of the shard with their desired settings, from the plan, which it loads.
func (c *claim) items(ctx context.Context) (_ []device.Item, err error) {
	if c.plan, err = c.e.plan(ctx, c.ro.Fabric, c.ro.Plan); err != nil {
		return nil, err
	}
	hold, err := c.e.holdOver(ctx, c.ro, c.plan)
	if err != nil {
		return nil, err
	}
	if err := c.suspect(ctx); err != nil {
		return nil, err
	}
	returns, err := c.returns(ctx)
	if err != nil {
		return nil, err
	}
	c.leaves = map[ident.PortID]bool{}
	items := make([]device.Item, len(c.rows))
	for i := range c.rows {
		row := &c.rows[i]
		want, ok := c.plan.want[row.Device.ID]
		c.leaves[row.Device.ID] = !ok
		back, returned := returns[row.Device.ID]
		switch {
		case returned:
			want.Want, ok = back, true
		case !ok: // only the previous plan had it
			want.Want, ok = device.Gone(row.Device)
		}
		if !ok {
			return nil, fmt.Errorf("device %s of rollout %d is not in plan %.12s", row.Device, c.ro.ID, c.ro.Plan)
		}
		want.Want = hold(row.Device.ID, want.Want)
		items[i] = device.Item{
			Target:  device.Target{Device: row.Device, Want: want.Want, Needs: want.Needs},
			Before:  row.Before,
			State:   row.State,
			Touched: row.Touched,
			AsRead:  returned,
		}
	}
	return items, nil
}

// giveBack releases a shard after an error, with its devices in the recorded states, so that the same job is retried. If
// even that cannot be written, other managers miss the heartbeat and take over.
func (c *claim) giveBack(ctx context.Context, why error) error {
	err := c.e.d.Store.Tx(c.e.on(context.WithoutCancel(ctx), c.key.Rollout), func(r control.Repos) error {
		s, err := c.hold(ctx, r)
		if err != nil {
			return err
		}
		s.State, s.Owner = control.ShardQueued, ""
		return r.PutShard(ctx, s)
	})
	return errors.Join(why, err)
}

// finish releases a shard for good, or for a later worker when devices remain. When it is the last shard, it queues the
// next step and returns it. stopping says that this manager shuts down and leaves the rest to another one.
func (c *claim) finish(ctx context.Context, stopping bool) (next *control.Job, err error) {
	err = c.e.d.Store.Tx(c.e.on(ctx, c.key.Rollout), func(r control.Repos) error {
		next = nil
		ro, err := r.LockRollout(ctx, c.key.Rollout)
		if err != nil {
			return err
		}
		s, err := c.hold(ctx, r)
		if err != nil {
			return err
		}
		left, midway := c.left(ro)
		if midway || left && stopping && ro.Request == control.RequestRun {
			return askAgain(ctx, r, s)
		}
		if s.State, s.Owner = control.ShardDone, ""; left {
			s.State = control.ShardReady
		}
		if err := r.PutShard(ctx, s); err != nil {
			return err
		}
		next, err = c.e.afterShard(ctx, r, ro, s)
		return err
	})
	switch {
	case errors.Is(err, ErrFenced):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return next, nil
}

// left reports whether the shard has devices that must still be worked: those that a pause, a cancel or a shutdown left.
// Devices that the failure budget left do not count, since the rollout turns back. midway says that one of them is half
// done, so that the rollout cannot stop here.
func (c *claim) left(ro control.Rollout) (left, midway bool) {
	for i := range c.rows {
		row := &c.rows[i]
		settled := row.State.Settled()
		back := c.owed(row)
		left = left || back || !settled && (!c.key.Undo || row.Touched)
		midway = midway || !settled && row.Touched || back && !c.key.Undo
	}
	if c.key.Undo || !left || ro.Request != control.RequestRun {
		return left, midway
	}
	failed := c.elsewhere + failedOf(c.rows)
	return failed <= ro.Options.FailureBudget && (failed <= c.failures || !slices.Contains(ro.Options.CanaryWaves, c.key.Wave)), midway
}

// owed reports whether a settled device must still be returned to its previous settings, and this worker has not tried
// that yet. In an undo this applies to every written device, since reaching the desired settings settles a device only on
// the way forward. On the way forward it applies to a failed device whose worker was lost before it returned it.
func (c *claim) owed(row *control.RolloutDevice) bool {
	s := row.State
	if !row.Touched || row.Before == nil || !s.Settled() || s == device.RolledBack || c.tried[row.Device.ID] {
		return false
	}
	return c.key.Undo || s == device.Failed
}

// failedOf counts the devices that count against the failure budget.
func failedOf(rows []control.RolloutDevice) int {
	var t control.Tally
	for i := range rows {
		t.Add(rows[i].State, rows[i].Touched, 1)
	}
	return t.Failed
}

// afterShard queues and returns the next step when no shard of a rollout is running any more.
func (e *Engine) afterShard(ctx context.Context, r control.Repos, ro control.Rollout, s control.Shard) (*control.Job, error) {
	shards, err := r.Shards(ctx, ro.ID)
	if err != nil {
		return nil, err
	}
	for _, x := range shards {
		if x.State == control.ShardQueued || x.State == control.ShardWorking {
			return nil, nil
		}
	}
	if s.State == control.ShardDone && !s.Key.Undo {
		t, err := r.TallyRollout(ctx, ro.ID, s.Key.Wave)
		if err != nil {
			return nil, err
		}
		said := phrase.Of("event.wave", "wave", s.Key.Wave+1, "waves", ro.Waves, "n", t.InSync)
		if t.InSync < t.All {
			said = phrase.Of("event.wave-part", "wave", s.Key.Wave+1, "waves", ro.Waves, "n", t.InSync, "all", t.All)
		}
		if err := r.AddEvents(ctx, []control.Event{e.event(ro, "rollout.progress", said)}); err != nil {
			return nil, err
		}
	}
	return e.kick(ctx, r, ro)
}

// kick queues and returns the next step of a rollout whose row the transaction holds, unless a step is running.
func (e *Engine) kick(ctx context.Context, r control.Repos, ro control.Rollout) (*control.Job, error) {
	if ro.Owner != "" {
		return nil, nil
	}
	ro.UpdatedAt = e.d.Clock.Now().UTC()
	ro, err := r.SaveRollout(ctx, ro)
	if err != nil {
		return nil, err
	}
	job := control.Job{Kind: control.JobStep, Rollout: ro.ID, Revision: ro.Revision}
	return &job, r.Enqueue(ctx, job)
}
