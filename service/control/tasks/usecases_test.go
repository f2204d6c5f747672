package tasks_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"fairlane/service/control"
	"fairlane/service/control/controltest"
	"fairlane/service/control/operations"
	"fairlane/service/control/usecases"
)

// scenario is the request of a simulation of one of the rig's scenarios.
func scenario(name string) control.TaskRequest { return control.TaskRequest{Scenario: name} }

func start(t *testing.T, s *usecases.Services, kind control.TaskKind, req control.TaskRequest) control.Task {
	t.Helper()
	task, err := s.StartTask(control.WithActor(t.Context(), "ada"), kind, req)
	if err != nil {
		t.Fatal(err)
	}
	return task
}

func stored(t *testing.T, s *usecases.Services, task control.Task) control.Task {
	t.Helper()
	got, err := s.Task(t.Context(), task.Kind, task.ID)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// actions lists the audit log from the entry n on.
func actions(t *testing.T, s *usecases.Services, n int) string {
	t.Helper()
	var list []string
	for _, e := range controltest.AuditEntries(t, s)[n:] {
		list = append(list, e.Action+" by "+e.Actor)
	}
	return strings.Join(list, ", ")
}

// asleep returns a rig whose queue works nothing: tasks stay queued.
func asleep(t *testing.T) (*controltest.Rig, *usecases.Services) {
	t.Helper()
	r := controltest.New(t, controltest.OpenSQLite)
	return r, r.Manager(t, func(d *control.Deps) { d.Store = quiet{d.Store} })
}

// quiet is a store that drops jobs.
type quiet struct{ control.Store }

func (q quiet) Tx(ctx context.Context, f func(control.Repos) error) error {
	return q.Store.Tx(ctx, func(r control.Repos) error { return f(jobless{r}) })
}

type jobless struct{ control.Repos }

func (jobless) Enqueue(context.Context, ...control.Job) error { return nil }

func TestTaskRunsToItsEnd(t *testing.T) {
	t.Parallel()
	r, plan := controltest.LabWithPlan(t)
	s := r.Service
	for name, c := range map[string]struct {
		kind   control.TaskKind
		req    control.TaskRequest
		state  control.TaskState
		result string
		err    string
	}{
		"scenario":                    {control.TaskSimulation, scenario(controltest.ScenarioGood), control.TaskSucceeded, `{"jain":1}`, ""},
		"scenario that fails":         {control.TaskSimulation, scenario(controltest.ScenarioBad), control.TaskFailed, "", "the scenario came to a deadlock"},
		"result too large":            {control.TaskSimulation, scenario(controltest.ScenarioLarge), control.TaskFailed, "", "its result has 4194305 bytes: at most 4194304 are kept"},
		"plan, with a seed":           {control.TaskSimulation, control.TaskRequest{Fabric: "lab", Plan: plan[:8], Seed: 7}, control.TaskSucceeded, `{"seed":7,"max_share_error":0.01,"tenants":2}`, ""},
		"plan, by the default seed":   {control.TaskSimulation, control.TaskRequest{Fabric: "lab", Plan: plan}, control.TaskSucceeded, `{"seed":1,"max_share_error":0.01,"tenants":2}`, ""},
		"calibration":                 {control.TaskCalibration, control.TaskRequest{Profile: controltest.ScenarioGood, Quick: true, Seed: 3}, control.TaskSucceeded, `{"profile":{"name":"good"},"runs":3,"quick":true}`, ""},
		"calibration, default number": {control.TaskCalibration, control.TaskRequest{Profile: controltest.ScenarioGood}, control.TaskSucceeded, `{"profile":{"name":"good"},"runs":1,"quick":false}`, ""},
	} {
		n := len(controltest.AuditEntries(t, s))
		task := start(t, s, c.kind, c.req)
		if task.State != control.TaskQueued || task.Attempt != 1 || task.Actor != "ada" || task.ID == 0 {
			t.Errorf("%s begins as %+v", name, task)
		}
		r.Wait()
		got := stored(t, s, task)
		if got.State != c.state || string(got.Result) != c.result || got.Error.String() != c.err || got.StartedAt.IsZero() || got.FinishedAt.Before(got.StartedAt) {
			t.Errorf("%s ends as %s with %.80s, %q", name, got.State, got.Result, got.Error)
		}
		if (got.Progress == 1) != (c.state == control.TaskSucceeded) {
			t.Errorf("%s: progress %v", name, got.Progress)
		}
		kind := string(c.kind)
		if log, want := actions(t, s, n), kind+".queued by ada, "+kind+".started by system, "+kind+"."+string(c.state)+" by system"; log != want {
			t.Errorf("%s: the log has %s, want %s", name, log, want)
		}
		other := control.TaskSimulation
		if c.kind == other {
			other = control.TaskCalibration
		}
		_, err := s.Task(t.Context(), other, task.ID)
		controltest.MustFail(t, name+" as one of the other kind", err, control.ErrNotFound)
		_, err = s.CancelTask(t.Context(), other, task.ID)
		controltest.MustFail(t, name+" canceled as one of the other kind", err, control.ErrNotFound)
	}
}

func TestTaskThatCouldNotRunIsNotQueued(t *testing.T) {
	t.Parallel()
	r, plan := controltest.LabWithPlan(t)
	s := r.Service
	n := len(controltest.AuditEntries(t, s))
	for name, c := range map[string]struct {
		kind control.TaskKind
		req  control.TaskRequest
		want []string // pointers; nil: not found
	}{
		"nothing":                    {control.TaskSimulation, control.TaskRequest{}, []string{""}},
		"scenario and plan":          {control.TaskSimulation, control.TaskRequest{Scenario: controltest.ScenarioGood, Fabric: "lab", Plan: plan}, []string{""}},
		"scenario and fabric":        {control.TaskSimulation, control.TaskRequest{Scenario: controltest.ScenarioGood, Fabric: "lab"}, []string{""}},
		"unknown scenario":           {control.TaskSimulation, scenario("?"), []string{"/scenario"}},
		"scenario before a plan":     {control.TaskSimulation, control.TaskRequest{Scenario: controltest.ScenarioGood, Before: true}, []string{"/before"}},
		"fabric without a plan":      {control.TaskSimulation, control.TaskRequest{Fabric: "lab"}, []string{"/plan"}},
		"plan without a fabric":      {control.TaskSimulation, control.TaskRequest{Plan: plan}, []string{"/fabric"}},
		"plan that does not exist":   {control.TaskSimulation, control.TaskRequest{Fabric: "lab", Plan: "abcdef"}, nil},
		"fabric that does not exist": {control.TaskSimulation, control.TaskRequest{Fabric: "nowhere", Plan: plan}, nil},
		"unknown profile":            {control.TaskCalibration, control.TaskRequest{Profile: "?"}, []string{"/profile"}},
	} {
		_, err := s.StartTask(t.Context(), c.kind, c.req)
		var bad *control.InvalidError
		var got []string
		if errors.As(err, &bad) {
			for _, f := range bad.Fields {
				got = append(got, f.Pointer)
			}
		}
		if !slices.Equal(got, c.want) || c.want == nil && !errors.Is(err, control.ErrNotFound) {
			t.Errorf("%s: %v at %q, want %q", name, err, got, c.want)
		}
	}
	without := r.Manager(t, func(d *control.Deps) { d.Laboratory = nil })
	if _, err := without.StartTask(t.Context(), control.TaskSimulation, scenario(controltest.ScenarioGood)); controltest.Code(err) != "not-ready" {
		t.Errorf("without a simulator: %v", err)
	}
	for _, kind := range []control.TaskKind{control.TaskSimulation, control.TaskCalibration} {
		if list, _, err := s.ListTasks(t.Context(), kind, control.Page{}); err != nil || len(list) != 0 {
			t.Errorf("%s: %d were queued, %v", kind, len(list), err)
		}
	}
	if log := actions(t, s, n); log != "" {
		t.Errorf("the log has %s", log)
	}
}

func TestOpenTasksOfAllKindsAreLimited(t *testing.T) {
	t.Parallel()
	_, s := asleep(t)
	set := operations.DefaultSettings()
	set.Tasks.Limit = 2
	if _, err := s.PutSettings(t.Context(), control.AnyVersion, set); err != nil {
		t.Fatal(err)
	}
	first := start(t, s, control.TaskSimulation, scenario(controltest.ScenarioGood))
	start(t, s, control.TaskCalibration, control.TaskRequest{Profile: controltest.ScenarioGood})
	for kind, req := range map[control.TaskKind]control.TaskRequest{
		control.TaskSimulation: scenario(controltest.ScenarioGood), control.TaskCalibration: {Profile: controltest.ScenarioGood},
	} {
		if _, err := s.StartTask(t.Context(), kind, req); controltest.Code(err) != "too-many-tasks" {
			t.Errorf("one %s more: %v", kind, err)
		}
	}
	if _, err := s.CancelTask(t.Context(), first.Kind, first.ID); err != nil {
		t.Fatal(err)
	}
	start(t, s, control.TaskSimulation, scenario(controltest.ScenarioGood)) // after one ended
}

func TestEndedTasksAreKeptByKindAndListedNewestFirst(t *testing.T) {
	t.Parallel()
	r := controltest.New(t, controltest.OpenSQLite)
	s := r.Service
	set := operations.DefaultSettings()
	set.Tasks.Keep = 2
	if _, err := s.PutSettings(t.Context(), control.AnyVersion, set); err != nil {
		t.Fatal(err)
	}
	calibration := start(t, s, control.TaskCalibration, control.TaskRequest{Profile: controltest.ScenarioGood})
	r.Wait()
	var ids []int64
	for range 4 {
		ids = append(ids, start(t, s, control.TaskSimulation, scenario(controltest.ScenarioGood)).ID)
		r.Wait()
	}
	var got []int64
	for p := (control.Page{Limit: 2}); ; {
		list, next, err := s.ListTasks(t.Context(), control.TaskSimulation, p)
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range list {
			if got = append(got, x.ID); x.Result != nil {
				t.Errorf("the list has the result of %d", x.ID)
			}
		}
		if p.After = next; next == "" {
			break
		}
	}
	if want := []int64{ids[3], ids[2], ids[1]}; !slices.Equal(got, want) { // the newest, and two that had ended before it
		t.Errorf("simulations are %d, want %d", got, want)
	}
	if stored(t, s, calibration).Result == nil {
		t.Error("the calibration has no result any more")
	}
}

func TestQueuedTaskIsCanceledAtOnceAndNeverRuns(t *testing.T) {
	t.Parallel()
	r, s := asleep(t)
	task := start(t, s, control.TaskSimulation, scenario(controltest.ScenarioGood))
	n := len(controltest.AuditEntries(t, s))
	for range 2 { // the second one changes nothing
		got, err := s.CancelTask(control.WithActor(t.Context(), "bob"), task.Kind, task.ID)
		if err != nil || got.State != control.TaskCanceled || got.FinishedAt.IsZero() || !got.StartedAt.IsZero() {
			t.Fatalf("%+v, %v", got, err)
		}
	}
	if log := actions(t, s, n); log != "simulation.canceled by bob" {
		t.Errorf("the log has %s", log)
	}
	ended := stored(t, s, task)
	if err := s.WorkTask(t.Context(), task.Job()); err != nil {
		t.Fatal(err)
	}
	if err := s.KeepTasks(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.Wait()
	if got := stored(t, s, task); got.State != control.TaskCanceled || got.Result != nil || !got.FinishedAt.Equal(ended.FinishedAt) {
		t.Errorf("it became %+v", got)
	}
	for _, gone := range []control.TaskKind{control.TaskSimulation, control.TaskCalibration} {
		_, err := s.CancelTask(t.Context(), gone, 99)
		controltest.MustFail(t, "canceling no task", err, control.ErrNotFound)
	}
}

func TestEndedTaskDoesNotChangeWhenItIsCanceled(t *testing.T) {
	t.Parallel()
	r := controltest.New(t, controltest.OpenSQLite)
	s := r.Service
	task := start(t, s, control.TaskSimulation, scenario(controltest.ScenarioGood))
	r.Wait()
	n := len(controltest.AuditEntries(t, s))
	got, err := s.CancelTask(t.Context(), task.Kind, task.ID)
	if err != nil || got.State != control.TaskSucceeded || got.Cancel {
		t.Errorf("%+v, %v", got, err)
	}
	if log := actions(t, s, n); log != "" {
		t.Errorf("the log has %s", log)
	}
}

// steps is a laboratory that reports progress, says that it runs, and waits for its end.
type steps struct {
	control.Laboratory
	runs chan struct{}
	free chan struct{} // closed: the run ends well
}

func (l *steps) SimulateScenario(ctx context.Context, _ string, _ uint64, progress func(float64)) (json.RawMessage, error) {
	progress(0.25)
	progress(1.5) // out of range
	progress(0.5)
	close(l.runs)
	select {
	case <-l.free:
		return json.RawMessage(`{}`), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// running starts a task that waits, in a bubble of its own time. done returns the error of its worker.
func running(t *testing.T) (s *usecases.Services, l *steps, task control.Task, stop context.CancelFunc, done func() error) {
	t.Helper()
	r, _ := asleep(t)
	l = &steps{Laboratory: r.Devices, runs: make(chan struct{}), free: make(chan struct{})}
	s = r.Manager(t, func(d *control.Deps) { d.Store, d.Laboratory = quiet{d.Store}, l })
	task = start(t, s, control.TaskSimulation, scenario(controltest.ScenarioGood))
	ctx, stop := context.WithCancel(t.Context())
	t.Cleanup(stop)
	ended := make(chan error, 1)
	go func() { ended <- s.WorkTask(ctx, task.Job()) }()
	<-l.runs
	return s, l, task, stop, func() error { return <-ended }
}

func TestRunningTaskEndsWhenItIsCanceled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, _, task, _, done := running(t)
		n := len(controltest.AuditEntries(t, s))
		for range 2 { // the second request changes nothing
			got, err := s.CancelTask(t.Context(), task.Kind, task.ID)
			if err != nil || got.State != control.TaskRunning || !got.Cancel {
				t.Fatalf("%+v, %v", got, err)
			}
		}
		if err := done(); err != nil {
			t.Fatal(err)
		}
		if log := actions(t, s, n); log != "simulation.canceled by system, simulation.canceled by system" { // the request, and the end
			t.Errorf("the log has %s", log)
		}
		if got := stored(t, s, task); got.State != control.TaskCanceled || got.Error.String() != "" || got.Result != nil || got.FinishedAt.IsZero() {
			t.Errorf("it ended as %+v", got)
		}
	})
}

func TestProgressOfARunningTaskIsStored(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, l, task, _, done := running(t)
		if got := stored(t, s, task); got.Progress != 0 || got.State != control.TaskRunning {
			t.Errorf("at first it is %+v", got)
		}
		time.Sleep(3 * time.Second) // of the bubble's time: past one report
		if got := stored(t, s, task); got.Progress != 0.5 {
			t.Errorf("progress is %v", got.Progress)
		}
		close(l.free)
		if err := done(); err != nil {
			t.Fatal(err)
		}
		if got := stored(t, s, task); got.State != control.TaskSucceeded || got.Progress != 1 {
			t.Errorf("it ended as %+v", got)
		}
	})
}

