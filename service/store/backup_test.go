package store

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fairlane/migrations"
	"fairlane/service/control"
	"fairlane/service/store/pgtest"
)

// fill puts a fabric with a tenant, a plan, a rollout and audit entries into a store.
func fill(t *testing.T, s *Store, audits int) {
	t.Helper()
	f := &fixture{t: t, s: s}
	f.fabric("lab")
	f.tenant(red())
	f.feed("red", "cluster", red().Attachments[0].Port)
	f.plan(planName("a"))
	f.rollout()
	for i := range audits {
		f.audit(auditEntry(i))
	}
}

// backedUp fills a store that stays open, and backs it up.
func backedUp(t *testing.T, d migrations.Dialect, audits int) (database, file string) {
	t.Helper()
	database, file = fresh(t, d), filepath.Join(t.TempDir(), "backup")
	fill(t, openAt(t, database, Options{}), audits)
	if _, err := Backup(t.Context(), database, file); err != nil {
		t.Fatal(err)
	}
	return database, file
}

// elsewhere names a database on the same server that does not exist yet.
func elsewhere(t *testing.T, database string, d migrations.Dialect) string {
	t.Helper()
	if d == migrations.SQLite {
		return filepath.Join(t.TempDir(), "other.db")
	}
	c, err := postgresConfig(database, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	u, err := withDatabase(database, c.Database+"_other")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dropPostgres(t, u) })
	return u
}

// dropPostgres removes a database and the copies that restores made of it.
func dropPostgres(t *testing.T, database string) {
	t.Helper()
	ctx := context.Background()
	c, err := postgresConfig(database, time.Minute)
	if err != nil {
		t.Error(err)
		return
	}
	admin, err := openAdmin(ctx, database, c.Database)
	if err != nil {
		t.Error(err)
		return
	}
	defer func() { _ = admin.Close() }() // the test is over
	names, err := lines(ctx, admin, "SELECT datname::text FROM pg_database WHERE datname LIKE '"+c.Database[:min(30, len(c.Database))]+"%'")
	if err != nil {
		t.Error(err)
	}
	for _, name := range names {
		if _, err := admin.ExecContext(ctx, "DROP DATABASE "+quoted(name)+" WITH (FORCE)"); err != nil {
			t.Error(err)
		}
	}
}

func TestABackupOfARunningStoreIsRestoredWhole(t *testing.T) {
	onBoth(t, func(t *testing.T, d migrations.Dialect) {
		database := fresh(t, d)
		s := openAt(t, database, Options{})
		fill(t, s, 20)
		ctx, stop := context.WithCancel(t.Context())
		wrote := make(chan error, 1)
		go func() { // a writer continues
			var err error
			for i := 20; err == nil; i++ {
				err = s.Tx(ctx, func(r control.Repos) error { _, err := r.AppendAudit(ctx, auditEntry(i)); return err })
			}
			if ctx.Err() != nil {
				err = nil
			}
			wrote <- err
		}()
		file := filepath.Join(t.TempDir(), "backup")
		in, err := Backup(t.Context(), database, file)
		stop()
		if werr := <-wrote; werr != nil {
			t.Errorf("writing during the backup: %v", werr)
		}
		if err != nil {
			t.Fatal(err)
		}
		if in.Version == 0 || in.Version != in.Know || in.Audit.Entries < 20 {
			t.Errorf("the backup is %+v", in)
		}
		if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("the backup's mode is %v (%v), want 0600", info.Mode(), err)
		}
		other := elsewhere(t, database, d)
		done, err := Restore(t.Context(), file, other, false, at())
		if err != nil {
			t.Fatal(err)
		}
		if done.Kept != "" || len(done.Backup.Faults) != 0 || done.Paused != 1 {
			t.Errorf("the restore says %+v", done)
		}
		again := openAt(t, other, Options{})
		rep, err := verified(t.Context(), again)
		if err != nil || rep.Entries < 20 {
			t.Errorf("the restored chain is %+v, %v", rep, err)
		}
		(&fixture{t: t, s: again}).view(func(r control.Repos) error {
			got, err := r.Tenant(t.Context(), "lab", "red")
			if got.Weight != red().Weight || len(got.Attachments) != 2 {
				t.Errorf("the restored tenant is %+v", got)
			}
			if feeds, err := r.Feeds(t.Context(), "lab", "red"); err != nil || len(feeds) != 1 || feeds[0].Name != "cluster" || len(feeds[0].Ports) != 1 {
				t.Errorf("the restored feeds are %+v, %v", feeds, err)
			}
			running, rerr := r.RunningRollouts(t.Context())
			if len(running) != 1 || running[0].Request != control.RequestPause {
				t.Errorf("what was running is %+v, want it paused", running)
			}
			last, _, lerr := r.ListAudit(t.Context(), control.AuditFilter{}, control.Page{Limit: 1})
			if len(last) != 1 || last[0].Action != "store.restored" {
				t.Errorf("the newest audit entry is %+v, want one of the restore", last)
			}
			return errors.Join(err, rerr, lerr)
		})
		grow(&fixture{t: t, s: again})
	})
}

