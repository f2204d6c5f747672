package control

import "context"

// Kinds of jobs.
const (
	// JobStep asks for the next step of a rollout.
	JobStep = "rollout"
	// JobShard asks for the work on one shard's devices.
	JobShard = "rollout-shard"
	// JobTask asks for a simulation or a calibration.
	JobTask = "task"
)

// Job is work for any manager. It is a hint, never a state: whoever works it reads the rows and does
// what they call for, and a job that comes twice, late or never costs time and nothing else.
type Job struct {
	Kind    string // JobStep, JobShard or JobTask
	Rollout int64
	Task    int64 // of JobTask, whose Revision is the attempt
	// Revision is the rollout's when the step was asked for, or the shard's epoch. A job of a lower
	// one than the row's is stale and does nothing.
	Revision int64
	// Undo, Wave and Shard name a shard; zero for a step.
	Undo        bool
	Wave, Shard int
}

// Jobs puts jobs into the transaction that made them necessary. The same job is kept once while it
// waits or runs.
type Jobs interface {
	Enqueue(ctx context.Context, jobs ...Job) error
}
