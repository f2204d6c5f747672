package rollouts

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"fairlane/internal/phrase"
	"fairlane/service/control"
)

// steer stores an operator's request to a running rollout and queues a job for it. change rejects requests that are
// invalid in the rollout's current phase.
func (s *Rollouts) steer(ctx context.Context, fabric string, id int64, kind string, said phrase.Text, change func(*control.Rollout) error) (ro control.Rollout, err error) {
	err = s.Store.Tx(control.OnFabric(ctx, fabric), func(r control.Repos) error {
		f, err := r.Fabric(ctx, fabric)
		if err != nil {
			return err
		}
		switch ro, err = r.LockRollout(ctx, id); {
		case err != nil:
			return err
		case ro.Fabric != fabric:
			return &control.NotFoundError{Kind: "rollout", Name: fmt.Sprint(id)}
		case ro.State != control.RolloutRunning:
			return notRunning(&ro)
		}
		if err := change(&ro); err != nil {
			return err
		}
		if ro.Request == control.RequestRun || ro.Request == control.RequestUndo {
			if err := control.Acted(ctx, r, f); err != nil {
				return err
			}
		}
		now := s.Now()
		if err := r.SetRolloutRequest(ctx, id, ro.Request, control.Actor(ctx), ro.Confirmed, now); err != nil {
			return err
		}
		if ro.Owner == "" { // otherwise the running step reads the request at its end
			ro.UpdatedAt = now
			if ro, err = r.SaveRollout(ctx, ro); err != nil {
				return err
			}
			if err := r.Enqueue(ctx, control.Job{Kind: control.JobStep, Rollout: id, Revision: ro.Revision}); err != nil {
				return err
			}
		}
		return s.AddEvent(ctx, r, control.Event{Fabric: fabric, Rollout: id, Kind: kind, Subject: ro.Plan, Said: said}, nil)
	})
	return ro, err
}

// PauseRollout stops a running rollout at the next safe point, until it is resumed, cancelled or rolled back.
func (s *Rollouts) PauseRollout(ctx context.Context, fabric string, id int64) (control.Rollout, error) {
	return s.steer(ctx, fabric, id, "rollout.paused", phrase.Of("event.pause", "rollout", id), func(ro *control.Rollout) error {
		if ro.Request == control.RequestCancel || ro.Request == control.RequestUndo && !ro.Undoing() {
			return &control.ConflictError{Code: "rollout-ending", Said: phrase.Of("problem.rollout-ending", "rollout", id, "request", ro.Request)}
		}
		ro.Request = control.RequestPause
		return nil
	})
}

// ResumeRollout resumes a paused rollout.
func (s *Rollouts) ResumeRollout(ctx context.Context, fabric string, id int64) (control.Rollout, error) {
	return s.steer(ctx, fabric, id, "rollout.resumed", phrase.Of("event.resume", "rollout", id), func(ro *control.Rollout) error {
		if ro.Request != control.RequestPause {
			return &control.ConflictError{Code: "not-paused", Said: phrase.Of("problem.rollout-not-paused", "rollout", id)}
		}
		ro.Request = control.RequestRun
		return nil
	})
}

// ConfirmRollout confirms a rollout that is awaiting confirmation.
func (s *Rollouts) ConfirmRollout(ctx context.Context, fabric string, id int64) (control.Rollout, error) {
	return s.steer(ctx, fabric, id, "rollout.confirmed", phrase.Of("event.confirmed", "rollout", id), func(ro *control.Rollout) error {
		if ro.Phase != control.PhaseConfirming {
			return &control.ConflictError{Code: "not-confirming", Said: phrase.Of("problem.rollout-not-confirming", "rollout", id, "phase", ro.Phase)}
		}
		ro.Request, ro.Confirmed = control.RequestRun, true
		return nil
	})
}

// CancelRollout stops a running rollout at the next safe point and leaves the devices as they are then. A rollout that is
// being rolled back cannot be cancelled.
func (s *Rollouts) CancelRollout(ctx context.Context, fabric string, id int64) (control.Rollout, error) {
	return s.steer(ctx, fabric, id, "rollout.canceling", phrase.Of("event.cancel", "rollout", id), func(ro *control.Rollout) error {
		if ro.Undoing() {
			return &control.ConflictError{Code: "rollout-ending", Said: phrase.Of("problem.rollout-rolls-back", "rollout", id)}
		}
		ro.Request = control.RequestCancel
		return nil
	})
}

