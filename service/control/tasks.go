package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"fairlane/internal/phrase"
	"fairlane/policy"
)

// TaskKind is a kind of long work that reaches no device.
type TaskKind string

// Kinds of tasks.
const (
	TaskSimulation  TaskKind = "simulation"
	TaskCalibration TaskKind = "calibration"
)

// TaskState is where a task stands.
type TaskState string

// Task states; the last three are final.
const (
	TaskQueued    TaskState = "queued"
	TaskRunning   TaskState = "running"
	TaskSucceeded TaskState = "succeeded"
	TaskFailed    TaskState = "failed"
	TaskCanceled  TaskState = "canceled"
)

// Ended reports whether the state is final.
func (s TaskState) Ended() bool { return s == TaskSucceeded || s == TaskFailed || s == TaskCanceled }

// Task is one simulation or calibration.
type Task struct {
	ID         int64
	Kind       TaskKind
	Request    TaskRequest
	State      TaskState
	Progress   float64         // the part that is done
	Result     json.RawMessage // nil in lists and until it succeeded
	Error      string          // why it failed
	Actor      string
	Attempt    int64 // grows when a manager takes it over from one that died
	Cancel     bool  // somebody asked for its end
	CreatedAt  time.Time
	StartedAt  time.Time // zero while queued
	FinishedAt time.Time // zero until it ended
}

// TaskRequest says what a task is to do; the fields of other kinds are zero.
type TaskRequest struct {
	Fabric   string `json:"fabric,omitempty"` // simulation of a plan
	Plan     string `json:"plan,omitempty"`
	Before   bool   `json:"before,omitempty"`
	Scenario string `json:"scenario,omitempty"` // simulation of a scenario: the text of its file
	Profile  string `json:"profile,omitempty"`  // calibration
	Quick    bool   `json:"quick,omitempty"`
	Seed     uint64 `json:"seed,omitempty"` // 0 is the scenario's, or 1
}

// Laboratory runs what tasks ask for. Results are small JSON objects, at most MaxTaskResult. progress is told the part
// that is done and may be called from any goroutine, one at a time.
type Laboratory interface {
	// CheckScenario refuses a scenario that cannot be run, with what is wrong with it.
	CheckScenario(text string) error
	// CheckProfile refuses a profile that cannot be calibrated.
	CheckProfile(name string) error
	SimulatePlan(ctx context.Context, in policy.Input, p *policy.Plan, seed uint64, before bool, progress func(float64)) (json.RawMessage, error)
	SimulateScenario(ctx context.Context, text string, seed uint64, progress func(float64)) (json.RawMessage, error)
	Calibrate(ctx context.Context, profile string, seed uint64, quick bool, progress func(float64)) (json.RawMessage, error)
}

// Bounds of tasks.
const (
	MaxTaskResult  = 4 << 20
	taskBeat       = 2 * time.Second  // how often a task shows a sign of life and its progress
	taskDead       = 30 * time.Second // without a sign of life its manager counts as dead
	maxTaskAttempt = 3                // that many managers may die over a task
)

// TaskRepo keeps tasks.
type TaskRepo interface {
	CreateTask(ctx context.Context, t Task) (Task, error)
	// Task returns a task of a kind, *NotFoundError when there is none of that number and kind.
	Task(ctx context.Context, kind TaskKind, id int64) (Task, error)
	// TaskToWork returns a task of any kind.
	TaskToWork(ctx context.Context, id int64) (Task, error)
	// ListTasks returns tasks of a kind, newest first, without results.
	ListTasks(ctx context.Context, kind TaskKind, p Page) (list []Task, next string, err error)
	// CountOpenTasks counts the tasks that have not ended.
	CountOpenTasks(ctx context.Context) (int64, error)
	// PutTask writes state, progress, result, error, attempt and times of a task, and whether its end was asked for.
	PutTask(ctx context.Context, t Task, beat time.Time) error
	// SilentTasks lists tasks that run and have shown no sign of life since a time.
	SilentTasks(ctx context.Context, since time.Time) ([]Task, error)
	// PruneTasks takes out the oldest tasks of a kind that have ended, beyond keep.
	PruneTasks(ctx context.Context, kind TaskKind, keep int) error
}

// StartTask checks a request and queues it.
func (s *Service) StartTask(ctx context.Context, kind TaskKind, req TaskRequest) (t Task, err error) {
	if s.d.Laboratory == nil {
		return Task{}, &UnavailableError{Code: "not-ready", Said: phrase.Of("problem.no-simulator")}
	}
	if req, err = s.checkTask(ctx, kind, req); err != nil {
		return Task{}, err
	}
	err = s.d.Store.Tx(WithScope(ctx, ScopeTasks), func(r Repos) error {
		set, err := settings(ctx, r)
		if err != nil {
			return err
		}
		switch n, err := r.CountOpenTasks(ctx); {
		case err != nil:
			return err
		case n >= int64(set.Tasks.Limit):
			return &ConflictError{Code: "too-many-tasks", Said: phrase.Of("problem.tasks-max", "n", n, "max", set.Tasks.Limit)}
		}
		if err := r.PruneTasks(ctx, kind, set.Tasks.Keep); err != nil {
			return err
		}
		t, err = r.CreateTask(ctx, Task{Kind: kind, Request: req, State: TaskQueued, Actor: actor(ctx), Attempt: 1, CreatedAt: s.now()})
		if err != nil {
			return err
		}
		if err := r.Enqueue(ctx, t.job()); err != nil {
			return err
		}
		return s.taskEvent(ctx, r, t, "queued", phrase.Of("event.task-queued", "kind", KindText(string(t.Kind)), "task", t.ID))
	})
	return t, err
}

