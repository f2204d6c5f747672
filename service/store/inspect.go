package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/glebarez/sqlite"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"

	"fairlane/migrations"
	"fairlane/service/audit"
	"fairlane/service/control"
)

// auditVersion is the first schema version with an audit log.
const auditVersion = 10

// Inspection is the result of inspecting a database, which changes nothing.
type Inspection struct {
	Dialect migrations.Dialect  `json:"dialect"`
	Version int64               `json:"schema_version"` // of the database; 0 when it is empty
	Know    int64               `json:"newest_version"` // newest version that this release supports
	Tables  []TableCount        `json:"tables"`         // existing tables with data that users would miss
	Audit   control.AuditReport `json:"-"`
	Faults  []string            `json:"faults"` // defects; empty when the database is intact
	Notes   []string            `json:"notes"`  // permitted but unwise settings
}

// TableCount is the number of rows of a table.
type TableCount struct {
	Table string `json:"table"`
	Rows  int64  `json:"rows"`
}

// Empty reports whether the database has no data that users would miss.
func (i Inspection) Empty() bool {
	for _, t := range i.Tables {
		if t.Rows > 0 {
			return false
		}
	}
	return true
}

// String lists the contents of the database: "2 fabrics, 14 tenants".
func (i Inspection) String() string {
	var parts []string
	for _, t := range i.Tables {
		if t.Rows > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", t.Rows, strings.ReplaceAll(t.Table, "_", " ")))
		}
	}
	if len(parts) == 0 {
		return "nothing"
	}
	return strings.Join(parts, ", ")
}

// errAbsent means that the named database does not exist.
var errAbsent = errors.New("does not exist")

// Inspect inspects a database without changing or migrating it: its version, its integrity, its references, its audit
// chain. An error means that the inspection failed; defects of the database are in Faults.
func Inspect(ctx context.Context, database string) (Inspection, error) {
	db, d, err := openToRead(database)
	if err != nil {
		return Inspection{}, fmt.Errorf("inspect database %s: %w", Redact(database), err)
	}
	in, err := inspect(ctx, db, d)
	if IsDamage(err) { // a finding, not a failure of the inspection
		in.Faults, err = append(in.Faults, "integrity: "+err.Error()), nil
	}
	if err = errors.Join(err, db.Close()); err != nil {
		return in, fmt.Errorf("inspect database %s: %w", Redact(database), err)
	}
	return in, nil
}

// openToRead opens an existing database, in its own journal mode.
func openToRead(database string) (*sql.DB, migrations.Dialect, error) {
	if IsPostgres(database) {
		db, err := openRaw(database, migrations.Postgres)
		return db, migrations.Postgres, err
	}
	if err := checkPath(database); err != nil {
		return nil, "", err
	}
	switch info, err := os.Stat(database); {
	case errors.Is(err, os.ErrNotExist):
		return nil, "", errAbsent
	case err != nil:
		return nil, "", err
	case !info.Mode().IsRegular():
		return nil, "", errors.New("is not a file")
	}
	db, err := sql.Open(sqlite.DriverName, database+"?_pragma=busy_timeout(5000)&_pragma=query_only(1)")
	if err != nil {
		return nil, "", err
	}
	db.SetMaxOpenConns(1)
	return db, migrations.SQLite, nil
}

func inspect(ctx context.Context, db *sql.DB, d migrations.Dialect) (Inspection, error) {
	in := Inspection{Dialect: d}
	var err error
	if in.Version, in.Know, err = schemaVersion(ctx, db, d); err != nil {
		return in, err
	}
	if in.Version > in.Know {
		in.Faults = append(in.Faults, (&SchemaError{Have: in.Version, Know: in.Know}).Error())
	}
	if err := in.integrity(ctx, db); err != nil {
		return in, err
	}
	if err := in.census(ctx, db); err != nil {
		return in, err
	}
	if err := in.baselines(ctx, db); err != nil {
		return in, err
	}
	if in.Version < auditVersion {
		return in, nil
	}
	if in.Audit, err = verifyRaw(ctx, db, d); err != nil {
		return in, err
	}
	if in.Audit.Bad != nil {
		in.Faults = append(in.Faults, in.Audit.Bad.Error())
	}
	return in, nil
}

