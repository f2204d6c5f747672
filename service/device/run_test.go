package device_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"fairlane/ccconfig/driver"
	"fairlane/ccconfig/driver/drivertest"
	"fairlane/service/device"
)

func TestWorkWithoutFaultsVerifiesEveryDevice(t *testing.T) {
	t.Parallel()
	ds := devices(8, 3)
	s := newStage(ds...)
	s.run(t)
	s.want(t, device.InSync, ds...)
	for _, d := range ds {
		if r := s.row(d); !r.Touched || r.Before == nil || r.writes != 1 {
			t.Errorf("%s: touched %t, before %v, %d writes", d, r.Touched, r.Before, r.writes)
		}
	}
	if len(s.clock.slept) != 0 {
		t.Errorf("waited %v without a reason", s.clock.slept)
	}
	s.run(t)
	s.want(t, device.InSync, ds...)
	for _, d := range ds {
		if r := s.row(d); r.Touched || r.writes != 0 {
			t.Errorf("%s was written although it was as wanted", d)
		}
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
				s.run(t)
				s.want(t, device.InSync, devices(3, 1)...)
			})
		}
	}
}

func TestALostReplyIsNotWrittenTwice(t *testing.T) {
	t.Parallel()
	s := newStage(sw(0))
	// Only the last write loses its reply: the device then holds the desired settings.
	s.fake.Inject(func(op drivertest.Op) drivertest.Fault {
		if op.Field == "switch.ports" {
			return drivertest.FaultLostReply
		}
		return drivertest.FaultNone
	})
	s.run(t)
	s.want(t, device.InSync, sw(0))
	if n := s.fake.Writes(sw(0).ID); n != 2 {
		t.Errorf("%d writes, want 2: reading back showed that the lost one had worked", n)
	}
}

func TestNoCanaryMayFail(t *testing.T) {
	t.Parallel()
	for _, failed := range []int{0, 2} { // in earlier waves
		s := newStage(devices(6, 0)...)
		s.part.Options.FailureBudget, s.part.Options.Parallel = 5, 1
		s.part.Canary, s.part.Failures = true, failed
		s.fake.Inject(on(ca(1), drivertest.OpWrite, 6, drivertest.FaultIgnored))
		s.run(t)
		s.want(t, device.InSync, ca(0))
		s.want(t, device.RolledBack, ca(1))
		for n := 2; n < 6; n++ {
			if s.want(t, device.Pending, ca(n)); s.fake.Writes(ca(n).ID) != 0 {
				t.Errorf("%s was touched after a canary had failed", ca(n))
			}
		}
	}
}

// clampTimer makes a device silently clamp timers to 50.
func clampTimer(s *driver.Settings) {
	for sl := range s.CA.SLs {
		s.CA.SLs[sl].Timer = min(s.CA.SLs[sl].Timer, 50)
	}
}

func TestAClampedDeviceIsNeverASuccess(t *testing.T) {
	t.Parallel()
	for _, budget := range []int{0, 1} {
		s := newStage(devices(5, 2)...)
		s.part.Options.FailureBudget = budget
		s.fake.SetClamp(ca(3).ID, clampTimer)
		s.run(t)
		s.want(t, device.RolledBack, ca(3))
		if bad := s.row(ca(3)); bad.writes != 4 { // three forward, one back
			t.Errorf("clamped device was written %d times", bad.writes)
		}
		if why := s.row(ca(3)).err; !strings.Contains(why, "read back sl[0].timer") {
			t.Errorf("clamped device failed with %q, want the difference of sl[0].timer", why)
		}
		if budget == 1 {
			s.want(t, device.InSync, ca(0), ca(1), ca(2), ca(4), sw(0), sw(1))
		}
		s.undo(t)
		for _, it := range s.part.Items {
			if !drivertest.Defaults(it.Device).Equal(s.fake.State(it.Device.ID)) {
				t.Errorf("%s is not as it was before", it.Device)
			}
		}
	}
}

