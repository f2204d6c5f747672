package subnet_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"fairlane/internal/testkit/zhtest"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/subnet/subnettest"
	"fairlane/subnet/topogen"
)

type failer interface{ Fatalf(string, ...any) }

func mustRoute(t failer, f *subnet.Fabric) *subnet.Fabric {
	lfts, err := subnet.ComputeRoutes(f)
	if err != nil {
		t.Fatalf("routes: %v", err)
	}
	g, err := f.WithLFTs(lfts)
	if err != nil {
		t.Fatalf("computed tables refused: %v", err)
	}
	return g
}

// endports lists the ports that can send: of hosts, plugged into a switch, with a LID.
func endports(f *subnet.Fabric) []subnet.PortRef {
	var refs []subnet.PortRef
	for _, h := range f.Hosts() {
		for p := 1; p < len(f.Nodes[h].Ports); p++ {
			ref := at(h, ident.PortNum(p))
			if peer, ok := f.Peer(ref); ok && f.Port(ref).LID != 0 && f.Nodes[peer.Node].Kind == subnet.KindSwitch {
				refs = append(refs, ref)
			}
		}
	}
	return refs
}

// parts numbers the connected components of the switches.
func parts(f *subnet.Fabric) []int {
	part := make([]int, len(f.Nodes))
	for i := range part {
		part[i] = i
	}
	for range f.Nodes {
		for _, l := range f.Links {
			if f.Nodes[l.A.Node].Kind == subnet.KindSwitch && f.Nodes[l.B.Node].Kind == subnet.KindSwitch {
				low := min(part[l.A.Node], part[l.B.Node])
				part[l.A.Node], part[l.B.Node] = low, low
			}
		}
	}
	return part
}

// channelCycle searches for a cycle among the channels (transmitting ports of switches) that packets hold while they wait
// for the next one: a cycle is a possible deadlock. It follows traffic from hosts to any LID and from switches to hosts.
func channelCycle(f *subnet.Fabric) []subnet.PortRef {
	next := make(map[subnet.PortRef]map[subnet.PortRef]bool)
	ends := endports(f)
	sources := slices.Clone(ends)
	for _, s := range f.Switches() {
		sources = append(sources, at(s, 0))
	}
	for _, src := range sources {
		for lid := ident.LID(1); lid <= f.TopLID(); lid++ {
			dst, ok := f.PortByLID(lid)
			if !ok || src.Port == 0 && dst.Port == 0 {
				continue
			}
			path, err := subnet.Path(f, src, lid)
			if err != nil {
				continue // in another component
			}
			if src.Port != 0 {
				path = path[min(1, len(path)):]
			}
			for i := 1; i < len(path); i++ {
				if next[path[i-1]] == nil {
					next[path[i-1]] = make(map[subnet.PortRef]bool)
				}
				next[path[i-1]][path[i]] = true
			}
		}
	}
	state := make(map[subnet.PortRef]int) // 1 on the stack, 2 done
	var walk func(c subnet.PortRef, path []subnet.PortRef) []subnet.PortRef
	walk = func(c subnet.PortRef, path []subnet.PortRef) []subnet.PortRef {
		switch state[c] {
		case 1:
			return append(path, c)
		case 2:
			return nil
		}
		state[c] = 1
		for n := range next[c] {
			if cycle := walk(n, append(path, c)); cycle != nil {
				return cycle
			}
		}
		state[c] = 2
		return nil
	}
	for c := range next {
		if cycle := walk(c, nil); cycle != nil {
			return cycle
		}
	}
	return nil
}

// TestRoutesOfRandomFabrics checks that every LID is reached from every port of the same component and from no other, and
// that routes cannot deadlock, whatever the wiring.
func TestRoutesOfRandomFabrics(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f := subnettest.Fabric(t, subnettest.Shape{Connected: rapid.Bool().Draw(t, "connected")})
		if f.TopLID() == 0 {
			if _, err := subnet.ComputeRoutes(f); err == nil {
				t.Fatal("routes without a LID")
			}
			return
		}
		f = mustRoute(t, f)
		part, ends := parts(f), endports(f)
		switchOf := func(r subnet.PortRef) int32 {
			if f.Nodes[r.Node].Kind == subnet.KindSwitch {
				return r.Node
			}
			peer, _ := f.Peer(r)
			return peer.Node
		}
		targets := slices.Clone(ends)
		for _, s := range f.Switches() {
			targets = append(targets, at(s, 0))
		}
		for _, src := range targets {
			for _, dst := range targets {
				p := f.Port(dst)
				for lid := p.LID; lid < p.LID+1<<p.LMC; lid++ {
					path, err := subnet.Path(f, src, lid)
					if part[switchOf(src)] != part[switchOf(dst)] {
						if !errors.Is(err, subnet.ErrNoRoute) {
							t.Fatalf("%s to %s in another component: %v, %v", f.PortName(src), f.PortName(dst), path, err)
						}
						continue
					}
					if err != nil {
						t.Fatal(err)
					}
					checkPath(t, f, src, dst, path)
				}
			}
		}
		if cycle := channelCycle(f); cycle != nil {
			t.Fatalf("possible deadlock: %v", cycle)
		}
		if again, _ := subnet.ComputeRoutes(f); !cmp.Equal(f.LFTs, mustRoute(t, f).LFTs) {
			t.Fatalf("other routes the second time: %v", again)
		}
	})
}

