package app

import (
	"strings"
	"testing"
	"time"

	"fairlane/command/demo"
	"fairlane/policy"
	"fairlane/service/control"
	"fairlane/service/control/rollouts"
	"fairlane/service/device"
	"fairlane/sim/simdev"
)

// until waits for a rollout's phase.
func (l *driftLab) until(id int64, phase control.Phase) control.Rollout {
	l.t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for {
		ro := l.rollout(id)
		switch {
		case ro.Phase == phase:
			return ro
		case ro.State != control.RolloutRunning:
			l.t.Fatalf("rollout %d ended as %s: %s", id, ro.State, ro.Result)
		}
		<-tick.C
	}
}

// begin starts a rollout that differs from the plan in force on every adapter.
func (l *driftLab) begin(o control.RolloutOptions) control.Rollout {
	l.t.Helper()
	svc := l.d.manager.service
	p, _, err := svc.CreatePlan(l.t.Context(), demo.FabricName, policy.Options{TableEntries: 64}, false)
	if err != nil {
		l.t.Fatal(err)
	}
	if p.Plan.Name == l.plan {
		l.t.Fatal("the other plan is the same")
	}
	ro, err := svc.StartRollout(l.t.Context(), demo.FabricName, rollouts.RolloutInput{Plan: p.Plan.Name, Options: o})
	if err != nil {
		l.t.Fatal(err)
	}
	return ro
}

func (l *driftLab) part(ro control.Rollout, name string) control.RolloutDevice {
	l.t.Helper()
	for _, d := range ro.Devices {
		if d.Device.Name == name {
			return d
		}
	}
	l.t.Fatalf("rollout %d has no device %s", ro.ID, name)
	return control.RolloutDevice{}
}

func TestAVanishedDeviceWithinTheFailureBudgetIsRepairedLater(t *testing.T) {
	t.Parallel()
	l := newDriftLab(t, device.PolicyRepair)
	l.faults(simdev.Faults{DropRequest: 1})
	ro := l.begin(control.RolloutOptions{FailureBudget: 1, Attempts: 1})
	l.quiet()
	ro = l.rollout(ro.ID)
	if d := l.part(ro, "h2/P1"); ro.State != control.RolloutPartial || d.State != "failed" || d.Touched || !strings.Contains(ro.Result.String(), "h2/P1") {
		t.Fatalf("rollout %s: %s, h2 %+v", ro.State, ro.Result, d)
	}
	if v := l.device(); v.State != "unknown" || v.Plan == ro.Plan {
		t.Errorf("after the rollout h2 is %+v, want unknown under the new plan", v)
	}
	l.faults(simdev.Faults{})
	l.sweepDrift() // the other plan's devices get their turns
	if v := l.sweepDrift(); v.State != "in-sync" || v.Repair == 0 || v.Plan != ro.Plan || !l.holds() {
		t.Errorf("after it came back h2 is %+v: want it as the new plan has it", v)
	}
}

func TestAVanishedDeviceOverTheFailureBudgetCausesARollback(t *testing.T) {
	t.Parallel()
	l := newDriftLab(t, device.PolicyReport)
	l.faults(simdev.Faults{DropRequest: 1})
	ro := l.begin(control.RolloutOptions{Attempts: 1})
	l.quiet()
	ro = l.rollout(ro.ID)
	if ro.State != control.RolloutRolledBack || !strings.Contains(ro.Result.String(), "h2/P1") {
		t.Fatalf("rollout %s: %s", ro.State, ro.Result)
	}
	settled(t, ro)
	l.faults(simdev.Faults{})
	l.sweepDrift()
	_, list, _, err := l.d.manager.service.ListDevices(t.Context(), demo.FabricName, control.Page{})
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range list {
		if v.State != "in-sync" || v.Plan != l.plan {
			t.Errorf("%s is %s by plan %.8s: want it as before the rollout", v.Device.Name, v.State, v.Plan)
		}
	}
}

