package subnet_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"fairlane/internal/quantity"
	"fairlane/internal/testkit/zhtest"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/subnet/subnettest"
)

// pair is a switch s with 4 ports and a host h with 2.
func pair() []subnet.Node {
	return []subnet.Node{
		{GUID: 1, Kind: subnet.KindSwitch, Name: "s", Ports: subnet.NewPorts(4)},
		{GUID: 2, Kind: subnet.KindCA, Name: "h", Ports: subnet.NewPorts(2)},
	}
}

func at(node int32, port ident.PortNum) subnet.PortRef { return subnet.PortRef{Node: node, Port: port} }

func TestNewSetsDerivedFields(t *testing.T) {
	t.Parallel()
	nodes := pair()
	links := []subnet.Link{
		{A: at(1, 2), B: at(0, 4), Width: 4, Speed: subnet.EDR},
		{A: at(0, 1), B: at(1, 1), Width: 4, Speed: subnet.EDR, Rate: 7 * quantity.Gbps},
		{A: at(0, 3), B: at(0, 2)},
	}
	f, err := subnet.New("x", nodes, links)
	if err != nil {
		t.Fatal(err)
	}
	want := []subnet.Link{
		{A: at(0, 1), B: at(1, 1), Width: 4, Speed: subnet.EDR, Rate: 7 * quantity.Gbps},
		{A: at(0, 2), B: at(0, 3)},
		{A: at(0, 4), B: at(1, 2), Width: 4, Speed: subnet.EDR, Rate: 100 * quantity.Gbps},
	}
	if diff := cmp.Diff(want, f.Links); diff != "" {
		t.Errorf("links (-want +got)\n%s", diff)
	}
	var plugged []int32
	for _, p := range f.Nodes[0].Ports {
		plugged = append(plugged, p.Link)
	}
	if diff := cmp.Diff([]int32{-1, 0, 1, 1, 2}, plugged); diff != "" {
		t.Errorf("links of the switch's ports (-want +got)\n%s", diff)
	}
	if nodes[0].Ports[1].Link != -1 || links[0].A != at(1, 2) {
		t.Error("New changed its arguments")
	}
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	type edit func(n []subnet.Node) []subnet.Link
	for name, c := range map[string]struct {
		edit       edit
		node, link int
		want       string
	}{
		"zero GUID":          {func(n []subnet.Node) []subnet.Link { n[1].GUID = 0; return nil }, 1, -1, `node "h": node GUID is 0`},
		"duplicate GUID":     {func(n []subnet.Node) []subnet.Link { n[1].GUID = 1; return nil }, 1, -1, `node "h": node GUID 0x0000000000000001 is also that of node "s"`},
		"kind":               {func(n []subnet.Node) []subnet.Link { n[1].Kind = 4; return nil }, 1, -1, `node "h": kind 4: want 1 (CA), 2 (switch) or 3 (router)`},
		"long name":          {func(n []subnet.Node) []subnet.Link { n[1].Name = strings.Repeat("é", 33); return nil }, 1, -1, `: name has 66 bytes: want at most 64`},
		"name not UTF-8":     {func(n []subnet.Node) []subnet.Link { n[1].Name = "\xff"; return nil }, 1, -1, `: name is not UTF-8`},
		"long domain":        {func(n []subnet.Node) []subnet.Link { n[1].Domain = strings.Repeat("d", 65); return nil }, 1, -1, `want at most 64 bytes of UTF-8`},
		"vendor":             {func(n []subnet.Node) []subnet.Link { n[1].VendorID = 1 << 24; return nil }, 1, -1, `vendor ID 0x1000000: want at most 0xffffff`},
		"no ports":           {func(n []subnet.Node) []subnet.Link { n[1].Ports = nil; return nil }, 1, -1, `0 ports: want 1 to 254`},
		"too many ports":     {func(n []subnet.Node) []subnet.Link { n[1].Ports = make([]subnet.Port, 256); return nil }, 1, -1, `255 ports: want 1 to 254`},
		"CA's port 0":        {func(n []subnet.Node) []subnet.Link { n[1].Ports[0].LID = 3; return nil }, 1, -1, `port 0: a CA has no port 0`},
		"state":              {func(n []subnet.Node) []subnet.Link { n[1].Ports[1].State = 5; return nil }, 1, -1, `port 1: state 5: want 0`},
		"MTU":                {func(n []subnet.Node) []subnet.Link { n[1].Ports[1].MTU = 1500; return nil }, 1, -1, `port 1: MTU 1500: want 256, 512, 1024, 2048 or 4096`},
		"VLs":                {func(n []subnet.Node) []subnet.Link { n[1].Ports[1].VLCap = 16; return nil }, 1, -1, `port 1: 16 data VLs: want 1, 2, 4, 8 or 15`},
		"port GUID":          {func(n []subnet.Node) []subnet.Link { n[0].Ports[0].GUID = 9; n[1].Ports[2].GUID = 9; return nil }, 1, -1, `node "h": port 2: port GUID 0x0000000000000009 is also that of port 0 of node "s"`},
		"multicast LID":      {func(n []subnet.Node) []subnet.Link { n[1].Ports[1].LID = 0xc000; return nil }, 1, -1, `LID 49152 with LMC 0: want LIDs from 1 to 49151`},
		"LMC beyond the end": {func(n []subnet.Node) []subnet.Link { n[1].Ports[1].LID, n[1].Ports[1].LMC = 0xbfff, 1; return nil }, 1, -1, `LID 49151 with LMC 1: want LIDs from 1`},
		"LMC":                {func(n []subnet.Node) []subnet.Link { n[1].Ports[1].LMC = 8; return nil }, 1, -1, `LMC 8: want 0 to 7`},
		"unaligned LID":      {func(n []subnet.Node) []subnet.Link { n[1].Ports[1].LID, n[1].Ports[1].LMC = 6, 2; return nil }, 1, -1, `LID 6 with LMC 2: want a multiple of 4`},
		"LID of a port":      {func(n []subnet.Node) []subnet.Link { n[0].Ports[1].LID = 6; return nil }, 0, -1, `LID 6 on an external port: a switch has its LID on port 0`},
		"overlapping LIDs": {func(n []subnet.Node) []subnet.Link {
			n[0].Ports[0].LID, n[1].Ports[1].LID, n[1].Ports[1].LMC = 5, 4, 1
			return nil
		}, 1, -1, `node "h": port 1: LID 5 is also that of port 0 of node "s"`},
		"link to no node": {func([]subnet.Node) []subnet.Link { return []subnet.Link{{A: at(0, 1), B: at(2, 1)}} }, -1, 0, `link to node number 2: want 0 to 1`},
		"link to node -1": {func([]subnet.Node) []subnet.Link { return []subnet.Link{{A: at(-1, 1), B: at(1, 1)}} }, -1, 0, `link to node number -1`},
		"link to port 0":  {func([]subnet.Node) []subnet.Link { return []subnet.Link{{A: at(0, 0), B: at(1, 1)}} }, -1, 0, `link to port 0 of node "s": want 1 to 4`},
		"link to port 5":  {func([]subnet.Node) []subnet.Link { return []subnet.Link{{A: at(0, 5), B: at(1, 1)}} }, -1, 0, `link to port 5 of node "s": want 1 to 4`},
		"link to itself":  {func([]subnet.Node) []subnet.Link { return []subnet.Link{{A: at(0, 1), B: at(0, 1)}} }, -1, 0, `link from s/P1 to itself`},
		"port used twice": {func([]subnet.Node) []subnet.Link {
			return []subnet.Link{{A: at(0, 1), B: at(1, 1)}, {A: at(1, 2), B: at(0, 1)}}
		}, -1, 1, `two links at port s/P1: the other joins s/P1 and h/P1`},
		"width":         {func([]subnet.Node) []subnet.Link { return []subnet.Link{{A: at(0, 1), B: at(1, 1), Width: 3}} }, -1, 0, `link s/P1 - h/P1: width 3: want 1, 2, 4, 8 or 12`},
		"speed":         {func([]subnet.Node) []subnet.Link { return []subnet.Link{{A: at(0, 1), B: at(1, 1), Speed: 10}} }, -1, 0, `speed 10: want 0 (not known) to 9 (XDR)`},
		"negative rate": {func([]subnet.Node) []subnet.Link { return []subnet.Link{{A: at(0, 1), B: at(1, 1), Rate: -1}} }, -1, 0, `rate -1 bit/s: want 0 to 100 Tbit/s`},
		"rate of 101 T": {func([]subnet.Node) []subnet.Link {
			return []subnet.Link{{A: at(0, 1), B: at(1, 1), Rate: 101 * quantity.Tbps}}
		}, -1, 0, `want 0 to 100 Tbit/s`},
		"delay of 2 s": {func([]subnet.Node) []subnet.Link {
			return []subnet.Link{{A: at(0, 1), B: at(1, 1), Delay: 2 * quantity.Second}}
		}, -1, 0, `delay 2 s: want 0 to 1 s`},
		"negative delay": {func([]subnet.Node) []subnet.Link {
			return []subnet.Link{{A: at(0, 1), B: at(1, 1), Delay: math.MinInt64}}
		}, -1, 0, `want 0 to 1 s`},
		"unnamed node":      {func(n []subnet.Node) []subnet.Link { n[1].Name = ""; n[1].Kind = 0; return nil }, 1, -1, `node 0x0000000000000002: kind 0`},
		"too many links":    {func([]subnet.Node) []subnet.Link { return make([]subnet.Link, subnet.MaxLinks+1) }, -1, -1, `fabric has 1000001 links: want at most 1000000`},
		"switch's LMC only": {func(n []subnet.Node) []subnet.Link { n[0].Ports[0].LMC = 9; return nil }, 0, -1, `port 0: LMC 9`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			nodes := pair()
			links := c.edit(nodes)
			_, err := subnet.New("x", nodes, links)
			var build *subnet.BuildError
			if !errors.As(err, &build) {
				t.Fatalf("error %v, want a BuildError", err)
			}
			if build.Node != c.node || build.Link != c.link {
				t.Errorf("blames node %d, link %d; want %d, %d", build.Node, build.Link, c.node, c.link)
			}
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %q\nwant   %q", err, c.want)
			}
			zhtest.Error(t, c.want, err, "active")
		})
	}
}

