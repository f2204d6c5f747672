package reconcile_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"fairlane/ccconfig/driver"
	"fairlane/ccconfig/driver/drivertest"
	"fairlane/internal/reconcile"
	"fairlane/policy"
	"fairlane/subnet"
	"fairlane/subnet/ident"
)

func TestRolloutWithoutFaultsIsDone(t *testing.T) {
	t.Parallel()
	s := newStage(devices(8, 3)...)
	res := s.run(t)
	wantOutcome(t, res, reconcile.OutcomeDone)
	if res.Err != nil || res.Reason != "" {
		t.Errorf("done with reason %q", res.Reason)
	}
	for _, d := range res.Devices {
		if !d.Touched || d.Before == nil || d.Attempts != 1 {
			t.Errorf("%s: touched %t, before %v, %d attempts", d.Device, d.Touched, d.Before, d.Attempts)
		}
	}
	if len(s.clock.slept) != 0 {
		t.Errorf("waited %v without a reason", s.clock.slept)
	}
	again := reconcile.Run(t.Context(), s.rollout, reconcile.Deps{Driver: s.fake})
	wantOutcome(t, again, reconcile.OutcomeDone)
	for _, d := range again.Devices {
		if d.Touched || d.Attempts != 0 {
			t.Errorf("%s was written although it was as wanted", d.Device)
		}
	}
}

// firstWrites lists the devices in the order of their first write.
func firstWrites(j *journal) []ident.PortID {
	var ids []ident.PortID
	for _, e := range j.events {
		if e.To == reconcile.Applying && !slices.Contains(ids, e.Device.ID) {
			ids = append(ids, e.Device.ID)
		}
	}
	return ids
}

func TestAdaptersComeBeforeSwitchesThatMark(t *testing.T) {
	t.Parallel()
	s := newStage(devices(3, 2)...)
	s.rollout.Options.Parallel = 1
	wantOutcome(t, s.run(t), reconcile.OutcomeDone)
	want := []ident.PortID{ca(0).ID, ca(1).ID, ca(2).ID, sw(0).ID, sw(1).ID}
	if got := firstWrites(s.journal); !slices.Equal(got, want) {
		t.Errorf("written in the order %v, want %v", got, want)
	}
}

func TestSwitchesComeFirstWhenMarkingEnds(t *testing.T) {
	t.Parallel()
	s := newStage(devices(2, 2)...)
	s.rollout.Options.Parallel = 1
	for i := range s.rollout.Targets {
		target := &s.rollout.Targets[i]
		s.fake.SetState(target.Device.ID, target.Want)
		target.Want = drivertest.Defaults(target.Device)
	}
	wantOutcome(t, s.run(t), reconcile.OutcomeDone)
	want := []ident.PortID{sw(0).ID, sw(1).ID, ca(0).ID, ca(1).ID}
	if got := firstWrites(s.journal); !slices.Equal(got, want) {
		t.Errorf("written in the order %v, want %v", got, want)
	}
}

func TestTransientFaultsAreOvercome(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]drivertest.Fault{
		"lost request": drivertest.FaultLost, "lost reply": drivertest.FaultLostReply, "busy": drivertest.FaultBusy,
		"ignored write": drivertest.FaultIgnored, "partial write": drivertest.FaultPartial, "reboot": drivertest.FaultReboot,
	} {
		for _, kind := range []drivertest.OpKind{drivertest.OpRead, drivertest.OpWrite} {
			t.Run(name+" of a "+string(kind), func(t *testing.T) {
				t.Parallel()
				s := newStage(devices(3, 1)...)
				s.fake.Inject(on(ca(1), kind, 2, f))
				wantOutcome(t, s.run(t), reconcile.OutcomeDone)
			})
		}
	}
}

