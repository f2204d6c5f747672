package device_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"fairlane/ccconfig/nic/nicparam"
	"fairlane/ccconfig/qos"
	"fairlane/internal/quantity"
	"fairlane/policy"
	"fairlane/service/device"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/subnet/topogen"
	"fairlane/tenants"
)

// etherInput is two leaves of two hosts each, in two data centres on WRCC, and three tenants that send to the last
// host, two of them from the first.
func etherInput(t testing.TB, p policy.Plane) policy.Input {
	t.Helper()
	f, err := topogen.LeafSpine(topogen.LeafSpineOptions{Leaves: 2, HostsPerLeaf: 2, Spines: 1, Wire: topogen.Wire{Rate: 25 * quantity.Gbps, Delay: quantity.Microsecond}})
	if err != nil {
		t.Fatal(err)
	}
	if p == policy.PlaneWRCC {
		nodes := append([]subnet.Node(nil), f.Nodes...)
		for i := range nodes {
			nodes[i].Domain = "east"
			nodes[i].Ports = append([]subnet.Port(nil), f.Nodes[i].Ports...)
		}
		for _, h := range f.Hosts()[2:] {
			nodes[h].Domain = "west"
		}
		nodes[f.Switches()[1]].Domain = "west"
		if f, err = subnet.New(f.Name, nodes, f.Links); err != nil {
			t.Fatal(err)
		}
	}
	var ids []ident.PortID
	for _, h := range f.Hosts() {
		ids = append(ids, f.PortID(subnet.PortRef{Node: h, Port: 1}))
	}
	in := policy.Input{Fabric: f, Options: policy.Options{Plane: p}, Tenants: []tenants.Tenant{
		{Name: "gold", Weight: 4 * quantity.WeightOne}, {Name: "bronze", Weight: quantity.WeightOne}, {Name: "silver", Weight: 2 * quantity.WeightOne},
	}, Flows: []tenants.Flow{
		{Tenant: "gold", Src: ids[0], Dst: ids[3], QPs: 1}, {Tenant: "bronze", Src: ids[0], Dst: ids[3], QPs: 2}, {Tenant: "silver", Src: ids[1], Dst: ids[3], QPs: 1},
	}}
	in.Tenants = tenants.Attach(in.Tenants, in.Flows)
	return in
}

func etherTargets(t testing.TB, p policy.Plane) (*policy.Plan, policy.Input, []device.Target) {
	t.Helper()
	in := etherInput(t, p)
	plan, err := policy.Compile(in)
	if err != nil {
		t.Fatal(err)
	}
	targets, err := device.Desired(plan, in.Fabric)
	if err != nil {
		t.Fatal(err)
	}
	for _, target := range targets {
		if err := target.Want.Validate(target.Device); err != nil || target.Device.Plane != p || target.Device.LID != 0 || target.Device.Name == "" {
			t.Errorf("%+v: %v", target.Device, err)
		}
	}
	return plan, in, targets
}

