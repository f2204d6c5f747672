package drift_test

import (
	"os"
	"testing"
	"time"

	"fairlane/service/control"
	"fairlane/service/control/controltest"
)

func TestDevicesAndShares(t *testing.T) {
	t.Parallel()
	r, plan := controltest.LabWithPlan(t)
	ctx := t.Context()
	controltest.Start(t, r.Service, plan)
	r.Wait()
	name, list, err := r.Service.Devices(ctx, "lab", "")
	if err != nil || name != plan || len(list) == 0 {
		t.Errorf("devices: plan %s, %d of them, %v", name, len(list), err)
	}
	sh, err := r.Service.ReadShares(ctx, "lab", "", 50*time.Millisecond)
	if err != nil || sh.Plan != plan || sh.Window != 50*time.Millisecond || len(sh.Tenants) != 2 || sh.MeasuredAt.IsZero() {
		t.Errorf("shares are %+v, %v", sh, err)
	}
	for _, w := range []time.Duration{0, time.Hour} {
		_, err := r.Service.ReadShares(ctx, "lab", "", w)
		controltest.MustFail(t, "window", err, control.ErrInvalid)
	}
	r.Devices.Break(os.ErrDeadlineExceeded)
	_, _, err = r.Service.Devices(ctx, "lab", plan)
	controltest.MustFail(t, "unreachable devices", err, control.ErrUnavailable)
	_, err = r.Service.ReadShares(ctx, "lab", plan, time.Second)
	controltest.MustFail(t, "failed measurement", err, os.ErrDeadlineExceeded)
}
