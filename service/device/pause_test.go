package device_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"fairlane/ccconfig/driver"
	"fairlane/ccconfig/driver/drivertest"
	"fairlane/service/device"
)

var errDisk = errors.New("disk full")

func TestCancelFinishesDevicesInProgressAndStartsNone(t *testing.T) {
	t.Parallel()
	s := newStage(devices(6, 1)...)
	s.part.Options.Parallel = 1
	ctx, cancel := context.WithCancel(t.Context())
	s.fake.Inject(func(op drivertest.Op) drivertest.Fault {
		if op.Device.ID == ca(2).ID && op.Field == "cct" {
			cancel() // during the third device
		}
		return drivertest.FaultNone
	})
	s.check(t, s.work(ctx))
	for n := range 6 {
		want := device.InSync
		if n > 2 {
			want = device.Pending
		}
		if s.want(t, want, ca(n)); s.row(ca(n)).Touched != (n <= 2) {
			t.Errorf("%s: touched %t", ca(n), s.row(ca(n)).Touched)
		}
	}
	// The next worker continues where this one stopped.
	s.fake.Inject(nil)
	s.check(t, s.again(t.Context(), false))
	s.want(t, device.InSync, devices(6, 1)...)
	for _, d := range devices(6, 1) {
		if n := s.row(d).writes; n != 1 {
			t.Errorf("%s was written %d times", d, n)
		}
	}
}

func TestCancelBeforeTheStartTouchesNoDevice(t *testing.T) {
	t.Parallel()
	s := newStage(devices(2, 1)...)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s.check(t, s.work(ctx))
	if len(s.journal.events) > 0 {
		t.Errorf("it began with %+v", s.journal.events[0])
	}
}

func TestCancelDuringABackoffLeavesDeviceUnknown(t *testing.T) {
	t.Parallel()
	s := newStage(devices(1, 1)...)
	s.part.Options.Parallel = 1
	ctx, cancel := context.WithCancel(t.Context())
	s.fake.Inject(func(op drivertest.Op) drivertest.Fault {
		if op.Field == "ca.sl" {
			cancel()
			return drivertest.FaultLost
		}
		return drivertest.FaultNone
	})
	s.check(t, s.work(ctx))
	s.want(t, device.Unknown, ca(0))
	s.want(t, device.Pending, sw(0))
	if r := s.row(ca(0)); !r.Touched || r.Before == nil || !drivertest.Defaults(ca(0)).Equal(*r.Before) {
		t.Errorf("half-written device: touched %t, before %v: a later worker needs both to undo it", r.Touched, r.Before)
	}
}

// hangs is a driver whose writes last until their context ends.
type hangs struct{ driver.Driver }

func (h hangs) Apply(ctx context.Context, _ driver.Device, _ driver.Settings) (driver.Receipt, error) {
	<-ctx.Done()
	return driver.Receipt{Fields: []driver.FieldReceipt{{Field: "cct", Outcome: driver.OutcomeSent}}}, ctx.Err()
}

// unsent is a driver that cannot send anything.
type unsent struct{ driver.Driver }

func (unsent) Apply(context.Context, driver.Device, driver.Settings) (driver.Receipt, error) {
	return driver.Receipt{}, errors.Join(driver.ErrUnsent, driver.ErrUnreachable)
}

func TestADeviceToWhichNothingWasSentIsUntouched(t *testing.T) {
	t.Parallel()
	s := newStage(ca(0))
	s.deps.Driver = unsent{s.fake}
	s.check(t, s.work(t.Context()))
	s.want(t, device.Failed, ca(0))
	if s.row(ca(0)).Touched {
		t.Error("it is said that it may have been written")
	}
}

func TestGraceBoundsAPause(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(ca(0), ca(1))
		s.deps.Clock, s.deps.Driver = nil, hangs{s.fake} // the system clock is virtual in here
		s.part.Options.Grace = 7 * time.Second
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		begun := time.Now()
		s.check(t, s.work(ctx))
		if took := time.Since(begun); took != 10*time.Second {
			t.Errorf("paused after %s, want the timeout and the grace, 10s", took)
		}
		s.want(t, device.Unknown, ca(0), ca(1))
		if !s.row(ca(0)).Touched {
			t.Error("a hanging device is said to be untouched")
		}
	})
}

func TestSystemClockBacksOffInVirtualTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(ca(0))
		s.deps.Clock = nil
		s.fake.Inject(on(ca(0), drivertest.OpRead, 2, drivertest.FaultBusy))
		begun := time.Now()
		s.run(t)
		s.want(t, device.InSync, ca(0))
		if took := time.Since(begun); took != 300*time.Millisecond {
			t.Errorf("took %s, want the two waits of 100ms and 200ms", took)
		}
	})
}

// TestAFailingRecorderStopsTheWork fails the journal at every event in turn, forward and back.
func TestAFailingRecorderStopsTheWork(t *testing.T) {
	t.Parallel()
	for _, undo := range []bool{false, true} {
		for n := 0; ; n++ {
			s := newStage(devices(2, 1)...)
			s.part.Options.Parallel = 1
			if undo {
				s.run(t)
			}
			written := len(s.journal.events)
			failed := false
			s.journal.fail = func(device.Event) error {
				if len(s.journal.events) == written+n {
					failed = true
					return errDisk
				}
				return nil
			}
			work := s.work
			if undo {
				work = func(ctx context.Context) error { return s.again(ctx, true) }
			}
			err := work(t.Context())
			s.honest(t)
			if !failed { // there are no more events
				s.check(t, err)
				break
			}
			if !errors.Is(err, errDisk) {
				t.Errorf("event %d fails, undo %t: error %v", n, undo, err)
			}
			if got := len(s.journal.events) - written; got != n {
				t.Errorf("event %d fails, undo %t: %d events were recorded", n, undo, got)
			}
			for _, it := range s.part.Items {
				if r := s.row(it.Device); s.fake.Writes(it.Device.ID) > 0 && (r.Before == nil || r.writes == 0) {
					t.Errorf("event %d fails, undo %t: %s was written although that could not be recorded", n, undo, it.Device)
				}
			}
		}
	}
}

// TestACrashAtAnyOperationIsUndoneByTheNextRun kills a worker at every operation and every record in turn. The next
// worker, which has the record, finishes devices in progress and starts none, since too many failed meanwhile, or runs
// only after the rollout has turned back. Then every device returns to its previous settings.
func TestACrashAtAnyOperationIsUndoneByTheNextRun(t *testing.T) {
	t.Parallel()
	for _, finish := range []bool{true, false} {
		for n := 0; ; n++ {
			s := newStage(devices(3, 1)...)
			s.part.Options.Parallel = 1
			for _, it := range s.part.Items {
				s.fake.SetState(it.Device.ID, wanted(it.Device, 1))
			}
			s.fake.SetClamp(ca(1).ID, never(wanted(ca(1), 0)))
			ctx, cancel := context.WithCancel(t.Context())
			steps := 0
			dead := func() bool { // from step n on nothing is sent or recorded
				if steps++; steps > n {
					cancel()
				}
				return steps > n
			}
			s.fake.Inject(func(drivertest.Op) drivertest.Fault {
				if dead() {
					return drivertest.FaultLost
				}
				return drivertest.FaultNone
			})
			s.journal.fail = func(device.Event) error {
				if dead() {
					return context.Canceled
				}
				return nil
			}
			err := s.work(ctx)
			cancel()
			if steps <= n {
				s.check(t, err)
				s.want(t, device.InSync, ca(0))
				s.want(t, device.RolledBack, ca(1))
				s.want(t, device.Pending, ca(2), sw(0))
				break
			}
			s.fake.Inject(nil)
			s.journal.fail = nil
			if finish {
				s.part.Failures = 1
				s.check(t, s.again(t.Context(), false))
				for _, d := range devices(3, 1) {
					if r := s.row(d); r.Touched && r.State != device.InSync || r.State == device.InSync && !r.Touched {
						t.Errorf("crash at step %d: %s is left as %s, touched %t", n, d, r.State, r.Touched)
					}
				}
			}
			s.undo(t)
			for id, before := range s.initial {
				if ds := before.Diff(s.fake.State(id)); len(ds) > 0 {
					t.Errorf("crash at step %d: %s is not as before: %v", n, id, ds)
				}
				if r := s.journal.rows[id]; r.Touched {
					t.Errorf("crash at step %d: %s is left as %s", n, id, r.State)
				}
			}
		}
	}
}
