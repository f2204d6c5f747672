package store

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fairlane/migrations"
	"fairlane/service/audit"
	"fairlane/service/control"
)

func TestOpeningAgainKeepsTheData(t *testing.T) {
	onBoth(t, checkOpeningAgain)
}

func checkOpeningAgain(t *testing.T, d migrations.Dialect) {
	database := fresh(t, d)
	if d == migrations.SQLite {
		database = filepath.Join(t.TempDir(), "a b.db")
	}
	for i := range 2 {
		s, err := Open(t.Context(), database, Options{})
		if err != nil {
			t.Fatal(err)
		}
		err = s.Tx(t.Context(), func(r control.Repos) error {
			n, err := r.CountTokens(t.Context())
			if n != int64(i) {
				t.Errorf("opened for the %d. time the store has %d tokens", i+1, n)
			}
			if err != nil {
				return err
			}
			return r.PutToken(t.Context(), control.Token{Name: "t" + string(rune('a'+i)), Hash: [32]byte{byte(i)}})
		})
		if err := s.Ping(t.Context()); err != nil {
			t.Error(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestConnectionsAreSetUp(t *testing.T) {
	t.Parallel()
	s := open(t)
	for i, db := range s.closers {
		for pragma, want := range map[string]string{"journal_mode": "wal", "foreign_keys": "1", "busy_timeout": "5000", "synchronous": "2"} {
			var got string
			if err := db.QueryRowContext(t.Context(), "PRAGMA "+pragma).Scan(&got); err != nil || got != want {
				t.Errorf("connection %d: %s is %q (%v), want %q", i, pragma, got, err, want)
			}
		}
	}
	if n := s.closers[0].Stats().MaxOpenConnections; n != 1 {
		t.Errorf("%d writer connections, want 1", n)
	}
}

func TestBadPathsAreRefused(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"", "x?y.db", ":memory:", filepath.Join(t.TempDir(), "no", "such", "dir.db")} {
		if s, err := OpenSQLite(t.Context(), path, Options{}); err == nil {
			t.Errorf("path %q was opened", path)
			_ = s.Close()
		}
	}
}

func TestImmutableRowsCannotBeChanged(t *testing.T) {
	onBoth(t, func(t *testing.T, d migrations.Dialect) {
		s := openAt(t, fresh(t, d), Options{})
		f := &fixture{t: t, s: s}
		f.fabric("lab")
		f.plan(planName("a"))
		f.tx(func(r control.Repos) error {
			_, err := r.AppendAudit(t.Context(), audit.Entry{Action: "x", At: at()})
			return err
		})
		for _, statement := range []string{"UPDATE plans SET devices = 7", "UPDATE audit SET actor = 'nobody'"} {
			_, err := s.Writer().ExecContext(t.Context(), statement)
			if err == nil || !strings.Contains(err.Error(), "immutable") && !strings.Contains(err.Error(), "never changed") {
				t.Errorf("%s gave %v, want it refused", statement, err)
			}
		}
	})
}

func TestNewDatabaseIsReadableByItsOwnerOnly(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "new.db")
	openAt(t, path, Options{})
	for _, name := range []string{path, path + "-wal", path + "-shm"} {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s: mode is %v, want 0600", name, info.Mode())
		}
	}
}
