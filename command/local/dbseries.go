package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"time"

	"fairlane/command/cmdline"
	"fairlane/service/config"
	"fairlane/service/series/embedded"
	"fairlane/service/store"
)

// seriesOf is the folder with the series of a backup.
func seriesOf(backup string) string { return backup + ".series" }

// seriesFolder is the folder of the configured series; empty when there is none, or when --no-series excludes it.
func seriesFolder(l *config.Loaded, without bool) string {
	if without {
		return ""
	}
	return l.Series.Folder(l.Database)
}

// backUp writes a backup, the series first: without the file of the database, its folder of series is no backup.
func (a *app) backUp(ctx context.Context, database, folder, to string) (store.Inspection, error) {
	if _, err := os.Lstat(to); err == nil {
		return store.Inspection{}, &fs.PathError{Op: "back up", Path: to, Err: syscall.EEXIST}
	}
	if folder == "" {
		return store.Backup(ctx, database, to)
	}
	c, err := embedded.Snapshot(ctx, folder, seriesOf(to))
	none := errors.Is(err, embedded.ErrNoSeries)
	var said string
	switch {
	case none:
		said = a.T("db.backup.no-series", "folder", folder)
	case err != nil:
		return store.Inspection{}, err
	default:
		said = a.T("db.backup.series", "folder", seriesOf(to), "size", cmdline.Size(c.Bytes))
	}
	in, err := store.Backup(ctx, database, to)
	if err != nil {
		if !none {
			err = errors.Join(err, os.RemoveAll(seriesOf(to)))
		}
		return in, err
	}
	_, err = fmt.Fprintln(a.Stdout, said)
	return in, err
}

// restoreBoth restores a database and its series, and returns what to print about the series. Both are copied and checked before either is
// replaced. The series follow the database at once, by a change of names; when it is killed in between, the earlier series remain and the
// restore can be repeated.
func (a *app) restoreBoth(ctx context.Context, from, database, folder string, force bool, now time.Time) (done store.Restored, said []string, err error) {
	if folder == "" {
		done, err = store.Restore(ctx, from, database, force, now)
		return done, nil, err
	}
	if _, err := os.Stat(seriesOf(from)); errors.Is(err, fs.ErrNotExist) {
		done, err = store.Restore(ctx, from, database, force, now)
		return done, []string{a.T("db.restore.no-series", "backup", from, "folder", folder)}, err
	}
	r, err := embedded.PrepareRestore(ctx, seriesOf(from), folder)
	if err != nil {
		return done, nil, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	if done, err = store.Restore(ctx, from, database, force, now); err != nil {
		return done, nil, err
	}
	kept, err := r.Commit(store.BeforeSuffix(now))
	if err != nil {
		return done, nil, fmt.Errorf("the database is restored, its series are not: repeat the restore: %w", err)
	}
	said = []string{a.T("db.restore.series", "size", cmdline.Size(r.Bytes))}
	if kept != "" {
		said = append(said, a.T("db.restore.series-kept", "kept", kept))
	}
	return done, said, nil
}
