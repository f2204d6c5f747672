package app

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"fairlane/ccconfig/ibcc"
	"fairlane/command/demo"
	"fairlane/service/control"
	"fairlane/service/control/drift"
	"fairlane/service/control/rollouts"
	"fairlane/service/device"
	"fairlane/sim/simdev"
	"fairlane/subnet"
)

// driftLab is a live fabric with a plan in force, whose devices are looked after under a policy, and a clock that the
// test sets forward.
type driftLab struct {
	t    *testing.T
	d    *rig
	plan string
	skew atomic.Int64 // nanoseconds that the service's clock is ahead
}

// driftInterval is the interval of the lab's policy.
const driftInterval = time.Minute

func newDriftLab(t *testing.T, p device.Policy) *driftLab {
	t.Helper()
	l := &driftLab{t: t}
	l.d, l.plan = onFaultyFabric(t, "h2", simdev.Faults{}, func(d *control.Deps) {
		d.Clock = func() time.Time { return time.Now().Add(time.Duration(l.skew.Load())) }
	})
	if ro := rollToEnd(t, l.d, l.plan); ro.State != control.RolloutSucceeded {
		t.Fatalf("rollout %s: %s", ro.State, ro.Result)
	}
	policy := control.DriftPolicy{Policy: p, Interval: int(driftInterval / time.Second), Limit: 3, Window: 3600, Release: 600}
	if _, err := l.d.manager.service.PutDriftPolicy(t.Context(), demo.FabricName, 0, policy); err != nil {
		t.Fatal(err)
	}
	l.sweepDrift() // finds the devices, whose first turns come within the interval
	if v := l.sweepDrift(); v.State != "in-sync" || v.ReadBy != "m" || v.Observed == nil {
		t.Fatalf("after the rollout h2 is %+v", v)
	}
	return l
}

// sweepDrift advances the clock by an interval, checks for drift, waits for repairs, and returns the state of h2.
func (l *driftLab) sweepDrift() drift.DeviceView {
	l.t.Helper()
	l.skew.Add(int64(2 * driftInterval))
	if err := l.d.manager.service.SweepDrift(l.t.Context(), "m"); err != nil {
		l.t.Fatal(err)
	}
	l.quiet()
	return l.device()
}

// quiet waits for the rollout under way.
func (l *driftLab) quiet() {
	l.t.Helper()
	l.quietBy(2 * time.Millisecond)
}

// quietBy is quiet with a look every so often.
func (l *driftLab) quietBy(every time.Duration) {
	l.t.Helper()
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		list, _, err := l.d.manager.service.ListRollouts(l.t.Context(), demo.FabricName, control.Page{Limit: 1})
		if err != nil {
			l.t.Fatal(err)
		}
		if list[0].State != control.RolloutRunning {
			return
		}
		<-tick.C
	}
}

func (l *driftLab) device() drift.DeviceView {
	l.t.Helper()
	v, err := l.d.manager.service.Device(l.t.Context(), demo.FabricName, "h2", false)
	if err != nil {
		l.t.Fatal(err)
	}
	return v
}

// node is h2.
func (l *driftLab) node() int32 { return l.d.live.Scenario.Fabric.NodesByName("h2")[0] }

// ref is h2's port.
func (l *driftLab) ref() subnet.PortRef { return subnet.PortRef{Node: l.node(), Port: 1} }

// overwriteDevice writes h2 as another program would.
func (l *driftLab) overwriteDevice() {
	l.t.Helper()
	s := *l.device().Desired.CA
	s.Table = append([]ibcc.Entry(nil), s.Table...)
	for i := range s.SLs {
		s.SLs[i].Timer++
	}
	if err := l.d.live.Devices.OverwriteCA(l.ref(), s); err != nil {
		l.t.Fatal(err)
	}
}

func (l *driftLab) reboot() {
	l.t.Helper()
	if err := l.d.live.Devices.Reboot(l.node()); err != nil {
		l.t.Fatal(err)
	}
}

// faults gives h2 alone faults.
func (l *driftLab) faults(f simdev.Faults) {
	f.Nodes = []int32{l.node()}
	l.d.live.Devices.SetFaults(f)
}

// holds reads h2 and reports whether it is in sync.
func (l *driftLab) holds() bool {
	l.t.Helper()
	v, err := l.d.manager.service.Device(l.t.Context(), demo.FabricName, "h2", true)
	if err != nil {
		l.t.Fatal(err)
	}
	return v.Watch.Reading == device.ReadingInSync
}

// driftEvents lists the kinds of h2's events outside of rollouts.
func (l *driftLab) driftEvents() string {
	l.t.Helper()
	var out []string
	for p := (control.Page{Limit: 1000}); ; {
		list, next, err := l.d.manager.service.Events(l.t.Context(), demo.FabricName, 0, p)
		if err != nil {
			l.t.Fatal(err)
		}
		for _, e := range list {
			if kind, ok := strings.CutPrefix(e.Kind, "device."); ok && kind != "state" && e.Subject == "h2/P1" {
				out = append(out, kind)
			}
		}
		if p.After = next; next == "" {
			return strings.Join(out, " ")
		}
	}
}

