package agent

import (
	"context"
	"sync"
)

// Journal keeps the agent's memory: a document that is written as a whole.
type Journal interface {
	// Load returns the document written last; nothing when there was none.
	Load(ctx context.Context) ([]byte, error)
	// Save replaces the document. When it returns without an error the new one is there after any crash, and until then
	// the earlier one is, whole.
	Save(ctx context.Context, document []byte) error
}

// Noter is a journal that can keep a document more cheaply for as long as the host runs: after the host has crashed, the
// document saved before may be there in its place. It must be whole either way. Values that a crash takes as well need no
// more.
type Noter interface {
	Journal
	Note(ctx context.Context, document []byte) error
}

// MemoryJournal keeps the document in memory: for simulated hosts, whose journal outlasts their reboots. The zero value is
// empty. It is safe for concurrent use.
type MemoryJournal struct {
	mu       sync.Mutex
	document []byte
}

var _ Journal = (*MemoryJournal)(nil)

func (j *MemoryJournal) Load(context.Context) ([]byte, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.document, nil
}

func (j *MemoryJournal) Save(_ context.Context, document []byte) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.document = document
	return nil
}
