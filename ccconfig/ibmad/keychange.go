package ibmad

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"fairlane/ccconfig/driver"
	"fairlane/subnet"
	"fairlane/subnet/mad"
)

// Reasons for which a change of keys stopped, for errors.Is.
var (
	// ErrCanary reports that the change failed on one of the first devices.
	ErrCanary = errors.New("the device that was tried first did not take the key")
	// ErrBudget reports that the change failed on more devices than allowed.
	ErrBudget = errors.New("too many devices failed")
)

// KeyChange specifies the new key of a set of devices, and the conditions of the change.
type KeyChange struct {
	// To is the new key of all devices; 0 removes keys.
	To mad.Key
	// From are the keys that devices may have now, besides To and no key. A device with another key is not changed and counts
	// as failed.
	From []mad.Key
	// Protect requires the key for Gets too. Without it, anyone on the fabric can read the key.
	Protect bool
	// LeaseSeconds is the time after a violation until Protect ends by itself, so that a lost key can be read and replaced; 0
	// means never, which requires Forever.
	LeaseSeconds uint16
	// Forever allows Protect without a lease: if To is lost, the devices cannot be changed before they restart.
	Forever bool
	// Keep preserves the protection and the lease of each device; Protect, LeaseSeconds and Forever must be zero then.
	Keep bool
	// TakeOver also changes devices with a readable key of another manager.
	TakeOver bool
	// ClearViolations resets the violation counter to zero.
	ClearViolations bool
	// Stored is called once, before anything is written. It must verify that To is stored in a place that survives this process
	// and a power failure. It must not be nil unless To is 0.
	Stored func(context.Context) error
	// Failures is the number of failed devices after which no further device is started, 0 or more.
	Failures int
	// Parallel is the largest number of devices changed at the same time, 1 to 4096; 0 means 64.
	Parallel int
	// DryRun reads all devices and writes nothing.
	DryRun bool
	// Progress is called after each device of each phase, not concurrently; may be nil.
	Progress func(KeyProgress)
}

// KeyProgress is the progress of a change.
type KeyProgress struct {
	Writing  bool // false while the devices are being read
	Done, Of int  // devices of this phase
}

// KeyOutcome is the result of a change of keys for one device.
type KeyOutcome string

// Outcomes.
const (
	KeyUnchanged   KeyOutcome = "unchanged"    // it already had the key, the protection and the lease
	KeyChanged     KeyOutcome = "changed"      // written, and verified by a read with the new key
	KeyWouldChange KeyOutcome = "would-change" // in a dry run
	KeyUnsupported KeyOutcome = "unsupported"  // it does not support CongestionKeyInfo, so it has no key
	KeyFailed      KeyOutcome = "failed"       // it has another key, does not answer, returns an error, or reads back differently
	KeySkipped     KeyOutcome = "skipped"      // not started, because the change stopped before
)

// KeyResult is the initial state of a device in a change of keys, and the outcome.
type KeyResult struct {
	Before  KeyState
	Outcome KeyOutcome
	Err     error // for KeyFailed or KeyUnsupported
}

// KeyRun is the result of a change of keys.
type KeyRun struct {
	Results []KeyResult // in the order of the devices
	// Stopped is the reason for skipped devices: ErrCanary, ErrBudget or the end of the context; nil if no device was skipped.
	Stopped error
}

// Count returns the number of devices with an outcome.
func (r *KeyRun) Count(o KeyOutcome) int {
	n := 0
	for i := range r.Results {
		if r.Results[i].Outcome == o {
			n++
		}
	}
	return n
}

