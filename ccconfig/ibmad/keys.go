package ibmad

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"fairlane/ccconfig/driver"
	"fairlane/subnet/mad"
)

// ErrKey reports that a device does not answer with any of the keys, although its subnet management agent answers: a device
// silently drops a request with a wrong CC_Key (IBTA annex A10.4.2). It accompanies driver.ErrUnreachable.
var ErrKey = errors.New("the CC_Key is likely wrong, or the device has no congestion control")

// KeyHolder classifies the key of a device, as far as it is visible.
type KeyHolder string

// Holders.
const (
	KeyNone    KeyHolder = "none"   // no key: requests are not checked
	KeyKnown   KeyHolder = "known"  // one of the given keys
	KeyOther   KeyHolder = "other"  // another key, which the device shows to any requester
	KeyHidden  KeyHolder = "hidden" // a key that the device does not show
	KeyUnknown KeyHolder = ""       // unknown; see the error
)

// KeyState is the state of a device's CC_Key. Its formatted form never contains the key.
type KeyState struct {
	Device driver.Device
	Holder KeyHolder
	// Known is the index of a KeyKnown in the given keys, otherwise -1.
	Known        int
	Protect      bool   // Gets need the key too
	LeaseSeconds uint16 // time from a violation until Protect ends; 0 means it never does
	Violations   uint16 // requests with a wrong key since the counter was cleared, including those of this read
	// Err is the reason for an unknown key: ErrKey, or one of the kinds of package driver.
	Err error

	key  mad.Key                         // required in requests to the device now
	data [mad.CongestionKeyInfoSize]byte // as answered, for the reserved bits
}

// KeyRead configures ReadKeys. The zero value tries no key and reads 64 devices at the same time.
type KeyRead struct {
	// Keys are tried until the device answers: first the key with which the previous device answered, then the others in this
	// order; an empty list tries key 0. Each wrong key counts as a violation on a protected device, and starts its lease.
	Keys     []mad.Key
	Parallel int            // devices read at the same time, 1 to 4096; 0 means 64
	Progress func(done int) // called after each device, not concurrently; may be nil
}

// ReadKeys reads the key state of every device. The states are in the order of the devices. It returns an error only for
// options out of range; errors of a device, including the end of ctx, are in its state.
func (d *Driver) ReadKeys(ctx context.Context, devices []driver.Device, o KeyRead) ([]KeyState, error) {
	parallel, err := parallelKeys(o.Parallel)
	if err != nil {
		return nil, err
	}
	keys := o.Keys
	if len(keys) == 0 {
		keys = []mad.Key{0}
	}
	out := make([]KeyState, len(devices))
	var lucky atomic.Int32 // the key with which the last device answered
	var progress counter
	inParallel(parallel, len(devices), func(i int) {
		out[i] = d.readKey(ctx, devices[i], keys, &lucky)
		progress.done(o.Progress)
	})
	return out, nil
}

// defaultKeyDevices is the default number of devices processed at the same time.
const defaultKeyDevices = 64

func parallelKeys(n int) (int, error) {
	if n == 0 {
		return defaultKeyDevices, nil
	}
	if n < 1 || n > 4096 {
		return 0, fmt.Errorf("%w: devices at the same time %d: want 1 to 4096", driver.ErrInvalid, n)
	}
	return n, nil
}

// inParallel calls f with 0 to n-1 from a number of goroutines, in about that order, and waits for them.
func inParallel(goroutines, n int, f func(i int)) {
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(goroutines, n) {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				f(i)
			}
		})
	}
	wg.Wait()
}

// counter counts devices for a progress function.
type counter struct {
	mu sync.Mutex
	n  int
}

func (c *counter) done(progress func(int)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n++
	if progress != nil {
		progress(c.n)
	}
}

// readKey tries keys until the device answers.
func (d *Driver) readKey(ctx context.Context, dev driver.Device, keys []mad.Key, lucky *atomic.Int32) KeyState {
	s := KeyState{Device: dev, Known: -1}
	if s.Err = dev.Validate(); s.Err != nil {
		s.Err = errors.Join(driver.ErrInvalid, s.Err)
		return s
	}
	first := int(lucky.Load())
	for n := range len(keys) {
		i := n // the last successful key first, the others in their order
		if n == 0 {
			i = first
		} else if n <= first {
			i = n - 1
		}
		s.Err = d.askKey(ctx, &s, keys, i)
		if !errors.Is(s.Err, driver.ErrUnreachable) {
			if s.Err == nil {
				lucky.Store(int32(i))
			}
			return s
		}
	}
	probe := mad.NewSMP(mad.MethodGet, mad.AttrNodeInfo, 0)
	if _, err := d.exchange(ctx, dev, &probe); err == nil {
		s.Err = fmt.Errorf("CongestionKeyInfo of %s: %w: no answer, though its subnet management agent answers: %w", dev, driver.ErrUnreachable, ErrKey)
	}
	return s
}

// askKey reads CongestionKeyInfo into s with the i-th of the given keys.
func (d *Driver) askKey(ctx context.Context, s *KeyState, keys []mad.Key, i int) error {
	req := mad.NewCC(mad.MethodGet, mad.AttrCongestionKeyInfo, 0, keys[i])
	resp, err := d.exchange(ctx, s.Device, &req)
	if err != nil {
		return err
	}
	var info mad.CongestionKeyInfo
	if err := info.Decode(resp.Data()); err != nil {
		return fmt.Errorf("CongestionKeyInfo of %s: %w", s.Device, err)
	}
	s.data = [mad.CongestionKeyInfoSize]byte(resp.Data())
	s.Protect, s.LeaseSeconds, s.Violations = info.Protect, info.LeasePeriod, info.Violations
	s.key, s.Known = info.CCKey, -1
	switch at := slices.Index(keys, info.CCKey); {
	case info.CCKey == 0 && info.Protect:
		// Protection without a key is not useful: the device hides the key, as subnet management agents hide their M_Key.
		s.Holder, s.key = KeyHidden, keys[i]
	case info.CCKey == 0:
		s.Holder = KeyNone
	case at >= 0:
		s.Holder, s.Known = KeyKnown, at
	default:
		s.Holder = KeyOther
	}
	return nil
}

// Format prints the device and the class of its key, for any verb, and never the key.
func (s KeyState) Format(f fmt.State, _ rune) {
	_, _ = fmt.Fprintf(f, "%s: key %s, protect %t, lease %d s, %d violations", s.Device, s.Holder, s.Protect, s.LeaseSeconds, s.Violations)
}
