package rollout

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"fairlane/internal/quantity"
	"fairlane/policy"
	"fairlane/service/control"
)

// fixedMeter returns fixed measurements.
type fixedMeter struct {
	s   control.Shares
	err error
}

// Measure implements control.Meter.
func (m fixedMeter) Measure(context.Context, control.Target, time.Duration) (control.Shares, error) {
	return m.s, m.err
}

func TestUnmeasuredTenantsNeitherFailNorPassAGate(t *testing.T) {
	t.Parallel()
	good := control.TenantShare{Tenant: "good", Delivered: new(quantity.Gbps), ShareError: new(0.01)}
	bad := control.TenantShare{Tenant: "bad", Delivered: new(quantity.Gbps), ShareError: new(0.3)}
	idle := control.TenantShare{Tenant: "idle", Delivered: new(quantity.BitRate)} // entitled to nothing
	dark := control.TenantShare{Tenant: "dark", Problem: "its SL is shared"}
	full := control.LinkUse{Name: "full", Capacity: 100, Delivered: new(quantity.BitRate(98))}
	empty := control.LinkUse{Name: "empty", Capacity: 100, Delivered: new(quantity.BitRate)}
	mute := control.LinkUse{Name: "mute", Capacity: 100, Problem: "its port reports nothing"}
	shares := control.RolloutOptions{MaxShareError: 0.05}
	use := control.RolloutOptions{MinUtilisation: 0.9}
	for name, tc := range map[string]struct {
		s           control.Shares
		o           control.RolloutOptions
		wave        int
		notice, err string
	}{
		"all is well":                             {s: control.Shares{Tenants: []control.TenantShare{good}}, o: shares, wave: 2},
		"a tenant has too little":                 {s: control.Shares{Tenants: []control.TenantShare{good, bad}}, o: shares, wave: 2, err: "worst share error is 30 %"},
		"a bound below a tenth of a percent":      {s: control.Shares{Tenants: []control.TenantShare{good, bad}}, o: control.RolloutOptions{MaxShareError: 0.0001}, wave: 2, err: "30 %, want at most 0.01 %"},
		"too little matters at the end only":      {s: control.Shares{Tenants: []control.TenantShare{good, bad}}, o: shares, wave: 1},
		"a dark tenant is named":                  {s: control.Shares{Tenants: []control.TenantShare{good, dark}}, o: shares, wave: 2, notice: "1 tenant or link was not measured: share of tenant dark: its SL is shared"},
		"a dark tenant hides no bad one":          {s: control.Shares{Tenants: []control.TenantShare{dark, bad}}, o: shares, wave: 2, err: "30 %"},
		"only dark tenants are no proof":          {s: control.Shares{Tenants: []control.TenantShare{dark}}, o: shares, wave: 2, err: "no tenant's share could be measured"},
		"only dark tenants are no confirmation":   {s: control.Shares{Tenants: []control.TenantShare{dark}}, o: control.RolloutOptions{VerifyShares: true}, wave: 2, err: "no tenant's share could be measured"},
		"links are used":                          {s: control.Shares{Links: []control.LinkUse{full}}, o: use},
		"links are not used":                      {s: control.Shares{Links: []control.LinkUse{full, empty}}, o: use, err: "49 %"},
		"a link that is not measured is not idle": {s: control.Shares{Links: []control.LinkUse{full, mute}}, o: use, notice: "link mute: its port reports nothing"},
		"no link is contended":                    {s: control.Shares{}, o: use, err: "no contended link"},
		"idle is not unmeasured":                  {s: control.Shares{Tenants: []control.TenantShare{good, idle}}, o: shares, wave: 2},
		"no link measured":                        {s: control.Shares{Links: []control.LinkUse{mute}}, o: use, err: "no contended link"},
	} {
		ro := control.Rollout{Options: tc.o, Wave: tc.wave, Waves: 3}
		notice, err := Gates{Meter: fixedMeter{s: tc.s}}.Check(t.Context(), control.Target{}, ro)
		if (err == nil) != (tc.err == "") || err != nil && !strings.Contains(err.Error(), tc.err) {
			t.Errorf("%s: error %v, want %q", name, err, tc.err)
		}
		if (notice.ID == "") != (tc.notice == "") || !strings.Contains(notice.String(), tc.notice) {
			t.Errorf("%s: notice %q, want %q", name, notice, tc.notice)
		}
	}
	_, err := Gates{Meter: fixedMeter{err: errors.New("away")}}.Check(t.Context(), control.Target{}, control.Rollout{Options: shares})
	if err == nil {
		t.Error("a fabric that cannot be measured passes")
	}
}

// windowMeter records the requested window.
type windowMeter struct{ window *time.Duration }

func (m windowMeter) Measure(_ context.Context, _ control.Target, window time.Duration) (control.Shares, error) {
	*m.window = window
	return control.Shares{}, nil
}

func TestLoopCheckDoesNotDelayRolloutOnASlowFabric(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		scale float64
		o     control.RolloutOptions
		want  time.Duration
	}{
		"hardware":                  {scale: 1, want: gateWindow},
		"a slow fabric":             {scale: 1e-4, want: 500 * time.Microsecond},
		"a slow fabric with a gate": {scale: 1e-4, o: control.RolloutOptions{VerifyShares: true}, want: gateWindow},
		"a window that was asked":   {scale: 1e-4, o: control.RolloutOptions{MeasureWindow: time.Second}, want: time.Second},
	} {
		var got time.Duration
		tc.o.CheckLoop = true
		target := control.Target{Plan: &policy.Plan{}, Fabric: control.Fabric{TimeScale: tc.scale}}
		if _, err := (Gates{Meter: windowMeter{&got}}).Check(t.Context(), target, control.Rollout{Waves: 1, Options: tc.o}); err != nil && !tc.o.VerifyShares {
			t.Errorf("%s: %v", name, err)
		}
		if got != tc.want {
			t.Errorf("%s: measured over %s, want %s", name, got, tc.want)
		}
	}
}

// TestUnsettledRatesFailNoGate measures, on a slow simulated fabric, for less time than rates take to settle.
func TestUnsettledRatesFailNoGate(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		stage  string
		scale  float64
		failed bool
	}{
		"rates that settle":                    {stage: "rates", scale: 1, failed: true},
		"rates that had no time to settle":     {stage: "rates", scale: 5e-4},
		"no notification needs time to settle": {stage: "notifications", scale: 5e-4, failed: true},
	} {
		loop := &control.CongestionLoop{State: control.LoopNotActing, Stage: tc.stage, Text: "nothing happens"}
		target := control.Target{Plan: &policy.Plan{Settle: 26 * quantity.Millisecond}, Fabric: control.Fabric{TimeScale: tc.scale}}
		notice, err := Gates{Meter: fixedMeter{s: control.Shares{Loop: loop}}}.Check(t.Context(), target, control.Rollout{Waves: 1, Options: control.RolloutOptions{CheckLoop: true}})
		if (err != nil) != tc.failed || !tc.failed && !strings.Contains(notice.String(), "not tested: rates settle in about 26 ms, but only 2.5 ms") {
			t.Errorf("%s: notice %q, error %v", name, notice, err)
		}
	}
}
