package store

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strconv"
	"sync"
	"testing"

	"fairlane/migrations"
	"fairlane/service/audit"
	"fairlane/service/control"
	"fairlane/service/store/pgtest"
)

// changeWithEntry makes a fabric and its audit entry in one transaction.
func changeWithEntry(ctx context.Context, s *Store, name string) error {
	return s.Tx(ctx, func(r control.Repos) error {
		_, err := r.CreateFabric(ctx, fabricCalled(name))
		if err == nil {
			_, err = r.AppendAudit(ctx, audit.Entry{At: at(), Action: "fabric.created", Object: name})
		}
		return err
	})
}

// matched checks that changes and entries match one to one, and that every acknowledged change is stored; it returns the
// number of changes.
func matched(t *testing.T, s *Store, acknowledged []string) int {
	t.Helper()
	ctx := t.Context()
	if _, err := verified(ctx, s); err != nil {
		t.Error(err)
	}
	changes, told := map[string]bool{}, map[string]bool{}
	err := s.View(ctx, func(r control.Repos) error {
		fabrics, err := paged(control.MaxPageLimit, func(p control.Page) ([]control.Fabric, string, error) { return r.ListFabrics(ctx, p) })
		for _, f := range fabrics {
			changes[f.Name] = true
		}
		if err != nil {
			return err
		}
		entries, err := paged(control.MaxPageLimit, func(p control.Page) ([]audit.Entry, string, error) {
			return r.ListAudit(ctx, control.AuditFilter{Action: "fabric.created"}, p)
		})
		for _, e := range entries {
			told[e.Object] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for name := range changes {
		if !told[name] {
			t.Errorf("change %s has no entry", name)
		}
	}
	for name := range told {
		if !changes[name] {
			t.Errorf("entry %s has no change", name)
		}
	}
	for _, name := range acknowledged {
		if !changes[name] {
			t.Errorf("change %s was acknowledged and is lost", name)
		}
	}
	return len(changes)
}

func TestKilledProcessLeavesNoChangeWithoutAuditEntry(t *testing.T) {
	t.Parallel()
	database := fresh(t, migrations.SQLite)
	var acknowledged []string
	for round, enough := range []int{1, 7, 30} { // killed early, and under full load
		acknowledged = append(acknowledged, killedAfter(t, enough, "write for ever", database, strconv.Itoa(round))...)
	}
	if n := matched(t, openAt(t, database, Options{}), acknowledged); n < 38 {
		t.Errorf("%d changes are there, at least 38 were acknowledged", n)
	}
}

func TestCrashedServerLeavesNoChangeWithoutAuditEntry(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t, pgtest.Options{Durable: true})
	database := server.Database(t)
	s := openAt(t, database, Options{})
	var acknowledged []string
	for round := range 2 {
		acknowledged = append(acknowledged, writeUntilCrash(t, s, server, round)...)
	}
	if n := matched(t, s, acknowledged); n < 50 {
		t.Errorf("%d changes are there, at least 50 were acknowledged", n)
	}
}

// writeUntilCrash runs four writers, crashes the server after 25 changes, and returns the acknowledged ones.
func writeUntilCrash(t *testing.T, s *Store, server *pgtest.Server, round int) (acknowledged []string) {
	t.Helper()
	r, w := io.Pipe()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var writers sync.WaitGroup
	for i := range 4 {
		writers.Go(func() {
			for n := 0; ; n++ {
				name := fmt.Sprintf("f-%d-%d-%d", round, i, n)
				if err := changeWithEntry(ctx, s, name); err != nil {
					return
				}
				if _, err := fmt.Fprintln(w, name); err != nil {
					return
				}
			}
		})
	}
	crashed := make(chan error, 1)
	for lines := bufio.NewScanner(r); lines.Scan(); {
		acknowledged = append(acknowledged, lines.Text())
		if len(acknowledged) == 25 {
			go func() {
				crashed <- server.Crash()
				stop()
				writers.Wait()
				_ = w.Close() // never fails
			}()
		}
	}
	if err := <-crashed; err != nil {
		t.Fatal(err)
	}
	return acknowledged
}
