package app

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"fairlane/ccconfig/driver"
	"fairlane/command/demo"
	"fairlane/policy"
	"fairlane/service/control"
	"fairlane/service/control/plans"
	"fairlane/service/control/rollouts"
	"fairlane/service/control/tenancy"
	"fairlane/service/device"
	"fairlane/sim/live/livetest"
	"fairlane/subnet"
	"fairlane/subnet/ident"
)

// functionShares reads the shares of the functions of every host's port, in Mbit/s.
func functionShares(t *testing.T, d *rig) string {
	t.Helper()
	k, c := connectTo(t, d.source())
	var out []string
	for _, h := range k.Fabric.Hosts() {
		s, err := c.Read(t.Context(), driver.PortDevice(k.Fabric, subnet.PortRef{Node: h, Port: 1}, driver.PlaneRoCE))
		if err != nil {
			t.Fatal(err)
		}
		var shares []uint64
		for _, p := range s.NIC.Params {
			if p.Name == driver.ShareParam {
				shares = append(shares, p.Value)
			}
		}
		out = append(out, fmt.Sprint(shares))
	}
	return strings.Join(out, " ")
}

// onlyTenants makes the case that of some of its tenants and returns a plan of it.
func (d *rig) onlyTenants(t *testing.T, names ...string) *policy.Plan {
	t.Helper()
	c := d.ether.Case
	set := tenancy.TenantSet{Prune: true, Flows: []tenancy.FlowInput{}}
	for _, x := range c.Tenants {
		if !slices.Contains(names, x.Name) {
			continue
		}
		in := tenancy.TenantInput{Name: x.Name, Weight: x.Weight}
		for _, at := range x.Attachments {
			in.Attachments = append(in.Attachments, tenancy.AttachmentInput{Port: at.Port.String()})
		}
		set.Tenants = append(set.Tenants, in)
	}
	for _, f := range c.Flows {
		if slices.Contains(names, f.Tenant) {
			set.Flows = append(set.Flows, tenancy.FlowInput{Tenant: f.Tenant, Src: f.Src.String(), Dst: f.Dst.String(), QPs: f.QPs})
		}
	}
	svc := d.manager.service
	if _, err := svc.ApplyTenants(t.Context(), demo.FabricName, set, false); err != nil {
		t.Fatal(err)
	}
	p, _, err := svc.CreatePlan(t.Context(), demo.FabricName, policy.Options{}, false)
	if err != nil {
		t.Fatal(err)
	}
	return p.Plan
}

// notInSync lists the devices of the plan in force that are not as it wants.
func notInSync(t *testing.T, d *rig) (out []string) {
	t.Helper()
	_, list, err := d.manager.service.Devices(t.Context(), demo.FabricName, "")
	if err != nil {
		t.Fatal(err)
	}
	for i := range list {
		if device.State(list[i].State) != device.InSync {
			out = append(out, fmt.Sprint(list[i].Device.Name, " ", list[i].State, list[i].Differences))
		}
	}
	return out
}

// A tenant's share of a port is removed with the tenant; several, one or no other tenants remain on the port. A roll-back restores it
// again, on the first port by an older plan and everywhere by undoing.
func TestTheShareOfATenantThatLeftIsRemoved(t *testing.T) {
	t.Parallel()
	d := etherLab(t, policy.PlaneRoCE)
	svc := d.manager.service
	rolled := func(p *policy.Plan, want string) control.Rollout {
		t.Helper()
		ro := rollToEnd(t, d, p.Name)
		if ro.State != control.RolloutSucceeded {
			t.Fatalf("rollout %s: %s", ro.State, ro.Result)
		}
		if got := functionShares(t, d); got != want {
			t.Errorf("shares %s, want %s", got, want)
		}
		if bad := notInSync(t, d); len(bad) > 0 {
			t.Errorf("not as wanted: %q", bad)
		}
		return ro
	}
	// The second host sends for bronze and silver, the fourth only receives, for all three; the first has only gold.
	const all = "[0] [33 66] [] [0 0 0]"
	three := d.onlyTenants(t, "gold", "silver", "bronze")
	rolled(three, all)
	rolled(d.onlyTenants(t, "gold", "silver"), "[0] [0 0] [] [0 0 0]")
	// Kept functions: gold and silver stay where the fabric has their traffic, and that is measured.
	rolled(three, all)
	d.onlyTenants(t, "gold", "silver")
	kept, _, err := svc.MakePlan(t.Context(), demo.FabricName, plans.PlanRequest{KeepPlacements: true}, false)
	if err != nil {
		t.Fatal(err)
	}
	rolled(kept.Plan, "[0] [0 0] [] [0 0 0]")
	rolled(three, all)
	// The second host's port leaves the plan, which its rollout says.
	gold := d.onlyTenants(t, "gold")
	ro := rolled(gold, "[0] [0 0] [] [0 0 0]")
	whole, err := svc.RolloutSettings(t.Context(), demo.FabricName, ro.ID)
	if err != nil {
		t.Fatal(err)
	}
	left := d.ether.Case.Flows[1].Src
	at := slices.IndexFunc(whole.Devices, func(x control.RolloutDevice) bool { return x.Device.ID == left })
	if at < 0 || whole.Devices[at].State != device.InSync || !whole.Devices[at].Wanted.NIC.AllShares || len(whole.Devices) != len(gold.RoCE.NICs)+len(gold.RoCE.Switches)+1 {
		t.Fatalf("the port that left is not in the rollout: %d of %+v", at, whole.Devices)
	}
	back, err := svc.RollBack(t.Context(), demo.FabricName, ro.ID, "")
	if err != nil {
		t.Fatal(err)
	}
	waitRollout(t, d, back.ID)
	if got := functionShares(t, d); got != all {
		t.Errorf("after the roll-back shares %s, want %s", got, all)
	}
	// A function that no tenant has is given a share by another program: drift, whose repair takes it.
	overwriteShare(t, d, driver.PortDevice(d.ether.Case.Fabric, subnet.PortRef{Node: d.ether.Case.Fabric.Hosts()[0], Port: 1}, driver.PlaneRoCE), 7)
	if bad := notInSync(t, d); len(bad) != 1 || !strings.Contains(bad[0], "drifted") || !strings.Contains(bad[0], "vf_tx_share 0 7") {
		t.Errorf("a share without a tenant: %q", bad)
	}
	repair, err := svc.RepairDevice(t.Context(), demo.FabricName, d.ether.Case.Flows[0].Src.String())
	if err != nil {
		t.Fatal(err)
	}
	waitRollout(t, d, repair.ID)
	if got := functionShares(t, d); got != all {
		t.Errorf("after the repair shares %s, want %s", got, all)
	}
}

