package app

import (
	"encoding/json"
	"math"
	"strconv"
	"testing"
	"time"

	"fairlane/command/demo"
	"fairlane/policy"
	"fairlane/service/collect"
	"fairlane/service/control"
	"fairlane/service/series/embedded"
	"fairlane/sim/simdev"
)

// TestMeasuredSharesCanBeQueried collects the series of a simulated fabric with a plan in force, and reads each tenant's delivered
// rate back by PromQL.
func TestMeasuredSharesCanBeQueried(t *testing.T) {
	t.Parallel()
	db, err := embedded.Open(t.TempDir(), embedded.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	d, plan := onFaultyFabric(t, "h2", simdev.Faults{}, func(d *control.Deps) { d.Series = db })
	if ro := rollToEnd(t, d, plan); ro.State != control.RolloutSucceeded {
		t.Fatalf("rollout %s: %s", ro.State, ro.Result)
	}
	ctx, svc := t.Context(), d.manager.service
	settled, err := d.Settle(ctx, plan, demo.Pace{Round: 10e9, Final: 10e9})
	if err != nil || !settled.Complete() {
		t.Fatalf("settled: %+v, %v", settled, err)
	}
	c, err := collect.New(svc, svc.Meter, db, collect.Options{Name: "m1", Period: 15 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Round(ctx); err != nil {
		t.Fatal(err)
	}
	a, err := svc.QueryInstant(ctx, `fairlane_tenant_delivered_bits_per_second{fabric="`+demo.FabricName+`"}`, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	var answer struct {
		Result []struct {
			Metric map[string]string
			Value  [2]any
		}
	}
	if err := json.Unmarshal(a.Data, &answer); err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, r := range answer.Result {
		text, _ := r.Value[1].(string)
		if got[r.Metric["tenant"]], err = strconv.ParseFloat(text, 64); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range settled.Tenants {
		if v := got[want.Tenant]; math.Abs(v/float64(*want.Delivered)-1) > 2*policy.MissLimit(policy.PlaneIB) {
			t.Errorf("%s received %v by the series, %v before", want.Tenant, v, *want.Delivered)
		}
	}
	if len(got) != len(settled.Tenants) {
		t.Errorf("series of %d tenants, want %d: %s", len(got), len(settled.Tenants), a.Data)
	}
}
