package drift_test

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"fairlane/ccconfig/driver"
	"fairlane/policy"
	"fairlane/service/control"
	"fairlane/service/control/controltest"
	"fairlane/service/control/drift"
	"fairlane/service/control/rollouts"
	"fairlane/service/device"
	"fairlane/subnet/ident"
)

// moved is a lab whose tenants were moved from the service levels of one plan to others, seven and eight.
func moved(t *testing.T) (*controltest.Rig, control.Rollout) {
	t.Helper()
	r, _ := controltest.InForce(t)
	ro := controltest.Start(t, r.Service, movingPlan(t, r))
	r.Wait()
	if ro = settings(t, r, ro.ID); ro.State != control.RolloutSucceeded || !ro.Moves() {
		t.Fatalf("rollout %s, moves %t: %s", ro.State, ro.Moves(), ro.Result)
	}
	return r, ro
}

// movingPlan is a plan of the lab by which tenants have the service levels seven and eight.
func movingPlan(t *testing.T, r *controltest.Rig) string {
	t.Helper()
	set := controltest.Tenants()
	for i, sl := range []int{7, 8} {
		for a := range set.Tenants[i].Attachments {
			set.Tenants[i].Attachments[a].SL = ptr(ident.SL(sl))
		}
	}
	if _, err := r.Service.ApplyTenants(t.Context(), "lab", set, false); err != nil {
		t.Fatal(err)
	}
	p, _, err := r.Service.CreatePlan(t.Context(), "lab", policy.Options{}, false)
	if err != nil {
		t.Fatal(err)
	}
	return p.Plan.Name
}

func ptr[T any](v T) *T { return &v }

func settings(t *testing.T, r *controltest.Rig, id int64) control.Rollout {
	t.Helper()
	ro, err := r.Service.RolloutSettings(t.Context(), "lab", id)
	if err != nil {
		t.Fatal(err)
	}
	return ro
}

// planned returns the settings of the port of that name in a plan.
func planned(t *testing.T, r *controltest.Rig, plan, name string) driver.Settings {
	t.Helper()
	target, err := r.Service.LoadTarget(t.Context(), "lab", plan)
	if err != nil {
		t.Fatal(err)
	}
	list, err := device.Desired(target.Plan, target.Topology)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(list, func(x device.Target) bool { return x.Device.Name == name })
	return list[i].Want
}

func TestCleanUpRemovesPreviousPlanAfterSuccessfulMove(t *testing.T) {
	t.Parallel()
	r, ro := moved(t)
	before := settings(t, r, ro.ID-1).Plan
	for name, sls := range map[string][2]int{"h1/P1": {2, 7}, "h2/P1": {1, 8}} {
		i := slices.IndexFunc(ro.Devices, func(d control.RolloutDevice) bool { return d.Device.Name == name })
		has, old, next := ro.Devices[i].Observed.CA.SLs, planned(t, r, before, name).CA.SLs, planned(t, r, ro.Plan, name).CA.SLs
		if a, b := sls[0], sls[1]; has[a] != old[a] || has[b] != next[b] || old[a] == next[a] {
			t.Errorf("while traffic moves %s has %+v, want at %d what was, %+v, and at %d what will be, %+v", name, has, a, old[a], b, next[b])
		}
	}
	for range 2 { // one rollout, however often StartCleanUp runs
		if err := r.Service.SweepDrift(t.Context(), "m"); err != nil {
			t.Fatal(err)
		}
		r.Wait()
	}
	back := settings(t, r, ro.ID+1)
	if back.State != control.RolloutSucceeded || back.Moves() || back.Plan != ro.Plan || !slices.Contains(back.Stages, control.StagePlacement) {
		t.Fatalf("the rollout that takes back is %s, of stages %v: %s", back.State, back.Stages, back.Result)
	}
	if len(back.Devices) == 0 || len(back.Devices) == len(ro.Devices) {
		t.Errorf("it writes %d of %d devices", len(back.Devices), len(ro.Devices))
	}
	for _, d := range back.Devices {
		if !d.Observed.Equal(planned(t, r, ro.Plan, d.Device.Name)) {
			t.Errorf("%s is not as planned: %+v", d.Device.Name, d.Observed)
		}
	}
	if _, err := r.Service.Rollout(t.Context(), "lab", ro.ID+2); err == nil {
		t.Error("another rollout was started")
	}
	if k := controltest.Kinds(t, r.Service, back.ID); !strings.Contains(k, "rollout.started") {
		t.Errorf("events are %s", k)
	}
}

func TestNoCleanUpAfterFirstPlanOrSamePlan(t *testing.T) {
	t.Parallel()
	r, plan := controltest.InForce(t)
	controltest.Start(t, r.Service, plan)
	r.Wait()
	if err := r.Service.StartCleanUp(t.Context(), "lab"); err != nil {
		t.Fatal(err)
	}
	r.Wait()
	if _, err := r.Service.Rollout(t.Context(), "lab", 3); err == nil {
		t.Error("a rollout was started")
	}
}

