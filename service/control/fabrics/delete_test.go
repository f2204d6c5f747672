package fabrics_test

import (
	"context"
	"strings"
	"testing"

	"fairlane/ccconfig/driver"
	"fairlane/service/control"
	"fairlane/service/control/controltest"
)

func TestAFabricWithAPlanInForceIsNotDeleted(t *testing.T) {
	t.Parallel()
	r, plan := controltest.LabWithPlan(t)
	controltest.Start(t, r.Service, plan)
	r.Wait()
	err := r.Service.DeleteFabric(t.Context(), "lab", 0, false)
	if controltest.Code(err) != "plan-in-force" || !strings.Contains(err.Error(), "fairlane fabric release lab") || !strings.Contains(err.Error(), "--keep-settings") {
		t.Fatalf("deleting the fabric gives %v", err)
	}
	if err := r.Service.DeleteFabric(t.Context(), "lab", 0, true); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Service.Fabric(t.Context(), "lab"); err == nil {
		t.Error("the fabric is still there")
	}
}

func TestAFabricThatAFailedRolloutLeftDirtyIsNotDeleted(t *testing.T) {
	t.Parallel()
	r, plan := controltest.LabWithPlan(t)
	if err := r.Service.DeleteFabric(control.WithActor(t.Context(), "ada"), "none", 0, false); err == nil {
		t.Error("a fabric that is not there was deleted")
	}
	// Every write fails after a part of it may have arrived, in the roll-back, too.
	r.Devices.OnApply(func(context.Context, driver.Device) error { return driver.ErrInvalid })
	controltest.Start(t, r.Service, plan)
	r.Wait()
	if err := r.Service.DeleteFabric(t.Context(), "lab", 0, false); controltest.Code(err) != "plan-in-force" || !strings.Contains(err.Error(), "failed") {
		t.Errorf("deleting the fabric gives %v", err)
	}
}
