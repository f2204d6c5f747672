package store

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fairlane/internal/control"
	"fairlane/migrations"
)

// mortal is the environment variable that makes the test binary restore or open a database while the system refuses
// it a write, or until it is killed.
const mortal = "FAIRLANE_TEST_MORTAL"

// TestMortal is no test of its own: failWriting and TestAKilledRestore... run it in another process.
func TestMortal(t *testing.T) {
	parts := strings.Split(os.Getenv(mortal), "\n")
	var err error
	switch {
	case len(parts) == 3 && parts[0] == "restore":
		_, err = Restore(t.Context(), parts[1], parts[2], true, clock())
	case len(parts) == 3 && parts[0] == "restore for ever":
		for i := 0; err == nil; i++ {
			if _, err = fmt.Fprintln(os.Stdout, "restoring"); err == nil {
				var done Restored
				if done, err = Restore(t.Context(), parts[1], parts[2], true, clock().Add(time.Duration(i)*time.Second)); err == nil && done.Kept != "" {
					err = os.Remove(done.Kept)
				}
			}
		}
	case len(parts) == 2 && parts[0] == "open":
		var s *Store
		if s, err = Open(t.Context(), parts[1], Options{}); err == nil {
			err = changeWithEntry(t.Context(), s, "after-upgrade")
			err = errors.Join(err, s.Close())
		}
	default:
		t.Skip("run by the tests of killed processes")
	}
	if err != nil {
		t.Fatal(err)
	}
}

// failWriting runs TestMortal in a process that cannot make a file larger than a size in units of 512 bytes, and
// reports whether it was through all the same.
func failWriting(t *testing.T, limit int, what ...string) (done bool) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-c", `ulimit -f "$1"; exec "$2" -test.run='^TestMortal$'`, "sh", fmt.Sprint(limit), os.Args[0])
	cmd.Env = append(os.Environ(), mortal+"="+strings.Join(what, "\n"))
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1 || strings.Contains(string(out), "panic")) {
		t.Fatalf("the process ended with %v, want an error of its own:\n%s", err, out)
	}
	return err == nil
}

// limits grow until somebody is through.
func limits() []int { return []int{1, 8, 40, 100, 200, 300, 400, 500, 600, 700, 900, 1200, 1 << 20} }

// backupAndTarget makes a backup with 400 audit entries, and a database with the changes one, two and three.
func backupAndTarget(t *testing.T) (file, target string) {
	t.Helper()
	ctx := t.Context()
	source := fresh(t, migrations.SQLite)
	s := openAt(t, source, Options{})
	fill(t, s, 400)
	file = filepath.Join(t.TempDir(), "backup")
	if _, err := Backup(ctx, source, file); err != nil {
		t.Fatal(err)
	}
	target = filepath.Join(t.TempDir(), "f.db")
	present, err := Open(ctx, target, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"one", "two", "three"} {
		if err := changeWithEntry(ctx, present, name); err != nil {
			t.Fatal(err)
		}
	}
	if err := present.Close(); err != nil {
		t.Fatal(err)
	}
	return file, target
}

