package podsock

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"fairlane/internal/durable"
)

// Spooled is a request that a client keeps for an agent that does not run: a release, or an attachment of a network whose
// policy is open. The last one of an attachment replaces those before.
type Spooled struct {
	At      time.Time   `json:"at"`
	Release *Key        `json:"release,omitempty"`
	Attach  *Attachment `json:"attach,omitempty"`
	file    string
}

const (
	spoolSuffix = ".json"
	maxSpool    = 16384 // files that are read; far more than attachments of a node
)

// Key returns the attachment that it concerns.
func (s *Spooled) Key() Key {
	if s.Attach != nil {
		return s.Attach.Key
	}
	return *s.Release
}

// Name returns the file name of an attachment's document: names of networks and containers may be too long for one.
func (k Key) Name() string {
	sum := sha256.Sum256([]byte(k.Network + "\x00" + k.ContainerID + "\x00" + k.Interface))
	return fmt.Sprintf("%x", sum[:16])
}

// SpoolRelease keeps a release.
func SpoolRelease(dir string, k Key, at time.Time) error {
	return spool(dir, &Spooled{At: at, Release: &k})
}

// SpoolAttach keeps an attachment.
func SpoolAttach(dir string, a *Attachment, at time.Time) error {
	return spool(dir, &Spooled{At: at, Attach: a})
}

func spool(dir string, s *Spooled) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("spool: %w", err)
	}
	b, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("spool: %w", err)
	}
	if err := durable.WriteFile(filepath.Join(dir, s.Key().Name()+spoolSuffix), b, 0o600); err != nil {
		return fmt.Errorf("spool: %w", err)
	}
	return nil
}

// ReadSpool returns the requests in the spool, oldest first. A file that is no request is renamed and reported in damaged.
// A missing directory is an empty spool.
func ReadSpool(dir string) (found []Spooled, damaged []error, err error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("spool: %w", err)
	}
	for _, e := range entries[:min(len(entries), maxSpool)] {
		if strings.HasPrefix(e.Name(), ".") || filepath.Ext(e.Name()) != spoolSuffix {
			continue
		}
		s, err := readSpooled(filepath.Join(dir, e.Name()))
		switch {
		case errors.Is(err, fs.ErrNotExist): // another reader removed it
		case err != nil:
			path := filepath.Join(dir, e.Name())
			damaged = append(damaged, errors.Join(err, os.Rename(path, path+".damaged")))
		default:
			found = append(found, *s)
		}
	}
	slices.SortStableFunc(found, func(a, b Spooled) int { return a.At.Compare(b.At) })
	return found, damaged, nil
}

func readSpooled(path string) (*Spooled, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("spool: %w", err)
	}
	s, err := decodeSpooled(b)
	if err != nil {
		return nil, fmt.Errorf("spool: %s: %w", path, err)
	}
	s.file = path
	return s, nil
}

func decodeSpooled(b []byte) (*Spooled, error) {
	var s Spooled
	if err := json.Unmarshal(b, &s); err != nil {
		return nil, err
	}
	switch {
	case s.Attach != nil && s.Release == nil:
		return &s, s.Attach.Check()
	case s.Release != nil && s.Attach == nil:
		return &s, s.Release.Check()
	}
	return nil, errors.New("found neither or both of attach and release, want one")
}

// Remove removes a request from the spool once it was executed, unless a newer one replaced it.
func (s *Spooled) Remove() error {
	now, err := readSpooled(s.file)
	if errors.Is(err, fs.ErrNotExist) || err == nil && now.At.After(s.At) {
		return nil
	}
	if err := os.Remove(s.file); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("spool: %w", err)
	}
	return nil
}
