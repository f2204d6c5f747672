package shares_test

import (
	"errors"
	"testing"
	"time"

	"fairlane/internal/quantity"
	"fairlane/policy"
	"fairlane/service/control"
	"fairlane/service/control/controltest"
	"fairlane/service/control/tenancy"
)

// TestCountersSettingOfAFabric checks the default, an update that omits the field, and a rejected value.
func TestCountersSettingOfAFabric(t *testing.T) {
	t.Parallel()
	s := controltest.New(t, controltest.OpenSQLite).Service
	f, err := s.CreateFabric(t.Context(), control.Fabric{Name: "lab", Source: controltest.Source})
	if err != nil || f.Counters != control.CountersClear {
		t.Fatalf("a new fabric has counters %q, error %v", f.Counters, err)
	}
	for _, c := range []struct{ set, want control.Counters }{{"keep", "keep"}, {"", "keep"}, {"clear", "clear"}} {
		f, err = s.UpdateFabric(t.Context(), control.Fabric{Name: "lab", Source: controltest.Source, TimeScale: 1, Counters: c.set})
		if err != nil || f.Counters != c.want {
			t.Errorf("set to %q: counters %q, error %v, want %q", c.set, f.Counters, err, c.want)
		}
	}
	var invalid *control.InvalidError
	if _, err = s.UpdateFabric(t.Context(), control.Fabric{Name: "lab", Source: controltest.Source, TimeScale: 1, Counters: "reset"}); !errors.As(err, &invalid) {
		t.Errorf("counters %q: %v", "reset", err)
	}
	if _, err = s.CreateFabric(t.Context(), control.Fabric{Name: "lab2", Source: controltest.Source, Counters: "reset"}); !errors.As(err, &invalid) {
		t.Errorf("counters %q of a new fabric: %v", "reset", err)
	}
}

func TestWindowTooLongForASlowFabricIsRejected(t *testing.T) {
	t.Parallel()
	r, plan := controltest.LabWithPlan(t)
	ctx := t.Context()
	f, err := r.Service.Fabric(ctx, "lab")
	if err != nil {
		t.Fatal(err)
	}
	slow := control.Fabric{Name: "slow", Source: f.Source, TimeScale: 0.01}
	if _, err := r.Service.CreateFabric(ctx, slow); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Service.Discover(ctx, "slow"); err != nil {
		t.Fatal(err)
	}
	in := tenancy.TenantInput{Name: "red", Weight: quantity.WeightOne, Attachments: []tenancy.AttachmentInput{{Port: "h1"}}}
	if _, err := r.Service.CreateTenant(ctx, "slow", in); err != nil {
		t.Fatal(err)
	}
	p, _, err := r.Service.CreatePlan(ctx, "slow", policy.Options{}, false)
	if err != nil {
		t.Fatal(err)
	}
	_, err = r.Service.ReadShares(ctx, "slow", p.Plan.Name, 20*time.Second)
	controltest.MustFail(t, "20 s at a hundredth of real time", err, control.ErrInvalid)
	if _, err := r.Service.ReadShares(ctx, "slow", p.Plan.Name, 100*time.Millisecond); err != nil {
		t.Errorf("100 ms at a hundredth of real time: %v", err)
	}
	if _, err := r.Service.ReadShares(ctx, "lab", plan, 20*time.Second); err != nil {
		t.Errorf("20 s in real time: %v", err)
	}
}