// UndoRollout undoes everything that a running rollout did.
func (s *Rollouts) UndoRollout(ctx context.Context, fabric string, id int64) (control.Rollout, error) {
	return s.steer(ctx, fabric, id, "rollout.undoing", phrase.Of("event.roll-back", "rollout", id), undo)
}

// undo requests the undoing of a running rollout, unless it is ending already.
func undo(ro *control.Rollout) error {
	if ro.Undoing() && ro.Request != control.RequestPause || ro.Confirmed {
		return &control.ConflictError{Code: "rollout-ending", Said: phrase.Of("problem.rollout-ends", "rollout", ro.ID)}
	}
	if ro.Request = control.RequestUndo; ro.Undoing() {
		ro.Request = control.RequestRun
	}
	return nil
}

// before returns the rollout whose plan was in force before another rollout: the latest earlier one that succeeded with
// the settings stage. It fails with *ConflictError "no-plan" when there was none.
func (s *Rollouts) before(ctx context.Context, fabric string, id int64) (out control.Rollout, err error) {
	err = s.Store.View(ctx, func(r control.Repos) error {
		for p := (control.Page{Limit: 100, After: fmt.Sprint(id)}); ; {
			list, next, err := r.ListRollouts(ctx, fabric, p)
			if err != nil {
				return err
			}
			for _, ro := range list {
				if slices.Contains(ro.Stages, control.StageSettings) && (ro.State == control.RolloutSucceeded || ro.State == control.RolloutPartial) && !ro.Options.Repair {
					out = ro
					return nil
				}
			}
			if next == "" {
				return &control.ConflictError{Code: "no-plan", Said: phrase.Of("problem.no-rollout-before", "fabric", fabric, "rollout", id)}
			}
			p.After = next
		}
	})
	return out, err
}

// RollBack restores what was in force before a rollout. Without a plan it undoes a running rollout; for one that ended, a
// new rollout applies the plan that was in force before it, or the baseline when there was none. With a plan it starts a
// new rollout of that plan. The new rollout applies settings and, where a rollout ever placed traffic, placements,
// whatever stages the other one had: half of a plan is not a state to restore. A repair that ended cannot be rolled back:
// *ConflictError "is-repair".
func (s *Rollouts) RollBack(ctx context.Context, fabric string, id int64, plan string) (control.Rollout, error) {
	b, err := s.chooseRollBack(ctx, fabric, id, plan)
	switch {
	case err != nil:
		return control.Rollout{}, err
	case b.undo:
		return s.UndoRollout(ctx, fabric, id)
	case b.baseline:
		return s.ReturnToBaseline(ctx, fabric, b.in.Options)
	}
	return s.StartRollout(ctx, fabric, b.in)
}

// PreviewRollBack says which devices RollBack would write, in which waves, and refuses what that refuses. A running rollout would return
// those that it touched so far.
func (s *Rollouts) PreviewRollBack(ctx context.Context, fabric string, id int64, plan string) ([]WavePreview, error) {
	b, err := s.chooseRollBack(ctx, fabric, id, plan)
	switch {
	case err != nil:
		return nil, err
	case b.undo:
		return s.previewUndo(ctx, fabric, id)
	case b.baseline:
		return s.previewReturn(ctx, fabric, b.in.Options)
	}
	return s.PreviewRollout(ctx, fabric, b.in)
}

// rollBack is the method of rolling a rollout back.
type rollBack struct {
	undo     bool         // the rollout is running and is undone
	baseline bool         // a new rollout returns all devices to the baseline, with the options of in
	in       RolloutInput // otherwise: the new rollout
}

// chooseRollBack chooses the method of rolling a rollout back.
func (s *Rollouts) chooseRollBack(ctx context.Context, fabric string, id int64, plan string) (b rollBack, err error) {
	var ro control.Rollout
	var placed string
	err = s.Store.View(ctx, func(r control.Repos) (err error) {
		if ro, err = RolloutRow(ctx, r, fabric, id); err == nil {
			placed, err = r.PlacedPlan(ctx, fabric)
		}
		return err
	})
	switch {
	case err != nil:
		return b, err
	case ro.State == control.RolloutRunning && plan == "":
		return rollBack{undo: true}, nil
	case plan == "" && ro.Options.Repair:
		return b, &control.ConflictError{Code: "is-repair", Said: phrase.Of("problem.is-repair", "rollout", id, "plan", fmt.Sprintf("%.12s", ro.Plan))}
	case plan == "":
		was, err := s.before(ctx, fabric, id)
		switch {
		case code(err) == "no-plan" || err == nil && was.Options.To != "":
			return rollBack{baseline: true, in: RolloutInput{Options: rollBackOptions(ro.Options)}}, nil
		case err != nil:
			return b, err
		}
		plan = was.Plan
	}
	b.in = RolloutInput{Plan: plan, Stages: []control.Stage{control.StageSettings}, Options: rollBackOptions(ro.Options)}
	if placed != "" || slices.Contains(ro.Stages, control.StagePlacement) {
		b.in.Stages = []control.Stage{control.StagePlacement, control.StageSettings}
	}
	return b, nil
}

