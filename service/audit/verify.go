package audit

import (
	"encoding/json"
	"fmt"
)

// BadError names the first entry that does not fit.
type BadError struct {
	Seq    int64 // of the entry, or of the place where one is missing
	Reason string
}

// Error prints both.
func (e *BadError) Error() string { return fmt.Sprintf("audit entry %d: %s", e.Seq, e.Reason) }

// Verifier checks a chain that it is given entry by entry, oldest first. The zero value is ready.
type Verifier struct {
	// Expect, when its Seq is not 0, is an entry remembered from elsewhere that has to be in the
	// chain as it was, unless it was pruned.
	Expect Tail

	first  Tail // what stands before the first entry
	tail   Tail
	count  int64
	pruned Tail // what the newest pruning took out
	met    bool // Expect was seen
}

// Add checks the next entry. The error is a *BadError; after one, what Add and Finish say is void.
func (v *Verifier) Add(e Entry) error {
	if v.count == 0 {
		v.first = Tail{Seq: e.Seq - 1, Hash: e.Prev}
		v.tail = v.first
		if e.Seq < 1 {
			return &BadError{e.Seq, "numbers begin at 1"}
		}
	}
	switch {
	case e.Seq != v.tail.Seq+1:
		return &BadError{v.tail.Seq + 1, fmt.Sprintf("is missing: entry %d comes after %d", e.Seq, v.tail.Seq)}
	case e.Prev != v.tail.Hash:
		return &BadError{e.Seq, "does not continue the entry before it"}
	case e.Sum() != e.Hash:
		return &BadError{e.Seq, "was changed: its hash is not that of its content"}
	}
	v.tail = Tail{e.Seq, e.Hash}
	v.count++
	if v.Expect.Seq == e.Seq {
		if v.Expect.Hash != e.Hash {
			return &BadError{e.Seq, "is not the entry that was remembered: the chain was written anew"}
		}
		v.met = true
	}
	if e.Action == ActionPruned {
		var p Pruned
		if err := json.Unmarshal(e.After, &p); err != nil {
			return &BadError{e.Seq, "does not say what was pruned"}
		}
		v.pruned = p.Through
	}
	return nil
}

// Report says what was checked.
type Report struct {
	Entries int64 `json:"entries"`
	First   int64 `json:"first"` // number of the oldest entry kept; 0 when there is none
	Tail    Tail  `json:"tail"`
}

// Finish checks the two ends: what stands before the first entry must be the beginning, or what an
// entry in the chain says was pruned; the last entry must be the store's tail.
func (v *Verifier) Finish(tail Tail) (Report, error) {
	r := Report{Entries: v.count, Tail: v.tail}
	if v.count > 0 {
		r.First = v.first.Seq + 1
	}
	switch {
	case v.first != v.pruned: // also when nothing was pruned: then both are zero
		if v.first.Seq < v.pruned.Seq {
			return r, &BadError{v.first.Seq + 1, fmt.Sprintf("is there although entries to %d were pruned", v.pruned.Seq)}
		}
		return r, &BadError{v.pruned.Seq + 1, "is missing: no pruning took it out"}
	case v.tail.Seq < tail.Seq:
		return r, &BadError{v.tail.Seq + 1, fmt.Sprintf("is missing: the log went on to entry %d", tail.Seq)}
	case v.tail != tail:
		return r, &BadError{v.tail.Seq, "is not the end that the log has on record"}
	case v.Expect.Seq > v.tail.Seq:
		return r, &BadError{v.tail.Seq + 1, fmt.Sprintf("is missing: entry %d was remembered", v.Expect.Seq)}
	case v.Expect.Seq > v.first.Seq && !v.met:
		return r, &BadError{v.Expect.Seq, "is not the entry that was remembered"}
	}
	return r, nil
}

// Tail is the end of what was added so far.
func (v *Verifier) Tail() Tail { return v.tail }