// checkPath walks the path's links from the source to the destination.
func checkPath(t *rapid.T, f *subnet.Fabric, src, dst subnet.PortRef, path []subnet.PortRef) {
	here := src
	for i, out := range path {
		if out.Node != here.Node || i == 0 && f.Nodes[src.Node].Kind != subnet.KindSwitch && out != src {
			t.Fatalf("hop %d of %v is not at %s", i, path, f.PortName(here))
		}
		peer, ok := f.Peer(out)
		if !ok {
			t.Fatalf("nothing plugged into %s", f.PortName(out))
		}
		here = peer
	}
	if here != dst && !(here.Node == dst.Node && dst.Port == 0) {
		t.Fatalf("path %v ends at %s, want %s", path, f.PortName(here), f.PortName(dst))
	}
}

func TestRoutesOfATreeAreShortest(t *testing.T) {
	t.Parallel()
	f, err := topogen.FatTree(topogen.FatTreeOptions{K: 6})
	if err != nil {
		t.Fatal(err)
	}
	ends := endports(f)
	perEdge, perPod := 3, 9
	for i, src := range ends {
		for j, dst := range ends {
			want := 6
			switch {
			case i == j:
				want = 0
			case i/perEdge == j/perEdge:
				want = 2
			case i/perPod == j/perPod:
				want = 4
			}
			path, err := subnet.Path(f, src, f.Port(dst).LID)
			if err != nil || len(path) != want {
				t.Fatalf("%s to %s: %d links, want %d (%v)", f.PortName(src), f.PortName(dst), len(path), want, err)
			}
		}
	}
}

// linkLoads counts how many pairs of hosts use each transmitting port.
func linkLoads(t *testing.T, f *subnet.Fabric) map[subnet.PortRef]int {
	t.Helper()
	loads := make(map[subnet.PortRef]int)
	var path []subnet.PortRef
	for _, src := range endports(f) {
		for _, dst := range endports(f) {
			var err error
			if path, err = subnet.AppendPath(path[:0], f, src, f.Port(dst).LID); err != nil {
				t.Fatal(err)
			}
			for _, out := range path {
				loads[out]++
			}
		}
	}
	return loads
}

func TestRoutesAreBalanced(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		build func() (*subnet.Fabric, error)
		ratio float64 // of the largest load of links between two tiers to the smallest, at most
	}{
		"leaf-spine": {func() (*subnet.Fabric, error) {
			return topogen.LeafSpine(topogen.LeafSpineOptions{Leaves: 8, HostsPerLeaf: 16, Spines: 4})
		}, 1.05},
		"leaf-spine, parallel": {func() (*subnet.Fabric, error) {
			return topogen.LeafSpine(topogen.LeafSpineOptions{Leaves: 4, HostsPerLeaf: 12, Spines: 2, Parallel: 3})
		}, 1.05},
		"leaf-spine, uneven": {func() (*subnet.Fabric, error) {
			return topogen.LeafSpine(topogen.LeafSpineOptions{Leaves: 5, HostsPerLeaf: 7, Spines: 3})
		}, 1.5},
		"fat tree":              {func() (*subnet.Fabric, error) { return topogen.FatTree(topogen.FatTreeOptions{K: 8}) }, 1.25},
		"fat tree of 16 hosts":  {func() (*subnet.Fabric, error) { return topogen.FatTree(topogen.FatTreeOptions{K: 4}) }, 1.5},
		"fat tree of 432 hosts": {func() (*subnet.Fabric, error) { return topogen.FatTree(topogen.FatTreeOptions{K: 12}) }, 1.25},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, err := c.build()
			if err != nil {
				t.Fatal(err)
			}
			loads, tiers := linkLoads(t, f), f.Tiers()
			low, high := make(map[[2]int]int), make(map[[2]int]int)
			for i := range f.Links {
				for _, out := range []subnet.PortRef{f.Links[i].A, f.Links[i].B} {
					peer, _ := f.Peer(out)
					kind := [2]int{tiers[out.Node], tiers[peer.Node]}
					if n, seen := low[kind]; !seen || loads[out] < n {
						low[kind] = loads[out]
					}
					high[kind] = max(high[kind], loads[out])
				}
			}
			for kind := range low {
				if ratio := float64(high[kind]) / float64(low[kind]); ratio > c.ratio || low[kind] == 0 {
					t.Errorf("tier %d to %d: loads from %d to %d", kind[0], kind[1], low[kind], high[kind])
				}
			}
		})
	}
}