// ChangeKeys sets the same key on all devices. It is idempotent: the same change completes a change that was interrupted at any
// time, because each device then has the new key, an old one or none, and is written with the key that it has.
//
// First all devices are read. If more of them than allowed have another manager's key or do not answer, nothing is written.
// Then Stored must succeed. Then one channel adapter and one switch are changed, and each is verified by a read with the new
// key; if one fails, the change stops. Then the other devices follow, several at the same time, until more than the allowed
// number have failed.
//
// ChangeKeys returns driver.ErrInvalid, before anything is sent, for a change that locks out every manager or risks to:
// protection without a key, permanent protection without Forever, or a key that is not stored.
func (d *Driver) ChangeKeys(ctx context.Context, devices []driver.Device, c KeyChange) (KeyRun, error) {
	if err := c.Check(); err != nil {
		return KeyRun{}, err
	}
	tried := append(slices.Clone(c.From), c.To)
	if c.To == 0 && len(c.From) > 0 {
		tried = slices.Clone(c.From) // a device without a key accepts any key
	}
	states, err := d.ReadKeys(ctx, devices, KeyRead{Keys: tried, Parallel: c.Parallel, Progress: c.progress(false, len(devices))})
	if err != nil {
		return KeyRun{}, err
	}
	r := keyRun{d: d, c: &c, out: KeyRun{Results: make([]KeyResult, len(states))}}
	var todo []int
	for i := range states {
		r.out.Results[i] = c.judge(&states[i])
		if r.out.Results[i].Outcome == KeyWouldChange {
			todo = append(todo, i)
		}
		if r.out.Results[i].Outcome == KeyFailed {
			r.failed++
		}
	}
	if err := ctx.Err(); err != nil {
		for i := range states { // devices not read because the context ended have not failed
			if errors.Is(states[i].Err, err) {
				todo = append(todo, i)
			}
		}
		return r.stop(todo, err), nil
	}
	if r.failed > c.Failures {
		return r.stop(todo, fmt.Errorf("%w: %d when they were read, %d may: nothing was written", ErrBudget, r.failed, c.Failures)), nil
	}
	if c.DryRun || len(todo) == 0 {
		return r.out, nil
	}
	if c.Stored != nil {
		if err := c.Stored(ctx); err != nil {
			r.stop(todo, err)
			return r.out, fmt.Errorf("the new CC_Key is not stored; nothing was written: %w", err)
		}
	}
	r.report = c.progress(true, len(todo))
	return r.write(ctx, todo), nil
}

// Check returns driver.ErrInvalid for a change that locks out every manager or risks to, and for options out of range.
func (c *KeyChange) Check() error {
	if err := c.check(); err != nil {
		return driver.Refusef(driver.ErrInvalid, "%w", err)
	}
	return nil
}

func (c *KeyChange) check() error {
	switch {
	case c.Keep && (c.Protect || c.LeaseSeconds != 0 || c.Forever):
		return errors.New("found both kept and new protection: want one of them")
	case c.Keep && c.To == 0:
		return errors.New("kept protection without a CC_Key: want a key, or no protection")
	case c.Protect && c.To == 0:
		return errors.New("protection without a CC_Key: want a key, or no protection")
	case c.Protect && c.LeaseSeconds == 0 && !c.Forever:
		return errors.New("protection with a lease of 0 seconds never ends: when the key is lost, no manager can change the devices before they restart: want a lease of 1 to 65535 seconds, or an explicit choice of no end")
	case c.To != 0 && c.Stored == nil:
		return errors.New("a CC_Key that is not stored: want it kept before any device gets it")
	case c.Failures < 0:
		return fmt.Errorf("failures allowed %d: want 0 or more", c.Failures)
	}
	_, err := parallelKeys(c.Parallel)
	return err
}

func (c *KeyChange) progress(writing bool, of int) func(int) {
	if c.Progress == nil {
		return nil
	}
	return func(done int) { c.Progress(KeyProgress{Writing: writing, Done: done, Of: of}) }
}

// judge decides on the change of a device in a given state.
func (c *KeyChange) judge(s *KeyState) KeyResult {
	r := KeyResult{Before: *s, Outcome: KeyFailed}
	switch {
	case errors.Is(s.Err, driver.ErrUnsupported):
		r.Outcome, r.Err = KeyUnsupported, s.Err
	case s.Err != nil:
		r.Err = s.Err
	case s.Holder == KeyHidden:
		r.Err = fmt.Errorf("%s: %w: it does not show which CC_Key it has, so that a change could not be verified", s.Device, driver.ErrUnsupported)
	case s.Holder == KeyOther && !c.TakeOver:
		r.Err = fmt.Errorf("%s: %w: it has a CC_Key that is neither the old nor the new one", s.Device, driver.ErrConflict)
	case c.same(s):
		r.Outcome = KeyUnchanged
	default:
		r.Outcome = KeyWouldChange
	}
	return r
}

// same reports whether the device already has the desired state.
func (c *KeyChange) same(s *KeyState) bool {
	protect, lease := c.guard(s)
	return s.key == c.To && s.Protect == protect && s.LeaseSeconds == lease && !(c.ClearViolations && s.Violations != 0)
}

// guard returns the desired protection and lease of a device in a given state.
func (c *KeyChange) guard(s *KeyState) (protect bool, leaseSeconds uint16) {
	if c.Keep {
		return s.Protect, s.LeaseSeconds
	}
	return c.Protect, c.LeaseSeconds
}

// keyRun is the state of a change while devices are written.
type keyRun struct {
	d        *Driver
	c        *KeyChange
	report   func(int)
	reported counter

	mu     sync.Mutex
	out    KeyRun
	failed int
}