// cleanedUp runs StartCleanUp, and returns the clean-up rollout, which must be the only one.
func cleanedUp(t *testing.T, r *controltest.Rig, after int64) control.Rollout {
	t.Helper()
	for range 2 {
		if err := r.Service.SweepDrift(t.Context(), "m"); err != nil {
			t.Fatal(err)
		}
		r.Wait()
	}
	list, _, err := r.Service.ListRollouts(t.Context(), "lab", control.Page{Limit: 2})
	if err != nil {
		t.Fatal(err)
	}
	if list[0].ID != after+1 {
		t.Fatalf("the latest rollout is %d of stages %v, want %d", list[0].ID, list[0].Stages, after+1)
	}
	return settings(t, r, list[0].ID)
}

func TestFailedDeviceDoesNotBlockCleanUpOfOthers(t *testing.T) {
	t.Parallel()
	r, _ := controltest.InForce(t)
	r.Devices.OnApply(func(_ context.Context, d driver.Device) error {
		if d.Name == "h2/P1" {
			return driver.ErrUnreachable
		}
		return nil
	})
	ro, err := r.Service.StartRollout(t.Context(), "lab", rollouts.RolloutInput{Plan: movingPlan(t, r), Options: control.RolloutOptions{FailureBudget: 1, Attempts: 1}})
	if err != nil {
		t.Fatal(err)
	}
	r.Wait()
	if ro = settings(t, r, ro.ID); ro.State != control.RolloutPartial {
		t.Fatalf("rollout %s: %s", ro.State, ro.Result)
	}
	back := cleanedUp(t, r, ro.ID)
	if back.State != control.RolloutSucceeded || len(back.Devices) == 0 || slices.ContainsFunc(back.Devices, func(d control.RolloutDevice) bool { return d.Device.Name == "h2/P1" }) {
		t.Errorf("what takes back ended as %s with %d devices: %s", back.State, len(back.Devices), back.Result)
	}
}

func TestConcurrentRepairDoesNotBlockCleanUp(t *testing.T) {
	t.Parallel()
	r, ro := moved(t)
	repair, err := r.Service.RepairDevice(t.Context(), "lab", "h1/P1")
	if err != nil {
		t.Fatal(err)
	}
	r.Wait()
	if back := cleanedUp(t, r, repair.ID); back.State != control.RolloutSucceeded || back.Plan != ro.Plan || len(back.Devices) == 0 {
		t.Errorf("what takes back ended as %s with %d devices: %s", back.State, len(back.Devices), back.Result)
	}
}

func TestCleanUpAfterPlacementOnlyRolloutWritesNoDevice(t *testing.T) {
	t.Parallel()
	r, _ := controltest.InForce(t)
	ro, err := r.Service.StartRollout(t.Context(), "lab", rollouts.RolloutInput{Plan: movingPlan(t, r), Stages: []control.Stage{control.StagePlacement}})
	if err != nil {
		t.Fatal(err)
	}
	r.Wait()
	if back := cleanedUp(t, r, ro.ID); back.State != control.RolloutSucceeded || len(back.Devices) > 0 || len(back.Stages) != 1 {
		t.Errorf("the roll-back ended as %s and wrote %d devices, want none: %s", back.State, len(back.Devices), back.Result)
	}
}

func TestCleanUpRemovesPlacementsOfRolledBackRollout(t *testing.T) {
	t.Parallel()
	r, plan := controltest.InForce(t)
	ro, err := r.Service.StartRollout(t.Context(), "lab", rollouts.RolloutInput{Plan: movingPlan(t, r), Options: control.RolloutOptions{ConfirmWindow: time.Hour}})
	if err != nil {
		t.Fatal(err)
	}
	r.Wait()
	if _, err := r.Service.UndoRollout(t.Context(), "lab", ro.ID); err != nil {
		t.Fatal(err)
	}
	r.Wait()
	if ro = settings(t, r, ro.ID); ro.State != control.RolloutRolledBack || ro.Placed != control.PlacedRestored {
		t.Fatalf("rollout %s, placements %s: %s", ro.State, ro.Placed, ro.Result)
	}
	if back := cleanedUp(t, r, ro.ID); back.State != control.RolloutSucceeded || back.Plan != plan || back.Moves() || len(back.Devices) > 0 {
		t.Errorf("what takes back ended as %s, of plan %.12s, with %d devices: %s", back.State, back.Plan, len(back.Devices), back.Result)
	}
}

// A refused rollout moved nothing: what the previous one left is still removed.
func TestRefusedRolloutDoesNotBlockCleanUp(t *testing.T) {
	t.Parallel()
	r, ro := moved(t)
	r.Devices.Break(driver.ErrUnreachable)
	refused, err := r.Service.StartRollout(t.Context(), "lab", rollouts.RolloutInput{Plan: settings(t, r, ro.ID-1).Plan, Options: control.RolloutOptions{Attempts: 1}})
	if err != nil {
		t.Fatal(err)
	}
	r.Wait()
	r.Devices.Break(nil)
	if refused = settings(t, r, refused.ID); refused.State != control.RolloutRefused || !strings.HasPrefix(refused.Result.String(), "nothing was written: ") {
		t.Fatalf("rollout %s: %s", refused.State, refused.Result)
	}
	if k := controltest.Kinds(t, r.Service, refused.ID); !strings.Contains(k, "rollout.refused") {
		t.Errorf("events are %s", k)
	}
	if back := cleanedUp(t, r, refused.ID); back.State != control.RolloutSucceeded || back.Plan != ro.Plan || len(back.Devices) == 0 {
		t.Errorf("what takes back ended as %s with %d devices: %s", back.State, len(back.Devices), back.Result)
	}
}

