package control

import "context"

// Kinds of jobs.
const (
	// JobStep requests the next step of a rollout.
	JobStep = "rollout"
	// JobShard requests the work on one shard's devices.
	JobShard = "rollout-shard"
	// JobTask requests a simulation or a calibration.
	JobTask = "task"
)

// Job is work for any manager. It is a hint, not state: the worker reads the rows and does what they require. A job that
// is duplicated, late or lost costs time, never correctness.
type Job struct {
	Kind    string // JobStep, JobShard or JobTask
	Rollout int64
	Task    int64 // for JobTask, where Revision is the attempt
	// Revision is the rollout's revision when the step was requested, or the shard's epoch. A job with a lower number
	// than the row's is stale and ignored.
	Revision int64
	// Undo, Wave and Shard identify a shard; zero for a step.
	Undo        bool
	Wave, Shard int
}

// Jobs adds jobs to the transaction that made them necessary. A job that is already queued or running is not added again.
type Jobs interface {
	Enqueue(ctx context.Context, jobs ...Job) error
}