func (l *driftLab) wantDriftEvents(want string) {
	l.t.Helper()
	if got := l.driftEvents(); got != want {
		l.t.Errorf("events of h2 are %q, want %q", got, want)
	}
}

func TestPolicyReportReportsDriftWithoutRepair(t *testing.T) {
	t.Parallel()
	l := newDriftLab(t, device.PolicyReport)
	l.overwriteDevice()
	v := l.sweepDrift()
	if v.State != "drifted" || len(v.Differences) == 0 || v.Observed == nil || v.Observed.CA.SLs == v.Desired.CA.SLs || v.SeenAt.IsZero() {
		t.Errorf("h2 is %+v", v)
	}
	if !strings.Contains(v.Differences[0].Field, "timer") {
		t.Errorf("the first difference is of %s", v.Differences[0].Field)
	}
	if l.sweepDrift(); l.holds() {
		t.Error("h2 was repaired")
	}
	can, err := l.d.manager.service.DeviceCapabilities(t.Context(), demo.FabricName, "h2")
	if err != nil || can.Device.Name != v.Device.Name || can.TableEntries < len(v.Observed.CA.Table) || !can.PerSL || can.ReadAt.IsZero() {
		t.Errorf("h2 can do %+v, %v; its table has %d entries", can, err, len(v.Observed.CA.Table))
	}
	l.wantDriftEvents("drifted")
}

func TestAnotherWritersSettingsAreRepairedUntilItIsTooMuch(t *testing.T) {
	t.Parallel()
	l := newDriftLab(t, device.PolicyRepair)
	for range 2 {
		l.overwriteDevice()
		if v := l.sweepDrift(); v.State != "in-sync" || v.Repair == 0 || !l.holds() {
			t.Fatalf("after a repair h2 is %+v", v)
		}
	}
	l.overwriteDevice()
	v := l.sweepDrift()
	if v.State != control.StateQuarantined || l.holds() || !strings.Contains(v.Watch.Reason.String(), "3 times") {
		t.Fatalf("after the third time h2 is %+v", v)
	}
	l.wantDriftEvents("drifted in-sync drifted in-sync drifted quarantined")
	// A manual repair is possible, and after it was in sync long enough the device is released.
	ro, err := l.d.manager.service.RepairDevice(t.Context(), demo.FabricName, v.Device.ID.String())
	if err != nil || !ro.Options.Repair {
		t.Fatalf("repair by hand: %+v, %v", ro, err)
	}
	if l.quiet(); !l.holds() || l.device().State != control.StateQuarantined {
		t.Fatalf("after a repair by hand h2 is %+v", l.device())
	}
	for range 4 {
		v = l.sweepDrift()
	}
	if v.State != control.StateQuarantined {
		t.Fatalf("h2 is released after %s", 8*driftInterval)
	}
	if l.sweepDrift(); l.device().State != "in-sync" || len(l.device().Watch.Incidents) != 0 {
		t.Fatalf("after ten minutes h2 is %+v", l.device())
	}
	if got := l.driftEvents(); !strings.HasSuffix(got, "released") {
		t.Errorf("events of h2 are %q", got)
	}
}

func TestAQuarantineIsEndedManually(t *testing.T) {
	t.Parallel()
	l := newDriftLab(t, device.PolicyRepair)
	if err := l.d.manager.service.ReleaseDevice(t.Context(), demo.FabricName, "h2"); err == nil || !strings.Contains(err.Error(), "not quarantined") {
		t.Errorf("release of a device that is not quarantined: %v", err)
	}
	for range 3 {
		l.overwriteDevice()
		l.sweepDrift()
	}
	if v := l.device(); v.State != control.StateQuarantined {
		t.Fatalf("h2 is %+v", v)
	}
	if err := l.d.manager.service.ReleaseDevice(t.Context(), demo.FabricName, "h2"); err != nil {
		t.Fatal(err)
	}
	if v := l.sweepDrift(); v.State != "in-sync" || !l.holds() {
		t.Errorf("after its release h2 is %+v: want it repaired", v)
	}
}

func TestADeviceThatReturnsWithDefaultsIsRepaired(t *testing.T) {
	t.Parallel()
	l := newDriftLab(t, device.PolicyRepair)
	l.faults(simdev.Faults{DropRequest: 1})
	v := l.sweepDrift()
	if v.State != "unreachable" || v.Error.ID == "" || v.SeenAt.IsZero() || !v.SeenAt.Before(v.ReadAt) {
		t.Fatalf("h2 is %+v", v)
	}
	if v = l.sweepDrift(); v.State != "unreachable" || v.Repair != 0 {
		t.Fatalf("h2 is %+v", v)
	}
	l.faults(simdev.Faults{})
	l.reboot()
	if v = l.sweepDrift(); v.State != "in-sync" || v.Repair == 0 || !l.holds() {
		t.Fatalf("after it came back h2 is %+v", v)
	}
	l.wantDriftEvents("lost found drifted in-sync")
}

