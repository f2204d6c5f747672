package drift_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"fairlane/ccconfig/driver"
	"fairlane/policy"
	"fairlane/service/control"
	"fairlane/service/control/controltest"
	"fairlane/service/control/drift"
	"fairlane/service/control/usecases"
	"fairlane/service/device"
	"fairlane/subnet"
)

// leavingLab is a lab whose plan in force has lost a tenant, so that the port h2/P1 has left it. That port rejects
// writes.
type leavingLab struct {
	*controltest.Rig

	t     *testing.T
	s     *usecases.Services
	ahead *atomic.Int64
}

func newLeavingLab(t *testing.T, drift device.Policy) *leavingLab {
	t.Helper()
	r, _ := controltest.InForce(t)
	r.Devices.Compare()
	p := control.DefaultDriftPolicy()
	p.Policy = drift
	if _, err := r.Service.PutDriftPolicy(t.Context(), "lab", 0, p); err != nil {
		t.Fatal(err)
	}
	set := controltest.Tenants()
	set.Tenants, set.Flows, set.Prune = set.Tenants[:1], set.Flows[:1], true
	if _, err := r.Service.ApplyTenants(t.Context(), "lab", set, false); err != nil {
		t.Fatal(err)
	}
	plan, _, err := r.Service.CreatePlan(t.Context(), "lab", policy.Options{}, false)
	if err != nil {
		t.Fatal(err)
	}
	ro := controltest.Start(t, r.Service, plan.Plan.Name)
	r.Wait()
	if got := controltest.Rollout(t, r.Service, ro.ID); got.State != control.RolloutSucceeded {
		t.Fatalf("rollout %s: %s", got.State, got.Result)
	}
	r.Devices.OnApply(func(_ context.Context, d driver.Device) error {
		if d.Name == "h2/P1" {
			return driver.ErrInvalid
		}
		return nil
	})
	l := &leavingLab{Rig: r, t: t}
	list, ahead := controltest.Managers(t, r, 1)
	l.s, l.ahead = list[0], ahead
	return l
}

// sweep advances the clock by more than an interval and sweeps.
func (l *leavingLab) sweep() {
	l.t.Helper()
	l.ahead.Add(int64(6 * time.Minute))
	if err := l.s.SweepDrift(l.t.Context(), "m"); err != nil {
		l.t.Fatal(err)
	}
	l.Wait()
}

// port returns h2/P1 as read now and as stored, zero when not listed.
func (l *leavingLab) port() (live, known drift.DeviceView) {
	l.t.Helper()
	_, all, err := l.s.Devices(l.t.Context(), "lab", "")
	if err != nil {
		l.t.Fatal(err)
	}
	of := func(list []drift.DeviceView) (v drift.DeviceView) {
		i := slices.IndexFunc(list, func(d drift.DeviceView) bool { return d.Device.Name == "h2/P1" })
		if i >= 0 {
			v = list[i]
		}
		if n := slices.IndexFunc(list, func(d drift.DeviceView) bool { return d.Left != (d.Device.Name == "h2/P1") }); n >= 0 {
			l.t.Errorf("%s: left the plan: %t", list[n].Device, list[n].Left)
		}
		return v
	}
	live = of(all)
	var kept []drift.DeviceView
	for p := (control.Page{Limit: 2}); ; {
		_, part, next, err := l.s.ListDevices(l.t.Context(), "lab", p)
		if err != nil {
			l.t.Fatal(err)
		}
		if kept = append(kept, part...); next == "" {
			break
		}
		p.After = next
	}
	if len(kept) != len(all) || !slices.IsSortedFunc(kept, func(a, b drift.DeviceView) int { return a.Device.ID.Compare(b.Device.ID) }) {
		l.t.Errorf("%d devices are known, %d were read", len(kept), len(all))
	}
	return live, of(kept)
}

func (l *leavingLab) events(kind string) (n int) {
	l.t.Helper()
	list, _, err := l.s.Events(l.t.Context(), "lab", 0, control.Page{Limit: 200})
	if err != nil {
		l.t.Fatal(err)
	}
	for _, e := range list {
		if e.Kind == kind && e.Subject == "h2/P1" {
			n++
		}
	}
	return n
}

// gone checks that the port is no longer listed or read.
func (l *leavingLab) gone() {
	l.t.Helper()
	l.sweep()
	if live, known := l.port(); live.State != "" || known.State != "" {
		l.t.Errorf("once verified it is still listed, as %s and %s", live.State, known.State)
	}
	if _, err := l.s.Device(l.t.Context(), "lab", "h2/P1", false); !errors.Is(err, control.ErrNotFound) {
		l.t.Errorf("once verified it is still shown: %v", err)
	}
	for _, b := range controltest.Baselines(l.t, l.s, "") {
		if b.Device.Name == "h2/P1" && b.Held {
			l.t.Error("its baseline is still held")
		}
	}
}

func TestDeviceLeavingThePlanIsListedUntilVerifiedClean(t *testing.T) {
	t.Parallel()
	l := newLeavingLab(t, device.PolicyReport)
	live, known := l.port()
	if live.State != string(drift.ReadingCleanup) || known.State != string(drift.ReadingCleanup) || !strings.Contains(live.Note, "clean-up") || live.Note != known.Note {
		t.Errorf("before its clean-up the port is %s, %q, and known as %s, %q", live.State, live.Note, known.State, known.Note)
	}
	l.sweep() // the clean-up, which fails on the port
	l.sweep()
	l.sweep()
	live, known = l.port()
	for _, v := range []drift.DeviceView{live, known} {
		if v.State != "drifted" || len(v.Differences) == 0 || !strings.Contains(v.Note, "not part of plan") {
			t.Errorf("after its clean-up failed the port is %s, differs by %v, %q", v.State, v.Differences, v.Note)
		}
	}
	if n := l.events("device.drifted"); n != 1 {
		t.Errorf("%d events report it as drifted, want 1", n)
	}
	l.Devices.OnApply(nil)
	ro, err := l.s.RepairDevice(t.Context(), "lab", "h2/P1")
	if err != nil {
		t.Fatal(err)
	}
	l.Wait()
	if got := controltest.Rollout(t, l.s, ro.ID); got.State != control.RolloutSucceeded {
		t.Fatalf("its repair %s: %s", got.State, got.Result)
	}
	l.gone()
}

func TestDeviceThatLeftThePlanIsRepairedByPolicy(t *testing.T) {
	t.Parallel()
	l := newLeavingLab(t, device.PolicyRepair)
	l.sweep() // the clean-up, which fails on the port
	l.Devices.OnApply(nil)
	l.sweep()
	l.sweep()
	l.gone()
}

func TestSweepVerifiesDeviceCleanedByAnotherProgram(t *testing.T) {
	t.Parallel()
	l := newLeavingLab(t, device.PolicyReport)
	l.sweep() // the clean-up, which fails on the port
	l.sweep()
	if live, _ := l.port(); live.State != "drifted" {
		t.Fatalf("the port is %s", live.State)
	}
	want, _ := device.Gone(driver.Device{Plane: "ib", Kind: subnet.KindCA})
	l.Devices.Put("h2/P1", want)
	if live, _ := l.port(); live.State != "in-sync" || !live.Left {
		t.Errorf("read clean, the port is %s", live.State)
	}
	l.sweep()
	l.gone()
	if n := l.events("device.left"); n != 1 {
		t.Errorf("%d events say that it was verified, want 1", n)
	}
}
