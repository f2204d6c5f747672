package agent

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"fairlane/internal/durable"
)

// maxJournal bounds a document, in bytes.
const maxJournal = 64 << 20

// FileJournal stores the document in files: alternately NAME.a and NAME.b, so that one is whole while the other is
// written, and NAME.note for documents that need not survive the host. Each starts with its serial number, its length and
// a checksum; among the whole ones, the highest serial number counts. Files are written in place, so that a document is
// safe after one synchronisation of its data. Only their owner can read them.
type FileJournal struct {
	path string
	sync func(*os.File) error // makes a file's contents durable

	mu     sync.Mutex
	loaded bool
	serial uint64
	slot   int // last written one, of a and b
}

// NewFileJournal returns the journal of a name, whose directory must exist.
func NewFileJournal(path string) *FileJournal { return &FileJournal{path: path, sync: syncData} }

const notes = 2 // the slot of notes; those before are a and b

func (j *FileJournal) file(slot int) string { return j.path + [...]string{".a", ".b", ".note"}[slot] }

// frame is the format of a file's head.
const frame = "fairlane-agent slot %020d %020d %064x\n"

const frameBytes = 19 + 1 + 20 + 1 + 20 + 1 + 64 + 1

var _ Journal = (*FileJournal)(nil)

func (j *FileJournal) Load(context.Context) ([]byte, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.load()
}

func (j *FileJournal) load() ([]byte, error) {
	var best []byte
	var errs []error
	var serial uint64
	slot := 1
	for s := range 3 {
		n, document, err := readSlot(j.file(s))
		switch {
		case err != nil:
			errs = append(errs, err)
		case document != nil && n > serial:
			serial, best = n, document
			if s != notes {
				slot = s
			}
		}
	}
	for _, err := range errs {
		if best == nil || !errors.Is(err, ErrDamaged) { // the loss of one that was being written at the crash is expected
			return nil, errors.Join(errs...)
		}
	}
	j.loaded, j.serial, j.slot = true, serial, slot
	return best, nil
}

// readSlot reads a file; nothing if it is missing or empty.
func readSlot(path string) (serial uint64, document []byte, err error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil, nil
	}
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = f.Close() }() // nothing was written
	b, err := io.ReadAll(io.LimitReader(f, frameBytes+maxJournal))
	if err != nil || len(b) == 0 {
		return 0, nil, err
	}
	var length int
	var sum []byte
	if len(b) < frameBytes {
		return 0, nil, fmt.Errorf("%s: found %d bytes, want %d or more: %w", path, len(b), frameBytes, ErrDamaged)
	}
	if _, err := fmt.Sscanf(string(b[:frameBytes]), "fairlane-agent slot %d %d %x\n", &serial, &length, &sum); err != nil {
		return 0, nil, fmt.Errorf("%s: found %.40q at its start: %w", path, b, ErrDamaged)
	}
	if length < 0 || length > len(b)-frameBytes {
		return 0, nil, fmt.Errorf("%s: found %d bytes, want %d: %w", path, len(b)-frameBytes, length, ErrDamaged)
	}
	document = b[frameBytes : frameBytes+length]
	if !bytes.Equal(frameOf(serial, document), b[:frameBytes]) {
		return 0, nil, fmt.Errorf("%s: found another checksum than its start says: %w", path, ErrDamaged)
	}
	return serial, document, nil
}

// frameOf returns the head of a file with a document. The checksum covers the serial number, too.
func frameOf(serial uint64, document []byte) []byte {
	h := sha256.New()
	_, _ = fmt.Fprintf(h, "%d\n", serial) // a hash takes everything
	_, _ = h.Write(document)
	return fmt.Appendf(nil, frame, serial, len(document), h.Sum(nil))
}

func (j *FileJournal) Save(_ context.Context, document []byte) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.ready(document); err != nil {
		return err
	}
	slot := 1 - j.slot
	if err := j.write(slot, document, true); err != nil {
		return err
	}
	j.slot = slot
	return nil
}

var _ Noter = (*FileJournal)(nil)

func (j *FileJournal) Note(_ context.Context, document []byte) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.ready(document); err != nil {
		return err
	}
	return j.write(notes, document, false)
}

// ready makes sure that the serial number is known, and that the document is not too large.
func (j *FileJournal) ready(document []byte) error {
	if len(document) > maxJournal {
		return fmt.Errorf("%s: found a document of %d bytes, want at most %d", j.path, len(document), maxJournal)
	}
	if j.loaded {
		return nil
	}
	_, err := j.load()
	return err
}

// Remove deletes the journal's files.
func (j *FileJournal) Remove() error {
	var errs []error
	for slot := range 3 {
		if err := os.Remove(j.file(slot)); !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func (j *FileJournal) write(slot int, document []byte, stays bool) error {
	path := j.file(slot)
	_, missing := os.Stat(path)
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	j.serial++ // a failed number is never used again
	_, err = f.WriteAt(append(frameOf(j.serial, document), document...), 0)
	if err == nil && stays {
		err = j.sync(f)
	}
	if err != nil {
		// A document whose save failed must not be found later, and a torn one must not be the only one. The earlier
		// contents of this slot are older than those of the other slot, or already lost.
		_ = f.Truncate(0)
	}
	err = errors.Join(err, f.Close())
	if err == nil && missing != nil && stays {
		err = durable.SyncDir(filepath.Dir(path))
	}
	return err
}
