package site

import (
	"path/filepath"
	"strings"
	"testing"

	"fairlane/policy"
	"fairlane/service/control"
	"fairlane/service/device"
	"fairlane/service/placement"
	"fairlane/service/placement/smfile"
	"fairlane/sim/live/livetest"
	"fairlane/sim/scenario"
	"fairlane/sim/simdev"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/subnet/topogen"
)

// A fault in a subnet manager's files fails only operations that need it. A session keeps the settings with which it
// began.
func TestASessionNeedsItsSubnetManagerOnlyForPlacements(t *testing.T) {
	t.Parallel()
	topo, err := topogen.Star(2, topogen.Wire{})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	settings := func(token string) Settings {
		return Settings{Managers: placement.Managers{"lab": &smfile.File{UFM: &smfile.UFM{URL: "https://ufm.example", TokenFile: filepath.Join(dir, token)}}}}
	}
	l := livetest.InfiniBand(t, &scenario.Scenario{Name: "lab", Fabric: topo}, simdev.Options{TimeScale: 0.2})
	p := New(settings("first"))
	target := control.Target{
		Fabric: control.Fabric{Name: "lab", Source: "ibsim:" + l.Server.Addr()}, Topology: topo, Placed: true, Devices: []device.Target{},
		Plan: &policy.Plan{Plane: policy.PlaneIB, Placements: []policy.Placement{{Tenant: "red", PKey: 0x8010, Port: topo.PortID(subnet.PortRef{Node: topo.Hosts()[0], Port: 1}), SL: 1}}},
	}
	reports, err := p.Observe(t.Context(), target, []ident.PortID{})
	if err != nil || len(reports) != 0 {
		t.Errorf("devices alone: %+v, %v", reports, err)
	}
	reports, err = p.Observe(t.Context(), target, nil)
	if err != nil || len(reports) != 1 || reports[0].Device != device.Manager() || reports[0].State != device.Failed || !strings.Contains(reports[0].Error.String(), "first") {
		t.Errorf("with the subnet manager: %+v, %v", reports, err)
	}
	s, err := p.Open(t.Context(), target, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }() // the fabric ends with the test
	p.Reset(settings("second"))
	for step, err := range map[string]error{
		"check":  s.Placer.Check(t.Context(), target.Plan, nil),
		"place":  s.Placer.Place(t.Context(), target.Plan, nil, false),
		"verify": s.Placer.Verify(t.Context(), target.Plan),
	} {
		if err == nil || !strings.Contains(err.Error(), "first") {
			t.Errorf("%s after a reload: %v, want an error about the file that the session began with", step, err)
		}
	}
}
