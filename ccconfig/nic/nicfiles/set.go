package nicfiles

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"fairlane/ccconfig/nic/nicparam"
)

// Set sets the values of parameters of any ports of the device, all or none.
//
// First the table checks the whole set, and all affected values are read; after an error there is no receipt, and nothing was
// written. Then the set is written, with parameters that are changed by side effects after those that change them, and
// everything is read back. After any failure, or at the end of the context, all parameters get their earlier values; the end of
// the context does not interrupt this. The error is then a *SetError, and the receipt has the outcome of each field.
func (d *Device) Set(ctx context.Context, set []nicparam.Setting) (*Receipt, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	t := &transaction{device: d, at: map[nicparam.Key]int{}}
	if err := t.prepare(ctx, set); err != nil {
		return nil, err
	}
	if t.write(ctx) {
		t.verify(ctx)
	}
	return t.finish(context.WithoutCancel(ctx))
}

// Restore sets earlier values of the device, such as those before an installation. Unlike Set it restores as much as possible:
// a failure does not stop the restore of other parameters, and values that the table does not allow are written too. The error
// names every parameter that does not have its value at the end.
func (d *Device) Restore(ctx context.Context, earlier []nicparam.Setting) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(earlier) > nicparam.MaxSet {
		return fmt.Errorf("restore: found %d settings, want at most %d", len(earlier), nicparam.MaxSet)
	}
	var keys []nicparam.Key
	for _, s := range earlier {
		keys = append(keys, s.Key)
	}
	t := &transaction{device: d, at: map[nicparam.Key]int{}}
	now := d.resolve(ctx, keys)
	var errs []error
	for _, s := range earlier {
		r := now[s.Key]
		_, twice := t.at[s.Key]
		switch {
		case r.accessor == nil || errors.Is(r.Err, ErrAbsent):
			errs = append(errs, fmt.Errorf("%s: was %d: %w: %w", s.Key, s.Value, ErrNotRestored, r.Err))
		case twice:
			errs = append(errs, fmt.Errorf("%s: found twice, want once: %w", s.Key, ErrNotRestored))
		default:
			t.add(Field{Key: s.Key, By: r.By, Before: s.Value, Want: s.Value}, r.accessor)
		}
	}
	errs = append(errs, t.prepareAffected(ctx))
	accessors, fields := t.byAccessor()
	for _, a := range accessors {
		t.restore(ctx, a, fields[a])
	}
	for i := range t.fields {
		errs = append(errs, t.fields[i].NotRestored)
	}
	return errors.Join(errs...)
}

// transaction is the state of one set.
type transaction struct {
	device    *Device
	fields    []Field
	accessors []Accessor                               // accessor of each field
	at        map[nicparam.Key]int                     // index of each field
	order     []int                                    // order of writing
	begun     map[Accessor]bool                        // accessors with possible writes
	back      map[Accessor]func(context.Context) error // by accessor, restores a state; nil if values are restored instead
}

// prepare checks the set and reads the affected values.
func (t *transaction) prepare(ctx context.Context, set []nicparam.Setting) error {
	var keys []nicparam.Key
	for _, s := range set[:min(len(set), nicparam.MaxSet)] {
		keys = append(keys, s.Key)
	}
	before := t.device.resolve(ctx, append(keys, t.device.table.Asks(set)...))
	unread := error(nil) // of values that the check needs: it may explain a failed check
	now := func(k nicparam.Key) (uint64, bool) {
		r, ok := before[k]
		if r.Err != nil && unread == nil {
			unread = fmt.Errorf("%s: %w", k, r.Err)
		}
		return r.Value, ok && r.Err == nil
	}
	if err := t.device.table.Check(set, now); err != nil {
		return errors.Join(unread, err)
	}
	var errs []error
	for _, s := range set {
		r := before[s.Key]
		if r.Err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", s.Key, r.Err))
			continue
		}
		t.add(Field{Key: s.Key, By: r.By, Before: r.Value, Want: s.Value, Got: r.Value, Outcome: Skipped}, r.accessor)
	}
	if len(errs) > 0 {
		return errors.Join(errs...)
	}
	if err := t.prepareAffected(ctx); err != nil {
		return err
	}
	return t.snapshot(ctx)
}

func (t *transaction) add(f Field, a Accessor) {
	t.at[f.Key] = len(t.fields)
	t.fields, t.accessors = append(t.fields, f), append(t.accessors, a)
}

// also returns the side effects of a write of a field.
func (t *transaction) also(i int) []nicparam.Setting {
	f := &t.fields[i]
	p, ok := t.device.table.Find(f.Name)
	if !ok {
		return nil
	}
	s, _ := p.Source(f.By)
	var out []nicparam.Setting
	for _, e := range s.Also {
		out = append(out, nicparam.Setting{Key: nicparam.Key{Port: f.Port, Name: e.Name, Index: f.Index}, Value: e.Value})
	}
	return out
}

