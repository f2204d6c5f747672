package tasks_test

import (
	"strings"
	"testing"
	"time"

	"fairlane/service/control"
	"fairlane/service/control/controltest"
)

// TestTasksOfDeadManagersAreTakenOver leaves tasks as killed managers leave them.
func TestTasksOfDeadManagersAreTakenOver(t *testing.T) {
	t.Parallel()
	const dead = 31 * time.Second
	for name, c := range map[string]struct {
		attempt int64
		cancel  bool
		silent  time.Duration
		want    control.TaskState
		events  string // kind of the final event
	}{
		"silent":                     {1, false, dead, control.TaskSucceeded, "simulation.started, simulation.succeeded"},
		"silent, of many managers":   {3, false, dead, control.TaskFailed, "simulation.failed"},
		"silent, and is to end":      {1, true, dead, control.TaskCanceled, "simulation.canceled"},
		"shows life now and then":    {1, false, 29 * time.Second, control.TaskRunning, ""},
		"many managers, shows life":  {3, false, 0, control.TaskRunning, ""},
		"is to end, but still lives": {1, true, 0, control.TaskRunning, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := controltest.New(t, controltest.OpenSQLite)
			list, _ := controltest.Managers(t, r, 1)
			now := list[0].Now()
			var task control.Task
			err := r.Store.Tx(t.Context(), func(repos control.Repos) (err error) {
				task, err = repos.CreateTask(t.Context(), control.Task{Kind: control.TaskSimulation, Request: control.TaskRequest{Scenario: controltest.ScenarioGood}, State: control.TaskQueued, CreatedAt: now})
				if err != nil {
					return err
				}
				task.State, task.Attempt, task.Cancel, task.Progress, task.StartedAt = control.TaskRunning, c.attempt, c.cancel, 0.5, now.Add(-time.Hour)
				return repos.PutTask(t.Context(), task, now.Add(-c.silent))
			})
			if err != nil {
				t.Fatal(err)
			}
			before := len(controltest.AuditEntries(t, list[0]))
			if err := list[0].KeepTasks(t.Context()); err != nil {
				t.Fatal(err)
			}
			r.Wait()
			got, err := list[0].Task(t.Context(), control.TaskSimulation, task.ID)
			if err != nil || got.State != c.want || got.State.Ended() == got.FinishedAt.IsZero() {
				t.Errorf("the task is %+v, %v; want it %s", got, err, c.want)
			}
			if failed := got.State == control.TaskFailed; failed != strings.Contains(got.Error.String(), "3 managers ended") {
				t.Errorf("its error is %q", got.Error)
			}
			var log []string
			for _, e := range controltest.AuditEntries(t, list[0])[before:] {
				log = append(log, e.Action)
			}
			if got := strings.Join(log, ", "); got != c.events {
				t.Errorf("the audit log has %q of it, want %q", got, c.events)
			}
		})
	}
}
