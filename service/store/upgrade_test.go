package store

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"fairlane/internal/quantity"
	"fairlane/migrations"
	"fairlane/service/audit"
	"fairlane/service/control"
)

// seed is data as a release with schema versions since to until (0: newest) wrote it.
type seed struct {
	since, until int64
	statement    string
}

// seeds are in the order of their foreign keys. The statements are plain SQL for both engines.
func seeds() []seed {
	digits := func(d string) string { return strings.Repeat(d, 64) }
	guid := "0x8000000000000001"
	return []seed{
		{1, 0, `INSERT INTO fabrics (id, name, plane, source, time_scale, version, flows_version, created_at_us, updated_at_us) VALUES (1, 'lab', 'ib', 'file:x', 0.5, 3, 1, 1000, 2000)`},
		{1, 0, `INSERT INTO snapshots (id, fabric_id, sha256, topology, nodes, switches, hosts, links, wall_us, mads_sent, taken_at_us, seen_at_us, seen_seq)
			VALUES (1, 1, '` + digits("1") + `', 'topology', 3, 1, 2, 2, 1500, 42, 1000, 2000, 1)`},
		{2, 6, `INSERT INTO tenants (id, fabric_id, name, weight_milli, pkey, version, created_at_us, updated_at_us) VALUES (1, 1, 'red', 1500, 65535, 2, 1000, 2000)`},
		{7, 0, `INSERT INTO tenants (id, fabric_id, name, weight_milli, pkey, version, created_at_us, updated_at_us, guarantee_bps, cap_bps) VALUES (1, 1, 'red', 1500, 65535, 2, 1000, 2000, 1000, 2000)`},
		{2, 0, `INSERT INTO tenant_classes (tenant_id, position, name, weight_milli) VALUES (1, 0, 'bulk', 1)`},
		{2, 0, `INSERT INTO tenant_attachments (tenant_id, position, node_guid, port_num, sl) VALUES (1, 0, '` + guid + `', 1, NULL)`},
		{2, 0, `INSERT INTO flows (fabric_id, position, tenant_id, class, src_guid, src_port, dst_guid, dst_port, qps, demand_bps) VALUES (1, 0, 1, 'bulk', '` + guid + `', 1, '0x0000000000000002', 1, 65536, 100000000000000)`},
		{3, 0, `INSERT INTO plans (id, fabric_id, name, snapshot_sha256, plan, input, tenants, devices, findings, max_predicted_error, created_at_us)
			VALUES (1, 1, '` + digits("a") + `', '` + digits("1") + `', '{}', '{}', 1, 2, 0, 0.25, 1000)`},
		{4, 0, `INSERT INTO rollouts (id, fabric_id, plan_id, stages, state, result, actor, version, created_at_us, updated_at_us, finished_at_us) VALUES (7, 1, 1, 'placement,settings', 'succeeded', 'done', 'ada', 2, 1000, 2000, 3000)`},
		{4, 0, `INSERT INTO rollout_devices (rollout_id, node_guid, port_num, device, state, before, wanted, observed, receipt, error, updated_at_us)
			VALUES (7, '` + guid + `', 1, '{}', 'in-sync', '{}', NULL, NULL, NULL, '', 2000)`},
		{5, 0, `INSERT INTO events (id, at_us, fabric, rollout_id, actor, kind, subject, message, data) VALUES (1, 1000, 'lab', 7, 'ada', 'rollout.started', 'a', 'm', '{"x":1}')`},
		{6, 0, `INSERT INTO tokens (id, name, hash, created_at_us) VALUES (1, 'admin', '` + digits("5") + `', 1000)`},
		{20, 0, `INSERT INTO accounts (id, kind, name, display_name, password, issuer, subject, disabled, version, created_at_us, updated_at_us) VALUES (1, 'user', 'ada', '', '$x', '', '', 0, 1, 1000, 1000)`},
		{20, 0, `INSERT INTO memberships (id, account_id, tenant_id, role, source, created_at_us) VALUES (1, 1, NULL, 'fabric-admin', 'local', 1000), (2, 1, 1, 'tenant-admin', 'local', 1000), (3, 1, NULL, 'auditor', 'oidc', 1000)`},
		{21, 0, `UPDATE tokens SET scopes = '*:read'`},
	}
}