// TestTaskOfAManagerThatStopsIsQueuedAgain, unless its cancellation was requested; then it has ended.
func TestTaskOfAManagerThatStopsIsQueuedAgain(t *testing.T) {
	t.Parallel()
	for name, cancel := range map[string]bool{"as it was": false, "after a cancellation was requested": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s, _, task, stop, done := running(t)
				if cancel {
					if _, err := s.CancelTask(t.Context(), task.Kind, task.ID); err != nil {
						t.Fatal(err)
					}
				}
				stop()
				if err := done(); err != nil {
					t.Fatal(err)
				}
				got := stored(t, s, task)
				if cancel {
					if got.State != control.TaskCanceled || got.Attempt != 1 {
						t.Errorf("it is %+v", got)
					}
					return
				}
				if got.State != control.TaskQueued || got.Attempt != 2 || got.Progress != 0 || !got.StartedAt.IsZero() {
					t.Errorf("it is %+v", got)
				}
				// The job of the first attempt is stale.
				if err := s.WorkTask(t.Context(), task.Job()); err != nil {
					t.Fatal(err)
				}
				if got := stored(t, s, task); got.State != control.TaskQueued {
					t.Errorf("a stale job made it %s", got.State)
				}
			})
		})
	}
}

// TestTaskThatAnotherManagerTookOverIsLeftToIt: neither the result nor the failure of the first attempt counts.
func TestTaskThatAnotherManagerTookOverIsLeftToIt(t *testing.T) {
	t.Parallel()
	for name, well := range map[string]bool{"when it succeeds": true, "at its next report": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s, l, task, _, done := running(t)
				taken := stored(t, s, task)
				taken.Attempt = 2
				err := s.Store.Tx(t.Context(), func(r control.Repos) error { return r.PutTask(t.Context(), taken, s.Now()) })
				if err != nil {
					t.Fatal(err)
				}
				if well {
					close(l.free)
				}
				if err := done(); err != nil {
					t.Fatal(err)
				}
				if got := stored(t, s, task); got.State != control.TaskRunning || got.Attempt != 2 || got.Result != nil || got.Error.String() != "" {
					t.Errorf("it is %+v", got)
				}
			})
		})
	}
}

func TestJobOfADeletedTaskEnds(t *testing.T) {
	t.Parallel()
	_, s := asleep(t)
	if err := s.WorkTask(t.Context(), control.Job{Kind: control.JobTask, Task: 99, Revision: 1}); err != nil {
		t.Error(err)
	}
}

// TestTaskFailsWhenItsPlanIsDeleted deletes the fabric between the request and the run.
func TestTaskFailsWhenItsPlanIsDeleted(t *testing.T) {
	t.Parallel()
	r, plan := controltest.LabWithPlan(t)
	s := r.Manager(t, func(d *control.Deps) { d.Store = quiet{d.Store} })
	task := start(t, s, control.TaskSimulation, control.TaskRequest{Fabric: "lab", Plan: plan})
	if err := r.Store.Tx(t.Context(), func(repos control.Repos) error { return repos.DeleteFabric(t.Context(), "lab", 0) }); err != nil {
		t.Fatal(err)
	}
	if err := s.WorkTask(t.Context(), task.Job()); err != nil {
		t.Fatal(err)
	}
	if got := stored(t, s, task); got.State != control.TaskFailed || !strings.Contains(got.Error.String(), `"lab" not found`) {
		t.Errorf("it is %s: %s", got.State, got.Error)
	}
}
