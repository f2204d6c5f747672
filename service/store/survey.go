package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"fairlane/migrations"
)

// FabricSource is a fabric and its source.
type FabricSource struct {
	Name, Source string
	RestoredAt   time.Time // time of the restore that put automatic repairs on hold; zero when they are not on hold
}

// Survey summarises a database. It is quick, changes nothing, and works while a service uses the database and with older
// and newer schemas. Inspect reads all of the data.
type Survey struct {
	Engine     string // "SQLite" or "PostgreSQL"
	Have, Know int64  // version of the schema, 0 when it is empty; newest that this release supports
	// Clock is the database's own time and Took the round trip of reading it; zero on SQLite, which has no clock.
	Clock   time.Time
	Took    time.Duration
	Fabrics []FabricSource // at most 1,000
	// Jobs counts those that are not completed or cancelled, by state; nil when there is no queue yet. A failed turn of
	// periodic work does not count once a later one succeeded.
	Jobs map[string]int64
	// OldestJob is when the job that waits longest became available; zero when none waits.
	OldestJob time.Time
	// Leader is the manager that does periodic work and LeaderUntil the end of its term; zero without a leader.
	Leader      string
	LeaderUntil time.Time
}

// ReadSurvey surveys a database, read-only. For a missing SQLite file the error matches fs.ErrNotExist.
func ReadSurvey(ctx context.Context, database string) (s Survey, err error) {
	db, d, err := openToRead(database)
	if errors.Is(err, errAbsent) {
		return s, fmt.Errorf("database %s: %w", Redact(database), fs.ErrNotExist)
	}
	if err != nil {
		return s, fmt.Errorf("open database %s: %w", Redact(database), err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	s.Engine = "SQLite"
	if d == migrations.Postgres {
		s.Engine = "PostgreSQL"
		begun := time.Now()
		if err := db.QueryRowContext(ctx, "SELECT clock_timestamp()").Scan(&s.Clock); err != nil {
			return s, fmt.Errorf("read the clock of database %s: %w", Redact(database), err)
		}
		s.Took = time.Since(begun)
	}
	if s.Have, s.Know, err = schemaVersion(ctx, db, d); err != nil {
		return s, fmt.Errorf("database %s: %w", Redact(database), err)
	}
	if s.Fabrics, err = fabricSources(ctx, db, d); err != nil {
		return s, fmt.Errorf("list fabrics: %w", err)
	}
	if err := s.queue(ctx, db, d); err != nil {
		return s, fmt.Errorf("read the queue: %w", err)
	}
	return s, nil
}

func fabricSources(ctx context.Context, db *sql.DB, d migrations.Dialect) ([]FabricSource, error) {
	if exists, err := hasTable(ctx, db, d, "fabrics"); err != nil || !exists {
		return nil, err
	}
	held := "NULL" // in an older schema
	if exists, err := hasColumn(ctx, db, d, "fabrics", "repairs_wait"); err != nil {
		return nil, err
	} else if exists {
		held = "CASE WHEN repairs_wait = 1 THEN restored_at_us END"
	}
	type row struct {
		FabricSource
		at *int64
	}
	list, err := scan(ctx, db, "SELECT name, source, "+held+" FROM fabrics ORDER BY name LIMIT 1000", func(f *row) []any { return []any{&f.Name, &f.Source, &f.at} })
	return each(list, func(f row) FabricSource { f.RestoredAt = optionalTime(f.at); return f.FabricSource }), err
}

// madeUp counts jobs by state, without failed turns that a later turn made up for. River keeps completed jobs for a
// minute, which is longer than the period of all periodic work except retention; a failed retention counts until River
// deletes the record.
const madeUp = `SELECT state, COUNT(*) FROM river_job j WHERE state NOT IN ('completed', 'cancelled')
	AND NOT (state = 'discarded' AND EXISTS (SELECT 1 FROM river_job l
		WHERE l.kind = j.kind AND l.args = j.args AND l.state = 'completed' AND l.finalized_at >= j.finalized_at))
	GROUP BY state`

// queue reads River's tables.
func (s *Survey) queue(ctx context.Context, db *sql.DB, d migrations.Dialect) (err error) {
	if exists, err := hasTable(ctx, db, d, "river_job"); err != nil || !exists {
		return err
	}
	type count struct {
		state string
		jobs  int64
	}
	counts, err := scan(ctx, db, madeUp,
		func(c *count) []any { return []any{&c.state, &c.jobs} })
	if err != nil {
		return err
	}
	s.Jobs = map[string]int64{}
	for _, c := range counts {
		s.Jobs[c.state] = c.jobs
	}
	// Times are read as seconds of Unix time, which both engines support.
	seconds := "unixepoch(%s)"
	if d == migrations.Postgres {
		seconds = "EXTRACT(EPOCH FROM %s)"
	}
	var oldest, until sql.NullFloat64
	if err := db.QueryRowContext(ctx, "SELECT "+fmt.Sprintf(seconds, "MIN(scheduled_at)")+" FROM river_job WHERE state = 'available'").Scan(&oldest); err != nil {
		return err
	}
	if oldest.Valid {
		s.OldestJob = time.Unix(int64(oldest.Float64), 0)
	}
	err = db.QueryRowContext(ctx, "SELECT leader_id, "+fmt.Sprintf(seconds, "expires_at")+" FROM river_leader LIMIT 1").Scan(&s.Leader, &until)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	if until.Valid {
		s.LeaderUntil = time.Unix(int64(until.Float64), 0)
	}
	return nil
}
