package app

import (
	"slices"
	"strings"
	"testing"

	"fairlane/ccconfig/driver"
	"fairlane/ccconfig/nic/nicparam"
	"fairlane/command/demo"
	"fairlane/internal/phrase"
	"fairlane/policy"
	"fairlane/service/control"
	"fairlane/service/control/rollouts"
	"fairlane/service/device"
	"fairlane/subnet/ident"
)

// threeTenants rolls a plan of three tenants out on an Ethernet lab.
func threeTenants(t *testing.T) *rig {
	t.Helper()
	d := etherLab(t, policy.PlaneRoCE)
	if ro := rollToEnd(t, d, d.onlyTenants(t, "gold", "silver", "bronze").Name); ro.State != control.RolloutSucceeded {
		t.Fatalf("rollout %s: %s", ro.State, ro.Result)
	}
	return d
}

// repairs sets the fabric's prerequisites to repair.
func repairs(t *testing.T, d *rig) {
	t.Helper()
	f, err := d.manager.service.Fabric(t.Context(), demo.FabricName)
	if err != nil {
		t.Fatal(err)
	}
	f.Prerequisites = control.PrerequisitesRepair
	if _, err := d.manager.service.UpdateFabric(t.Context(), f); err != nil {
		t.Fatal(err)
	}
}

// behindTheBack sets a parameter of a host's port without Fairlane, as an administrator of the host would.
func behindTheBack(t *testing.T, d *rig, at ident.PortID, name string, index int, v uint64) {
	t.Helper()
	h := d.ether.Hosts[at.Node]
	if err := h.Put(at, []nicparam.Setting{{Key: nicparam.Key{Name: name, Index: index}, Value: v}}); err != nil {
		t.Fatal(err)
	}
}

// nowOf reads the value in force of a parameter of a port.
func nowOf(t *testing.T, d *rig, at ident.PortID, name string, index int) uint64 {
	t.Helper()
	_, c := connectTo(t, d.source())
	ref, _ := d.ether.Case.Fabric.PortByID(at)
	s, err := c.Read(t.Context(), driver.PortDevice(d.ether.Case.Fabric, ref, driver.PlaneRoCE))
	if err != nil {
		t.Fatal(err)
	}
	v, ok := s.NIC.Now(name, index)
	if !ok {
		t.Fatalf("%s has no %s[%d]", at, name, index)
	}
	return v
}

// eachDifference calls f with every difference of the devices of the plan in force, and returns the errors of devices.
func eachDifference(t *testing.T, d *rig, f func(device, state string, x *control.Difference)) (errs []string) {
	t.Helper()
	_, list, err := d.manager.service.Devices(t.Context(), demo.FabricName, "")
	if err != nil {
		t.Fatal(err)
	}
	for i := range list {
		for k := range list[i].Differences {
			f(list[i].Device.Name, list[i].State, &list[i].Differences[k])
		}
		if list[i].Error.ID != "" {
			errs = append(errs, list[i].Error.String())
		}
	}
	return errs
}

// unmetOf lists the unmet prerequisites of the devices of the plan in force, each with the state of its device.
func unmetOf(t *testing.T, d *rig) (out []string) {
	t.Helper()
	eachDifference(t, d, func(device, state string, x *control.Difference) {
		if x.Prerequisite != "" {
			out = append(out, device+" "+state+" "+x.Prerequisite+" "+x.Field+"="+x.Observed)
		}
	})
	return out
}

// settingsOff lists the settings of the plan that are not read back equal, and the errors of devices.
func settingsOff(t *testing.T, d *rig) (out []string) {
	t.Helper()
	errs := eachDifference(t, d, func(_, _ string, x *control.Difference) {
		if x.Prerequisite == "" {
			out = append(out, x.Field)
		}
	})
	return append(out, errs...)
}

// Discovery reports every prerequisite that becomes wrong, with its reason, and drift does: the device is no longer in sync, though
// every setting of the plan reads back equal.
func TestDiscoveryAndDriftReportWrongPrerequisites(t *testing.T) {
	t.Parallel()
	d := threeTenants(t)
	if bad := notInSync(t, d); len(bad) > 0 {
		t.Fatalf("not in sync: %q", bad)
	}
	at := d.ether.Case.Flows[0].Src
	for _, c := range []struct {
		name  string
		index int
		bad   uint64
		want  string // of drift
		why   string // in the warning
	}{
		{"rp_enable", 3, 0, "reaction-point rp_enable[3]=0", "senders on this port do not act on notifications"},
		{"np_enable", 3, 0, "notification-point np_enable[3]=0", "send no notifications for packets marked in priority 3"},
		{"dscp2prio", 26, 5, "dscp-priority dscp2prio[26]=5", "in another priority than the one that the plan has settings for"},
		{"pfc", 3, 0, "pause pfc[3]=0", "priority 3 has no priority flow control"},
		{"default_roce_tos", 0, 104, "type-of-service default_roce_tos=104", "not ECN-capable"},
		{"cnp_dscp", 0, 26, "cnp-dscp cnp_dscp=26", "queue behind the data"},
	} {
		was := nowOf(t, d, at, c.name, c.index)
		behindTheBack(t, d, at, c.name, c.index, c.bad)
		if got := unmetOf(t, d); len(got) != 1 || got[0] != "host-001/P1 drifted "+c.want {
			t.Errorf("%s is %d: drift reports %q", c.name, c.bad, got)
		}
		snap, err := d.manager.service.Discover(t.Context(), demo.FabricName)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(phrase.English(snap.Stats.Warnings), func(w string) bool {
			return strings.Contains(w, "host-001") && strings.Contains(w, c.why) && strings.Contains(w, "Fairlane may set it")
		}) {
			t.Errorf("%s is %d: discovery warns of %q", c.name, c.bad, snap.Stats.Warnings)
		}
		behindTheBack(t, d, at, c.name, c.index, was)
		if got := unmetOf(t, d); len(got) > 0 {
			t.Errorf("%s is restored: %q", c.name, got)
		}
	}
}

