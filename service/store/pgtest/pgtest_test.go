package pgtest

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"testing"
)

func open(t *testing.T, url string) *sql.DB {
	t.Helper()
	db, err := sql.Open("pgx", url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func do(t *testing.T, db *sql.DB, statement string) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

func TestDatabasesOfTheSharedServerAreSeparate(t *testing.T) {
	t.Parallel()
	one, other := open(t, Database(t)), open(t, Database(t))
	do(t, one, "CREATE TABLE x (y int)")
	do(t, other, "CREATE TABLE x (y int)")
	var collation string
	if err := one.QueryRowContext(t.Context(), "SHOW lc_collate").Scan(&collation); err != nil || collation != "C" {
		t.Errorf("collation is %q (%v), want C", collation, err)
	}
}

func TestCommittedDataSurvivesStopRestartCrashAndKill(t *testing.T) {
	t.Parallel()
	s := Start(t, Options{Settings: map[string]string{"max_connections": "20"}})
	url := s.Database(t)
	db := open(t, url)
	do(t, db, "CREATE TABLE x (y int)")
	for i, again := range []func() error{s.Restart, s.Crash, s.Kill, func() error { return errors.Join(s.Stop(), s.Begin()) }} {
		do(t, db, "INSERT INTO x VALUES (1)")
		tx, err := db.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tx.ExecContext(t.Context(), "INSERT INTO x VALUES (2)"); err != nil {
			t.Fatal(err)
		}
		if err := again(); err != nil {
			t.Fatal(err)
		}
		if err := tx.Commit(); err == nil {
			t.Error("a transaction was committed over the end of its server")
		}
		db = open(t, s.LoopbackURL(databaseOf(t, url)))
		var n int
		if err := db.QueryRowContext(t.Context(), "SELECT count(*) FROM x").Scan(&n); err != nil || n != i+1 {
			t.Fatalf("after the %d. time there are %d rows (%v), want %d", i+1, n, err, i+1)
		}
	}
	var connections string
	if err := db.QueryRowContext(t.Context(), "SHOW max_connections").Scan(&connections); err != nil || connections != "20" {
		t.Errorf("max_connections is %s (%v), want 20", connections, err)
	}
}

func databaseOf(t *testing.T, url string) (name string) {
	t.Helper()
	if err := open(t, url).QueryRowContext(t.Context(), "SELECT current_database()").Scan(&name); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestAClosedServerLeavesNothing(t *testing.T) {
	t.Parallel()
	s, err := start(Options{})
	check(t, err)
	url := s.URL("postgres")
	if err := s.close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(s.dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the directory is still there: %v", err)
	}
	if err := open(t, url).PingContext(context.Background()); err == nil {
		t.Error("the server still answers")
	}
}
