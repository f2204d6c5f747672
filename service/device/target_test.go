package device_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlane/ccconfig/driver"
	"fairlane/ccconfig/ibcc"
	"fairlane/policy"
	"fairlane/service/device"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/subnet/topogen"
)

// testFabric is two hosts on one switch, with LIDs.
func testFabric(t testing.TB) *subnet.Fabric {
	t.Helper()
	f, err := topogen.Star(2, topogen.Wire{})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func testPlan(f *subnet.Fabric) *policy.Plan {
	p := &policy.Plan{Name: "sha", Plane: "ib"}
	hosts := f.Hosts()
	for i := range hosts {
		n := &f.Nodes[hosts[len(hosts)-1-i]] // in the wrong order
		id := ident.PortID{Node: n.GUID, Port: 1}
		p.CAs = append(p.CAs, policy.CAPlan{Port: id, Name: n.Name, Settings: *wanted(ca(0), 0).CA})
	}
	s := &f.Nodes[f.Switches()[0]]
	p.Switches = []policy.SwitchPlan{{
		Node: s.GUID, Name: s.Name, Defaults: ibcc.SwitchSettings{Threshold: 15, MarkingRate: 32},
		Ports: []ibcc.PortMarking{{}, {Valid: true, Threshold: 12, MarkingRate: 8}},
	}}
	return p
}

func TestDesiredFindsDevicesOnTheFabric(t *testing.T) {
	t.Parallel()
	f := testFabric(t)
	plan := testPlan(f)
	targets, err := device.Desired(plan, f)
	if err != nil {
		t.Fatal(err)
	}
	if len(targets) != 3 {
		t.Fatalf("%d targets, want 3", len(targets))
	}
	for i, target := range targets {
		if i > 0 && targets[i-1].Device.ID.Compare(target.Device.ID) >= 0 {
			t.Errorf("target %d is out of order", i)
		}
		ref, ok := f.PortByLID(target.Device.LID)
		if !ok || f.Nodes[ref.Node].GUID != target.Device.ID.Node {
			t.Errorf("%s: LID %d leads elsewhere", target.Device, target.Device.LID)
		}
		if target.Device.Kind == subnet.KindSwitch {
			n := &f.Nodes[f.Switches()[0]]
			ports := make([]ibcc.PortMarking, len(n.Ports))
			copy(ports, plan.Switches[0].Ports)
			want := driver.Settings{Switch: &driver.SwitchState{Defaults: plan.Switches[0].Defaults, Ports: ports}}
			if d := cmp.Diff(want, target.Want); d != "" || target.Device.Ports != len(n.Ports)-1 || target.Device.Name != n.Name {
				t.Errorf("switch target %+v: %s", target.Device, d)
			}
			continue
		}
		if !target.Want.Equal(wanted(ca(0), 0)) || !strings.Contains(target.Device.Name, "/P1") {
			t.Errorf("adapter target %+v", target)
		}
	}
	// The targets are the caller's own: changing them must not change the plan.
	targets[0].Want.CA.Table[1].Multiplier = 9999
	if plan.CAs[0].Settings.Table[1].Multiplier == 9999 || plan.CAs[1].Settings.Table[1].Multiplier == 9999 {
		t.Error("a target shares its table with the plan")
	}
}

func TestDesiredNamesEveryFault(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spoil func(*policy.Plan)
		says  []string
	}{
		"unknown port":   {func(p *policy.Plan) { p.CAs[0].Port.Node = 0xdead }, []string{"0x000000000000dead:1", "no such port"}},
		"port 9":         {func(p *policy.Plan) { p.CAs[0].Port.Port = 9 }, []string{":9", "no such port"}},
		"unknown switch": {func(p *policy.Plan) { p.Switches[0].Node = 0xdead }, []string{"0x000000000000dead", "no such switch"}},
		"host as switch": {func(p *policy.Plan) { p.Switches[0].Node = p.CAs[0].Port.Node }, []string{"no such switch"}},
		"bad value":      {func(p *policy.Plan) { p.CAs[1].Settings.Table[3].Shift = 4 }, []string{"cct[3].shift", "found 4"}},
		"device twice":   {func(p *policy.Plan) { p.CAs[1] = p.CAs[0] }, []string{"two targets"}},
		"too many ports": {func(p *policy.Plan) { p.Switches[0].Ports = make([]ibcc.PortMarking, 300) }, []string{"300 port elements"}},
		"two faults": {func(p *policy.Plan) { p.CAs[0].Port.Node = 1; p.Switches[0].Defaults.Threshold = 16 },
			[]string{"no such port", "threshold: found 16"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := testFabric(t)
			p := testPlan(f)
			c.spoil(p)
			targets, err := device.Desired(p, f)
			if err == nil || targets != nil {
				t.Fatalf("got %d targets and error %v", len(targets), err)
			}
			for _, s := range c.says {
				if !strings.Contains(err.Error(), s) {
					t.Errorf("error %q does not say %q", err, s)
				}
			}
		})
	}
}

func TestDesiredOfAnEmptyPlanIsEmpty(t *testing.T) {
	t.Parallel()
	targets, err := device.Desired(&policy.Plan{}, testFabric(t))
	if err != nil || len(targets) != 0 {
		t.Errorf("%d targets, error %v", len(targets), err)
	}
}
