package rollout

import (
	"context"
	"errors"
	"fmt"
	"time"

	"fairlane/internal/phrase"
	"fairlane/service/control"
)

// sighting is the observed state of a rollout or shard, and since when it has not changed, by this manager's clock.
type sighting struct {
	face  string
	since time.Time
}

// Keep checks the running rollouts: it takes over shards without a heartbeat, and queues a job for rollouts that stand
// still. Call it every Every. Any number of managers may call it: the fences let one of them win.
func (e *Engine) Keep(ctx context.Context) error { return e.keep(ctx, false) }

// TakeOver takes over everything at once. Call it only when no other manager can be running, such as at the start with a
// locked database file.
func (e *Engine) TakeOver(ctx context.Context) error { return e.keep(ctx, true) }

// Every returns the interval at which to call Keep.
func (e *Engine) Every() time.Duration {
	return min(max(e.d.Lease/4, 50*time.Millisecond), time.Second)
}

func (e *Engine) keep(ctx context.Context, all bool) error {
	type rollout struct {
		ro     control.Rollout
		shards []control.Shard
	}
	var running []rollout
	err := e.d.Store.View(ctx, func(r control.Repos) error {
		list, err := r.RunningRollouts(ctx)
		if err != nil {
			return err
		}
		for _, ro := range list {
			shards, err := r.Shards(ctx, ro.ID)
			if err != nil {
				return err
			}
			running = append(running, rollout{ro, shards})
		}
		return nil
	})
	if err != nil {
		return err
	}
	var errs []error
	known := map[string]bool{}
	for _, x := range running {
		face := fmt.Sprint(x.ro.Revision)
		for _, s := range x.shards {
			face += fmt.Sprintf(" %d.%d", s.Epoch, s.Beat)
			if s.State != control.ShardWorking {
				continue
			}
			key := s.Key.String()
			known[key] = true
			if all || e.still(key, fmt.Sprintf("%d.%d", s.Epoch, s.Beat)) > e.d.Lease+e.d.Lease/4 {
				errs = append(errs, e.takeShard(ctx, s))
			}
		}
		key := fmt.Sprintf("rollout %d", x.ro.ID)
		known[key] = true
		still := e.still(key, face)
		due := x.ro.Phase == control.PhaseConfirming && !e.d.Clock.Now().Before(x.ro.ConfirmBy) && still > e.d.Lease/4
		if all || due || still > e.d.Lease+e.d.Lease/4 {
			errs = append(errs, e.wake(ctx, x.ro))
		}
	}
	e.forget(known)
	return errors.Join(errs...)
}

// still stores the observed state and returns for how long it has not changed.
func (e *Engine) still(key, face string) time.Duration {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := e.d.Clock.Now()
	if s, ok := e.seen[key]; ok && s.face == face {
		return now.Sub(s.since)
	}
	e.seen[key] = sighting{face, now}
	return 0
}

// forget drops the sightings of rollouts and shards that ended.
func (e *Engine) forget(known map[string]bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for key := range e.seen {
		if !known[key] {
			delete(e.seen, key)
		}
	}
}

// takeShard queues the work on a shard again whose worker sends no heartbeat. That worker's transactions fail from then
// on.
func (e *Engine) takeShard(ctx context.Context, seen control.Shard) error {
	return e.d.Store.Tx(e.on(ctx, seen.Key.Rollout), func(r control.Repos) error {
		ro, err := r.LockRollout(ctx, seen.Key.Rollout)
		if err != nil {
			return gone(err)
		}
		s, err := r.LockShard(ctx, seen.Key)
		if err != nil || ro.State != control.RolloutRunning || s != seen {
			return gone(err)
		}
		said := phrase.Of("event.shard-taken-over", "manager", s.Owner, "shard", s.Key.Shard+1, "wave", s.Key.Wave+1)
		if err := r.AddEvents(ctx, []control.Event{e.event(ro, "rollout.taken-over", said)}); err != nil {
			return err
		}
		return askAgain(ctx, r, s)
	})
}

// wake queues the jobs that a rollout without progress waits for.
func (e *Engine) wake(ctx context.Context, seen control.Rollout) error {
	return e.d.Store.Tx(control.OnFabric(ctx, seen.Fabric), func(r control.Repos) error {
		ro, err := r.LockRollout(ctx, seen.ID)
		if err != nil || ro.State != control.RolloutRunning || ro.Revision != seen.Revision || idle(ro, e.d.Clock.Now()) {
			return gone(err)
		}
		shards, err := r.Shards(ctx, ro.ID)
		if err != nil {
			return err
		}
		busy := false
		for _, s := range shards {
			switch s.State {
			case control.ShardWorking:
				busy = true
			case control.ShardQueued:
				busy = true
				if err := askAgain(ctx, r, s); err != nil {
					return err
				}
			}
		}
		if busy {
			return nil
		}
		if ro.Owner != "" {
			said := phrase.Of("event.step-taken-over", "manager", ro.Owner)
			if err := r.AddEvents(ctx, []control.Event{e.event(ro, "rollout.taken-over", said)}); err != nil {
				return err
			}
			ro.Owner = ""
		}
		_, err = e.kick(ctx, r, ro)
		return err
	})
}

// idle reports whether a rollout is waiting as intended.
func idle(ro control.Rollout, now time.Time) bool {
	return ro.Owner == "" && (ro.Request == control.RequestPause || ro.Phase == control.PhaseConfirming && ro.Request == control.RequestRun && !ro.Confirmed && now.Before(ro.ConfirmBy))
}

// gone ignores the error for a row that was deleted in the meantime.
func gone(err error) error {
	if errors.Is(err, control.ErrNotFound) {
		return nil
	}
	return err
}
