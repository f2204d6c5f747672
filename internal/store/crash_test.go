package store

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"fairlane/internal/audit"
	"fairlane/internal/control"
	"fairlane/internal/store/pgtest"
)

// scribble is the environment variable that makes the test binary write to the database it names, until it
// is killed.
const scribble = "FAIRLANE_TEST_SCRIBBLE"

// changeWithEntry makes a fabric and its audit entry in one transaction.
func changeWithEntry(ctx context.Context, s *Store, name string) error {
	return s.Tx(ctx, func(r control.Repos) error {
		_, err := r.CreateFabric(ctx, control.Fabric{Name: name, Plane: "ib", Source: "file:x", TimeScale: 1, CreatedAt: at()})
		if err == nil {
			_, err = r.AppendAudit(ctx, audit.Entry{At: at(), Action: "fabric.created", Object: name})
		}
		return err
	})
}

// matched checks that every change has its entry, every entry its change, and that what was acknowledged is
// there; it returns how many changes there are.
func matched(t *testing.T, s *Store, acknowledged []string) int {
	t.Helper()
	ctx := t.Context()
	if _, err := verified(ctx, s); err != nil {
		t.Error(err)
	}
	changes, told := map[string]bool{}, map[string]bool{}
	err := s.View(ctx, func(r control.Repos) error {
		for p := (control.Page{Limit: control.MaxPageLimit}); ; {
			list, next, err := r.ListFabrics(ctx, p)
			if err != nil {
				return err
			}
			for _, f := range list {
				changes[f.Name] = true
			}
			if p.After = next; next == "" {
				break
			}
		}
		for p := (control.Page{Limit: control.MaxPageLimit}); ; {
			list, next, err := r.ListAudit(ctx, control.AuditFilter{Action: "fabric.created"}, p)
			if err != nil {
				return err
			}
			for _, e := range list {
				told[e.Object] = true
			}
			if p.After = next; next == "" {
				return nil
			}
		}
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

// TestScribble is no test of its own: TestAKilledProcess... runs it in another process.
func TestScribble(t *testing.T) {
	database, round, ok := strings.Cut(os.Getenv(scribble), "\n")
	if !ok {
		t.Skip("run by TestAKilledProcessLeavesNoChangeWithoutItsEntry")
	}
	s, err := Open(t.Context(), database, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; ; i++ {
		name := fmt.Sprintf("f-%s-%d", round, i)
		if err := changeWithEntry(t.Context(), s, name); err != nil {
			t.Fatal(err)
		}
		if _, err := fmt.Fprintln(os.Stdout, "acknowledged", name); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAKilledProcessLeavesNoChangeWithoutItsEntry(t *testing.T) {
	t.Parallel()
	database := t.TempDir() + "/f.db"
	var acknowledged []string
	for round, enough := range []int{1, 7, 30} { // killed early, and in full run
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestScribble$")
		cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s\n%d", scribble, database, round))
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		for n := 0; lines.Scan(); {
			if name, ok := strings.CutPrefix(lines.Text(), "acknowledged "); ok {
				acknowledged = append(acknowledged, name)
				if n++; n == enough {
					if err := cmd.Process.Kill(); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
		var exit *exec.ExitError
		if err := cmd.Wait(); !errors.As(err, &exit) || exit.Exited() {
			t.Fatalf("the writer ended by itself: %v", err)
		}
	}
	if n := matched(t, openAt(t, database, Options{}), acknowledged); n < 38 {
		t.Errorf("%d changes are there, at least 38 were acknowledged", n)
	}
}

func TestACrashedServerLeavesNoChangeWithoutItsEntry(t *testing.T) {
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

// writeUntilCrash lets four writers write, crashes the server under them after 25 changes, and returns what
// was acknowledged.
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
