package rollouts_test

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	"fairlane/ccconfig/driver"
	"fairlane/policy"
	"fairlane/service/control"
	"fairlane/service/control/controltest"
	"fairlane/service/control/drift"
	"fairlane/service/control/rollouts"
	"fairlane/service/control/tenancy"
	"fairlane/service/control/usecases"
	"fairlane/subnet/ident"
)

// managed returns the management state of the lab.
func managed(t *testing.T, r *controltest.Rig) control.Management {
	t.Helper()
	f, err := r.Service.Fabric(t.Context(), "lab")
	if err != nil {
		t.Fatal(err)
	}
	return f.Management
}

// counted returns the number of devices of all fabrics by their latest reading, as in metrics.
func counted(t *testing.T, r *controltest.Rig) map[string]int64 {
	t.Helper()
	n, err := r.Store.(interface {
		Census(ctx context.Context) (control.Census, error)
	}).Census(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return n.Readings
}

// atBaseline checks that every device holds its baseline.
func atBaseline(t *testing.T, s *usecases.Services) {
	t.Helper()
	for _, b := range controltest.Baselines(t, s, drift.AgainstObserved) {
		if !b.Compared || len(b.Differences) > 0 || b.Held {
			t.Errorf("%s does not hold its baseline: %+v %s, held %t", b.Device, b.Differences, b.Error, b.Held)
		}
	}
}

func TestTheFirstRolloutIsRolledBackToTheBaseline(t *testing.T) {
	t.Parallel()
	r, plan := controltest.LabWithPlan(t)
	ro := controltest.Start(t, r.Service, plan)
	r.Wait()
	back, err := r.Service.RollBack(t.Context(), "lab", ro.ID, "")
	if err != nil {
		t.Fatal(err)
	}
	r.Wait()
	if got := controltest.Rollout(t, r.Service, back.ID); got.State != control.RolloutSucceeded || got.Options.To != control.ToBaseline || got.Placed != control.PlacedVerified {
		t.Fatalf("the roll-back ended as %s: %s", got.State, got.Result)
	}
	atBaseline(t, r.Service)
	if got := managed(t, r); got != control.Managed {
		t.Errorf("the fabric is %s after a roll-back", got)
	}
	// The roll-back is rolled back to the plan, and from there to the baseline by name.
	if _, err := r.Service.RollBack(t.Context(), "lab", back.ID, ""); err != nil {
		t.Fatal(err)
	}
	r.Wait()
	if held := controltest.Baselines(t, r.Service, drift.AgainstObserved); len(held) == 0 || !held[0].Held || len(held[0].Differences) == 0 {
		t.Errorf("the plan is not in force again: %+v", held)
	}
	if back, err = r.Service.RollBackToBaseline(t.Context(), "lab", back.ID+1); err != nil {
		t.Fatal(err)
	}
	r.Wait()
	if got := controltest.Rollout(t, r.Service, back.ID); got.State != control.RolloutSucceeded {
		t.Fatalf("the second roll-back ended as %s: %s", got.State, got.Result)
	}
	atBaseline(t, r.Service)
}

func TestReleaseRestoresEverything(t *testing.T) {
	t.Parallel()
	for _, to := range []control.ReturnTo{control.ToBaseline, control.ToFactory} {
		r, plan := controltest.LabWithPlan(t)
		controltest.Start(t, r.Service, plan)
		r.Wait()
		if err := r.Service.SweepDrift(t.Context(), "m1"); err != nil || len(counted(t, r)) == 0 {
			t.Fatalf("devices count as %v, %v", counted(t, r), err)
		}
		looks := r.Devices.Reads()
		p, err := r.Service.PreviewRelease(t.Context(), "lab", to, control.RolloutOptions{})
		if err != nil || len(p.Devices) == 0 || len(p.Devices[0].Changes) == 0 || len(p.Placements) == 0 || len(p.Waves) == 0 {
			t.Fatalf("preview is %+v, %v", p, err)
		}
		ro, err := r.Service.ReleaseFabric(t.Context(), "lab", to, control.RolloutOptions{})
		if err != nil {
			t.Fatal(err)
		}
		r.Wait()
		if got := controltest.Rollout(t, r.Service, ro.ID); got.State != control.RolloutSucceeded || got.Placed != control.PlacedVerified {
			t.Fatalf("to %s: the release ended as %s: %s", to, got.State, got.Result)
		}
		if got := managed(t, r); got != control.Released {
			t.Errorf("to %s: the fabric is %s", to, got)
		}
		list, _, err := r.Service.Events(t.Context(), "lab", ro.ID, control.Page{Limit: 1000})
		if err != nil || slices.ContainsFunc(list, func(e control.Event) bool { return e.Said.String() == "placements are in force" }) {
			t.Errorf("to %s: a release says that placements are in force, %v", to, err)
		}
		atBaseline(t, r.Service) // the lab started without congestion control
		whole, err := r.Service.RolloutSettings(t.Context(), "lab", ro.ID)
		if err != nil || whole.Devices[0].Wanted == nil || whole.Devices[0].Observed == nil {
			t.Errorf("the release does not show what devices became: %+v, %v", whole.Devices[0], err)
		}
		// Nothing is managed until management of the fabric is resumed.
		if _, err := r.Service.StartRollout(t.Context(), "lab", rollouts.RolloutInput{Plan: plan}); controltest.Code(err) != "fabric-released" || !strings.Contains(err.Error(), "fairlane fabric manage lab") {
			t.Errorf("a rollout on a released fabric gives %v", err)
		}
		if _, err := r.Service.ReleaseFabric(t.Context(), "lab", to, control.RolloutOptions{}); controltest.Code(err) != "fabric-released" {
			t.Errorf("a second release gives %v", err)
		}
		if err := r.Service.SweepDrift(t.Context(), "m1"); err != nil || !maps.Equal(looks, r.Devices.Reads()) {
			t.Errorf("a sweep of a released fabric read %v, %v", r.Devices.Reads(), err)
		}
		if _, _, err := r.Service.Devices(t.Context(), "lab", ""); controltest.Code(err) != "no-plan" {
			t.Errorf("devices of a released fabric: %v", err)
		}
		if n := counted(t, r); len(n) > 0 {
			t.Errorf("devices of a released fabric count as %v", n)
		}
		if _, err := r.Service.ManageFabric(t.Context(), "lab"); err != nil || managed(t, r) != control.Managed {
			t.Fatalf("manage: %v", err)
		}
		// The release left no plan in force, so nothing is compared and the fabric can be deleted.
		if _, err := r.Service.PlanOrInForce(t.Context(), "lab", ""); controltest.Code(err) != "no-plan" || !strings.Contains(err.Error(), "since its release") {
			t.Errorf("the plan in force after a release: %v", err)
		}
		if err := r.Service.SweepDrift(t.Context(), "m1"); err != nil || !maps.Equal(looks, r.Devices.Reads()) {
			t.Errorf("a sweep after a release read %v, %v", r.Devices.Reads(), err)
		}
		if _, _, err := r.Service.Devices(t.Context(), "lab", ""); controltest.Code(err) != "no-plan" {
			t.Errorf("devices after a release: %v", err)
		}
		if list := controltest.Baselines(t, r.Service, ""); len(list) != 0 {
			t.Errorf("%d baselines are left of before the release", len(list))
		}
		first := controltest.Start(t, r.Service, plan)
		r.Wait()
		if list := controltest.Baselines(t, r.Service, ""); len(list) == 0 || list[0].Origin != control.OriginBefore {
			t.Errorf("the baselines did not begin anew: %+v", list)
		}
		if err := r.Service.DeleteFabric(t.Context(), "lab", 0, false); controltest.Code(err) != "plan-in-force" {
			t.Errorf("deleting gives %v", err)
		}
		// Before the first rollout after a release there was no plan: its roll-back is to the new baselines.
		if back, err := r.Service.RollBack(t.Context(), "lab", first.ID, ""); err != nil || back.Options.To != control.ToBaseline {
			t.Errorf("the roll-back of the first rollout after a release is %+v, %v", back.Options, err)
		}
		r.Wait()
	}
}

func TestAReleaseNamesTheDeviceThatCannotBeReturnedAndRunsAgain(t *testing.T) {
	t.Parallel()
	r, plan := controltest.LabWithPlan(t)
	controltest.Start(t, r.Service, plan)
	r.Wait()
	stuck := controltest.Baselines(t, r.Service, "")[0].Device
	r.Devices.OnApply(func(_ context.Context, d driver.Device) error {
		if d.ID == stuck.ID {
			return driver.ErrInvalid
		}
		return nil
	})
	ro, err := r.Service.ReleaseFabric(t.Context(), "lab", control.ToBaseline, control.RolloutOptions{Attempts: 1})
	if err != nil {
		t.Fatal(err)
	}
	r.Wait()
	got := controltest.Rollout(t, r.Service, ro.ID)
	if got.State == control.RolloutSucceeded || !strings.Contains(got.Result.String(), stuck.Name) || managed(t, r) != control.Releasing {
		t.Fatalf("the release ended as %s: %s; the fabric is %s", got.State, got.Result, managed(t, r))
	}
	for _, b := range controltest.Baselines(t, r.Service, drift.AgainstObserved) {
		if b.Held != (b.Device.ID == stuck.ID) || (len(b.Differences) > 0) != b.Held {
			t.Errorf("%s: held %t, differences %+v", b.Device, b.Held, b.Differences)
		}
	}
	if err := r.Service.SweepDrift(t.Context(), "m1"); err != nil || len(r.Devices.Reads()) > 0 {
		t.Errorf("a sweep of a fabric that is being released read %v, %v", r.Devices.Reads(), err)
	}
	if _, err := r.Service.StartRollout(t.Context(), "lab", rollouts.RolloutInput{Plan: plan}); controltest.Code(err) != "fabric-released" || !strings.Contains(err.Error(), "fabric release lab` again") {
		t.Errorf("a rollout gives %v", err)
	}
	r.Devices.OnApply(nil)
	began, proceed := r.Devices.Hold()
	if ro, err = r.Service.ReleaseFabric(t.Context(), "lab", control.ToBaseline, control.RolloutOptions{}); err != nil {
		t.Fatal(err)
	}
	<-began
	if _, err = r.Service.RollBack(t.Context(), "lab", ro.ID, ""); err != nil {
		t.Fatal(err)
	}
	proceed()
	r.Wait()
	if got := controltest.Rollout(t, r.Service, ro.ID); got.State != control.RolloutRolledBack || managed(t, r) != control.Releasing {
		t.Fatalf("rolled back, the second release ended as %s: %s; the fabric is %s", got.State, got.Result, managed(t, r))
	}
	if ro, err = r.Service.ReleaseFabric(t.Context(), "lab", control.ToBaseline, control.RolloutOptions{}); err != nil {
		t.Fatal(err)
	}
	r.Wait()
	if got := controltest.Rollout(t, r.Service, ro.ID); got.State != control.RolloutSucceeded || managed(t, r) != control.Released {
		t.Fatalf("run again it ended as %s: %s; the fabric is %s", got.State, got.Result, managed(t, r))
	}
	atBaseline(t, r.Service)
	if err := r.Service.DeleteFabric(t.Context(), "lab", 0, false); err != nil {
		t.Errorf("a released fabric is not deleted: %v", err)
	}
}

func TestReleaseContinuesWhenSubnetManagerRefuses(t *testing.T) {
	t.Parallel()
	r, plan := controltest.LabWithPlan(t)
	controltest.Start(t, r.Service, plan)
	r.Wait()
	r.Devices.Stray(true, control.ErrConflict)
	ro, err := r.Service.ReleaseFabric(t.Context(), "lab", control.ToBaseline, control.RolloutOptions{Attempts: 1})
	if err != nil {
		t.Fatal(err)
	}
	r.Wait()
	got := controltest.Rollout(t, r.Service, ro.ID)
	if got.State != control.RolloutFailed || !strings.Contains(got.Result.String(), "placements could not be removed") || managed(t, r) != control.Releasing {
		t.Fatalf("the release ended as %s: %s; the fabric is %s", got.State, got.Result, managed(t, r))
	}
	atBaseline(t, r.Service)
}

func TestReleaseNamesDeviceMissingFromTheFabric(t *testing.T) {
	t.Parallel()
	r, plan := controltest.LabWithPlan(t)
	controltest.Start(t, r.Service, plan)
	r.Wait()
	gone := controltest.Baselines(t, r.Service, "")[0]
	gone.Device.ID, gone.Device.Name = ident.PortID{Node: 0x77, Port: 1}, "gone/P1"
	err := r.Store.Tx(t.Context(), func(x control.Repos) error {
		return x.AddBaselines(t.Context(), "lab", []control.Baseline{gone.Baseline})
	})
	if err != nil {
		t.Fatal(err)
	}
	ro, err := r.Service.ReleaseFabric(t.Context(), "lab", control.ToBaseline, control.RolloutOptions{})
	if err != nil {
		t.Fatal(err)
	}
	r.Wait()
	if got := controltest.Rollout(t, r.Service, ro.ID); got.State != control.RolloutPartial || !strings.Contains(got.Result.String(), "gone/P1: the latest discovery of the fabric did not find the device") || managed(t, r) != control.Releasing {
		t.Fatalf("the release ended as %s: %s; the fabric is %s", got.State, got.Result, managed(t, r))
	}
}

func TestPlanWithoutTenantsRemovesAllSettings(t *testing.T) {
	t.Parallel()
	r, plan := controltest.LabWithPlan(t)
	controltest.Start(t, r.Service, plan)
	r.Wait()
	if _, err := r.Service.ApplyTenants(t.Context(), "lab", tenancy.TenantSet{Flows: []tenancy.FlowInput{}, Prune: true}, false); err != nil {
		t.Fatal(err)
	}
	p, _, err := r.Service.CreatePlan(t.Context(), "lab", policy.Options{}, false)
	if err != nil {
		t.Fatal(err)
	}
	ro := controltest.Start(t, r.Service, p.Plan.Name)
	r.Wait()
	got := controltest.Rollout(t, r.Service, ro.ID)
	if got.State != control.RolloutSucceeded || got.Options.To != control.ToFactory || len(got.Devices) == 0 || managed(t, r) != control.Managed {
		t.Fatalf("the rollout ended as %s: %s, %d devices; the fabric is %s", got.State, got.Result, len(got.Devices), managed(t, r))
	}
	atBaseline(t, r.Service) // the lab started without congestion control
	if name, list, err := r.Service.Devices(t.Context(), "lab", ""); err != nil || name != p.Plan.Name || len(list) != 0 {
		t.Errorf("in force is plan %.8s with %d devices, %v", name, len(list), err)
	}
	controltest.Start(t, r.Service, plan) // a plan with tenants can follow it
	r.Wait()
	if held := controltest.Baselines(t, r.Service, ""); len(held) == 0 || !held[0].Held {
		t.Errorf("the plan that follows holds no device: %+v", held)
	}
}