func TestABackupNeverOverwrites(t *testing.T) {
	onBoth(t, func(t *testing.T, d migrations.Dialect) {
		database := fresh(t, d)
		openAt(t, database, Options{})
		file := filepath.Join(t.TempDir(), "backup")
		if err := os.WriteFile(file, []byte("precious"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Backup(t.Context(), database, file); !errors.Is(err, os.ErrExist) {
			t.Errorf("error is %v, want that the file exists", err)
		}
		if b, err := os.ReadFile(file); err != nil || string(b) != "precious" {
			t.Errorf("the file now holds %q, %v", b, err)
		}
	})
}

func TestAFailedBackupLeavesNoFile(t *testing.T) {
	t.Parallel()
	for _, database := range []string{filepath.Join(t.TempDir(), "none.db"), "postgres://nobody@127.0.0.1:1/none"} {
		file := filepath.Join(t.TempDir(), "backup")
		if _, err := Backup(t.Context(), database, file); err == nil {
			t.Errorf("%s was backed up", database)
		}
		left, err := filepath.Glob(file + "*")
		if err != nil || len(left) != 0 {
			t.Errorf("left %v, %v", left, err)
		}
	}
}

func TestRestoringOverADatabase(t *testing.T) {
	onBoth(t, func(t *testing.T, d migrations.Dialect) {
		ctx := t.Context()
		source, file := backedUp(t, d, 3)
		target := elsewhere(t, source, d)
		if _, err := Restore(ctx, file, target, false, at()); err != nil { // creates the target
			t.Fatal(err)
		}
		var full *NotEmptyError
		if _, err := Restore(ctx, file, target, false, at()); !errors.As(err, &full) || !strings.Contains(full.Holds, "1 fabrics, 1 tenants") {
			t.Errorf("a database with data gave %v, want a *NotEmptyError that lists it", err)
		}
		used, err := Open(ctx, target, Options{})
		if err != nil {
			t.Fatal(err)
		}
		(&fixture{t: t, s: used}).fabric("newer")
		var busy *InUseError
		if _, err := Restore(ctx, file, target, true, at()); !errors.As(err, &busy) {
			t.Errorf("a database in use gave %v, want an *InUseError also with force", err)
		}
		if err := used.Close(); err != nil {
			t.Fatal(err)
		}
		done, err := Restore(ctx, file, target, true, at())
		if err != nil {
			t.Fatal(err)
		}
		if n := count(ctx, t, openAt(t, target, Options{})); n != 1 {
			t.Errorf("the restored database has %d fabrics, want the backup's 1", n)
		}
		kept := done.Kept
		if d == migrations.Postgres {
			if kept, err = withDatabase(target, done.Kept); err != nil {
				t.Fatal(err)
			}
		}
		if n := count(ctx, t, openAt(t, kept, Options{})); n != 2 {
			t.Errorf("what was there before has %d fabrics in %s, want 2", n, kept)
		}
	})
}

func TestDamagedBackupsAreRefused(t *testing.T) {
	onBoth(t, func(t *testing.T, d migrations.Dialect) {
		ctx := t.Context()
		database, good := backedUp(t, d, 400)
		dir := t.TempDir()
		whole, err := os.ReadFile(good)
		if err != nil {
			t.Fatal(err)
		}
		target := elsewhere(t, database, d)
		for name, content := range map[string][]byte{
			"empty": {}, "text": []byte("fabrics:\n"), "cut short": whole[:len(whole)*3/4],
			"overwritten": append(append([]byte{}, whole[:len(whole)/2]...), make([]byte, len(whole)/2)...),
		} {
			file := filepath.Join(dir, strings.ReplaceAll(name, " ", "-"))
			if err := os.WriteFile(file, content, 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := Restore(ctx, file, target, true, at()); err == nil {
				t.Errorf("a backup that is %s was restored", name)
			}
			if in, err := Inspect(ctx, target); err == nil {
				t.Fatalf("after a refused backup that is %s there is a database of %v", name, in)
			}
		}
		if _, err := Restore(ctx, filepath.Join(dir, "none"), target, false, at()); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("a missing backup gave %v", err)
		}
		if _, err := rawOpen(t, database, d).ExecContext(ctx, "DELETE FROM audit WHERE seq = 7"); err != nil {
			t.Fatal(err)
		}
		if _, err := Backup(ctx, database, filepath.Join(dir, "forged")); err == nil || !strings.Contains(err.Error(), "audit entry 7") {
			t.Errorf("backing up a database with a broken chain gave %v, want it to name entry 7", err)
		}
	})
}

func TestABackupOfTheOtherEngineIsRefused(t *testing.T) {
	t.Parallel()
	lite, post := fresh(t, migrations.SQLite), pgtest.Database(t)
	for from, to := range map[string]string{lite: elsewhere(t, post, migrations.Postgres), post: elsewhere(t, lite, migrations.SQLite)} {
		openAt(t, from, Options{})
		file := filepath.Join(t.TempDir(), "backup")
		if _, err := Backup(t.Context(), from, file); err != nil {
			t.Fatal(err)
		}
		if _, err := Restore(t.Context(), file, to, false, at()); err == nil || !strings.Contains(err.Error(), "want a database of that engine") {
			t.Errorf("restoring gave %v", err)
		}
	}
}

func TestInspectionFindsDamageAndChangesNothing(t *testing.T) {
	t.Parallel()
	database := fresh(t, migrations.SQLite)
	s := openAt(t, database, Options{})
	fill(t, s, 2)
	ctx := t.Context()
	in, err := Inspect(ctx, database)
	if err != nil || len(in.Faults) != 0 || in.String() != "1 fabrics, 1 tenants, 1 plans, 1 rollouts, 2 audit" {
		t.Errorf("a sound database: %s, %v, %v", in, in.Faults, err)
	}
	for _, statement := range []string{"PRAGMA foreign_keys(0)", "DELETE FROM fabrics", "PRAGMA foreign_keys(1)"} {
		if _, err := s.Writer().ExecContext(ctx, statement); err != nil {
			t.Fatal(err)
		}
	}
	in, err = Inspect(ctx, database)
	if err != nil || len(in.Faults) == 0 || !strings.Contains(in.Faults[0], "refers to fabrics that is not there") {
		t.Errorf("after its fabric was torn out: %v, %v", in.Faults, err)
	}
	empty := filepath.Join(t.TempDir(), "empty.db")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if in, err := Inspect(ctx, empty); err != nil || in.Version != 0 || !in.Empty() || len(in.Faults) != 0 {
		t.Errorf("an empty file is %+v, %v", in, err)
	}
	if info, err := os.Stat(empty); err != nil || info.Size() != 0 {
		t.Errorf("looking made the file %d bytes long", info.Size())
	}
}

func TestMigrationsAreListed(t *testing.T) {
	onBoth(t, func(t *testing.T, d migrations.Dialect) {
		database := fresh(t, d)
		list, err := Migrations(t.Context(), database)
		if err != nil || len(list) < 8 || list[0].Applied || list[0].Name != "00001_fabrics.sql" {
			t.Errorf("of an empty database: %+v, %v", list, err)
		}
		if err := Migrate(t.Context(), database); err != nil {
			t.Fatal(err)
		}
		list, err = Migrations(t.Context(), database)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range list {
			if !m.Applied {
				t.Errorf("%s is not applied", m.Name)
			}
		}
	})
}

func TestPasswordsArePassedInTheEnvironment(t *testing.T) {
	t.Parallel()
	for in, want := range map[string][2]string{
		"postgres://ada:s3%20cret@db:5433/fair?sslmode=require": {"postgres://ada@db:5433/fair?sslmode=require", "s3 cret"},
		"postgres://ada@db/fair?password=x&sslmode=disable":     {"postgres://ada@db/fair?sslmode=disable", "x"},
		"postgres://ada@db/fair":                                {"postgres://ada@db/fair", ""},
	} {
		target, password, err := splitPassword(in)
		if err != nil || target != want[0] || password != want[1] {
			t.Errorf("%s is split into %s and %s, %v", in, target, password, err)
		}
	}
}
