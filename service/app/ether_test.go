package app

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"fairlane/ccconfig/driver"
	"fairlane/command/demo"
	"fairlane/internal/quantity"
	"fairlane/policy"
	"fairlane/service/control"
	"fairlane/service/control/rollouts"
	"fairlane/service/control/tenancy"
	"fairlane/service/device"
	"fairlane/service/site"
	"fairlane/sim/live"
	"fairlane/sim/live/livetest"
	"fairlane/subnet"
)

// connectTo reads the inventory of a source and speaks with its devices until the test ends.
func connectTo(t *testing.T, from string) (*site.Inventory, *site.InventoryDriver) {
	t.Helper()
	k, err := site.ReadInventory(strings.TrimPrefix(from, "ethernet:"))
	if err != nil {
		t.Fatal(err)
	}
	d, err := k.Connect()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() }) // everything was answered
	return k, d
}

// etherLab is a demo on a live Ethernet fabric, with nothing rolled out yet.
func etherLab(t *testing.T, p policy.Plane) *rig {
	t.Helper()
	return etherLabOf(t, livetest.SlowCase(t, p))
}

// etherLabOf is etherLab with another case.
func etherLabOf(t *testing.T, c *live.Case) *rig {
	t.Helper()
	l, err := live.StartEthernet(t.Context(), c, live.EthernetOptions{TimeScale: 0.5})
	if err != nil {
		t.Fatal(err)
	}
	m, err := openManager(t.Context(), filepath.Join(t.TempDir(), "fairlane.db"), &site.Access{}, workOptions{still: true})
	if err != nil {
		t.Fatal(err)
	}
	d := newRig(demo.Ethernet(l), m, 0.5)
	d.ether = l
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := d.Onboard(t.Context()); err != nil {
		t.Fatal(err)
	}
	return d
}

// A plan for an Ethernet plane takes the whole way: its devices are written, read back, found changed by another program,
// repaired, and restored to their previous settings.
func TestAPlanOnEthernetIsRolledOutReadBackRepairedAndUndone(t *testing.T) {
	t.Parallel()
	for _, p := range []policy.Plane{policy.PlaneRoCE, policy.PlaneWRCC} {
		t.Run(string(p), func(t *testing.T) {
			t.Parallel()
			d := etherLab(t, p)
			svc, ctx := d.manager.service, t.Context()
			plan, _, err := svc.CreatePlan(ctx, demo.FabricName, policy.Options{}, false)
			if err != nil {
				t.Fatal(err)
			}
			if plan.Plan.Plane != p {
				t.Fatalf("the plan is for the plane %s, its fabric is of %s", plan.Plan.Plane, p)
			}
			ro := rollToEnd(t, d, plan.Plan.Name)
			if ro.State != control.RolloutSucceeded {
				t.Fatalf("rollout %s: %s", ro.State, ro.Result)
			}
			states := func() (in, drifted []string) {
				_, list, err := svc.Devices(ctx, demo.FabricName, plan.Plan.Name)
				if err != nil {
					t.Fatal(err)
				}
				for i := range list {
					switch device.State(list[i].State) {
					case device.InSync:
						in = append(in, list[i].Device.Name)
					case device.Drifted:
						drifted = append(drifted, list[i].Device.Name)
					default:
						t.Errorf("%s is %s: %s", list[i].Device.Name, list[i].State, list[i].Error)
					}
				}
				return in, drifted
			}
			if in, drifted := states(); len(drifted) > 0 || len(in) != len(ro.Devices) {
				t.Errorf("after the rollout %q are as wanted, %q are not", in, drifted)
			}
			shares, err := svc.ReadShares(ctx, demo.FabricName, plan.Plan.Name, 20*time.Millisecond)
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range shares.Tenants {
				if s.Delivered == nil || *s.Delivered <= 0 {
					t.Errorf("tenant %+v", s)
				}
			}
			victim := overwriteEther(t, d, p)
			if _, drifted := states(); !slices.Equal(drifted, []string{victim}) {
				t.Errorf("%q drifted, want %s", drifted, victim)
			}
			repair, err := svc.RepairDevice(ctx, demo.FabricName, deviceID(t, d, plan.Plan, victim))
			if err != nil {
				t.Fatal(err)
			}
			waitRollout(t, d, repair.ID)
			if _, drifted := states(); len(drifted) > 0 {
				t.Errorf("after the repair %q drifted", drifted)
			}
			d.ether.Case.Tenants[0].Weight = 3 * quantity.WeightOne
			second := d.replan(t)
			next := rollToEnd(t, d, second)
			if next.State != control.RolloutSucceeded {
				t.Fatalf("the second rollout %s: %s", next.State, next.Result)
			}
			back, err := svc.RollBack(ctx, demo.FabricName, next.ID, "")
			if err != nil {
				t.Fatal(err)
			}
			waitRollout(t, d, back.ID)
			if _, drifted := states(); len(drifted) > 0 {
				t.Errorf("after the roll-back %q differ from the first plan", drifted)
			}
		})
	}
}