func TestARoCEPlanBecomesNICPortsAndSwitches(t *testing.T) {
	t.Parallel()
	plan, in, targets := etherTargets(t, policy.PlaneRoCE)
	nics, switches := 0, 0
	for _, target := range targets {
		if target.Device.Kind == subnet.KindSwitch {
			switches++
			if !target.Want.Marks() || len(target.Want.Queues.Marking) == 0 {
				t.Errorf("switch %s does not mark", target.Device)
			}
			continue
		}
		at := plan.RoCE.NICs[nics]
		nics++
		var set []nicparam.Setting
		for _, p := range target.Want.NIC.Params {
			set = append(set, nicparam.Setting{Key: nicparam.Key{Port: 1, Name: p.Name, Index: p.Index}, Value: p.Value})
		}
		if got, err := nicparam.DCQCN(1, set); err != nil || got != at.Settings || target.Device.ID != at.Port {
			t.Errorf("%s: registers %+v, %v, want %+v of %s", target.Device, got, err, at.Settings, at.Port)
		}
	}
	if nics != len(plan.RoCE.NICs) || nics != 3 || switches != 3 {
		t.Errorf("%d NIC ports and %d switches", nics, switches)
	}
	// The port that gold and bronze share is divided 4:1; functions are by the tenants' names.
	shared := byID(targets, in.Flows[0].Src).Want.NIC
	for function, want := range []uint64{5000, 20000} {
		if got, ok := shared.Param("vf_tx_share", function); !ok || got != want {
			t.Errorf("function %d has %d Mbit/s for sure (%t), want %d", function, got, ok, want)
		}
	}
	if _, has := byID(targets, in.Flows[2].Src).Want.NIC.Param("vf_tx_share", 0); has {
		t.Error("a port of one tenant is divided")
	}
	// Every share has its reason, under the name and with the value that the device receives.
	for _, target := range targets[:nics] {
		i := slices.IndexFunc(plan.RoCE.NICs, func(n policy.NICPlan) bool { return n.Port == target.Device.ID })
		for _, p := range target.Want.NIC.Params {
			field := p.Name
			if p.Index > 0 {
				field = fmt.Sprintf("%s[%d]", p.Name, p.Index)
			}
			if !slices.ContainsFunc(plan.RoCE.NICs[i].Reasons, func(r policy.Reason) bool { return r.Field == field && r.Value == fmt.Sprint(p.Value) }) {
				t.Errorf("%s: no reason for %s = %d", target.Device, field, p.Value)
			}
		}
		if !target.Want.NIC.AllShares || plan.RoCE.NICs[i].Reasons == nil {
			t.Errorf("%s: shares of tenants that left stay", target.Device)
		}
	}
	steps, err := device.PlanWaves(targets, in.Fabric, device.WaveOptions{})
	if err != nil || targets[steps[0].Targets[0]].Device.Kind != subnet.KindCA {
		t.Errorf("NIC ports do not come before switches that mark: %v", err)
	}
}

