package agent

import (
	"context"
	"sync"
)

// Journal stores the agent's memory: a document that is written as a whole.
type Journal interface {
	// Load returns the last document; nothing when there was none.
	Load(ctx context.Context) ([]byte, error)
	// Save replaces the document. Once it returns without an error, the new document survives any crash; until then the
	// earlier one does.
	Save(ctx context.Context, document []byte) error
}

// Noter is a journal that can store a document more cheaply for as long as the host runs: after a crash of the host,
// the last saved document may replace it. In both cases the document is complete. This suffices for values that a
// crash resets as well.
type Noter interface {
	Journal
	Note(ctx context.Context, document []byte) error
}

// MemoryJournal stores the document in memory: for simulated hosts, whose journal survives their reboots. The zero value
// is empty. It is safe for concurrent use.
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
