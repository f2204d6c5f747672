package drift_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"fairlane/ccconfig/driver"
	"fairlane/service/control"
	"fairlane/service/control/controltest"
	"fairlane/service/control/drift"
	"fairlane/service/control/rollouts"
	"fairlane/service/control/usecases"
	"fairlane/service/device"
)

// placedLab is a lab with a plan in force whose placements are watched under a policy.
type placedLab struct {
	*controltest.Rig

	t     *testing.T
	s     *usecases.Services
	ahead func(time.Duration)
}

func newPlacedLab(t *testing.T, p device.Policy) *placedLab {
	t.Helper()
	r, _ := controltest.InForce(t)
	list, ahead := controltest.Managers(t, r, 1)
	l := &placedLab{Rig: r, t: t, s: list[0], ahead: func(d time.Duration) { ahead.Add(int64(d)) }}
	policy := control.DriftPolicy{Policy: p, Interval: 60, Limit: 3, Window: 36000, Release: 600}
	if _, err := l.s.PutDriftPolicy(t.Context(), "lab", 0, policy); err != nil {
		t.Fatal(err)
	}
	l.sweep()
	if v := l.sweep(); v.State != "in-sync" || v.ReadBy != "m" || v.ReadAt.IsZero() {
		t.Fatalf("at first the subnet manager is %+v", v)
	}
	return l
}

// sweep advances the clock by more than an interval and sweeps, with any repair that follows.
func (l *placedLab) sweep() drift.DeviceView {
	l.t.Helper()
	l.ahead(2 * time.Minute)
	if err := l.s.SweepDrift(l.t.Context(), "m"); err != nil {
		l.t.Fatal(err)
	}
	l.Wait()
	return l.manager()
}

func (l *placedLab) manager() drift.DeviceView {
	l.t.Helper()
	v, err := l.s.Device(l.t.Context(), "lab", device.ManagerName, false)
	if err != nil {
		l.t.Fatal(err)
	}
	return v
}

// managerEvents lists the kinds and messages of the events about the subnet manager.
func (l *placedLab) managerEvents() (kinds, messages string) {
	l.t.Helper()
	list, _, err := l.s.Events(l.t.Context(), "lab", 0, control.Page{Limit: 1000})
	if err != nil {
		l.t.Fatal(err)
	}
	for _, e := range list {
		if e.Subject == device.ManagerName {
			kinds += " " + strings.TrimPrefix(e.Kind, "device.")
			messages += e.Said.String() + "\n"
		}
	}
	return strings.TrimSpace(kinds), messages
}

// rollouts returns the rollouts after the one that put the plan in force, newest first.
func (l *placedLab) rollouts() []control.Rollout {
	l.t.Helper()
	list, _, err := l.s.ListRollouts(l.t.Context(), "lab", control.Page{Limit: 100})
	if err != nil {
		l.t.Fatal(err)
	}
	return list[:len(list)-1]
}

func TestPolicyReportReportsDriftedPlacementsWithCause(t *testing.T) {
	t.Parallel()
	l := newPlacedLab(t, device.PolicyReport)
	l.Devices.Stray(false, nil)
	for range 2 { // it is reported once
		if v := l.sweep(); v.State != "drifted" || len(v.Differences) != 1 || v.Differences[0].Desired != "SL 1" || v.Repair != 0 {
			t.Fatalf("the subnet manager is %+v", v)
		}
	}
	kinds, text := l.managerEvents()
	const want = "subnet-manager has drifted: path of bronze in partition 0x8001 is SL 0, desired is SL 1; the partitions file changed\n"
	if kinds != "drifted" || text != want || len(l.rollouts()) > 0 {
		t.Errorf("events %q, %d rollouts:\n%s", kinds, len(l.rollouts()), text)
	}
	// It is listed among the devices, and read on request.
	for what, list := range map[string]func() ([]drift.DeviceView, error){
		"known": func() ([]drift.DeviceView, error) {
			_, list, _, err := l.s.ListDevices(t.Context(), "lab", control.Page{})
			return list, err
		},
		"read": func() ([]drift.DeviceView, error) {
			_, list, err := l.s.Devices(t.Context(), "lab", "")
			return list, err
		},
	} {
		got, err := list()
		if err != nil || got[0].Device.Name != device.ManagerName || got[0].State != "drifted" || got[1].State != "in-sync" || got[0].Desired != nil {
			t.Errorf("%s: %+v, %v", what, got, err)
		}
	}
	if v, err := l.s.Device(t.Context(), "lab", "0x0000000000000000:0", true); err != nil || v.State != "drifted" || v.InForce != device.PolicyReport {
		t.Errorf("read by its id it is %+v, %v", v, err)
	}
}

