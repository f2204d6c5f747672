package policy_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"fairlane/ccconfig/profile"
	"fairlane/internal/quantity"
	"fairlane/policy"
	"fairlane/policy/plantest"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/tenants"
)

// The bounds of RoCE are those of docs/compiler.md, "Error bounds".
func TestRoCEBoundsEqualTheDocumentation(t *testing.T) {
	t.Parallel()
	const (
		alike    = 0.005 + 0.0226 // 0.5 % more than the calibration's, for equal rates
		further  = 0.05           // each further link that marks
		unmarked = 0.005 + 0.03   // where no link marks
		turns    = 0.10           // where the NIC port is at its line rate
	)
	own, err := profile.Lookup(profile.Default)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []profile.Bound{{Ratio: 2, Error: 0.0226}, {Ratio: 4, Error: 0.0381}} {
		if b := own.Bounds[i]; b.Ratio != want.Ratio || math.Abs(b.Error-want.Error) > 0.0005 {
			t.Fatalf("the calibration's bound is %+v: want %+v", b, want)
		}
	}
	// beside returns the bound if the fastest queue pair at the link should have ratio times the rate, between the middles of the classes.
	beside := func(ratio float64) float64 {
		return alike + 0.01546*(math.Log2(ratio)-0.5)
	}
	// left returns the gain of a tenant that only one link limits from another's further marking links, both with the same entitlement.
	left := func(links float64) float64 { return links * further }
	decline := own.Lever.Decline
	classes := []tenants.Class{{Name: "x", Weight: 3000}, {Name: "y", Weight: 1000}}
	a, b := tenants.Tenant{Name: "a", Weight: 1000}, tenants.Tenant{Name: "b", Weight: 1000}
	five := a
	five.Weight = 5000
	classed := a
	classed.Classes = classes
	idle := flowsAt(t, []tenants.Tenant{a}, rocePair{"a", "", 0, 2})
	idle.Flows[0].Demand = 10 * quantity.Gbps
	for name, c := range map[string]struct {
		in   policy.Input
		want []float64 // of the tenants, by name
	}{
		"an incast":                        {flowsAt(t, []tenants.Tenant{a, b}, rocePair{"a", "", 0, 2}, rocePair{"b", "", 1, 2}), []float64{alike, alike}},
		"a demand":                         {idle, []float64{unmarked}},
		"a NIC that two tenants fill, 5:1": {flowsAt(t, []tenants.Tenant{five, b}, rocePair{"a", "", 0, 2}, rocePair{"b", "", 0, 3}), []float64{unmarked + turns, unmarked + 5*turns}},
		"a NIC that is full":               {flowsAt(t, []tenants.Tenant{a}, rocePair{"a", "", 0, 2}, rocePair{"a", "", 0, 3}), []float64{unmarked + turns}},
		"two classes of 3:1 on one set of registers": {flowsAt(t, []tenants.Tenant{classed, b}, rocePair{"a", "x", 0, 2}, rocePair{"a", "y", 0, 2}, rocePair{"b", "", 1, 2}),
			[]float64{beside(4/math.Sqrt(3)) + math.Log(3)/2/4, alike}}, // each wants sqrt(3) times the mean, or the mean divided by it
		"two marking links":   {chain(t, 2), []float64{beside(math.Pow(2, decline)) + left(1), beside(math.Pow(2, decline)) + left(1), alike + further}},
		"three marking links": {chain(t, 3), slices.Concat(slices.Repeat([]float64{beside(math.Pow(3, decline)) + left(2)}, 3), []float64{alike + 2*further})},
	} {
		p := plantest.Compiled(t, c.in)
		for i, want := range c.want {
			if got := p.Tenants[i].Bound; math.Abs(got-want) > 0.001 {
				t.Errorf("%s: bound %g of tenant %s, want %g", name, got, p.Tenants[i].Tenant, want)
			}
		}
	}
}

