package site

import (
	"math"
	"strings"
	"testing"

	"fairlane/ccconfig/driver"
	"fairlane/ccconfig/prereq"
	"fairlane/ccconfig/qos"
	"fairlane/internal/phrase"
	"fairlane/internal/quantity"
	"fairlane/policy"
	"fairlane/service/device"
	"fairlane/sim/live"
	"fairlane/sim/live/livetest"
	"fairlane/sim/scenario"
	"fairlane/subnet/ident"
	"fairlane/subnet/topogen"
	"fairlane/tenants"
)

// A plan with traffic classes is brought to devices that are provisioned for them, is read back, and divides both a NIC port from which two tenants
// send and the link on which three meet. Afterwards every device returns to what it had.
func TestTrafficClassesReachDevicesAndDivideLinks(t *testing.T) {
	t.Parallel()
	c, l, d, targets := classFabric(t)
	before := make([]driver.Settings, len(targets))
	for i, target := range targets {
		var err error
		if before[i], err = d.Read(t.Context(), target.Device); err != nil {
			t.Fatal(err)
		}
		for _, item := range prereq.Unmet(driver.Examine(t.Context(), d, target.Device, before[i], target.Needs)) {
			t.Errorf("%s: %s", target.Device, item.Sentence())
		}
		if _, err := d.Apply(t.Context(), target.Device, target.Want); err != nil {
			t.Fatalf("%s: %v", target.Device, err)
		}
		if got, err := d.Read(t.Context(), target.Device); err != nil || !target.Want.Equal(got) {
			t.Errorf("%s: read back %v, %v", target.Device, target.Want.Diff(got), err)
		}
	}
	for name, w := range l.Switches {
		if n := w.Flaps(); n != 0 {
			t.Errorf("switch %s: %d ports went down", name, n)
		}
	}
	const ms = quantity.Millisecond
	rates := func() []float64 {
		was, is := make([]uint64, len(c.Flows)), make([]uint64, len(c.Flows))
		l.Fabric.RunUntil(l.Fabric.Now() + 100*ms)
		l.Fabric.Delivered(was)
		l.Fabric.RunUntil(l.Fabric.Now() + 100*ms)
		l.Fabric.Delivered(is)
		out := make([]float64, len(is))
		for i := range out {
			out[i] = float64(is[i]-was[i]) * 8 / 0.1
		}
		return out
	}
	got, sum := rates(), 0.0
	for _, r := range got {
		sum += r
	}
	for i, weight := range []float64{4, 1, 2} {
		if share := got[i] / sum; math.Abs(share/(weight/7)-1) > 0.1 {
			t.Errorf("%s has %.3f of the link, want %.3f", c.Flows[i].Tenant, share, weight/7)
		}
	}
	if sum < 0.95*10e9 {
		t.Errorf("%.2f of 10 Gbit/s are used", sum/1e9)
	}
	for i, target := range targets {
		if _, err := d.Apply(t.Context(), target.Device, device.Restored(before[i])); err != nil {
			t.Errorf("%s: back: %v", target.Device, err)
		}
		if is, err := d.Read(t.Context(), target.Device); err != nil || !before[i].Equal(is) {
			t.Errorf("%s: after the return %v, %v", target.Device, before[i].Diff(is), err)
		}
	}
	if after := rates(); math.Abs(after[0]/got[0]-1) < 0.2 {
		t.Errorf("%s has %.2f Gbit/s with the plan and %.2f without", c.Flows[0].Tenant, got[0]/1e9, after[0]/1e9)
	}
}

// Discovery checks what the plans of the fabric need: with the options of its plans their classes, whose weights plans set, otherwise the class of
// plans without classes.
func TestDiscoveryChecksTheClassesOfPlans(t *testing.T) {
	t.Parallel()
	c, l, d, targets := classFabric(t)
	for _, target := range targets {
		if _, err := d.Apply(t.Context(), target.Device, target.Want); err != nil {
			t.Fatalf("%s: %v", target.Device, err)
		}
	}
	with := policy.Options{Plane: policy.PlaneRoCE, Lever: policy.LeverClasses, Classes: c.Classes}
	for _, o := range []policy.Options{with, {Plane: policy.PlaneRoCE}} {
		_, stats, err := (&Access{}).Discover(t.Context(), l.Source(), o)
		text := strings.Join(phrase.English(stats.Warnings), "\n")
		switch {
		case err != nil:
			t.Error(err)
		case o.Divides() && text != "":
			t.Errorf("with its classes the fabric has warnings:\n%s", text)
		case !o.Divides() && !strings.Contains(text, "26"):
			t.Errorf("without classes nothing is said about DSCP 26:\n%s", text)
		}
	}
}

// classFabric serves the devices of classCase, and returns what its plan wants of them.
func classFabric(t *testing.T) (*live.Case, *live.Ethernet, *InventoryDriver, []device.Target) {
	t.Helper()
	c, plan := classCase(t)
	l := livetest.Ethernet(t, c, live.EthernetOptions{TimeScale: 1e-6})
	_, d := connect(t, l.Source())
	targets, err := device.Desired(plan, c.Fabric)
	if err != nil {
		t.Fatal(err)
	}
	return c, l, d, targets
}

// classCase is a fabric that is provisioned for three classes, with three tenants that send to one host, two of them from one port, and its plan. Their
// applications use the DSCPs of the plan.
func classCase(t *testing.T) (*live.Case, *policy.Plan) {
	t.Helper()
	topo, err := topogen.LeafSpine(topogen.LeafSpineOptions{Leaves: 2, HostsPerLeaf: 2, Spines: 1, Wire: topogen.Wire{Rate: 10 * quantity.Gbps, Delay: quantity.Microsecond}})
	if err != nil {
		t.Fatal(err)
	}
	var ids []ident.PortID
	for _, ref := range scenario.Hosts(topo) {
		ids = append(ids, topo.PortID(ref))
	}
	c := &live.Case{
		Name: "classes", Plane: policy.PlaneRoCE, Fabric: topo, Seed: 1, DSCPs: map[string]uint8{},
		Classes: []qos.TrafficClass{{DSCP: 42, Queue: 5}, {DSCP: 34, Queue: 4}, {DSCP: 10, Queue: 1}},
		Flows: []tenants.Flow{
			{Tenant: "gold", Src: ids[0], Dst: ids[3], QPs: 1}, {Tenant: "bronze", Src: ids[0], Dst: ids[3], QPs: 4}, {Tenant: "silver", Src: ids[1], Dst: ids[3], QPs: 2},
		},
	}
	c.Tenants = tenants.Attach([]tenants.Tenant{
		{Name: "gold", Weight: 4 * quantity.WeightOne}, {Name: "silver", Weight: 2 * quantity.WeightOne}, {Name: "bronze", Weight: quantity.WeightOne},
	}, c.Flows)
	plan, err := policy.Compile(policy.Input{
		Fabric: topo, Tenants: c.Tenants, Flows: c.Flows, Options: policy.Options{Plane: policy.PlaneRoCE, Lever: policy.LeverClasses, Classes: c.Classes},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range plan.RoCE.Traffic {
		c.DSCPs[p.Tenant] = p.DSCP
	}
	return c, plan
}
