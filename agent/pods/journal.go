package pods

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"fairlane/agent/pods/podsock"
	"fairlane/internal/durable"
)

// entry is a record with what the agent alone needs. Entries in the table are never changed, only replaced.
type entry struct {
	podsock.Record
	NetNSID     string `json:"netns_id,omitempty"`    // empty: unknown
	BootID      string `json:"boot_id"`               // of the host when it was added: devices lose their values at a boot
	Applying    bool   `json:"applying,omitempty"`    // a class is being applied
	Established bool   `json:"established,omitempty"` // its ADD was answered

	replaces   podsock.Key // attachment whose device it takes over, until it is saved; zero: none
	unreadable bool        // the last read of the device failed
	gone       time.Time   // since when the network namespace is known to be gone
}

// journal keeps one file for each entry, in a directory that belongs to the agent alone.
type journal struct{ dir string }

const (
	recordSuffix  = ".json"
	damagedSuffix = ".damaged"
	formatVersion = 1
)

// document is the contents of a file.
type document struct {
	Version int    `json:"version"`
	Entry   *entry `json:"entry"`
}

// openJournal opens the directory, which it makes if it is missing, and returns the entries in it. Files that cannot be
// read as an entry are renamed and reported in damaged.
func openJournal(dir string) (j *journal, entries []*entry, damaged []error, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, nil, nil, fmt.Errorf("pods: %w", err)
	}
	entries, broken, err := readEntries(dir)
	if err != nil {
		return nil, nil, nil, err
	}
	for path, err := range broken {
		damaged = append(damaged, errors.Join(fmt.Errorf("%s: %w", path, err), os.Rename(path, path+damagedSuffix)))
	}
	return &journal{dir}, entries, damaged, nil
}

// readEntries reads the entries of a directory and changes nothing. broken holds the errors of files that are no entries.
func readEntries(dir string) (entries []*entry, broken map[string]error, err error) {
	files, err := os.ReadDir(dir)
	if err != nil {
		return nil, nil, fmt.Errorf("pods: %w", err)
	}
	broken = map[string]error{}
	for _, f := range files {
		if filepath.Ext(f.Name()) != recordSuffix || strings.HasPrefix(f.Name(), ".") {
			continue
		}
		path := filepath.Join(dir, f.Name())
		e, err := readEntry(path, strings.TrimSuffix(f.Name(), recordSuffix))
		if err != nil {
			broken[path] = err
			continue
		}
		entries = append(entries, e)
	}
	return entries, broken, nil
}

// recordsDir is the folder of the records in a state directory.
const recordsDir = "records"

// Read returns the records in a state directory of this boot of the host, by key, and changes nothing. A missing directory
// has none.
func Read(dir, bootID string) ([]podsock.Record, error) {
	entries, _, err := readEntries(filepath.Join(dir, recordsDir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var out []podsock.Record
	for _, e := range entries {
		if e.BootID == bootID {
			out = append(out, e.Record)
		}
	}
	slices.SortFunc(out, func(a, b podsock.Record) int { return strings.Compare(a.Key.String(), b.Key.String()) })
	return out, nil
}

func readEntry(path, name string) (*entry, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var d document
	if err := json.Unmarshal(b, &d); err != nil {
		return nil, err
	}
	switch {
	case d.Version != formatVersion:
		return nil, fmt.Errorf("version: found %d, want %d", d.Version, formatVersion)
	case d.Entry == nil:
		return nil, errors.New("entry: found none, want one")
	}
	if err := d.Entry.Attachment.Check(); err != nil {
		return nil, err
	}
	if want := d.Entry.Key.Name(); want != name {
		return nil, fmt.Errorf("found the record of another file, %s", want)
	}
	return d.Entry, nil
}

func (j *journal) path(k podsock.Key) string { return filepath.Join(j.dir, k.Name()+recordSuffix) }

// save makes an entry durable.
func (j *journal) save(e *entry) error {
	b, err := json.Marshal(document{formatVersion, e})
	if err == nil {
		err = durable.WriteFile(j.path(e.Key), b, 0o600)
	}
	if err != nil {
		return fmt.Errorf("journal of pods: %w", err)
	}
	return nil
}

// remove removes the entry of an attachment.
func (j *journal) remove(k podsock.Key) error {
	err := os.Remove(j.path(k))
	if err == nil {
		err = durable.SyncDir(j.dir)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("journal of pods: %w", err)
	}
	return nil
}
