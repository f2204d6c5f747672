package evaluate

import (
	"testing"

	"fairlane/internal/quantity"
	"fairlane/policy"
	"fairlane/policy/plantest"
	"fairlane/subnet/topogen"
	"fairlane/tenants"
)

// A plan may have different settings for each of many NIC ports. The queue pairs of a port use the settings of that port.
func TestManyNICPortsHaveSettingsOfTheirOwn(t *testing.T) {
	t.Parallel()
	f, err := topogen.LeafSpine(topogen.LeafSpineOptions{Leaves: 10, HostsPerLeaf: 32, Spines: 2})
	if err != nil {
		t.Fatal(err)
	}
	in := policy.Input{
		Fabric: f, Options: policy.Options{Plane: policy.PlaneRoCE},
		Tenants: []tenants.Tenant{{Name: "a", Weight: quantity.WeightOne}, {Name: "b", Weight: 2 * quantity.WeightOne}},
	}
	hosts := plantest.Hosts(f)
	for i, h := range hosts {
		in.Flows = append(in.Flows, tenants.Flow{Tenant: in.Tenants[i%2].Name, Src: h, Dst: hosts[(i+33)%len(hosts)], QPs: 1})
	}
	p := plantest.Compiled(t, in)
	if len(p.RoCE.NICs) < 300 {
		t.Fatalf("settings of %d ports: want at least 300", len(p.RoCE.NICs))
	}
	want := map[int32]uint32{} // expected values, by host
	for i := range p.RoCE.NICs {
		p.RoCE.NICs[i].Settings.MaxRate = uint32(1000 + i)
	}
	n, err := newEther(&in, p, 1)
	if err != nil {
		t.Fatal(err)
	}
	for i := range p.RoCE.NICs {
		h, _ := n.HostOf(p.RoCE.NICs[i].Port)
		want[h] = p.RoCE.NICs[i].Settings.MaxRate
	}
	n.RunUntil(10 * quantity.Microsecond)
	used := map[uint16]bool{}
	for s := range n.Flows {
		used[s.Algorithm] = true
		if _, ok := want[s.Src]; ok && s.Algorithm == 0 {
			t.Errorf("host %d has the vendor's default", s.Src)
		}
	}
	if len(used) != len(want) {
		t.Errorf("%d settings in use, want %d", len(used), len(want))
	}
}