// TestAKilledRestoreLeavesOneOrTheOther failures restores wherever they are.
func TestAKilledRestoreLeavesOneOrTheOther(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	file, target := backupAndTarget(t)
	for round, enough := range []int{1, 2, 5, 3} {
		cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestMortal$")
		cmd.Env = append(os.Environ(), mortal+"=restore for ever\n"+file+"\n"+target)
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		for n := 0; lines.Scan(); {
			if lines.Text() != "restoring" {
				continue
			}
			if n++; n == enough {
				if err := cmd.Process.Kill(); err != nil {
					t.Fatal(err)
				}
			}
		}
		var exit *exec.ExitError
		if err := cmd.Wait(); !errors.As(err, &exit) || exit.Exited() {
			t.Fatalf("round %d: the restores ended by themselves: %v", round, err)
		}
		in, err := Inspect(ctx, target)
		if err != nil || in.sound("the database") != nil {
			t.Fatalf("round %d: the database is %+v, %v", round, in, err)
		}
		s, err := Open(ctx, target, Options{})
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		if n := count(ctx, t, s); n != 3 && n != 1 {
			t.Errorf("round %d: there are %d fabrics, want the 3 of before or the backup's 1", round, n)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Restore(ctx, file, target, true, clock().Add(time.Hour)); err != nil {
		t.Errorf("the last restore: %v", err)
	}
	if n := count(ctx, t, openAt(t, target, Options{})); n != 1 {
		t.Errorf("there are %d fabrics, want the backup's 1", n)
	}
}

func TestARestoreThatCannotWriteHarmsNothing(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	file, target := backupAndTarget(t)
	failures := 0
	for _, limit := range limits() {
		if failWriting(t, limit, "restore", file, target) {
			break
		}
		failures++
		after, err := Open(ctx, target, Options{})
		if err != nil {
			t.Fatalf("after a failure at %d blocks: %v", limit, err)
		}
		if n := matched(t, after, []string{"one", "two", "three"}); n != 3 {
			t.Errorf("after a failure at %d blocks there are %d changes, want the 3 of before", limit, n)
		}
		if err := after.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if failures < 4 {
		t.Errorf("%d failures, want several in the middle of the work", failures)
	}
	in, err := Inspect(ctx, target)
	if err != nil || in.sound("the restored database") != nil || in.Audit.Entries < 400 {
		t.Errorf("the restored database is %+v, %v", in, err)
	}
	left, err := filepath.Glob(target + ".restoring*")
	if err != nil || len(left) != 0 {
		t.Errorf("left are %v, %v", left, err)
	}
}

func TestLogsThatAKilledProcessLeftAreNotTakenForTheRestoredOnes(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	source := fresh(t, migrations.SQLite)
	s := openAt(t, source, Options{})
	fill(t, s, 3)
	file := filepath.Join(t.TempDir(), "backup")
	if _, err := Backup(ctx, source, file); err != nil {
		t.Fatal(err)
	}
	// A store that is killed leaves the log of changes that are in no file yet.
	other := filepath.Join(t.TempDir(), "other.db")
	o := openAt(t, other, Options{})
	for i := range 40 {
		if err := changeWithEntry(ctx, o, fmt.Sprintf("stray-%d", i)); err != nil {
			t.Fatal(err)
		}
	}
	stray, err := os.ReadFile(other + "-wal")
	if err != nil || len(stray) == 0 {
		t.Fatalf("no log: %v", err)
	}
	for _, beside := range []string{"", ".restoring"} {
		target := filepath.Join(t.TempDir(), "f.db")
		if err := os.WriteFile(target+beside+"-wal", stray, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Restore(ctx, file, target, false, clock()); err != nil {
			t.Errorf("with a stray log of %q: %v", beside, err)
			continue
		}
		in, err := Inspect(ctx, target)
		if err != nil || in.sound("it") != nil {
			t.Errorf("with a stray log of %q the restored database is %+v, %v", beside, in, err)
		}
		restored := openAt(t, target, Options{})
		list := 0
		(&fixture{t: t, s: restored}).view(func(r control.Repos) error {
			all, _, err := r.ListFabrics(ctx, control.Page{Limit: 100})
			list = len(all)
			return err
		})
		if list != 1 {
			t.Errorf("with a stray log of %q there are %d fabrics, want the backup's 1", beside, list)
		}
	}
}

func TestAnUpgradeThatCannotWriteIsFinishedByTheNextStart(t *testing.T) {
	t.Parallel()
	files, err := migrations.For(migrations.SQLite)
	if err != nil {
		t.Fatal(err)
	}
	database := fresh(t, migrations.SQLite)
	db := rawOpen(t, database, migrations.SQLite)
	p, err := provider(db, migrations.SQLite, files)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.UpTo(t.Context(), 7); err != nil {
		t.Fatal(err)
	}
	sow(t, db, 7)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	failures := 0
	for limit := 20; !failWriting(t, limit, "open", database); limit += 60 {
		if failures++; failures > 60 {
			t.Fatal("the upgrade is never through")
		}
	}
	if failures < 3 {
		t.Errorf("%d failures, want several in the middle of the upgrade", failures)
	}
	s := openAt(t, database, Options{})
	reap(t, s, 7)
	if in, err := Inspect(t.Context(), database); err != nil || in.Version != in.Know || len(in.Faults) != 0 {
		t.Errorf("the upgraded database is %+v, %v", in, err)
	}
}
