package app

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"fairlane/command/demo"
	"fairlane/policy"
	"fairlane/service/control"
	"fairlane/service/control/drift"
	"fairlane/service/control/rollouts"
	"fairlane/service/device"
)

// manager is what is known of the lab's subnet manager.
func (l *driftLab) manager() drift.DeviceView {
	l.t.Helper()
	v, err := l.d.manager.service.Device(l.t.Context(), demo.FabricName, device.ManagerName, false)
	if err != nil {
		l.t.Fatal(err)
	}
	return v
}

// placement is one of the plan in force.
func (l *driftLab) placement() policy.Placement {
	l.t.Helper()
	p, err := l.d.manager.service.Plan(l.t.Context(), demo.FabricName, l.plan)
	if err != nil {
		l.t.Fatal(err)
	}
	return p.Plan.Placements[0]
}

// Somebody moves a tenant's partition to another service level behind the service: the answers of subnet administration tell, and
// what happens then is the policy's.
func TestAPartitionThatWasMovedByHandIsDrift(t *testing.T) {
	t.Parallel()
	movedByHand(t, device.PolicyReport, false)
}

func TestAPartitionThatWasMovedByHandIsRepaired(t *testing.T) {
	t.Parallel()
	movedByHand(t, device.PolicyRepair, true)
}

func movedByHand(t *testing.T, policy device.Policy, repaired bool) {
	t.Helper()
	l := newDriftLab(t, policy)
	if v := l.manager(); v.State != "in-sync" || v.ReadBy != "m" || v.InForce != policy {
		t.Fatalf("after the rollout the subnet manager is %+v", v)
	}
	moved := l.placement()
	l.d.live.Devices.SetPartitionSL(moved.PKey, 9)
	l.sweepDrift()
	v := l.manager()
	if repaired != (v.State == "in-sync") || repaired != (v.Repair != 0) {
		t.Fatalf("under policy %s the subnet manager is %+v", policy, v)
	}
	if !repaired && (len(v.Differences) != 1 || v.Differences[0].Observed != "SL 9" || !strings.Contains(v.Differences[0].Field, moved.Tenant)) {
		t.Errorf("differences are %+v", v.Differences)
	}
	// Asked anew, all of it.
	_, list, err := l.d.manager.service.Devices(t.Context(), demo.FabricName, "")
	if err != nil || list[0].Device.Name != device.ManagerName || repaired != (list[0].State == "in-sync") {
		t.Errorf("read now it is %+v, %v", list[0], err)
	}
}

// The files of a real OpenSM are edited by hand, and OpenSM reads them: the service reports it with its cause, restores the files
// and subnet administration assigns the planned service levels again. The same holds for OpenSM's answers alone.
func TestFilesOfOpenSMThatWereEditedByHandAreRepaired(t *testing.T) {
	t.Parallel()
	l := newSMLab(t)
	svc := l.d.manager.service
	l.sm.Options(l.options(fmt.Sprintf("partition_config_file %s\nqos_policy_file %s\n", l.sm.Path("partitions.conf"), l.sm.Path("qos-policy.conf"))))
	l.sm.Kill()
	l.sm.Start("SUBNET UP")
	if ro, err := l.d.ToEnd(t.Context(), rollouts.RolloutInput{Plan: l.plans[0]}); err != nil || ro.State != control.RolloutSucceeded {
		t.Fatalf("rollout %s: %s, %v", ro.State, ro.Result, err)
	}
	for range 3 {
		l.sweep()
	}
	l.drifted()
	path := l.sm.Path("partitions.conf")
	placed, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if v := l.driftLab.manager(); v.State != "in-sync" {
		t.Fatalf("after the rollout the subnet manager is %+v", v)
	}
	p, err := svc.Plan(t.Context(), demo.FabricName, l.plans[0])
	if err != nil {
		t.Fatal(err)
	}
	sl := fmt.Sprintf("sl=%d", p.Plan.Placements[0].SL)
	for name, c := range map[string]struct {
		edit   func()
		drifts []string
	}{
		"read by OpenSM": {func() {
			overwrite(t, path, strings.ReplaceAll(string(placed), sl, "sl=14"))
			l.sm.Hup()
		}, []string{sl, "sl=14", "the partitions file changed"}},
		"not read": {func() { overwrite(t, path, strings.ReplaceAll(string(placed), sl, "sl=13")) }, []string{"sl=13", "the partitions file changed"}},
		"read, and put back": {func() {
			overwrite(t, path, strings.ReplaceAll(string(placed), sl, "sl=12"))
			l.sm.Hup()
			overwrite(t, path, string(placed))
		}, []string{"path of ", "SL 12"}},
	} {
		c.edit()
		l.sweep()
		drifts := l.drifted()
		for _, want := range c.drifts {
			if len(drifts) != 1 || !strings.Contains(drifts[device.ManagerName], want) {
				t.Errorf("%s: drift is %q, want %q", name, drifts, want)
			}
		}
		v := l.driftLab.manager()
		ro := l.rollout(max(v.Repair, 1))
		now, err := os.ReadFile(path)
		if v.State != "in-sync" || !ro.Options.Manager || ro.State != control.RolloutSucceeded || err != nil || string(now) != string(placed) {
			t.Errorf("%s: after the repair by rollout %d, %s, the subnet manager is %+v and its file\n%s", name, v.Repair, ro.Result, v, now)
		}
		l.sweep()
		if drifts := l.drifted(); len(drifts) > 0 {
			t.Errorf("%s: drift is still reported one sweep later: %q", name, drifts)
		}
		if err := svc.ReleaseDevice(t.Context(), demo.FabricName, device.ManagerName); err == nil {
			t.Errorf("%s: it was quarantined", name)
		}
	}
}

func overwrite(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