// A roll-back compares settings with what it reads, not with what was written, so it also restores settings that a device lost meanwhile.
func TestADeviceThatRebootsBeforeTheConfirmationIsRestored(t *testing.T) {
	t.Parallel()
	l := newDriftLab(t, device.PolicyReport)
	ro := l.begin(control.RolloutOptions{ConfirmWindow: time.Hour})
	l.until(ro.ID, control.PhaseConfirming)
	l.reboot()
	if _, err := l.d.manager.service.RollBack(t.Context(), demo.FabricName, ro.ID, ""); err != nil {
		t.Fatal(err)
	}
	l.quiet()
	if ro = l.rollout(ro.ID); ro.State != control.RolloutRolledBack {
		t.Fatalf("rollout %s: %s", ro.State, ro.Result)
	}
	if !l.holds() {
		t.Error("h2 does not hold what it held before the rollout")
	}
}

func TestAnotherWriterBeforeTheConfirmationIsUndoneToo(t *testing.T) {
	t.Parallel()
	l := newDriftLab(t, device.PolicyReport)
	ro := l.begin(control.RolloutOptions{ConfirmWindow: 3 * time.Second}) // never confirmed
	l.until(ro.ID, control.PhaseConfirming)
	l.overwriteDevice()
	l.quiet()
	if ro = l.rollout(ro.ID); ro.State != control.RolloutRolledBack || !strings.Contains(ro.Result.String(), "was not confirmed") {
		t.Fatalf("rollout %s: %s", ro.State, ro.Result)
	}
	if !l.holds() {
		t.Error("h2 holds what the other one wrote")
	}
}

// A device that vanishes after it was written cannot be shown to be back: the rollout says so, names it, and the next
// one finishes the job with what the device held at first.
func TestADeviceThatVanishesDuringARolloutIsNeverReportedVerified(t *testing.T) {
	t.Parallel()
	l := newDriftLab(t, device.PolicyReport)
	ro := l.begin(control.RolloutOptions{ConfirmWindow: time.Hour, Attempts: 1})
	l.until(ro.ID, control.PhaseConfirming)
	l.faults(simdev.Faults{DropRequest: 1})
	if _, err := l.d.manager.service.RollBack(t.Context(), demo.FabricName, ro.ID, ""); err != nil {
		t.Fatal(err)
	}
	l.quiet()
	ro = l.rollout(ro.ID)
	d := l.part(ro, "h2/P1")
	if ro.State != control.RolloutFailed || !strings.Contains(ro.Result.String(), "h2/P1") || d.State != "failed" || !d.Touched {
		t.Fatalf("rollout %s: %s, h2 %+v", ro.State, ro.Result, d)
	}
	for _, x := range ro.Devices {
		if x.Device.Name != "h2/P1" && x.Touched {
			t.Errorf("%s is %s: one device's failure must not keep it from going back", x.Device.Name, x.State)
		}
	}
	l.faults(simdev.Faults{})
	next := l.begin(control.RolloutOptions{ConfirmWindow: time.Hour})
	if got := l.part(l.until(next.ID, control.PhaseConfirming), "h2/P1"); got.State != "in-sync" || !got.Before.Equal(*d.Before) {
		t.Errorf("in the next rollout h2 is %+v, with another state before", got)
	}
	if _, err := l.d.manager.service.RollBack(t.Context(), demo.FabricName, next.ID, ""); err != nil {
		t.Fatal(err)
	}
	if l.quiet(); !l.holds() {
		t.Error("h2 does not hold what it held before the first rollout")
	}
}

func TestADeviceThatClampsRollsTheRolloutBack(t *testing.T) {
	t.Parallel()
	l := newDriftLab(t, device.PolicyReport)
	l.faults(simdev.Faults{ClampIncrease: 1, ClampTimer: 3})
	l.overwriteDevice() // what it has is not touched by the clamp; what is written is
	ro := l.begin(control.RolloutOptions{Attempts: 2})
	l.quiet()
	ro = l.rollout(ro.ID)
	if ro.State == control.RolloutSucceeded || ro.State == control.RolloutPartial || !strings.Contains(ro.Result.String(), "h2/P1") {
		t.Fatalf("rollout %s: %s", ro.State, ro.Result)
	}
	settled(t, ro)
}
