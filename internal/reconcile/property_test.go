package reconcile_test

import (
	"context"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"fairlane/ccconfig/driver"
	"fairlane/ccconfig/driver/drivertest"
	"fairlane/internal/reconcile"
	"fairlane/subnet/ident"
)

// drawStage draws devices in random states with random targets and options.
func drawStage(t *rapid.T) *stage {
	ds := devices(rapid.IntRange(0, 6).Draw(t, "adapters"), rapid.IntRange(0, 3).Draw(t, "switches"))
	s := newStage(ds...)
	for i := range s.rollout.Targets {
		target := &s.rollout.Targets[i]
		states := append([]driver.Settings{drivertest.Defaults(target.Device)}, wanted(target.Device, 0), wanted(target.Device, 1))
		s.fake.SetState(target.Device.ID, rapid.SampledFrom(states).Draw(t, "state"))
		target.Want = rapid.SampledFrom(states).Draw(t, "want")
	}
	s.rollout.Options = reconcile.Options{
		Canary: rapid.IntRange(0, 3).Draw(t, "canary"), Wave: rapid.IntRange(1, 4).Draw(t, "wave"),
		Parallel: rapid.IntRange(1, 4).Draw(t, "parallel"), FailureBudget: rapid.IntRange(0, 3).Draw(t, "budget"),
		Attempts: rapid.IntRange(1, 4).Draw(t, "attempts"), Grace: grace,
	}
	return s
}

// script is a fault plan drawn before the run: for each device, what goes wrong with its n-th
// operation. It is the same whatever order the devices run in.
type script map[ident.PortID][]drivertest.Fault

func drawScript(t *rapid.T, s *stage, faults []drivertest.Fault, most int) script {
	sc := script{}
	for _, target := range s.rollout.Targets {
		sc[target.Device.ID] = rapid.SliceOfN(rapid.SampledFrom(faults), 0, most).Draw(t, "faults of "+target.Device.Name)
	}
	return sc
}

func (sc script) inject(op drivertest.Op) drivertest.Fault {
	if fs := sc[op.Device.ID]; op.N < len(fs) {
		return fs[op.N]
	}
	return drivertest.FaultNone
}

func initialStates(s *stage) map[ident.PortID]driver.Settings {
	m := map[ident.PortID]driver.Settings{}
	for _, target := range s.rollout.Targets {
		m[target.Device.ID] = s.fake.State(target.Device.ID)
	}
	return m
}

// TestTheResultNeverLies lets anything go wrong, for ever, and checks only that every claim
// of the result holds.
func TestTheResultNeverLies(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := drawStage(t)
		initial := initialStates(s)
		all := []drivertest.Fault{
			drivertest.FaultNone, drivertest.FaultNone, drivertest.FaultNone, drivertest.FaultNone,
			drivertest.FaultLost, drivertest.FaultLostReply, drivertest.FaultBusy, drivertest.FaultInvalid,
			drivertest.FaultUnsupported, drivertest.FaultIgnored, drivertest.FaultPartial,
		}
		sc := drawScript(t, s, all, 40)
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		cancelAt := rapid.IntRange(-100, 60).Draw(t, "cancel at operation")
		ops, mu := 0, sync.Mutex{}
		s.fake.Inject(func(op drivertest.Op) drivertest.Fault {
			mu.Lock()
			defer mu.Unlock()
			if ops == cancelAt {
				cancel()
			}
			ops++
			return sc.inject(op)
		})
		res := reconcile.Run(ctx, s.rollout, s.deps)
		for _, f := range s.journal.faults {
			t.Error(f)
		}
		checkClaims(t, s, res, initial)
		if res.Outcome == reconcile.OutcomePaused && ctx.Err() == nil {
			t.Error("paused without a reason")
		}
	})
}

// checkClaims is the naive judge: it looks at the devices, not at how the run went.
func checkClaims(t *rapid.T, s *stage, res reconcile.Result, initial map[ident.PortID]driver.Settings) {
	if len(res.Devices) != len(s.rollout.Targets) {
		t.Fatalf("%d devices in the result, want %d", len(res.Devices), len(s.rollout.Targets))
	}
	want := map[ident.PortID]driver.Settings{}
	for _, target := range s.rollout.Targets {
		want[target.Device.ID] = target.Want
	}
	for _, d := range res.Devices {
		id := d.Device.ID
		holds := s.fake.State(id)
		isWanted, isBefore := want[id].Equal(holds), initial[id].Equal(holds)
		switch {
		case d.State == reconcile.InSync && !isWanted:
			t.Errorf("%s in sync, but differs", d.Device)
		case d.State == reconcile.RolledBack && !isBefore:
			t.Errorf("%s rolled back, but differs from before", d.Device)
		case !d.Touched && !isBefore:
			t.Errorf("%s untouched, but changed", d.Device)
		case d.State == reconcile.Pending && d.Touched:
			t.Errorf("%s pending, but touched", d.Device)
		case (d.State == reconcile.Applying || d.State == reconcile.Verifying):
			t.Errorf("%s left %s", d.Device, d.State)
		case !isWanted && !isBefore && !d.Dirty && d.State != reconcile.Unknown:
			t.Errorf("%s is neither wanted nor before, but %s and not dirty", d.Device, d.State)
		case d.Before != nil && !d.Before.Equal(initial[id]):
			t.Errorf("%s: recorded state before is not what it was", d.Device)
		}
		judgeOutcome(t, res.Outcome, d, isWanted, isBefore)
	}
}

