package control

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"fairlane/policy"
)

// StartRollout records a rollout of a stored plan and starts it in the background. Stages are
// run in their fixed order; none given means all.
func (s *Service) StartRollout(ctx context.Context, fabric, plan string, stages []Stage) (Rollout, error) {
	stages, err := orderStages(stages)
	if err != nil {
		return Rollout{}, err
	}
	if plan == "" {
		return Rollout{}, Invalid("/plan", "plan is empty: want the name of a stored plan")
	}
	t, err := s.target(ctx, fabric, plan)
	if err != nil {
		return Rollout{}, err
	}
	if t.Fabric.Snapshot == nil {
		return Rollout{}, &ConflictError{Code: "not-discovered", Detail: fmt.Sprintf("fabric %q was not discovered yet", fabric)}
	}
	req := RollRequest{Target: t, Stages: stages}
	if req.Prior, err = s.prior(ctx, fabric); err != nil {
		return Rollout{}, err
	}
	// The goroutine waits for the row, so that it never reports on one that was not committed.
	var out Rollout
	committed := make(chan bool, 1)
	who := actor(ctx)
	err = s.runner.Start(fabric, func(run context.Context) {
		if <-committed {
			s.roll(WithActor(run, who), out, req)
		}
	})
	if err != nil {
		return Rollout{}, err
	}
	err = s.d.Store.Tx(ctx, func(r Repos) (err error) {
		if out, err = r.CreateRollout(ctx, Rollout{Fabric: fabric, Plan: t.Plan.Name, Stages: stages, Actor: who, CreatedAt: s.now()}); err != nil {
			return err
		}
		return s.event(ctx, r, Event{Fabric: fabric, Rollout: out.ID, Kind: "rollout.started", Subject: t.Plan.Name,
			Message: fmt.Sprintf("rollout %d of plan %.12s was started", out.ID, t.Plan.Name)}, map[string]any{"stages": stages})
	})
	committed <- err == nil
	return out, err
}

// orderStages puts stages in the order in which they run and refuses unknown ones and repeats.
func orderStages(in []Stage) ([]Stage, error) {
	all := []Stage{StagePlacement, StageSettings}
	if len(in) == 0 {
		return all, nil
	}
	var out []Stage
	for i, st := range in {
		switch {
		case !slices.Contains(all, st):
			return nil, Invalid(fmt.Sprintf("/stages/%d", i), "stage %q: want placement or settings", st)
		case slices.Contains(in[:i], st):
			return nil, Invalid(fmt.Sprintf("/stages/%d", i), "stage %q is given twice: want each once", st)
		}
	}
	for _, st := range all {
		if slices.Contains(in, st) {
			out = append(out, st)
		}
	}
	return out, nil
}

// prior returns the plan of the latest successful rollout, or nil.
func (s *Service) prior(ctx context.Context, fabric string) (prior *policy.Plan, err error) {
	err = s.d.Store.View(ctx, func(r Repos) error {
		ro, err := r.LatestRollout(ctx, fabric, RolloutSucceeded, RolloutPartial)
		if errors.Is(err, ErrNotFound) {
			return nil
		} else if err != nil {
			return err
		}
		p, err := r.Plan(ctx, fabric, ro.Plan)
		prior = p.Plan
		return err
	})
	return prior, err
}

// roll runs a rollout to its end and records the result. ctx is the run's: what is recorded
// is recorded even after it ended.
func (s *Service) roll(ctx context.Context, ro Rollout, req RollRequest) {
	keep := context.WithoutCancel(ctx)
	res, err := s.safeRoll(ctx, req, &recorder{s: s, ctx: keep, ro: ro})
	switch cause := context.Cause(ctx); {
	case err != nil && cause == nil:
		res = RollResult{State: RolloutFailed, Result: err.Error()}
	case err != nil || res.State == RolloutRunning || res.State == "":
		res = RollResult{State: RolloutInterrupted, Result: "stopped before the end"}
		if errors.Is(cause, errCanceled) {
			res.State = RolloutCanceled
		}
		if cause != nil {
			res.Result += ": " + cause.Error()
		}
	}
	// When this write fails the row stays "running", and the next start of the manager marks
	// it interrupted: nothing claims a result that was not stored.
	for try := range finishTries {
		err := s.finish(keep, ro, res)
		if err == nil || errors.Is(err, ErrConflict) || errors.Is(err, ErrNotFound) {
			return
		}
		time.Sleep(100 * time.Millisecond << try)
	}
}

// finishTries bounds how often the result of a rollout is written, over some 12 s, when the store refuses.
const finishTries = 7

