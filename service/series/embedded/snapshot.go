package embedded

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/prometheus/prometheus/tsdb"
	"github.com/prometheus/prometheus/tsdb/fileutil"

	"fairlane/internal/outfile"
)

// Errors of snapshots and restores, for errors.Is.
var (
	ErrNoSeries = errors.New("no series are stored there")
	ErrInUse    = errors.New("the series are in use: stop the fairlane serve that works on them first")
	ErrNoRoom   = errors.New("there is no room left")
)

// Copied describes copied series.
type Copied struct {
	Series int   // in all blocks; a series in two blocks counts twice
	Bytes  int64 // of the blocks
}

// snapshotTries bounds how often a copy begins anew because the service compacts the series meanwhile.
const snapshotTries = 5

// Snapshot writes the series of a folder into a new folder, as blocks of the TSDB, whether or not a process has the series open. The new
// folder has everything that was stored when the copy began. It gets its name last: a folder of that name is complete.
func Snapshot(ctx context.Context, from, to string) (c Copied, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("copy the series in %s: %w", from, named(err))
		}
	}()
	switch _, err := os.Stat(from); {
	case errors.Is(err, fs.ErrNotExist):
		return c, ErrNoSeries
	case err != nil:
		return c, err
	}
	if _, err := os.Lstat(to); err == nil {
		return c, &fs.PathError{Op: "create", Path: to, Err: syscall.EEXIST}
	}
	partial := to + ".partial"
	raw := filepath.Join(partial, "raw")
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(partial))
		}
	}()
	for try := 1; ; try++ {
		if err := errors.Join(os.RemoveAll(partial), os.MkdirAll(raw, 0o700)); err != nil { // of an attempt that was killed
			return c, err
		}
		err := copyRaw(ctx, from, raw)
		if err == nil {
			break
		}
		if !errors.Is(err, fs.ErrNotExist) || try == snapshotTries { // the TSDB removed a file that was superseded
			return c, err
		}
	}
	blocks := filepath.Join(partial, "blocks")
	if c, err = settle(ctx, raw, blocks); err != nil {
		return c, err
	}
	if err := ctx.Err(); err != nil {
		return c, err
	}
	if err := errors.Join(syncAll(blocks), os.Rename(blocks, to), os.RemoveAll(partial)); err != nil {
		return c, err
	}
	return c, syncFile(filepath.Dir(to))
}