// schemaVersion reads the version without creating goose's table, which goose itself would do.
func schemaVersion(ctx context.Context, db *sql.DB, d migrations.Dialect) (have, know int64, err error) {
	files, err := migrations.For(d)
	if err != nil {
		return 0, 0, err
	}
	p, err := provider(db, d, files)
	if err != nil {
		return 0, 0, err
	}
	if list := p.ListSources(); len(list) > 0 {
		know = list[len(list)-1].Version
	}
	exists, err := hasTable(ctx, db, d, "goose_db_version")
	if err != nil || !exists {
		return 0, know, err
	}
	var version sql.NullInt64
	if err := db.QueryRowContext(ctx, "SELECT MAX(version_id) FROM goose_db_version").Scan(&version); err != nil {
		return 0, know, fmt.Errorf("read the schema's version: %w", err)
	}
	return version.Int64, know, nil
}

func hasTable(ctx context.Context, db *sql.DB, d migrations.Dialect, name string) (bool, error) {
	text := "SELECT COUNT(*) FROM sqlite_schema WHERE type = 'table' AND name = ?"
	if d == migrations.Postgres {
		text = "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = current_schema() AND table_name = $1"
	}
	var n int
	if err := db.QueryRowContext(ctx, text, name).Scan(&n); err != nil {
		return false, fmt.Errorf("find table %s: %w", name, err)
	}
	return n > 0, nil
}

// hasColumn reports whether a table, one of ours, has a column.
func hasColumn(ctx context.Context, db *sql.DB, d migrations.Dialect, table, name string) (bool, error) {
	text := "SELECT COUNT(*) FROM pragma_table_info(?) WHERE name = ?"
	if d == migrations.Postgres {
		text = "SELECT COUNT(*) FROM information_schema.columns WHERE table_schema = current_schema() AND table_name = $1 AND column_name = $2"
	}
	var n int
	if err := db.QueryRowContext(ctx, text, table, name).Scan(&n); err != nil {
		return false, fmt.Errorf("find column %s of %s: %w", name, table, err)
	}
	return n > 0, nil
}

// integrity checks the files, the references and the settings with the engine's own means.
func (i *Inspection) integrity(ctx context.Context, db *sql.DB) error {
	type check struct {
		text, fault string
		note        bool
	}
	checks := map[migrations.Dialect][]check{
		migrations.SQLite: {
			{"SELECT integrity_check FROM pragma_integrity_check WHERE integrity_check <> 'ok' LIMIT 20", "integrity", false},
			{"SELECT DISTINCT \"table\" || ' refers to ' || parent || ' that is not there' FROM pragma_foreign_key_check LIMIT 20", "reference", false},
		},
		migrations.Postgres: {
			{"SELECT conname::text || ' of ' || conrelid::regclass::text FROM pg_constraint WHERE NOT convalidated LIMIT 20", "constraint that was never checked", false},
			{"SELECT indexrelid::regclass::text FROM pg_index WHERE NOT indisvalid LIMIT 20", "index that is not valid", false},
			{"SELECT name || ' is off: an acknowledged change may be lost in a power cut' FROM pg_settings WHERE name IN ('fsync', 'synchronous_commit', 'full_page_writes') AND setting = 'off' ORDER BY name", "setting", true},
		},
	}
	for _, c := range checks[i.Dialect] {
		found, err := lines(ctx, db, c.text)
		if err != nil {
			return fmt.Errorf("check for faults of kind %q: %w", c.fault, err)
		}
		for _, line := range found {
			if c.note {
				i.Notes = append(i.Notes, c.fault+": "+line)
			} else {
				i.Faults = append(i.Faults, c.fault+": "+line)
			}
		}
	}
	return nil
}

// lines returns the rows of a query with one text column.
func lines(ctx context.Context, db *sql.DB, text string, args ...any) ([]string, error) {
	return scan(ctx, db, text, func(line *string) []any { return []any{line} }, args...)
}

// scan returns the rows of a query; columns names the target of each of a row's columns. It releases its connection: an
// inspection of SQLite has only one.
func scan[T any](ctx context.Context, db *sql.DB, text string, columns func(*T) []any, args ...any) (all []T, err error) {
	rows, err := db.QueryContext(ctx, text, args...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var row T
		if err := rows.Scan(columns(&row)...); err != nil {
			return nil, err
		}
		all = append(all, row)
	}
	return all, rows.Err()
}