// A firmware parameter counts by the value in force, which changes at a firmware reset.
func TestAFirmwarePrerequisiteCountsByItsValueInForce(t *testing.T) {
	t.Parallel()
	d := threeTenants(t)
	at := d.ether.Case.Flows[0].Src
	ref, _ := d.ether.Case.Fabric.PortByID(at)
	_, c := connectTo(t, d.source())
	dev := driver.PortDevice(d.ether.Case.Fabric, ref, driver.PlaneRoCE)
	for name, v := range map[string][2]uint64{"roce_cc_prio_mask": {0xf7, 0xff}, "user_programmable_cc": {1, 0}, "roce_cc_algorithm": {1, 0}} {
		set := func(v uint64) {
			t.Helper()
			if _, err := c.Apply(t.Context(), dev, driver.Settings{NIC: &driver.NICState{Params: []driver.NICParam{{Name: name, Value: v}}}}); err != nil {
				t.Fatal(err)
			}
		}
		reset := func() {
			t.Helper()
			d.ether.Hosts[at.Node].ResetFirmware()
			until(t, "the agent sets again", func() bool { return len(settingsOff(t, d)) == 0 })
		}
		reported := func(when string, want bool) {
			t.Helper()
			got := unmetOf(t, d)
			if has := slices.ContainsFunc(got, func(s string) bool { return strings.Contains(s, name+"=") }); has != want || !want && len(got) > 0 {
				t.Errorf("%s %s: %q", name, when, got)
			}
		}
		set(v[0])
		reported("waits for a reset", false)
		reset()
		reported("is in force", true)
		set(v[1])
		reported("is in force until the next reset", true)
		reset()
		reported("is restored", false)
	}
}

// A rollout is refused with the list while a prerequisite is not met, before anything is written.
func TestAWrongPrerequisiteRefusesARolloutBeforeAnyWrite(t *testing.T) {
	t.Parallel()
	d := etherLab(t, policy.PlaneRoCE)
	plan := d.onlyTenants(t, "gold", "silver", "bronze")
	at := d.ether.Case.Flows[0].Src
	behindTheBack(t, d, at, "rp_enable", 3, 0)
	behindTheBack(t, d, d.ether.Case.Flows[1].Src, "pfc", 3, 0)
	ro := rollToEnd(t, d, plan.Name)
	if ro.State != control.RolloutRefused {
		t.Fatalf("rollout %s: %s", ro.State, ro.Result)
	}
	for _, part := range []string{"nothing was written: congestion control cannot act: 2 prerequisites are not met", "host-001/P1: prerequisite reaction-point: rp_enable[3] is 0, want 1", "host-002/P1: prerequisite pause: pfc[3] is 0, want 1"} {
		if !strings.Contains(ro.Result.String(), part) {
			t.Errorf("the result %q has no %q", ro.Result, part)
		}
	}
	whole, err := d.manager.service.Rollout(t.Context(), demo.FabricName, ro.ID)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range whole.Devices {
		if x.Touched || x.State != device.Pending {
			t.Errorf("%s is %s, touched %v", x.Device.Name, x.State, x.Touched)
		}
	}
	behindTheBack(t, d, at, "rp_enable", 3, 1)
	behindTheBack(t, d, d.ether.Case.Flows[1].Src, "pfc", 3, 1)
	if ro := rollToEnd(t, d, plan.Name); ro.State != control.RolloutSucceeded {
		t.Errorf("rollout %s: %s", ro.State, ro.Result)
	}
}

