package subnet_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/subnet/subnettest"
)

func TestAssignLIDs(t *testing.T) {
	t.Parallel()
	nodes := []subnet.Node{
		{GUID: 1, Kind: subnet.KindCA, Name: "h1", Ports: subnet.NewPorts(2)},
		{GUID: 2, Kind: subnet.KindSwitch, Name: "s1", Ports: subnet.NewPorts(4)},
		{GUID: 3, Kind: subnet.KindCA, Name: "h2", Ports: subnet.NewPorts(1)},
		{GUID: 4, Kind: subnet.KindSwitch, Name: "s2", Ports: subnet.NewPorts(4)},
		{GUID: 5, Kind: subnet.KindCA, Name: "spare", Ports: subnet.NewPorts(1)},
	}
	nodes[2].Ports[1].LID, nodes[2].Ports[1].LMC = 2, 1 // given: LIDs 2 and 3
	f, err := subnet.New("x", nodes, []subnet.Link{{A: at(0, 1), B: at(1, 1)}, {A: at(0, 2), B: at(1, 2)}, {A: at(2, 1), B: at(1, 3)}})
	if err != nil {
		t.Fatal(err)
	}
	g, err := subnet.AssignLIDs(f, 2)
	if err != nil {
		t.Fatal(err)
	}
	type lid struct {
		LID ident.LID
		LMC uint8
	}
	got := make(map[string]lid)
	for i := range g.Nodes {
		for p, port := range g.Nodes[i].Ports {
			if port.LID != 0 {
				got[g.PortName(at(int32(i), ident.PortNum(p)))] = lid{port.LID, port.LMC}
			}
		}
	}
	want := map[string]lid{"s1/P0": {1, 0}, "h2/P1": {2, 1}, "s2/P0": {4, 0}, "h1/P1": {8, 2}, "h1/P2": {12, 2}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if f.Nodes[1].Ports[0].LID != 0 {
		t.Error("the old fabric changed")
	}
	if r, ok := g.PortByLID(15); !ok || r != at(0, 2) {
		t.Errorf("LID 15 is at %+v", r)
	}
	routed := mustRoute(t, g)
	if again, err := subnet.AssignLIDs(routed, 2); err != nil || again.LFTs == nil {
		t.Errorf("no LID was assigned, but the routes are missing (%v)", err)
	}
}

func TestAssignLIDsRefuses(t *testing.T) {
	t.Parallel()
	f, err := subnet.New("x", pair(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := subnet.AssignLIDs(f, 8); err == nil || !strings.Contains(err.Error(), "LMC 8: want 0 to 7") {
		t.Errorf("error %v", err)
	}
	// 200 switches with 254 hosts each: more ports than LIDs.
	var nodes []subnet.Node
	var links []subnet.Link
	for s := range 200 {
		sw := int32(len(nodes))
		nodes = append(nodes, subnet.Node{GUID: ident.GUID(s+1) << 32, Kind: subnet.KindSwitch, Ports: subnet.NewPorts(254)})
		for h := 1; h <= 254; h++ {
			links = append(links, subnet.Link{A: at(sw, ident.PortNum(h)), B: at(int32(len(nodes)), 1)})
			nodes = append(nodes, subnet.Node{GUID: ident.GUID(s+1)<<32 + ident.GUID(h), Kind: subnet.KindCA, Ports: subnet.NewPorts(1)})
		}
	}
	big, err := subnet.New("big", nodes, links)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := subnet.AssignLIDs(big, 0); err == nil || !strings.Contains(err.Error(), "no unicast LID left") {
		t.Errorf("error %v", err)
	}
	if _, err := subnet.AssignAndRoute(big, 0); err == nil {
		t.Error("AssignAndRoute hides the error")
	}
}

// TestAssignedLIDsPassTheChecksOfNew also covers fabrics with existing LIDs: assigning in two steps keeps those of the
// first.
func TestAssignedLIDsPassTheChecksOfNew(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f := subnettest.Fabric(t, subnettest.Shape{})
		for i := range f.Nodes { // remove some
			for p := range f.Nodes[i].Ports {
				if rapid.Bool().Draw(t, "forget") {
					f.Nodes[i].Ports[p].LID, f.Nodes[i].Ports[p].LMC = 0, 0
				}
			}
		}
		f, err := subnet.New("forgot", f.Nodes, f.Links)
		if err != nil {
			t.Fatal(err)
		}
		g, err := subnet.AssignLIDs(f, rapid.Uint8Range(0, 7).Draw(t, "lmc"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := subnet.New("again", g.Nodes, g.Links); err != nil {
			t.Fatal(err)
		}
		for _, c := range subnet.Diff(f, g).Changes {
			if c.Field == "lid" && c.Before != "0" {
				t.Fatalf("a given LID changed: %+v", c)
			}
		}
		for i := range g.Nodes {
			for p := range g.Nodes[i].Ports {
				ref := at(int32(i), ident.PortNum(p))
				port := g.Port(ref)
				if port == nil || port.LID != 0 {
					continue
				}
				if g.Nodes[i].Kind == subnet.KindSwitch && p == 0 || g.Nodes[i].Kind != subnet.KindSwitch && port.Link >= 0 {
					t.Fatalf("%s has no LID", g.PortName(ref))
				}
			}
		}
	})
}
