package subnet_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"fairlane/internal/quantity"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/subnet/subnettest"
)

func build(t *testing.T, nodes []subnet.Node, links []subnet.Link, lfts [][]ident.PortNum) *subnet.Fabric {
	t.Helper()
	f, err := subnet.New("x", nodes, links)
	if err != nil {
		t.Fatal(err)
	}
	if f, err = f.WithLFTs(lfts); err != nil {
		t.Fatal(err)
	}
	return f
}

func TestDiff(t *testing.T) {
	t.Parallel()
	nodes := append(pair(), subnet.Node{GUID: 3, Kind: subnet.KindCA, Ports: subnet.NewPorts(1)})
	nodes[0].Ports[0].LID = 1
	nodes[1].Ports[1].LID = 2
	nodes[1].Ports[1].MTU = 2048
	a := build(t, nodes, []subnet.Link{{A: at(0, 1), B: at(1, 1), Width: 4, Speed: subnet.EDR, Delay: quantity.Microsecond}, {A: at(0, 2), B: at(2, 1)}},
		[][]ident.PortNum{{255, 0, 1}, nil, nil})

	nodes = append(pair(), subnet.Node{GUID: 4, Kind: subnet.KindCA, Ports: subnet.NewPorts(1)})
	nodes[0].Name = "spine"
	nodes[0].Ports[0].LID = 1
	nodes[1].Ports[1].LMC = 1
	nodes[1].Ports[1].MTU = 4096
	nodes[1].Ports[2].MTU = 4096 // was unknown: no change
	b := build(t, nodes, []subnet.Link{{A: at(0, 1), B: at(1, 1), Width: 4, Speed: subnet.HDR}, {A: at(0, 2), B: at(2, 1)}},
		[][]ident.PortNum{{255, 0, 3, 2}, nil, nil})

	id := func(node ident.GUID, port ident.PortNum) ident.PortID { return ident.PortID{Node: node, Port: port} }
	const link = "0x0000000000000001:1 - 0x0000000000000002:1"
	want := subnet.Difference{
		NodesAdded: []ident.GUID{4}, NodesRemoved: []ident.GUID{3},
		LinksAdded:   []subnet.LinkID{{A: id(1, 2), B: id(4, 1)}},
		LinksRemoved: []subnet.LinkID{{A: id(1, 2), B: id(3, 1)}},
		Changes: []subnet.Change{
			{What: "0x0000000000000001", Field: "lft (2 entries, first LID 2)", Before: "1", After: "3"},
			{What: "0x0000000000000001", Field: "name", Before: "s", After: "spine"},
			{What: link, Field: "rate", Before: "100 Gbit/s", After: "200 Gbit/s"},
			{What: link, Field: "speed", Before: "EDR", After: "HDR"},
			{What: "0x0000000000000002:1", Field: "lid", Before: "2", After: "0"},
			{What: "0x0000000000000002:1", Field: "lmc", Before: "0", After: "1"},
			{What: "0x0000000000000002:1", Field: "mtu", Before: "2048", After: "4096"},
		},
	}
	got := subnet.Diff(a, b)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	const text = `- node 0x0000000000000003
+ node 0x0000000000000004
- link 0x0000000000000001:2 - 0x0000000000000003:1
+ link 0x0000000000000001:2 - 0x0000000000000004:1
~ 0x0000000000000001 lft (2 entries, first LID 2): 1 -> 3
~ 0x0000000000000001 name: s -> spine
~ 0x0000000000000001:1 - 0x0000000000000002:1 rate: 100 Gbit/s -> 200 Gbit/s
~ 0x0000000000000001:1 - 0x0000000000000002:1 speed: EDR -> HDR
~ 0x0000000000000002:1 lid: 2 -> 0
~ 0x0000000000000002:1 lmc: 0 -> 1
~ 0x0000000000000002:1 mtu: 2048 -> 4096
`
	if diff := cmp.Diff(text, got.String()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if got.Empty() || !subnet.Diff(a, a).Empty() {
		t.Error("Empty is wrong")
	}
}

// TestDiffIgnoresTheOrderOfNodes compares the same fabric found in another order.
func TestDiffIgnoresTheOrderOfNodes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f := subnettest.Fabric(t, subnettest.Shape{})
		order := make([]int, len(f.Nodes))
		for i := range order {
			order[i] = i
		}
		order = rapid.Permutation(order).Draw(t, "order")
		nodes, where := make([]subnet.Node, len(order)), make([]int32, len(order))
		for to, from := range order {
			nodes[to], where[from] = f.Nodes[from], int32(to)
		}
		var links []subnet.Link
		for _, l := range f.Links {
			l.A.Node, l.B.Node = where[l.A.Node], where[l.B.Node]
			links = append(links, l)
		}
		g, err := subnet.New("shuffled", nodes, links)
		if err != nil {
			t.Fatal(err)
		}
		if d := subnet.Diff(f, g); !d.Empty() {
			t.Fatalf("shuffled:\n%s", d)
		}
	})
}

// TestDiffIsSymmetric checks that the additions of one direction are the removals of the other.
func TestDiffIsSymmetric(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, b := subnettest.Fabric(t, subnettest.Shape{}), subnettest.Fabric(t, subnettest.Shape{})
		there, back := subnet.Diff(a, b), subnet.Diff(b, a)
		back.NodesAdded, back.NodesRemoved = back.NodesRemoved, back.NodesAdded
		back.LinksAdded, back.LinksRemoved = back.LinksRemoved, back.LinksAdded
		for i := range back.Changes {
			c := &back.Changes[i]
			c.Before, c.After = c.After, c.Before
		}
		if diff := cmp.Diff(there, back); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestTiersAndDiameter(t *testing.T) {
	t.Parallel()
	f := ring(t, 6)
	for i, tier := range f.Tiers() {
		want := 1
		if i >= 6 {
			want = 0
		}
		if tier != want {
			t.Errorf("node %d is on tier %d, want %d", i, tier, want)
		}
	}
	if f.Diameter() != 5 {
		t.Errorf("diameter of a ring of six is %d, want 5", f.Diameter())
	}
	empty, err := subnet.New("x", pair(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if empty.Diameter() != 0 {
		t.Errorf("diameter without links is %d", empty.Diameter())
	}
}
