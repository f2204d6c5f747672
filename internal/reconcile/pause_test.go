package reconcile_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"fairlane/ccconfig/driver"
	"fairlane/ccconfig/driver/drivertest"
	"fairlane/internal/reconcile"
	"fairlane/subnet/ident"
)

var (
	errDisk      = errors.New("disk full")
	errUnhealthy = errors.New("pause time doubled")
)

func TestCancellingFinishesWhatIsInWorkAndBeginsNothing(t *testing.T) {
	t.Parallel()
	s := newStage(devices(6, 1)...)
	s.rollout.Options.Parallel = 1
	ctx, cancel := context.WithCancel(t.Context())
	s.fake.Inject(func(op drivertest.Op) drivertest.Fault {
		if op.Device.ID == ca(2).ID && op.Field == "cct" {
			cancel() // in the middle of the third device
		}
		return drivertest.FaultNone
	})
	res := reconcile.Run(ctx, s.rollout, s.deps)
	s.journal.check(t)
	s.honest(t, res)
	wantOutcome(t, res, reconcile.OutcomePaused)
	if !errors.Is(res.Err, context.Canceled) {
		t.Errorf("paused with %v", res.Err)
	}
	for n := range 6 {
		want := reconcile.InSync
		if n > 2 {
			want = reconcile.Pending
		}
		if got := s.state(res, ca(n)); got.State != want || got.Touched != (n <= 2) {
			t.Errorf("%s is %s, touched %t, want %s", got.Device, got.State, got.Touched, want)
		}
	}
	// The same rollout again goes on where it stopped.
	s.fake.Inject(nil)
	res = reconcile.Run(t.Context(), s.rollout, reconcile.Deps{Driver: s.fake, Clock: s.clock})
	wantOutcome(t, res, reconcile.OutcomeDone)
}

func TestCancellingBeforeTheBeginTouchesNothing(t *testing.T) {
	t.Parallel()
	s := newStage(devices(2, 1)...)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	res := reconcile.Run(ctx, s.rollout, s.deps)
	wantOutcome(t, res, reconcile.OutcomePaused)
	for _, d := range res.Devices {
		if d.State != reconcile.Unknown || d.Touched {
			t.Errorf("%s is %s", d.Device, d.State)
		}
	}
}

func TestCancellingInABackoffClaimsNothing(t *testing.T) {
	t.Parallel()
	s := newStage(devices(1, 1)...)
	ctx, cancel := context.WithCancel(t.Context())
	s.fake.Inject(func(op drivertest.Op) drivertest.Fault {
		if op.Field == "ca.sl" {
			cancel()
			return drivertest.FaultLost
		}
		return drivertest.FaultNone
	})
	res := reconcile.Run(ctx, s.rollout, s.deps)
	s.journal.check(t)
	s.honest(t, res)
	wantOutcome(t, res, reconcile.OutcomePaused)
	got := s.state(res, ca(0))
	if got.State != reconcile.Unknown || !got.Touched || got.Before == nil {
		t.Errorf("half-written device: state %s, touched %t, before %v", got.State, got.Touched, got.Before)
	}
	if s.journal.state[ca(0).ID] != reconcile.Unknown || !drivertest.Defaults(ca(0)).Equal(*s.journal.before[ca(0).ID]) {
		t.Error("the journal does not hold what a later run needs to undo the device")
	}
}

// hangs is a driver whose writes take as long as the context lets them.
type hangs struct{ driver.Driver }

func (h hangs) Apply(ctx context.Context, _ driver.Device, _ driver.Settings) (driver.Receipt, error) {
	<-ctx.Done()
	return driver.Receipt{Fields: []driver.FieldReceipt{{Field: "cct", Outcome: driver.OutcomeSent}}}, ctx.Err()
}