func TestALostReplyIsNotWrittenTwice(t *testing.T) {
	t.Parallel()
	s := newStage(sw(0))
	// Only the last write loses its reply: the device then holds what is wanted.
	s.fake.Inject(func(op drivertest.Op) drivertest.Fault {
		if op.Field == "switch.ports" {
			return drivertest.FaultLostReply
		}
		return drivertest.FaultNone
	})
	res := s.run(t)
	wantOutcome(t, res, reconcile.OutcomeDone)
	if n := s.fake.Writes(sw(0).ID); n != 2 {
		t.Errorf("%d writes, want 2: reading back showed that the lost one had worked", n)
	}
}

func TestAFailedCanaryRollsBackBeforeTheWavesBegin(t *testing.T) {
	t.Parallel()
	s := newStage(devices(6, 1)...)
	s.rollout.Options.FailureBudget = 5
	s.fake.Inject(on(ca(0), drivertest.OpWrite, 6, drivertest.FaultIgnored))
	res := s.run(t)
	wantOutcome(t, res, reconcile.OutcomeRolledBack)
	if got := s.state(res, ca(0)); got.State != reconcile.RolledBack {
		t.Errorf("canary is %s", got.State)
	}
	for n := 1; n < 6; n++ {
		if got := s.state(res, ca(n)); got.State != reconcile.Pending || got.Touched || s.fake.Writes(ca(n).ID) != 0 {
			t.Errorf("%s was touched after the canary had failed", got.Device)
		}
	}
	if !strings.Contains(res.Reason, "canary") || !strings.Contains(res.Reason, "host-0/P1") {
		t.Errorf("reason %q names neither the canary nor the device", res.Reason)
	}
}

// clampTimer is a device that silently holds no timer above 50.
func clampTimer(s *driver.Settings) {
	for sl := range s.CA.SLs {
		s.CA.SLs[sl].Timer = min(s.CA.SLs[sl].Timer, 50)
	}
}

func TestAClampedDeviceIsNeverASuccess(t *testing.T) {
	t.Parallel()
	for _, budget := range []int{0, 1} {
		s := newStage(devices(5, 2)...)
		s.rollout.Options.FailureBudget = budget
		s.fake.SetClamp(ca(3).ID, clampTimer)
		res := s.run(t)
		bad := s.state(res, ca(3))
		if bad.State != reconcile.RolledBack || bad.Attempts != 4 { // three forward, one back
			t.Errorf("clamped device is %s after %d attempts", bad.State, bad.Attempts)
		}
		var diff *reconcile.DifferenceError
		if !errors.As(bad.Err, &diff) || diff.Differences[0].Field != "sl[0].timer" {
			t.Errorf("clamped device failed with %v, want the difference of sl[0].timer", bad.Err)
		}
		if budget == 1 {
			wantOutcome(t, res, reconcile.OutcomePartial)
			if got := s.state(res, sw(1)); got.State != reconcile.InSync {
				t.Errorf("a switch is %s although the failure was within the budget", got.State)
			}
			continue
		}
		wantOutcome(t, res, reconcile.OutcomeRolledBack)
		for _, d := range res.Devices {
			if !drivertest.Defaults(d.Device).Equal(s.fake.State(d.Device.ID)) {
				t.Errorf("%s is not as it was before", d.Device)
			}
		}
	}
}

func TestADeviceThatDiesHalfWayIsStuck(t *testing.T) {
	t.Parallel()
	s := newStage(devices(2, 1)...)
	dead := false
	s.fake.Inject(func(op drivertest.Op) drivertest.Fault {
		if op.Device.ID == ca(1).ID && op.Kind == drivertest.OpWrite && op.Field == "ca.sl" {
			dead = true
		}
		if dead && op.Device.ID == ca(1).ID {
			return drivertest.FaultLost
		}
		return drivertest.FaultNone
	})
	res := s.run(t)
	wantOutcome(t, res, reconcile.OutcomeStuck)
	got := s.state(res, ca(1))
	if !got.Dirty || got.State != reconcile.Failed || !errors.Is(got.Err, driver.ErrUnreachable) {
		t.Errorf("dead device: state %s, dirty %t, error %v", got.State, got.Dirty, got.Err)
	}
	if got := s.state(res, ca(0)); got.State != reconcile.RolledBack {
		t.Errorf("the canary is %s, want rolled back", got.State)
	}
}