// sow inserts the data of a schema version; from version 21 on, tokens require scopes.
func sow(t *testing.T, db *sql.DB, version int64) {
	t.Helper()
	for _, s := range seeds() {
		if version < s.since || s.until != 0 && version > s.until {
			continue
		}
		statement := s.statement
		if version >= 21 {
			statement = strings.NewReplacer("INTO tokens (id, name, hash, created_at_us)", "INTO tokens (id, name, hash, scopes, created_at_us)", "'admin', ", "'admin', ", strings.Repeat("5", 64)+"', 1000", strings.Repeat("5", 64)+"', '', 1000").Replace(statement)
		}
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatalf("version %d: %s: %v", version, statement, err)
		}
	}
}

// reap reads the data back through the repositories.
func reap(t *testing.T, s *Store, version int64) {
	t.Helper()
	f := &fixture{t: t, s: s}
	ctx := t.Context()
	f.view(func(r control.Repos) error {
		fab, err := r.Fabric(ctx, "lab")
		if err != nil {
			return err
		}
		if fab.Version != 3 || fab.TimeScale != 0.5 || fab.Snapshot == nil || fab.Snapshot.Stats.MADsSent != 42 {
			t.Errorf("fabric is %+v", fab)
		}
		if version < 2 {
			return nil
		}
		red, err := r.Tenant(ctx, "lab", "red")
		if err != nil {
			return err
		}
		guarantee, most := quantity.BitRate(0), quantity.BitRate(0)
		if version >= 7 {
			guarantee, most = 1000, 2000
		}
		if red.Weight != 1500 || red.PKey != 0xffff || red.Version != 2 || len(red.Classes) != 1 || len(red.Attachments) != 1 || red.Attachments[0].SL != nil || red.Guarantee != guarantee || red.Cap != most {
			t.Errorf("tenant is %+v", red)
		}
		flows, n, err := r.Flows(ctx, "lab")
		if len(flows) != 1 || n != 1 || flows[0].Src != port(1<<63+1, 1) || flows[0].Demand != 100*quantity.Tbps {
			t.Errorf("flows are %+v at %d", flows, n)
		}
		return err
	})
	if version >= 3 {
		f.view(func(r control.Repos) error {
			list, _, err := r.ListPlans(ctx, "lab", control.Page{})
			if len(list) != 1 || list[0].Devices != 2 || list[0].MaxPredictedError != 0.25 {
				t.Errorf("plans are %+v", list)
			}
			return err
		})
	}
	if version >= 4 {
		f.view(func(r control.Repos) error {
			ro, err := r.Rollout(ctx, "lab", 7)
			if ro.State != control.RolloutSucceeded || ro.Actor != "ada" || len(ro.Stages) != 2 || len(ro.Devices) != 1 || ro.Devices[0].Before == nil || ro.Devices[0].Wanted != nil || ro.FinishedAt.UnixMicro() != 3000 {
				t.Errorf("rollout is %+v", ro)
			}
			return err
		})
	}
	if version >= 5 {
		f.view(func(r control.Repos) error {
			list, _, err := r.ListEvents(ctx, control.EventFilter{Rollout: 7}, control.Page{})
			if len(list) != 1 || string(list[0].Data) != `{"x":1}` {
				t.Errorf("events are %+v", list)
			}
			return err
		})
	}
	if version >= 6 {
		f.view(func(r control.Repos) error {
			token, err := r.TokenByHash(ctx, [32]byte(bytes.Repeat([]byte{0x55}, 32)))
			if token.Name != "admin" || token.Account != 0 || len(token.Scopes) != 0 != (version >= 21) {
				t.Errorf("token is %+v", token)
			}
			return err
		})
	}
	if version >= 20 {
		f.view(func(r control.Repos) error {
			ada, err := r.Account(ctx, control.AccountRef{Kind: control.PrincipalUser, Name: "ada"})
			var got []string
			for _, m := range ada.Memberships {
				got = append(got, fmt.Sprint(m.Grant, " ", m.Source, " ", m.CreatedAt.UnixMicro()))
			}
			f.equal("roles", []string{"fabric-admin@* local 1000", "tenant-admin@lab/red local 1000", "auditor@* oidc 1000"}, got)
			return err
		})
		f.tx(func(r control.Repos) error { return r.PutMembership(ctx, 1, grant("operator@lab"), at()) })
	}
	grow(f)
}

// grow adds rows to the old ones: identifiers must not collide.
func grow(f *fixture) {
	ctx := f.t.Context()
	f.fabric("new")
	f.tx(func(r control.Repos) error {
		tn := red()
		tn.Fabric = "new"
		_, err := r.CreateTenant(ctx, tn)
		if err == nil {
			err = r.AddEvent(ctx, control.Event{At: at(), Fabric: "new", Kind: "k"})
		}
		if err == nil {
			_, err = r.AppendAudit(ctx, audit.Entry{At: at(), Action: "k"})
		}
		return err
	})
}