func judgeOutcome(t *rapid.T, o reconcile.Outcome, d reconcile.DeviceResult, isWanted, isBefore bool) {
	switch {
	case o == reconcile.OutcomeDone && !isWanted,
		o == reconcile.OutcomeRolledBack && d.Touched && !isBefore,
		o == reconcile.OutcomePartial && !isWanted && !isBefore,
		d.Dirty && o != reconcile.OutcomeStuck && o != reconcile.OutcomePaused:
		t.Errorf("outcome %s, but %s is wanted %t, before %t, dirty %t", o, d.Device, isWanted, isBefore, d.Dirty)
	}
}

// TestFaultsThatEndLeaveEveryDeviceBeforeOrWanted lets every device misbehave for fewer
// operations than there are attempts: no device may then be left in between, and a rollout
// without permanently bad devices must be done.
func TestFaultsThatEndLeaveEveryDeviceBeforeOrWanted(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := drawStage(t)
		s.rollout.Options.Attempts = 5
		initial := initialStates(s)
		passing := []drivertest.Fault{
			drivertest.FaultLost, drivertest.FaultLostReply, drivertest.FaultBusy,
			drivertest.FaultIgnored, drivertest.FaultPartial, drivertest.FaultNone,
		}
		s.fake.Inject(drawScript(t, s, passing, 4).inject)
		clamped := 0
		for _, target := range s.rollout.Targets {
			if target.Want.CA == nil || target.Want.Equal(initial[target.Device.ID]) || !rapid.Bool().Draw(t, "clamped") {
				continue
			}
			w := target.Want
			s.fake.SetClamp(target.Device.ID, func(st *driver.Settings) {
				if w.Equal(*st) { // never what is wanted, anything else is stored well
					st.CA.SLs[0].Trigger++
				}
			})
			clamped++
		}
		res := reconcile.Run(context.Background(), s.rollout, s.deps)
		for _, f := range s.journal.faults {
			t.Error(f)
		}
		checkClaims(t, s, res, initial)
		for _, d := range res.Devices {
			if d.Dirty {
				t.Errorf("%s is dirty: %s", d.Device, d.Error)
			}
		}
		switch o := res.Outcome; {
		case clamped == 0 && o != reconcile.OutcomeDone,
			clamped > s.rollout.Options.FailureBudget && o != reconcile.OutcomeRolledBack,
			clamped > 0 && o != reconcile.OutcomeRolledBack && o != reconcile.OutcomePartial:
			t.Errorf("outcome %s with %d bad devices and a budget of %d: %s", o, clamped, s.rollout.Options.FailureBudget, res.Reason)
		}
	})
}

// TestRunsAreRepeatable runs the same faults twice, one device at a time, and compares all
// events.
func TestRunsAreRepeatable(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		first := drawStage(t)
		first.rollout.Options.Parallel = 1
		sc := drawScript(t, first, []drivertest.Fault{drivertest.FaultNone, drivertest.FaultLost, drivertest.FaultPartial, drivertest.FaultInvalid}, 12)
		second := newStage(devices(0, 0)...)
		second.rollout, second.fake = first.rollout, drivertest.NewFake(targetDevices(first)...)
		for id, st := range initialStates(first) {
			second.fake.SetState(id, st)
		}
		second.deps.Driver = second.fake
		for _, s := range []*stage{first, second} {
			s.fake.Inject(sc.inject)
			_ = reconcile.Run(context.Background(), s.rollout, s.deps)
		}
		a, b := first.journal.events, second.journal.events
		if len(a) != len(b) {
			t.Fatalf("%d events, then %d", len(a), len(b))
		}
		for i := range a {
			if a[i].Message != b[i].Message || a[i].To != b[i].To || a[i].Error != b[i].Error {
				t.Errorf("event %d: %+v, then %+v", i, a[i], b[i])
			}
		}
	})
}

func targetDevices(s *stage) []driver.Device {
	var ds []driver.Device
	for _, target := range s.rollout.Targets {
		ds = append(ds, target.Device)
	}
	return ds
}
