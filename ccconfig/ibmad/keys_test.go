package ibmad_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"fairlane/ccconfig/driver"
	"fairlane/ccconfig/ibmad"
	"fairlane/internal/quantity"
	"fairlane/sim/simdev"
	"fairlane/subnet"
	"fairlane/subnet/mad"
)

const oldKey, newKey, unknownKey mad.Key = 0x0123456789abcdef, 0xfedcba9876543210, 0x5555aaaa5555aaaa

// fleet is a set of simulated devices behind a transport that counts requests and loses some.
type fleet struct {
	t       testing.TB
	dev     *simdev.Devices
	devices []driver.Device // the switch, then hosts
	nodes   []int32         // of the devices

	wire mad.Transport
	mu   sync.Mutex
	asks int // requests so far
	sets int // Sets of CongestionKeyInfo among them
	// lose determines whether the n-th request, counted from 1, or its reply is lost.
	lose func(n int, req *mad.Packet) (request, reply bool)
}

func newFleet(t testing.TB, o simdev.Options) *fleet {
	t.Helper()
	n, dev, wire, devices := simulated(t, 6, o)
	return &fleet{t: t, dev: dev, wire: wire, devices: devices, nodes: slices.Concat(n.Topology().Switches(), n.Topology().Hosts())}
}

func (f *fleet) Exchange(ctx context.Context, to mad.Target, req *mad.Packet) (mad.Packet, error) {
	if err := ctx.Err(); err != nil {
		return mad.Packet{}, err
	}
	f.mu.Lock()
	f.asks++
	if req.Method() == mad.MethodSet {
		f.sets++
	}
	request, reply := false, false
	if f.lose != nil {
		request, reply = f.lose(f.asks, req)
	}
	f.mu.Unlock()
	if request {
		return mad.Packet{}, fmt.Errorf("%s: %w", to, mad.ErrTimeout)
	}
	resp, err := f.wire.Exchange(ctx, to, req)
	if reply {
		return mad.Packet{}, fmt.Errorf("%s: %w", to, mad.ErrTimeout)
	}
	return resp, err
}

func (f *fleet) driver() *ibmad.Driver {
	f.t.Helper()
	d, err := ibmad.New(f, ibmad.Options{})
	if err != nil {
		f.t.Fatal(err)
	}
	return d
}

// change runs a change that must not be refused.
func (f *fleet) change(c ibmad.KeyChange) ibmad.KeyRun {
	f.t.Helper()
	if c.Stored == nil {
		c.Stored = func(context.Context) error { return nil }
	}
	r, err := f.driver().ChangeKeys(f.t.Context(), f.devices, c)
	if err != nil {
		f.t.Fatal(err)
	}
	return r
}

// want checks that all devices accept the key, and that protected devices accept no other.
func (f *fleet) want(what string, key mad.Key, protect bool, lease uint16) {
	f.t.Helper()
	f.lose = nil
	states, err := f.driver().ReadKeys(f.t.Context(), f.devices, ibmad.KeyRead{Keys: []mad.Key{key}})
	if err != nil {
		f.t.Fatal(err)
	}
	holder := ibmad.KeyKnown
	if key == 0 {
		holder = ibmad.KeyNone
	}
	for _, s := range states {
		if s.Err != nil || s.Holder != holder || s.Protect != protect || s.LeaseSeconds != lease {
			f.t.Errorf("%s: %v (%v)", what, s, s.Err)
		}
	}
}

func (f *fleet) guard(i int, key mad.Key, protect bool, lease uint16) {
	f.t.Helper()
	if err := f.dev.GuardCC(f.nodes[i], key, protect, lease); err != nil {
		f.t.Fatal(err)
	}
}

func TestKeyIsSetRotatedAndRemoved(t *testing.T) {
	t.Parallel()
	f := newFleet(t, simdev.Options{})
	all := len(f.devices)
	for _, step := range []struct {
		what string
		c    ibmad.KeyChange
	}{
		{"set", ibmad.KeyChange{To: oldKey}},
		{"protected", ibmad.KeyChange{To: oldKey, Protect: true, LeaseSeconds: 30}},
		{"rotated", ibmad.KeyChange{From: []mad.Key{oldKey}, To: newKey, Protect: true, LeaseSeconds: 60}},
		{"for ever", ibmad.KeyChange{To: newKey, Protect: true, Forever: true}},
		{"taken away", ibmad.KeyChange{From: []mad.Key{newKey}}},
	} {
		dry := step.c
		dry.DryRun = true
		before := f.sets
		if r := f.change(dry); r.Count(ibmad.KeyWouldChange) != all || f.sets != before {
			t.Errorf("%s, dry: %d would change, %d writes", step.what, r.Count(ibmad.KeyWouldChange), f.sets-before)
		}
		if r := f.change(step.c); r.Count(ibmad.KeyChanged) != all || r.Stopped != nil {
			t.Errorf("%s: %d of %d changed: %v", step.what, r.Count(ibmad.KeyChanged), all, r.Stopped)
		}
		f.want(step.what, step.c.To, step.c.Protect, step.c.LeaseSeconds)
		before = f.sets
		if r := f.change(step.c); r.Count(ibmad.KeyUnchanged) != all || f.sets != before {
			t.Errorf("%s again: %d unchanged, %d writes", step.what, r.Count(ibmad.KeyUnchanged), f.sets-before)
		}
	}
}