func TestADeviceThatFailsDuringAWriteIsStuck(t *testing.T) {
	t.Parallel()
	s := newStage(devices(2, 1)...)
	s.part.Options.FailureBudget = 1
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
	stuck := func() {
		t.Helper()
		s.want(t, device.Failed, ca(1))
		if r := s.row(ca(1)); !r.Touched || !strings.Contains(r.err, driver.ErrUnreachable.Error()) {
			t.Errorf("dead device: touched %t, error %s", r.Touched, r.err)
		}
	}
	s.run(t)
	stuck()
	s.undo(t)
	stuck()
	s.want(t, device.RolledBack, ca(0), sw(0))
}

func TestADeviceThatNeverAnswersIsUntouched(t *testing.T) {
	t.Parallel()
	s := newStage(devices(3, 0)...)
	s.part.Options.FailureBudget = 1
	s.fake.Inject(on(ca(2), drivertest.OpRead, -1, drivertest.FaultLost))
	s.run(t)
	s.want(t, device.InSync, ca(0), ca(1))
	s.want(t, device.Failed, ca(2))
	if r := s.row(ca(2)); r.Touched || r.writes != 0 || !strings.Contains(r.err, driver.ErrUnreachable.Error()) {
		t.Errorf("silent device: %+v", r)
	}
	if want := []time.Duration{100 * time.Millisecond, 200 * time.Millisecond}; !slices.Equal(s.clock.slept, want) {
		t.Errorf("waited %v, want %v", s.clock.slept, want)
	}
}

func TestBackoffDoublesUpToItsLimit(t *testing.T) {
	t.Parallel()
	s := newStage(ca(0))
	s.part.Options.Attempts, s.part.Options.Backoff, s.part.Options.MaxBackoff = 7, 10*time.Millisecond, 100*time.Millisecond
	s.fake.Inject(on(ca(0), drivertest.OpRead, -1, drivertest.FaultBusy))
	s.run(t)
	s.want(t, device.Failed, ca(0))
	ms := time.Millisecond
	if want := []time.Duration{10 * ms, 20 * ms, 40 * ms, 80 * ms, 100 * ms, 100 * ms}; !slices.Equal(s.clock.slept, want) {
		t.Errorf("waited %v, want %v", s.clock.slept, want)
	}
}

func TestUnsupportedDevicesAreNeitherTriedAgainNorTouched(t *testing.T) {
	t.Parallel()
	s := newStage(devices(3, 1)...)
	s.part.Options.FailureBudget = 1
	s.fake.Inject(on(ca(1), drivertest.OpRead, -1, drivertest.FaultUnsupported))
	s.run(t)
	s.want(t, device.InSync, ca(0), ca(2), sw(0))
	s.want(t, device.Unsupported, ca(1))
	if r := s.row(ca(1)); r.Touched || r.writes != 0 {
		t.Errorf("unsupported device: %+v", r)
	}
	if len(s.clock.slept) != 0 {
		t.Error("an unsupported device was tried again")
	}
}

// A device that a crash left half written, and that cannot be read later, is not Unsupported.
func TestADeviceThatWasWrittenIsNeverUnsupported(t *testing.T) {
	t.Parallel()
	s := newStage(ca(0))
	before := s.fake.State(ca(0).ID)
	s.part.Items[0].State, s.part.Items[0].Touched, s.part.Items[0].Before = device.Unknown, true, &before
	s.fake.Inject(on(ca(0), drivertest.OpRead, -1, drivertest.FaultUnsupported))
	s.run(t)
	s.want(t, device.Failed, ca(0))
	s.fake.Inject(nil)
	s.undo(t)
	s.want(t, device.RolledBack, ca(0))
}

func TestARefusedWriteIsUndone(t *testing.T) {
	t.Parallel()
	s := newStage(devices(2, 0)...)
	s.part.Options.FailureBudget = 1
	refuse := true
	s.fake.Inject(func(op drivertest.Op) drivertest.Fault {
		if refuse && op.Device.ID == ca(1).ID && op.Field == "ca.sl" {
			refuse = false
			return drivertest.FaultInvalid
		}
		return drivertest.FaultNone
	})
	s.run(t)
	s.want(t, device.InSync, ca(0))
	s.want(t, device.RolledBack, ca(1))
	if why := s.row(ca(1)).err; !strings.Contains(why, driver.ErrInvalid.Error()) {
		t.Errorf("refused device failed with %s", why)
	}
}

