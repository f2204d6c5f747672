package topogen_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"fairlane/internal/quantity"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/subnet/topogen"
)

type builder func() (*subnet.Fabric, error)

func builders() map[string]builder {
	return map[string]builder{
		"star": func() (*subnet.Fabric, error) { return topogen.Star(20, topogen.Wire{}) },
		"dumbbell": func() (*subnet.Fabric, error) {
			return topogen.Dumbbell(topogen.DumbbellOptions{Left: 3, CoreRate: 40 * quantity.Gbps})
		},
		"testbed":    topogen.S1Testbed,
		"leaf-spine": func() (*subnet.Fabric, error) { return topogen.LeafSpine(topogen.LeafSpineOptions{Parallel: 2}) },
		"fat tree":   func() (*subnet.Fabric, error) { return topogen.FatTree(topogen.FatTreeOptions{K: 6}) },
		"three tiers": func() (*subnet.Fabric, error) {
			return topogen.ThreeTier(topogen.ThreeTierOptions{Pods: 3, ToRs: 4, Cores: 6, HostsPerToR: 2})
		},
		"two data centres": topogen.S0DualDC,
	}
}

func TestSizes(t *testing.T) {
	t.Parallel()
	type size struct{ Switches, Hosts, Links, Diameter, Tiers int }
	want := map[string]size{
		"star":       {1, 20, 20, 2, 1},
		"dumbbell":   {2, 5, 6, 3, 1},
		"testbed":    {2, 6, 7, 3, 1},
		"leaf-spine": {6, 16, 32, 4, 2},
		"fat tree":   {45, 54, 162, 6, 3},
		// 12 ToRs, 6 aggregation switches, 6 cores; 24 links to hosts, 24 in pods, 18 to cores.
		"three tiers": {24, 24, 66, 6, 3},
		// A data centre: 8 + 8 + 4 + 1 switches; 32 links to hosts, 16 in pods, 16 to cores, 4 to the DCI.
		"two data centres": {42, 64, 137, 9, 4},
	}
	for name, build := range builders() {
		f, err := build()
		if err != nil {
			t.Fatal(err)
		}
		got := size{len(f.Switches()), len(f.Hosts()), len(f.Links), f.Diameter(), 0}
		for _, tier := range f.Tiers() {
			got.Tiers = max(got.Tiers, tier)
		}
		if got != want[name] {
			t.Errorf("%s: %+v, want %+v", name, got, want[name])
		}
	}
}

func TestEveryHostReachesEveryOther(t *testing.T) {
	t.Parallel()
	for name, build := range builders() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, err := build()
			if err != nil {
				t.Fatal(err)
			}
			for _, a := range f.Hosts() {
				for _, b := range f.Hosts() {
					if _, err := subnet.Path(f, subnet.PortRef{Node: a, Port: 1}, f.Nodes[b].Ports[1].LID); err != nil {
						t.Fatal(err)
					}
				}
			}
		})
	}
}

func TestPortsAreCompleteAndNamesUnique(t *testing.T) {
	t.Parallel()
	for name, build := range builders() {
		f, err := build()
		if err != nil {
			t.Fatal(err)
		}
		for i := range f.Nodes {
			n := &f.Nodes[i]
			if len(f.NodesByName(n.Name)) != 1 {
				t.Errorf("%s: name %q is not unique", name, n.Name)
			}
			for p := range n.Ports {
				ref := subnet.PortRef{Node: int32(i), Port: ident.PortNum(p)}
				port := f.Port(ref)
				if port == nil {
					continue
				}
				state := subnet.PortActive
				if p > 0 && port.Link < 0 {
					state = subnet.PortDown
				}
				if port.MTU != 4096 || port.VLCap != 8 || port.State != state {
					t.Errorf("%s: port %s: %+v", name, f.PortName(ref), port)
				}
			}
		}
	}
}

