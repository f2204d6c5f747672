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

// Device accesses the parameters of one card through its accessors, one for each back end. It is safe for concurrent
// use; sets are serialized.
type Device struct {
	table     *nicparam.Table
	accessors []Accessor
	mu        sync.Mutex // held by a set
}

// NewDevice returns a device with the given accessors. It reads a parameter by the first accessor that supports it on
// the host.
func NewDevice(table *nicparam.Table, accessors ...Accessor) *Device {
	return &Device{table: table, accessors: accessors}
}

// Read reads parameters, in their order. A parameter without an accessor has ErrAbsent.
func (d *Device) Read(ctx context.Context, keys []nicparam.Key) []Reading {
	return d.readKeys(ctx, keys, nil)
}

// ReadAll reads all parameters that the host supports, including unreadable ones with their errors. Each accessor in instead
// replaces the device's own accessor of the same back end.
func (d *Device) ReadAll(ctx context.Context, instead ...Accessor) []Reading {
	var keys []nicparam.Key
	for _, a := range d.accessors {
		keys = append(keys, a.Keys()...)
	}
	from := d
	if len(instead) > 0 {
		from = &Device{table: d.table, accessors: slices.Clone(d.accessors)}
		for i, a := range from.accessors {
			if at := slices.IndexFunc(instead, func(x Accessor) bool { return x.Backend() == a.Backend() }); at >= 0 {
				from.accessors[i] = instead[at]
			}
		}
	}
	return slices.DeleteFunc(from.Read(ctx, unique(keys)), func(r Reading) bool { return errors.Is(r.Err, ErrAbsent) })
}

// unique returns the keys without duplicates, in the order of their first occurrence.
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

// resolved is a reading and its accessor.
type resolved struct {
	Reading
	accessor Accessor
}

// resolve reads keys by the first accessor that supports each.
func (d *Device) resolve(ctx context.Context, keys []nicparam.Key) map[nicparam.Key]resolved {
	keys = unique(keys)
	out, by := make(map[nicparam.Key]resolved, len(keys)), make([]Accessor, len(keys))
	for i, r := range d.readKeys(ctx, keys, by) {
		out[keys[i]] = resolved{r, by[i]}
	}
	return out
}

// readKeys reads keys, in their order, by the first accessor that supports each. It stores the accessors in by, unless that
// is nil.
func (d *Device) readKeys(ctx context.Context, keys []nicparam.Key, by []Accessor) []Reading {
	out := make([]Reading, len(keys))
	unread := make([]int, len(keys)) // keys not yet read
	for i := range unread {
		unread[i] = i
	}
	supported, at := make([]nicparam.Key, 0, len(keys)), make([]int, 0, len(keys))
	for _, a := range d.accessors {
		if len(unread) == 0 {
			break
		}
		supported, at = supported[:0], at[:0]
		rest := unread[:0]
		for _, i := range unread {
			if a.Knows(keys[i]) {
				supported, at = append(supported, keys[i]), append(at, i)
			} else {
				rest = append(rest, i)
			}
		}
		if len(supported) > 0 {
			for j, r := range a.Read(ctx, supported) {
				out[at[j]] = r
				if by != nil {
					by[at[j]] = a
				}
				if errors.Is(r.Err, ErrAbsent) {
					rest = append(rest, at[j])
				}
			}
		}
		unread = rest
	}
	for _, i := range unread {
		if out[i].Err == nil { // no accessor was tried
			out[i] = Reading{Setting: nicparam.Setting{Key: keys[i]}, Err: fmt.Errorf("%s: %w: no back end of this host has it", keys[i], ErrAbsent)}
		}
	}
	return out
}

// Outcome is the result of a set for one parameter.
type Outcome string

// Outcomes.
const (
	Unchanged  Outcome = "unchanged"  // already had the value; not written
	Verified   Outcome = "verified"   // written, and the desired value was read back
	Affected   Outcome = "affected"   // not in the set, but changed by a write's side effect
	Refused    Outcome = "refused"    // the write failed
	Skipped    Outcome = "skipped"    // not written, because another write failed
	Clipped    Outcome = "clipped"    // accepted, but truncated to the register's width
	Ignored    Outcome = "ignored"    // accepted, but the earlier value was read back
	Overridden Outcome = "overridden" // accepted, but a different value was read back: another program also writes
	Unverified Outcome = "unverified" // accepted, but could not be read back
)

// Field is one parameter of a receipt.
type Field struct {
	nicparam.Key
	By      nicparam.Backend
	Before  uint64
	Want    uint64 // for Affected, the value according to the table
	Got     uint64 // read back; invalid for Refused, Skipped and Unverified
	Outcome Outcome
	Err     error // reason of a failure
	// NotRestored is the reason for which a field of a failed set does not have its earlier value; nil if it has.
	NotRestored error
}

// Receipt holds the outcome of a set for each field: first those of the set in its order, then the affected ones.
type Receipt struct {
	Fields []Field
	// RolledBack is set if the set failed after something may have been written: every field without NotRestored has its
	// earlier value.
	RolledBack bool
}

// Pending returns the fields that take effect only after a firmware reset.
func (r *Receipt) Pending() []nicparam.Key {
	var out []nicparam.Key
	for _, f := range r.Fields {
		if f.By == nicparam.NV && f.Outcome == Verified {
			out = append(out, f.Key)
		}
	}
	return out
}

// SetError reports a failed set.
type SetError struct {
	Causes      []error // errors of the failed fields
	NotRestored []error // errors of the fields without their earlier value
}

// Error describes the failures and the current state of the device.
func (e *SetError) Error() string {
	words := make([]string, len(e.Causes))
	for i, c := range e.Causes {
		words[i] = c.Error()
	}
	s := strings.Join(words, "; ")
	if len(e.NotRestored) == 0 {
		return s + "; all previous values are restored"
	}
	words = words[:0]
	for _, c := range e.NotRestored {
		words = append(words, c.Error())
	}
	return s + "; NOT RESTORED, repair by hand: " + strings.Join(words, "; ")
}

// Unwrap returns all causes for errors.Is and errors.As.
func (e *SetError) Unwrap() []error { return slices.Concat(e.Causes, e.NotRestored) }