// previewUndo lists the devices that a running rollout touched, in the order of their return: the wave written last comes
// first.
func (s *Rollouts) previewUndo(ctx context.Context, fabric string, id int64) ([]WavePreview, error) {
	out := []WavePreview{}
	err := s.Store.View(ctx, func(r control.Repos) error {
		ro, err := RolloutRow(ctx, r, fabric, id)
		if err == nil && ro.State != control.RolloutRunning {
			err = notRunning(&ro)
		}
		if err == nil {
			err = undo(&ro)
		}
		if err != nil {
			return err
		}
		waves, err := r.TouchedWaves(ctx, id)
		if err != nil {
			return err
		}
		for _, w := range slices.Backward(waves) {
			p := WavePreview{Shards: w.Shards}
			for shard := range w.Shards {
				list, err := r.ShardDevices(ctx, id, w.Wave, shard)
				if err != nil {
					return err
				}
				for i := range list {
					if list[i].Touched {
						p.Devices = append(p.Devices, list[i].Device)
					}
				}
			}
			out = append(out, p)
		}
		return nil
	})
	return out, err
}

// notRunning returns the error of a request to a rollout that ended.
func notRunning(ro *control.Rollout) error {
	return &control.ConflictError{Code: "not-running", Said: phrase.Of("problem.rollout-ended", "rollout", ro.ID, "state", ro.State)}
}

// RollBackToBaseline returns every device that was ever written on a rollout's fabric to its baseline, with the wave and retry
// options of that rollout.
func (s *Rollouts) RollBackToBaseline(ctx context.Context, fabric string, id int64) (control.Rollout, error) {
	o, err := s.rollBackOptions(ctx, fabric, id)
	if err != nil {
		return control.Rollout{}, err
	}
	return s.ReturnToBaseline(ctx, fabric, o)
}

// PreviewRollBackToBaseline returns the devices that RollBackToBaseline would write, in waves. It rejects what
// RollBackToBaseline rejects.
func (s *Rollouts) PreviewRollBackToBaseline(ctx context.Context, fabric string, id int64) ([]WavePreview, error) {
	o, err := s.rollBackOptions(ctx, fabric, id)
	if err != nil {
		return nil, err
	}
	return s.previewReturn(ctx, fabric, o)
}

// rollBackOptions returns the options for rolling a rollout back.
func (s *Rollouts) rollBackOptions(ctx context.Context, fabric string, id int64) (o control.RolloutOptions, err error) {
	err = s.Store.View(ctx, func(r control.Repos) error {
		ro, err := RolloutRow(ctx, r, fabric, id)
		o = rollBackOptions(ro.Options)
		return err
	})
	return o, err
}

// RollbackPlan returns the name of the plan that was in force before a rollout. It fails with *ConflictError "no-plan"
// when there was none.
func (s *Rollouts) RollbackPlan(ctx context.Context, fabric string, id int64) (plan string, err error) {
	ro, err := s.before(ctx, fabric, id)
	return ro.Plan, err
}

// code returns the code of a *ConflictError, "" for any other error.
func code(err error) string {
	var conflict *control.ConflictError
	if errors.As(err, &conflict) {
		return conflict.Code
	}
	return ""
}

// rollBackOptions returns the options for rolling back a rollout with the given ones: the same waves and retries, but without the
// confirm window and the health gates, which could reverse the roll-back. They guard the rollout, not the return.
func rollBackOptions(o control.RolloutOptions) control.RolloutOptions {
	if o.Repair {
		return control.RolloutOptions{}
	}
	o.ConfirmWindow, o.VerifyShares, o.MaxShareError, o.MinUtilisation, o.MeasureWindow, o.To, o.Release = 0, false, 0, 0, 0, "", false
	return o
}