func TestPolicyRepairRepairsPlacements(t *testing.T) {
	t.Parallel()
	l := newPlacedLab(t, device.PolicyRepair)
	l.Devices.Stray(false, nil)
	v := l.sweep()
	list := l.rollouts()
	if len(list) != 1 || list[0].State != control.RolloutSucceeded || !slices.Equal(list[0].Stages, []control.Stage{control.StagePlacement}) || list[0].Waves != 0 {
		t.Fatalf("repairs are %+v", list)
	}
	if v.State != "in-sync" || v.Repair != list[0].ID || len(v.Differences) > 0 || v.SeenAt.IsZero() || len(v.Watch.Incidents) != 1 {
		t.Errorf("after its repair the subnet manager is %+v", v)
	}
	if v = l.sweep(); v.State != "in-sync" || len(l.rollouts()) != 1 {
		t.Errorf("one sweep later it is %+v, with %d repairs", v, len(l.rollouts()))
	}
	if kinds, _ := l.managerEvents(); kinds != "drifted in-sync" {
		t.Errorf("events are %q", kinds)
	}
}

// A subnet manager that accepts placements but does not return them is quarantined after some attempts.
func TestSubnetManagerThatLosesPlacementsIsQuarantined(t *testing.T) {
	t.Parallel()
	l := newPlacedLab(t, device.PolicyRepair)
	l.Devices.Stray(true, nil)
	if v := l.sweep(); v.State != "drifted" || len(v.Watch.Incidents) != 2 || !strings.Contains(v.Error.String(), "returns SL 0") {
		t.Fatalf("after a repair that did not help it is %+v", v)
	}
	if v := l.sweep(); v.State != control.StateQuarantined {
		t.Fatalf("after two such repairs it is %+v", v)
	}
	tries := len(l.rollouts())
	if l.sweep(); len(l.rollouts()) != tries || tries != 2 {
		t.Errorf("%d repairs, %d of them of one in quarantine", len(l.rollouts()), len(l.rollouts())-tries)
	}
	if kinds, _ := l.managerEvents(); kinds != "drifted quarantined" {
		t.Errorf("events are %q", kinds)
	}
}

// Where this service cannot place, or another manager placed, a repair would be refused: the reason is reported, and no
// repair is attempted.
func TestUnrepairablePlacementsAreOnlyReported(t *testing.T) {
	t.Parallel()
	l := newPlacedLab(t, device.PolicyRepair)
	l.Devices.Stray(false, errors.New("set sl=1 for the partition"))
	for range 4 {
		if v := l.sweep(); v.State != "drifted" || v.Error.String() != "set sl=1 for the partition" || len(v.Watch.Incidents) != 1 || len(l.rollouts()) > 0 {
			t.Fatalf("the subnet manager is %+v, with %d repairs", v, len(l.rollouts()))
		}
	}
	if _, text := l.managerEvents(); !strings.Contains(text, "set sl=1") {
		t.Errorf("the report is %q", text)
	}
}

