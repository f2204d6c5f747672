// Package riverwork puts the jobs of rollouts into River's queue, in the store's own database, and works them. Jobs are
// inserted in the transaction that made them necessary, so they exist exactly when that transaction was committed. A job
// is not inserted again while it is queued or running.
package riverwork

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/riverdriver/riverdatabasesql"
	"github.com/riverqueue/river/riverdriver/riversqlite"
	"github.com/riverqueue/river/rivermigrate"
	"github.com/riverqueue/river/rivertype"

	"fairlane/service/control"
)

// Options configure a queue. Work is required.
type Options struct {
	Postgres bool   // the dialect of the database; otherwise SQLite
	Name     string // of this manager, unique among running ones
	Log      *slog.Logger
	// Workers is the number of jobs that this manager works concurrently; 0 is DefaultWorkers.
	Workers int
	// Poll is the interval at which the database is polled for jobs; 0 is DefaultPoll.
	Poll time.Duration
	// Work does a job; after an error the job is retried later.
	Work func(ctx context.Context, j control.Job) error
	// Periodic lists work that one of all managers starts in each period.
	Periodic []Periodic
}

// Periodic is work that one of all managers starts in each period. It never runs twice at the same time on one manager.
// When it takes longer than a period, another manager may start it too, so that a manager that died during the work does
// not block it.
type Periodic struct {
	Name  string        // unique; lower case and dashes
	Every time.Duration // whole seconds, at least 1
	Do    func(ctx context.Context) error
}

// Defaults of Options.
const (
	DefaultWorkers = 8
	DefaultPoll    = 50 * time.Millisecond
)

// Queue is River on the store's database.
type Queue struct {
	client *river.Client[*sql.Tx]
	cancel context.CancelFunc
	once   sync.Once
}

// New migrates River's tables and returns a queue that accepts jobs; Start works them.
func New(ctx context.Context, db *sql.DB, o Options) (*Queue, error) {
	if o.Work == nil {
		return nil, errors.New("queue without work")
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Workers == 0 {
		o.Workers = DefaultWorkers
	}
	if o.Poll == 0 {
		o.Poll = DefaultPoll
	}
	var d riverdriver.Driver[*sql.Tx] = riversqlite.New(db)
	if o.Postgres {
		d = riverdatabasesql.New(db)
	}
	if err := migrateInTurn(ctx, db, d, o); err != nil {
		return nil, err
	}
	workers := river.NewWorkers()
	errs := []error{
		river.AddWorkerSafely(workers, &worker[stepArgs]{work: o.Work}),
		river.AddWorkerSafely(workers, &worker[shardArgs]{work: o.Work}),
		river.AddWorkerSafely(workers, &worker[taskArgs]{work: o.Work}),
	}
	tasks := map[string]*turns{}
	for _, p := range o.Periodic {
		if p.Every < time.Second {
			errs = append(errs, fmt.Errorf("periodic work %q every %s: want at least 1s", p.Name, p.Every))
		}
		tasks[p.Name] = &turns{Periodic: p}
	}
	errs = append(errs, river.AddWorkerSafely(workers, &periodicWorker{tasks: tasks}))
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("set up the queue: %w", err)
	}
	client, err := river.NewClient(d, &river.Config{
		ID: o.Name, Logger: o.Log, Workers: workers,
		// Simulations have a queue of their own, so that rollouts never wait for them.
		Queues:            map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: o.Workers}, taskQueue: {MaxWorkers: taskWorkers}},
		FetchCooldown:     min(o.Poll, 10*time.Millisecond),
		FetchPollInterval: o.Poll,
		JobTimeout:        -1, // a shard of slow devices has no time limit; leases supervise it
		RetryPolicy:       retries{},
		PeriodicJobs:      periodicJobs(o.Periodic),
		// Rows of finished jobs are not needed: our own rows hold the results.
		CompletedJobRetentionPeriod: time.Minute, CancelledJobRetentionPeriod: time.Minute, DiscardedJobRetentionPeriod: time.Hour,
	})
	if err != nil {
		return nil, fmt.Errorf("set up the queue: %w", err)
	}
	return &Queue{client: client}, nil
}

