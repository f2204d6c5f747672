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
)

// maxJournal bounds a document, in bytes.
const maxJournal = 64 << 20

// FileJournal keeps the document in files: NAME.a and NAME.b by turns, so that one is whole while the other is written, and
// NAME.note for documents that need not outlast the host. Each begins with its serial number, its length and a checksum;
// the highest serial number of those that are whole is the document. Files are written in place, so that a document is
// safe after one synchronisation of its data. They are readable by their owner alone.
type FileJournal struct {
	path string
	sync func(*os.File) error // makes sure that a file's contents outlast a crash

	mu     sync.Mutex
	loaded bool
	serial uint64
	slot   int // written last, of a and b
}

// NewFileJournal is the journal by a name, whose directory must exist.
func NewFileJournal(path string) *FileJournal { return &FileJournal{path: path, sync: syncData} }

const notes = 2 // the slot of notes; those before are a and b

func (j *FileJournal) file(slot int) string { return j.path + [...]string{".a", ".b", ".note"}[slot] }

// frame begins a file.
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
		if best == nil || !errors.Is(err, ErrDamaged) { // one that was being written when the host crashed is no loss
			return nil, errors.Join(errs...)
		}
	}
	j.loaded, j.serial, j.slot = true, serial, slot
	return best, nil
}

// readSlot reads a file; nothing where there is none, or an empty one.
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

// frameOf is the beginning of a file with a document. The checksum is over the serial number, too.
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

// ready makes sure that the serial number is known, and the document has room.
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

func (j *FileJournal) write(slot int, document []byte, stays bool) error {
	path := j.file(slot)
	_, missing := os.Stat(path)
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	j.serial++ // one that fails is never used again
	_, err = f.WriteAt(append(frameOf(j.serial, document), document...), 0)
	if err == nil && stays {
		err = j.sync(f)
	}
	if err != nil {
		// A document that is told to be lost must not be found whole later, nor a torn one where there is no other. What was
		// here before is older than another slot, or gone anyhow.
		_ = f.Truncate(0)
	}
	err = errors.Join(err, f.Close())
	if err == nil && missing != nil && stays {
		err = syncDir(filepath.Dir(path))
	}
	return err
}

// syncDir makes sure that a directory's entries outlast a crash.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
