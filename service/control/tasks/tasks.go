package tasks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"fairlane/internal/phrase"
	"fairlane/policy"
	"fairlane/service/control"
	"fairlane/service/control/operations"
)

// Bounds of tasks.
const (
	MaxTaskResult  = 4 << 20
	taskBeat       = 2 * time.Second  // interval of a task's heartbeat and progress report
	taskDead       = 30 * time.Second // without a heartbeat for this long, its manager counts as dead
	maxTaskAttempt = 3                // a task fails after this many managers died while running it
)

// StartTask checks a request and queues it.
func (s *Tasks) StartTask(ctx context.Context, kind control.TaskKind, req control.TaskRequest) (t control.Task, err error) {
	if s.Laboratory == nil {
		return control.Task{}, &control.UnavailableError{Code: "not-ready", Said: phrase.Of("problem.no-simulator")}
	}
	if req, err = s.checkTask(ctx, kind, req); err != nil {
		return control.Task{}, err
	}
	err = s.Store.Tx(control.WithScope(ctx, control.ScopeTasks), func(r control.Repos) error {
		set, err := operations.StoredSettings(ctx, r)
		if err != nil {
			return err
		}
		switch n, err := r.CountOpenTasks(ctx); {
		case err != nil:
			return err
		case n >= int64(set.Tasks.Limit):
			return &control.ConflictError{Code: "too-many-tasks", Said: phrase.Of("problem.tasks-max", "n", n, "max", set.Tasks.Limit)}
		}
		if err := r.PruneTasks(ctx, kind, set.Tasks.Keep); err != nil {
			return err
		}
		t, err = r.CreateTask(ctx, control.Task{Kind: kind, Request: req, State: control.TaskQueued, Actor: control.Actor(ctx), Attempt: 1, CreatedAt: s.Now()})
		if err != nil {
			return err
		}
		if err := r.Enqueue(ctx, t.Job()); err != nil {
			return err
		}
		return s.taskEvent(ctx, r, t, "queued", phrase.Of("event.task-queued", "kind", control.KindText(string(t.Kind)), "task", t.ID))
	})
	return t, err
}

func (s *Tasks) taskEvent(ctx context.Context, r control.Repos, t control.Task, kind string, said phrase.Text) error {
	return s.AddEvent(ctx, r, control.Event{Fabric: t.Request.Fabric, Kind: string(t.Kind) + "." + kind, Subject: fmt.Sprint(t.ID),
		Said: said}, nil)
}

// checkTask rejects a task that could not run, before it is queued.
func (s *Tasks) checkTask(ctx context.Context, kind control.TaskKind, req control.TaskRequest) (control.TaskRequest, error) {
	switch {
	case kind == control.TaskCalibration:
		if err := s.Laboratory.CheckProfile(req.Profile); err != nil {
			return req, control.InvalidFrom("/profile", err)
		}
		return req, nil
	case (req.Scenario != "") == (req.Plan != "" || req.Fabric != ""):
		return req, control.Invalid("", phrase.Of("problem.task-input"))
	case req.Scenario != "":
		if req.Before {
			return req, control.Invalid("/before", phrase.Of("problem.task-before"))
		}
		if err := s.Laboratory.CheckScenario(req.Scenario); err != nil {
			return req, control.InvalidFrom("/scenario", err)
		}
		return req, nil
	case req.Plan == "":
		return req, control.Invalid("/plan", phrase.Of("problem.task-plan"))
	case req.Fabric == "":
		return req, control.Invalid("/fabric", phrase.Of("problem.task-fabric"))
	}
	p, err := s.plans.Plan(ctx, req.Fabric, req.Plan)
	req.Plan = ""
	if err == nil {
		req.Plan = p.Plan.Name
	}
	return req, err
}

// Task returns a task with its result.
func (s *Tasks) Task(ctx context.Context, kind control.TaskKind, id int64) (t control.Task, err error) {
	err = s.Store.View(ctx, func(r control.Repos) (err error) { t, err = r.Task(ctx, kind, id); return err })
	return t, err
}

// ListTasks returns tasks of a kind, newest first.
func (s *Tasks) ListTasks(ctx context.Context, kind control.TaskKind, p control.Page) (list []control.Task, next string, err error) {
	err = s.Store.View(ctx, func(r control.Repos) (err error) { list, next, err = r.ListTasks(ctx, kind, p); return err })
	return list, next, err
}

