package rollouts_test

import (
	"context"
	"database/sql"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlane/ccconfig/driver"
	"fairlane/policy"
	"fairlane/service/control"
	"fairlane/service/control/controltest"
	"fairlane/service/control/rollouts"
)

func TestARolloutIsRecordedToItsEnd(t *testing.T) {
	t.Parallel()
	r, plan := controltest.LabWithPlan(t)
	ro := controltest.Start(t, r.Service, plan[:10])
	if ro.State != control.RolloutRunning || ro.Plan != plan || ro.Actor != "ada" {
		t.Errorf("started rollout is %+v", ro)
	}
	r.Wait()
	got, err := r.Service.RolloutSettings(t.Context(), "lab", ro.ID)
	if err != nil {
		t.Fatal(err)
	}
	if got.State != control.RolloutSucceeded || got.FinishedAt.IsZero() || len(got.Devices) == 0 {
		t.Fatalf("rollout ended as %+v", got)
	}
	for _, d := range got.Devices {
		if d.State != "in-sync" || d.Before == nil || d.Wanted == nil || d.Observed == nil || d.Receipt == nil {
			t.Errorf("device is %+v, want all its states", d)
		}
	}
	if k, want := controltest.Kinds(t, r.Service, ro.ID), "rollout.started by ada, rollout.succeeded by system"; k != want {
		t.Errorf("events are %s, want %s", k, want)
	}
}

func TestTwoRolloutsNeverInterleave(t *testing.T) {
	t.Parallel()
	r, plan := controltest.LabWithPlan(t)
	began, let := r.Devices.Hold()
	ro := controltest.Start(t, r.Service, plan)
	<-began
	_, err := r.Service.StartRollout(t.Context(), "lab", rollouts.RolloutInput{Plan: plan})
	if controltest.Code(err) != "rollout-running" {
		t.Errorf("a second rollout gives %v", err)
	}
	// Another manager on the same database must be stopped by the row, since it shares no memory.
	other := r.Manager(t)
	if _, err = other.StartRollout(t.Context(), "lab", rollouts.RolloutInput{Plan: plan}); controltest.Code(err) != "rollout-running" {
		t.Errorf("another manager's rollout gives %v", err)
	}
	if _, err := r.Service.UpdateFabric(t.Context(), control.Fabric{Name: "lab", Source: "ibsim:unix:elsewhere", TimeScale: 1}); controltest.Code(err) != "rollout-running" {
		t.Errorf("a fabric moves while a rollout runs on it: %v", err)
	}
	if _, err := r.Service.UpdateFabric(t.Context(), control.Fabric{Name: "lab", Source: controltest.Source, TimeScale: 0.5}); err != nil {
		t.Errorf("a fabric whose time runs otherwise stays where it is: %v", err)
	}
	if err := r.Service.DeleteFabric(t.Context(), "lab", 0, true); controltest.Code(err) != "rollout-running" {
		t.Errorf("deleting the fabric gives %v", err)
	}
	if _, err := r.Service.CancelRollout(t.Context(), "lab", ro.ID); err != nil {
		t.Fatal(err)
	}
	let()
	r.Wait()
	if got := controltest.Rollout(t, r.Service, ro.ID); got.State != control.RolloutCanceled {
		t.Errorf("cancelled rollout ended as %s: %s", got.State, got.Result)
	}
	if _, err := r.Service.CancelRollout(t.Context(), "lab", ro.ID); controltest.Code(err) != "not-running" {
		t.Errorf("cancelling it again gives %v", err)
	}
	r.Devices.OnRead(nil)
	again := controltest.Start(t, r.Service, plan)
	r.Wait()
	if got := controltest.Rollout(t, r.Service, again.ID); got.State != control.RolloutSucceeded {
		t.Errorf("the next rollout ended as %s", got.State)
	}
}

func TestOnlyAnIntactStoredPlanReachesDevices(t *testing.T) {
	t.Parallel()
	r, plan := controltest.LabWithPlan(t)
	dry, created, err := r.Service.CreatePlan(t.Context(), "lab", policy.Options{Mode: "theorem1"}, true)
	if err != nil || created || dry.Stored {
		t.Fatalf("dry run gives created %v, stored %v, %v", created, dry.Stored, err)
	}
	_, err = r.Service.StartRollout(t.Context(), "lab", rollouts.RolloutInput{Plan: dry.Plan.Name})
	controltest.MustFail(t, "rollout of a dry run's plan", err, control.ErrNotFound)
	touched := false
	r.Devices.OnRead(func(context.Context, driver.Device) error {
		touched = true
		return nil
	})
	db, err := sql.Open("sqlite", r.Path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), `DROP TRIGGER plans_are_immutable;
		UPDATE plans SET plan = replace(plan, '"plane":"ib"', '"plane":"xx"')`); err != nil {
		t.Fatal(err)
	}
	if _, err = r.Service.StartRollout(t.Context(), "lab", rollouts.RolloutInput{Plan: plan}); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("rollout of a damaged plan gives %v", err)
	}
	r.Wait()
	if touched {
		t.Error("devices were touched")
	}
}

func TestStagesRunInTheirOrder(t *testing.T) {
	t.Parallel()
	r, plan := controltest.LabWithPlan(t)
	ro, err := r.Service.StartRollout(t.Context(), "lab", rollouts.RolloutInput{Plan: plan, Stages: []control.Stage{"settings", "placement"}})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]control.Stage{"placement", "settings"}, ro.Stages); d != "" || ro.Prior != "" {
		t.Errorf("first rollout: %s prior %q", d, ro.Prior)
	}
	r.Wait()
	for i := range 2 { // the second follows a rollout without the placement stage
		next, err := r.Service.StartRollout(t.Context(), "lab", rollouts.RolloutInput{Plan: plan, Stages: []control.Stage{"settings"}})
		if err != nil {
			t.Fatal(err)
		}
		if r.Wait(); len(next.Stages) != 1 || next.Prior != plan {
			t.Errorf("rollout %d has stages %v and prior %q", i+2, next.Stages, next.Prior)
		}
	}
	for _, bad := range [][]control.Stage{{"all"}, {"settings", "settings"}} {
		_, err := r.Service.StartRollout(t.Context(), "lab", rollouts.RolloutInput{Plan: plan, Stages: bad})
		controltest.MustFail(t, "stages", err, control.ErrInvalid)
	}
}