func TestPortsThatLeaveAPlanLoseTheSharesOfTheirFunctions(t *testing.T) {
	t.Parallel()
	before, in, all := etherTargets(t, policy.PlaneRoCE)
	shared, single := in.Flows[0].Src, in.Flows[2].Src
	if got := device.Left(before, in.Fabric, all); len(got) > 0 {
		t.Errorf("of a plan that has all ports: %v", got)
	}
	without := slices.DeleteFunc(slices.Clone(all), func(t device.Target) bool { return t.Device.ID == shared || t.Device.ID == single })
	got := device.Left(before, in.Fabric, without)
	if len(got) != 1 || got[0].Device != byID(all, shared).Device {
		t.Fatalf("left: %v, want the port that was divided", got)
	}
	if err := got[0].Want.Validate(got[0].Device); err != nil {
		t.Error(err)
	}
	has := byID(all, shared).Want
	var said []string
	for _, d := range got[0].Want.Diff(has) {
		said = append(said, d.String())
	}
	if want := []string{"nic.vf_tx_share: want 0, got 5000", "nic.vf_tx_share[1]: want 0, got 20000"}; !slices.Equal(said, want) {
		t.Errorf("differences %q, want %q", said, want)
	}
	gone, err := subnet.New("empty", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := device.Left(before, gone, nil); len(got) > 0 {
		t.Errorf("ports that the fabric does not have: %v", got)
	}
	if got := device.Left(&policy.Plan{}, in.Fabric, nil); got != nil {
		t.Errorf("of another plane: %v", got)
	}
}

func byID(targets []device.Target, id ident.PortID) device.Target {
	for _, t := range targets {
		if t.Device.ID == id {
			return t
		}
	}
	return device.Target{}
}

func TestAWRCCPlanBecomesSwitchesAndNICPorts(t *testing.T) {
	t.Parallel()
	plan, in, targets := etherTargets(t, policy.PlaneWRCC)
	f := in.Fabric
	nics, switches, wan := 0, 0, 0
	domains := map[string]uint16{}
	for _, target := range targets {
		n, _ := f.NodeByGUID(target.Device.ID.Node)
		domain := f.Nodes[n].Domain
		if target.Device.Kind == subnet.KindCA {
			nics++
			c := target.Want.NIC.WRCC
			if d, ok := domains[domain]; ok && d != c.Domain {
				t.Errorf("%s is in data centre %d, others of %s in %d", target.Device, c.Domain, domain, d)
			}
			domains[domain] = c.Domain
			continue
		}
		switches++
		for _, p := range target.Want.WRCC.Domains {
			if d, ok := domains[domain]; ok && d != p.Domain {
				t.Errorf("%s port %d is in data centre %d, others of %s in %d", target.Device, p.Port, p.Domain, domain, d)
			}
			domains[domain] = p.Domain
			if p.WAN {
				wan++
			}
		}
	}
	if nics != 4 || switches != 3 || len(domains) != 2 || domains["east"] == domains["west"] {
		t.Errorf("%d NIC ports, %d switches, data centres %v", nics, switches, domains)
	}
	if wan == 0 {
		t.Error("no port faces the other data centre")
	}
	got := byID(targets, in.Flows[0].Src).Want.NIC.WRCC
	if len(got.Senders) != 2 || got.Senders[0].Name != "bronze/default" || got.Senders[1].Name != "gold/default" {
		t.Fatalf("senders %+v", got.Senders)
	}
	s, _ := plan.WRCC.Sender(in.Flows[0].Src, "gold", "default")
	if w := got.Senders[1].WeightTo(in.Flows[0].Dst).Float(); w < s.WeightTo(in.Flows[0].Dst)*0.9999 || w > s.WeightTo(in.Flows[0].Dst)*1.0001 {
		t.Errorf("weight %v, want %v", w, s.WeightTo(in.Flows[0].Dst))
	}
	steps, err := device.PlanWaves(targets, f, device.WaveOptions{})
	if err != nil || targets[steps[0].Targets[0]].Device.Kind != subnet.KindSwitch {
		t.Errorf("switches do not come before weights: %v", err)
	}
}

func TestEthernetPlansForOtherFabricsAreRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		plane  policy.Plane
		change func(*policy.Plan)
		says   string
	}{
		"NIC port":     {policy.PlaneRoCE, func(p *policy.Plan) { p.RoCE.NICs[0].Port.Node = 0xdead }, "no such port"},
		"NIC twice":    {policy.PlaneRoCE, func(p *policy.Plan) { p.RoCE.NICs[1] = p.RoCE.NICs[0] }, "two targets"},
		"register":     {policy.PlaneRoCE, func(p *policy.Plan) { p.RoCE.NICs[0].Settings.GD = 77 }, "rpg_gd"},
		"ECN switch":   {policy.PlaneRoCE, func(p *policy.Plan) { p.RoCE.Switches[0].Node = 0xdead }, "no such switch"},
		"queue port":   {policy.PlaneRoCE, func(p *policy.Plan) { p.RoCE.Switches[0].Queues[0].Port = 200 }, "port"},
		"WRCC switch":  {policy.PlaneWRCC, func(p *policy.Plan) { p.WRCC.Ports[0].Ports[0].Port.Node = 0xdead }, "no such switch"},
		"WRCC weight":  {policy.PlaneWRCC, func(p *policy.Plan) { p.WRCC.Senders[0].Weight = 1e9 }, "weight"},
		"peer weight":  {policy.PlaneWRCC, func(p *policy.Plan) { p.WRCC.Senders[0].Peers = []policy.WRCCPeer{{Weight: -1}} }, "towards"},
		"sender port":  {policy.PlaneWRCC, func(p *policy.Plan) { p.WRCC.Senders[0].Port.Node = 0xdead }, "no such linked port"},
		"increase":     {policy.PlaneWRCC, func(p *policy.Plan) { p.WRCC.Increase = "never" }, "increase"},
		"T1":           {policy.PlaneWRCC, func(p *policy.Plan) { p.WRCC.Domains[0].T1 = 1 }, "T1"},
		"period":       {policy.PlaneWRCC, func(p *policy.Plan) { p.WRCC.Ports[0].Settings.Period = 1 }, "period"},
		"unknown home": {policy.PlaneWRCC, func(p *policy.Plan) { p.WRCC.Domains[1].Domain = "elsewhere" }, "no such linked port in a data centre"},
	} {
		in := etherInput(t, c.plane)
		plan, err := policy.Compile(in)
		if err != nil {
			t.Fatal(err)
		}
		c.change(plan)
		if _, err := device.Desired(plan, in.Fabric); err == nil || !strings.Contains(strings.ToLower(err.Error()), strings.ToLower(c.says)) {
			t.Errorf("%s: error %v, want one that says %q", name, err, c.says)
		}
	}
	// What is written to a NIC port shares no memory with the plan.
	plan, in, targets := etherTargets(t, policy.PlaneRoCE)
	for i := range targets {
		if q := targets[i].Want.Queues; q != nil {
			q.Marking[0].Queue = 7
		}
	}
	if again, err := device.Desired(plan, in.Fabric); err != nil || again[len(again)-1].Want.Queues != nil && again[len(again)-1].Want.Queues.Marking[0].Queue == 7 {
		t.Errorf("targets share memory with the plan: %v", err)
	}
}