// CancelTask requests the cancellation of a task. A queued task ends at once; one that has ended does not change.
func (s *Tasks) CancelTask(ctx context.Context, kind control.TaskKind, id int64) (t control.Task, err error) {
	err = s.Store.Tx(control.WithScope(ctx, control.ScopeTasks), func(r control.Repos) error {
		if t, err = r.Task(ctx, kind, id); err != nil || t.State.Ended() || t.Cancel {
			return err
		}
		if t.Cancel = true; t.State == control.TaskQueued {
			t.State, t.FinishedAt = control.TaskCanceled, s.Now()
		}
		if err := r.PutTask(ctx, t, s.Now()); err != nil {
			return err
		}
		return s.taskEvent(ctx, r, t, "canceled", phrase.Of("event.task-canceled", "kind", control.KindText(string(t.Kind)), "task", t.ID))
	})
	return t, err
}

// errTaskLost means that another manager has taken a task over, or its row was deleted.
var errTaskLost = errors.New("the task is another manager's now")

// errTaskCanceled ends a task whose cancellation was requested.
var errTaskCanceled = errors.New("canceled")

// WorkTask runs the task of a job and returns when it has ended. A job with a lower attempt than the task's is ignored.
// An error means that the store could not be written: the job must be retried.
func (s *Tasks) WorkTask(ctx context.Context, j control.Job) error {
	var t control.Task
	mine := false
	err := s.Store.Tx(control.WithScope(ctx, control.ScopeTasks), func(r control.Repos) (err error) {
		t, err = r.TaskToWork(ctx, j.Task)
		mine = err == nil && t.State == control.TaskQueued && t.Attempt == j.Revision
		if err != nil || !mine {
			return err
		}
		t.State, t.StartedAt = control.TaskRunning, s.Now()
		if err := r.PutTask(ctx, t, s.Now()); err != nil {
			return err
		}
		return s.taskEvent(ctx, r, t, "started", phrase.Of("event.task-started", "kind", control.KindText(string(t.Kind)), "task", t.ID))
	})
	if errors.Is(err, control.ErrNotFound) || err == nil && !mine {
		return nil
	} else if err != nil {
		return err
	}
	result, err := s.runTask(control.WithActor(ctx, t.Actor), t)
	switch {
	case errors.Is(err, errTaskLost):
		return nil
	case err != nil && ctx.Err() != nil && !errors.Is(err, errTaskCanceled):
		return s.settle(ctx, t, s.requeue)
	}
	return s.endTask(ctx, t, result, err)
}

// runTask runs a task and stores its progress; it ends with errTaskCanceled when cancellation is requested.
func (s *Tasks) runTask(ctx context.Context, t control.Task) (result json.RawMessage, err error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var done atomic.Uint64 // millionths
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		result, err = s.doTask(ctx, t, func(part float64) { done.Store(uint64(min(max(part, 0), 1) * 1e6)) })
	}()
	tick := time.NewTicker(taskBeat)
	defer tick.Stop()
	for {
		select {
		case <-ended:
			if cause := context.Cause(ctx); err != nil && (errors.Is(cause, errTaskCanceled) || errors.Is(cause, errTaskLost)) {
				err = cause
			}
			return result, err
		case <-tick.C:
			if err := s.beat(ctx, t, float64(done.Load())/1e6); errors.Is(err, errTaskCanceled) || errors.Is(err, errTaskLost) {
				stop(err)
			}
		}
	}
}

func (s *Tasks) doTask(ctx context.Context, t control.Task, progress func(float64)) (json.RawMessage, error) {
	lab, req := s.Laboratory, t.Request
	if lab == nil {
		return nil, errors.New("this manager has no simulator")
	}
	switch {
	case t.Kind == control.TaskCalibration:
		return lab.Calibrate(ctx, req.Profile, max(req.Seed, 1), req.Quick, progress)
	case req.Scenario != "":
		return lab.SimulateScenario(ctx, req.Scenario, req.Seed, progress)
	}
	target, err := s.plans.LoadTarget(ctx, req.Fabric, req.Plan)
	if err != nil {
		return nil, err
	}
	p, err := s.plans.Plan(ctx, req.Fabric, req.Plan)
	if err != nil {
		return nil, err
	}
	in := policy.Input{Fabric: target.Topology, Tenants: p.Input.Tenants, Flows: p.Input.Flows, Options: p.Input.Options, IBProfiles: s.ProfilesOfDevices()}
	return lab.SimulatePlan(ctx, in, p.Plan, max(req.Seed, 1), req.Before, progress)
}