// prepareAffected reads the parameters that the set's writes change as side effects, and corrects the order of writing.
// Unreadable parameters do not become fields; the error names them.
func (t *transaction) prepareAffected(ctx context.Context) error {
	var errs []error
	for i, n := 0, len(t.fields); i < n; i++ {
		for _, e := range t.also(i) {
			if _, have := t.at[e.Key]; have {
				continue
			}
			r := t.accessors[i].Read(ctx, []nicparam.Key{e.Key})[0]
			switch {
			case errors.Is(r.Err, ErrAbsent):
			case r.Err != nil:
				errs = append(errs, fmt.Errorf("%s changes %s too: %w", t.fields[i].Key, e.Key, r.Err))
			default:
				t.add(Field{Key: e.Key, By: r.By, Before: r.Value, Want: r.Value, Got: r.Value, Outcome: Affected}, t.accessors[i])
			}
		}
	}
	for i := range t.fields {
		t.order = append(t.order, i)
	}
	slices.SortStableFunc(t.order, func(a, b int) int { return len(t.also(b)) - len(t.also(a)) })
	return errors.Join(errs...)
}

// snapshot takes a snapshot of each accessor whose state is more than values.
func (t *transaction) snapshot(ctx context.Context) error {
	t.back = map[Accessor]func(context.Context) error{}
	for _, a := range t.accessors {
		if r, ok := a.(Rewinder); ok && t.back[a] == nil {
			back, err := r.Snapshot(ctx)
			if err != nil {
				return err
			}
			t.back[a] = back
		}
	}
	return nil
}

// byAccessor groups the indices of fields by accessor, in the order of writing; the accessors are in the order of their
// first field.
func (t *transaction) byAccessor() (accessors []Accessor, fields map[Accessor][]int) {
	fields = map[Accessor][]int{}
	for _, i := range t.order {
		a := t.accessors[i]
		if fields[a] == nil {
			accessors = append(accessors, a)
		}
		fields[a] = append(fields[a], i)
	}
	return accessors, fields
}

func (t *transaction) keys(fields []int) []nicparam.Key {
	out := make([]nicparam.Key, len(fields))
	for n, i := range fields {
		out[n] = t.fields[i].Key
	}
	return out
}

// write writes the values that differ and reports whether all writes were accepted.
func (t *transaction) write(ctx context.Context) bool {
	t.begun = map[Accessor]bool{}
	touched := make([]bool, len(t.fields))
	accessors, fields := t.byAccessor()
	for _, a := range accessors {
		var todo []nicparam.Setting
		var index []int
		for _, i := range fields[a] {
			f := &t.fields[i]
			if f.Outcome == Affected {
				continue
			}
			if f.Before == f.Want && !touched[i] {
				f.Outcome = Unchanged
				continue
			}
			todo, index = append(todo, nicparam.Setting{Key: f.Key, Value: f.Want}), append(index, i)
			t.touch(i, touched)
		}
		if len(todo) > 0 && !t.writeBy(ctx, a, todo, index) {
			return false
		}
	}
	for i := range t.fields {
		if f := &t.fields[i]; f.Outcome == Affected && !touched[i] {
			f.Outcome = Unchanged
		}
	}
	return true
}

// touch marks the parameters that a write of a field changes as side effects, and sets the expected values of those that are
// not in the set.
func (t *transaction) touch(i int, touched []bool) {
	for _, e := range t.also(i) {
		if j, ok := t.at[e.Key]; ok {
			touched[j] = true
			if t.fields[j].Outcome == Affected {
				t.fields[j].Want = e.Value
			}
		}
	}
}

func (t *transaction) writeBy(ctx context.Context, a Accessor, todo []nicparam.Setting, index []int) bool {
	t.begun[a] = true
	ok := true
	for n, err := range a.Write(ctx, todo) {
		f := &t.fields[index[n]]
		switch {
		case err == nil:
			f.Outcome = Unverified // until it is read back
		case errors.Is(err, ErrSkipped):
			f.Outcome = Skipped
			if ctx.Err() != nil && ok {
				f.Err = fmt.Errorf("%s: %w", f.Key, err)
			}
			ok = false
		default:
			f.Outcome, f.Err = Refused, fmt.Errorf("%s: write %d: %w", f.Key, f.Want, err)
			ok = false
		}
	}
	return ok
}

