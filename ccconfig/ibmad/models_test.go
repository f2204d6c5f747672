package ibmad_test

import (
	"math"
	"testing"

	"fairlane/ccconfig/driver"
	"fairlane/ccconfig/ibmad"
	"fairlane/ccconfig/ibprofile"
	"fairlane/internal/quantity"
	"fairlane/policy"
	"fairlane/policy/plantest"
	simfabric "fairlane/sim/fabric"
	"fairlane/sim/simdev"
	"fairlane/subnet"
	"fairlane/subnet/mad"
	"fairlane/subnet/topogen"
	"fairlane/tenants"
)

// mixedModels returns profiles of two adapter models that differ in layout, timer and table, and of a switch with its
// own threshold map. The second and third host have another model than the rest.
func mixedModels(t *testing.T, topo *subnet.Fabric) *ibprofile.Set {
	t.Helper()
	var all (*ibprofile.Set)
	annex, _ := all.Lookup(ibprofile.GenericAdapter)
	slow := annex
	slow.Name, slow.Adapter.TimerUnit, slow.Adapter.MaxShift, slow.Layout.PackedCA = "slow-timer", 4096*quantity.Nanosecond, 2, true
	sw, _ := all.Lookup(ibprofile.GenericSwitch)
	sw.Name, sw.Switch.QueueBytes, sw.Switch.MaxMarkingRate, sw.Layout.WidePorts = "small-switch", 256<<10, 16, true
	for code := 1; code < len(sw.Switch.Thresholds); code++ {
		sw.Switch.Thresholds[code] = (16 - code) * 4 << 10
	}
	var rules []ibprofile.Rule
	for _, h := range topo.Hosts()[1:3] {
		rules = append(rules, ibprofile.Rule{Profile: slow.Name, Name: topo.Nodes[h].Name})
	}
	rules = append(rules, ibprofile.Rule{Profile: sw.Name, Name: topo.Nodes[topo.Switches()[0]].Name})
	s, err := ibprofile.NewSet([]ibprofile.Profile{slow, sw}, rules)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// delivered pushes a plan to simulated devices of the models. The driver takes its layouts from known. It returns the rate of each tenant, in
// bit/s, and the number of devices that read back something else than was written.
func delivered(t *testing.T, in policy.Input, models, known *ibprofile.Set, plan *policy.Plan) (rates []float64, differ int) {
	t.Helper()
	n, err := simfabric.New(in.Fabric, simfabric.Config{Seed: 3, Devices: models})
	if err != nil {
		t.Fatal(err)
	}
	dev, err := simdev.New(n, simdev.Options{})
	if err != nil {
		t.Fatal(err)
	}
	topo := n.Topology()
	hosts := topo.Hosts()
	wire, err := dev.Local(subnet.PortRef{Node: hosts[len(hosts)-1], Port: 1})
	if err != nil {
		t.Fatal(err)
	}
	c := known.Chooser()
	layout := func(d driver.Device) mad.CCLayout {
		at, _ := topo.NodeByGUID(d.ID.Node)
		return mad.CCLayout(c.Of(ibprofile.IdentityOf(&topo.Nodes[at])).Layout)
	}
	d, err := ibmad.New(wire, ibmad.Options{Layout: layout})
	if err != nil {
		t.Fatal(err)
	}
	apply := func(of driver.Device, want driver.Settings) {
		if _, err := d.Apply(t.Context(), of, want); err != nil {
			differ++
			return
		}
		if got, err := d.Read(t.Context(), of); err != nil || !got.Equal(want) {
			differ++
		}
	}
	for i := range plan.CAs {
		ref, _ := topo.PortByID(plan.CAs[i].Port)
		apply(driver.Device{ID: plan.CAs[i].Port, Kind: subnet.KindCA, LID: topo.Nodes[ref.Node].Ports[1].LID, Ports: 1}, driver.Settings{CA: &plan.CAs[i].Settings})
	}
	for i := range plan.Switches {
		s := &plan.Switches[i]
		at, _ := topo.NodeByGUID(s.Node)
		nd := &topo.Nodes[at]
		apply(driver.Device{ID: topo.PortID(subnet.PortRef{Node: at}), Kind: subnet.KindSwitch, LID: nd.Ports[0].LID, Ports: len(nd.Ports) - 1},
			driver.Settings{Switch: &driver.SwitchState{Defaults: s.Defaults, Ports: s.Ports}})
	}
	ids := make([]simfabric.FlowID, len(in.Flows))
	for i, f := range in.Flows {
		spec := simfabric.FlowSpec{Name: f.Tenant, Tenant: i, QPs: f.QPs}
		spec.Src, _ = topo.PortByID(f.Src)
		spec.Dst, _ = topo.PortByID(f.Dst)
		spec.SL, _ = plan.SL(f.Tenant, f.Src)
		if ids[i], err = dev.AddFlow(spec); err != nil {
			t.Fatal(err)
		}
	}
	const window = 200 * quantity.Millisecond
	dev.Advance(window)
	before := make([]uint64, len(ids))
	dev.With(func(n *simfabric.Network) {
		for i, id := range ids {
			before[i] = n.Delivered(id)
		}
	})
	dev.Advance(window)
	dev.With(func(n *simfabric.Network) {
		for i, id := range ids {
			rates = append(rates, float64(n.Delivered(id)-before[i])*8/window.Seconds())
		}
	})
	return rates, differ
}

// Devices of different models on one fabric get different settings, read back equal, and the tenants get their
// shares. A plan for generic devices misses the shares on the same devices, and does not read back equal.
func TestSettingsFollowTheModelsAndSharesComeOut(t *testing.T) {
	t.Parallel()
	topo, err := topogen.Star(5, topogen.Wire{Rate: 25 * quantity.Gbps})
	if err != nil {
		t.Fatal(err)
	}
	h := plantest.Hosts(topo)
	in := policy.Input{Fabric: topo}
	for i, w := range []quantity.Weight{2000, 2000, 1000} {
		name := string(rune('a' + i))
		in.Tenants = append(in.Tenants, tenants.Tenant{Name: name, Weight: w})
		in.Flows = append(in.Flows, tenants.Flow{Tenant: name, Src: h[i], Dst: h[4], QPs: 4})
	}
	models := mixedModels(t, topo)
	generic := plantest.Compiled(t, in)
	in.IBProfiles = models
	plan := plantest.Compiled(t, in)
	a, b := &plan.CAs[0], &plan.CAs[1]
	if a.Profile != "" || b.Profile != "slow-timer" || plan.Switches[0].Profile != "small-switch" {
		t.Fatalf("profiles %q, %q and %q", a.Profile, b.Profile, plan.Switches[0].Profile)
	}
	slA, _ := plan.SL("a", a.Port)
	slB, _ := plan.SL("b", b.Port)
	if x, y := a.Settings.SLs[slA].Timer, b.Settings.SLs[slB].Timer; math.Abs(float64(x)/float64(y)/4-1) > 0.05 {
		t.Errorf("equal tenants have timers %d and %d, want them 4:1 as the units are", x, y)
	}
	for _, e := range b.Settings.Table {
		if e.Shift > 2 {
			t.Fatalf("entry %s on a device that keeps to shift 2", e)
		}
	}
	worst := func(rates []float64) (miss float64) {
		for i, x := range plan.Tenants {
			miss = max(miss, math.Abs(rates[i]/float64(x.Predicted)-1))
		}
		return miss
	}
	rates, differ := delivered(t, in, models, models, plan)
	t.Logf("by profile: %.2f Gbit/s", []float64{rates[0] / 1e9, rates[1] / 1e9, rates[2] / 1e9})
	if miss := worst(rates); differ > 0 || miss > 0.06 {
		t.Errorf("%d devices differ, rates %.3g are up to %.1f %% off the prediction", differ, rates, 100*miss)
	}
	rates, _ = delivered(t, in, models, models, generic) // layouts right, units wrong
	t.Logf("generic plan, layouts of the models: %.2f Gbit/s", []float64{rates[0] / 1e9, rates[1] / 1e9, rates[2] / 1e9})
	if miss := worst(rates); miss < 0.2 {
		t.Errorf("a generic plan in the right layouts: rates %.3g are up to %.1f %% off, want it to show", rates, 100*miss)
	}
	rates, differ = delivered(t, in, models, nil, generic)
	t.Logf("generic: %.2f Gbit/s, %d devices differ", []float64{rates[0] / 1e9, rates[1] / 1e9, rates[2] / 1e9}, differ)
	if miss := worst(rates); differ == 0 || miss < 0.2 {
		t.Errorf("a generic plan: %d devices differ, rates %.3g are up to %.1f %% off: want both nonzero", differ, rates, 100*miss)
	}
}
