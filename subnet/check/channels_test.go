package check_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fairlane/subnet"
	"fairlane/subnet/check"
	"fairlane/subnet/ident"
	"fairlane/subnet/subnettest"
	"fairlane/subnet/topogen"
)

// ring joins n switches in a circle, each with one host, and routes everything in the same direction.
func ring(t testing.TB, n int) *subnet.Fabric {
	t.Helper()
	var nodes []subnet.Node
	var links []subnet.Link
	for i := range n {
		nodes = append(nodes, subnet.Node{GUID: ident.GUID(0x100 + i), Kind: subnet.KindSwitch, Name: fmt.Sprintf("s%d", i+1), Ports: subnet.NewPorts(3)})
		nodes[i].Ports[0].LID = ident.LID(100 + i)
	}
	for i := range n {
		h := subnet.Node{GUID: ident.GUID(0x200 + i), Kind: subnet.KindCA, Name: fmt.Sprintf("h%d", i+1), Ports: subnet.NewPorts(1)}
		h.Ports[1].LID = ident.LID(1 + i)
		nodes = append(nodes, h)
		links = append(links,
			subnet.Link{A: subnet.PortRef{Node: int32(i), Port: 3}, B: subnet.PortRef{Node: int32(n + i), Port: 1}, Width: 4, Speed: subnet.EDR},
			subnet.Link{A: subnet.PortRef{Node: int32(i), Port: 1}, B: subnet.PortRef{Node: int32((i + 1) % n), Port: 2}, Width: 4, Speed: subnet.EDR})
	}
	f, err := subnet.New("ring", nodes, links)
	if err != nil {
		t.Fatal(err)
	}
	lfts := make([][]ident.PortNum, len(nodes))
	for i := range n {
		row := make([]ident.PortNum, 100+n)
		for lid := range row {
			row[lid] = ident.DropPort
		}
		for j := range n {
			row[1+j], row[100+j] = 1, 1
		}
		row[1+i], row[100+i] = 3, 0
		lfts[i] = row
	}
	if f, err = f.WithLFTs(lfts); err != nil {
		t.Fatal(err)
	}
	return f
}

func creditLoop(r *check.Report) *check.Finding {
	for i := range r.Findings {
		if r.Findings[i].Code == check.CodeCreditLoop {
			return &r.Findings[i]
		}
	}
	return nil
}

func TestACreditLoopIsNamed(t *testing.T) {
	t.Parallel()
	r := check.Check(ring(t, 4), check.Extra{})
	f := creditLoop(r)
	if f == nil {
		t.Fatalf("findings %+v: want a credit loop", r.Findings)
	}
	want := "s1/P1 on lane 0 waits for s2/P1 on lane 0 waits for s3/P1 on lane 0 waits for s4/P1 on lane 0 waits for s1/P1 on lane 0 again"
	if !strings.Contains(f.Text, want) || f.Severity != check.Error || f.Count != 4 || len(f.Ports) != 4 {
		t.Errorf("%+v: want an error saying %q", f, want)
	}
}

// TestLanesDecideWhetherThereIsALoop changes how s1 treats packets from s4.
func TestLanesDecideWhetherThereIsALoop(t *testing.T) {
	t.Parallel()
	f := ring(t, 4)
	d := details(f)
	from4to2 := &d.Nodes[0].Ports[1].Lanes[2].VL
	all := func(vl ident.VL) {
		for sl := range from4to2 {
			from4to2[sl] = vl
		}
	}
	for i := range 4 {
		for out := 1; out <= 3; out++ {
			for in := range d.Nodes[i].Ports[out].Lanes {
				d.Nodes[i].Ports[out].Lanes[in].VL = [ident.NumSLs]ident.VL{}
			}
		}
	}
	// The packets change to lane 1 on one link only: s2 returns them to lane 0, and the loop closes through both
	// lanes.
	all(1)
	found := creditLoop(check.Check(f, check.Extra{Details: d}))
	if found == nil || !strings.Contains(found.Text, "s1/P1 on lane 1 waits for s2/P1 on lane 0") {
		t.Errorf("%+v: want a loop through lane 1 of s1", found)
	}
	// When these packets are dropped, the loop is open.
	all(ident.ManagementVL)
	if found := creditLoop(check.Check(f, check.Extra{Details: d})); found != nil {
		t.Errorf("%s: want none, as no packet passes from s4 to s2", found.Text)
	}
}

