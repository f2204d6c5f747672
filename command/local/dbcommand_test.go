package local

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fairlane/service/control"
	"fairlane/service/store"
	"fairlane/service/store/pgtest"
)

// db runs `fairlane db` and returns its exit code and output.
func db(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, words bytes.Buffer
	code = runLocal(t.Context(), append([]string{"db"}, args...), &out, &words)
	return code, out.String(), words.String()
}

// withFabric creates a database with one fabric.
func withFabric(t *testing.T, database string) {
	t.Helper()
	s, err := store.Open(t.Context(), database, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	err = s.Tx(t.Context(), func(r control.Repos) error {
		_, err := r.CreateFabric(t.Context(), control.Fabric{Name: "lab", Plane: "ib", Source: "file:x", TimeScale: 1})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestDatabaseCommands(t *testing.T) {
	for name, database := range map[string]func(t *testing.T) string{
		"sqlite":   func(t *testing.T) string { return filepath.Join(t.TempDir(), "f.db") },
		"postgres": func(t *testing.T) string { return pgtest.Database(t) },
	} {
		t.Run(name, func(t *testing.T) { checkDatabaseCommands(t, database(t)) })
	}
}

func checkDatabaseCommands(t *testing.T, database string) {
	file := filepath.Join(t.TempDir(), "backup")
	step := func(wantCode int, want string, args ...string) (stdout string) {
		t.Helper()
		code, out, words := db(t, append(args, "--database", database)...)
		if code != wantCode || !strings.Contains(out+words, want) {
			t.Fatalf("fairlane db %s: exit code %d, want %d with %q\n%s%s", strings.Join(args, " "), code, wantCode, want, out, words)
		}
		return out
	}
	step(0, "missing", "migrate", "--status")
	withFabric(t, database)
	step(0, "applied", "migrate")
	step(0, "the database is sound", "check")
	var seen store.Inspection
	if err := json.Unmarshal([]byte(step(0, "", "check", "--json")), &seen); err != nil || seen.Empty() {
		t.Errorf("check --json gave %+v, %v", seen, err)
	}
	step(0, "deleted: 0 events", "prune", "--yes")
	step(2, "want --to", "backup")
	step(0, "holds 1 fabrics", "backup", "--to", file)
	step(1, "file exists", "backup", "--to", file)
	step(2, "want --from", "restore")
	step(1, "say --force", "restore", "--from", file)
	if store.IsPostgres(database) {
		return // the test removes its database by name; the store's own tests restore over one
	}
	held, err := store.Lock(database)
	if err != nil {
		t.Fatal(err)
	}
	step(1, "in use by another manager", "restore", "--from", file, "--force", "--yes")
	if err := held.Close(); err != nil {
		t.Fatal(err)
	}
	step(0, "kept as "+database+".before-", "restore", "--from", file, "--force", "--yes")
	step(0, "holds 1 fabrics", "check")
	if err := os.WriteFile(database, []byte("not a database, and long enough to be looked at as one by mistake"), 0o600); err != nil {
		t.Fatal(err)
	}
	step(1, "not a database", "check")
	step(0, "restored 1 fabrics", "restore", "--from", file, "--force", "--yes")
}