// With prerequisites: repair, a rollout sets those that it may, and its undo restores them.
func TestARolloutSetsPrerequisitesAndUndoesThem(t *testing.T) {
	t.Parallel()
	d := etherLab(t, policy.PlaneRoCE)
	svc := d.manager.service
	repairs(t, d)
	plan := d.onlyTenants(t, "gold", "silver", "bronze")
	at := d.ether.Case.Flows[0].Src
	wrong := []driver.NICParam{{Name: "rp_enable", Index: 3}, {Name: "pfc", Index: 3}, {Name: "dscp2prio", Index: 26, Value: 5}, {Name: "default_roce_tos", Value: 104}}
	for _, p := range wrong {
		behindTheBack(t, d, at, p.Name, p.Index, p.Value)
	}
	ro, err := svc.StartRollout(t.Context(), demo.FabricName, rollouts.RolloutInput{Plan: plan.Name, Options: control.RolloutOptions{ConfirmWindow: control.MaxConfirmWindow}})
	if err != nil {
		t.Fatal(err)
	}
	until(t, "the rollout waits to be confirmed", func() bool {
		now, err := svc.Rollout(t.Context(), demo.FabricName, ro.ID)
		if err == nil && now.State != control.RolloutRunning {
			t.Fatalf("rollout %s: %s", now.State, now.Result)
		}
		return err == nil && now.Phase == control.PhaseConfirming
	})
	for _, p := range wrong {
		if v := nowOf(t, d, at, p.Name, p.Index); v == p.Value {
			t.Errorf("%s[%d] is %d still", p.Name, p.Index, v)
		}
	}
	whole, err := svc.RolloutSettings(t.Context(), demo.FabricName, ro.ID)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range whole.Devices {
		if x.Device.ID != at {
			continue
		}
		if v, ok := x.Wanted.NIC.Param("rp_enable", 3); !ok || v != 1 {
			t.Errorf("the rollout does not show that it sets rp_enable[3]: %v %v", v, ok)
		}
	}
	if _, err := svc.UndoRollout(t.Context(), demo.FabricName, ro.ID); err != nil {
		t.Fatal(err)
	}
	until(t, "the rollout is undone", func() bool {
		now, err := svc.Rollout(t.Context(), demo.FabricName, ro.ID)
		return err == nil && now.State == control.RolloutRolledBack
	})
	for _, p := range wrong {
		if v := nowOf(t, d, at, p.Name, p.Index); v != p.Value {
			t.Errorf("undone, %s[%d] is %d, was %d", p.Name, p.Index, v, p.Value)
		}
	}
}

// A switch that maps RoCE traffic to another queue refuses rollouts with either setting: Fairlane does not set its maps.
func TestASwitchThatMapsTrafficElsewhereRefusesARollout(t *testing.T) {
	t.Parallel()
	d := etherLab(t, policy.PlaneRoCE)
	plan := d.onlyTenants(t, "gold", "silver", "bronze")
	for _, w := range d.ether.Switches {
		w.Edit("DSCP_TO_TC_MAP", "AZURE", map[string]string{"26": "4"})
		break
	}
	repairs(t, d)
	ro := rollToEnd(t, d, plan.Name)
	if ro.State != control.RolloutRefused || !strings.Contains(ro.Result.String(), "prerequisite switch-map") {
		t.Fatalf("rollout %s: %s", ro.State, ro.Result)
	}
}

// Drift of a prerequisite alone is reported and not repaired with prerequisites: report, and repaired with repair. A device is in
// sync once it was read with its prerequisites, not when a rollout read its settings back.
func TestDriftOfAPrerequisiteIsRepairedOnlyIfTheFabricAllowsIt(t *testing.T) {
	t.Parallel()
	d := etherLab(t, policy.PlaneRoCE)
	svc := d.manager.service
	p := control.DefaultDriftPolicy()
	p.Policy, p.Interval = device.PolicyRepair, 5
	if _, err := svc.PutDriftPolicy(t.Context(), demo.FabricName, control.AnyVersion, p); err != nil {
		t.Fatal(err)
	}
	if ro := rollToEnd(t, d, d.onlyTenants(t, "gold", "silver", "bronze").Name); ro.State != control.RolloutSucceeded {
		t.Fatalf("rollout %s: %s", ro.State, ro.Result)
	}
	at := d.ether.Case.Flows[0].Src
	reading := func() device.Reading {
		t.Helper()
		v, err := svc.Device(t.Context(), demo.FabricName, at.String(), false)
		if err != nil {
			t.Fatal(err)
		}
		return v.Watch.Reading
	}
	if got := reading(); got != device.ReadingUnknown {
		t.Errorf("after the rollout the device is %s, and its prerequisites were not read", got)
	}
	sweepsTo := func(want device.Reading) {
		t.Helper()
		until(t, "the device is "+string(want), func() bool {
			if err := svc.SweepDrift(t.Context(), "test"); err != nil {
				t.Fatal(err)
			}
			return reading() == want
		})
	}
	sweepsTo(device.ReadingInSync)
	behindTheBack(t, d, at, "rp_enable", 3, 0)
	sweepsTo(device.ReadingDrifted)
	list, _, err := svc.ListRollouts(t.Context(), demo.FabricName, control.Page{})
	if err != nil || len(list) != 1 {
		t.Fatalf("%d rollouts, %v: a repair of what Fairlane may not set was attempted", len(list), err)
	}
	repairs(t, d)
	ro, err := svc.RepairDevice(t.Context(), demo.FabricName, at.String())
	if err != nil {
		t.Fatal(err)
	}
	waitRollout(t, d, ro.ID)
	if v := nowOf(t, d, at, "rp_enable", 3); v != 1 {
		t.Errorf("repaired, rp_enable[3] is %d", v)
	}
	sweepsTo(device.ReadingInSync)
}