func TestTheGraceBoundsAPause(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(ca(0), ca(1))
		s.deps.Clock, s.deps.Driver = nil, hangs{s.fake} // the system clock is virtual in here
		s.rollout.Options.Grace = 7 * time.Second
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		begun := time.Now()
		res := reconcile.Run(ctx, s.rollout, s.deps)
		if took := time.Since(begun); took != 10*time.Second {
			t.Errorf("paused after %s, want the timeout and the grace, 10s", took)
		}
		s.journal.check(t)
		wantOutcome(t, res, reconcile.OutcomePaused)
		if got := s.state(res, ca(0)); got.State != reconcile.Unknown || !got.Touched {
			t.Errorf("hanging device is %s, touched %t", got.State, got.Touched)
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
		wantOutcome(t, s.run(t), reconcile.OutcomeDone)
		if took := time.Since(begun); took != 300*time.Millisecond {
			t.Errorf("took %s, want the two waits of 100ms and 200ms", took)
		}
	})
}

// TestAFailingRecorderStopsTheRollout fails the journal at every event in turn.
func TestAFailingRecorderStopsTheRollout(t *testing.T) {
	t.Parallel()
	for n := 0; ; n++ {
		s := newStage(devices(2, 1)...)
		s.rollout.Options.Parallel = 1
		left := n
		s.journal.fail = func(reconcile.Event) error {
			if left == 0 {
				return errDisk
			}
			left--
			return nil
		}
		res := s.run(t)
		if left > 0 {
			break // more events than there are
		}
		// The last two events come when everything is read back.
		if res.Outcome != reconcile.OutcomeDone && (res.Outcome != reconcile.OutcomePaused || !errors.Is(res.Err, errDisk)) {
			t.Errorf("event %d fails: outcome %s, error %v", n, res.Outcome, res.Err)
		}
		for _, d := range res.Devices {
			id := d.Device.ID
			announced := s.journal.before[id] != nil
			if s.fake.Writes(id) > 0 && !announced {
				t.Errorf("event %d fails: %s was written although that could not be recorded", n, d.Device)
			}
			if d.State == reconcile.InSync && s.journal.state[id] != reconcile.InSync {
				t.Errorf("event %d fails: %s is in sync for the result, %s in the journal", n, d.Device, s.journal.state[id])
			}
		}
	}
}

// resume makes the targets of a run that continues one whose journal is j.
func resume(targets []reconcile.Target, j *journal) []reconcile.Target {
	out := make([]reconcile.Target, len(targets))
	for i, target := range targets {
		target.Before = j.before[target.Device.ID]
		out[i] = target
	}
	return out
}

// TestACrashAtAnyOperationIsUndoneByTheNextRun kills a rollout at every operation in turn and
// then lets the health gate stop a second run, which has what the first one recorded:
// everything must return to the state before the first run.
func TestACrashAtAnyOperationIsUndoneByTheNextRun(t *testing.T) {
	t.Parallel()
	for n := 0; ; n++ {
		s := newStage(devices(2, 1)...)
		s.rollout.Options.Parallel = 1
		initial := map[ident.PortID]driver.Settings{}
		for _, target := range s.rollout.Targets {
			initial[target.Device.ID] = wanted(target.Device, 1)
			s.fake.SetState(target.Device.ID, wanted(target.Device, 1))
		}
		ctx, cancel := context.WithCancel(t.Context())
		ops := 0
		s.fake.Inject(func(drivertest.Op) drivertest.Fault {
			ops++
			if ops > n {
				cancel() // from here on nothing gets through, and nothing is recorded
				return drivertest.FaultLost
			}
			return drivertest.FaultNone
		})
		s.journal.fail = func(reconcile.Event) error { return context.Cause(ctx) }
		crashed := reconcile.Run(ctx, s.rollout, s.deps)
		cancel()
		if ops <= n {
			wantOutcome(t, crashed, reconcile.OutcomeDone)
			break
		}
		s.fake.Inject(nil)
		second := s.rollout
		second.Targets = resume(s.rollout.Targets, s.journal)
		unhealthy := func(_ context.Context, w reconcile.Wave) error {
			if w.Index == w.Total-1 {
				return errUnhealthy
			}
			return nil
		}
		res := reconcile.Run(t.Context(), second, reconcile.Deps{Driver: s.fake, Clock: s.clock, Gate: unhealthy})
		wantOutcome(t, res, reconcile.OutcomeRolledBack)
		for id, before := range initial {
			if ds := before.Diff(s.fake.State(id)); len(ds) > 0 {
				t.Errorf("crash at operation %d: %s is not as before the first run: %v", n, id, ds)
			}
		}
	}
}