func TestNewBoundsItsInput(t *testing.T) {
	t.Parallel()
	if _, err := subnet.New("x", make([]subnet.Node, subnet.MaxNodes+1), nil); err == nil || !strings.Contains(err.Error(), "130001 nodes") {
		t.Errorf("too many nodes: %v", err)
	}
	ports := subnet.NewPorts(subnet.MaxPorts)
	nodes := make([]subnet.Node, subnet.MaxAllPorts/len(ports)+1)
	for i := range nodes {
		nodes[i] = subnet.Node{GUID: ident.GUID(i + 1), Kind: subnet.KindSwitch, Ports: ports}
	}
	if _, err := subnet.New("x", nodes, nil); err == nil || !strings.Contains(err.Error(), "more than 2000000 ports in all") {
		t.Errorf("too many ports: %v", err)
	}
	if _, err := subnet.New(strings.Repeat("x", 65), nil, nil); err == nil || !strings.Contains(err.Error(), "fabric name") {
		t.Errorf("long name: %v", err)
	}
}

func TestNewPortsStaysInBounds(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]int{-5: 1, 0: 1, 1: 2, 254: 255, 1000: 255} {
		if got := len(subnet.NewPorts(n)); got != want {
			t.Errorf("NewPorts(%d) has %d entries, want %d", n, got, want)
		}
	}
}

