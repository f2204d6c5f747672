package tenantnet_test

import (
	"slices"
	"strings"
	"testing"

	"fairlane/internal/quantity"
	"fairlane/sim/cc"
	"fairlane/sim/ether"
	"fairlane/sim/tenantnet"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/subnet/topogen"
	"fairlane/tenants"
)

// Each queue pair is a separate flow: it has a number, its part of the demand, and a path from port to port.
func TestQueuePairsAreFlows(t *testing.T) {
	t.Parallel()
	topo, err := topogen.LeafSpine(topogen.LeafSpineOptions{Leaves: 2, HostsPerLeaf: 2, Spines: 4})
	if err != nil {
		t.Fatal(err)
	}
	var ids []ident.PortID
	for _, h := range topo.Hosts() {
		ids = append(ids, topo.PortID(subnet.PortRef{Node: h, Port: 1}))
	}
	flows := []tenants.Flow{{Tenant: "a", Src: ids[0], Dst: ids[3], QPs: 8, Demand: 16 * quantity.Gbps}, {Tenant: "b", Src: ids[1], Dst: ids[0], QPs: 1}}
	for _, cfg := range []ether.Config{tenantnet.RoCE(1), tenantnet.WRCC(1)} {
		spec, err := cc.ByName("wrcc-weighted")
		if err != nil {
			t.Fatal(err)
		}
		a, err := spec.Build(nil)
		if err != nil {
			t.Fatal(err)
		}
		cfg.Algorithms = []cc.Algorithm{a}
		n, err := tenantnet.New(topo, flows, cfg)
		if err != nil {
			t.Fatal(err)
		}
		if want := []int{0, 0, 0, 0, 0, 0, 0, 0, 1}; !slices.Equal(n.Pairs, want) || n.Wire != 1.06 {
			t.Errorf("queue pairs of flows %v, want %v; %g wire bytes a byte", n.Pairs, want, n.Wire)
		}
		spines := map[int32]bool{}
		for i, path := range n.Paths {
			f, s := &flows[n.Pairs[i]], n.Spec(i)
			if src, _ := n.HostOf(f.Src); s.ID != int64(i) || s.Src != src || topo.PortID(path[0]) != f.Src || i < 8 && s.Demand != 2*quantity.Gbps || i == 8 && s.Demand != 0 {
				t.Errorf("queue pair %d: %+v by %v", i, s, path)
			}
			if last, ok := topo.Peer(path[len(path)-1]); !ok || topo.PortID(last) != f.Dst {
				t.Errorf("queue pair %d ends at %v", i, last)
			}
			if len(path) == 4 {
				spines[path[2].Node] = true
			}
			if err := n.Add(s); err != nil {
				t.Error(err)
			}
		}
		if len(spines) < 2 {
			t.Errorf("eight queue pairs over %d spines", len(spines))
		}
		for want, bad := range map[string]tenants.Flow{
			"want a linked host port": {Tenant: "c", Src: topo.PortID(subnet.PortRef{Node: topo.Switches()[0], Port: 1}), Dst: ids[0], QPs: 1},
			"to itself":               {Tenant: "c", Src: ids[0], Dst: ids[0], QPs: 1},
		} {
			if _, err := tenantnet.New(topo, []tenants.Flow{bad}, cfg); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %q", err, want)
			}
		}
	}
}