func TestTheSameOptionsGiveTheSameFabric(t *testing.T) {
	t.Parallel()
	for name, build := range builders() {
		a, err := build()
		if err != nil {
			t.Fatal(err)
		}
		b, _ := build()
		if diff := cmp.Diff(a, b, cmpopts.IgnoreUnexported(subnet.Fabric{})); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

func TestS1Testbed(t *testing.T) {
	t.Parallel()
	f, err := topogen.S1Testbed()
	if err != nil {
		t.Fatal(err)
	}
	var links []string
	for _, l := range f.Links {
		links = append(links, fmt.Sprintf("%s - %s %s", f.PortName(l.A), f.PortName(l.B), l.Rate))
	}
	want := []string{
		"S1/P1 - A/P1 10 Gbit/s", "S1/P2 - B/P1 10 Gbit/s", "S1/P3 - S2/P5 10 Gbit/s",
		"S2/P1 - C/P1 10 Gbit/s", "S2/P2 - D/P1 10 Gbit/s", "S2/P3 - E/P1 10 Gbit/s", "S2/P4 - F/P1 10 Gbit/s",
	}
	if diff := cmp.Diff(want, links); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestWireOptionsReachTheLinks(t *testing.T) {
	t.Parallel()
	f, err := topogen.LeafSpine(topogen.LeafSpineOptions{
		Wire:       topogen.Wire{Rate: 200 * quantity.Gbps, Delay: 300 * quantity.Nanosecond, LMC: 1},
		UplinkRate: 400 * quantity.Gbps, UplinkDelay: 2 * quantity.Microsecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range f.Links {
		rate, speed, delay := 400*quantity.Gbps, subnet.NDR, 2*quantity.Microsecond
		if f.Nodes[l.B.Node].Kind == subnet.KindCA {
			rate, speed, delay = 200*quantity.Gbps, subnet.HDR, 300*quantity.Nanosecond
		}
		if l.Rate != rate || l.Speed != speed || l.Width != 4 || l.Delay != delay {
			t.Errorf("%s - %s: %+v", f.PortName(l.A), f.PortName(l.B), l)
		}
	}
	for _, h := range f.Hosts() {
		if f.Nodes[h].Ports[1].LMC != 1 {
			t.Errorf("%s has LMC %d", f.Nodes[h].Name, f.Nodes[h].Ports[1].LMC)
		}
	}
	d, err := topogen.Dumbbell(topogen.DumbbellOptions{CoreDelay: 5 * quantity.Millisecond, LeftDomain: "west", RightDomain: "east"})
	if err != nil {
		t.Fatal(err)
	}
	if r := d.NodesByName("r1"); d.Nodes[r[0]].Domain != "east" {
		t.Errorf("r1 is in domain %q", d.Nodes[r[0]].Domain)
	}
	if l := d.Links[2]; l.Delay != 5*quantity.Millisecond || l.Rate != topogen.DefaultRate {
		t.Errorf("core link %+v", l)
	}
}

func TestOptionsOutOfRangeAreRefused(t *testing.T) {
	t.Parallel()
	for want, build := range map[string]builder{
		"star: hosts 0: want 1 to 254":   func() (*subnet.Fabric, error) { return topogen.Star(0, topogen.Wire{}) },
		"star: hosts 255: want 1 to 254": func() (*subnet.Fabric, error) { return topogen.Star(255, topogen.Wire{}) },
		"dumbbell: left hosts -1: want":  func() (*subnet.Fabric, error) { return topogen.Dumbbell(topogen.DumbbellOptions{Left: -1}) },
		"dumbbell: right hosts 254":      func() (*subnet.Fabric, error) { return topogen.Dumbbell(topogen.DumbbellOptions{Right: 254}) },
		"leaf-spine: hosts per leaf 253: want 1 to 252": func() (*subnet.Fabric, error) {
			return topogen.LeafSpine(topogen.LeafSpineOptions{HostsPerLeaf: 253})
		},
		"leaf-spine: leaves 128: want 1 to 127": func() (*subnet.Fabric, error) {
			return topogen.LeafSpine(topogen.LeafSpineOptions{Leaves: 128, Parallel: 2})
		},
		"fat tree: K is odd":              func() (*subnet.Fabric, error) { return topogen.FatTree(topogen.FatTreeOptions{K: 5}) },
		"fat tree: K 76: want 2 to 74":    func() (*subnet.Fabric, error) { return topogen.FatTree(topogen.FatTreeOptions{K: 76}) },
		"rate -1 bit/s: want 0":           func() (*subnet.Fabric, error) { return topogen.Star(1, topogen.Wire{Rate: -1}) },
		"assign LIDs: LMC 9: want 0 to 7": func() (*subnet.Fabric, error) { return topogen.Star(1, topogen.Wire{LMC: 9}) },
	} {
		if _, err := build(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}
