package evaluate_test

import (
	"math"
	"testing"

	"fairlane/internal/quantity"
	"fairlane/policy"
	"fairlane/policy/plantest"
	"fairlane/sim/lab/evaluate"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/subnet/topogen"
	"fairlane/tenants"
)

// Two uplinks of leaf switches and the two downlinks that they feed are full together: if three are full, the fourth is, too.
// The fourth limits no flow first, but it marks all flows that cross it. Their settings must include its marks.
func TestFullLinkAmongFullLinksCounts(t *testing.T) {
	t.Parallel()
	f, err := topogen.LeafSpine(topogen.LeafSpineOptions{Leaves: 4, HostsPerLeaf: 2, Spines: 1, Wire: topogen.Wire{Rate: 25 * quantity.Gbps}})
	if err != nil {
		t.Fatal(err)
	}
	var h []ident.PortID
	for _, host := range f.Hosts() {
		h = append(h, f.PortID(subnet.PortRef{Node: host, Port: 1}))
	}
	in := policy.Input{Fabric: f, Tenants: []tenants.Tenant{{Name: "a", Weight: 1000}, {Name: "b", Weight: 3000}, {Name: "c", Weight: 2000}, {Name: "d", Weight: 1000}}}
	for _, x := range []struct {
		tenant   string
		src, dst int
	}{{"a", 0, 4}, {"b", 1, 6}, {"c", 2, 5}, {"d", 3, 7}} {
		in.Flows = append(in.Flows, tenants.Flow{Tenant: x.tenant, Src: h[x.src], Dst: h[x.dst], QPs: 8})
	}
	p := plantest.Compiled(t, in)
	if len(p.Links) != 4 {
		t.Errorf("%d contended links: want both uplinks and both downlinks", len(p.Links))
	}
	s, err := evaluate.Simulate(t.Context(), in, p, evaluate.Options{Seed: 1, MaxHops: 3e6})
	if err != nil {
		t.Fatal(err)
	}
	// Tenants a and d, and likewise b and c, have the same weight, the same number of queue pairs, and the same number of full
	// links.
	for _, x := range [][2]int{{0, 3}, {1, 2}} {
		if one, other := s.Tenants[x[0]], s.Tenants[x[1]]; math.Abs(float64(one.Delivered)/float64(other.Delivered)-1) > 0.03 {
			t.Errorf("%s has %s and %s has %s: want equal rates", one.Tenant, one.Delivered, other.Tenant, other.Delivered)
		}
	}
}