// keeping makes devices of a lab answer, after a rollout that moves traffic, exactly what it left, modified by change.
type keeping struct {
	control.Observer
	list   []device.Target
	left   bool // the subnet manager has placements of the previous plan
	change func(string, *driver.Settings)
}

func (o *keeping) Observe(_ context.Context, t control.Target, ids []ident.PortID) (out []control.DeviceReport, err error) {
	want, err := device.Desired(t.Plan, t.Topology)
	for i, x := range o.list {
		if ids != nil && !slices.Contains(ids, x.Device.ID) {
			continue
		}
		got := x.Want.Clone()
		o.change(x.Device.Name, &got)
		r := control.DeviceReport{Device: x.Device, State: "in-sync", Desired: &want[i].Want, Observed: &got}
		for _, d := range want[i].Want.Diff(got) {
			r.State, r.Differences = "drifted", append(r.Differences, control.Difference{Field: d.Field, Desired: d.Want, Observed: d.Got})
		}
		out = append(out, r)
	}
	if o.left {
		out = append(out, control.DeviceReport{Device: device.Manager(), State: "drifted", Leftover: true, Differences: []control.Difference{{Field: "partitions.conf"}}})
	}
	return out, err
}

// What a rollout keeps of the previous plan is no drift while its clean-up is due; every other difference is.
func TestPendingCleanUpIsNoDrift(t *testing.T) {
	t.Parallel()
	r, ro := moved(t)
	ctx := t.Context()
	o := &keeping{left: true, change: func(string, *driver.Settings) {}}
	for _, d := range ro.Devices {
		o.list = append(o.list, device.Target{Device: d.Device, Want: *d.Wanted})
	}
	s := r.Manager(t, func(d *control.Deps) { d.Observer = o })
	states := func() map[string]string {
		t.Helper()
		_, list, err := s.Devices(ctx, "lab", "")
		if err != nil {
			t.Fatal(err)
		}
		out := map[string]string{}
		for _, v := range list {
			if out[v.Device.Name] = v.State; v.State == string(drift.ReadingCleanup) && (!strings.Contains(v.Note, "within 5s") || len(v.Differences) == 0) {
				t.Errorf("%s: note %q, differences %v", v.Device.Name, v.Note, v.Differences)
			}
		}
		return out
	}
	want := map[string]string{"h1/P1": "clean-up-pending", "h2/P1": "clean-up-pending", "h4/P1": "clean-up-pending", "sw1": "in-sync", "subnet-manager": "clean-up-pending"}
	if got := states(); !maps.Equal(got, want) {
		t.Errorf("after the rollout devices are %v, want %v", got, want)
	}
	if v, err := s.Device(ctx, "lab", "h1/P1", true); err != nil || v.State != "clean-up-pending" {
		t.Errorf("h1/P1 read alone is %s, %v", v.State, err)
	}
	if v, err := s.Device(ctx, "lab", "h1/P1", false); err != nil || v.State == "drifted" {
		t.Errorf("h1/P1 as it is known is %s, %v", v.State, err)
	}
	o.change = func(name string, got *driver.Settings) {
		if name == "h1/P1" { // a level that is held over
			got.CA.SLs[2].Timer++
		}
		if name == "h2/P1" { // one that the plan sets
			got.CA.SLs[8].Timer++
		}
	}
	want["h1/P1"], want["h2/P1"] = "drifted", "drifted"
	if got := states(); !maps.Equal(got, want) {
		t.Errorf("with two written ports, devices are %v, want %v", got, want)
	}
	o.change = func(string, *driver.Settings) {}
	if err := s.SetDevicePolicy(ctx, "lab", "h1/P1", 0, device.PolicyFreeze); err != nil {
		t.Fatal(err)
	}
	if got := states(); got["h1/P1"] != "drifted" || got["h2/P1"] != "drifted" {
		t.Errorf("with a frozen port, which keeps the clean-up from starting, devices are %v", got)
	}
	if err := r.Service.StartCleanUp(ctx, "lab"); err != nil {
		t.Fatal(err)
	}
	if err := s.SetDevicePolicy(ctx, "lab", "h1/P1", 0, ""); err != nil {
		t.Fatal(err)
	}
	if err := r.Service.StartCleanUp(ctx, "lab"); err != nil {
		t.Fatal(err)
	}
	r.Wait()
	if got := states(); got["h1/P1"] != "drifted" {
		t.Errorf("after the clean-up a port that keeps it all is %v", got)
	}
}