// queueLock is held, on PostgreSQL, while River's tables are migrated. Advisory locks are per database, so it needs to
// differ only from those of the store.
const queueLock int64 = 0x666169726c616e03 // "fairlan" and 3

// migrateInTurn makes managers that start concurrently on one PostgreSQL migrate one after the other: River's own
// statements conflict on an empty database, more often than a few retries can resolve.
func migrateInTurn(ctx context.Context, db *sql.DB, d riverdriver.Driver[*sql.Tx], o Options) (err error) {
	if !o.Postgres {
		return migrate(ctx, d, o.Log)
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		return fmt.Errorf("migrate the queue: %w", err)
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	if _, err := conn.ExecContext(ctx, "SELECT pg_advisory_lock($1)", queueLock); err != nil {
		return fmt.Errorf("wait for another manager's migration of the queue: %w", err)
	}
	defer func() {
		_, unlockErr := conn.ExecContext(context.WithoutCancel(ctx), "SELECT pg_advisory_unlock($1)", queueLock)
		err = errors.Join(err, unlockErr)
	}()
	return migrate(ctx, d, o.Log)
}

// migrate updates River's own tables.
func migrate(ctx context.Context, d riverdriver.Driver[*sql.Tx], log *slog.Logger) error {
	m, err := rivermigrate.New(d, &rivermigrate.Config{Logger: log})
	if err == nil {
		_, err = m.Migrate(ctx, rivermigrate.DirectionUp, nil)
	}
	if err != nil {
		return fmt.Errorf("migrate the queue: %w", err)
	}
	return nil
}

// Start works jobs until Stop.
func (q *Queue) Start(ctx context.Context) error {
	// The caller's context may cover only the start; Stop ends the work.
	ctx, q.cancel = context.WithCancel(context.WithoutCancel(ctx))
	if err := q.client.Start(ctx); err != nil {
		q.cancel()
		return fmt.Errorf("start the queue: %w", err)
	}
	return nil
}

// Stop cancels running jobs, waits for them at most until ctx ends, and accepts no more.
func (q *Queue) Stop(ctx context.Context) error {
	if q.cancel == nil {
		return nil
	}
	defer q.once.Do(q.cancel)
	if err := q.client.StopAndCancel(ctx); err != nil {
		return fmt.Errorf("stop the queue: %w", err)
	}
	return nil
}

// InsertJobs inserts jobs in a transaction of the store.
func (q *Queue) InsertJobs(ctx context.Context, tx *sql.Tx, jobs []control.Job) error {
	params := make([]river.InsertManyParams, len(jobs))
	for i, j := range jobs {
		// Completed jobs do not count, and a job is rarely queued twice under one revision.
		params[i].InsertOpts = &river.InsertOpts{UniqueOpts: river.UniqueOpts{ByArgs: true, ByState: alive()}}
		switch j.Kind {
		case control.JobStep:
			params[i].Args = stepArgs{Rollout: j.Rollout, Revision: j.Revision}
		case control.JobShard:
			params[i].Args = shardArgs{Rollout: j.Rollout, Undo: j.Undo, Wave: j.Wave, Shard: j.Shard, Epoch: j.Revision}
		case control.JobTask:
			params[i].Args = taskArgs{Task: j.Task, Attempt: j.Revision}
			params[i].InsertOpts.Queue = taskQueue
		default:
			return fmt.Errorf("job of kind %q: want %s, %s or %s", j.Kind, control.JobStep, control.JobShard, control.JobTask)
		}
	}
	_, err := q.client.InsertManyTx(ctx, tx, params)
	return err
}

// alive returns the states of queued and running jobs.
func alive() []rivertype.JobState {
	return []rivertype.JobState{
		rivertype.JobStateAvailable, rivertype.JobStatePending, rivertype.JobStateRunning,
		rivertype.JobStateScheduled, rivertype.JobStateRetryable,
	}
}

// worker works the jobs of one kind.
type worker[A jobArgs] struct {
	river.WorkerDefaults[A]

	work func(context.Context, control.Job) error
}

// jobArgs is a job as River stores it.
type jobArgs interface {
	river.JobArgs
	job() control.Job
}

// Work implements river.Worker.
func (w *worker[A]) Work(ctx context.Context, j *river.Job[A]) error {
	return w.work(ctx, j.Args.job())
}

type stepArgs struct {
	Rollout  int64 `json:"rollout"`
	Revision int64 `json:"revision"`
}

// Kind implements river.JobArgs.
func (stepArgs) Kind() string { return control.JobStep }

func (a stepArgs) job() control.Job {
	return control.Job{Kind: control.JobStep, Rollout: a.Rollout, Revision: a.Revision}
}

type shardArgs struct {
	Rollout int64 `json:"rollout"`
	Undo    bool  `json:"undo"`
	Wave    int   `json:"wave"`
	Shard   int   `json:"shard"`
	Epoch   int64 `json:"epoch"`
}

// Kind implements river.JobArgs.
func (shardArgs) Kind() string { return control.JobShard }

func (a shardArgs) job() control.Job {
	return control.Job{Kind: control.JobShard, Rollout: a.Rollout, Revision: a.Epoch, Undo: a.Undo, Wave: a.Wave, Shard: a.Shard}
}

// Simulations and calibrations: one at a time on each manager, since each keeps a processor busy.
const (
	taskQueue   = "tasks"
	taskWorkers = 1
)

type taskArgs struct {
	Task    int64 `json:"task"`
	Attempt int64 `json:"attempt"`
}

// Kind implements river.JobArgs.
func (taskArgs) Kind() string { return control.JobTask }

func (a taskArgs) job() control.Job {
	return control.Job{Kind: control.JobTask, Task: a.Task, Revision: a.Attempt}
}

type periodicArgs struct {
	Name string `json:"name"`
}

// Kind implements river.JobArgs.
func (periodicArgs) Kind() string { return "periodic" }

type periodicWorker struct {
	river.WorkerDefaults[periodicArgs]

	tasks map[string]*turns
}

// Work implements river.Worker.
func (w *periodicWorker) Work(ctx context.Context, j *river.Job[periodicArgs]) error {
	t, ok := w.tasks[j.Args.Name]
	if !ok {
		return river.JobCancel(fmt.Errorf("periodic work %q: this manager does not know it", j.Args.Name))
	}
	return t.take(ctx)
}

// turns does the turns of periodic work on this manager, one at a time.
type turns struct {
	Periodic

	mu    sync.Mutex
	begun time.Time // the latest turn; zero before the first
}

// take does the work, unless it is running. Turns that piled up while no worker was free count as one.
func (t *turns) take(ctx context.Context) error {
	if !t.mu.TryLock() {
		return nil
	}
	defer t.mu.Unlock()
	if !t.begun.IsZero() && time.Since(t.begun) < t.Every/2 {
		return nil
	}
	t.begun = time.Now()
	return t.Do(ctx)
}

// periodicJobs are inserted by the leader, one of a name in each period. They are not limited to one of a name at a time:
// the row of a killed manager's job counts as running until River rescues it, an hour later.
func periodicJobs(list []Periodic) []*river.PeriodicJob {
	out := make([]*river.PeriodicJob, len(list))
	for i, p := range list {
		insert := func() (river.JobArgs, *river.InsertOpts) {
			return periodicArgs{Name: p.Name}, &river.InsertOpts{MaxAttempts: 1, UniqueOpts: river.UniqueOpts{ByArgs: true, ByPeriod: p.Every, ByState: alive()}}
		}
		out[i] = river.NewPeriodicJob(river.PeriodicInterval(p.Every), insert, nil)
	}
	return out
}

// retries retries soon: jobs are short, and the usual cause is a temporarily unavailable database or fabric.
type retries struct{}

// NextRetry implements river.ClientRetryPolicy: 1 s, doubled up to 30 s.
func (retries) NextRetry(j *rivertype.JobRow) time.Time {
	return time.Now().Add(min(time.Second<<min(max(j.Attempt-1, 0), 6), 30*time.Second))
}
