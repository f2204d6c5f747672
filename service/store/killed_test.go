package store

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"fairlane/migrations"
)

// backupAndTarget creates a backup with 400 audit entries, and a database with the changes one, two and three.
func backupAndTarget(t *testing.T) (file, target string) {
	t.Helper()
	ctx := t.Context()
	_, file = backedUp(t, migrations.SQLite, 400)
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

// TestKilledRestoreLeavesOldOrRestoredDatabase kills restores at random points.
func TestKilledRestoreLeavesOldOrRestoredDatabase(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	file, target := backupAndTarget(t)
	for round, enough := range []int{1, 2, 5, 3} {
		killedAfter(t, enough, "restore for ever", file, target)
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
	if _, err := Restore(ctx, file, target, true, at().Add(time.Hour)); err != nil {
		t.Errorf("the last restore: %v", err)
	}
	if n := count(ctx, t, openAt(t, target, Options{})); n != 1 {
		t.Errorf("there are %d fabrics, want the backup's 1", n)
	}
}

func TestRestoreThatCannotWriteChangesNothing(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	file, target := backupAndTarget(t)
	failures := 0
	for _, limit := range []int{1, 8, 40, 100, 200, 300, 400, 500, 600, 700, 900, 1200, 1 << 20} { // until it succeeds
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

func TestLeftoverLogsAreNotAppliedToTheRestoredDatabase(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	_, file := backedUp(t, migrations.SQLite, 3)
	// A killed store leaves a log with changes that are not in the file yet.
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
		if _, err := Restore(ctx, file, target, false, at()); err != nil {
			t.Errorf("with a stray log of %q: %v", beside, err)
			continue
		}
		in, err := Inspect(ctx, target)
		if err != nil || in.sound("it") != nil {
			t.Errorf("with a stray log of %q the restored database is %+v, %v", beside, in, err)
		}
		if n := count(ctx, t, openAt(t, target, Options{})); n != 1 {
			t.Errorf("with a stray log of %q there are %d fabrics, want the backup's 1", beside, n)
		}
	}
}

func TestInterruptedUpgradeIsFinishedByTheNextStart(t *testing.T) {
	t.Parallel()
	database := fresh(t, migrations.SQLite)
	atVersion(t, database, migrations.SQLite, 7)
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
