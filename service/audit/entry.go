// Package audit implements the arithmetic of the audit log: entries, the hash that chains each to the previous one, and
// the check that no entry was changed, removed or moved. It does not access a database.
//
// The hash of an entry is SHA-256 over its canonical encoding, which ends with the previous entry's hash. To hide a
// change of one entry, all later hashes must be recomputed. To detect even that, store the number and the hash of the
// newest entry elsewhere and compare (Verifier.Expect).
package audit

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"fairlane/internal/phrase"
)

// Outcomes of the action that an entry records.
const (
	Done    = "done"    // the change was made, in the transaction that added the entry
	Refused = "refused" // the caller was not allowed to make the change
)

// ActionPruned is the action of the entry that records which earlier entries retention removed; its After is a Pruned.
const ActionPruned = "audit.pruned"

// Hash is a SHA-256. The zero hash precedes the first entry.
type Hash [sha256.Size]byte

// String returns 64 hexadecimal digits.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// ParseHash parses the output of String.
func ParseHash(s string) (h Hash, err error) {
	if len(s) != 2*len(h) {
		return h, &phrase.Error{Text: phrase.Of("audit.hash-length", "n", len(s), "want", 2*len(h))}
	}
	if _, err := hex.Decode(h[:], []byte(s)); err != nil {
		return h, &phrase.Error{Text: phrase.Of("audit.hash", "want", 2*len(h))}
	}
	return h, nil
}

// MarshalText implements encoding.TextMarshaler.
func (h Hash) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (h *Hash) UnmarshalText(b []byte) (err error) {
	*h, err = ParseHash(string(b))
	return err
}

// Entry is one entry of the log.
type Entry struct {
	Seq       int64           `json:"seq"` // from 1, without gaps
	At        time.Time       `json:"at"`  // UTC, whole microseconds
	Actor     string          `json:"actor"`
	ActorKind string          `json:"actor_kind"`           // user, service-account, token, system
	Token     string          `json:"token,omitempty"`      // name of the token that the request came with; empty for sessions and the service itself
	Addr      string          `json:"addr,omitempty"`       // where the request came from; empty for the service itself
	RequestID string          `json:"request_id,omitempty"` // empty for the service itself
	Fabric    string          `json:"fabric,omitempty"`
	Action    string          `json:"action"` // stable code such as "tenant.updated"
	Object    string          `json:"object"` // name of the changed object
	Outcome   string          `json:"outcome"`
	Detail    string          `json:"detail,omitempty"` // one English sentence
	Said      phrase.Text     `json:"-"`                // Detail as a sentence; not hashed: see Sentence
	Before    json.RawMessage `json:"before,omitempty"`
	After     json.RawMessage `json:"after,omitempty"`
	Prev      Hash            `json:"prev"`
	Hash      Hash            `json:"hash"`
}

// Sentence returns the detail as a sentence. The hash covers its English only, so a sentence with another English is
// ignored.
func (e *Entry) Sentence() phrase.Text {
	if e.Said.String() == e.Detail {
		return e.Said
	}
	return phrase.Or(e.Detail, nil)
}

// Each canonical encoding begins with one of these domains, so that no other use of SHA-256 hashes the same bytes.
const (
	domain      = "fairlane audit entry 1\n"
	tokenDomain = "fairlane audit entry 2\n" // of entries with a token; entries of earlier releases, without one, keep their hash
)

// Canonical returns the bytes that are hashed: the domain; sequence number and microseconds since 1970 as 64-bit
// big-endian numbers; each text after its length as a 64-bit number (the token first if there is one, in another
// domain); and the previous hash. Different entries have different encodings.
func (e *Entry) Canonical() []byte {
	var b bytes.Buffer
	texts := []string{
		e.Actor, e.ActorKind, e.Addr, e.RequestID, e.Fabric, e.Action, e.Object, e.Outcome, e.Detail, string(e.Before), string(e.After),
	}
	if e.Token == "" {
		b.WriteString(domain)
	} else {
		b.WriteString(tokenDomain)
		texts = slices.Insert(texts, 0, e.Token)
	}
	number := func(v int64) { b.Write(binary.BigEndian.AppendUint64(nil, uint64(v))) }
	number(e.Seq)
	number(e.At.UnixMicro())
	for _, s := range texts {
		number(int64(len(s)))
		b.WriteString(s)
	}
	b.Write(e.Prev[:])
	return b.Bytes()
}

// Sum returns the hash that the entry must have.
func (e *Entry) Sum() Hash { return sha256.Sum256(e.Canonical()) }

// Tail is the end of a chain: number and hash of its newest entry; zero for an empty chain.
type Tail struct {
	Seq  int64
	Hash Hash
}

// String returns "SEQ:HASH".
func (t Tail) String() string { return fmt.Sprintf("%d:%s", t.Seq, t.Hash) }

// ParseTail parses the output of String.
func ParseTail(s string) (Tail, error) {
	number, hash, ok := strings.Cut(s, ":")
	if !ok {
		return Tail{}, &phrase.Error{Text: phrase.Of("audit.tail", "found", strconv.Quote(s))}
	}
	seq, err := strconv.ParseInt(number, 10, 64)
	if err != nil || seq < 0 || strconv.FormatInt(seq, 10) != number {
		return Tail{}, &phrase.Error{Text: phrase.Of("audit.tail-number", "found", strconv.Quote(number))}
	}
	h, err := ParseHash(hash)
	return Tail{Seq: seq, Hash: h}, err
}

// MarshalText implements encoding.TextMarshaler with String.
func (t Tail) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler with ParseTail.
func (t *Tail) UnmarshalText(b []byte) (err error) {
	*t, err = ParseTail(string(b))
	return err
}

// Append makes e the entry after the tail. It sets Seq, Prev and Hash, truncates the time to microseconds, and
// converts the JSON to the form that storing and reading does not change.
func (t Tail) Append(e Entry) (Entry, error) {
	e.Seq, e.Prev = t.Seq+1, t.Hash
	e.At = e.At.UTC().Truncate(time.Microsecond)
	for _, part := range []*json.RawMessage{&e.Before, &e.After} {
		if len(*part) == 0 {
			*part = nil
			continue
		}
		b, err := json.Marshal(*part) // compact, with <, > and & escaped: marshalling it again changes nothing
		if err != nil {
			return e, fmt.Errorf("audit entry %s of %q: %w", e.Action, e.Object, err)
		}
		*part = b
	}
	e.Hash = e.Sum()
	return e, nil
}

// Pruned is the After of an ActionPruned entry: the entries removed before the chain's first entry.
type Pruned struct {
	Through Tail  `json:"through"` // the newest removed entry
	Removed int64 `json:"removed"` // number of entries removed by this pruning
}