// own reads a task and fails when it no longer belongs to this attempt.
func own(ctx context.Context, r control.Repos, t control.Task) (control.Task, error) {
	now, err := r.TaskToWork(ctx, t.ID)
	switch {
	case errors.Is(err, control.ErrNotFound):
		return now, errTaskLost
	case err != nil:
		return now, err
	case now.State != control.TaskRunning || now.Attempt != t.Attempt:
		return now, errTaskLost
	}
	return now, nil
}

// settle ends this attempt's work on a task, even during a shutdown; a lost task is not changed.
func (s *Tasks) settle(ctx context.Context, t control.Task, change func(ctx context.Context, r control.Repos, now control.Task) error) error {
	ctx = context.WithoutCancel(ctx)
	err := s.Store.Tx(control.WithScope(ctx, control.ScopeTasks), func(r control.Repos) error {
		now, err := own(ctx, r, t)
		if err != nil {
			return err
		}
		return change(ctx, r, now)
	})
	if errors.Is(err, errTaskLost) {
		return nil
	}
	return err
}

func (s *Tasks) beat(ctx context.Context, t control.Task, progress float64) error {
	return s.Store.Tx(control.WithScope(ctx, control.ScopeTasks), func(r control.Repos) error {
		now, err := own(ctx, r, t)
		switch {
		case err != nil:
			return err
		case now.Cancel:
			return errTaskCanceled
		}
		now.Progress = progress
		return r.PutTask(ctx, now, s.Now())
	})
}

// endTask stores the result of a task.
func (s *Tasks) endTask(ctx context.Context, t control.Task, result json.RawMessage, failed error) error {
	if failed == nil && len(result) > MaxTaskResult {
		failed = &phrase.Error{Text: phrase.Of("task.result-size", "n", len(result), "max", MaxTaskResult)}
	}
	return s.settle(ctx, t, func(ctx context.Context, r control.Repos, now control.Task) error {
		switch {
		case errors.Is(failed, errTaskCanceled):
			return s.close(ctx, r, now, control.TaskCanceled)
		case failed != nil:
			now.Error = phrase.OfError(failed)
			return s.close(ctx, r, now, control.TaskFailed)
		}
		now.Progress, now.Result = 1, result
		return s.close(ctx, r, now, control.TaskSucceeded)
	})
}

// close gives a task its final state.
func (s *Tasks) close(ctx context.Context, r control.Repos, t control.Task, state control.TaskState) error {
	t.State, t.FinishedAt = state, s.Now()
	if err := r.PutTask(ctx, t, t.FinishedAt); err != nil {
		return err
	}
	return s.taskEvent(ctx, r, t, string(state), phrase.Of("event.task-ended", "kind", control.KindText(string(t.Kind)), "task", t.ID, "state", string(state)))
}

// requeue queues a task again that its manager gives up, or whose manager died, unless cancellation was requested.
func (s *Tasks) requeue(ctx context.Context, r control.Repos, t control.Task) error {
	if t.Cancel {
		return s.close(ctx, r, t, control.TaskCanceled)
	}
	t.State, t.Progress, t.StartedAt = control.TaskQueued, 0, time.Time{}
	t.Attempt++
	if err := r.PutTask(ctx, t, s.Now()); err != nil {
		return err
	}
	return r.Enqueue(ctx, t.Job())
}

// KeepTasks takes over the tasks of failed managers. Any manager may call it at any time.
func (s *Tasks) KeepTasks(ctx context.Context) error {
	return s.Store.Tx(control.WithScope(ctx, control.ScopeTasks), func(r control.Repos) error {
		list, err := r.SilentTasks(ctx, s.Now().Add(-taskDead))
		if err != nil {
			return err
		}
		for _, t := range list {
			if t.Attempt < maxTaskAttempt {
				err = s.requeue(ctx, r, t)
			} else {
				t.Error = phrase.Of("task.managers-ended", "n", t.Attempt)
				err = s.close(ctx, r, t, control.TaskFailed)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}