// copyRaw copies the logs and then the blocks. Samples that move from a log into a block meanwhile are in both, which the TSDB expects;
// in the other order they could be in neither.
func copyRaw(ctx context.Context, from, to string) error {
	for _, log := range []string{"wal", "wbl"} {
		err := copyTree(ctx, filepath.Join(from, log), filepath.Join(to, log))
		if _, serr := os.Stat(filepath.Join(from, log)); err != nil && !errors.Is(serr, fs.ErrNotExist) {
			return err
		}
	}
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if strings.Contains(e.Name(), ".tmp") {
			continue
		}
		if _, err := os.Stat(filepath.Join(from, e.Name(), "meta.json")); err != nil { // not a block, or one that was superseded
			if _, err := os.Stat(filepath.Join(from, e.Name())); err != nil {
				return err
			}
			continue
		}
		if err := copyTree(ctx, filepath.Join(from, e.Name()), filepath.Join(to, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

// copyTree copies a folder. Files that are still written are last in the alphabet, so that what is copied is a prefix of the log.
func copyTree(ctx context.Context, from, to string) error {
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(to, 0o700); err != nil {
		return err
	}
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return err
		}
		source, target := filepath.Join(from, e.Name()), filepath.Join(to, e.Name())
		switch {
		case strings.HasSuffix(e.Name(), ".tmp"): // a checkpoint that is being written
		case e.IsDir():
			if err := copyTree(ctx, source, target); err != nil {
				return err
			}
		case e.Type().IsRegular():
			if err := outfile.Copy(source, target); err != nil {
				return err
			}
		}
	}
	return nil
}

// settle opens a copy, which ends its log at the last complete record, and writes it as blocks.
func settle(ctx context.Context, raw, blocks string) (c Copied, err error) {
	o := tsdb.DefaultOptions()
	o.RetentionDuration, o.MaxBytes, o.NoLockfile = 0, 0, true
	o.OutOfOrderTimeWindow = outOfOrder.Milliseconds()
	db, err := tsdb.Open(raw, slog.New(slog.DiscardHandler), nil, o, nil)
	if err != nil {
		return c, err
	}
	db.DisableCompactions()
	err = db.CompactOOOHead(ctx) // a snapshot of the head lacks samples that arrived out of order
	if err == nil {
		err = errors.Join(os.MkdirAll(blocks, 0o700), db.Snapshot(blocks, db.Head().NumSeries() > 0))
	}
	if err != nil {
		return c, errors.Join(err, db.Close())
	}
	if err := db.Close(); err != nil {
		return c, err
	}
	return verify(blocks)
}

// verify opens the blocks of a folder and counts what they hold.
func verify(folder string) (c Copied, err error) {
	scratch, err := os.MkdirTemp("", "fairlane-series")
	if err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	db, err := tsdb.OpenDBReadOnly(folder, scratch, slog.New(slog.DiscardHandler))
	if err != nil {
		return c, err
	}
	blocks, err := db.Blocks()
	for _, b := range blocks {
		c.Series += int(b.Meta().Stats.NumSeries)
		c.Bytes += b.Size()
	}
	return c, errors.Join(err, db.Close())
}

// Restoring is a copy of series that has been checked and waits to replace a folder.
type Restoring struct {
	Copied

	staged, folder string
	lock           fileutil.Releaser // of the folder; nil when it does not exist
	locked         string            // file that was made for the lock
}

// PrepareRestore copies a snapshot into the parent of a folder and checks the copy. It refuses a folder that a process has open, and keeps others from
// opening it until Commit or Close.
func PrepareRestore(ctx context.Context, from, folder string) (r *Restoring, err error) {
	if real, err := filepath.EvalSymlinks(folder); err == nil {
		folder = real
	}
	folder = filepath.Clean(folder)
	r = &Restoring{staged: folder + ".restoring", folder: folder}
	defer func() {
		if err != nil {
			err = fmt.Errorf("restore the series in %s: %w", from, errors.Join(named(err), r.Close()))
		}
	}()
	switch _, err := os.Stat(folder); {
	case err == nil:
		if err := r.claim(); err != nil {
			return r, err
		}
	case !errors.Is(err, fs.ErrNotExist):
		return r, err
	}
	if err := errors.Join(os.RemoveAll(r.staged), copyTree(ctx, from, r.staged), syncAll(r.staged)); err != nil {
		return r, err
	}
	r.Copied, err = verify(r.staged)
	return r, err
}

// claim locks the folder and makes sure that its name can change: that of a mount point cannot.
func (r *Restoring) claim() error {
	path := filepath.Join(r.folder, "lock")
	lock, existed, err := fileutil.Flock(path)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return ErrInUse
	}
	if err != nil {
		return err
	}
	r.lock = lock
	if !existed {
		r.locked = path
	}
	other := r.folder + ".moving"
	if err := os.Rename(r.folder, other); err != nil {
		return err
	}
	return os.Rename(other, r.folder)
}

// Commit replaces the folder. What was there stays under the returned name; empty when there was nothing. Only names change, so a failure
// leaves the earlier folder in place.
func (r *Restoring) Commit(suffix string) (kept string, err error) {
	if r.lock != nil {
		kept = r.folder + suffix
		if err := os.Rename(r.folder, kept); err != nil {
			return "", err
		}
	}
	if err := os.Rename(r.staged, r.folder); err != nil {
		if kept != "" {
			err = errors.Join(err, os.Rename(kept, r.folder))
		}
		return "", err
	}
	if r.locked != "" {
		r.locked = filepath.Join(kept, "lock")
	}
	return kept, syncFile(filepath.Dir(r.folder))
}

// Close removes a copy that was not committed and releases the folder.
func (r *Restoring) Close() error {
	err := os.RemoveAll(r.staged)
	if r.lock != nil {
		if r.locked != "" {
			err = errors.Join(err, os.Remove(r.locked))
		}
		err = errors.Join(err, r.lock.Release())
		r.lock = nil
	}
	return err
}

// syncAll flushes the files of a folder to the disk.
func syncAll(folder string) error {
	return filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return syncFile(path)
	})
}

func syncFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// named adds what an operator can act on.
func named(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return fmt.Errorf("%w: %w", ErrNoRoom, err)
	}
	return err
}
