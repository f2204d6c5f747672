package control

import (
	"context"
	"encoding/json"
	"time"

	"fairlane/internal/phrase"
	"fairlane/policy"
)

// TaskKind is a kind of long work that touches no device.
type TaskKind string

// Kinds of tasks.
const (
	TaskSimulation  TaskKind = "simulation"
	TaskCalibration TaskKind = "calibration"
)

// TaskState is the state of a task.
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
	Progress   float64         // completed fraction
	Result     json.RawMessage // nil in lists and until the task succeeded
	Error      phrase.Text     // why it failed
	Actor      string
	Attempt    int64 // increases when a manager takes the task over from a failed one
	Cancel     bool  // cancellation was requested
	CreatedAt  time.Time
	StartedAt  time.Time // zero while queued
	FinishedAt time.Time // zero until it ended
}

// TaskRequest is the request for a task; the fields of other kinds are zero.
type TaskRequest struct {
	Fabric   string `json:"fabric,omitempty"` // simulation of a plan
	Plan     string `json:"plan,omitempty"`
	Before   bool   `json:"before,omitempty"`
	Scenario string `json:"scenario,omitempty"` // simulation of a scenario: the text of its file
	Profile  string `json:"profile,omitempty"`  // calibration
	Quick    bool   `json:"quick,omitempty"`
	Seed     uint64 `json:"seed,omitempty"` // 0 means the scenario's seed, or 1
}

// Laboratory runs tasks. Results are small JSON objects, at most MaxTaskResult. progress receives the completed fraction;
// it may be called from any goroutine, one call at a time.
type Laboratory interface {
	// CheckScenario rejects an invalid scenario with the reason.
	CheckScenario(text string) error
	// CheckProfile rejects a profile that cannot be calibrated.
	CheckProfile(name string) error
	SimulatePlan(ctx context.Context, in policy.Input, p *policy.Plan, seed uint64, before bool, progress func(float64)) (json.RawMessage, error)
	SimulateScenario(ctx context.Context, text string, seed uint64, progress func(float64)) (json.RawMessage, error)
	Calibrate(ctx context.Context, profile string, seed uint64, quick bool, progress func(float64)) (json.RawMessage, error)
}

// TaskRepo stores tasks.
type TaskRepo interface {
	CreateTask(ctx context.Context, t Task) (Task, error)
	// Task returns a task by kind and number, *NotFoundError when there is none.
	Task(ctx context.Context, kind TaskKind, id int64) (Task, error)
	// TaskToWork returns a task of any kind by number.
	TaskToWork(ctx context.Context, id int64) (Task, error)
	// ListTasks returns tasks of a kind, newest first, without results.
	ListTasks(ctx context.Context, kind TaskKind, p Page) (list []Task, next string, err error)
	// CountOpenTasks counts the tasks that have not ended.
	CountOpenTasks(ctx context.Context) (int64, error)
	// PutTask writes state, progress, result, error, attempt and times of a task, and whether its cancellation was
	// requested.
	PutTask(ctx context.Context, t Task, beat time.Time) error
	// SilentTasks lists running tasks without a heartbeat since a time.
	SilentTasks(ctx context.Context, since time.Time) ([]Task, error)
	// PruneTasks removes the oldest ended tasks of a kind, beyond keep.
	PruneTasks(ctx context.Context, kind TaskKind, keep int) error
}

func (t Task) Job() Job { return Job{Kind: JobTask, Task: t.ID, Revision: t.Attempt} }