func (t Task) job() Job { return Job{Kind: JobTask, Task: t.ID, Revision: t.Attempt} }

func (s *Service) taskEvent(ctx context.Context, r Repos, t Task, kind string, said phrase.Text) error {
	return s.event(ctx, r, Event{Fabric: t.Request.Fabric, Kind: string(t.Kind) + "." + kind, Subject: fmt.Sprint(t.ID),
		Said: said}, nil)
}

// checkTask refuses what could not run, before it waits its turn.
func (s *Service) checkTask(ctx context.Context, kind TaskKind, req TaskRequest) (TaskRequest, error) {
	switch {
	case kind == TaskCalibration:
		if err := s.d.Laboratory.CheckProfile(req.Profile); err != nil {
			return req, InvalidFrom("/profile", err)
		}
		return req, nil
	case (req.Scenario != "") == (req.Plan != "" || req.Fabric != ""):
		return req, Invalid("", phrase.Of("problem.task-input"))
	case req.Scenario != "":
		if req.Before {
			return req, Invalid("/before", phrase.Of("problem.task-before"))
		}
		if err := s.d.Laboratory.CheckScenario(req.Scenario); err != nil {
			return req, InvalidFrom("/scenario", err)
		}
		return req, nil
	case req.Plan == "":
		return req, Invalid("/plan", phrase.Of("problem.task-plan"))
	case req.Fabric == "":
		return req, Invalid("/fabric", phrase.Of("problem.task-fabric"))
	}
	p, err := s.Plan(ctx, req.Fabric, req.Plan)
	req.Plan = ""
	if err == nil {
		req.Plan = p.Plan.Name
	}
	return req, err
}

// Task returns a task with its result.
func (s *Service) Task(ctx context.Context, kind TaskKind, id int64) (t Task, err error) {
	err = s.d.Store.View(ctx, func(r Repos) (err error) { t, err = r.Task(ctx, kind, id); return err })
	return t, err
}

// ListTasks returns tasks of a kind, newest first.
func (s *Service) ListTasks(ctx context.Context, kind TaskKind, p Page) (list []Task, next string, err error) {
	err = s.d.Store.View(ctx, func(r Repos) (err error) { list, next, err = r.ListTasks(ctx, kind, p); return err })
	return list, next, err
}

// CancelTask asks for the end of a task; one that waits ends at once, one that has ended stays as it is.
func (s *Service) CancelTask(ctx context.Context, kind TaskKind, id int64) (t Task, err error) {
	err = s.d.Store.Tx(WithScope(ctx, ScopeTasks), func(r Repos) error {
		if t, err = r.Task(ctx, kind, id); err != nil || t.State.Ended() || t.Cancel {
			return err
		}
		if t.Cancel = true; t.State == TaskQueued {
			t.State, t.FinishedAt = TaskCanceled, s.now()
		}
		if err := r.PutTask(ctx, t, s.now()); err != nil {
			return err
		}
		return s.taskEvent(ctx, r, t, "canceled", phrase.Of("event.task-canceled", "kind", KindText(string(t.Kind)), "task", t.ID))
	})
	return t, err
}

// errTaskLost means that another manager has taken a task over, or its row is gone.
var errTaskLost = errors.New("the task is another manager's now")

// errTaskCanceled ends a task whose end was asked for.
var errTaskCanceled = errors.New("canceled")

// WorkTask does the task of a job and returns when it has ended. A job of a lower attempt than the task's does nothing.
// An error means that the store could not be written: the job is to be tried again.
func (s *Service) WorkTask(ctx context.Context, j Job) error {
	var t Task
	mine := false
	err := s.d.Store.Tx(WithScope(ctx, ScopeTasks), func(r Repos) (err error) {
		t, err = r.TaskToWork(ctx, j.Task)
		mine = err == nil && t.State == TaskQueued && t.Attempt == j.Revision
		if err != nil || !mine {
			return err
		}
		t.State, t.StartedAt = TaskRunning, s.now()
		if err := r.PutTask(ctx, t, s.now()); err != nil {
			return err
		}
		return s.taskEvent(ctx, r, t, "started", phrase.Of("event.task-started", "kind", KindText(string(t.Kind)), "task", t.ID))
	})
	if errors.Is(err, ErrNotFound) || err == nil && !mine {
		return nil
	} else if err != nil {
		return err
	}
	result, err := s.runTask(WithActor(ctx, t.Actor), t)
	switch {
	case errors.Is(err, errTaskLost):
		return nil
	case err != nil && ctx.Err() != nil && !errors.Is(err, errTaskCanceled):
		return s.settle(ctx, t, s.requeue)
	}
	return s.endTask(ctx, t, result, err)
}