// verify reads everything back and sets the outcomes.
func (t *transaction) verify(ctx context.Context) {
	accessors, fields := t.byAccessor()
	for _, a := range accessors {
		for n, r := range a.Read(ctx, t.keys(fields[a])) {
			t.fields[fields[a][n]].judge(r)
		}
	}
}

// judge compares the value read back with the desired one.
func (f *Field) judge(r Reading) {
	if r.Err != nil {
		f.Outcome, f.Err = Unverified, fmt.Errorf("%s: read back: %w", f.Key, r.Err)
		return
	}
	f.Got = r.Value
	bits, cut := clippedTo(f.Want, f.Got)
	switch {
	case f.Outcome == Affected && f.Got == f.Before:
		f.Outcome, f.Want = Unchanged, f.Before // it already had the value, or the driver does not have the side effect
	case f.Got == f.Want:
		if f.Outcome == Unverified {
			f.Outcome = Verified
		}
	case f.Got == f.Before:
		f.Outcome = Ignored
		f.Err = fmt.Errorf("%s: wrote %d, read back %d as before: %w", f.Key, f.Want, f.Got, ErrNotKept)
	case cut:
		f.Outcome = Clipped
		f.Err = fmt.Errorf("%s: wrote %d, read back %d, cut to %d bits: %w", f.Key, f.Want, f.Got, bits, ErrNotKept)
	default:
		f.Outcome = Overridden
		f.Err = fmt.Errorf("%s: want %d, read back %d, another program may also write it: %w", f.Key, f.Want, f.Got, ErrNotKept)
	}
}

// clippedTo returns the register width to which a number was truncated or saturated.
func clippedTo(want, got uint64) (int, bool) {
	for _, bits := range []int{15, 17, 32} {
		most := uint64(1)<<bits - 1
		if want > most && (got == want&most || got == most) {
			return bits, true
		}
	}
	return 0, false
}

// finish ends a set: with a receipt if all values are as desired, otherwise by restoring all earlier values.
func (t *transaction) finish(ctx context.Context) (*Receipt, error) {
	e := &SetError{}
	for i := range t.fields {
		if err := t.fields[i].Err; err != nil {
			e.Causes = append(e.Causes, err)
		}
	}
	if len(e.Causes) == 0 {
		return &Receipt{Fields: t.fields}, nil
	}
	accessors, fields := t.byAccessor()
	for _, a := range accessors {
		if t.begun[a] {
			t.restore(ctx, a, fields[a])
		}
	}
	for i := range t.fields {
		if err := t.fields[i].NotRestored; err != nil {
			e.NotRestored = append(e.NotRestored, err)
		}
	}
	return &Receipt{Fields: t.fields, RolledBack: len(t.begun) > 0}, e
}

// restore restores the earlier values of an accessor's fields, and marks those that do not have them at the end. If the
// accessor has a snapshot, only that is restored, because writing values would not restore more.
func (t *transaction) restore(ctx context.Context, a Accessor, fields []int) {
	var rewound error
	var failed map[nicparam.Key]error
	if back := t.back[a]; back != nil {
		rewound = back(ctx)
	} else {
		failed = t.rewrite(ctx, a, fields)
	}
	for n, r := range a.Read(ctx, t.keys(fields)) {
		f := &t.fields[fields[n]]
		why := cmp.Or(rewound, failed[f.Key], r.Err)
		switch {
		case r.Err == nil && r.Value == f.Before && rewound == nil:
		case why != nil:
			f.NotRestored = fmt.Errorf("%s: was %d: %w: %w", f.Key, f.Before, ErrNotRestored, why)
		default:
			f.NotRestored = fmt.Errorf("%s: was %d, is %d: %w", f.Key, f.Before, r.Value, ErrNotRestored)
		}
	}
}

// rewrite writes the earlier values of an accessor's fields and returns the errors. A rejected write may have been
// executed anyway, so it reads the current values to find what to write.
func (t *transaction) rewrite(ctx context.Context, a Accessor, fields []int) map[nicparam.Key]error {
	var todo []nicparam.Setting
	touched := make([]bool, len(t.fields))
	for n, r := range a.Read(ctx, t.keys(fields)) {
		i := fields[n]
		f := &t.fields[i]
		if r.Err == nil && r.Value == f.Before && !touched[i] {
			continue
		}
		todo = append(todo, nicparam.Setting{Key: f.Key, Value: f.Before})
		t.touch(i, touched)
	}
	if len(todo) == 0 {
		return nil
	}
	failed := map[nicparam.Key]error{}
	for n, err := range a.Write(ctx, todo) {
		if err == nil {
			continue
		}
		// Another value of the set may have been the rejected one.
		if err := a.Write(ctx, todo[n:n+1])[0]; err != nil {
			failed[todo[n].Key] = err
		}
	}
	return failed
}