// write changes the devices at the positions in todo: first one of each kind, then all others.
func (r *keyRun) write(ctx context.Context, todo []int) KeyRun {
	canaries, rest := r.canaries(todo)
	for n, i := range canaries {
		if err := ctx.Err(); err != nil {
			return r.stop(append(canaries[n:], rest...), err)
		}
		if r.change(ctx, i); r.out.Results[i].Outcome == KeyFailed {
			err := ctx.Err() // the end of the context is not a failure of a device
			if err == nil {
				err = fmt.Errorf("%w: %w", ErrCanary, r.out.Results[i].Err)
			}
			return r.stop(append(canaries[n+1:], rest...), err)
		}
	}
	parallel, _ := parallelKeys(r.c.Parallel) // checked before
	inParallel(parallel, len(rest), func(n int) {
		if err := r.may(ctx); err != nil {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.out.Results[rest[n]].Outcome, r.out.Stopped = KeySkipped, err
			return
		}
		r.change(ctx, rest[n])
	})
	return r.out
}

// canaries returns the first device of each kind, and the rest.
func (r *keyRun) canaries(todo []int) (first, rest []int) {
	seen := map[subnet.NodeKind]bool{}
	for _, i := range todo {
		if kind := r.out.Results[i].Before.Device.Kind; !seen[kind] {
			seen[kind] = true
			first = append(first, i)
			continue
		}
		rest = append(rest, i)
	}
	return first, rest
}

// may returns the reason for which no further device may be started, or nil.
func (r *keyRun) may(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failed > r.c.Failures {
		return fmt.Errorf("%w: %d, %d may", ErrBudget, r.failed, r.c.Failures)
	}
	return nil
}

// stop marks the devices at the positions as skipped.
func (r *keyRun) stop(todo []int, why error) KeyRun {
	for _, i := range todo {
		r.out.Results[i].Outcome, r.out.Results[i].Err = KeySkipped, nil
	}
	r.out.Stopped = why
	return r.out
}

// change writes one device and verifies it by a read.
func (r *keyRun) change(ctx context.Context, i int) {
	err := r.d.changeKey(ctx, &r.out.Results[i].Before, r.c)
	r.mu.Lock()
	defer r.mu.Unlock()
	res := &r.out.Results[i]
	if res.Outcome, res.Err = KeyChanged, err; err != nil {
		res.Outcome = KeyFailed
		r.failed++
	}
	r.reported.done(r.report)
}

// keyAttempts is the number of attempts for a device that still has its old key afterwards; the transport has repeated each
// request several times by then.
const keyAttempts = 2

// changeKey sets the key of one device. It ignores the answer to the Set, or its absence: a transport that repeats a request
// after a lost answer repeats it with the old key, which is then wrong.
func (d *Driver) changeKey(ctx context.Context, s *KeyState, c *KeyChange) error {
	info := mad.CongestionKeyInfo{CCKey: c.To, Violations: 1}
	info.Protect, info.LeasePeriod = c.guard(s)
	if c.ClearViolations {
		info.Violations = 0
	}
	var last error
	for range keyAttempts {
		req := mad.NewCC(mad.MethodSet, mad.AttrCongestionKeyInfo, 0, s.key)
		copy(req.Data(), s.data[:])
		if err := req.Overlay(&info); err != nil {
			return fmt.Errorf("%w: %s: %w", driver.ErrInvalid, s.Device, err)
		}
		_, err := d.exchange(ctx, s.Device, &req)
		if err != nil && !errors.Is(err, driver.ErrUnreachable) {
			return err // rejected, or the context ended
		}
		last = err
		now := KeyState{Device: s.Device, Known: -1}
		err = d.askKey(ctx, &now, []mad.Key{c.To}, 0)
		switch {
		case err == nil && now.Holder == KeyHidden:
			return fmt.Errorf("%s: %w: since its CC_Key was written it does not show its key, so the change could not be verified", s.Device, driver.ErrConflict)
		case err == nil && now.key == c.To:
			return differs(&now, info.Protect, info.LeasePeriod)
		case err != nil && !errors.Is(err, driver.ErrUnreachable):
			return err
		}
		if err != nil { // no answer with the new key; try the old one
			if err := d.askKey(ctx, &now, []mad.Key{s.key}, 0); err != nil {
				return fmt.Errorf("after its CC_Key was written it answers to neither the old nor the new one: %w", err)
			}
		}
	}
	return errors.Join(fmt.Errorf("%s: %w: it shows another CC_Key than was written", s.Device, driver.ErrConflict), last)
}

// differs returns an error if a device with the new key has a different protection or lease.
func differs(now *KeyState, protect bool, leaseSeconds uint16) error {
	if now.Protect == protect && now.LeaseSeconds == leaseSeconds {
		return nil
	}
	return fmt.Errorf("%s: %w: it has the key, but reads back protection %t with a lease of %d s, want %t with %d s",
		now.Device, driver.ErrConflict, now.Protect, now.LeaseSeconds, protect, leaseSeconds)
}
