package controltest

import (
	"context"
	"io"
	"sync"

	"fairlane/service/control"
	"fairlane/service/control/usecases"
	"fairlane/service/rollout"
)

// queue is a store that works jobs in this process as soon as their transaction is committed.
type queue struct {
	control.Store

	engine *rollout.Engine
	tasks  *usecases.Services // works simulations and calibrations
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup
}

// Census returns the census of the store, which metrics show.
func (q *queue) Census(ctx context.Context) (control.Census, error) {
	return q.Store.(interface {
		Census(ctx context.Context) (control.Census, error)
	}).Census(ctx)
}

func newQueue(s control.Store) *queue {
	q := &queue{Store: s}
	q.ctx, q.cancel = context.WithCancel(context.Background())
	return q
}

var _ control.Store = (*queue)(nil)

func (q *queue) Tx(ctx context.Context, f func(control.Repos) error) error {
	var jobs []control.Job
	err := q.Store.Tx(ctx, func(r control.Repos) error { return f(&keeping{Repos: r, jobs: &jobs}) })
	if err != nil || q.engine == nil || q.ctx.Err() != nil {
		return err
	}
	for _, j := range jobs {
		q.wg.Go(func() { _ = q.work(j) }) // tests read the results from the rows
	}
	return nil
}

func (q *queue) work(j control.Job) error {
	if j.Kind == control.JobTask {
		return q.tasks.WorkTask(q.ctx, j)
	}
	return q.engine.Work(q.ctx, j)
}

// Close closes the store, if it is an io.Closer.
func (q *queue) Close() error {
	if c, ok := q.Store.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

func (q *queue) wait() { q.wg.Wait() }

func (q *queue) stop() {
	q.cancel()
	q.wg.Wait()
}

// keeping records the jobs of a transaction.
type keeping struct {
	control.Repos

	jobs *[]control.Job
}

var _ control.Jobs = (*keeping)(nil)

func (k *keeping) Enqueue(_ context.Context, jobs ...control.Job) error {
	*k.jobs = append(*k.jobs, jobs...)
	return nil
}