// census counts the rows that users would miss.
func (i *Inspection) census(ctx context.Context, db *sql.DB) error {
	for _, table := range [...]string{"fabrics", "snapshots", "tenants", "policies", "plans", "rollouts", "baselines", "accounts", "tokens", "events", "audit"} {
		switch exists, err := hasTable(ctx, db, i.Dialect, table); {
		case err != nil:
			return err
		case !exists:
			continue
		}
		c := TableCount{Table: table}
		if err := db.QueryRowContext(ctx, "SELECT COUNT(*) FROM "+table).Scan(&c.Rows); err != nil {
			return fmt.Errorf("count %s: %w", table, err)
		}
		i.Tables = append(i.Tables, c)
	}
	return nil
}

// baselineVersion is the first schema version with baselines.
const baselineVersion = 70

// baselines checks that the baselines of devices can be read: they have no other copy.
func (i *Inspection) baselines(ctx context.Context, db *sql.DB) error {
	if i.Version < baselineVersion {
		return nil
	}
	rows, err := scan(ctx, db, "SELECT node_guid, port_num, device, settings FROM baselines", func(r *baselineRow) []any {
		return []any{&r.NodeGUID, &r.PortNum, &r.Device, &r.Settings}
	})
	if err != nil {
		return fmt.Errorf("check baselines: %w", err)
	}
	for _, row := range rows {
		if _, err := row.domain(); err != nil {
			i.Faults = append(i.Faults, err.Error())
		}
	}
	return nil
}

// verifyRaw verifies the audit chain of a database that may have an earlier version.
func verifyRaw(ctx context.Context, db *sql.DB, d migrations.Dialect) (report control.AuditReport, err error) {
	var dialector gorm.Dialector = sqlite.Dialector{Conn: db}
	if d == migrations.Postgres {
		dialector = postgres.New(postgres.Config{Conn: db})
	}
	s := &Store{dialect: d}
	if s.read, err = gorm.Open(dialector, config()); err != nil {
		return report, err
	}
	err = s.view(ctx, func(tx *gorm.DB) (err error) {
		report, err = control.VerifyAudit(ctx, &repos{db: tx}, audit.Tail{})
		return err
	})
	return report, err
}

// Migration is one step of the schema.
type Migration struct {
	Version int64  `json:"version"`
	Name    string `json:"name"` // name of its file
	Applied bool   `json:"applied"`
}

// Migrations lists the steps of the schema and which of them a database has. It changes nothing.
func Migrations(ctx context.Context, database string) (list []Migration, err error) {
	db, d, err := openToRead(database)
	if errors.Is(err, errAbsent) {
		db, d, err = nil, migrations.SQLite, nil
	}
	if err != nil {
		return nil, fmt.Errorf("database %s: %w", Redact(database), err)
	}
	var applied []int64
	if db != nil {
		defer func() { err = errors.Join(err, db.Close()) }()
		if applied, err = appliedVersions(ctx, db, d); err != nil {
			return nil, fmt.Errorf("database %s: %w", Redact(database), err)
		}
	}
	files, err := migrations.For(d)
	if err != nil {
		return nil, err
	}
	names, err := migrations.Names(files)
	if err != nil {
		return nil, err
	}
	for _, n := range names {
		list = append(list, Migration{Version: n.Version, Name: n.File, Applied: slices.Contains(applied, n.Version)})
	}
	return list, nil
}

func appliedVersions(ctx context.Context, db *sql.DB, d migrations.Dialect) ([]int64, error) {
	if exists, err := hasTable(ctx, db, d, "goose_db_version"); err != nil || !exists {
		return nil, err
	}
	return scan(ctx, db, "SELECT version_id FROM goose_db_version WHERE version_id > 0", func(v *int64) []any { return []any{v} })
}

// Migrate migrates a database to the newest version, as opening it does.
func Migrate(ctx context.Context, database string) error {
	s, err := Open(ctx, database, Options{})
	if err != nil {
		return err
	}
	return s.Close()
}
