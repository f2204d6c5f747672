// Package migrations holds the database schema as numbered SQL files, one folder per dialect,
// in the order in which goose applies them. Files are only ever added; there are no down files,
// because production moves forward only. schema.golden.sql is the SQLite result, kept for review.
package migrations

import (
	"embed"
	"io/fs"
)

//go:embed sqlite/*.sql
var files embed.FS

// SQLite returns the migrations of the SQLite dialect.
func SQLite() (fs.FS, error) { return fs.Sub(files, "sqlite") }