func TestADeviceThatClampsIsNotRepairedRepeatedly(t *testing.T) {
	t.Parallel()
	l := newDriftLab(t, device.PolicyRepair)
	l.faults(simdev.Faults{ClampTimer: 3})
	l.reboot()
	v := l.sweepDrift() // drifted, and its repair fails
	if v.State != "drifted" || len(v.Watch.Incidents) != 2 || !strings.Contains(v.Error.String(), "timer") {
		t.Fatalf("after a repair that was clamped h2 is %+v", v)
	}
	if v = l.sweepDrift(); v.State != control.StateQuarantined { // the second repair failed
		t.Fatalf("h2 is %+v", v)
	}
	last := v.Repair
	if v = l.sweepDrift(); v.Repair != last {
		t.Errorf("a quarantined device was repaired again by rollout %d", v.Repair)
	}
	settled(t, l.rollout(last))
}

func (l *driftLab) rollout(id int64) control.Rollout {
	l.t.Helper()
	ro, err := l.d.manager.service.Rollout(l.t.Context(), demo.FabricName, id)
	if err != nil {
		l.t.Fatal(err)
	}
	return ro
}

func TestAFrozenDeviceIsNotWritten(t *testing.T) {
	t.Parallel()
	l := newDriftLab(t, device.PolicyRepair)
	svc := l.d.manager.service
	version := l.device().Version
	if err := svc.SetDevicePolicy(t.Context(), demo.FabricName, "h2", version+7, device.PolicyFreeze); err == nil {
		t.Error("a policy was set against a version that is not there")
	}
	if err := svc.SetDevicePolicy(t.Context(), demo.FabricName, "h2", version, device.PolicyFreeze); err != nil {
		t.Fatal(err)
	}
	l.overwriteDevice()
	if v := l.sweepDrift(); v.State != "drifted" || v.InForce != device.PolicyFreeze || v.Repair != 0 {
		t.Fatalf("h2 is %+v", v)
	}
	for what, f := range map[string]func() (control.Rollout, error){
		"a repair": func() (control.Rollout, error) { return svc.RepairDevice(t.Context(), demo.FabricName, "h2") },
		"a rollout": func() (control.Rollout, error) {
			return svc.StartRollout(t.Context(), demo.FabricName, rollouts.RolloutInput{Plan: l.plan})
		},
	} {
		if ro, err := f(); err == nil || !strings.Contains(err.Error(), "h2/P1") {
			t.Errorf("%s of a frozen device: %+v, %v", what, ro, err)
		}
	}
	if err := svc.SetDevicePolicy(t.Context(), demo.FabricName, "h2", 0, ""); err != nil {
		t.Fatal(err)
	}
	if v := l.sweepDrift(); v.State != "in-sync" || v.InForce != device.PolicyRepair {
		t.Errorf("h2 is %+v", v)
	}
}

func TestASweepLeavesAFabricWithARolloutAlone(t *testing.T) {
	t.Parallel()
	l := newDriftLab(t, device.PolicyRepair)
	svc := l.d.manager.service
	ro, err := svc.StartRollout(t.Context(), demo.FabricName, rollouts.RolloutInput{Plan: l.plan, Options: control.RolloutOptions{ConfirmWindow: time.Hour}})
	if err != nil {
		t.Fatal(err)
	}
	l.until(ro.ID, control.PhaseConfirming)
	before := l.device().ReadAt
	l.overwriteDevice()
	l.skew.Add(int64(2 * driftInterval))
	if err := svc.SweepDrift(t.Context(), "m"); err != nil {
		t.Fatal(err)
	}
	if v := l.device(); v.ReadAt != before || v.Repair != 0 {
		t.Errorf("h2 was read or repaired during a rollout: %+v", v)
	}
	if _, err := svc.RepairDevice(t.Context(), demo.FabricName, "h2"); err == nil || !strings.Contains(err.Error(), "rollout running") {
		t.Errorf("a repair during a rollout: %v", err)
	}
	if _, err := svc.ConfirmRollout(t.Context(), demo.FabricName, ro.ID); err != nil {
		t.Fatal(err)
	}
	l.quiet()
	if v := l.sweepDrift(); v.State != "in-sync" || v.Repair == 0 {
		t.Errorf("after the rollout h2 is %+v: want it repaired", v)
	}
}

// A repair cannot be rolled back, and a roll-back skips repairs when it looks for the previous plan.
func TestARepairCannotBeRolledBack(t *testing.T) {
	t.Parallel()
	l := newDriftLab(t, device.PolicyRepair)
	l.overwriteDevice()
	v := l.sweepDrift()
	if _, err := l.d.manager.service.RollBack(t.Context(), demo.FabricName, v.Repair, ""); err == nil || !strings.Contains(err.Error(), "repair") {
		t.Errorf("roll-back of a repair: %v", err)
	}
	if _, err := l.d.manager.service.RollbackPlan(t.Context(), demo.FabricName, v.Repair+1); err != nil {
		t.Error(err)
	}
}
