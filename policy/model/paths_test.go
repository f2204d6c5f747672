package model

import (
	"math"
	"slices"
	"testing"

	"fairlane/internal/quantity"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/subnet/topogen"
	"fairlane/tenants"
)

// treeModel is a k-ary fat tree of Ethernet with one flow between the hosts of each pair.
func treeModel(t *testing.T, k int, pairs [][2]int) *Model {
	t.Helper()
	f, err := topogen.FatTree(topogen.FatTreeOptions{K: k, Wire: topogen.Wire{Rate: 100 * quantity.Gbps}})
	if err != nil {
		t.Fatal(err)
	}
	host := func(i int) ident.PortID { return f.PortID(subnet.PortRef{Node: f.Hosts()[i], Port: 1}) }
	in := Input{Fabric: f, Tenants: []tenants.Tenant{{Name: "a", Weight: quantity.WeightOne}}, Options: Options{Plane: subnet.PlaneRoCE}}
	for _, p := range pairs {
		in.Flows = append(in.Flows, tenants.Flow{Tenant: "a", Src: host(p[0]), Dst: host(p[1]), QPs: 3})
	}
	m, err := New(in)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestFlowsSpreadEvenlyOverAllShortestPaths(t *testing.T) {
	t.Parallel()
	m := treeModel(t, 4, [][2]int{{0, 1}, {0, 2}, {0, 15}})
	want := []struct{ routes, links int }{{1, 2}, {2, 4}, {4, 6}}
	for i, w := range want {
		var seen [][]int32
		sum := 0.0
		for k := range m.Flows {
			f := &m.Flows[k]
			if f.Index != i {
				continue
			}
			if len(f.Links) != w.links || f.QPs != 3/float64(w.routes) {
				t.Errorf("flow %d: a route of %d links with %g queue pairs, want %d and %g", i, len(f.Links), f.QPs, w.links, 3/float64(w.routes))
			}
			at := f.Src
			for _, d := range f.Links {
				if m.Transmitter(d).Node != at.Node {
					t.Errorf("flow %d: a link leaves node %d, want %d", i, m.Transmitter(d).Node, at.Node)
				}
				at = m.Receiver(d)
			}
			if at != f.Dst || slices.ContainsFunc(seen, func(o []int32) bool { return slices.Equal(o, f.Links) }) {
				t.Errorf("flow %d: a route ends at %v or is duplicated, want %v once", i, at, f.Dst)
			}
			seen = append(seen, f.Links)
			sum += f.QPs
		}
		if len(seen) != w.routes || math.Abs(sum-3) > 1e-9 {
			t.Errorf("flow %d: %d routes with %g queue pairs, want %d with 3", i, len(seen), sum, w.routes)
		}
	}
}

func TestManyPathsAreLimited(t *testing.T) {
	t.Parallel()
	pairs := [][2]int{{0, 1023}, {1, 1022}}
	m := treeModel(t, 16, pairs) // 64 paths between pods
	if len(m.Flows) != 2*maxRoutes {
		t.Fatalf("%d routes of two flows, want %d each", len(m.Flows), maxRoutes)
	}
	for len(pairs) < 40_000 {
		pairs = append(pairs, [2]int{len(pairs) % 512, 512 + len(pairs)*7%512})
	}
	m = treeModel(t, 16, pairs)
	if got, want := len(m.Flows), maxTotalRoutes; got > want || got < want/2 {
		t.Errorf("%d routes of %d flows, want about %d", got, len(pairs), want)
	}
	used := make(map[int32]int)
	for i := range m.Flows {
		for _, d := range m.Flows[i].Links {
			used[d]++
		}
	}
	if len(used) < 3*len(m.Caps)/8 { // flows go in one direction, from half of the pods to the other half
		t.Errorf("%d of %d link directions used, want the choices spread over all", len(used), len(m.Caps))
	}
}

func TestInvalidRoutesAreRefused(t *testing.T) {
	t.Parallel()
	m := treeModel(t, 4, [][2]int{{0, 1}})
	good := FlowPath{m.Transmitter(m.Flows[0].Links[0]), m.Transmitter(m.Flows[0].Links[1])}
	for name, r := range map[string][]Route{
		"too few queue pairs": {{Path: good, QPs: 2}},
		"not to the end":      {{Path: good[:1], QPs: 3}},
		"not from the start":  {{Path: good[1:], QPs: 3}},
		"a link twice":        {{Path: FlowPath{good[0], good[1], good[1]}, QPs: 3}},
		"no queue pairs":      {{Path: good, QPs: 3}, {Path: good, QPs: 0}},
	} {
		in := m.Input
		in.Routes = [][]Route{r}
		if _, err := New(in); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	in := m.Input
	in.Routes = [][]Route{{{Path: good, QPs: 1.5}, {Path: good, QPs: 1.5}}}
	if _, err := New(in); err != nil {
		t.Errorf("two routes of half the queue pairs each: %v", err)
	}
}