func TestGeneratedFabricsHaveNoFindings(t *testing.T) {
	t.Parallel()
	for _, build := range []func() (*subnet.Fabric, error){
		func() (*subnet.Fabric, error) { return topogen.FatTree(topogen.FatTreeOptions{K: 6}) },
		topogen.S1Testbed,
		func() (*subnet.Fabric, error) { return topogen.Star(5, topogen.Wire{LMC: 2}) },
		func() (*subnet.Fabric, error) {
			return topogen.LeafSpine(topogen.LeafSpineOptions{Leaves: 5, HostsPerLeaf: 4, Spines: 3, Parallel: 2, Wire: topogen.Wire{LMC: 1}})
		},
	} {
		f, err := build()
		if err != nil {
			t.Fatal(err)
		}
		if r := check.Check(f, check.Extra{}); len(r.Findings) > 0 {
			t.Errorf("%s: %+v", f.Name, r.Findings)
		}
	}
}

// TestLoopsEqualThoseOfThePaths compares the loops with those of a graph built from the path of every packet.
func TestLoopsEqualThoseOfThePaths(t *testing.T) {
	t.Parallel()
	found := 0
	rings := []*subnet.Fabric{ring(t, 3), ring(t, 5)}
	rapid.Check(t, func(t *rapid.T) {
		f := rapid.SampledFrom(rings).Draw(t, "ring")
		if rapid.IntRange(0, 3).Draw(t, "shape") > 0 {
			f = subnettest.Fabric(t, subnettest.Shape{Connected: true})
			lfts, err := subnet.ComputeMinHopRoutes(f)
			if err != nil {
				t.Fatal(err)
			}
			if f, err = f.WithLFTs(lfts); err != nil {
				t.Fatal(err)
			}
		}
		var x check.Extra
		if len(f.Hosts()) > 0 && rapid.Bool().Draw(t, "tables") {
			x.Details = details(f)
			for i := range x.Details.Nodes {
				for p := range x.Details.Nodes[i].Ports {
					for in := range x.Details.Nodes[i].Ports[p].Lanes {
						vl := &x.Details.Nodes[i].Ports[p].Lanes[in].VL
						for sl := range 3 {
							vl[sl] = rapid.SampledFrom([]ident.VL{0, 0, 1, 2, 15}).Draw(t, "vl")
						}
						for sl := 3; sl < len(vl); sl++ {
							vl[sl] = vl[sl%3]
						}
					}
				}
			}
		}
		want := waits(f, x.Details)
		got := creditLoop(check.Check(f, x))
		if (got != nil) != want {
			t.Fatalf("credit loop %+v: by the paths %t", got, want)
		}
		if want {
			found++
		}
	})
	if found == 0 {
		t.Error("no random fabric had a loop: the test proves nothing")
	}
}

type lane struct {
	port subnet.PortRef
	vl   ident.VL
}

// waits reports whether the dependencies, built from paths, have a cycle. It repeatedly removes channels without
// dependencies.
func waits(f *subnet.Fabric, d *subnet.Details) bool {
	after := map[lane]map[lane]bool{}
	for _, src := range hostPorts(f) {
		for lid := ident.LID(1); lid <= f.TopLID(); lid++ {
			path, err := subnet.Path(f, src, lid)
			if err != nil {
				continue
			}
			for sl := range ident.SL(ident.NumSLs) {
				follow(f, d, path, sl, after)
			}
		}
	}
	for {
		gone := 0
		for k, next := range after {
			for n := range next {
				if after[n] == nil {
					delete(next, n)
				}
			}
			if len(next) == 0 {
				delete(after, k)
				gone++
			}
		}
		if gone == 0 {
			return len(after) > 0
		}
	}
}

func follow(f *subnet.Fabric, d *subnet.Details, path []subnet.PortRef, sl ident.SL, after map[lane]map[lane]bool) {
	var held *lane
	for i, p := range path {
		if i == 0 || p.Port == 0 {
			continue
		}
		in, _ := f.Peer(path[i-1])
		far, _ := f.Peer(p)
		if f.Nodes[p.Node].Kind != subnet.KindSwitch || f.Nodes[far.Node].Kind != subnet.KindSwitch {
			return
		}
		vl, _ := d.Lane(p, in.Port, sl)
		if vl == ident.ManagementVL {
			return
		}
		now := lane{p, vl}
		if held != nil {
			if after[*held] == nil {
				after[*held] = map[lane]bool{}
			}
			after[*held][now] = true
		}
		held = &now
	}
}

func BenchmarkCheck(b *testing.B) {
	f, err := topogen.LeafSpine(topogen.LeafSpineOptions{Leaves: 52, HostsPerLeaf: 36, Spines: 20})
	benchmark(b, f, err)
}

func BenchmarkCheckFatTree(b *testing.B) {
	f, err := topogen.FatTree(topogen.FatTreeOptions{K: 18})
	benchmark(b, f, err)
}

// benchmark checks a fault-free fabric with complete details.
func benchmark(b *testing.B, f *subnet.Fabric, err error) {
	if err != nil {
		b.Fatal(err)
	}
	x := check.Extra{Details: details(f)}
	b.ReportAllocs()
	for b.Loop() {
		if r := check.Check(f, x); len(r.Findings) > 0 {
			b.Fatal(r.Findings)
		}
	}
}
