package drift_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"fairlane/ccconfig/driver"
	"fairlane/policy"
	"fairlane/service/control"
	"fairlane/service/control/controltest"
	"fairlane/service/control/rollouts"
	"fairlane/service/device"
	"fairlane/subnet/ident"
)

func TestOneOfSeveralManagersReadsADevice(t *testing.T) {
	t.Parallel()
	r, _ := controltest.InForce(t)
	list, ahead := controltest.Managers(t, r, 4)
	sweep := func() {
		var wg sync.WaitGroup
		for _, s := range list {
			wg.Go(func() {
				if err := s.SweepDrift(t.Context(), "m"); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
	}
	sweep() // seeds the records; devices that are due at once are read already
	before := r.Devices.Reads()
	for round := 1; round <= 5; round++ {
		ahead.Add(int64(6 * time.Minute)) // more than an interval with all its jitter
		sweep()
		sweep() // nothing is due
		for id, n := range r.Devices.Reads() {
			if got := n - before[id]; got != round {
				t.Fatalf("in %d intervals %s was read %d times", round, id, got)
			}
		}
	}
	_, views, _, err := list[0].ListDevices(t.Context(), "lab", control.Page{})
	if err != nil {
		t.Fatal(err)
	}
	if len(views) != len(r.Devices.Reads()) {
		t.Errorf("%d devices are known, %d were read", len(views), len(r.Devices.Reads()))
	}
	for _, v := range views {
		if v.State != "in-sync" || v.ReadBy != "m" || v.ReadAt.IsZero() {
			t.Errorf("device is %+v", v)
		}
	}
}

func TestZeroIntervalReadsNoDevice(t *testing.T) {
	t.Parallel()
	r, _ := controltest.InForce(t)
	list, ahead := controltest.Managers(t, r, 1)
	p := control.DefaultDriftPolicy()
	p.Interval = 0
	if _, err := list[0].PutDriftPolicy(t.Context(), "lab", 0, p); err != nil {
		t.Fatal(err)
	}
	ahead.Add(int64(time.Hour))
	if err := list[0].SweepDrift(t.Context(), "m"); err != nil || len(r.Devices.Reads()) > 0 {
		t.Errorf("%v was read: %v", r.Devices.Reads(), err)
	}
	p.Interval = 5
	if _, err := list[0].PutDriftPolicy(t.Context(), "lab", 1, p); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		ahead.Add(int64(6 * time.Second))
		if err := list[0].SweepDrift(t.Context(), "m"); err != nil {
			t.Fatal(err)
		}
	}
	if len(r.Devices.Reads()) == 0 {
		t.Error("a shorter interval has no effect")
	}
}

// A fabric that does not answer says nothing about its devices.
func TestUnreachableFabricIsNoDrift(t *testing.T) {
	t.Parallel()
	r, _ := controltest.InForce(t)
	list, ahead := controltest.Managers(t, r, 1)
	sweep := func() error {
		ahead.Add(int64(6 * time.Minute))
		return list[0].SweepDrift(t.Context(), "m")
	}
	if err := errors.Join(sweep(), sweep()); err != nil {
		t.Fatal(err)
	}
	r.Devices.Break(errors.New("no light on the cable"))
	if err := sweep(); err == nil || !strings.Contains(err.Error(), "no light") {
		t.Errorf("sweep of a fabric that is away: %v", err)
	}
	v, err := list[0].Device(t.Context(), "lab", "h1", false)
	if err != nil || v.State != "in-sync" || len(v.Watch.Incidents) > 0 {
		t.Errorf("h1 is %+v, %v", v, err)
	}
	r.Devices.Break(nil)
	if err := sweep(); err != nil {
		t.Errorf("after the fabric came back: %v", err)
	}
}

// Results read before a rollout began are dropped, and so are those of a plan that is no longer in force.
func TestReadingsOvertakenByARolloutAreDropped(t *testing.T) {
	t.Parallel()
	r, plan := controltest.InForce(t)
	o := &overtaken{Devices: r.Devices}
	all, ahead := controltest.Managers(t, r, 1, func(d *control.Deps) { d.Observer = o })
	s := all[0]
	p := control.DefaultDriftPolicy()
	p.Policy = device.PolicyRepair
	if _, err := s.PutDriftPolicy(t.Context(), "lab", 0, p); err != nil {
		t.Fatal(err)
	}
	sweep := func() {
		t.Helper()
		ahead.Add(int64(6 * time.Minute))
		if err := s.SweepDrift(t.Context(), "m"); err != nil {
			t.Fatal(err)
		}
		r.Wait()
	}
	sweep()
	sweep()
	r.Devices.Drift()
	o.meanwhile = func() {
		o.meanwhile = nil
		controltest.Start(t, r.Service, plan)
		r.Wait()
	}
	sweep()
	list, _, err := s.ListRollouts(t.Context(), "lab", control.Page{})
	if err != nil || len(list) != 2 {
		t.Fatalf("%d rollouts: a repair was begun by a reading that a rollout overtook (%v)", len(list), err)
	}
	sweep() // now the drift counts
	if list, _, err = s.ListRollouts(t.Context(), "lab", control.Page{}); err != nil || len(list) != 3 || !list[0].Options.Repair {
		t.Errorf("rollouts are %+v, %v: want a repair", list, err)
	}
}

// slowMeter measures longer than requested, as on a loaded fabric.
type slowMeter struct{ *controltest.Devices }

// Measure implements control.Meter.
func (m slowMeter) Measure(ctx context.Context, t control.Target, window time.Duration) (control.Shares, error) {
	sh, err := m.Devices.Measure(ctx, t, window)
	sh.Window = window + 30*time.Millisecond
	return sh, err
}

func TestRequestedAndMeasuredWindowAreReportedSeparately(t *testing.T) {
	t.Parallel()
	r, _ := controltest.InForce(t)
	s := r.Manager(t, func(d *control.Deps) { d.Meter = slowMeter{r.Devices} })
	sh, err := s.MeasureShares(t.Context(), "lab", "", 100*time.Millisecond)
	kept, err2 := s.LatestShares(t.Context(), "lab")
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	for what, x := range map[string]control.Shares{"measured": sh, "kept": kept} {
		if x.Requested != 100*time.Millisecond || x.Window != 130*time.Millisecond {
			t.Errorf("%s: asked for %s, window %s", what, x.Requested, x.Window)
		}
	}
}

// overtaken runs a hook while devices are read.
type overtaken struct {
	*controltest.Devices
	meanwhile func()
}

// Observe implements control.Observer.
func (o *overtaken) Observe(ctx context.Context, t control.Target, ids []ident.PortID) ([]control.DeviceReport, error) {
	list, err := o.Devices.Observe(ctx, t, ids)
	if o.meanwhile != nil {
		o.meanwhile()
	}
	return list, err
}

// The device settings recorded before an interrupted rollout pass to the next rollout, whose roll-back thus restores the
// state before the first one.
func TestUndoRestoresStateBeforeInterruptedRollout(t *testing.T) {
	t.Parallel()
	r, plan := controltest.LabWithPlan(t)
	var mu sync.Mutex
	reads := map[string]int{}
	r.Devices.OnRead(func(_ context.Context, d driver.Device) error {
		mu.Lock()
		defer mu.Unlock()
		if reads[d.Name]++; d.Name == "h1/P1" && reads[d.Name] > 1 { // it applies the write and then stops answering
			return driver.ErrUnreachable
		}
		return nil
	})
	r.Devices.OnApply(func(_ context.Context, d driver.Device) error {
		mu.Lock()
		defer mu.Unlock()
		if d.Name == "h1/P1" && reads[d.Name] > 1 { // so that it holds what was written
			return driver.ErrUnreachable
		}
		return nil
	})
	first, err := r.Service.StartRollout(t.Context(), "lab", rollouts.RolloutInput{Plan: plan, Options: control.RolloutOptions{Attempts: 1}})
	if err != nil {
		t.Fatal(err)
	}
	r.Wait()
	before := deviceOf(t, controltest.Rollout(t, r.Service, first.ID), "h1/P1")
	if before.State != "failed" || !before.Touched || before.Before == nil {
		t.Fatalf("h1 is left as %+v", before)
	}
	r.Devices.OnRead(nil)
	r.Devices.OnApply(nil)
	second, err := r.Service.StartRollout(t.Context(), "lab", rollouts.RolloutInput{Plan: plan, Options: control.RolloutOptions{ConfirmWindow: time.Hour}})
	if err != nil {
		t.Fatal(err)
	}
	r.Wait()
	if got := controltest.Rollout(t, r.Service, second.ID); got.Phase != control.PhaseConfirming {
		t.Fatalf("the second rollout is %s: %s", got.Phase, got.Result)
	}
	if _, err := r.Service.RollBack(t.Context(), "lab", second.ID, ""); err != nil {
		t.Fatal(err)
	}
	r.Wait()
	got := controltest.Rollout(t, r.Service, second.ID)
	d := deviceOf(t, got, "h1/P1")
	if got.State != control.RolloutRolledBack || d.State != "rolled-back" || !d.Before.Equal(*before.Before) {
		t.Errorf("the second rollout ended as %s, with h1 %+v; want it as before the first", got.State, d)
	}
}

func deviceOf(t *testing.T, ro control.Rollout, name string) control.RolloutDevice {
	t.Helper()
	for _, d := range ro.Devices {
		if d.Device.Name == name {
			return d
		}
	}
	t.Fatalf("rollout %d has no device %s", ro.ID, name)
	return control.RolloutDevice{}
}

func TestCancelAffectsOneRolloutAndIsAuditedAsCancel(t *testing.T) {
	t.Parallel()
	r, plan := controltest.LabWithPlan(t)
	if _, err := r.Service.CreateFabric(t.Context(), control.Fabric{Name: "prod", Source: controltest.Source}); err != nil {
		t.Fatal(err)
	}
	began, let := r.Devices.Hold()
	ro := controltest.Start(t, r.Service, plan)
	<-began
	bob := control.WithActor(t.Context(), "bob")
	for what, f := range map[string]func() (control.Rollout, error){
		"another fabric's": func() (control.Rollout, error) { return r.Service.CancelRollout(bob, "prod", ro.ID) },
		"another number":   func() (control.Rollout, error) { return r.Service.CancelRollout(bob, "lab", ro.ID+1) },
	} {
		if _, err := f(); !errors.Is(err, control.ErrNotFound) {
			t.Errorf("cancel of %s rollout: %v", what, err)
		}
	}
	if _, err := r.Service.CancelRollout(bob, "lab", ro.ID); err != nil {
		t.Fatal(err)
	}
	let()
	r.Wait()
	got := controltest.Rollout(t, r.Service, ro.ID)
	if got.State != control.RolloutCanceled || !strings.Contains(got.Result.String(), "bob") {
		t.Errorf("it ended as %s: %s", got.State, got.Result)
	}
	list, _, err := r.Service.ListAudit(t.Context(), control.AuditFilter{Action: "rollout.", Oldest: true}, control.Page{})
	if err != nil {
		t.Fatal(err)
	}
	var log []string
	for _, e := range list {
		log = append(log, e.Action+" by "+e.Actor)
	}
	if got, want := strings.Join(log, ", "), "rollout.started by ada, rollout.canceling by bob, rollout.canceled by system"; got != want {
		t.Errorf("the audit log has %s, want %s", got, want)
	}
}

func TestRollBackRestoresWholePlans(t *testing.T) {
	t.Parallel()
	r, a := controltest.InForce(t)
	other := func(mode policy.Mode) string {
		t.Helper()
		p, _, err := r.Service.CreatePlan(t.Context(), "lab", policy.Options{Mode: mode, TableEntries: 64}, false)
		if err != nil || p.Plan.Name == a {
			t.Fatalf("plan %s, %v", p.Plan.Name, err)
		}
		return p.Plan.Name
	}
	b := other("")
	roll := func(plan string, stages ...control.Stage) control.Rollout {
		t.Helper()
		ro, err := r.Service.StartRollout(t.Context(), "lab", rollouts.RolloutInput{Plan: plan, Stages: stages})
		if err != nil {
			t.Fatal(err)
		}
		r.Wait()
		return controltest.Rollout(t, r.Service, ro.ID)
	}
	half := roll(b, control.StageSettings)
	// The gates of the rollout must not apply to its roll-back.
	guarded, err := r.Service.StartRollout(t.Context(), "lab", rollouts.RolloutInput{Plan: a, Stages: []control.Stage{control.StageSettings},
		Options: control.RolloutOptions{ConfirmWindow: time.Hour, MaxShareError: 0.5, MeasureWindow: time.Second, FailureBudget: 2}})
	if err != nil {
		t.Fatal(err)
	}
	r.Wait()
	if _, err := r.Service.ConfirmRollout(t.Context(), "lab", guarded.ID); err != nil {
		t.Fatal(err)
	}
	r.Wait()
	back, err := r.Service.RollBack(t.Context(), "lab", guarded.ID, b)
	if err != nil {
		t.Fatal(err)
	}
	r.Wait()
	if got := controltest.Rollout(t, r.Service, back.ID); got.State != control.RolloutSucceeded || got.Options.ConfirmWindow != 0 || got.Options.MaxShareError != 0 || got.Options.FailureBudget != 2 {
		t.Errorf("the roll-back ended as %s with %+v", got.State, got.Options)
	}
	for _, tc := range []struct {
		name, to, want string
		id             int64
	}{
		{"without a plan", "", a, half.ID},
		{"to the other one again", b, b, half.ID},
		{"to the first of all", a, a, half.ID},
	} {
		waves, err := r.Service.PreviewRollBack(t.Context(), "lab", tc.id, tc.to)
		if err != nil || len(waves) == 0 {
			t.Errorf("%s: preview of %d waves, %v", tc.name, len(waves), err)
		}
		ro, err := r.Service.RollBack(t.Context(), "lab", tc.id, tc.to)
		if err != nil {
			t.Fatal(err)
		}
		r.Wait()
		got := controltest.Rollout(t, r.Service, ro.ID)
		if got.Plan != tc.want || got.State != control.RolloutSucceeded || len(got.Stages) != 2 || got.Placed != control.PlacedVerified {
			t.Errorf("%s: %s of plan %.8s with stages %v, placements %s: want plan %.8s with placements", tc.name, got.State, got.Plan, got.Stages, got.Placed, tc.want)
		}
	}
	if _, err := r.Service.RollBack(t.Context(), "lab", half.ID, strings.Repeat("0", 64)); !errors.Is(err, control.ErrNotFound) {
		t.Errorf("to a plan that is not there: %v", err)
	}
	if waves, err := r.Service.PreviewRollBack(t.Context(), "lab", 1, ""); err != nil || len(waves) == 0 {
		t.Errorf("preview of the baseline: %d waves, %v", len(waves), err)
	}
	if ro, err := r.Service.RollBack(t.Context(), "lab", 1, ""); err != nil || ro.Options.To != control.ToBaseline {
		t.Errorf("before the first rollout: %+v, %v", ro.Options, err)
	}
	r.Wait()
}
