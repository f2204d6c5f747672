package app

import (
	"slices"
	"strings"
	"testing"

	"fairlane/command/demo"
	"fairlane/internal/phrase"
	"fairlane/service/control"
	"fairlane/service/control/rollouts"
	"fairlane/sim/fabric"
	"fairlane/sim/simdev"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/subnet/mad"
)

// ibFault is a prerequisite of InfiniBand that is made wrong on a live fabric, and restored.
type ibFault struct {
	name        string
	set, unset  func()
	device      string // in the result of the rollout, with said
	want        string // how drift begins: device, state, prerequisite and field; empty of a device that is reported by its error
	said        string
	atDiscovery bool
	advisory    bool // the rollout continues, and its events report the prerequisite
}

// ibFaults are the faults of a plan on the star of onFaultyFabric.
func ibFaults(t *testing.T, d *rig, plan string) []ibFault {
	t.Helper()
	devices := d.live.Devices
	topo := d.live.Scenario.Fabric
	h2 := topo.NodesByName("h2")[0]
	stored, err := d.manager.service.Plan(t.Context(), demo.FabricName, plan)
	if err != nil {
		t.Fatal(err)
	}
	own := ident.SL(0) // of a tenant on h2
	for _, p := range stored.Plan.Placements {
		if p.Port.Node == topo.Nodes[h2].GUID {
			own = p.SL
		}
	}
	if own == 0 || len(stored.Plan.Links) == 0 {
		t.Fatalf("the plan has no tenant on h2 or no contended link: %+v", stored.Plan.Placements)
	}
	out, _ := topo.PortByID(stored.Plan.Links[0].Port)
	port := func(answer simdev.CCSupport) func() {
		return func() { devices.SetFaults(simdev.Faults{CC: answer, Nodes: []int32{h2}}) }
	}
	key := func(k uint64) func() {
		return func() {
			if err := devices.GuardCC(h2, mad.Key(k), false, 0); err != nil {
				t.Fatal(err)
			}
		}
	}
	lane := func(node int32, in, out ident.PortNum, sl ident.SL, vl ident.VL) func() {
		return func() {
			devices.With(func(n *fabric.Network) {
				table := n.SL2VL(node, in, out)
				table[sl] = vl
				n.SetSL2VL(node, in, out, table)
			})
		}
	}
	in := ident.PortNum(1)
	if out.Port == in {
		in = 2
	}
	var was ident.VL
	devices.With(func(n *fabric.Network) { was = n.SL2VL(h2, 0, 1)[own] })
	name := topo.PortName(subnet.PortRef{Node: h2, Port: 1})
	leaf := topo.Nodes[out.Node].Name
	return []ibFault{
		{"no class", port(simdev.CCNoClass), port(simdev.CCSupported), name, name + " unsupported congestion-class CongestionInfo", "no flow slows down there", true, false},
		{"a silent class", port(simdev.CCSilent), port(simdev.CCSupported), name, "", "its CC_Key differs, or its firmware lacks the class", true, false},
		{"another key", key(0x77), key(0), name, name + " drifted cc-key CC_Key", "drops writes that carry the fabric's CC_Key", true, false},
		{"a dropped SL", lane(h2, 0, 1, own, ident.ManagementVL), lane(h2, 0, 1, own, was), name, name + " drifted lanes SLtoVLMappingTable of port 1", "drops every packet of tenants on SL", false, false},
		{"a VL that does not operate", lane(h2, 0, 1, own, 14), lane(h2, 0, 1, own, was), name, name + " drifted lanes SLtoVLMappingTable of port 1", "data VLs in operation and drops", false, false},
		{"lanes apart", lane(out.Node, in, out.Port, own, was+1), lane(out.Node, in, out.Port, own, was), leaf, leaf + " drifted one-lane VLs of tenants at port", "marks each VL separately", false, true},
	}
}