func TestADeviceThatNeverAnswersIsUntouched(t *testing.T) {
	t.Parallel()
	s := newStage(devices(3, 0)...)
	s.rollout.Options.FailureBudget = 1
	s.fake.Inject(on(ca(2), drivertest.OpRead, -1, drivertest.FaultLost))
	res := s.run(t)
	wantOutcome(t, res, reconcile.OutcomePartial)
	got := s.state(res, ca(2))
	if got.State != reconcile.Failed || got.Touched || got.Dirty || !errors.Is(got.Err, driver.ErrUnreachable) {
		t.Errorf("silent device: %+v", got)
	}
	if want := []time.Duration{100 * time.Millisecond, 200 * time.Millisecond}; !slices.Equal(s.clock.slept, want) {
		t.Errorf("waited %v, want %v", s.clock.slept, want)
	}
}

func TestBackoffDoublesUpToItsLimit(t *testing.T) {
	t.Parallel()
	s := newStage(ca(0))
	s.rollout.Options.Attempts, s.rollout.Options.Backoff, s.rollout.Options.MaxBackoff = 7, 10*time.Millisecond, 100*time.Millisecond
	s.fake.Inject(on(ca(0), drivertest.OpRead, -1, drivertest.FaultBusy))
	wantOutcome(t, s.run(t), reconcile.OutcomeRolledBack)
	ms := time.Millisecond
	if want := []time.Duration{10 * ms, 20 * ms, 40 * ms, 80 * ms, 100 * ms, 100 * ms}; !slices.Equal(s.clock.slept, want) {
		t.Errorf("waited %v, want %v", s.clock.slept, want)
	}
}

func TestUnsupportedDevicesAreNeitherTriedAgainNorTouched(t *testing.T) {
	t.Parallel()
	s := newStage(devices(3, 1)...)
	s.rollout.Options.FailureBudget = 1
	s.fake.Inject(on(ca(1), drivertest.OpRead, -1, drivertest.FaultUnsupported))
	res := s.run(t)
	wantOutcome(t, res, reconcile.OutcomePartial)
	if got := s.state(res, ca(1)); got.State != reconcile.Unsupported || got.Touched || got.Attempts != 0 {
		t.Errorf("unsupported device: %+v", got)
	}
	if len(s.clock.slept) != 0 {
		t.Error("an unsupported device was tried again")
	}
}

func TestARefusedWriteIsUndone(t *testing.T) {
	t.Parallel()
	s := newStage(devices(2, 0)...)
	s.rollout.Options.FailureBudget = 1
	refuse := true
	s.fake.Inject(func(op drivertest.Op) drivertest.Fault {
		if refuse && op.Device.ID == ca(1).ID && op.Field == "ca.sl" {
			refuse = false
			return drivertest.FaultInvalid
		}
		return drivertest.FaultNone
	})
	res := s.run(t)
	wantOutcome(t, res, reconcile.OutcomePartial)
	got := s.state(res, ca(1))
	if got.State != reconcile.RolledBack || !errors.Is(got.Err, driver.ErrInvalid) {
		t.Errorf("refused device is %s: %v", got.State, got.Err)
	}
}

func TestTheHealthGateRollsBack(t *testing.T) {
	t.Parallel()
	s := newStage(devices(6, 1)...)
	var asked []reconcile.Wave
	s.deps.Gate = func(_ context.Context, w reconcile.Wave) error {
		asked = append(asked, w)
		if w.Index == 1 {
			return errUnhealthy
		}
		return nil
	}
	res := s.run(t)
	wantOutcome(t, res, reconcile.OutcomeRolledBack)
	if !errors.Is(res.Err, errUnhealthy) || len(asked) != 2 || !asked[0].Canary || asked[1].Canary || asked[0].Total != 4 || len(asked[1].Devices) != 3 {
		t.Errorf("error %v after waves %+v", res.Err, asked)
	}
	for n := range 4 {
		if got := s.state(res, ca(n)); got.State != reconcile.RolledBack {
			t.Errorf("%s is %s", got.Device, got.State)
		}
	}
}

