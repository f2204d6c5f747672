package riverwork

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	_ "github.com/glebarez/go-sqlite"
	_ "github.com/jackc/pgx/v5/stdlib"
	"golang.org/x/sync/errgroup"

	"fairlane/service/control"
	"fairlane/service/store/pgtest"
)

func TestConcurrentStartsOnAnEmptyDatabaseSucceed(t *testing.T) {
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

func TestPeriodicWorkContinuesAfterItsManagerIsKilled(t *testing.T) {
	t.Parallel()
	for _, dialect := range []string{"sqlite", "postgres"} {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			open := database(t, dialect)
			end := make(chan struct{})
			first, died := working(t, open, dialect, func(context.Context) error { <-end; return nil })
			t.Cleanup(func() { close(end) })
			<-died
			// Like a killed manager it writes nothing any more, neither that the job is done nor that it resigns as
			// leader. The others need some seconds to notice, which this test does not wait for.
			if err := first.Close(); err != nil {
				t.Fatal(err)
			}
			second := open()
			if _, err := second.Exec("DELETE FROM river_leader"); err != nil {
				t.Fatal(err)
			}
			_, turn := working(t, open, dialect, func(context.Context) error { return nil })
			select {
			case <-turn:
			case <-time.After(30 * time.Second):
				t.Error("no other manager does the periodic work")
			}
			var running int
			if err := second.QueryRow("SELECT count(*) FROM river_job WHERE kind = 'periodic' AND state = 'running'").Scan(&running); err != nil || running == 0 {
				t.Errorf("rows of killed work: %d, %v; want at least 1", running, err)
			}
		})
	}
}

// database creates an empty database and returns a function that opens it.
func database(t *testing.T, dialect string) func() *sql.DB {
	driver, url := "pgx", ""
	if dialect == "sqlite" {
		driver, url = "sqlite", "file:"+filepath.Join(t.TempDir(), "queue.db")+"?_pragma=busy_timeout(30000)&_pragma=journal_mode(WAL)&_txlock=immediate"
	} else {
		url = pgtest.Database(t)
	}
	return func() *sql.DB {
		db, err := sql.Open(driver, url)
		if err != nil {
			t.Fatal(err)
		}
		if dialect == "sqlite" {
			db.SetMaxOpenConns(1)
		}
		t.Cleanup(func() { _ = db.Close() }) // closing it twice is allowed
		return db
	}
}

// working returns a running queue with its database, and a channel that receives each turn of its one periodic work.
func working(t *testing.T, open func() *sql.DB, dialect string, do func(context.Context) error) (*sql.DB, <-chan struct{}) {
	db := open()
	turn := make(chan struct{}, 100)
	q, err := New(t.Context(), db, Options{
		Postgres: dialect == "postgres", Work: func(context.Context, control.Job) error { return nil },
		Periodic: []Periodic{{Name: "look", Every: time.Second, Do: func(ctx context.Context) error {
			turn <- struct{}{}
			return do(ctx)
		}}},
	})
	if err == nil {
		err = q.Start(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		_ = q.Stop(ctx) // that of a closed database cannot
	})
	return db, turn
}

func TestAManagerDoesPeriodicWorkOneTurnAtATime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begun, end := 0, make(chan struct{})
		w := turns{Periodic: Periodic{Name: "look", Every: 10 * time.Second, Do: func(context.Context) error {
			begun++
			<-end
			return nil
		}}}
		want := func(n int) {
			t.Helper()
			synctest.Wait()
			if begun != n {
				t.Fatalf("%d turns were begun, want %d", begun, n)
			}
		}
		take := func() {
			if err := w.take(t.Context()); err != nil {
				t.Error(err)
			}
		}
		go take()
		want(1)
		time.Sleep(20 * time.Second)
		take() // while the first is running
		want(1)
		close(end)
		synctest.Wait()
		take()
		want(2)
		take() // piled up
		want(2)
		time.Sleep(10 * time.Second)
		take()
		want(3)
	})
}

func TestPeriodShorterThanASecondIsRejected(t *testing.T) {
	t.Parallel()
	_, err := New(t.Context(), database(t, "sqlite")(), Options{
		Work: func(context.Context, control.Job) error { return nil }, Periodic: []Periodic{{Name: "look", Every: time.Millisecond}},
	})
	if err == nil {
		t.Error("periodic work every millisecond is taken")
	}
}
