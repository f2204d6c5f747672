package app

import (
	"context"
	"encoding/json"
	"math"
	"strconv"
	"testing"
	"time"

	"fairlane/command/demo"
	"fairlane/service/collect"
	"fairlane/service/control"
	"fairlane/service/series/embedded"
	"fairlane/service/series/embedded/embeddedtest"
	"fairlane/sim/simdev"
)

// recordingMeter records what it measures.
type recordingMeter struct {
	control.Meter

	last control.Shares
}

func (m *recordingMeter) Measure(ctx context.Context, t control.Target, window time.Duration) (sh control.Shares, err error) {
	m.last, err = m.Meter.Measure(ctx, t, window)
	return m.last, err
}

// TestMeasuredSharesCanBeQueried collects the series of a simulated fabric with a plan in force, and reads each tenant's delivered
// rate back by PromQL.
func TestMeasuredSharesCanBeQueried(t *testing.T) {
	t.Parallel()
	db := embeddedtest.Open(t, embedded.Options{})
	d, plan := onFaultyFabric(t, "h2", simdev.Faults{}, func(d *control.Deps) { d.Series = db })
	if ro := rollToEnd(t, d, plan); ro.State != control.RolloutSucceeded {
		t.Fatalf("rollout %s: %s", ro.State, ro.Result)
	}
	ctx, svc := t.Context(), d.manager.service
	meter := &recordingMeter{Meter: svc.Meter}
	c, err := collect.New(svc, meter, db, collect.Options{Name: "m1", Period: 15 * time.Second})
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
	if !meter.last.Complete() || len(got) != len(meter.last.Tenants) {
		t.Fatalf("series of %d tenants, measured: %+v", len(got), meter.last)
	}
	for _, want := range meter.last.Tenants {
		if v := got[want.Tenant]; math.Abs(v/float64(*want.Delivered)-1) > 1e-5 {
			t.Errorf("%s received %v by the series, %v by the measurement", want.Tenant, v, *want.Delivered)
		}
	}
}