// moveOn advances the identity columns of PostgreSQL past the identifiers in the seeds.
func moveOn(t *testing.T, db *sql.DB, d migrations.Dialect) {
	t.Helper()
	if d != migrations.Postgres {
		return
	}
	for _, row := range query(t, db, `SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'public' AND is_identity = 'YES' AND table_name <> 'goose_db_version'`) {
		query(t, db, fmt.Sprintf(`SELECT setval(pg_get_serial_sequence('%s', '%s'), 100)::text`, row[0], row[1]))
	}
}

// rawOpen opens a database without migrating it.
func rawOpen(t *testing.T, database string, d migrations.Dialect) *sql.DB {
	t.Helper()
	db, err := openRaw(database, d)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() }) // some tests have closed it
	return db
}

// atVersion creates a database as a release with that schema version left it.
func atVersion(t *testing.T, database string, d migrations.Dialect, version int64) {
	t.Helper()
	files, err := migrations.For(d)
	if err != nil {
		t.Fatal(err)
	}
	db := rawOpen(t, database, d)
	p, err := provider(db, d, files)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.UpTo(t.Context(), version); err != nil {
		t.Fatal(err)
	}
	sow(t, db, version)
	moveOn(t, db, d)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestEveryEarlierSchemaIsUpgraded(t *testing.T) {
	onBoth(t, func(t *testing.T, d migrations.Dialect) {
		files, err := migrations.For(d)
		if err != nil {
			t.Fatal(err)
		}
		names, err := migrations.Names(files)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range names {
			t.Run(fmt.Sprint(m.Version), func(t *testing.T) {
				t.Parallel()
				database := fresh(t, d)
				atVersion(t, database, d, m.Version)
				reap(t, openAt(t, database, Options{}), m.Version)
			})
		}
	})
}

// Events older than the column show a tenant the names of actors who were its members by then and have no role on
// everything.
func TestEarlierEventsNameOnlyActorsWhoWereMembers(t *testing.T) {
	onBoth(t, func(t *testing.T, d migrations.Dialect) {
		database := fresh(t, d)
		atVersion(t, database, d, 64)
		db := rawOpen(t, database, d)
		exec := func(statement string, args ...any) {
			t.Helper()
			if _, err := db.ExecContext(t.Context(), fmt.Sprintf(statement, args...)); err != nil {
				t.Fatal(err)
			}
		}
		for id, name := range []string{"then", "since", "wide", "stranger"} {
			exec(`INSERT INTO accounts (id, kind, name, display_name, password, issuer, subject, disabled, version, created_at_us, updated_at_us) VALUES (%d, 'user', '%s', '', '', '', '', 0, 1, 1, 1)`, 200+id, name)
			exec(`INSERT INTO events (id, at_us, fabric, rollout_id, actor, kind, subject, message) VALUES (%d, 5000, 'lab', 0, '%s', 'tenant.updated', 'red', '')`, 200+id, name)
		}
		for i, m := range [][3]any{{200, "1", 5000}, {201, "1", 5001}, {202, "1", 1000}, {202, "NULL", 1000}} {
			role := "tenant-viewer"
			if m[1] == "NULL" {
				role = "operator"
			}
			exec(`INSERT INTO memberships (id, account_id, tenant_id, role, source, created_at_us) VALUES (%d, %d, %s, '%s', 'local', %d)`, 200+i, m[0], m[1], role, m[2])
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		f := &fixture{t: t, s: openAt(t, database, Options{})}
		f.view(func(r control.Repos) error {
			list, _, err := r.TenantEvents(t.Context(), control.EventFilter{Fabric: "lab"}, []string{"red"}, control.Page{})
			if len(list) != 4 {
				t.Errorf("events are %+v", list)
			}
			for _, e := range list {
				if e.ByTenant != (e.Actor == "then") {
					t.Errorf("%s acted for the tenant: %t", e.Actor, e.ByTenant)
				}
			}
			return err
		})
	})
}

func TestADatabaseOfANewerReleaseIsRefused(t *testing.T) {
	onBoth(t, func(t *testing.T, d migrations.Dialect) {
		database := fresh(t, d)
		s := openAt(t, database, Options{})
		if _, err := s.Writer().ExecContext(t.Context(), "INSERT INTO goose_db_version (version_id, is_applied) VALUES (99001, "+map[migrations.Dialect]string{migrations.SQLite: "1", migrations.Postgres: "true"}[d]+")"); err != nil {
			t.Fatal(err)
		}
		_, err := Open(t.Context(), database, Options{})
		var newer *SchemaError
		if !errors.As(err, &newer) || newer.Have != 99001 || !strings.Contains(err.Error(), "run the release that wrote it") {
			t.Errorf("opening gave %v, want a *SchemaError that says what to do", err)
		}
	})
}

func TestABrokenMigrationLeavesTheOldVersion(t *testing.T) {
	onBoth(t, func(t *testing.T, d migrations.Dialect) {
		db := rawOpen(t, fresh(t, d), d)
		files := fstest.MapFS{
			"00001_a.sql": {Data: []byte("-- +goose Up\nCREATE TABLE a (x INTEGER);")},
			"00002_b.sql": {Data: []byte("-- +goose Up\nINSERT INTO a VALUES (1);")},
			"00003_c.sql": {Data: []byte("-- +goose Up\nINSERT INTO a VALUES (2);\nINSERT INTO missing VALUES (3);")},
			"00004_d.sql": {Data: []byte("-- +goose Up\nINSERT INTO a VALUES (4);")},
		}
		for range 2 { // a retry changes nothing
			err := migrateWith(t.Context(), db, d, files)
			if err == nil || !strings.Contains(err.Error(), "migration 3 could not be applied, the schema stays at version 2") {
				t.Fatalf("migrating gave %v, want it to name migration 3 and version 2", err)
			}
			if rows := query(t, db, "SELECT x FROM a"); len(rows) != 1 || rows[0][0] != "1" {
				t.Fatalf("table has %v, want what version 2 left", rows)
			}
		}
		files["00003_c.sql"] = &fstest.MapFile{Data: []byte("-- +goose Up\nINSERT INTO a VALUES (3);")}
		if err := migrateWith(t.Context(), db, d, files); err != nil {
			t.Fatal(err)
		}
		if rows := query(t, db, "SELECT x FROM a ORDER BY x"); len(rows) != 3 {
			t.Errorf("after the mended migration the table has %v", rows)
		}
	})
}

func TestConcurrentStartsMigrateOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, d migrations.Dialect) {
		database := fresh(t, d)
		results := make(chan error, 4)
		for range cap(results) {
			go func() {
				s, err := Open(t.Context(), database, Options{})
				if err == nil {
					err = s.Close()
				}
				results <- err
			}()
		}
		for range cap(results) {
			if err := <-results; err != nil {
				t.Error(err)
			}
		}
	})
}

