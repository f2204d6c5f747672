package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"fairlane/migrations"
	"fairlane/service/audit"
	"fairlane/service/control"
	"fairlane/service/store/pgtest"
)

// TestFabricsDoNotWaitForEachOther starts a write on one fabric and does not end it. Meanwhile writes on other fabrics
// and in separate scopes succeed; a write of the whole service, and one on the same fabric, wait.
func TestFabricsDoNotWaitForEachOther(t *testing.T) {
	t.Parallel()
	database := fresh(t, migrations.Postgres)
	s := openAt(t, database, Options{})
	other := openAt(t, database, Options{BusyTimeout: 300 * time.Millisecond})
	f := &fixture{t: t, s: s}
	for _, name := range []string{"one", "two"} {
		f.fabric(name)
	}
	ctx := t.Context()
	err := s.Tx(control.OnFabric(ctx, "one"), func(r control.Repos) error {
		if err := addEvent(ctx, r, "one", "begun"); err != nil {
			return err
		}
		for _, m := range []*Store{s, other} {
			for _, scope := range []context.Context{control.OnFabric(ctx, "two"), control.WithScope(ctx, control.ScopeSignIn), control.WithScope(ctx, control.ScopeTasks)} {
				if err := m.Tx(scope, func(r control.Repos) error { return addEvent(ctx, r, "two", "beside") }); err != nil {
					t.Errorf("during a write on another fabric: %v", err)
				}
			}
		}
		for _, scope := range []context.Context{control.OnFabric(ctx, "one"), ctx} {
			err := other.Tx(scope, func(control.Repos) error { return errors.New("had the turn") })
			wantFault(t, err, "storage-unavailable")
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if _, err := verified(ctx, s); err != nil {
		t.Error(err)
	}
}

// addEvent stores an event and its audit entry.
func addEvent(ctx context.Context, r control.Repos, fabric, what string) error {
	if err := r.AddEvent(ctx, control.Event{At: at(), Fabric: fabric, Kind: "tenant.updated", Subject: what}); err != nil {
		return err
	}
	_, err := r.AppendAudit(ctx, audit.Entry{At: at(), Action: "tenant.updated", Fabric: fabric, Object: what})
	return err
}

// TestEventsAppearInTheOrderOfTheirNumbers has many managers write on many fabrics concurrently while a reader follows
// the events by number: none appears late, and the audit chain has no fork.
func TestEventsAppearInTheOrderOfTheirNumbers(t *testing.T) {
	t.Parallel()
	const managers, fabrics, each = 3, 4, 15
	database := fresh(t, migrations.Postgres)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var writers sync.WaitGroup
	for m := range managers {
		s := openAt(t, database, Options{})
		for k := range fabrics {
			writers.Go(func() {
				scope := control.OnFabric(ctx, fmt.Sprint("f", k))
				if k == 0 {
					scope = ctx // including writes of the whole service
				}
				for i := range each {
					err := s.Tx(scope, func(r control.Repos) error {
						for range 2 {
							if err := addEvent(ctx, r, fmt.Sprint("f", k), fmt.Sprint(m, k, i)); err != nil {
								return err
							}
						}
						return nil
					})
					if err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
	}
	done := make(chan struct{})
	go func() { writers.Wait(); close(done) }()
	s := openAt(t, database, Options{})
	seen, last := 0, ""
	for ended := false; !ended; {
		select {
		case <-done:
			ended = true // one last read
		default:
		}
		for more := true; more; {
			err := s.View(ctx, func(r control.Repos) error {
				list, next, err := r.ListEvents(ctx, control.EventFilter{}, control.Page{After: last, Limit: 7})
				seen += len(list)
				if len(list) > 0 {
					last = fmt.Sprint(list[len(list)-1].ID)
				}
				more = next != ""
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	if want := managers * fabrics * each * 2; seen != want {
		t.Errorf("who follows by numbers saw %d events of %d: some came late", seen, want)
	}
	if _, err := verified(ctx, s); err != nil {
		t.Error(err)
	}
}

// Stages of a write at which a manager is suspended.
const (
	afterBegin  = "after the beginning"
	afterLock   = "after the lock"
	whole       = "after the lock of the whole service"
	beforeChain = "before the audit log"
	inChain     = "before the commit"
	inAnswer    = "while an answer is sent"
	queued      = "with writes that wait for the audit log"
	wholeQueued = "with writes that wait for one of the whole service"
)

// stopIn starts a write in a child, prints "here" at a stage and waits there until its parent suspends and resumes it.
func stopIn(ctx context.Context, database, stage string) error {
	s, err := Open(ctx, database, Options{})
	if err != nil {
		return err
	}
	here := func() { // the parent may suspend this process at any time from here on
		fmt.Println("here")
		_, _ = io.ReadAll(os.Stdin)
	}
	scope := control.OnFabric(ctx, "one")
	if stage == whole || stage == wholeQueued {
		scope = ctx
	}
	if stage == afterBegin {
		tx, err := s.Writer().BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		here()
		if _, err := tx.ExecContext(ctx, "SELECT 1"); err != nil {
			fmt.Println("refused", err)
		}
		return errors.Join(tx.Rollback(), s.Close())
	}
	var waiting sync.WaitGroup // writes that start while the first one holds its locks
	err = s.Tx(scope, func(r control.Repos) error {
		if stage == afterLock || stage == whole {
			here()
		}
		if err := addEvent(ctx, r, "one", "stale"); err != nil {
			return err
		}
		mine := r.(*repos)
		switch stage {
		case beforeChain:
			here()
		case queued:
			if err := mine.appendLate(ctx); err != nil {
				return err
			}
			fallthrough
		case wholeQueued:
			mine.events, mine.audits = nil, nil
			for _, fabric := range []string{"two", "three"} {
				waiting.Go(func() {
					_ = s.Tx(control.OnFabric(ctx, fabric), func(r control.Repos) error { return addEvent(ctx, r, fabric, "queued") })
				})
			}
			time.Sleep(time.Second) // they wait, without any work to wait for
			here()
		case inChain:
			if err := mine.appendLate(ctx); err != nil {
				return err
			}
			mine.events, mine.audits = nil, nil
			here()
		case inAnswer:
			return readForever(mine, here)
		}
		return nil
	})
	fmt.Println("came to", err)
	waiting.Wait()
	return s.Close()
}

// readForever requests an answer that fits into no buffer, and reads only its start.
func readForever(r *repos, here func()) error {
	rows, err := r.db.Raw("SELECT repeat('x', 100000) FROM generate_series(1, 1000)").Rows()
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	rows.Next()
	here()
	for rows.Next() {
	}
	return rows.Err()
}

// TestSuspendedManagerDoesNotBlockOthers suspends a manager with SIGSTOP at every stage of a write, while others write on the
// same fabric, on another one, and with the scope of the whole service. After five seconds their writes take their usual
// time, and the writes of the suspended manager fail when it resumes.
func TestSuspendedManagerDoesNotBlockOthers(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t, pgtest.Options{})
	for _, stage := range []string{afterBegin, afterLock, whole, beforeChain, inChain, inAnswer, queued, wholeQueued} {
		t.Run(strings.ReplaceAll(stage, " ", "-"), func(t *testing.T) {
			t.Parallel()
			database := server.Database(t)
			s := openAt(t, database, Options{})
			f := &fixture{t: t, s: s}
			f.fabric("one")
			f.fabric("two")
			cmd := exec.CommandContext(t.Context(), os.Args[0])
			cmd.Env = childEnv("stop in", database, stage)
			in, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			out, err := cmd.StdoutPipe()
			if err == nil {
				err = cmd.Start()
			}
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadFull(out, make([]byte, len("here\n"))); err != nil {
				t.Fatal(err)
			}
			if err := cmd.Process.Signal(syscall.SIGSTOP); err != nil {
				t.Fatal(err)
			}
			stopped := time.Now()
			worst := writeBeside(t, s, stopped)
			t.Logf("the longest waits of writes that began in the first 5 s and later: %v", worst)
			if worst[0] > 5*time.Second {
				t.Errorf("a write waited %v for a stopped manager, want 5 s at most", worst[0])
			}
			if worst[1] > time.Second {
				t.Errorf("5 s after a manager was stopped a write still takes %v", worst[1])
			}
			if err := cmd.Process.Signal(syscall.SIGCONT); err != nil {
				t.Fatal(err)
			}
			_ = in.Close()
			said, err := io.ReadAll(out)
			if err != nil || strings.Contains(string(said), "came to <nil>") {
				t.Errorf("the manager went on and says %q, %v", said, err)
			}
			_ = cmd.Wait()
			var stale int
			if err := s.closers[1].QueryRowContext(t.Context(), "SELECT count(*) FROM audit WHERE object = 'stale'").Scan(&stale); err != nil || stale != 0 {
				t.Errorf("%d entries of the stopped manager are there, %v", stale, err)
			}
			if _, err := verified(t.Context(), s); err != nil {
				t.Error(err)
			}
		})
	}
}

// writeBeside writes in every scope for seven seconds. It returns the duration of the longest write among those that
// started within five seconds, and among later ones.
func writeBeside(t *testing.T, s *Store, since time.Time) (worst [2]time.Duration) {
	t.Helper()
	var mu sync.Mutex
	var late []time.Duration
	var wg sync.WaitGroup
	ctx := t.Context()
	for name, scope := range map[string]context.Context{"one": control.OnFabric(ctx, "one"), "two": control.OnFabric(ctx, "two"), "": ctx} {
		wg.Go(func() {
			for time.Since(since) < 7*time.Second {
				begun := time.Now()
				if err := s.Tx(scope, func(r control.Repos) error { return addEvent(ctx, r, name, "fresh") }); err != nil {
					t.Errorf("a concurrent write on %q: %v", name, err)
				}
				took := time.Since(begun)
				mu.Lock()
				if begun.Sub(since) < 5*time.Second {
					worst[0] = max(worst[0], took)
				} else {
					late = append(late, took)
				}
				mu.Unlock()
				time.Sleep(10 * time.Millisecond)
			}
		})
	}
	wg.Wait()
	slices.Sort(late)
	if len(late) == 0 {
		t.Fatal("no write began after 5 s")
	}
	worst[1] = late[len(late)*99/100]
	return worst
}

// TestReadContinuesAfterAPause suspends a read transaction for longer than the limit of a write. It blocks no other
// transaction, so it may continue.
func TestReadContinuesAfterAPause(t *testing.T) {
	t.Parallel()
	s := openAt(t, fresh(t, migrations.Postgres), Options{})
	(&fixture{t: t, s: s}).fabric("lab")
	ctx := t.Context()
	err := s.View(ctx, func(r control.Repos) error {
		if _, err := r.Fabric(ctx, "lab"); err != nil {
			return err
		}
		time.Sleep(idleInTx + time.Second)
		_, err := r.Fabric(ctx, "lab")
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// TestPingReportsBlockedWrites holds the lock that all writes need.
func TestPingReportsBlockedWrites(t *testing.T) {
	onBoth(t, func(t *testing.T, d migrations.Dialect) {
		database := fresh(t, d)
		s, other := openAt(t, database, Options{}), openAt(t, database, Options{})
		ctx := t.Context()
		if err := s.Ping(ctx); err != nil {
			t.Fatal(err)
		}
		time.Sleep(probeKept)
		err := other.Tx(ctx, func(r control.Repos) error {
			begun := time.Now()
			wantFault(t, s.Ping(ctx), "storage-blocked")
			if took := time.Since(begun); took > probeTime+2*time.Second {
				t.Errorf("it took %v to say so", took)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
		time.Sleep(probeKept)
		if err := s.Ping(ctx); err != nil {
			t.Errorf("afterwards: %v", err)
		}
	})
}
