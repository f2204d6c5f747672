// Package migrations holds the database schema as numbered SQL files, one folder per dialect,
// in the order in which goose applies them. A number means the same change in both folders.
// Files are only ever added; there are no down files, because production moves forward only.
// schema.sqlite.golden.sql and schema.postgres.golden.sql are the results, kept for review.
package migrations

import (
	"cmp"
	"embed"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
)

// Dialect is a database that the schema exists for.
type Dialect string

// The dialects, named as the folders are.
const (
	SQLite   Dialect = "sqlite"
	Postgres Dialect = "postgres"
)

//go:embed sqlite/*.sql postgres/*.sql
var files embed.FS

// For returns the migrations of a dialect. An unknown dialect is an error.
func For(d Dialect) (fs.FS, error) {
	switch d {
	case SQLite, Postgres:
		return fs.Sub(files, string(d))
	default:
		return nil, fmt.Errorf("migrations of dialect %q: want %s or %s", d, SQLite, Postgres)
	}
}

// Name is one migration's file and the number that its name begins with.
type Name struct {
	Version int64
	File    string
}

// Names lists the migrations of a dialect in their order.
func Names(dir fs.FS) ([]Name, error) {
	entries, err := fs.ReadDir(dir, ".")
	if err != nil {
		return nil, err
	}
	var list []Name
	for _, e := range entries {
		digits, _, ok := strings.Cut(e.Name(), "_")
		v, err := strconv.ParseInt(digits, 10, 64)
		if !ok || err != nil || v <= 0 {
			return nil, fmt.Errorf("migration %q: want NUMBER_NAME.sql", e.Name())
		}
		list = append(list, Name{v, e.Name()})
	}
	slices.SortFunc(list, func(a, b Name) int { return cmp.Compare(a.Version, b.Version) })
	return list, nil
}