func TestFrozenSubnetManagerIsNotWritten(t *testing.T) {
	t.Parallel()
	l := newPlacedLab(t, device.PolicyRepair)
	if err := l.s.SetDevicePolicy(t.Context(), "lab", device.ManagerName, 0, device.PolicyFreeze); err != nil {
		t.Fatal(err)
	}
	l.Devices.Stray(false, nil)
	if v := l.sweep(); v.State != "drifted" || v.InForce != device.PolicyFreeze || len(l.rollouts()) > 0 {
		t.Fatalf("the subnet manager is %+v", v)
	}
	plan := movingPlan(t, l.Rig)
	for what, f := range map[string]func() (control.Rollout, error){
		"a repair": func() (control.Rollout, error) { return l.s.RepairDevice(t.Context(), "lab", device.ManagerName) },
		"a rollout": func() (control.Rollout, error) {
			return l.s.StartRollout(t.Context(), "lab", rollouts.RolloutInput{Plan: plan})
		},
	} {
		if ro, err := f(); !errors.Is(err, control.ErrConflict) || !strings.Contains(err.Error(), device.ManagerName) {
			t.Errorf("%s: %+v, %v", what, ro, err)
		}
	}
	if _, err := l.s.RepairDevice(t.Context(), "lab", "h1/P1"); err != nil {
		t.Errorf("a repair of another device: %v", err)
	}
	l.Wait()
}

// Traffic is moved when the devices on its path are in sync: they are repaired first, in a rollout of their own.
func TestDevicesAreRepairedBeforePlacements(t *testing.T) {
	t.Parallel()
	l := newPlacedLab(t, device.PolicyRepair)
	l.Devices.Stray(false, nil)
	l.Devices.Drift()
	l.sweep()
	if list := l.rollouts(); len(list) != 1 || !slices.Equal(list[0].Stages, []control.Stage{control.StageSettings}) {
		t.Fatalf("the first repair is %+v", list)
	}
	l.Devices.Undrift()
	if err := l.s.SweepDrift(t.Context(), "m"); err != nil { // without another interval
		t.Fatal(err)
	}
	l.Wait()
	if list := l.rollouts(); len(list) != 2 || !slices.Equal(list[0].Stages, []control.Stage{control.StagePlacement}) || l.manager().State != "in-sync" {
		t.Errorf("the second repair is %+v, the subnet manager %+v", list[0], l.manager())
	}
}

// Placements of a plan that is not in force are not judged.
func TestOnlyRolledOutPlacementsAreChecked(t *testing.T) {
	t.Parallel()
	l := newPlacedLab(t, device.PolicyRepair)
	plan := movingPlan(t, l.Rig)
	for _, stage := range []control.Stage{control.StageSettings, control.StagePlacement} {
		if _, err := l.s.StartRollout(t.Context(), "lab", rollouts.RolloutInput{Plan: plan, Stages: []control.Stage{stage}}); err != nil {
			t.Fatal(err)
		}
		l.Wait()
		for range 3 { // cleans up, seeds the records, reads the devices
			l.ahead(2 * time.Minute)
			if err := l.s.SweepDrift(t.Context(), "m"); err != nil {
				t.Fatal(err)
			}
			l.Wait()
		}
		v, err := l.s.Device(t.Context(), "lab", device.ManagerName, false)
		if known := stage == control.StagePlacement; known != (err == nil) || known && (v.State != "in-sync" || v.Plan != plan) {
			t.Errorf("after stage %s the subnet manager is %+v, %v", stage, v, err)
		}
	}
}

// A repair of placements between a rollout that moves traffic and its clean-up does not replace the clean-up.
func TestRepairOfPlacementsDoesNotReplaceCleanUp(t *testing.T) {
	t.Parallel()
	r, ro := moved(t)
	r.Devices.Stray(false, nil)
	repair, err := r.Service.RepairDevice(t.Context(), "lab", device.ManagerName)
	if err != nil {
		t.Fatal(err)
	}
	r.Wait()
	if repair = settings(t, r, repair.ID); repair.State != control.RolloutSucceeded || !repair.Options.Manager {
		t.Fatalf("the repair is %s: %s", repair.State, repair.Result)
	}
	back := cleanedUp(t, r, repair.ID)
	if back.State != control.RolloutSucceeded || back.Plan != ro.Plan || len(back.Devices) == 0 {
		t.Errorf("what takes back ended as %s with %d devices: %s", back.State, len(back.Devices), back.Result)
	}
	if slices.ContainsFunc(back.Devices, func(d control.RolloutDevice) bool { return d.Device == (driver.Device{}) }) {
		t.Error("the subnet manager is a device of the rollout")
	}
}