// A port that only receives, from several tenants, needs no virtual function: none has a share.
func TestAReceiverOfSeveralTenantsNeedsNoFunctions(t *testing.T) {
	t.Parallel()
	c := livetest.SlowCase(t, policy.PlaneRoCE)
	c.Bare = []ident.PortID{c.Flows[0].Dst}
	d := etherLabOf(t, c)
	ro := rollToEnd(t, d, d.onlyTenants(t, "gold", "silver", "bronze").Name)
	if ro.State != control.RolloutSucceeded {
		t.Fatalf("rollout %s: %s", ro.State, ro.Result)
	}
	if got := functionShares(t, d); got != "[0] [33 66] [] []" {
		t.Errorf("shares %s", got)
	}
	if bad := notInSync(t, d); len(bad) > 0 {
		t.Errorf("not in sync: %q", bad)
	}
}

// A rollout that takes a share back and is undone gives it again.
func TestRollbackRestoresTheShareOfATenantThatLeft(t *testing.T) {
	t.Parallel()
	d := etherLab(t, policy.PlaneRoCE)
	svc := d.manager.service
	if ro := rollToEnd(t, d, d.onlyTenants(t, "gold", "silver", "bronze").Name); ro.State != control.RolloutSucceeded {
		t.Fatalf("rollout %s: %s", ro.State, ro.Result)
	}
	before := functionShares(t, d)
	ro, err := svc.StartRollout(t.Context(), demo.FabricName, rollouts.RolloutInput{
		Plan: d.onlyTenants(t, "gold").Name, Options: control.RolloutOptions{ConfirmWindow: control.MaxConfirmWindow},
	})
	if err != nil {
		t.Fatal(err)
	}
	until(t, "the rollout waits to be confirmed", func() bool {
		now, err := svc.Rollout(t.Context(), demo.FabricName, ro.ID)
		return err == nil && now.Phase == control.PhaseConfirming
	})
	if got := functionShares(t, d); got != "[0] [0 0] [] [0 0 0]" {
		t.Errorf("before it is confirmed shares %s", got)
	}
	if _, err := svc.UndoRollout(t.Context(), demo.FabricName, ro.ID); err != nil {
		t.Fatal(err)
	}
	until(t, "the rollout is undone", func() bool {
		now, err := svc.Rollout(t.Context(), demo.FabricName, ro.ID)
		return err == nil && now.State == control.RolloutRolledBack
	})
	if got := functionShares(t, d); got != before {
		t.Errorf("undone, shares %s, want %s", got, before)
	}
}

// overwriteShare gives the first function of a port a share, as a second manager would.
func overwriteShare(t *testing.T, d *rig, dev driver.Device, share uint64) {
	t.Helper()
	_, c := connectTo(t, d.source())
	want := driver.Settings{NIC: &driver.NICState{Params: []driver.NICParam{{Name: driver.ShareParam, Value: share}}}}
	if _, err := c.Apply(t.Context(), dev, want); err != nil {
		t.Fatal(err)
	}
}

// until waits for something that a manager does in its own time.
func until(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !done(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("waited in vain: " + what)
		}
	}
}
