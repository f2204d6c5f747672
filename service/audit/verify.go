package audit

import (
	"encoding/json"

	"fairlane/internal/phrase"
)

// BadError reports the first invalid entry.
type BadError struct {
	Seq  int64       // of the entry, or of a missing one
	Said phrase.Text // what is wrong with it
}

var _ phrase.Sentence = (*BadError)(nil)

// Error returns the number and the fault.
func (e *BadError) Error() string { return e.Sentence().String() }

// Sentence returns the error for readers of any language.
func (e *BadError) Sentence() phrase.Text {
	return phrase.Of("audit.bad", "seq", e.Seq, "reason", e.Said)
}

// Verifier checks a chain entry by entry, oldest first. The zero value is ready to use.
type Verifier struct {
	// Expect, if its Seq is not 0, is an entry recorded elsewhere. The chain must contain it unchanged, unless it was
	// pruned.
	Expect Tail

	first  Tail // what precedes the first entry
	tail   Tail
	count  int64
	pruned Tail // what the newest pruning removed
	met    bool // Expect was seen
}

// Add checks the next entry. Its error is a *BadError; after one, the results of Add and Finish are invalid.
func (v *Verifier) Add(e Entry) error {
	if v.count == 0 {
		v.first = Tail{Seq: e.Seq - 1, Hash: e.Prev}
		v.tail = v.first
		if e.Seq < 1 {
			return &BadError{e.Seq, phrase.Of("audit.below-one")}
		}
	}
	switch {
	case e.Seq != v.tail.Seq+1:
		return &BadError{v.tail.Seq + 1, phrase.Of("audit.missing", "next", e.Seq, "previous", v.tail.Seq)}
	case e.Prev != v.tail.Hash:
		return &BadError{e.Seq, phrase.Of("audit.no-link")}
	case e.Sum() != e.Hash:
		return &BadError{e.Seq, phrase.Of("audit.changed")}
	}
	v.tail = Tail{e.Seq, e.Hash}
	v.count++
	if v.Expect.Seq == e.Seq {
		if v.Expect.Hash != e.Hash {
			return &BadError{e.Seq, phrase.Of("audit.rewritten")}
		}
		v.met = true
	}
	if e.Action == ActionPruned {
		var p Pruned
		if err := json.Unmarshal(e.After, &p); err != nil {
			return &BadError{e.Seq, phrase.Of("audit.no-pruned")}
		}
		v.pruned = p.Through
	}
	return nil
}

// Report is the result of a check.
type Report struct {
	Entries int64 `json:"entries"`
	First   int64 `json:"first"` // number of the oldest kept entry; 0 if there is none
	Tail    Tail  `json:"tail"`
}

// Finish checks both ends. What precedes the first entry must be the beginning, or what an entry of the chain records
// as pruned. The last entry must be the store's tail.
func (v *Verifier) Finish(tail Tail) (Report, error) {
	r := Report{Entries: v.count, Tail: v.tail}
	if v.count > 0 {
		r.First = v.first.Seq + 1
	}
	switch {
	case v.first != v.pruned: // also when nothing was pruned: then both are zero
		if v.first.Seq < v.pruned.Seq {
			return r, &BadError{v.first.Seq + 1, phrase.Of("audit.not-pruned", "through", v.pruned.Seq)}
		}
		return r, &BadError{v.pruned.Seq + 1, phrase.Of("audit.missing-unpruned")}
	case v.tail.Seq < tail.Seq:
		return r, &BadError{v.tail.Seq + 1, phrase.Of("audit.cut-off", "last", tail.Seq)}
	case v.tail != tail:
		return r, &BadError{v.tail.Seq, phrase.Of("audit.other-end")}
	case v.Expect.Seq > v.tail.Seq:
		return r, &BadError{v.tail.Seq + 1, phrase.Of("audit.expected-missing", "expected", v.Expect.Seq)}
	case v.Expect.Seq > v.first.Seq && !v.met:
		return r, &BadError{v.Expect.Seq, phrase.Of("audit.not-expected")}
	}
	return r, nil
}

// Tail returns the end of the entries added so far.
func (v *Verifier) Tail() Tail { return v.tail }
