package store

import (
	"path/filepath"
	"testing"

	"fairlane/migrations"
	"fairlane/service/control"
	"fairlane/service/store/pgtest"
)

// fresh names an empty database of a dialect, dropped at the end of the test.
func fresh(t *testing.T, d migrations.Dialect) string {
	t.Helper()
	if d == migrations.Postgres {
		return pgtest.Database(t)
	}
	return filepath.Join(t.TempDir(), "fairlane.db")
}

// openAt opens the store of a name until the end of the test.
func openAt(t *testing.T, database string, o Options) *Store {
	t.Helper()
	s, err := Open(t.Context(), database, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// open opens an empty store on SQLite.
func open(t *testing.T) *Store {
	t.Helper()
	return openAt(t, fresh(t, migrations.SQLite), Options{})
}

// onBoth runs a test on both engines.
func onBoth(t *testing.T, f func(t *testing.T, d migrations.Dialect)) {
	t.Parallel()
	for _, d := range []migrations.Dialect{migrations.SQLite, migrations.Postgres} {
		t.Run(string(d), func(t *testing.T) {
			t.Parallel()
			f(t, d)
		})
	}
}

func TestEnginesConform(t *testing.T) {
	onBoth(t, func(t *testing.T, d migrations.Dialect) {
		conform(t, func(t *testing.T) control.Store { return openAt(t, fresh(t, d), Options{}) })
	})
}
