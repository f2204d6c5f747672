package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/glebarez/sqlite"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"

	"fairlane/migrations"
)

// SchemaError says that a database was written by a newer release.
type SchemaError struct {
	Have int64 // version of the database
	Know int64 // newest version that this release supports
}

// Error says what to do.
func (e *SchemaError) Error() string {
	return fmt.Sprintf("the schema has version %d and this release supports versions up to %d: run the release that wrote it or a newer one, or restore a backup from before the upgrade", e.Have, e.Know)
}

// migrateTries bounds the retries of a migration on SQLite. Two processes that start together conflict only when the
// second finds that the first has created the table.
const migrateTries = 3

// migrate applies the missing migrations.
func migrate(ctx context.Context, db *sql.DB, d migrations.Dialect) error {
	files, err := migrations.For(d)
	if err != nil {
		return err
	}
	return migrateWith(ctx, db, d, files)
}

func migrateWith(ctx context.Context, db *sql.DB, d migrations.Dialect, files fs.FS) (err error) {
	p, err := provider(db, d, files)
	if err != nil {
		return err
	}
	if d == migrations.Postgres {
		unlock, err := lockMigrations(ctx, db)
		if err != nil {
			return err
		}
		err = up(ctx, p)
		return errors.Join(err, unlock())
	}
	for range migrateTries {
		if err = up(ctx, p); err == nil {
			return nil
		}
	}
	return err
}

func provider(db *sql.DB, d migrations.Dialect, files fs.FS) (*goose.Provider, error) {
	dialect := goose.DialectSQLite3
	if d == migrations.Postgres {
		dialect = goose.DialectPostgres
	}
	// Number ranges are assigned in advance: a migration with a lower number than the newest may be added later, and is
	// still applied.
	p, err := goose.NewProvider(dialect, db, files, goose.WithDisableGlobalRegistry(true), goose.WithAllowOutofOrder(true))
	if err != nil {
		return nil, fmt.Errorf("read migrations: %w", err)
	}
	return p, nil
}

// up applies the missing migrations. Each is one transaction: when one fails, the schema stays at the version before it,
// and the error says so.
func up(ctx context.Context, p *goose.Provider) error {
	have, know, err := versions(ctx, p)
	if err != nil {
		return err
	}
	if have > know {
		return &SchemaError{Have: have, Know: know}
	}
	if have == know {
		// Without missing migrations it writes nothing, so that a full or read-only database still opens for reading.
		if missing, err := p.HasPending(ctx); err != nil || !missing {
			return err
		}
	}
	_, err = p.Up(ctx)
	if err == nil {
		return nil
	}
	var partial *goose.PartialError
	if errors.As(err, &partial) && partial.Failed != nil && partial.Failed.Source != nil {
		for _, done := range partial.Applied {
			have = done.Source.Version
		}
		return fmt.Errorf("migration %d could not be applied, the schema stays at version %d and the data as it was: %w",
			partial.Failed.Source.Version, have, partial.Err)
	}
	return fmt.Errorf("migrate from version %d: %w", have, err)
}

// versions returns the version of the database, 0 for an empty one, and the newest version.
func versions(ctx context.Context, p *goose.Provider) (have, know int64, err error) {
	sources := p.ListSources()
	if len(sources) > 0 {
		know = sources[len(sources)-1].Version
	}
	if have, err = p.GetDBVersion(ctx); err != nil {
		return 0, 0, fmt.Errorf("read the schema's version: %w", err)
	}
	return have, know, nil
}

// openRaw opens a database without migrating it.
func openRaw(database string, d migrations.Dialect) (*sql.DB, error) {
	if d == migrations.Postgres {
		c, err := postgresConfig(database, time.Minute)
		if err != nil {
			return nil, err
		}
		return stdlib.OpenDB(*c), nil
	}
	if err := checkPath(database); err != nil {
		return nil, err
	}
	db, err := sql.Open(sqlite.DriverName, sqliteDSN(database, 5*time.Second, "_txlock", "immediate"))
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	return db, nil
}