// The manager stops at any request, with the request or only its answer lost. The same change then completes.
func TestInterruptedKeyRotationCanBeRepeated(t *testing.T) {
	t.Parallel()
	rotate := ibmad.KeyChange{From: []mad.Key{oldKey}, To: newKey, Protect: true, LeaseSeconds: 600, Parallel: 1}
	whole := newFleet(t, simdev.Options{CCKey: oldKey})
	whole.change(rotate)
	if whole.asks < 3*len(whole.devices) {
		t.Fatalf("%d requests: want a Get, a Set and a Get for each device", whole.asks)
	}
	mixed := 0
	for at := 1; at <= whole.asks; at++ {
		for _, replyOnly := range []bool{false, true} {
			f := newFleet(t, simdev.Options{CCKey: oldKey})
			f.lose = func(n int, _ *mad.Packet) (bool, bool) {
				return n > at || n == at && !replyOnly, n == at && replyOnly
			}
			first := f.change(rotate)
			f.lose = nil
			r := f.change(rotate)
			if r.Stopped != nil || r.Count(ibmad.KeyFailed)+r.Count(ibmad.KeySkipped) > 0 {
				t.Fatalf("stopped at request %d (reply only: %t): %d failed, %d skipped: %v", at, replyOnly, r.Count(ibmad.KeyFailed), r.Count(ibmad.KeySkipped), r.Stopped)
			}
			if r.Count(ibmad.KeyUnchanged) < first.Count(ibmad.KeyChanged) {
				t.Errorf("dead at request %d: the first run claims %d changed, the second found %d", at, first.Count(ibmad.KeyChanged), r.Count(ibmad.KeyUnchanged))
			}
			if n := r.Count(ibmad.KeyUnchanged); n > 0 && n < len(f.devices) {
				mixed++
			}
			f.want(fmt.Sprintf("dead at request %d", at), newKey, true, 600)
		}
	}
	if mixed == 0 {
		t.Error("no interruption left devices at both keys: the test proves nothing")
	}
}

// A transport that repeats a request whose answer was lost repeats the Set with the old key, which the device now
// drops: this counts as a success, with one violation.
func TestSetWithALostResponseSucceeds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, simdev.Options{CCKey: oldKey})
		f.lose = func(_ int, req *mad.Packet) (bool, bool) {
			if req.Method() == mad.MethodSet {
				f.dev.SetFaults(simdev.Faults{LoseReplies: 1})
			}
			return false, false
		}
		r := f.change(ibmad.KeyChange{From: []mad.Key{oldKey}, To: newKey, Protect: true, LeaseSeconds: 9, Parallel: 1})
		if r.Count(ibmad.KeyChanged) != len(f.devices) {
			t.Fatalf("%d of %d changed: %v", r.Count(ibmad.KeyChanged), len(f.devices), r.Stopped)
		}
		f.want("rotated", newKey, true, 9)
		states, err := f.driver().ReadKeys(t.Context(), f.devices, ibmad.KeyRead{Keys: []mad.Key{newKey}})
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range states {
			if s.Violations == 0 {
				t.Errorf("%v: want the violations of the repeated Set counted", s)
			}
		}
		r = f.change(ibmad.KeyChange{To: newKey, Protect: true, LeaseSeconds: 9, ClearViolations: true})
		if r.Count(ibmad.KeyChanged) != len(f.devices) {
			t.Errorf("clearing the counts: %d changed", r.Count(ibmad.KeyChanged))
		}
		if r = f.change(ibmad.KeyChange{To: newKey, Protect: true, LeaseSeconds: 9, ClearViolations: true}); r.Count(ibmad.KeyUnchanged) != len(f.devices) {
			t.Error("the counts were not cleared")
		}
	})
}

