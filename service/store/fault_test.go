package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"fairlane/migrations"
	"fairlane/service/control"
	"fairlane/service/store/pgtest"
)

// wantFault checks that an error is a database failure with a code.
func wantFault(t *testing.T, err error, code string) {
	t.Helper()
	var away *control.UnavailableError
	if !errors.As(err, &away) || away.Code != code {
		t.Errorf("error is %v, want a *control.UnavailableError of code %s", err, code)
	}
}

// write creates a fabric of many bytes.
func write(ctx context.Context, s *Store, name string) error {
	f := fabricCalled(name)
	f.Source += strings.Repeat("x", 2000)
	return s.Tx(ctx, func(r control.Repos) error { _, err := r.CreateFabric(ctx, f); return err })
}

func count(ctx context.Context, t *testing.T, s *Store) (n int) {
	t.Helper()
	err := s.View(ctx, func(r control.Repos) error {
		list, _, err := r.ListFabrics(ctx, control.Page{Limit: control.MaxPageLimit})
		n = len(list)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestFullDatabaseRejectsWritesAndStillReads(t *testing.T) {
	t.Parallel()
	s := open(t)
	ctx := t.Context()
	pages := query(t, s.Writer(), "PRAGMA page_count")[0][0]
	if _, err := s.Writer().ExecContext(ctx, "PRAGMA max_page_count = "+pages); err != nil {
		t.Fatal(err)
	}
	done := 0
	var err error
	for ; err == nil && done < 1000; done++ {
		err = write(ctx, s, fmt.Sprintf("f%d", done))
	}
	wantFault(t, err, "storage-full")
	if n := count(ctx, t, s); n != done-1 {
		t.Errorf("%d fabrics are there, %d were acknowledged", n, done-1)
	}
	if _, err := s.Writer().ExecContext(ctx, "PRAGMA max_page_count = 100000"); err != nil {
		t.Fatal(err)
	}
	if err := write(ctx, s, "room-again"); err != nil {
		t.Errorf("with room again: %v", err)
	}
}

func TestReadOnlyDatabaseRejectsWritesAndStillReads(t *testing.T) {
	onBoth(t, func(t *testing.T, d migrations.Dialect) {
		database := fresh(t, d)
		s := openAt(t, database, Options{})
		ctx := t.Context()
		if err := write(ctx, s, "before"); err != nil {
			t.Fatal(err)
		}
		if d == migrations.Postgres {
			name := query(t, s.Writer(), "SELECT current_database()")[0][0]
			if _, err := s.Writer().ExecContext(ctx, "ALTER DATABASE "+name+" SET default_transaction_read_only = on"); err != nil {
				t.Fatal(err)
			}
			s = openAt(t, database, Options{}) // an up-to-date database opens without a write
		} else if _, err := s.Writer().ExecContext(ctx, "PRAGMA query_only(1)"); err != nil {
			t.Fatal(err)
		}
		wantFault(t, write(ctx, s, "during"), "storage-read-only")
		if n := count(ctx, t, s); n != 1 {
			t.Errorf("%d fabrics are there, want 1", n)
		}
	})
}

func TestALostDatabaseIsUnavailableAndComesBack(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t, pgtest.Options{})
	s := openAt(t, server.Database(t), Options{})
	ctx := t.Context()
	if err := write(ctx, s, "before"); err != nil {
		t.Fatal(err)
	}
	err := s.Tx(ctx, func(r control.Repos) error {
		if _, err := r.CreateFabric(ctx, fabricCalled("during")); err != nil {
			return err
		}
		return server.Stop()
	})
	wantFault(t, err, "storage-unavailable")
	wantFault(t, write(ctx, s, "gone"), "storage-unavailable")
	wantFault(t, s.View(ctx, func(r control.Repos) error { _, err := r.RunningRollouts(ctx); return err }), "storage-unavailable")
	if err := s.Ping(ctx); err == nil {
		t.Error("a stopped database answers a ping")
	}
	if err := server.Begin(); err != nil {
		t.Fatal(err)
	}
	if err := write(ctx, s, "after"); err != nil {
		t.Errorf("after the database came back: %v", err)
	}
	if n := count(ctx, t, s); n != 2 {
		t.Errorf("%d fabrics are there, want those before and after", n)
	}
}

func TestWaitForABlockedWriterIsBounded(t *testing.T) {
	onBoth(t, func(t *testing.T, d migrations.Dialect) {
		database := fresh(t, d)
		slow := openAt(t, database, Options{})
		other := openAt(t, database, Options{BusyTimeout: 50 * time.Millisecond})
		ctx := t.Context()
		err := slow.Tx(ctx, func(control.Repos) error {
			wantFault(t, write(ctx, other, "in-vain"), "storage-unavailable")
			if n := count(ctx, t, other); n != 0 {
				t.Errorf("a reader sees %d fabrics", n)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := write(ctx, other, "then"); err != nil {
			t.Error(err)
		}
	})
}

func TestCanceledRequestIsNoDatabaseFailure(t *testing.T) {
	onBoth(t, func(t *testing.T, d migrations.Dialect) {
		s := openAt(t, fresh(t, d), Options{})
		ctx, cancel := context.WithCancel(t.Context())
		err := s.Tx(ctx, func(r control.Repos) error {
			cancel()
			_, err := r.CreateFabric(ctx, fabricCalled("late"))
			return err
		})
		if !errors.Is(err, context.Canceled) || errors.Is(err, control.ErrUnavailable) {
			t.Errorf("error is %v, want the context's", err)
		}
		if n := count(t.Context(), t, s); n != 0 {
			t.Errorf("%d fabrics are there", n)
		}
	})
}

func TestPasswordsStayOutOfErrors(t *testing.T) {
	t.Parallel()
	for _, database := range []string{
		"postgres://ada:hunter2@127.0.0.1:1/fairlane?connect_timeout=1",
		"postgres://ada@127.0.0.1:1/fairlane?password=hunter2",
		"postgres://ada:hunter2@127.0.0.1:notaport/fairlane",
		"postgres://ada:hunter2@[::1/fairlane",
		"postgresql://ada:hunter2@127.0.0.1/x?sslmode=odd",
	} {
		_, err := Open(t.Context(), database, Options{})
		if err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("opening %s gave %v", database, err)
		}
	}
	if got := Redact("/var/lib/x.db"); got != "/var/lib/x.db" {
		t.Errorf("a path was changed to %s", got)
	}
}