// runTask runs a task and shows its progress; it ends with errTaskCanceled when its end is asked for.
func (s *Service) runTask(ctx context.Context, t Task) (result json.RawMessage, err error) {
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

func (s *Service) doTask(ctx context.Context, t Task, progress func(float64)) (json.RawMessage, error) {
	lab, req := s.d.Laboratory, t.Request
	if lab == nil {
		return nil, errors.New("this manager has no simulator")
	}
	switch {
	case t.Kind == TaskCalibration:
		return lab.Calibrate(ctx, req.Profile, max(req.Seed, 1), req.Quick, progress)
	case req.Scenario != "":
		return lab.SimulateScenario(ctx, req.Scenario, req.Seed, progress)
	}
	target, err := s.target(ctx, req.Fabric, req.Plan)
	if err != nil {
		return nil, err
	}
	p, err := s.Plan(ctx, req.Fabric, req.Plan)
	if err != nil {
		return nil, err
	}
	in := policy.Input{Fabric: target.Topology, Tenants: p.Input.Tenants, Flows: p.Input.Flows, Options: p.Input.Options.Policy(), IBProfiles: s.ibProfiles()}
	return lab.SimulatePlan(ctx, in, p.Plan, max(req.Seed, 1), req.Before, progress)
}

// own reads a task back and fails when it is no longer this attempt's.
func own(ctx context.Context, r Repos, t Task) (Task, error) {
	now, err := r.TaskToWork(ctx, t.ID)
	switch {
	case errors.Is(err, ErrNotFound):
		return now, errTaskLost
	case err != nil:
		return now, err
	case now.State != TaskRunning || now.Attempt != t.Attempt:
		return now, errTaskLost
	}
	return now, nil
}

// settle ends this attempt's hold on a task, also when the manager is being stopped; one that is lost is left alone.
func (s *Service) settle(ctx context.Context, t Task, change func(ctx context.Context, r Repos, now Task) error) error {
	ctx = context.WithoutCancel(ctx)
	err := s.d.Store.Tx(WithScope(ctx, ScopeTasks), func(r Repos) error {
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

func (s *Service) beat(ctx context.Context, t Task, progress float64) error {
	return s.d.Store.Tx(WithScope(ctx, ScopeTasks), func(r Repos) error {
		now, err := own(ctx, r, t)
		switch {
		case err != nil:
			return err
		case now.Cancel:
			return errTaskCanceled
		}
		now.Progress = progress
		return r.PutTask(ctx, now, s.now())
	})
}

// endTask writes what a task came to.
func (s *Service) endTask(ctx context.Context, t Task, result json.RawMessage, failed error) error {
	if failed == nil && len(result) > MaxTaskResult {
		failed = fmt.Errorf("its result has %d bytes: at most %d are kept", len(result), MaxTaskResult)
	}
	return s.settle(ctx, t, func(ctx context.Context, r Repos, now Task) error {
		switch {
		case errors.Is(failed, errTaskCanceled):
			return s.close(ctx, r, now, TaskCanceled)
		case failed != nil:
			now.Error = failed.Error()
			return s.close(ctx, r, now, TaskFailed)
		}
		now.Progress, now.Result = 1, result
		return s.close(ctx, r, now, TaskSucceeded)
	})
}

// close gives a task its final state.
func (s *Service) close(ctx context.Context, r Repos, t Task, state TaskState) error {
	t.State, t.FinishedAt = state, s.now()
	if err := r.PutTask(ctx, t, t.FinishedAt); err != nil {
		return err
	}
	return s.taskEvent(ctx, r, t, string(state), phrase.Of("event.task-ended", "kind", KindText(string(t.Kind)), "task", t.ID, "state", string(state)))
}

// requeue queues a task again whose manager leaves it or died, unless its end was asked for.
func (s *Service) requeue(ctx context.Context, r Repos, t Task) error {
	if t.Cancel {
		return s.close(ctx, r, t, TaskCanceled)
	}
	t.State, t.Progress, t.StartedAt = TaskQueued, 0, time.Time{}
	t.Attempt++
	if err := r.PutTask(ctx, t, s.now()); err != nil {
		return err
	}
	return r.Enqueue(ctx, t.job())
}

// KeepTasks takes over the tasks of managers that died. Any manager may call it as often as it likes.
func (s *Service) KeepTasks(ctx context.Context) error {
	return s.d.Store.Tx(WithScope(ctx, ScopeTasks), func(r Repos) error {
		list, err := r.SilentTasks(ctx, s.now().Add(-taskDead))
		if err != nil {
			return err
		}
		for _, t := range list {
			if t.Attempt < maxTaskAttempt {
				err = s.requeue(ctx, r, t)
			} else {
				t.Error = fmt.Sprintf("%d managers ended while they worked on it", t.Attempt)
				err = s.close(ctx, r, t, TaskFailed)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}
