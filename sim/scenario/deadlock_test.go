package scenario

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"fairlane/internal/quantity"
	"fairlane/sim/fabric"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/tenants"
)

// clockwiseRing returns four switches in a ring with one host each, and clockwise routes only.
func clockwiseRing(t *testing.T) *subnet.Fabric {
	t.Helper()
	const size = 4
	var nodes []subnet.Node
	var links []subnet.Link
	for i := range 2 * size {
		guid := ident.GUID(0x100 * (i + 1))
		n := subnet.Node{GUID: guid, SystemGUID: guid, Kind: subnet.KindSwitch, Name: fmt.Sprintf("s%d", i+1), Ports: subnet.NewPorts(3)}
		if i >= size {
			n.Kind, n.Name, n.Ports = subnet.KindCA, fmt.Sprintf("h%d", i-size+1), subnet.NewPorts(1)
		}
		for p := range n.Ports {
			if p > 0 || i < size {
				n.Ports[p].State, n.Ports[p].GUID = subnet.PortActive, guid+ident.GUID(p)
			}
		}
		nodes = append(nodes, n)
	}
	join := func(a, ap, b, bp int) {
		links = append(links, subnet.Link{
			A: subnet.PortRef{Node: int32(a), Port: ident.PortNum(ap)}, B: subnet.PortRef{Node: int32(b), Port: ident.PortNum(bp)},
			Rate: 100 * quantity.Gbps, Delay: quantity.Microsecond,
		})
	}
	for i := range size {
		join(i, 1, (i+1)%size, 2)
		join(i, 3, size+i, 1)
	}
	f, err := subnet.New("circle", nodes, links)
	if err == nil {
		f, err = subnet.AssignLIDs(f, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	lfts := make([][]ident.PortNum, len(f.Nodes))
	for i := range size {
		row := make([]ident.PortNum, int(f.TopLID())+1)
		for lid := range row {
			row[lid] = 1
		}
		row[0], row[f.Nodes[i].Ports[0].LID], row[f.Nodes[size+i].Ports[1].LID] = ident.DropPort, 0, 3
		lfts[i] = row
	}
	if f, err = f.WithLFTs(lfts); err != nil {
		t.Fatal(err)
	}
	return f
}

// A run in a credit loop ends with an error that names the loop, at the first interval after the loop has closed.
func TestARunStopsAtACreditLoop(t *testing.T) {
	t.Parallel()
	f := clockwiseRing(t)
	s := &Scenario{
		Name: "circle", Fabric: f, Duration: quantity.Second, Interval: quantity.Millisecond,
		Config:  fabric.Config{Seed: 1, BufferPerVL: 64 << 10},
		Tenants: []tenants.Tenant{{Name: "blue", Weight: 1000}},
	}
	for i := range int32(4) {
		src, dst := &f.Nodes[4+i], &f.Nodes[4+(i+3)%4]
		s.Flows = append(s.Flows, Flow{Flow: tenants.Flow{
			Tenant: "blue", QPs: 1, Src: ident.PortID{Node: src.GUID, Port: 1}, Dst: ident.PortID{Node: dst.GUID, Port: 1},
		}})
	}
	var last quantity.Picoseconds
	_, err := Run(context.Background(), s, func(now, _ quantity.Picoseconds) { last = now })
	var d *DeadlockError
	if !errors.As(err, &d) {
		t.Fatalf("got error %v, want a *DeadlockError", err)
	}
	if len(d.Loop.Cycle) != 4 || !strings.Contains(err.Error(), "s1/P1 VL 0 waits for s2/P1 VL 0") {
		t.Errorf("the error does not name the loop: %s", err)
	}
	if last > 20*quantity.Millisecond || d.At != last+s.Interval {
		t.Errorf("stopped at %s, last progress report at %s; want soon after the start", d.At, last)
	}
}
