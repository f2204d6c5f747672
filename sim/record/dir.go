// Package record streams the results of a run to files: completed flows, rates, queue lengths. Its memory does not grow with
// the run. The files of a Dir get their names only when the run is complete; the files of an interrupted run are named
// NAME.partial.
package record

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// partial is the suffix of a file's name until its run is complete.
const partial = ".partial"

// bufferSize is the buffer of each open file, in bytes.
const bufferSize = 64 << 10

// maxFiles is the largest number of files of a Dir; each stays open until the end of the run.
const maxFiles = 64

// Header identifies the run and program that computed a file.
type Header struct {
	Scenario string `json:"scenario"`
	Seed     uint64 `json:"seed"`
	Version  string `json:"version"` // version of the program
}

// Dir holds the result files of one run in one directory. Create it with NewDir, create files and write rows, and call Finish
// once at the end. It starts no goroutine and is not safe for concurrent use.
type Dir struct {
	path   string
	header Header
	files  []*File
	done   bool
}

// NewDir creates the directory and its parents if necessary. A file of an earlier run stays until a file of the same name is
// complete.
func NewDir(path string, h Header) (*Dir, error) {
	if err := os.MkdirAll(path, 0o755); err != nil {
		return nil, fmt.Errorf("result directory %s: %w", path, err)
	}
	return &Dir{path: path, header: h}, nil
}

// Path returns the directory.
func (d *Dir) Path() string { return d.path }

// File is one file of a Dir. The first error is kept: later writes have no effect, and Err and Finish return it, so callers
// need not check every row.
type File struct {
	name    string // final path
	comment string // prefix of a comment line; empty if the format has no comments
	f       *os.File
	w       *bufio.Writer
	row     []byte // reused by the writers of rows
	rows    uint64
	err     error
}

// Create opens a file for buffered writing. Its name has at most 100 letters, digits, dots, dashes and underscores, and does
// not start with a dot. Create returns an error for an invalid name, a name used twice, more than 64 files, a finished Dir, and
// an error of the file system.
func (d *Dir) Create(name string) (*File, error) {
	path := filepath.Join(d.path, name)
	switch {
	case d.done:
		return nil, fmt.Errorf("create %s: the run has ended", path)
	case !regexp.MustCompile(`^[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}$`).MatchString(name) || strings.HasSuffix(name, partial):
		return nil, fmt.Errorf("create %s: name %q: want 1 to 100 letters, digits, dots, dashes and underscores, no dot first, not %s last", path, name, partial)
	case len(d.files) >= maxFiles:
		return nil, fmt.Errorf("create %s: want at most %d files", path, maxFiles)
	case slices.ContainsFunc(d.files, func(f *File) bool { return f.name == path }):
		return nil, fmt.Errorf("create %s: the file is open already", path)
	}
	f, err := os.Create(path + partial)
	if err != nil {
		return nil, fmt.Errorf("create %s: %w", path, err)
	}
	file := &File{name: path, f: f, w: bufio.NewWriterSize(f, bufferSize)}
	d.files = append(d.files, file)
	return file, nil
}

// createCSV creates a file with the header as comments and the column names.
func (d *Dir) createCSV(name, columns string) (*File, error) {
	f, err := d.Create(name)
	if err != nil {
		return nil, err
	}
	f.comment = "# "
	f.writeComment("scenario", d.header.Scenario)
	f.writeComment("seed", strconv.FormatUint(d.header.Seed, 10))
	f.writeComment("version", d.header.Version)
	f.keep(f.w.WriteString(columns + "\n"))
	return f, f.Err()
}

// writeComment writes a comment line; line breaks in the value are quoted to keep it on one line.
func (f *File) writeComment(key, value string) {
	if strings.ContainsFunc(value, func(r rune) bool { return r < ' ' }) {
		value = strconv.Quote(value)
	}
	f.keep(f.w.WriteString(f.comment + key + ": " + value + "\n"))
}

// Write implements io.Writer.
func (f *File) Write(p []byte) (int, error) {
	if f.err != nil {
		return 0, f.err
	}
	n, err := f.w.Write(p)
	f.keep(n, err)
	return n, f.err
}

// keep stores the first error of a write, with the name of the file.
func (f *File) keep(_ int, err error) {
	if err != nil && f.err == nil {
		f.err = fmt.Errorf("write %s: %w", f.name, err)
	}
}

// endRow writes the row buffer.
func (f *File) endRow() error {
	f.row = append(f.row, '\n')
	if _, err := f.Write(f.row); err != nil {
		return err
	}
	f.rows++
	return nil
}

// Rows returns the number of rows written by Flows, Rates or Queues; Write does not count.
func (f *File) Rows() uint64 { return f.rows }

// Name returns the path of the file after the run is complete.
func (f *File) Name() string { return f.name }

// Err returns the first error of a write, or nil.
func (f *File) Err() error { return f.err }

// Flush writes the buffers of all files, so that a user can watch a long run.
func (d *Dir) Flush() error {
	var errs []error
	for _, f := range d.files {
		errs = append(errs, f.flush())
	}
	return errors.Join(errs...)
}

func (f *File) flush() error {
	if f.err == nil {
		f.keep(0, f.w.Flush())
	}
	return f.err
}

// Finish ends the run. Call it once, in a defer, with the error of the run. Without an error, it syncs all files to disk and
// then renames them to their final names, replacing those of earlier runs. After an error or an interrupt, they keep the name
// NAME.partial with all results so far and, if the format has comments, a last comment with the reason; complete files of
// earlier runs stay. Finish returns the errors of the files; if one cannot be written completely, no file gets its final name.
// A second call has no effect.
func (d *Dir) Finish(cause error) error {
	if d.done {
		return nil
	}
	d.done = true
	var errs []error
	for _, f := range d.files {
		if cause != nil && f.comment != "" {
			f.writeComment("incomplete", cause.Error())
		}
		errs = append(errs, f.close())
	}
	if err := errors.Join(errs...); err != nil || cause != nil {
		return err
	}
	for _, f := range d.files {
		if err := os.Rename(f.name+partial, f.name); err != nil {
			errs = append(errs, fmt.Errorf("complete %s: %w", f.name, err))
		}
	}
	return errors.Join(append(errs, d.sync())...)
}

func (f *File) close() error {
	err := f.flush()
	if err == nil {
		if err = f.f.Sync(); err != nil {
			err = fmt.Errorf("sync %s: %w", f.name, err)
		}
	}
	if e := f.f.Close(); e != nil {
		err = errors.Join(err, fmt.Errorf("close %s: %w", f.name, e))
	}
	return err
}

// sync syncs the new names to disk.
func (d *Dir) sync() error {
	dir, err := os.Open(d.path)
	if err != nil {
		return fmt.Errorf("sync %s: %w", d.path, err)
	}
	if err := errors.Join(dir.Sync(), dir.Close()); err != nil {
		return fmt.Errorf("sync %s: %w", d.path, err)
	}
	return nil
}