func TestLIDsOfOnePortTakeDifferentSpines(t *testing.T) {
	t.Parallel()
	f, err := topogen.LeafSpine(topogen.LeafSpineOptions{Leaves: 3, HostsPerLeaf: 5, Spines: 4, Wire: topogen.Wire{LMC: 2}})
	if err != nil {
		t.Fatal(err)
	}
	ends := endports(f)
	for _, src := range ends {
		for _, dst := range ends {
			spines := make(map[int32]bool)
			for k := range ident.LID(4) {
				path, err := subnet.Path(f, src, f.Port(dst).LID+k)
				if err != nil {
					t.Fatal(err)
				}
				if len(path) == 4 {
					spines[path[2].Node] = true
				}
			}
			if n := len(spines); n != 0 && n != 4 {
				t.Errorf("%s to %s: the 4 LIDs use %d spines", f.PortName(src), f.PortName(dst), n)
			}
		}
	}
}

// ring is n switches in a ring, each with one host. Shortest paths on it can deadlock.
func ring(t *testing.T, n int) *subnet.Fabric {
	t.Helper()
	var nodes []subnet.Node
	var links []subnet.Link
	for i := range n {
		nodes = append(nodes, subnet.Node{GUID: ident.GUID(i + 1), Kind: subnet.KindSwitch, Ports: subnet.NewPorts(3)})
		links = append(links,
			subnet.Link{A: at(int32(i), 1), B: at(int32((i+1)%n), 2)},
			subnet.Link{A: at(int32(i), 3), B: at(int32(n+i), 1)})
	}
	for i := range n {
		nodes = append(nodes, subnet.Node{GUID: ident.GUID(n + i + 1), Kind: subnet.KindCA, Ports: subnet.NewPorts(1)})
	}
	f, err := subnet.New("ring", nodes, links)
	if err != nil {
		t.Fatal(err)
	}
	if f, err = subnet.AssignLIDs(f, 0); err != nil {
		t.Fatal(err)
	}
	return f
}

func TestUpDownBreaksTheCycleThatShortestPathsLeave(t *testing.T) {
	t.Parallel()
	f := ring(t, 6)
	lfts, err := subnet.ComputeMinHopRoutes(f)
	if err != nil {
		t.Fatal(err)
	}
	short, err := f.WithLFTs(lfts)
	if err != nil {
		t.Fatal(err)
	}
	if channelCycle(short) == nil {
		t.Error("shortest paths around a ring of six have no cycle: the test proves nothing")
	}
	for i := range int32(6) {
		for j := range int32(6) {
			path, err := subnet.Path(short, at(6+i, 1), short.Nodes[6+j].Ports[1].LID)
			want := 0
			if i != j {
				d := int((j - i + 6) % 6)
				want = min(d, 6-d) + 2
			}
			if err != nil || len(path) != want {
				t.Errorf("shortest path %d to %d: %d links, want %d (%v)", i, j, len(path), want, err)
			}
		}
	}
	if cycle := channelCycle(mustRoute(t, f)); cycle != nil {
		t.Errorf("up*/down* leaves the cycle %v", cycle)
	}
}

func TestLinksThatAreDownAreNotUsed(t *testing.T) {
	t.Parallel()
	f := ring(t, 4)
	f.Nodes[0].Ports[1].State = subnet.PortDown // f.Nodes is modified before New copies it
	g, err := subnet.New("cut", f.Nodes, f.Links)
	if err != nil {
		t.Fatal(err)
	}
	g = mustRoute(t, g)
	path, err := subnet.Path(g, at(4, 1), g.Nodes[5].Ports[1].LID)
	if err != nil || len(path) != 5 {
		t.Errorf("path around the failed link: %v, %v", path, err)
	}
}

