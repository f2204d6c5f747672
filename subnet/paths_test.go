package subnet_test

import (
	"errors"
	"fmt"
	"testing"

	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/subnet/topogen"
)

func TestEveryLIDOfAPortHasItsPath(t *testing.T) {
	t.Parallel()
	f, err := topogen.LeafSpine(topogen.LeafSpineOptions{Leaves: 2, HostsPerLeaf: 2, Spines: 4, Wire: topogen.Wire{LMC: 2}})
	if err != nil {
		t.Fatal(err)
	}
	at := func(name string, p ident.PortNum) subnet.PortRef {
		return subnet.PortRef{Node: f.NodesByName(name)[0], Port: p}
	}
	src, dst := at("host-001", 1), at("host-004", 1)
	ways := subnet.PathsToPort(f, src, dst)
	if len(ways) != 4 {
		t.Fatalf("%d paths: want one for each of 4 LIDs", len(ways))
	}
	over := map[subnet.PortRef]bool{}
	for i, w := range ways {
		if w.Err != nil || w.LID != f.Port(dst).LID+ident.LID(i) || len(w.Path) != 4 {
			t.Errorf("path %d: LID %d, %d links, %v", i, w.LID, len(w.Path), w.Err)
			continue
		}
		over[w.Path[1]] = true
	}
	if len(over) != 4 {
		t.Errorf("%d different uplinks: want 4, the purpose of an LMC", len(over))
	}
	// One LID is not routed at the leaf: only its path is missing.
	lfts := make([][]ident.PortNum, len(f.LFTs))
	for i := range lfts {
		lfts[i] = append([]ident.PortNum(nil), f.LFTs[i]...)
	}
	lfts[at("leaf1", 0).Node][ways[2].LID] = ident.DropPort
	g, err := f.WithLFTs(lfts)
	if err != nil {
		t.Fatal(err)
	}
	for i, w := range subnet.PathsToPort(g, src, dst) {
		if errors.Is(w.Err, subnet.ErrNoRoute) != (i == 2) || (w.Path == nil) != (i == 2) {
			t.Errorf("path %d: %v, %v", i, w.Path, w.Err)
		}
	}
	if got := subnet.PathsToPort(f, src, at("leaf2", 3)); len(got) != 1 || got[0].Err != nil || fmt.Sprint(got[0].LID) != fmt.Sprint(f.Port(at("leaf2", 0)).LID) {
		t.Errorf("to a switch: %+v, want the one LID of port 0", got)
	}
	if got := subnet.PathsToPort(f, src, subnet.PortRef{Node: 99}); got != nil {
		t.Errorf("to a missing port: %v", got)
	}
}
