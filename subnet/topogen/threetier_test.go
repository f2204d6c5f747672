package topogen_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fairlane/internal/quantity"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/subnet/topogen"
)

// pathLinks counts the links from one host's port 1 to another's.
func pathLinks(t *testing.T, f *subnet.Fabric, a, b int32) int {
	t.Helper()
	p, err := subnet.Path(f, subnet.PortRef{Node: a, Port: 1}, f.Nodes[b].Ports[1].LID)
	if err != nil {
		t.Fatal(err)
	}
	return len(p)
}

func kindOf(name string) string {
	for _, kind := range []string{"host", "tor", "agg", "core", "dci"} {
		if strings.Contains(name, kind) {
			return kind
		}
	}
	return name
}

// linkCounts counts the links by the kinds of their ends, rate and delay.
func linkCounts(f *subnet.Fabric) map[string]int {
	counts := map[string]int{}
	for _, l := range f.Links {
		a, b := kindOf(f.Nodes[l.A.Node].Name), kindOf(f.Nodes[l.B.Node].Name)
		counts[fmt.Sprintf("%s %s %s %s", min(a, b), max(a, b), l.Rate, l.Delay)]++
	}
	return counts
}

func TestFatTree320IsHPCCs(t *testing.T) {
	t.Parallel()
	f, err := topogen.FatTree320()
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]int{
		"host tor 100 Gbit/s 1 us": 320, // 20 ToRs with 16 hosts
		"agg tor 400 Gbit/s 1 us":  80,  // 5 pods of 4 x 4
		"agg core 400 Gbit/s 1 us": 80,  // 20 aggregation switches with 4 cores
	}
	got := linkCounts(f)
	for link, n := range want {
		if got[link] != n {
			t.Errorf("%d links %s, want %d", got[link], link, n)
		}
	}
	if len(got) != len(want) {
		t.Errorf("links %v, want %v", got, want)
	}
	ports := map[string]int{"tor": 16 + 4, "agg": 4 + 4, "core": 5}
	switches := map[string]int{}
	for _, s := range f.Switches() {
		n := &f.Nodes[s]
		switches[kindOf(n.Name)]++
		if len(n.Ports)-1 != ports[kindOf(n.Name)] {
			t.Errorf("%s has %d ports, want %d", n.Name, len(n.Ports)-1, ports[kindOf(n.Name)])
		}
		for _, p := range n.Ports[1:] {
			if p.Link < 0 {
				t.Errorf("%s port %d is free", n.Name, p.Num)
			}
		}
	}
	if switches["tor"] != 20 || switches["agg"] != 20 || switches["core"] != 16 {
		t.Errorf("switches %v, want 20 ToRs, 20 aggregation, 16 cores", switches)
	}
}

func TestMeanPathOfFatTree320(t *testing.T) {
	t.Parallel()
	f, err := topogen.FatTree320()
	if err != nil {
		t.Fatal(err)
	}
	hosts := f.Hosts()
	counts := map[int]int{}
	for _, b := range hosts[1:] { // all hosts are equivalent
		counts[pathLinks(t, f, hosts[0], b)]++
	}
	// 15 others on the ToR, 48 in the pod, 256 in other pods: 1758/319 = 5.51 links on average.
	if counts[2] != 15 || counts[4] != 48 || counts[6] != 256 || len(counts) != 3 {
		t.Errorf("paths by links %v, want 15 of 2, 48 of 4, 256 of 6", counts)
	}
}

func TestS0DualDC(t *testing.T) {
	t.Parallel()
	f, err := topogen.S0DualDC()
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]int{
		"host tor 100 Gbit/s 1 us": 64, "agg tor 100 Gbit/s 1 us": 32, "agg core 100 Gbit/s 1 us": 32,
		"core dci 100 Gbit/s 1 us": 8, "dci dci 400 Gbit/s 1 ms": 1,
	}
	got := linkCounts(f)
	for link, n := range want {
		if got[link] != n {
			t.Errorf("%d links %s, want %d", got[link], link, n)
		}
	}
	if len(got) != len(want) {
		t.Errorf("links %v, want %v", got, want)
	}
	for i := range f.Nodes {
		if n := &f.Nodes[i]; !strings.HasPrefix(n.Name, n.Domain+"-") || n.Domain != "dc1" && n.Domain != "dc2" {
			t.Errorf("%s is in domain %q", n.Name, n.Domain)
		}
	}
}

func TestPathsOfS0DualDC(t *testing.T) {
	t.Parallel()
	f, err := topogen.S0DualDC()
	if err != nil {
		t.Fatal(err)
	}
	hosts := f.Hosts()
	longest := 0
	for i, a := range hosts {
		for j, b := range hosts {
			if i == j {
				continue
			}
			n := pathLinks(t, f, a, b)
			switch same := f.Nodes[a].Domain == f.Nodes[b].Domain; {
			case same != (i/32 == j/32):
				t.Fatalf("hosts %d and %d: domains %q and %q", i, j, f.Nodes[a].Domain, f.Nodes[b].Domain)
			case same:
				longest = max(longest, n)
			case n != 9: // three to the core, one to each DCI switch, the long link, and down again
				t.Errorf("%s to %s: %d links, want 9", f.Nodes[a].Name, f.Nodes[b].Name, n)
			}
		}
	}
	if longest != 6 { // 6 links of 1 us each way: the 12 us of S0
		t.Errorf("longest path inside a data centre %d links, want 6", longest)
	}
}