func TestRoutesWithoutLIDs(t *testing.T) {
	t.Parallel()
	f, err := subnet.New("x", pair(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := subnet.ComputeRoutes(f); err == nil || !strings.Contains(err.Error(), "no port has a LID") {
		t.Errorf("error %v", err)
	}
}

func TestPathFaults(t *testing.T) {
	t.Parallel()
	f := ring(t, 3)
	lid := func(node int32) ident.LID { return f.Nodes[node].Ports[1].LID }
	good := mustRoute(t, f).LFTs
	with := func(edit func(rows [][]ident.PortNum)) *subnet.Fabric {
		rows := make([][]ident.PortNum, len(good))
		for i := range rows {
			rows[i] = slices.Clone(good[i])
		}
		edit(rows)
		g, err := f.WithLFTs(rows)
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	unplugged, err := subnet.New("u", []subnet.Node{
		{GUID: 1, Kind: subnet.KindCA, Name: "a", Ports: subnet.NewPorts(2)},
		{GUID: 2, Kind: subnet.KindCA, Name: "b", Ports: []subnet.Port{{}, {LID: 7}}},
		{GUID: 3, Kind: subnet.KindCA, Name: "c", Ports: subnet.NewPorts(1)},
	}, []subnet.Link{{A: at(0, 2), B: at(2, 1)}})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		f    *subnet.Fabric
		src  subnet.PortRef
		lid  ident.LID
		kind error
		want string
	}{
		"no such port":             {f, at(9, 1), 1, subnet.ErrNoRoute, "no such port"},
		"no such LID":              {f, at(3, 1), 99, subnet.ErrNoRoute, "to LID 99: no route: no port has this LID"},
		"no tables":                {f, at(3, 1), lid(4), subnet.ErrNoRoute, "has no forwarding table"},
		"dropped":                  {with(func(r [][]ident.PortNum) { r[0][lid(4)] = 255 }), at(3, 1), lid(4), subnet.ErrNoRoute, "switch 0x0000000000000001 drops it"},
		"short table":              {with(func(r [][]ident.PortNum) { r[0] = r[0][:2] }), at(3, 1), lid(4), subnet.ErrNoRoute, "drops it"},
		"LID of the switch itself": {with(func(r [][]ident.PortNum) { r[0][lid(4)] = 0 }), at(3, 1), lid(4), subnet.ErrNoRoute, "treats it as its own LID"},
		"wrong host":               {with(func(r [][]ident.PortNum) { r[0][lid(4)] = 3 }), at(3, 1), lid(4), subnet.ErrNoRoute, "it ends at 0x0000000000000004/P1, which has another LID"},
		"loop":                     {with(func(r [][]ident.PortNum) { r[0][lid(4)], r[1][lid(4)] = 1, 2 }), at(3, 1), lid(4), subnet.ErrLoop, "forwarding loop: 0x0000000000000002/P2 - 0x0000000000000001/P1 - 0x0000000000000002/P2"},
		"unplugged source":         {unplugged, at(0, 1), 7, subnet.ErrNoRoute, "a/P1 has no link"},
		"other end of wire":        {unplugged, at(0, 2), 7, subnet.ErrNoRoute, "it ends at c/P1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			keep := []subnet.PortRef{at(1, 1)}
			path, err := subnet.AppendPath(keep, c.f, c.src, c.lid)
			if !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %q, want %v: %q", err, c.kind, c.want)
			}
			zhtest.Error(t, c.want, err, "hostA", "hostB", "leaf", "spine")
			if len(path) != 1 {
				t.Errorf("path %v, want it unchanged", path)
			}
		})
	}
}

func TestPathToItselfAndBackToBack(t *testing.T) {
	t.Parallel()
	nodes := []subnet.Node{
		{GUID: 1, Kind: subnet.KindCA, Ports: []subnet.Port{{}, {LID: 1}}},
		{GUID: 2, Kind: subnet.KindCA, Ports: []subnet.Port{{}, {LID: 2}}},
	}
	f, err := subnet.New("wire", nodes, []subnet.Link{{A: at(0, 1), B: at(1, 1)}})
	if err != nil {
		t.Fatal(err)
	}
	for lid, want := range map[ident.LID]int{1: 0, 2: 1} {
		if path, err := subnet.Path(f, at(0, 1), lid); err != nil || len(path) != want {
			t.Errorf("to LID %d: %v, %v", lid, path, err)
		}
	}
	if f.Diameter() != 1 {
		t.Errorf("diameter %d, want 1", f.Diameter())
	}
}

// TestTablesOfASmallFileStayBounded routes a fabric with a small text: many switches and one high LID.
func TestTablesOfASmallFileStayBounded(t *testing.T) {
	t.Parallel()
	const switches = 6000
	nodes := make([]subnet.Node, switches)
	for i := range nodes {
		nodes[i] = subnet.Node{GUID: ident.GUID(i + 1), Kind: subnet.KindSwitch, Ports: make([]subnet.Port, 2)}
	}
	nodes[0].Ports[0].LID = ident.MaxUnicastLID
	f, err := subnet.New("wide", nodes, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := subnet.ComputeRoutes(f); err == nil || !strings.Contains(err.Error(), "want at most") {
		t.Errorf("%d switches with a LID of %d: %v", switches, ident.MaxUnicastLID, err)
	}
	nodes[0].Ports[0].LID = 1
	if f, err = subnet.New("wide", nodes, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := subnet.ComputeRoutes(f); err != nil {
		t.Errorf("the same with a low LID: %v", err)
	}
}