// TestAPlanWithTrafficClassesSetsWeightsAndShares also holds that a class from which no tenant sends at a divided port has the share 0, and that targets share no memory
// with the plan.
func TestAPlanWithTrafficClassesSetsWeightsAndShares(t *testing.T) {
	t.Parallel()
	in := etherInput(t, policy.PlaneRoCE)
	in.Options.Lever = policy.LeverClasses
	in.Options.Classes = []qos.TrafficClass{{DSCP: 26, Queue: 3}, {DSCP: 34, Queue: 4}, {DSCP: 10, Queue: 1}}
	plan, err := policy.Compile(in)
	if err != nil {
		t.Fatal(err)
	}
	targets, err := device.Desired(plan, in.Fabric)
	if err != nil {
		t.Fatal(err)
	}
	divided := 0
	for _, target := range targets {
		if err := target.Want.Validate(target.Device); err != nil {
			t.Errorf("%s: %v", target.Device, err)
		}
		if n := len(target.Needs.Traffic()); n != 3 {
			t.Errorf("%s: prerequisites of %d classes, want 3", target.Device, n)
		}
		if q := target.Want.Queues; q != nil {
			i := slices.IndexFunc(plan.RoCE.Switches, func(s policy.ECNPlan) bool { return s.Node == target.Device.ID.Node })
			if len(q.Weights) == 0 || !slices.Equal(q.Weights, plan.RoCE.Switches[i].Weights) {
				t.Errorf("%s: weights %v", target.Device, q.Weights)
			}
			continue
		}
		shares := plan.RoCE.NIC(target.Device.ID).Shares
		got := target.Want.NIC.Shares
		if len(shares) == 0 {
			if got != nil || target.Needs.Classes[0].Divided {
				t.Errorf("%s: shares %v of a port that the plan does not divide", target.Device, got)
			}
			continue
		}
		divided++
		if len(got) != 3 || !target.Needs.Classes[0].Divided {
			t.Errorf("%s: shares %v, want those of the three classes of the site", target.Device, got)
		}
		for _, c := range got {
			if i := slices.IndexFunc(shares, func(s qos.ClassShare) bool { return s.Class == c.Class }); i < 0 && c.Percent != 0 || i >= 0 && shares[i] != c {
				t.Errorf("%s: class %d has %d %%, and in the plan %v", target.Device, c.Class, c.Percent, shares)
			}
		}
	}
	if divided != 1 {
		t.Errorf("%d ports are divided, want the one from which two tenants send", divided)
	}
	for i := range targets {
		if q := targets[i].Want.Queues; q != nil {
			q.Weights[0].Weight = 99
		} else if n := targets[i].Want.NIC; n.Shares != nil {
			n.Shares[0].Percent = 99
		}
	}
	again, err := device.Desired(plan, in.Fabric)
	if err != nil {
		t.Fatal(err)
	}
	for _, target := range again {
		if err := target.Want.Validate(target.Device); err != nil || target.Want.Queues != nil && target.Want.Queues.Weights[0].Weight == 99 {
			t.Errorf("%s shares memory with the plan: %v", target.Device, err)
		}
	}
}