func TestDualDCOptions(t *testing.T) {
	t.Parallel()
	f, err := topogen.DualDC(topogen.DualDCOptions{
		Site:    topogen.ThreeTierOptions{Pods: 1, ToRs: 1, Aggs: 1, Cores: 1, HostsPerToR: 3, Wire: topogen.Wire{Rate: 200 * quantity.Gbps}, CoreDelay: 2 * quantity.Microsecond},
		DCIRate: 800 * quantity.Gbps, DCIDelay: 5 * quantity.Millisecond, Domains: [2]string{"north", "south"},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := "map[agg core 200 Gbit/s 2 us:2 agg tor 200 Gbit/s 1 us:2 core dci 200 Gbit/s 2 us:2 dci dci 800 Gbit/s 5 ms:1 host tor 200 Gbit/s 1 us:6]"
	if got := fmt.Sprint(linkCounts(f)); got != want {
		t.Errorf("links\n%s\nwant\n%s", got, want)
	}
	if n := f.NodesByName("south-dci"); len(n) != 1 || f.Nodes[n[0]].Domain != "south" {
		t.Errorf("south-dci: nodes %v", n)
	}
}

func TestThreeTierOptionsOutOfRangeAreRefused(t *testing.T) {
	t.Parallel()
	for want, o := range map[string]topogen.ThreeTierOptions{
		"pods -1: want 1 to 254":                       {Pods: -1},
		"ToRs 254: want 1 to 253":                      {ToRs: 254},
		"aggregation switches -2: want 1 to 253":       {Aggs: -2},
		"hosts per ToR 253: want 1 to 252":             {HostsPerToR: 253},
		"cores 5: want a multiple of the 2":            {Cores: 5},
		"cores 506: want 2 to 504":                     {Cores: 506},
		"cores -2: want 2":                             {Cores: -2},
		"hosts in all 15237206: want 1 to 130000":      {Pods: 254, ToRs: 239, HostsPerToR: 251, Aggs: 2},
		"links in all 1125250: want 1 to 1000000":      {Pods: 250, ToRs: 1, HostsPerToR: 1, Aggs: 250, Cores: 4250},
		"three tiers: hosts per ToR -7: want 1 to 252": {HostsPerToR: -7},
	} {
		if _, err := topogen.ThreeTier(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	for want, o := range map[string]topogen.DualDCOptions{
		"two data centres: pods 254: want 1 to 253":  {Site: topogen.ThreeTierOptions{Pods: 254}},
		"cores 254: want 1 to 253":                   {Site: topogen.ThreeTierOptions{Cores: 254}},
		`domains "a" and "a": want two different`:    {Domains: [2]string{"a", "a"}},
		`domains "dc2" and "dc2": want two differen`: {Domains: [2]string{"dc2", ""}},
	} {
		if _, err := topogen.DualDC(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// TestThreeTierPaths checks, for any size, that paths have 2, 4 or 6 links depending on the hosts' places, and that every
// aggregation switch is in one plane of the cores.
func TestThreeTierPaths(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		small := func(name string) int { return rapid.IntRange(1, 4).Draw(rt, name) }
		o := topogen.ThreeTierOptions{Pods: small("pods"), ToRs: small("tors"), Aggs: small("aggs"), HostsPerToR: small("hosts")}
		o.Cores = o.Aggs * small("plane")
		f, err := topogen.ThreeTier(o)
		if err != nil {
			rt.Fatal(err)
		}
		hosts := f.Hosts()
		for i, a := range hosts {
			for j, b := range hosts {
				want := 6
				switch tor := o.HostsPerToR; {
				case i == j:
					continue
				case i/tor == j/tor:
					want = 2
				case i/(tor*o.ToRs) == j/(tor*o.ToRs):
					want = 4
				}
				p, err := subnet.Path(f, subnet.PortRef{Node: a, Port: 1}, f.Nodes[b].Ports[1].LID)
				if err != nil || len(p) != want {
					rt.Fatalf("hosts %d and %d: %d links (%v), want %d", i, j, len(p), err, want)
				}
			}
		}
		plane := o.Cores / o.Aggs
		for _, s := range f.Switches() {
			var pod, agg int
			if n, _ := fmt.Sscanf(f.Nodes[s].Name, "pod%d-agg%d", &pod, &agg); n != 2 {
				continue
			}
			for c := range plane {
				peer, _ := f.Peer(subnet.PortRef{Node: s, Port: ident.PortNum(o.ToRs + c + 1)})
				if got, want := f.Nodes[peer.Node].Name, fmt.Sprintf("core%d", (agg-1)*plane+c+1); got != want || int(peer.Port) != pod {
					rt.Fatalf("%s has %s port %d, want %s port %d", f.Nodes[s].Name, got, peer.Port, want, pod)
				}
			}
		}
	})
}