// Where several processes switch a file to WAL, SQLite reports a locked file at once, whatever the timeout.
func TestOpeningWaitsForALockedFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "locked.db")
	held, other := rawOpen(t, path, migrations.SQLite), rawOpen(t, path, migrations.SQLite)
	held.SetMaxOpenConns(1)
	if _, err := held.ExecContext(t.Context(), "PRAGMA journal_mode = DELETE; BEGIN EXCLUSIVE"); err != nil {
		t.Fatal(err)
	}
	tries := 0
	connect := func() error {
		if tries++; tries == 3 {
			if _, err := held.ExecContext(t.Context(), "COMMIT"); err != nil {
				t.Fatal(err)
			}
		}
		_, err := other.ExecContext(t.Context(), "PRAGMA busy_timeout = 0; BEGIN IMMEDIATE; ROLLBACK")
		return err
	}
	if err := unlocked(time.Minute, connect); err != nil || tries != 3 {
		t.Errorf("after %d tries: %v, want it open at the third", tries, err)
	}
	if err := unlocked(0, func() error { return errors.New("no such disk") }); err == nil {
		t.Error("another error is not returned")
	}
}

func TestLaterMigrationWithLowerNumberIsApplied(t *testing.T) {
	onBoth(t, func(t *testing.T, d migrations.Dialect) {
		db := rawOpen(t, fresh(t, d), d)
		files := fstest.MapFS{
			"00001_a.sql": {Data: []byte("-- +goose Up\nCREATE TABLE a (x INTEGER);")},
			"00005_b.sql": {Data: []byte("-- +goose Up\nINSERT INTO a VALUES (5);")},
		}
		if err := migrateWith(t.Context(), db, d, files); err != nil {
			t.Fatal(err)
		}
		files["00003_c.sql"] = &fstest.MapFile{Data: []byte("-- +goose Up\nINSERT INTO a VALUES (3);")}
		for range 2 {
			if err := migrateWith(t.Context(), db, d, files); err != nil {
				t.Fatal(err)
			}
			if rows := query(t, db, "SELECT x FROM a ORDER BY x"); len(rows) != 2 || rows[0][0] != "3" {
				t.Errorf("table has %v, want 3 and 5", rows)
			}
		}
	})
}
