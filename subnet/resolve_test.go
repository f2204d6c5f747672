package subnet_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fairlane/internal/testkit/zhtest"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/subnet/subnettest"
)

// named has a switch, various hosts and a name that equals another's GUID.
func named(t *testing.T) *subnet.Fabric {
	t.Helper()
	host := func(guid ident.GUID, name string, ports int) subnet.Node {
		n := subnet.Node{GUID: guid, Kind: subnet.KindCA, Name: name, Ports: subnet.NewPorts(ports)}
		for p := 1; p <= ports; p++ {
			n.Ports[p].GUID = guid + ident.GUID(p)
		}
		return n
	}
	nodes := []subnet.Node{
		{GUID: 0x1000, Kind: subnet.KindSwitch, Name: "leaf1", Ports: subnet.NewPorts(8)},
		host(0x2000, "host-01", 1),
		host(0x3000, "host-02", 2),
		host(0x4000, "host-03 mlx5_0", 2),
		host(0x5000, "twin", 1),
		host(0x6000, "twin", 1),
		host(0x7000, "rack:1", 1),
		host(0x8000, "rack", 1),
		host(0x9000, "2001", 1),
		host(0xa000, "", 2),
	}
	f, err := subnet.New("x", nodes, []subnet.Link{
		{A: at(0, 1), B: at(1, 1)}, {A: at(0, 2), B: at(2, 2)}, {A: at(0, 3), B: at(3, 1)}, {A: at(0, 4), B: at(3, 2)},
	})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestResolvePort(t *testing.T) {
	t.Parallel()
	f := named(t)
	for text, want := range map[string]string{
		"0x0000000000002000:1":      "host-01/P1",
		"2000:1":                    "host-01/P1",
		"0000:0000:0000:2001":       "host-01/P1",
		" host-01 ":                 "host-01/P1",
		"host-01/P1":                "host-01/P1",
		"host-01/p1":                "host-01/P1",
		"host-01/1":                 "host-01/P1",
		"host-01:1":                 "host-01/P1",
		"0x2000":                    "host-01/P1",
		"host-02":                   "host-02/P2", // the one that is plugged in
		"host-02:1":                 "host-02/P1",
		"0x3002":                    "host-02/P2", // a port GUID
		"host-03 mlx5_0/P2":         "host-03 mlx5_0/P2",
		"leaf1/P0":                  "leaf1/P0",
		"leaf1:8":                   "leaf1/P8",
		"0x5000":                    "twin/P1",
		"0x0000000000006000:1":      "twin/P1",
		"rack:1:1":                  "rack:1/P1",
		"rack/P1":                   "rack/P1",
		"0x000000000000a000/P2":     "0x000000000000a000/P2",
		f.PortID(at(9, 1)).String(): "0x000000000000a000/P1",
	} {
		r, err := f.ResolvePort(text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if got := f.PortName(r); got != want {
			t.Errorf("%q is %s, want %s", text, got, want)
		}
	}
}

func TestResolvePortRefuses(t *testing.T) {
	t.Parallel()
	f := named(t)
	for text, want := range map[string]string{
		"":                       "port name is empty: want NAME/P1",
		"host-04":                "no such port; did you mean host-01, host-02?",
		"HOST-01/P1":             "no such port; did you mean host-01, host-02?",
		"mlx5":                   "did you mean host-03 mlx5_0?",
		"zebra":                  "no such port in this fabric of 10 nodes: want NAME/P1",
		"host-01:2":              `CA "host-01" has no port 2: want 1 to 1`,
		"host-01:0":              `CA "host-01" has no port 0: want 1 to 1`,
		"leaf1":                  `switch "leaf1" has ports 1 to 8: say which, such as leaf1/P1`,
		"twin":                   "is ambiguous: it may be twin/P1 (0x0000000000005000:1), twin/P1 (0x0000000000006000:1): name one by node GUID",
		"twin/P1":                "is ambiguous",
		"rack:1":                 "is ambiguous: it may be rack:1/P1 (0x0000000000007000:1), rack/P1 (0x0000000000008000:1)",
		"2001":                   "is ambiguous: it may be host-01/P1", // a port GUID and a name
		strings.Repeat("x", 100): "no such port in this fabric",
	} {
		r, err := f.ResolvePort(text)
		if err == nil {
			t.Errorf("%q is %s, want an error", text, f.PortName(r))
			continue
		}
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %q\nwant %q", text, err, want)
		}
		zhtest.Error(t, text, err)
	}
}

func TestPortNamesResolveToTheirPortOrAreAmbiguous(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f := subnettest.Fabric(t, subnettest.Shape{})
		for i := range f.Nodes {
			for p := firstPort(f, int32(i)); p < len(f.Nodes[i].Ports); p++ {
				ref := at(int32(i), f.Nodes[i].Ports[p].Num)
				got, err := f.ResolvePort(f.PortName(ref))
				if err != nil && strings.Contains(err.Error(), "ambiguous") {
					continue
				}
				if err != nil || got != ref {
					t.Fatalf("%s: %v, %v", f.PortName(ref), got, err)
				}
			}
		}
	})
}

func firstPort(f *subnet.Fabric, node int32) int {
	if f.Nodes[node].Kind == subnet.KindSwitch {
		return 0
	}
	return 1
}

func FuzzResolvePort(f *testing.F) {
	for _, s := range []string{"host-01/P1", "0x2000:1", "rack:1", "//::", "\xff/P254"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		g := named(t)
		if r, err := g.ResolvePort(text); err == nil && !g.Valid(r) {
			t.Fatalf("%q gives no port: %+v", text, r)
		}
	})
}

func TestErrorListsFewOfManyAmbiguousPorts(t *testing.T) {
	t.Parallel()
	var nodes []subnet.Node
	for i := range 8 {
		nodes = append(nodes, subnet.Node{GUID: ident.GUID(i + 1), Kind: subnet.KindSwitch, Name: "same", Ports: subnet.NewPorts(4)})
	}
	f, err := subnet.New("x", nodes, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"same", "same/P2"} {
		_, err := f.ResolvePort(text)
		if err == nil || !strings.Contains(err.Error(), "ambiguous") || !strings.HasSuffix(err.Error(), "(0x0000000000000005:"+map[string]string{"same": "1", "same/P2": "2"}[text]+") and 3 more: name one by node GUID and port") {
			t.Errorf("%q: %v", text, err)
		}
	}
}