func TestInvalidInputWritesNothing(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(*stage){
		"value out of range":   func(s *stage) { s.part.Items[1].Want.CA.Table[5].Shift = 9 },
		"table that falls":     func(s *stage) { s.part.Items[1].Want.CA.Table[5].Multiplier = 1 },
		"wrong half":           func(s *stage) { s.part.Items[1].Want = drivertest.Defaults(sw(0)) },
		"device twice":         func(s *stage) { s.part.Items[1] = s.part.Items[0] },
		"device without a LID": func(s *stage) { s.part.Items[0].Device.LID = 0 },
		"no driver":            func(s *stage) { s.deps.Driver = nil },
		"no recorder":          func(s *stage) { s.deps.Recorder = nil },
		"negative budget":      func(s *stage) { s.part.Options.FailureBudget = -1 },
		"endless attempts":     func(s *stage) { s.part.Options.Attempts = 1e6 },
		"negative backoff":     func(s *stage) { s.part.Options.Backoff = -1 },
		"recorded state wrong": func(s *stage) { s.part.Items[0].Before = &driver.Settings{} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(ca(0), ca(1))
			spoil(s)
			if err := s.work(t.Context()); err == nil {
				t.Error("it was taken")
			}
			if len(s.journal.events) != 0 || s.fake.Writes(ca(0).ID)+s.fake.Writes(ca(1).ID) != 0 {
				t.Error("something happened")
			}
		})
	}
}

func TestWorkWithoutDevicesSucceeds(t *testing.T) {
	t.Parallel()
	newStage().run(t)
}

func TestABrokenFabricFailsEveryDeviceUntouched(t *testing.T) {
	t.Parallel()
	for err, want := range map[error]device.State{driver.ErrUnreachable: device.Failed, driver.ErrUnsupported: device.Unsupported} {
		s := newStage(devices(2, 1)...)
		s.part.Options.FailureBudget = 3
		s.deps.Driver = device.Broken(err)
		s.run(t)
		s.want(t, want, devices(2, 1)...)
		for _, e := range s.journal.events {
			if e.Touched {
				t.Errorf("%+v", e)
			}
		}
	}
}

func TestObserveComparesWithoutWriting(t *testing.T) {
	t.Parallel()
	s := newStage(devices(4, 1)...)
	var ts []device.Target
	for _, it := range s.part.Items {
		ts = append(ts, it.Target)
	}
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
	got := device.Observe(t.Context(), ts, s.fake, 2)
	states := []device.State{device.InSync, device.Drifted, device.Failed, device.Unsupported, device.Drifted}
	for i, o := range got {
		if o.State != states[i] || o.Device.ID != ts[i].Device.ID {
			t.Errorf("%s is %s, want %s", o.Device, o.State, states[i])
		}
		if (o.Err != nil) != (o.Observed == nil) {
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
	for _, o := range device.Observe(ctx, ts, s.fake, 0) {
		if o.State != device.Unknown || !errors.Is(o.Err, context.Canceled) {
			t.Errorf("%s is %s after the context ended", o.Device, o.State)
		}
	}
}

func TestExceededFailureBudgetStartsNoFurtherDevice(t *testing.T) {
	t.Parallel()
	s := newStage(devices(8, 0)...)
	s.part.Options.Parallel = 1
	s.fake.SetClamp(ca(2).ID, clampTimer)
	s.run(t)
	s.want(t, device.InSync, ca(0), ca(1))
	s.want(t, device.RolledBack, ca(2))
	for n := 3; n < 8; n++ {
		if s.want(t, device.Pending, ca(n)); s.fake.Writes(ca(n).ID) != 0 {
			t.Errorf("%s was written although the budget was exceeded", ca(n))
		}
	}
}
