package control

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// Runner owns the goroutines of rollouts, at most one a fabric.
type Runner struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	wg     sync.WaitGroup

	mu      sync.Mutex
	stopped bool
	running map[string]context.CancelCauseFunc // by fabric
}

// Causes of a rollout's cancelled context.
var (
	errStopping = errors.New("the manager is stopping")
	errCanceled = errors.New("cancelled by an operator")
)

// NewRunner returns a runner with nothing to run.
func NewRunner() *Runner {
	ctx, cancel := context.WithCancelCause(context.Background())
	return &Runner{ctx: ctx, cancel: cancel, running: make(map[string]context.CancelCauseFunc)}
}

// Start runs f in a goroutine of the runner's, with a context that ends on Stop and on Cancel.
// It returns *ConflictError "rollout-running" when the fabric has one running.
func (r *Runner) Start(fabric string, f func(ctx context.Context)) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stopped {
		return &UnavailableError{Code: "stopping", Detail: "the service is stopping"}
	}
	if _, busy := r.running[fabric]; busy {
		return &ConflictError{Code: "rollout-running", Detail: fmt.Sprintf("fabric %q has a rollout running; wait for it or cancel it", fabric)}
	}
	ctx, cancel := context.WithCancelCause(r.ctx)
	r.running[fabric] = cancel
	r.wg.Go(func() {
		defer func() {
			r.mu.Lock()
			delete(r.running, fabric)
			r.mu.Unlock()
			cancel(nil)
		}()
		f(ctx)
	})
	return nil
}

// Cancel ends the context of the fabric's rollout and reports whether there was one.
func (r *Runner) Cancel(fabric string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	cancel, ok := r.running[fabric]
	if ok {
		cancel(errCanceled)
	}
	return ok
}

// Wait returns when nothing is running any more.
func (r *Runner) Wait() { r.wg.Wait() }

// Stop ends the contexts of all rollouts, refuses new ones and waits for the running ones.
func (r *Runner) Stop() {
	r.mu.Lock()
	r.stopped = true
	r.mu.Unlock()
	r.cancel(errStopping)
	r.wg.Wait()
}