func TestCanaryFailureStopsKeyChange(t *testing.T) {
	t.Parallel()
	f := newFleet(t, simdev.Options{})
	f.lose = func(_ int, req *mad.Packet) (bool, bool) { return req.Method() == mad.MethodSet, false }
	r := f.change(ibmad.KeyChange{To: newKey, Failures: 3})
	if !errors.Is(r.Stopped, ibmad.ErrCanary) || r.Count(ibmad.KeyFailed) != 1 || r.Count(ibmad.KeySkipped) != len(f.devices)-1 {
		t.Errorf("%d failed, %d skipped: %v", r.Count(ibmad.KeyFailed), r.Count(ibmad.KeySkipped), r.Stopped)
	}
	f.want("nothing changed", 0, false, 0)
}

// Devices are in different states: each result gives the state, and the budget counts the failed ones.
func TestTheBudgetOfFailures(t *testing.T) {
	t.Parallel()
	prepare := func() *fleet {
		f := newFleet(t, simdev.Options{})
		f.guard(2, unknownKey, true, 600) // locked by another manager
		f.guard(3, unknownKey, false, 0)  // with a readable key of another manager
		f.guard(4, newKey, true, 600)     // already changed
		return f
	}
	f := prepare()
	r := f.change(ibmad.KeyChange{To: newKey, Protect: true, LeaseSeconds: 600, Failures: 1})
	if !errors.Is(r.Stopped, ibmad.ErrBudget) || f.sets != 0 || r.Count(ibmad.KeySkipped) != len(f.devices)-3 {
		t.Errorf("two failures of one allowed: %d writes, %d skipped: %v", f.sets, r.Count(ibmad.KeySkipped), r.Stopped)
	}
	r = f.change(ibmad.KeyChange{To: newKey, Protect: true, LeaseSeconds: 600, Failures: 2})
	if r.Stopped != nil || r.Count(ibmad.KeyChanged) != len(f.devices)-3 || r.Count(ibmad.KeyUnchanged) != 1 {
		t.Errorf("two of two: %d changed, %d unchanged: %v", r.Count(ibmad.KeyChanged), r.Count(ibmad.KeyUnchanged), r.Stopped)
	}
	locked, shown := r.Results[2], r.Results[3]
	if !errors.Is(locked.Err, ibmad.ErrKey) || !errors.Is(locked.Err, driver.ErrUnreachable) || !strings.Contains(locked.Err.Error(), "no answer, though its subnet management agent answers: the CC_Key is likely wrong") {
		t.Errorf("locked: %v", locked.Err)
	}
	if !errors.Is(shown.Err, driver.ErrConflict) || shown.Before.Holder != ibmad.KeyOther {
		t.Errorf("a readable key of another manager: %v", shown.Err)
	}
	f.dev.Advance(601 * quantity.Second) // the attempts started the lease of the locked one
	r = f.change(ibmad.KeyChange{To: newKey, Protect: true, LeaseSeconds: 600, TakeOver: true})
	if r.Count(ibmad.KeyChanged) != 2 {
		t.Errorf("taken over: %d changed: %v", r.Count(ibmad.KeyChanged), r.Stopped)
	}
	f.want("in the end", newKey, true, 600)
}

// The budget also stops a running change: no more devices fail than the budget plus those started concurrently.
func TestFailureBudgetStopsARunningKeyChange(t *testing.T) {
	t.Parallel()
	f := newFleet(t, simdev.Options{})
	sets := 0
	f.lose = func(_ int, req *mad.Packet) (bool, bool) {
		if req.Method() != mad.MethodSet {
			return false, false
		}
		sets++
		return sets > 2, false // after the canaries
	}
	r := f.change(ibmad.KeyChange{To: newKey, Failures: 1, Parallel: 1})
	if !errors.Is(r.Stopped, ibmad.ErrBudget) || r.Count(ibmad.KeyChanged) != 2 || r.Count(ibmad.KeyFailed) != 2 || r.Count(ibmad.KeySkipped) != len(f.devices)-4 {
		t.Errorf("%d changed, %d failed, %d skipped: %v", r.Count(ibmad.KeyChanged), r.Count(ibmad.KeyFailed), r.Count(ibmad.KeySkipped), r.Stopped)
	}
}