// Each wrong prerequisite of an InfiniBand device refuses a rollout before its first write, and drift reports it though all settings
// read back equal; discovery reports those that no plan is needed for.
func TestWrongPrerequisitesOfInfiniBandAreReportedAndRefuseRollouts(t *testing.T) {
	t.Parallel()
	d, plan := onFabricOf(t, fabric.Config{DataVLs: 4}, "h2", simdev.Faults{})
	d.live.Devices.With(func(n *fabric.Network) { // one VL for all tenants
		for node := range d.live.Scenario.Fabric.Nodes {
			ports := ident.PortNum(len(d.live.Scenario.Fabric.Nodes[node].Ports))
			for in := range ports {
				for out := ident.PortNum(1); out < ports; out++ {
					n.SetSL2VL(int32(node), in, out, [ident.NumSLs]ident.VL{})
				}
			}
		}
	})
	svc := d.manager.service
	faults := ibFaults(t, d, plan)
	for _, f := range faults {
		f.set()
		ro := rollToEnd(t, d, plan)
		if f.advisory {
			if ro.State != control.RolloutSucceeded || !strings.Contains(eventsOf(t, d, ro.ID), f.said) {
				t.Errorf("%s: rollout %s: %s", f.name, ro.State, eventsOf(t, d, ro.ID))
			}
		} else if ro.State != control.RolloutRefused || !strings.Contains(ro.Result.String(), "congestion control cannot act: ") || !strings.Contains(ro.Result.String(), f.device+": prerequisite ") || !strings.Contains(ro.Result.String(), f.said) {
			t.Errorf("%s: rollout %s: %s", f.name, ro.State, ro.Result)
		}
		snap, err := svc.Discover(t.Context(), demo.FabricName)
		if err != nil {
			t.Fatal(err)
		}
		if got := slices.ContainsFunc(snap.Stats.Warnings, func(w phrase.Text) bool {
			return strings.Contains(w.String(), f.device) && strings.Contains(w.String(), f.said)
		}); got != f.atDiscovery {
			t.Errorf("%s: discovery warns of %q", f.name, snap.Stats.Warnings)
		}
		f.unset()
	}
	if ro := rollToEnd(t, d, plan); ro.State != control.RolloutSucceeded {
		t.Fatalf("rollout %s: %s", ro.State, ro.Result)
	}
	for _, f := range faults {
		if got := unmetOf(t, d); len(got) > 0 {
			t.Fatalf("before %s: %q", f.name, got)
		}
		f.set()
		var got []string
		errs := eachDifference(t, d, func(device, state string, x *control.Difference) {
			got = append(got, device+" "+state+" "+x.Prerequisite+" "+x.Field+": "+x.Reason)
		})
		if got = append(got, errs...); !slices.ContainsFunc(got, func(s string) bool { return strings.HasPrefix(s, f.want) && strings.Contains(s, f.said) }) {
			t.Errorf("%s: drift reports %q", f.name, got)
		}
		f.unset()
	}
}

// A device without congestion control does not refuse a rollout whose failure budget allows for it.
func TestADeviceWithoutCongestionControlCountsAgainstTheFailureBudget(t *testing.T) {
	t.Parallel()
	d, plan := onFaultyFabric(t, "h2", simdev.Faults{CC: simdev.CCNoClass})
	ro, err := d.ToEnd(t.Context(), rollouts.RolloutInput{Plan: plan, Options: control.RolloutOptions{FailureBudget: 1}})
	if err != nil {
		t.Fatal(err)
	}
	if ro.State != control.RolloutPartial {
		t.Errorf("rollout %s: %s", ro.State, ro.Result)
	}
}

// eventsOf joins the events of a rollout.
func eventsOf(t *testing.T, d *rig, rollout int64) string {
	t.Helper()
	list, _, err := d.manager.service.Events(t.Context(), demo.FabricName, rollout, control.Page{})
	if err != nil {
		t.Fatal(err)
	}
	var said []string
	for _, e := range list {
		said = append(said, e.Said.String())
	}
	return strings.Join(said, "; ")
}
