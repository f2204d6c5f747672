package store

import (
	"context"
	"database/sql"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"gorm.io/gorm/schema"

	"fairlane/internal/testkit/goldentest"
	"fairlane/migrations"
)

// queryer is a database or one connection to it.
type queryer interface {
	QueryContext(ctx context.Context, text string, args ...any) (*sql.Rows, error)
}

// query reads a query of text columns.
func query(t *testing.T, db queryer, text string, args ...any) [][]string {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), text, args...)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	defer func() { _ = rows.Close() }() // read only
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	var all [][]string
	for rows.Next() {
		row := make([]string, len(columns))
		into := make([]any, len(columns))
		for i := range row {
			into[i] = &row[i]
		}
		if err := rows.Scan(into...); err != nil {
			t.Fatal(err)
		}
		all = append(all, row)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// dump returns the schema without the tables of goose and of the job queue, which define their own.
func dump(t *testing.T, s *Store) string {
	t.Helper()
	var b strings.Builder
	if s.dialect == migrations.SQLite { // as SQLite keeps it
		for _, row := range query(t, s.Writer(), `SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%'
			AND tbl_name <> 'goose_db_version' AND tbl_name NOT LIKE 'river\_%' ESCAPE '\' ORDER BY tbl_name, type DESC, name`) {
			b.WriteString(row[0] + ";\n\n")
		}
		return b.String()
	}
	for _, table := range query(t, s.Writer(), `SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace
			AND relname <> 'goose_db_version' AND relname NOT LIKE 'river\_%' ORDER BY relname COLLATE "C"`) {
		b.WriteString("TABLE " + table[0] + "\n")
		for _, part := range []string{
			`SELECT '    ' || a.attname || ' ' || format_type(a.atttypid, a.atttypmod)
				|| CASE WHEN c.collname <> 'default' THEN ' COLLATE ' || c.collname ELSE '' END
				|| CASE WHEN a.attnotnull THEN ' NOT NULL' ELSE '' END
				|| CASE WHEN a.attidentity = 'd' THEN ' IDENTITY' ELSE '' END
				|| COALESCE(' DEFAULT ' || pg_get_expr(d.adbin, d.adrelid), '')
				FROM pg_attribute a LEFT JOIN pg_collation c ON c.oid = a.attcollation
				LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
				WHERE a.attrelid = $1::regclass AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum`,
			`SELECT '    ' || pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = $1::regclass ORDER BY contype, conname COLLATE "C"`,
			`SELECT '    ' || indexdef FROM pg_indexes WHERE schemaname = 'public' AND tablename = $1 ORDER BY indexname COLLATE "C"`,
			`SELECT '    ' || pg_get_triggerdef(oid) FROM pg_trigger WHERE tgrelid = $1::regclass AND NOT tgisinternal ORDER BY tgname COLLATE "C"`,
		} {
			for _, line := range query(t, s.Writer(), part, table[0]) {
				b.WriteString(line[0] + "\n")
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}

func TestMigrationsGiveTheGoldenSchema(t *testing.T) {
	onBoth(t, func(t *testing.T, d migrations.Dialect) {
		got := dump(t, openAt(t, fresh(t, d), Options{}))
		goldentest.Compare(t, "../../migrations/schema."+string(d)+".golden.sql", []byte(got))
	})
}

// models lists the struct of every table.
func models() []any {
	return []any{
		&fabricRow{}, &snapshotRow{}, &tenantRow{}, &classRow{}, &attachmentRow{}, &flowRow{},
		&planRow{}, &rolloutRow{}, &rolloutDeviceRow{}, &rolloutShardRow{}, &eventRow{},
		&auditRow{}, &auditTailRow{}, &idempotencyRow{}, &policyRow{}, &policyPartRow{}, &settingsRow{}, &shareRow{}, &shareTurnRow{}, &collectorRow{}, &seriesManagerRow{}, &taskRow{},
		&tokenRow{}, &accountRow{}, &membershipRow{}, &sessionRow{}, &signinFailureRow{},
		&deviceRecordRow{}, &driftPolicyRow{}, &objectiveRow{}, &feedRow{}, &silenceRow{}, &auditSinkRow{}, &baselineRow{}, &portChangeRow{}, &maintenanceRow{}, &maintenanceTenantRow{},
	}
}

// column is a column of the real schema.
type column struct {
	kind     string
	nullable bool
}

func columns(t *testing.T, s *Store, table string) map[string]column {
	t.Helper()
	text := `SELECT name, type, CASE WHEN "notnull" = 0 AND pk = 0 THEN 'yes' ELSE 'no' END FROM pragma_table_info(?)`
	if s.dialect == migrations.Postgres {
		text = `SELECT column_name, data_type, CASE is_nullable WHEN 'YES' THEN 'yes' ELSE 'no' END FROM information_schema.columns WHERE table_schema = 'public' AND table_name = $1`
	}
	all := map[string]column{}
	for _, row := range query(t, s.Writer(), text, table) {
		all[row[0]] = column{row[1], row[2] == "yes"}
	}
	return all
}

// kindOf returns the column type that a model's field requires: on PostgreSQL the column must hold all values of the Go
// type, or be range-checked.
func kindOf(d migrations.Dialect, f *schema.Field) []string {
	if d == migrations.SQLite {
		return map[string][]string{"int": {"INTEGER"}, "uint": {"INTEGER"}, "float": {"REAL"}, "string": {"TEXT"}, "bytes": {"BLOB"}, "bool": {"INTEGER"}}[string(f.DataType)]
	}
	if strings.HasSuffix(f.FieldType.String(), "int64") {
		return []string{"bigint"}
	}
	return map[string][]string{"int": {"integer", "bigint", "smallint"}, "uint": {"integer", "bigint"}, "float": {"double precision"}, "string": {"text"}, "bytes": {"bytea"}, "bool": {"boolean"}}[string(f.DataType)]
}

func TestModelsMirrorTheSchema(t *testing.T) {
	onBoth(t, func(t *testing.T, d migrations.Dialect) {
		s := openAt(t, fresh(t, d), Options{})
		tables := map[string]bool{}
		for _, model := range models() {
			parsed, err := schema.Parse(model, &sync.Map{}, schema.NamingStrategy{})
			if err != nil {
				t.Fatal(err)
			}
			tables[parsed.Table] = true
			have := columns(t, s, parsed.Table)
			for _, f := range parsed.Fields {
				c, ok := have[f.DBName]
				if !ok {
					t.Errorf("%s.%s is in the model and not in the schema", parsed.Table, f.DBName)
					continue
				}
				if want := kindOf(d, f); !slices.Contains(want, c.kind) {
					t.Errorf("%s.%s is %s in the schema, the model wants %s", parsed.Table, f.DBName, c.kind, want)
				}
				isPointer := strings.HasPrefix(f.FieldType.String(), "*")
				if f.DataType != schema.Bytes && c.nullable != isPointer {
					t.Errorf("%s.%s: nullable is %v in the schema, %v in the model", parsed.Table, f.DBName, c.nullable, isPointer)
				}
				delete(have, f.DBName)
			}
			for name := range have {
				t.Errorf("%s.%s is in the schema and not in the model", parsed.Table, name)
			}
		}
		for _, m := range regexp.MustCompile(`(?m)^(?:CREATE )?TABLE (\w+)`).FindAllStringSubmatch(dump(t, s), -1) {
			if !tables[m[1]] {
				t.Errorf("table %s has no model", m[1])
			}
		}
	})
}

// TestStartingARolloutReadsLittleHistory checks the engines' query plans for what earlier rollouts left.
func TestStartingARolloutReadsLittleHistory(t *testing.T) {
	onBoth(t, func(t *testing.T, d migrations.Dialect) {
		s := openAt(t, fresh(t, d), Options{})
		conn, err := s.Writer().Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }() // back to the pool
		explain := "EXPLAIN QUERY PLAN "
		if d == migrations.Postgres { // empty tables are always read whole, unless that is forbidden
			explain = "EXPLAIN "
			if _, err := conn.ExecContext(t.Context(), "SET enable_seqscan = off"); err != nil {
				t.Fatal(err)
			}
		}
		for _, c := range []struct{ what, query, index string }{
			{"devices left", dirtyDevices, "rollout_devices_dirty"},
			{"placements in force", placedPlan, "rollouts_placed"},
		} {
			var lines []string
			for _, row := range query(t, conn, explain+strings.ReplaceAll(c.query, "?", "1")) {
				lines = append(lines, strings.Join(row, " "))
			}
			if plan := strings.Join(lines, "\n"); !strings.Contains(plan, c.index) {
				t.Errorf("%s: not by %s:\n%s", c.what, c.index, plan)
			}
		}
	})
}