// replan declares the case's tenants anew and makes a plan.
func (d *rig) replan(t *testing.T) string {
	t.Helper()
	svc, list := d.manager.service, d.ether.Case.Tenants
	set := tenancy.TenantSet{}
	for _, x := range list {
		in := tenancy.TenantInput{Name: x.Name, Weight: x.Weight}
		for _, at := range x.Attachments {
			in.Attachments = append(in.Attachments, tenancy.AttachmentInput{Port: at.Port.String()})
		}
		set.Tenants = append(set.Tenants, in)
	}
	if _, err := svc.ApplyTenants(t.Context(), demo.FabricName, set, false); err != nil {
		t.Fatal(err)
	}
	plan, _, err := svc.CreatePlan(t.Context(), demo.FabricName, policy.Options{}, false)
	if err != nil {
		t.Fatal(err)
	}
	return plan.Plan.Name
}

// waitRollout waits for the end of a rollout, which must be a success.
func waitRollout(t *testing.T, d *rig, id int64) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		ro, err := d.manager.service.Rollout(t.Context(), demo.FabricName, id)
		switch {
		case err != nil:
			t.Fatal(err)
		case ro.State == control.RolloutSucceeded:
			return
		case ro.State != control.RolloutRunning || time.Now().After(deadline):
			t.Fatalf("rollout %d %s: %s", id, ro.State, ro.Result)
		}
	}
}

func deviceID(t *testing.T, d *rig, p *policy.Plan, name string) string {
	t.Helper()
	targets, err := device.Desired(p, d.ether.Case.Fabric)
	if err != nil {
		t.Fatal(err)
	}
	for _, target := range targets {
		if target.Device.Name == name {
			return target.Device.ID.String()
		}
	}
	t.Fatalf("the plan has no device %s", name)
	return ""
}

// overwriteEther changes a device as a second manager would and returns its name: a register of a NIC, or a table of a WRCC
// switch.
func overwriteEther(t *testing.T, d *rig, p policy.Plane) string {
	t.Helper()
	k, other := connectTo(t, d.source())
	f := k.Fabric
	dev := driver.PortDevice(f, subnet.PortRef{Node: f.Hosts()[0], Port: 1}, p)
	if p == policy.PlaneRoCE {
		want := driver.Settings{NIC: &driver.NICState{Params: []driver.NICParam{{Name: "rpg_ai_rate", Value: 77}}}}
		if _, err := other.Apply(t.Context(), dev, want); err != nil {
			t.Fatal(err)
		}
		return dev.Name
	}
	got, err := other.Read(t.Context(), dev)
	if err != nil {
		t.Fatal(err)
	}
	got.NIC.Params = nil
	got.NIC.WRCC.Senders[0].Weight.Multiplier++
	if _, err := other.Apply(t.Context(), dev, got); err != nil {
		t.Fatal(err)
	}
	return dev.Name
}