// safeRoll turns a panic of a roller into a failed rollout: one fabric's bug must not take
// the manager of all fabrics down.
func (s *Service) safeRoll(ctx context.Context, req RollRequest, rec Recorder) (res RollResult, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("rollout stopped by an internal fault: %v", p)
		}
	}()
	return s.d.Roller.Roll(ctx, req, rec)
}

func (s *Service) finish(ctx context.Context, ro Rollout, res RollResult) error {
	return s.d.Store.Tx(ctx, func(r Repos) error {
		if err := r.FinishRollout(ctx, ro.ID, res.State, res.Result, s.now()); err != nil {
			return err
		}
		return s.event(ctx, r, Event{Fabric: ro.Fabric, Rollout: ro.ID, Kind: "rollout." + string(res.State), Subject: ro.Plan,
			Message: fmt.Sprintf("rollout %d ended as %s: %s", ro.ID, res.State, res.Result)}, nil)
	})
}

// recorder is the Recorder of one rollout.
type recorder struct {
	s   *Service
	ctx context.Context // never ends: progress is recorded to the last step
	ro  Rollout
}

// Device implements Recorder.
func (rec *recorder) Device(d RolloutDevice) error {
	d.UpdatedAt = rec.s.now()
	return rec.s.d.Store.Tx(rec.ctx, func(r Repos) error { return r.PutRolloutDevice(rec.ctx, rec.ro.ID, d) })
}

// Event implements Recorder.
func (rec *recorder) Event(kind, subject, message string, data any) error {
	return rec.s.d.Store.Tx(rec.ctx, func(r Repos) error {
		return rec.s.event(rec.ctx, r, Event{Fabric: rec.ro.Fabric, Rollout: rec.ro.ID, Kind: kind, Subject: subject, Message: message}, data)
	})
}

// CancelRollout asks a running rollout of this manager to stop at the next safe point.
func (s *Service) CancelRollout(ctx context.Context, fabric string, id int64) (Rollout, error) {
	ro, err := s.Rollout(ctx, fabric, id)
	if err != nil {
		return Rollout{}, err
	}
	if ro.State != RolloutRunning || !s.runner.Cancel(fabric) {
		return Rollout{}, &ConflictError{Code: "not-running", Detail: fmt.Sprintf("rollout %d is not running", id)}
	}
	return ro, nil
}

// Rollout returns a rollout with its devices.
func (s *Service) Rollout(ctx context.Context, fabric string, id int64) (ro Rollout, err error) {
	err = s.d.Store.View(ctx, func(r Repos) (err error) { ro, err = r.Rollout(ctx, fabric, id); return err })
	return ro, err
}

// ListRollouts returns rollouts without their devices, newest first.
func (s *Service) ListRollouts(ctx context.Context, fabric string, p Page) (list []Rollout, next string, err error) {
	err = s.d.Store.View(ctx, func(r Repos) (err error) { list, next, err = r.ListRollouts(ctx, fabric, p); return err })
	return list, next, err
}

// Events returns events of a fabric, or of one of its rollouts when that is not 0.
func (s *Service) Events(ctx context.Context, fabric string, rollout int64, p Page) (list []Event, next string, err error) {
	err = s.d.Store.View(ctx, func(r Repos) (err error) {
		if _, err = r.Fabric(ctx, fabric); err == nil && rollout != 0 {
			_, err = r.Rollout(ctx, fabric, rollout)
		}
		if err == nil {
			list, next, err = r.ListEvents(ctx, EventFilter{Fabric: fabric, Rollout: rollout}, p)
		}
		return err
	})
	return list, next, err
}

// Recover marks the rollouts that a dead manager left running as interrupted, and returns
// them. Call it before the first rollout is started.
func (s *Service) Recover(ctx context.Context) ([]Rollout, error) {
	var left []Rollout
	err := s.d.Store.Tx(ctx, func(r Repos) (err error) {
		if left, err = r.RunningRollouts(ctx); err != nil {
			return err
		}
		for _, ro := range left {
			const why = "the manager ended before the rollout did; devices may hold either plan, read them back"
			if err := r.FinishRollout(ctx, ro.ID, RolloutInterrupted, why, s.now()); err != nil {
				return err
			}
			if err := s.event(ctx, r, Event{Fabric: ro.Fabric, Rollout: ro.ID, Kind: "rollout.interrupted", Subject: ro.Plan,
				Message: fmt.Sprintf("rollout %d was interrupted: %s", ro.ID, why)}, nil); err != nil {
				return err
			}
		}
		return nil
	})
	return left, err
}

// Wait returns when no rollout is running in this manager.
func (s *Service) Wait() { s.runner.Wait() }

// Stop asks running rollouts to stop at their next safe point and waits for them.
func (s *Service) Stop() { s.runner.Stop() }