func TestRollbackUndoesInReverse(t *testing.T) {
	t.Parallel()
	s := newStage(devices(2, 2)...)
	s.rollout.Options.Parallel = 1
	s.deps.Gate = func(_ context.Context, w reconcile.Wave) error {
		if w.Index == w.Total-1 {
			return errors.New("no")
		}
		return nil
	}
	wantOutcome(t, s.run(t), reconcile.OutcomeRolledBack)
	var back []ident.PortID
	for _, e := range s.journal.events {
		if e.To == reconcile.RolledBack {
			back = append(back, e.Device.ID)
		}
	}
	if want := []ident.PortID{sw(1).ID, sw(0).ID, ca(1).ID, ca(0).ID}; !slices.Equal(back, want) {
		t.Errorf("undone in the order %v, want %v", back, want)
	}
}

func TestBadInputTouchesNothing(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(*stage){
		"value out of range":   func(s *stage) { s.rollout.Targets[1].Want.CA.Table[5].Shift = 9 },
		"table that falls":     func(s *stage) { s.rollout.Targets[1].Want.CA.Table[5].Multiplier = 1 },
		"wrong half":           func(s *stage) { s.rollout.Targets[1].Want = drivertest.Defaults(sw(0)) },
		"device twice":         func(s *stage) { s.rollout.Targets[1] = s.rollout.Targets[0] },
		"device without a LID": func(s *stage) { s.rollout.Targets[0].Device.LID = 0 },
		"no driver":            func(s *stage) { s.deps.Driver = nil },
		"negative budget":      func(s *stage) { s.rollout.Options.FailureBudget = -1 },
		"endless attempts":     func(s *stage) { s.rollout.Options.Attempts = 1e6 },
		"negative backoff":     func(s *stage) { s.rollout.Options.Backoff = -1 },
		"recorded state wrong": func(s *stage) { b := driver.Settings{}; s.rollout.Targets[0].Before = &b },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(ca(0), ca(1))
			spoil(s)
			res := s.run(t)
			wantOutcome(t, res, reconcile.OutcomeRefused)
			if len(s.journal.events) != 0 || s.fake.Writes(ca(0).ID)+s.fake.Writes(ca(1).ID) != 0 {
				t.Error("something happened in a refused rollout")
			}
		})
	}
}

func TestNoDevicesIsDone(t *testing.T) {
	t.Parallel()
	wantOutcome(t, newStage().run(t), reconcile.OutcomeDone)
}

func placements(sl ident.SL) []policy.Placement {
	return []policy.Placement{{Tenant: "a", Port: ca(0).ID, SL: sl}, {Tenant: "b", Port: ca(1).ID, SL: sl + 1}}
}

func TestPlacementComesFirstAndIsVerified(t *testing.T) {
	t.Parallel()
	s := newStage(devices(2, 1)...)
	p := &placer{placeErrs: 2}
	s.deps.Placer, s.rollout.Placements = p, placements(1)
	res := s.run(t)
	wantOutcome(t, res, reconcile.OutcomeDone)
	if res.Placement != reconcile.PlacementVerified || len(s.clock.slept) != 2 {
		t.Errorf("placement %s after waiting %v", res.Placement, s.clock.slept)
	}
}

func TestPlacementThatIsNotSeenStopsBeforeAnyDevice(t *testing.T) {
	t.Parallel()
	s := newStage(devices(2, 1)...)
	s.deps.Placer, s.rollout.Placements = &placer{deaf: true}, placements(1)
	res := s.run(t)
	if res.Outcome == reconcile.OutcomeDone || res.Placement != reconcile.PlacementUnverified {
		t.Errorf("outcome %s, placement %s", res.Outcome, res.Placement)
	}
	for _, d := range res.Devices {
		if d.Touched {
			t.Errorf("%s was touched", d.Device)
		}
	}
}

