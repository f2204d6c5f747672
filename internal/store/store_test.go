package store

import (
	"database/sql"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"gorm.io/gorm/schema"

	"fairlane/internal/control"
)

var update = flag.Bool("update", false, "rewrite golden files")

func open(t *testing.T) *Store {
	t.Helper()
	s, err := OpenSQLite(t.Context(), filepath.Join(t.TempDir(), "fairlane.db"), Options{})
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

func TestSQLiteConforms(t *testing.T) {
	t.Parallel()
	conform(t, func(t *testing.T) control.Store { return open(t) })
}

// dump returns the schema as SQLite keeps it, without goose's own table.
func dump(t *testing.T, db *sql.DB) string {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), `SELECT sql FROM sqlite_schema
		WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' AND tbl_name <> 'goose_db_version' ORDER BY tbl_name, type DESC, name`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var b strings.Builder
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			t.Fatal(err)
		}
		b.WriteString(text + ";\n\n")
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestMigrationsGiveTheGoldenSchema(t *testing.T) {
	t.Parallel()
	const golden = "../../migrations/schema.golden.sql"
	got := dump(t, open(t).closers[0])
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("migrations give another schema than %s; run with -update and review the difference:\n%s", golden, got)
	}
}

func TestModelsMirrorTheSchema(t *testing.T) {
	t.Parallel()
	db := open(t).closers[0]
	affinity := map[string]string{"int": "INTEGER", "uint": "INTEGER", "float": "REAL", "string": "TEXT", "bytes": "BLOB"}
	tables := map[string]bool{}
	for _, model := range []any{
		&fabricRow{}, &snapshotRow{}, &tenantRow{}, &classRow{}, &attachmentRow{}, &flowRow{},
		&planRow{}, &rolloutRow{}, &rolloutDeviceRow{}, &eventRow{}, &tokenRow{},
	} {
		parsed, err := schema.Parse(model, &sync.Map{}, schema.NamingStrategy{})
		if err != nil {
			t.Fatal(err)
		}
		tables[parsed.Table] = true
		columns := map[string]string{}
		nullable := map[string]bool{}
		rows, err := db.QueryContext(t.Context(), "SELECT name, type, \"notnull\", pk FROM pragma_table_info(?)", parsed.Table)
		if err != nil {
			t.Fatal(err)
		}
		for rows.Next() {
			var name, kind string
			var notNull, pk int
			if err := rows.Scan(&name, &kind, &notNull, &pk); err != nil {
				t.Fatal(err)
			}
			columns[name] = kind
			nullable[name] = notNull == 0 && pk == 0
		}
		if err := rows.Close(); err != nil {
			t.Fatal(err)
		}
		for _, f := range parsed.Fields {
			kind, ok := columns[f.DBName]
			if !ok {
				t.Errorf("%s.%s is in the model and not in the schema", parsed.Table, f.DBName)
				continue
			}
			if want := affinity[string(f.DataType)]; kind != want {
				t.Errorf("%s.%s is %s in the schema, the model wants %s", parsed.Table, f.DBName, kind, want)
			}
			isPointer := strings.HasPrefix(f.FieldType.String(), "*")
			if f.DataType != schema.Bytes && nullable[f.DBName] != isPointer {
				t.Errorf("%s.%s: nullable is %v in the schema, %v in the model", parsed.Table, f.DBName, nullable[f.DBName], isPointer)
			}
			delete(columns, f.DBName)
		}
		for name := range columns {
			t.Errorf("%s.%s is in the schema and not in the model", parsed.Table, name)
		}
	}
	for _, m := range regexp.MustCompile(`CREATE TABLE (\w+)`).FindAllStringSubmatch(dump(t, db), -1) {
		if !tables[m[1]] {
			t.Errorf("table %s has no model", m[1])
		}
	}
}

func TestOpeningAgainKeepsTheData(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a b.db")
	for i := range 2 {
		s, err := OpenSQLite(t.Context(), path, Options{})
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

func TestPlansCannotBeChanged(t *testing.T) {
	t.Parallel()
	s := open(t)
	ctx := t.Context()
	if _, err := s.closers[0].ExecContext(ctx, `INSERT INTO fabrics VALUES (1,'lab','ib','file:x',1,1,0,0,0);
		INSERT INTO plans VALUES (1,1,printf('%064d',0),printf('%064d',0),'{}','{}',0,0,0,0,0)`); err != nil {
		t.Fatal(err)
	}
	if _, err := s.closers[0].ExecContext(ctx, "UPDATE plans SET plan = '[]'"); err == nil || !strings.Contains(err.Error(), "immutable") {
		t.Errorf("changing a plan gave %v, want it refused", err)
	}
}
