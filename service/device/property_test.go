package device_test

import (
	"context"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"fairlane/ccconfig/driver"
	"fairlane/ccconfig/driver/drivertest"
	"fairlane/service/device"
	"fairlane/subnet/ident"
)

// drawStage draws devices in random states with random targets and options.
func drawStage(t *rapid.T) *stage {
	s := newStage(devices(rapid.IntRange(0, 6).Draw(t, "adapters"), rapid.IntRange(0, 3).Draw(t, "switches"))...)
	for i := range s.part.Items {
		it := &s.part.Items[i]
		states := []driver.Settings{drivertest.Defaults(it.Device), wanted(it.Device, 0), wanted(it.Device, 1)}
		s.fake.SetState(it.Device.ID, rapid.SampledFrom(states).Draw(t, "state"))
		it.Want = rapid.SampledFrom(states).Draw(t, "want")
	}
	s.part.Canary, s.part.Failures = rapid.Bool().Draw(t, "canary"), rapid.IntRange(0, 2).Draw(t, "failures before")
	s.part.Options = device.Options{
		Parallel: rapid.IntRange(1, 4).Draw(t, "parallel"), FailureBudget: rapid.IntRange(0, 3).Draw(t, "budget"),
		Attempts: rapid.IntRange(1, 4).Draw(t, "attempts"), Grace: grace,
	}
	return s
}

// script is a fault plan drawn before the work: for each device, the fault of its n-th operation. It does not depend on
// the order of the devices.
type script map[ident.PortID][]drivertest.Fault

func drawScript(t *rapid.T, s *stage, faults []drivertest.Fault, most int) script {
	sc := script{}
	for _, it := range s.part.Items {
		sc[it.Device.ID] = rapid.SliceOfN(rapid.SampledFrom(faults), 0, most).Draw(t, "faults of "+it.Device.Name)
	}
	return sc
}

func (sc script) inject(op drivertest.Op) drivertest.Fault {
	if fs := sc[op.Device.ID]; op.N < len(fs) {
		return fs[op.N]
	}
	return drivertest.FaultNone
}

// TestRecordedStatesAreTrueUnderAnyFault allows permanent faults of every kind, in rollouts, repetitions and roll-backs, and checks only that the record is true.
func TestRecordedStatesAreTrueUnderAnyFault(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := drawStage(t)
		all := []drivertest.Fault{
			drivertest.FaultNone, drivertest.FaultNone, drivertest.FaultNone, drivertest.FaultNone,
			drivertest.FaultLost, drivertest.FaultLostReply, drivertest.FaultBusy, drivertest.FaultInvalid,
			drivertest.FaultUnsupported, drivertest.FaultIgnored, drivertest.FaultPartial,
		}
		sc := drawScript(t, s, all, 40)
		cancelAt := rapid.IntRange(-100, 60).Draw(t, "cancel at operation")
		ops, cancel, mu := 0, func() {}, sync.Mutex{}
		s.fake.Inject(func(op drivertest.Op) drivertest.Fault {
			mu.Lock()
			defer mu.Unlock()
			if ops == cancelAt {
				cancel()
			}
			ops++
			return sc.inject(op)
		})
		worker := func(work func(context.Context) error) {
			var ctx context.Context
			ctx, cancel = context.WithCancel(context.Background())
			defer cancel()
			s.check(t, work(ctx))
			for _, it := range s.part.Items {
				r, holds := s.row(it.Device), s.fake.State(it.Device.ID)
				switch {
				case it.Want.Equal(holds) || s.initial[it.Device.ID].Equal(holds) || r.State == device.Unknown || r.State == device.Failed:
				case r.State != device.Pending || !it.Touched: // except one that an earlier worker left and this one only took up
					t.Errorf("%s is neither wanted nor before, but %s", it.Device, r.State)
				}
				if r.State == device.Unknown && !it.Touched && ctx.Err() == nil {
					t.Errorf("%s is given up without a reason", it.Device)
				}
			}
		}
		worker(s.work)
		for range rapid.IntRange(0, 3).Draw(t, "further workers") {
			cancelAt = ops + rapid.IntRange(-40, 30).Draw(t, "cancel again after")
			undo := s.part.Undo || rapid.Bool().Draw(t, "undo") // an undo never turns forward again
			worker(func(ctx context.Context) error { return s.again(ctx, undo) })
		}
	})
}

// TestTemporaryFaultsLeaveEveryDeviceInPreviousOrDesiredState lets every device misbehave for fewer operations than there are
// attempts. Then no device may be left half done, all good ones that were started must be in sync, and all must return.
func TestTemporaryFaultsLeaveEveryDeviceInPreviousOrDesiredState(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := drawStage(t)
		s.part.Options.Attempts = 5
		passing := []drivertest.Fault{
			drivertest.FaultLost, drivertest.FaultLostReply, drivertest.FaultBusy,
			drivertest.FaultIgnored, drivertest.FaultPartial, drivertest.FaultNone,
		}
		s.fake.Inject(drawScript(t, s, passing, 4).inject)
		clamped := map[ident.PortID]bool{}
		for _, it := range s.part.Items {
			if it.Want.CA == nil || it.Want.Equal(s.fake.State(it.Device.ID)) || !rapid.Bool().Draw(t, "clamped") {
				continue
			}
			s.fake.SetClamp(it.Device.ID, never(it.Want))
			clamped[it.Device.ID] = true
		}
		budget := s.part.Options.FailureBudget
		if s.part.Canary {
			budget = s.part.Failures
		}
		s.check(t, s.work(context.Background()))
		failed := s.part.Failures
		for _, it := range s.part.Items {
			if s.row(it.Device).State == device.RolledBack {
				failed++
			}
		}
		for _, it := range s.part.Items {
			switch st := s.row(it.Device).State; {
			case st == device.InSync && !clamped[it.Device.ID], st == device.RolledBack && clamped[it.Device.ID]:
			case st == device.Pending && failed > budget:
			default:
				t.Errorf("%s is %s, clamped %t, with %d failed of %d allowed", it.Device, st, clamped[it.Device.ID], failed, budget)
			}
		}
		s.check(t, s.again(context.Background(), true))
		for id, before := range s.initial {
			if !before.Equal(s.fake.State(id)) {
				t.Errorf("%s is not returned to what it was", id)
			}
		}
	})
}

// TestRunsAreRepeatable runs with the same faults twice, one device at a time, and compares all events.
func TestRunsAreRepeatable(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		first := drawStage(t)
		first.part.Options.Parallel = 1
		sc := drawScript(t, first, []drivertest.Fault{drivertest.FaultNone, drivertest.FaultLost, drivertest.FaultPartial, drivertest.FaultInvalid}, 12)
		var ds []driver.Device
		for _, it := range first.part.Items {
			ds = append(ds, it.Device)
		}
		second := newStage(ds...)
		second.part = first.part
		for _, d := range ds {
			second.fake.SetState(d.ID, first.fake.State(d.ID))
		}
		for _, s := range []*stage{first, second} {
			s.fake.Inject(sc.inject)
			if err := s.work(context.Background()); err != nil {
				t.Fatal(err)
			}
		}
		a, b := first.journal.events, second.journal.events
		if len(a) != len(b) {
			t.Fatalf("%d events, then %d", len(a), len(b))
		}
		for i := range a {
			if a[i].Said.String() != b[i].Said.String() || a[i].To != b[i].To || a[i].Error.String() != b[i].Error.String() {
				t.Errorf("event %d: %+v, then %+v", i, a[i], b[i])
			}
		}
	})
}