// chain is a row of switches with n links of 25 Gbit/s between them: one tenant crosses each of these, and "long" all.
func chain(t *testing.T, n int) policy.Input {
	t.Helper()
	var nodes []subnet.Node
	var links []subnet.Link
	used := map[int32]ident.PortNum{}
	add := func(kind subnet.NodeKind, ports int) int32 {
		i := len(nodes)
		nodes = append(nodes, subnet.Node{GUID: ident.GUID(i + 1), Name: fmt.Sprint("n", i), Kind: kind, Ports: subnet.NewPorts(ports)})
		return int32(i)
	}
	link := func(a, b int32) {
		used[a]++
		used[b]++
		links = append(links, subnet.Link{A: subnet.PortRef{Node: a, Port: used[a]}, B: subnet.PortRef{Node: b, Port: used[b]}, Rate: 25 * quantity.Gbps, Delay: quantity.Microsecond})
	}
	var row []int32
	for i := range n + 1 {
		row = append(row, add(subnet.KindSwitch, 8))
		if i > 0 {
			link(row[i-1], row[i])
		}
	}
	in := policy.Input{Options: policy.Options{Plane: policy.PlaneRoCE}}
	cross := func(tenant string, from, to int32) {
		src, dst := add(subnet.KindCA, 1), add(subnet.KindCA, 1)
		link(from, src)
		link(to, dst)
		in.Tenants = append(in.Tenants, tenants.Tenant{Name: tenant, Weight: 1000})
		in.Flows = append(in.Flows, tenants.Flow{Tenant: tenant, QPs: 2,
			Src: ident.PortID{Node: nodes[src].GUID, Port: 1}, Dst: ident.PortID{Node: nodes[dst].GUID, Port: 1}})
	}
	for i := range n {
		cross(fmt.Sprint("c", i), row[i], row[i+1])
	}
	cross("long", row[0], row[n])
	var err error
	if in.Fabric, err = subnet.New("chain", nodes, links); err != nil {
		t.Fatal(err)
	}
	return in
}

// The bound of WRCC is `0.02 % + 0.5 Mbit/s / unit`, and 0.35 % more for tenants that contend for a sending port and those that they meet on full links.
func TestWRCCBoundEqualsTheDocumentation(t *testing.T) {
	t.Parallel()
	for _, rate := range []quantity.BitRate{quantity.Gbps, 10 * quantity.Gbps, 100 * quantity.Gbps} {
		p := compile(t, wrccStar(t, rate))
		want := 0.0002 + 0.5e6/float64(p.WRCC.Unit)
		for _, x := range p.Tenants {
			if math.Abs(x.Bound-want) > 1e-6 {
				t.Errorf("%s: bound %g of %s, want %g", rate, x.Bound, x.Tenant, want)
			}
		}
	}
	in := senders(t, []quantity.Weight{3000, 1000}, []int{1, 1})
	in.Options = policy.Options{Plane: policy.PlaneWRCC}
	for _, x := range compile(t, in).Tenants {
		if math.Abs(x.Bound-0.0042) > 1e-6 {
			t.Errorf("%s contends for a sending port: bound %g, want 0.0042", x.Tenant, x.Bound)
		}
	}
}

// `Fmin = min(sender / 1000, Btar / (10 · Σ weights))`, with the sum rounded up to a power of two: at a full port the weights are the rates in
// units.
func TestTheLeastFairRateHasRoomForTenTimesTheWeights(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ rate, fmin quantity.BitRate }{
		{102_400 * quantity.Mbps, 100 * quantity.Mbps}, // 1024 · 100: ten times 102.4 and no more
		{51_250 * quantity.Mbps, 50 * quantity.Mbps},   // 1024 · 50.05: ten times 51.25 is above 512
	} {
		in := wrccStar(t, c.rate)
		set, ok := compile(t, in).WRCC.PortSettings(in.Fabric.PortID(subnet.PortRef{Node: 0, Port: 9}))
		if !ok || set.Fmin != c.fmin {
			t.Errorf("%s: Fmin %s, want %s", c.rate, set.Fmin, c.fmin)
		}
	}
}
