package reconcile_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"fairlane/ccconfig/driver"
	"fairlane/ccconfig/driver/drivertest"
	"fairlane/internal/reconcile"
	"fairlane/policy"
	"fairlane/subnet"
	"fairlane/subnet/ident"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const grace = time.Minute

// clock is virtual: it notes what it was asked for and returns at once, except that the grace
// after the end of the context is endless, so that devices in work always finish.
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

// journal is a Recorder in memory that checks every move.
type journal struct {
	mu     sync.Mutex
	events []reconcile.Event
	state  map[ident.PortID]reconcile.State
	before map[ident.PortID]*driver.Settings
	faults []string
	fail   func(reconcile.Event) error // nil never fails
}

func newJournal() *journal {
	return &journal{state: map[ident.PortID]reconcile.State{}, before: map[ident.PortID]*driver.Settings{}}
}

func (j *journal) Record(_ context.Context, e reconcile.Event) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.fail != nil {
		if err := j.fail(e); err != nil {
			return err
		}
	}
	j.events = append(j.events, e)
	if e.Message == "" {
		j.faults = append(j.faults, fmt.Sprintf("event without a message: %+v", e))
	}
	if e.Device == nil {
		return nil
	}
	id := e.Device.ID
	from, ok := j.state[id]
	if !ok {
		from = reconcile.Unknown
	}
	if from != e.From {
		j.faults = append(j.faults, fmt.Sprintf("%s moves from %s, but was recorded as %s", id, e.From, from))
	}
	if !reconcile.CanMove(e.From, e.To) {
		j.faults = append(j.faults, fmt.Sprintf("%s makes the forbidden move from %s to %s", id, e.From, e.To))
	}
	if e.To == reconcile.Applying && e.Before == nil {
		j.faults = append(j.faults, fmt.Sprintf("%s is about to be written, but the state before is not recorded", id))
	}
	if e.Before != nil {
		j.before[id] = e.Before
	}
	j.state[id] = e.To
	return nil
}

func (j *journal) check(t testing.TB) {
	t.Helper()
	for _, f := range j.faults {
		t.Error(f)
	}
}

// ca and sw are the n-th adapter and switch; an adapter sorts before every switch.
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

// stage is a rollout of wanted settings to fake devices.
type stage struct {
	fake    *drivertest.Fake
	rollout reconcile.Rollout
	deps    reconcile.Deps
	journal *journal
	clock   *clock
}

func newStage(ds ...driver.Device) *stage {
	s := &stage{fake: drivertest.NewFake(ds...), journal: newJournal(), clock: &clock{}}
	s.rollout = reconcile.Rollout{Plan: "plan-1", Options: reconcile.Options{Parallel: 4, Wave: 3, Attempts: 3, Grace: grace}}
	for _, d := range ds {
		s.rollout.Targets = append(s.rollout.Targets, reconcile.Target{Device: d, Want: wanted(d, 0)})
	}
	s.deps = reconcile.Deps{Driver: s.fake, Recorder: s.journal, Clock: s.clock}
	return s
}

func (s *stage) run(t testing.TB) reconcile.Result {
	t.Helper()
	res := reconcile.Run(t.Context(), s.rollout, s.deps)
	s.journal.check(t)
	s.honest(t, res)
	return res
}

// honest checks that a result claims nothing that the devices do not hold.
func (s *stage) honest(t testing.TB, res reconcile.Result) {
	t.Helper()
	want := map[ident.PortID]driver.Settings{}
	for _, target := range s.rollout.Targets {
		want[target.Device.ID] = target.Want
	}
	for _, d := range res.Devices {
		holds := s.fake.State(d.Device.ID)
		if d.State == reconcile.InSync && !want[d.Device.ID].Equal(holds) {
			t.Errorf("%s is said to be in sync, but is not: %v", d.Device, want[d.Device.ID].Diff(holds))
		}
		if d.State == reconcile.RolledBack && (d.Before == nil || !d.Before.Equal(holds)) {
			t.Errorf("%s is said to be rolled back, but is not", d.Device)
		}
		if d.State == reconcile.Applying || d.State == reconcile.Verifying {
			t.Errorf("%s is left in state %s", d.Device, d.State)
		}
		if d.Dirty && res.Outcome != reconcile.OutcomeStuck && res.Outcome != reconcile.OutcomePaused {
			t.Errorf("%s is dirty, but the outcome is %s", d.Device, res.Outcome)
		}
		if res.Outcome == reconcile.OutcomeDone && d.State != reconcile.InSync {
			t.Errorf("%s is %s, but the rollout is said to be done", d.Device, d.State)
		}
		if res.Outcome == reconcile.OutcomeRolledBack && d.Touched && (d.Before == nil || !d.Before.Equal(holds)) {
			t.Errorf("%s was touched and is not as before, but the rollout is said to be rolled back", d.Device)
		}
	}
	if res.Outcome != reconcile.OutcomeDone && res.Err == nil {
		t.Errorf("outcome %s without a reason", res.Outcome)
	}
}

func (s *stage) state(res reconcile.Result, d driver.Device) reconcile.DeviceResult {
	for _, r := range res.Devices {
		if r.Device.ID == d.ID {
			return r
		}
	}
	return reconcile.DeviceResult{}
}

func wantOutcome(t testing.TB, res reconcile.Result, want reconcile.Outcome) {
	t.Helper()
	if res.Outcome != want {
		t.Fatalf("outcome %s (%s), want %s", res.Outcome, res.Reason, want)
	}
}

// on makes a fault hit the writes (or reads) of one device, the first n of them; n < 0 all.
func on(d driver.Device, kind drivertest.OpKind, n int, f drivertest.Fault) func(drivertest.Op) drivertest.Fault {
	return func(op drivertest.Op) drivertest.Fault {
		if op.Device.ID != d.ID || op.Kind != kind || n == 0 {
			return drivertest.FaultNone
		}
		n--
		return f
	}
}

// placer is a Placer in memory.
type placer struct {
	now       []policy.Placement
	placeErrs int // that many Place calls fail
	deaf      bool
}

var errPlacer = errors.New("subnet manager did not reload")

func (p *placer) Place(_ context.Context, ps []policy.Placement) error {
	if p.placeErrs > 0 {
		p.placeErrs--
		return errPlacer
	}
	if !p.deaf {
		p.now = ps
	}
	return nil
}

func (p *placer) Verify(_ context.Context, ps []policy.Placement) error {
	if len(ps) != len(p.now) {
		return fmt.Errorf("%d placements in force, want %d", len(p.now), len(ps))
	}
	for i := range ps {
		if ps[i] != p.now[i] {
			return fmt.Errorf("placement of %s not in force", ps[i].Tenant)
		}
	}
	return nil
}