func TestDevicesWithoutKeysAndUnresponsiveDevices(t *testing.T) {
	t.Parallel()
	f := newFleet(t, simdev.Options{})
	f.dev.SetFaults(simdev.Faults{Nodes: f.nodes[1:2], CC: simdev.CCNoAttribute})
	f.dev.SetLink(subnet.PortRef{Node: f.nodes[2], Port: 1}, false)
	var seen []ibmad.KeyProgress
	r := f.change(ibmad.KeyChange{To: newKey, Failures: 1, Progress: func(p ibmad.KeyProgress) { seen = append(seen, p) }})
	all := len(f.devices)
	if r.Results[1].Outcome != ibmad.KeyUnsupported || r.Results[2].Outcome != ibmad.KeyFailed || r.Count(ibmad.KeyChanged) != all-2 {
		t.Errorf("without keys %s, dead %s, %d changed", r.Results[1].Outcome, r.Results[2].Outcome, r.Count(ibmad.KeyChanged))
	}
	if err := r.Results[2].Err; errors.Is(err, ibmad.ErrKey) || !errors.Is(err, driver.ErrUnreachable) {
		t.Errorf("a dead device: %v", err)
	}
	if len(seen) != all+all-2 || seen[all-1] != (ibmad.KeyProgress{Done: all, Of: all}) || seen[len(seen)-1] != (ibmad.KeyProgress{Writing: true, Done: all - 2, Of: all - 2}) {
		t.Errorf("progress %v", seen)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if r, err := f.driver().ChangeKeys(ctx, f.devices, ibmad.KeyChange{}); err != nil || !errors.Is(r.Stopped, context.Canceled) || r.Count(ibmad.KeySkipped) != all {
		t.Errorf("cancelled while reading: %d failed, %d skipped: %v, %v", r.Count(ibmad.KeyFailed), r.Count(ibmad.KeySkipped), err, r.Stopped)
	}
}

// keyInfoEdit changes the CongestionKeyInfo in answers.
type keyInfoEdit struct {
	*fleet

	deviceFaults func(*mad.CongestionKeyInfo)
}

func (b *keyInfoEdit) Exchange(ctx context.Context, to mad.Target, req *mad.Packet) (mad.Packet, error) {
	resp, err := b.fleet.Exchange(ctx, to, req)
	if err == nil && resp.Status() == mad.StatusOK && req.Class() == mad.ClassCongestion {
		var k mad.CongestionKeyInfo
		if err := k.Decode(resp.Data()); err != nil {
			return resp, err
		}
		b.deviceFaults(&k)
		if err := resp.Overlay(&k); err != nil {
			return resp, err
		}
	}
	return resp, err
}

func TestPrintingTheStateOfAKeyHidesIt(t *testing.T) {
	t.Parallel()
	f := newFleet(t, simdev.Options{CCKey: unknownKey})
	states, err := f.driver().ReadKeys(t.Context(), f.devices, ibmad.KeyRead{})
	if err != nil {
		t.Fatal(err)
	}
	r := f.change(ibmad.KeyChange{To: newKey})
	for _, text := range []string{fmt.Sprintf("%v %+v %#v %x", states[0], states[0], states[0], states[0]), fmt.Sprintf("%v %+v %#v", r, r, r.Results[0].Err)} {
		if strings.Contains(text, "5555aaaa") || strings.Contains(text, fmt.Sprint(uint64(unknownKey))) || strings.Contains(text, fmt.Sprint(uint64(newKey))) {
			t.Errorf("a key was printed: %s", text)
		}
	}
	if states[0].Holder != ibmad.KeyOther {
		t.Errorf("a readable key is %q", states[0].Holder)
	}
	if _, err := f.driver().ReadKeys(t.Context(), f.devices, ibmad.KeyRead{Parallel: -1}); !errors.Is(err, driver.ErrInvalid) {
		t.Errorf("minus one device at a time: %v", err)
	}
}

// A cancelled change reports the cancellation, and the same change then completes the rest.
func TestCancelledKeyChangeCanBeResumed(t *testing.T) {
	t.Parallel()
	for after := 1; after <= 4; after++ {
		f := newFleet(t, simdev.Options{CCKey: oldKey})
		ctx, cancel := context.WithCancel(t.Context())
		sets := 0
		f.lose = func(_ int, req *mad.Packet) (bool, bool) {
			if req.Method() == mad.MethodSet {
				if sets++; sets == after {
					cancel()
				}
			}
			return false, false
		}
		c := ibmad.KeyChange{From: []mad.Key{oldKey}, To: newKey, Parallel: 1, Stored: func(context.Context) error { return nil }}
		r, err := f.driver().ChangeKeys(ctx, f.devices, c)
		if err != nil || !errors.Is(r.Stopped, context.Canceled) || r.Count(ibmad.KeySkipped) != len(f.devices)-after {
			t.Errorf("cancelled at write %d: %d skipped: %v, %v", after, r.Count(ibmad.KeySkipped), r.Stopped, err)
		}
		f.lose = nil
		if r := f.change(c); r.Stopped != nil || r.Count(ibmad.KeyFailed) > 0 {
			t.Errorf("after write %d: %d failed: %v", after, r.Count(ibmad.KeyFailed), r.Stopped)
		}
		f.want("in the end", newKey, false, 0)
	}
}
