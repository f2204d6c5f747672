package drift_test

import (
	"errors"
	"testing"
	"time"

	"fairlane/policy"
	"fairlane/service/control"
	"fairlane/service/control/controltest"
	"fairlane/service/control/drift"
)

// otherPlan makes a plan with other weights.
func otherPlan(t *testing.T, r *controltest.Rig) string {
	t.Helper()
	set := controltest.Tenants()
	set.Tenants[0].Weight *= 2
	if _, err := r.Service.ApplyTenants(t.Context(), "lab", set, false); err != nil {
		t.Fatal(err)
	}
	p, created, err := r.Service.CreatePlan(t.Context(), "lab", policy.Options{}, false)
	if err != nil || !created {
		t.Fatalf("plan: created %t, %v", created, err)
	}
	return p.Plan.Name
}

func TestTheFirstWriteToADeviceRecordsItsBaseline(t *testing.T) {
	t.Parallel()
	r, plan := controltest.LabWithPlan(t)
	if got := controltest.Baselines(t, r.Service, ""); len(got) != 0 {
		t.Fatalf("before any rollout there are %d baselines", len(got))
	}
	controltest.Start(t, r.Service, plan)
	r.Wait()
	first := controltest.Baselines(t, r.Service, drift.AgainstObserved)
	if len(first) == 0 {
		t.Fatal("no baseline was recorded")
	}
	for _, b := range first {
		if b.Origin != control.OriginBefore || b.Note.String() != "" || !b.Held || b.Rollout == 0 || b.Settings.CA != nil && b.Settings.CA.Reacts() || b.Settings.Marks() {
			t.Errorf("baseline of %s: %+v", b.Device, b.Baseline)
		}
		if !b.Compared || len(b.Differences) == 0 {
			t.Errorf("%s holds what it held before the plan: %s", b.Device, b.Error)
		}
	}
	other := otherPlan(t, r)
	controltest.Start(t, r.Service, other)
	r.Wait()
	again := controltest.Baselines(t, r.Service, other[:12])
	for i, b := range again[:len(first)] {
		if !b.Settings.Equal(first[i].Settings) || !b.RecordedAt.Equal(first[i].RecordedAt) {
			t.Errorf("the baseline of %s was replaced", b.Device)
		}
		if !b.Compared || len(b.Differences) == 0 || b.Differences[0].Desired == b.Differences[0].Observed {
			t.Errorf("the baseline of %s does not differ from the plan: %+v", b.Device, b)
		}
	}
	ref := drift.BaselineQuery{Device: first[0].Device.ID.String()}
	if _, one, _, err := r.Service.ListBaseline(t.Context(), "lab", ref, control.Page{}); err != nil || len(one) != 1 || one[0].Device.ID != first[0].Device.ID {
		t.Errorf("one device gives %v, %v", one, err)
	}
	if _, _, _, err := r.Service.ListBaseline(t.Context(), "lab", drift.BaselineQuery{Device: "nobody"}, control.Page{}); !errors.Is(err, control.ErrNotFound) {
		t.Errorf("a device without a baseline gives %v", err)
	}
}

// A restored database does not know the plans since the backup. The settings found on a device may come from one of them,
// and must not be recorded as a sure baseline.
func TestBaselineAfterRestoreHasUnknownOrigin(t *testing.T) {
	t.Parallel()
	r, plan := controltest.LabWithPlan(t)
	if err := r.Store.Tx(t.Context(), func(x control.Repos) error { return x.NoteRestored(t.Context(), time.Now()) }); err != nil {
		t.Fatal(err)
	}
	controltest.Start(t, r.Service, plan)
	r.Wait()
	got := controltest.Baselines(t, r.Service, "")
	if len(got) == 0 {
		t.Fatal("no baseline was recorded")
	}
	for _, b := range got {
		if b.Origin != control.OriginUnknown || b.Note.String() == "" {
			t.Errorf("the baseline of %s claims to be of before Fairlane: %+v", b.Device, b.Baseline)
		}
	}
}

// Settings of a plan of an earlier rollout, whose baseline was lost, must not be recorded as a sure baseline.
func TestSettingsOfKnownPlanAreNotRecordedAsOriginal(t *testing.T) {
	t.Parallel()
	r, plan := controltest.LabWithPlan(t)
	controltest.Start(t, r.Service, plan)
	r.Wait()
	if err := r.Store.Tx(t.Context(), func(x control.Repos) error { _, err := x.DropBaselines(t.Context(), "lab"); return err }); err != nil {
		t.Fatal(err)
	}
	controltest.Start(t, r.Service, otherPlan(t, r))
	r.Wait()
	n := 0
	for _, b := range controltest.Baselines(t, r.Service, "") {
		if reacts := b.Settings.CA != nil && b.Settings.CA.Reacts() || b.Settings.Marks(); reacts {
			if n++; b.Origin != control.OriginUnknown || b.Note.String() != "equal to the settings of plan "+plan[:12] {
				t.Errorf("the baseline of %s is said to be %s: %q", b.Device, b.Origin, b.Note)
			}
		}
	}
	if n == 0 {
		t.Error("no device held settings of the first plan")
	}
}
