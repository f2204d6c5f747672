// Package record writes the results of a run to files while the run goes on, in memory that does
// not grow with it: completed flows, rates, queue lengths. The files of a Dir appear under their names only
// when the run is complete; what an interrupted run computed stays beside them as NAME.partial.
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

// partial ends the name of a file until its run is complete.
const partial = ".partial"

// bufferSize is what each open file holds in memory.
const bufferSize = 64 << 10

// maxFiles is the largest number of files of a Dir: each is open to the end of the run.
const maxFiles = 64

// Header says what computed the figures of a file.
type Header struct {
	Scenario string `json:"scenario"`
	Seed     uint64 `json:"seed"`
	Version  string `json:"version"` // of the program
}

// Dir is the result files of one run, in one directory. Make it with NewDir, create files and write
// rows, and end it once with Finish. It has no goroutine and is not safe for concurrent use.
type Dir struct {
	path   string
	header Header
	files  []*File
	done   bool
}

// NewDir creates the directory when needed, with its parents. Files of earlier runs stay until a file of the
// same name is complete.
func NewDir(path string, h Header) (*Dir, error) {
	if err := os.MkdirAll(path, 0o755); err != nil {
		return nil, fmt.Errorf("result directory %s: %w", path, err)
	}
	return &Dir{path: path, header: h}, nil
}

// Path is the directory.
func (d *Dir) Path() string { return d.path }

// File is one file of a Dir. Its first error sticks: later writes do nothing, and Err and Finish
// return it, so that a row need not be checked.
type File struct {
	name    string // final path
	comment string // starts a line that holds no row; empty when the format has none
	f       *os.File
	w       *bufio.Writer
	row     []byte // reused by the writers of rows
	rows    uint64
	err     error
}

// Create opens a file for writing through a buffer. Its name has at most 100 letters, digits, dots, dashes
// and underscores and starts with no dot; a name used twice, more than 64 files, a Dir that has ended, and
// what the file system refuses are errors.
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

// createCSV creates a file with the header as comments and the names of its columns.
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

// writeComment writes a comment line; line breaks in its value are quoted, so that it stays one.
func (f *File) writeComment(key, value string) {
	if strings.ContainsFunc(value, func(r rune) bool { return r < ' ' }) {
		value = strconv.Quote(value)
	}
	f.keep(f.w.WriteString(f.comment + key + ": " + value + "\n"))
}

// Write writes bytes; it makes a File an io.Writer.
func (f *File) Write(p []byte) (int, error) {
	if f.err != nil {
		return 0, f.err
	}
	n, err := f.w.Write(p)
	f.keep(n, err)
	return n, f.err
}

// keep remembers the first error of a write, with the name of the file.
func (f *File) keep(_ int, err error) {
	if err != nil && f.err == nil {
		f.err = fmt.Errorf("write %s: %w", f.name, err)
	}
}

// endRow writes the row that was put together.
func (f *File) endRow() error {
	f.row = append(f.row, '\n')
	if _, err := f.Write(f.row); err != nil {
		return err
	}
	f.rows++
	return nil
}

// Rows is the number of rows written by Flows, Rates or Queues; Write counts none.
func (f *File) Rows() uint64 { return f.rows }

// Name is the path that the file has when the run is complete.
func (f *File) Name() string { return f.name }

// Err is the first error of a write; nil when there was none.
func (f *File) Err() error { return f.err }

// Flush writes what the buffers of all files hold to the files, for someone who watches a long run.
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

// Finish ends the run; call it exactly once, in a defer, with the error of the run. Without one all files
// are brought to the disk and then get their names, replacing those of earlier runs. After an error or an
// interrupt they keep the name NAME.partial, hold all that was computed and, where the format has comments,
// end with one that gives the reason; complete files of earlier runs are untouched. It returns the
// errors of the files; when one cannot be written whole, none gets its name. A second call does nothing.
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

// sync brings the new names to the disk.
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