func TestPlansOfOtherPlanesCannotBeRolledOut(t *testing.T) {
	t.Parallel()
	d := etherLab(t, policy.PlaneRoCE)
	svc := d.manager.service
	plan, _, err := svc.CreatePlan(t.Context(), demo.FabricName, policy.Options{Plane: policy.PlaneWRCC}, false)
	if err != nil {
		t.Fatal(err)
	}
	_, err = svc.StartRollout(t.Context(), demo.FabricName, rollouts.RolloutInput{Plan: plan.Plan.Name})
	if err == nil || !strings.Contains(err.Error(), "is for the plane wrcc") {
		t.Errorf("a plan of another plane: %v", err)
	}
	if _, _, err := svc.CreatePlan(t.Context(), demo.FabricName, policy.Options{Mode: policy.ModeTheorem1}, false); err == nil {
		t.Error("options of InfiniBand are taken on Ethernet")
	}
	for want, f := range map[string]control.Fabric{
		"want the plane roce or wrcc": {Name: "a", Plane: "ib", Source: "ethernet:x"},
		"want the plane ib":           {Name: "b", Plane: "roce", Source: "ibsim:unix:x"},
		"is an InfiniBand fabric":     {Name: "b", Plane: "wrcc", Source: "umad:mlx5_0:1"},
		"want ib, roce or wrcc":       {Name: "c", Plane: "token-ring", Source: "file:x"},
		"source is empty":             {Name: "d", Plane: "roce"},
	} {
		if _, err := svc.CreateFabric(t.Context(), f); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", f, err, want)
		}
	}
	if f, err := svc.CreateFabric(t.Context(), control.Fabric{Name: "e", Source: "ethernet:x"}); err != nil || f.Plane != "roce" {
		t.Errorf("an inventory without a plane is %q, %v", f.Plane, err)
	}
	if _, err := svc.UpdateFabric(t.Context(), control.Fabric{Name: "e", Source: "ibsim:unix:x", TimeScale: 1}); err == nil {
		t.Error("an Ethernet fabric moves to InfiniBand")
	}
}

// A port that cannot be divided as a plan wants it is refused as a whole: it stays as it was, and the refusal names the setting
// that its host lacks, what it offers, and what to do.
func TestAPortWithoutFunctionsForItsTenantsIsRefusedAndSaysWhatToDo(t *testing.T) {
	t.Parallel()
	l := livetest.Ethernet(t, livetest.SlowCase(t, policy.PlaneRoCE), live.EthernetOptions{TimeScale: 1e-6})
	k, d := connectTo(t, l.Source())
	dev := driver.PortDevice(k.Fabric, subnet.PortRef{Node: k.Fabric.Hosts()[0], Port: 1}, driver.PlaneRoCE)
	before, err := d.Read(t.Context(), dev)
	if err != nil {
		t.Fatal(err)
	}
	params := []driver.NICParam{{Name: "rpg_ai_rate", Value: 77}, {Name: driver.ShareParam, Value: 66}, {Name: driver.ShareParam, Index: 1, Value: 33}}
	receipt, err := d.Apply(t.Context(), dev, driver.Settings{NIC: &driver.NICState{Params: params}})
	if !errors.Is(err, driver.ErrUnsupported) || len(receipt.Fields) > 0 {
		t.Fatalf("a port with one function takes shares of two: %+v, %v", receipt, err)
	}
	for _, part := range []string{"vf_tx_share[1]", "among 2 tenants", "offers 1 such function", "make virtual functions with rates on the host, or give each tenant a port"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the refusal %q has no %q", err, part)
		}
	}
	after, err := d.Read(t.Context(), dev)
	if err != nil || !before.Equal(after) {
		t.Errorf("the refused port reads %+v, was %+v, %v", after.NIC, before.NIC, err)
	}
	// Other lacks are not explained by functions.
	_, err = d.Apply(t.Context(), dev, driver.Settings{NIC: &driver.NICState{Params: []driver.NICParam{{Name: "pfc", Index: 9, Value: 1}}}})
	if err == nil || strings.Contains(err.Error(), "tenants") {
		t.Errorf("another lack: %v", err)
	}
}
