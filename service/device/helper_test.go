package device_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"fairlane/ccconfig/driver"
	"fairlane/ccconfig/driver/drivertest"
	"fairlane/service/device"
	"fairlane/subnet"
	"fairlane/subnet/ident"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const grace = time.Minute

// clock is virtual: it records each request and returns at once. Only the grace after the end of the context never ends,
// so that devices in progress always finish.
type clock struct {
	mu    sync.Mutex
	slept []time.Duration
}

func (c *clock) Sleep(ctx context.Context, d time.Duration) error {
	if d == grace {
		<-ctx.Done()
		return ctx.Err()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.slept = append(c.slept, d)
	return ctx.Err()
}

// journal is a Recorder in memory that checks every move. It stores of each device what the next worker receives.
type journal struct {
	mu     sync.Mutex
	events []device.Event
	rows   map[ident.PortID]*row
	faults []string
	fail   func(device.Event) error // nil never fails
}

// row is what was recorded of a device.
type row struct {
	device.Item

	err    string // of the latest move with an error
	writes int    // announced writes
}

func (j *journal) Record(_ context.Context, e device.Event) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.fail != nil {
		if err := j.fail(e); err != nil {
			return err
		}
	}
	j.events = append(j.events, e)
	if e.Said.ID == "" {
		j.fault("event without a message: %+v", e)
	}
	r := j.rows[e.Device.ID]
	// After a crash the next worker takes a half-done device up as unknown.
	if e.From != r.State && (e.From != device.Unknown || r.State != device.Applying && r.State != device.Verifying) {
		j.fault("%s moves from %s, but was recorded as %s", e.Device, e.From, r.State)
	}
	if !device.CanMove(e.From, e.To) {
		j.fault("%s makes the forbidden move from %s to %s", e.Device, e.From, e.To)
	}
	if e.Before != nil {
		r.Before = e.Before
	}
	if e.To == device.Applying {
		if r.writes++; e.Before == nil {
			j.fault("%s is about to be written, but the state before is not recorded", e.Device)
		}
	}
	if e.Error.ID != "" {
		r.err = e.Error.String()
	}
	r.State, r.Touched = e.To, e.Touched && e.To != device.RolledBack
	return nil
}

func (j *journal) fault(format string, args ...any) {
	j.faults = append(j.faults, fmt.Sprintf(format, args...))
}

// ca and sw return the n-th adapter and switch; adapters sort before switches.
func ca(n int) driver.Device {
	return driver.Device{Plane: "ib", ID: ident.PortID{Node: ident.GUID(0x100 + n), Port: 1},
		Name: fmt.Sprintf("host-%d/P1", n), Kind: subnet.KindCA, LID: ident.LID(100 + n)}
}

func sw(n int) driver.Device {
	return driver.Device{Plane: "ib", ID: ident.PortID{Node: ident.GUID(0x900 + n)},
		Name: fmt.Sprintf("leaf-%d", n), Kind: subnet.KindSwitch, LID: ident.LID(1 + n), Ports: 4}
}

func devices(cas, switches int) []driver.Device {
	var ds []driver.Device
	for n := range cas {
		ds = append(ds, ca(n))
	}
	for n := range switches {
		ds = append(ds, sw(n))
	}
	return ds
}

func wanted(d driver.Device, variant int) driver.Settings {
	return drivertest.Samples(d, driver.Capabilities{TableEntries: drivertest.TableEntries, PortMarking: true})[variant]
}

// stage is a part of a rollout that writes desired settings to fake devices.
type stage struct {
	fake    *drivertest.Fake
	part    device.Part
	deps    device.Deps
	journal *journal
	clock   *clock
	initial map[ident.PortID]driver.Settings // the devices' settings when the first worker began
}

func newStage(ds ...driver.Device) *stage {
	s := &stage{fake: drivertest.NewFake(ds...), journal: &journal{}, clock: &clock{}}
	s.part.Options = device.Options{Parallel: 4, Attempts: 3, Grace: grace}
	for _, d := range ds {
		s.part.Items = append(s.part.Items, device.Item{Target: device.Target{Device: d, Want: wanted(d, 0)}, State: device.Pending})
	}
	s.deps = device.Deps{Driver: s.fake, Recorder: s.journal, Clock: s.clock}
	return s
}