func TestRollbackReturnsPlacements(t *testing.T) {
	t.Parallel()
	for _, known := range []bool{true, false} {
		s := newStage(devices(2, 1)...)
		p := &placer{}
		s.deps.Placer, s.rollout.Placements = p, placements(1)
		if known {
			s.rollout.PriorPlacements = placements(7)
		}
		s.fake.SetClamp(ca(0).ID, clampTimer)
		res := s.run(t)
		wantOutcome(t, res, reconcile.OutcomeRolledBack)
		switch {
		case known && (res.Placement != reconcile.PlacementRestored || p.now[0].SL != 7):
			t.Errorf("placement %s, in force %v", res.Placement, p.now)
		case !known && (res.Placement != reconcile.PlacementVerified || !strings.Contains(res.Reason, "placements stay")):
			t.Errorf("placement %s, reason %q", res.Placement, res.Reason)
		}
	}
}

func TestObserveComparesWithoutWriting(t *testing.T) {
	t.Parallel()
	s := newStage(devices(4, 1)...)
	ts := s.rollout.Targets
	s.fake.SetState(ca(0).ID, ts[0].Want)
	drifted := ts[1].Want.Clone()
	drifted.CA.SLs[3].Timer++
	drifted.CA.Table[17].Multiplier++
	s.fake.SetState(ca(1).ID, drifted)
	s.fake.Inject(func(op drivertest.Op) drivertest.Fault {
		switch op.Device.ID {
		case ca(2).ID:
			return drivertest.FaultLost
		case ca(3).ID:
			return drivertest.FaultUnsupported
		}
		return drivertest.FaultNone
	})
	got := reconcile.Observe(t.Context(), ts, s.fake, 2)
	states := []reconcile.State{reconcile.InSync, reconcile.Drifted, reconcile.Failed, reconcile.Unsupported, reconcile.Drifted}
	for i, o := range got {
		if o.State != states[i] || o.Device.ID != ts[i].Device.ID {
			t.Errorf("%s is %s, want %s", o.Device, o.State, states[i])
		}
		if (o.Err != nil) != (o.Observed == nil) || (o.Err != nil) != (o.Error != "") {
			t.Errorf("%s: error %v with state %v", o.Device, o.Err, o.Observed)
		}
		if s.fake.Writes(o.Device.ID) != 0 {
			t.Errorf("%s was written", o.Device)
		}
	}
	if ds := got[1].Differences; len(ds) != 2 || ds[0].Field != "sl[3].timer" || ds[1].Field != "cct[17]" {
		t.Errorf("differences %v", ds)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, o := range reconcile.Observe(ctx, ts, s.fake, 0) {
		if o.State != reconcile.Unknown || !errors.Is(o.Err, context.Canceled) {
			t.Errorf("%s is %s after the context ended", o.Device, o.State)
		}
	}
}

func TestDevicesAreSortedInTheResult(t *testing.T) {
	t.Parallel()
	s := newStage(sw(1), ca(2), sw(0), ca(0))
	var ids []ident.PortID
	for _, d := range s.run(t).Devices {
		ids = append(ids, d.Device.ID)
	}
	if !slices.IsSortedFunc(ids, ident.PortID.Compare) || len(ids) != 4 || s.rollout.Targets[0].Device.Kind != subnet.KindSwitch {
		t.Errorf("result in the order %v, targets %v", ids, s.rollout.Targets[0].Device)
	}
}

func TestAWaveOverItsBudgetBeginsNoFurtherDevice(t *testing.T) {
	t.Parallel()
	s := newStage(devices(8, 0)...)
	s.rollout.Options.Parallel, s.rollout.Options.Wave = 1, 8
	s.fake.SetClamp(ca(2).ID, clampTimer)
	res := s.run(t)
	wantOutcome(t, res, reconcile.OutcomeRolledBack)
	for n := 3; n < 8; n++ {
		if got := s.state(res, ca(n)); got.State != reconcile.Pending || s.fake.Writes(ca(n).ID) != 0 {
			t.Errorf("%s is %s after %d writes although the budget was already gone", got.Device, got.State, s.fake.Writes(ca(n).ID))
		}
	}
}