func TestWithLFTs(t *testing.T) {
	t.Parallel()
	f, err := subnet.New("x", pair(), []subnet.Link{{A: at(0, 1), B: at(1, 1)}})
	if err != nil {
		t.Fatal(err)
	}
	rows := [][]ident.PortNum{{255, 0, 4, 255, 255}, nil}
	g, err := f.WithLFTs(rows)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([][]ident.PortNum{{255, 0, 4}, nil}, g.LFTs); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if f.LFTs != nil {
		t.Error("the old fabric changed")
	}
	rows[0][1] = 3
	if g.LFTs[0][1] != 0 {
		t.Error("the new fabric shares the argument")
	}
	if h, err := g.WithLFTs(nil); err != nil || h.LFTs != nil {
		t.Errorf("without tables: %v, %v", h.LFTs, err)
	}
	for want, rows := range map[string][][]ident.PortNum{
		"for 1 nodes: want one entry for each of the 2":        {nil},
		`node "h": a CA has none`:                              {nil, {255, 1}},
		`node "s": LID 1: port 5: want 0 to 4, or 255 to drop`: {{255, 5}, nil},
		`node "s": 49153 entries: want at most 49152`:          {make([]ident.PortNum, 49153), nil},
	} {
		_, err := f.WithLFTs(rows)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
		zhtest.Error(t, want, err)
	}
}

