package nicfiles

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"fairlane/ccconfig/nic/nicparam"
)

// Device is the parameters of one card, by all the ways that lead to them. It may be used by several goroutines: sets
// follow each other.
type Device struct {
	table *nicparam.Table
	ways  []Way
	mu    sync.Mutex // held by a set
}

// NewDevice makes a device of ways. Where several lead to a parameter, the first that the host offers is taken.
func NewDevice(table *nicparam.Table, ways ...Way) *Device {
	return &Device{table: table, ways: ways}
}

// Read reads parameters, in their order. Each that no way leads to has ErrAbsent.
func (d *Device) Read(ctx context.Context, keys []nicparam.Key) []Reading {
	return d.look(ctx, keys, nil)
}

// ReadAll reads all that the host offers: what is there and cannot be read is in it, with its error. Each way of instead
// stands for the device's own of the same back end.
func (d *Device) ReadAll(ctx context.Context, instead ...Way) []Reading {
	var keys []nicparam.Key
	for _, w := range d.ways {
		keys = append(keys, w.Keys()...)
	}
	from := d
	if len(instead) > 0 {
		from = &Device{table: d.table, ways: slices.Clone(d.ways)}
		for i, w := range from.ways {
			if at := slices.IndexFunc(instead, func(x Way) bool { return x.Backend() == w.Backend() }); at >= 0 {
				from.ways[i] = instead[at]
			}
		}
	}
	return slices.DeleteFunc(from.Read(ctx, unique(keys)), func(r Reading) bool { return errors.Is(r.Err, ErrAbsent) })
}

// unique is the keys without repetitions, in the order of their first.
func unique(keys []nicparam.Key) []nicparam.Key {
	seen := make(map[nicparam.Key]bool, len(keys))
	var out []nicparam.Key
	for _, k := range keys {
		if !seen[k] {
			seen[k] = true
			out = append(out, k)
		}
	}
	return out
}

// resolved is a reading and the way that it came by.
type resolved struct {
	Reading
	way Way
}

// resolve reads keys by the first way that offers each.
func (d *Device) resolve(ctx context.Context, keys []nicparam.Key) map[nicparam.Key]resolved {
	keys = unique(keys)
	out, by := make(map[nicparam.Key]resolved, len(keys)), make([]Way, len(keys))
	for i, r := range d.look(ctx, keys, by) {
		out[keys[i]] = resolved{r, by[i]}
	}
	return out
}

// look reads keys by the first way that offers each, in their order. It notes the ways in by, unless that is nil.
func (d *Device) look(ctx context.Context, keys []nicparam.Key, by []Way) []Reading {
	out := make([]Reading, len(keys))
	left := make([]int, len(keys)) // of keys that nothing was read of yet
	for i := range left {
		left[i] = i
	}
	mine, at := make([]nicparam.Key, 0, len(keys)), make([]int, 0, len(keys))
	for _, w := range d.ways {
		if len(left) == 0 {
			break
		}
		mine, at = mine[:0], at[:0]
		rest := left[:0]
		for _, i := range left {
			if w.Knows(keys[i]) {
				mine, at = append(mine, keys[i]), append(at, i)
			} else {
				rest = append(rest, i)
			}
		}
		if len(mine) > 0 {
			for j, r := range w.Read(ctx, mine) {
				out[at[j]] = r
				if by != nil {
					by[at[j]] = w
				}
				if errors.Is(r.Err, ErrAbsent) {
					rest = append(rest, at[j])
				}
			}
		}
		left = rest
	}
	for _, i := range left {
		if out[i].Err == nil { // no way was tried
			out[i] = Reading{Setting: nicparam.Setting{Key: keys[i]}, Err: fmt.Errorf("%s: %w by any way of this host", keys[i], ErrAbsent)}
		}
	}
	return out
}

// Outcome is what became of one parameter of a set.
type Outcome string

// Outcomes.
const (
	Unchanged  Outcome = "unchanged"  // had the value before; not written
	Verified   Outcome = "verified"   // written, and read back as wanted
	Affected   Outcome = "affected"   // not in the set: a write changes it too, as the table says
	Refused    Outcome = "refused"    // the write failed
	Skipped    Outcome = "skipped"    // not written, since another one failed
	Clipped    Outcome = "clipped"    // accepted, and cut to the register's width
	Ignored    Outcome = "ignored"    // accepted, and the earlier value was read back
	Overridden Outcome = "overridden" // accepted, and something else was read back: someone else writes too
	Unverified Outcome = "unverified" // accepted, and not read back
)

// Field is one parameter of a receipt.
type Field struct {
	nicparam.Key
	By      nicparam.Backend
	Before  uint64
	Want    uint64 // of an Affected one, what the table says that it becomes
	Got     uint64 // read back; meaningless when Refused, Skipped or Unverified
	Outcome Outcome
	Err     error // why it is not as wanted
	// NotRestored says why a field of a set that failed does not have its earlier value; nil where it has.
	NotRestored error
}

// Receipt says what became of a set, field by field: those of the set in its order, then those that were affected.
type Receipt struct {
	Fields []Field
	// RolledBack is set when the set failed after something may have been written: every field has its earlier value
	// but those with NotRestored.
	RolledBack bool
}

// Pending lists the fields that act only after a firmware reset.
func (r *Receipt) Pending() []nicparam.Key {
	var out []nicparam.Key
	for _, f := range r.Fields {
		if f.By == nicparam.NV && f.Outcome == Verified {
			out = append(out, f.Key)
		}
	}
	return out
}

// SetError is a set that failed.
type SetError struct {
	Causes      []error // of the fields that failed
	NotRestored []error // of the fields that do not have their earlier value
}

// Error says what failed and how the device is now.
func (e *SetError) Error() string {
	words := make([]string, len(e.Causes))
	for i, c := range e.Causes {
		words[i] = c.Error()
	}
	s := strings.Join(words, "; ")
	if len(e.NotRestored) == 0 {
		return s + "; everything is as it was"
	}
	words = words[:0]
	for _, c := range e.NotRestored {
		words = append(words, c.Error())
	}
	return s + "; NOT RESTORED, repair by hand: " + strings.Join(words, "; ")
}

// Unwrap gives all causes to errors.Is and errors.As.
func (e *SetError) Unwrap() []error { return slices.Concat(e.Causes, e.NotRestored) }
