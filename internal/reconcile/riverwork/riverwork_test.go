package riverwork

import (
	"context"
	"database/sql"
	"errors"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib"
	"golang.org/x/sync/errgroup"

	"fairlane/internal/control"
	"fairlane/internal/store/pgtest"
)

func TestManagersThatStartTogetherOnAnEmptyDatabaseAllStart(t *testing.T) {
	t.Parallel()
	url := pgtest.Database(t)
	var g errgroup.Group
	begin := make(chan struct{})
	for range 8 {
		g.Go(func() (err error) {
			db, err := sql.Open("pgx", url)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, db.Close()) }()
			<-begin
			q, err := New(context.Background(), db, Options{Work: func(context.Context, control.Job) error { return nil }, Postgres: true})
			if err != nil {
				return err
			}
			tx, err := db.Begin()
			if err != nil {
				return err
			}
			return errors.Join(q.InsertJobs(context.Background(), tx, []control.Job{{Kind: control.JobStep, Rollout: 1, Revision: 1}}), tx.Commit())
		})
	}
	close(begin)
	if err := g.Wait(); err != nil {
		t.Error(err)
	}
}
