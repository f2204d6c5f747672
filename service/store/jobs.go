package store

import (
	"context"
	"database/sql"
	"fmt"

	"fairlane/service/control"
)

// Inserter inserts jobs into a queue in the same database, in the given transaction.
type Inserter interface {
	InsertJobs(ctx context.Context, tx *sql.Tx, jobs []control.Job) error
}

// UseJobs sets the queue of Enqueue. Call it before the first transaction. Without a queue jobs are dropped, which is
// correct only where nothing runs them.
func (s *Store) UseJobs(q Inserter) { s.jobs = q }

var _ control.Jobs = (*repos)(nil)

func (r *repos) Enqueue(ctx context.Context, jobs ...control.Job) error {
	if r.jobs == nil || len(jobs) == 0 {
		return nil
	}
	tx, ok := r.db.Statement.ConnPool.(*sql.Tx)
	if !ok {
		return fmt.Errorf("enqueue %d jobs: not inside a write transaction", len(jobs))
	}
	if err := r.jobs.InsertJobs(ctx, tx, jobs); err != nil {
		return fmt.Errorf("enqueue %d jobs: %w", len(jobs), err)
	}
	return nil
}
