package views

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/subnet/topogen"
)

// large returns fabrics of about 10,000 hosts.
func large(t testing.TB) map[string]*subnet.Fabric {
	t.Helper()
	tree, err := topogen.FatTree(topogen.FatTreeOptions{K: 34})
	if err != nil {
		t.Fatal(err)
	}
	flat, err := topogen.LeafSpine(topogen.LeafSpineOptions{Leaves: 250, HostsPerLeaf: 40, Spines: 32})
	if err != nil {
		t.Fatal(err)
	}
	return map[string]*subnet.Fabric{"fat tree": tree, "leaf-spine": flat}
}

func drawn(f *subnet.Fabric) *drawing {
	l := newLayout("sha", f)
	o := &overlay{topo: f, links: map[int32]*linkState{}, drift: map[ident.GUID]bool{}, state: &contention{}}
	return &drawing{overlay: o, layout: l, assign: l.assign, groups: map[string]*MapGroup{}}
}

// TestMapsOfLargeFabricsAreBounded draws fabrics of 10,000 hosts, expands every group, and the groups in these.
func TestMapsOfLargeFabricsAreBounded(t *testing.T) {
	t.Parallel()
	want := map[string]Grouping{"fat tree": ByPod, "leaf-spine": ByBlock}
	for name, f := range large(t) {
		l := newLayout("sha", f)
		if l.by != want[name] {
			t.Errorf("%s is grouped by %s, want %s", name, l.by, want[name])
		}
		groups := checkDrawing(t, name, f, "")
		hosts, switches := 0, 0
		for _, g := range groups {
			hosts, switches = hosts+g.Hosts, switches+g.Switches
		}
		if hosts != len(f.Hosts()) || switches != len(f.Switches()) {
			t.Errorf("%s: groups have %d hosts and %d switches", name, hosts, switches)
		}
		deeper := ""
		for i, g := range groups {
			if g.More && (i < 3 || i > len(groups)-3) { // groups of a kind are alike
				for _, x := range checkDrawing(t, name, f, g.ID) {
					if x.More && x.Host && x.Hosts < g.Hosts {
						deeper = x.ID
					}
				}
			}
		}
		if deeper == "" {
			t.Fatalf("%s: no group of hosts lies within another", name)
		}
		checkDrawing(t, name, f, deeper)
	}
}

func checkDrawing(t *testing.T, name string, f *subnet.Fabric, expand string) []MapGroup {
	t.Helper()
	d := drawn(f)
	if expand != "" {
		more, err := d.expand(expand)
		if err != nil {
			t.Errorf("%s, %s: %v", name, expand, err)
		}
		if more > 0 && len(d.opened) != maxGroups {
			t.Errorf("%s, %s: %d members are drawn and %d left out", name, expand, len(d.opened), more)
		}
	}
	d.gather()
	d.connect()
	groups, edges, _ := d.bounded()
	if len(groups) == 0 || len(groups) > maxGroups || len(edges) > maxEdges {
		t.Errorf("%s, %q: %d groups and %d edges", name, expand, len(groups), len(edges))
	}
	for i := 1; i < len(groups); i++ {
		if groups[i-1].Tier > groups[i].Tier {
			t.Errorf("%s, %q: group %s comes before %s", name, expand, groups[i-1].ID, groups[i].ID)
		}
	}
	links := 0
	for _, e := range edges {
		links += e.Links
		if e.Capacity == 0 || e.A == e.B {
			t.Errorf("%s, %q: edge %+v", name, expand, e)
		}
	}
	if links > len(f.Links) || links == 0 {
		t.Errorf("%s, %q: %d links in edges", name, expand, links)
	}
	return groups
}

// TestRoutesWithoutForwardingTablesAreAllShortestOnes counts the links of all routes in a leaf-spine fabric.
func TestRoutesWithoutForwardingTablesAreAllShortestOnes(t *testing.T) {
	t.Parallel()
	f, err := topogen.LeafSpine(topogen.LeafSpineOptions{Leaves: 3, HostsPerLeaf: 2, Spines: 4, Parallel: 2})
	if err != nil {
		t.Fatal(err)
	}
	bare := *f
	bare.LFTs = nil
	for _, c := range []struct {
		src, dst string
		want     []int // links by distance
	}{
		{"host-001", "host-002", []int{1, 1}},
		{"host-001", "host-006", []int{1, 8, 8, 1}},
		{"host-001", "host-001", nil},
	} {
		src, err := f.ResolvePort(c.src)
		dst, err2 := f.ResolvePort(c.dst)
		if err != nil || err2 != nil {
			t.Fatal(err, err2)
		}
		hops, err := route(&bare, src, dst)
		if err != nil {
			t.Fatal(err)
		}
		var got []int
		for _, h := range hops {
			if h.Distance == len(got) {
				got = append(got, 0)
			}
			got[h.Distance]++
		}
		if fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%s to %s: %v links by distance, want %v", c.src, c.dst, got, c.want)
		}
	}
}

func TestNaturalOrderOfNames(t *testing.T) {
	t.Parallel()
	for _, c := range [][2]string{{"leaf2", "leaf10"}, {"a", "b"}, {"a1", "a1b"}, {"r1-s9", "r1-s10"}, {"r1-s9", "r2-s1"}, {"1", "a"}, {"", "a"}, {"a01", "a1"}} {
		if natural(c[0], c[1]) >= 0 || natural(c[1], c[0]) <= 0 || natural(c[0], c[0]) != 0 {
			t.Errorf("%q and %q are out of order", c[0], c[1])
		}
	}
}

func TestARouteThatEndsHasItsReason(t *testing.T) {
	t.Parallel()
	f, err := topogen.Star(4, topogen.Wire{})
	if err != nil {
		t.Fatal(err)
	}
	src, err := f.ResolvePort("h1")
	dst, err2 := f.ResolvePort("h4")
	if err != nil || err2 != nil {
		t.Fatal(err, err2)
	}
	hops, err := route(f, src, dst)
	if err != nil || len(hops) != 2 || hops[1].Distance != 1 {
		t.Fatalf("route is %+v, %v", hops, err)
	}
	broken := *f
	broken.LFTs = slices.Clone(f.LFTs)
	for i := range broken.LFTs {
		broken.LFTs[i] = slices.Clone(f.LFTs[i])
		for lid := range broken.LFTs[i] {
			broken.LFTs[i][lid] = ident.DropPort
		}
	}
	if hops, err = route(&broken, src, dst); !errors.Is(err, subnet.ErrNoRoute) || len(hops) != 0 {
		t.Errorf("route over a switch that drops is %+v, %v", hops, err)
	}
	island := *f
	island.LFTs, island.Links = nil, nil
	island.Nodes = slices.Clone(f.Nodes)
	for i := range island.Nodes {
		island.Nodes[i].Ports = slices.Clone(f.Nodes[i].Ports)
		for p := range island.Nodes[i].Ports {
			island.Nodes[i].Ports[p].Link = -1
		}
	}
	if hops, err = route(&island, src, dst); !errors.Is(err, subnet.ErrNoRoute) || len(hops) != 0 {
		t.Errorf("route without links is %+v, %v", hops, err)
	}
}