// TestInvariants checks on random fabrics the guarantees that users of a Fabric rely on.
func TestInvariants(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f := subnettest.Fabric(t, subnettest.Shape{})
		if len(f.Switches())+len(f.Hosts()) != len(f.Nodes) {
			t.Fatal("a node is neither a switch nor a host")
		}
		for i := range f.Links {
			l := &f.Links[i]
			if l.A.Node > l.B.Node || l.A.Node == l.B.Node && l.A.Port >= l.B.Port {
				t.Fatalf("ends of link %d are out of order", i)
			}
			for _, ends := range [2][2]subnet.PortRef{{l.A, l.B}, {l.B, l.A}} {
				if peer, ok := f.Peer(ends[0]); !ok || peer != ends[1] {
					t.Fatalf("peer of %s is %s", f.PortName(ends[0]), f.PortName(peer))
				}
				if _, at := f.Link(ends[0]); at != int32(i) {
					t.Fatalf("port %s is on link %d, want %d", f.PortName(ends[0]), at, i)
				}
			}
			if l.Rate == 0 && subnet.LinkRate(l.Width, l.Speed) != 0 {
				t.Fatalf("link %d has no rate", i)
			}
		}
		plugged := 0
		for i := range f.Nodes {
			n := &f.Nodes[i]
			if got, ok := f.NodeByGUID(n.GUID); !ok || got != int32(i) {
				t.Fatalf("node %d is not found by its GUID", i)
			}
			for p := range n.Ports {
				ref := at(int32(i), ident.PortNum(p))
				if n.Ports[p].Link >= 0 {
					plugged++
				}
				checkPortLookups(t, f, ref)
			}
		}
		if plugged != 2*len(f.Links) {
			t.Fatalf("%d ports are plugged in, want %d", plugged, 2*len(f.Links))
		}
		again, err := subnet.New(f.Name, f.Nodes, f.Links)
		if err != nil {
			t.Fatal(err)
		}
		if d := subnet.Diff(f, again); !d.Empty() {
			t.Fatalf("rebuilt from its parts:\n%s", d)
		}
	})
}

func checkPortLookups(t *rapid.T, f *subnet.Fabric, ref subnet.PortRef) {
	isPort := ref.Port != 0 || f.Nodes[ref.Node].Kind == subnet.KindSwitch
	port := f.Port(ref)
	if (port != nil) != isPort {
		t.Fatalf("%s: port is %v", f.PortName(ref), port)
	}
	got, ok := f.PortByID(f.PortID(ref))
	if ok != isPort || ok && got != ref {
		t.Fatalf("%s by its ID: %v, %v", f.PortName(ref), got, ok)
	}
	if !isPort {
		return
	}
	if got, err := f.ResolvePort(f.PortID(ref).String()); err != nil || got != ref {
		t.Fatalf("%s by its ID's text: %v, %v", f.PortName(ref), got, err)
	}
	if port.GUID != 0 {
		if got, ok := f.PortByGUID(port.GUID); !ok || got != ref {
			t.Fatalf("%s by its GUID: %v, %v", f.PortName(ref), got, ok)
		}
	}
	for k := range 1 << port.LMC {
		if port.LID == 0 {
			break
		}
		if got, ok := f.PortByLID(port.LID + ident.LID(k)); !ok || got != ref {
			t.Fatalf("%s by its LID %d: %v, %v", f.PortName(ref), port.LID+ident.LID(k), got, ok)
		}
	}
}

func TestLookupsOfMissingObjects(t *testing.T) {
	t.Parallel()
	f, err := subnet.New("x", pair(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if f.TopLID() != 0 {
		t.Errorf("top LID %d", f.TopLID())
	}
	for _, r := range []subnet.PortRef{at(-1, 1), at(2, 1), at(0, 5), at(1, 0)} {
		if f.Port(r) != nil {
			t.Errorf("%+v has a port", r)
		}
		if l, i := f.Link(r); l != nil || i != -1 {
			t.Errorf("%+v has link %d", r, i)
		}
		if _, ok := f.Peer(r); ok {
			t.Errorf("%+v has a peer", r)
		}
	}
	if _, ok := f.PortByLID(1); ok {
		t.Error("LID 1 is found")
	}
	if _, ok := f.PortByID(ident.PortID{Node: 9, Port: 1}); ok {
		t.Error("port of an unknown node is found")
	}
	if f.PortName(at(7, 1)) != "no port" || f.PortID(at(7, 1)) != (ident.PortID{}) {
		t.Error("an unknown node has a name")
	}
}