// work does the part as the first worker of a rollout does.
func (s *stage) work(ctx context.Context) error {
	s.initial, s.journal.rows = map[ident.PortID]driver.Settings{}, map[ident.PortID]*row{}
	for _, it := range s.part.Items {
		s.initial[it.Device.ID], s.journal.rows[it.Device.ID] = s.fake.State(it.Device.ID), &row{Item: it}
	}
	return device.Work(ctx, s.part, s.deps)
}

// again continues from the record, as the next worker does, or undoes.
func (s *stage) again(ctx context.Context, undo bool) error {
	s.part.Undo = undo
	for i := range s.part.Items {
		s.part.Items[i] = s.row(s.part.Items[i].Device).Item
	}
	return device.Work(ctx, s.part, s.deps)
}

// run works and requires success.
func (s *stage) run(t testing.TB) {
	t.Helper()
	s.check(t, s.work(t.Context()))
}

// undo undoes the work and requires success.
func (s *stage) undo(t testing.TB) {
	t.Helper()
	s.check(t, s.again(t.Context(), true))
}

// judge is the common interface of testing.TB and rapid.T.
type judge interface {
	Helper()
	Errorf(format string, args ...any)
}

// check requires success and an honest record.
func (s *stage) check(t judge, err error) {
	t.Helper()
	if err != nil {
		t.Errorf("the work failed: %v", err)
	}
	s.honest(t)
	for _, it := range s.part.Items {
		if st := s.row(it.Device).State; st == device.Applying || st == device.Verifying {
			t.Errorf("%s is left in state %s", it.Device, st)
		}
	}
}

// honest checks that the devices hold everything that the record claims, whatever the result of the work.
func (s *stage) honest(t judge) {
	t.Helper()
	for _, f := range s.journal.faults {
		t.Errorf("%s", f)
	}
	for _, it := range s.part.Items {
		r, holds, before := s.row(it.Device), s.fake.State(it.Device.ID), s.initial[it.Device.ID]
		isWanted, isBefore := it.Want.Equal(holds), before.Equal(holds)
		switch {
		case r.State == device.InSync && !isWanted:
			t.Errorf("%s is said to be in sync, but is not: %v", it.Device, it.Want.Diff(holds))
		case r.State == device.RolledBack && !isBefore:
			t.Errorf("%s is said to be rolled back, but is not: %v", it.Device, before.Diff(holds))
		case !r.Touched && !isBefore:
			t.Errorf("%s is said to be untouched, but changed", it.Device)
		case r.Touched && (r.State == device.Pending && !it.Touched || r.State == device.Unsupported): // by this worker
			t.Errorf("%s is %s, but touched", it.Device, r.State)
		case r.Before != nil && !r.Before.Equal(before):
			t.Errorf("%s: the recorded state before is not what it was", it.Device)
		case (r.State == device.Failed || r.State == device.Unsupported) && r.err == "":
			t.Errorf("%s is %s without a reason", it.Device, r.State)
		}
	}
}

func (s *stage) row(d driver.Device) *row { return s.journal.rows[d.ID] }

// want checks the states of devices.
func (s *stage) want(t judge, state device.State, ds ...driver.Device) {
	t.Helper()
	for _, d := range ds {
		if got := s.row(d); got.State != state {
			t.Errorf("%s is %s (%s), want %s", d, got.State, got.err, state)
		}
	}
}

// on injects a fault into the first n writes (or reads) of one device; n < 0 means all.
func on(d driver.Device, kind drivertest.OpKind, n int, f drivertest.Fault) func(drivertest.Op) drivertest.Fault {
	return func(op drivertest.Op) drivertest.Fault {
		if op.Device.ID != d.ID || op.Kind != kind || n == 0 {
			return drivertest.FaultNone
		}
		n--
		return f
	}
}

// never returns an adapter that never holds the desired settings, but stores any others.
func never(want driver.Settings) func(*driver.Settings) {
	return func(st *driver.Settings) {
		if want.Equal(*st) {
			st.CA.SLs[0].Trigger++
		}
	}
}
