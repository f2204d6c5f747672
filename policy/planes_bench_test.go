package policy_test

import (
	"testing"

	"fairlane/policy"
	"fairlane/policy/plantest"
	"fairlane/subnet"
	"fairlane/subnet/ident"
)

// bareTrees are the fat trees of the RoCE and WRCC benchmarks. InfiniBand cannot have the largest: a subnet has 49,151 LIDs.
func bareTrees() []tree {
	return []tree{
		{"hosts=1024", 16, 1024, false}, {"hosts=10000", 36, 10_000, false}, {"hosts=100000", 74, 100_000, false},
	}
}

// BenchmarkCompileEthernet compiles three-level fat trees with 64 tenants and ten flows a host for RoCE and WRCC: with the route of each flow
// given, and with every flow spread over a few of its equal-cost paths.
func BenchmarkCompileEthernet(b *testing.B) {
	for _, plane := range []policy.Plane{policy.PlaneRoCE, policy.PlaneWRCC} {
		for _, c := range bareTrees() {
			for _, given := range []bool{true, false} {
				b.Run(string(plane)+"/"+c.name+map[bool]string{true: "/given", false: "/spread"}[given], func(b *testing.B) {
					in := c.onEthernet(b, plane, given)
					b.ReportAllocs()
					for b.Loop() {
						if _, err := policy.Compile(in); err != nil {
							b.Fatal(err)
						}
					}
				})
			}
		}
	}
}

// BenchmarkCompileEthernetAfterOneWeightChanged does so with memory, while one tenant's weight goes up and down.
func BenchmarkCompileEthernetAfterOneWeightChanged(b *testing.B) {
	for _, plane := range []policy.Plane{policy.PlaneRoCE, policy.PlaneWRCC} {
		b.Run(string(plane), func(b *testing.B) {
			upAndDownAgain(b, bareTrees()[1].onEthernet(b, plane, true), func(int) int { return 31 })
		})
	}
}

// BenchmarkCompileClasses compiles plans with seven traffic classes: from nothing, and after one tenant's weight changed.
func BenchmarkCompileClasses(b *testing.B) {
	for _, lever := range []policy.Lever{policy.LeverClasses, policy.LeverBoth} {
		in := bareTrees()[1].onEthernet(b, policy.PlaneRoCE, true)
		in.Options.Lever, in.Options.Classes = lever, siteClasses(7)
		b.Run(string(lever)+"/cold", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := policy.Compile(in); err != nil {
					b.Fatal(err)
				}
			}
		})
		inForce, err := policy.Compile(in)
		if err != nil {
			b.Fatal(err)
		}
		in.InForce = inForce
		b.Run(string(lever)+"/changed", func(b *testing.B) { upAndDownAgain(b, in, func(int) int { return 31 }) })
	}
}

func (c tree) onEthernet(b testing.TB, plane policy.Plane, given bool) policy.Input {
	b.Helper()
	in, err := plantest.FatTree(plantest.TreeOptions{K: c.k, Hosts: c.hosts, Tenants: 64, Flows: 10 * c.hosts, Bare: true, Seed: 1})
	if err != nil {
		b.Fatal(err)
	}
	in.Options.Plane = plane
	if given {
		in.Routes = hashed(b, c.k, in)
	}
	return in
}

// hashed gives each flow one of its equal-cost paths through a fat tree.
func hashed(b testing.TB, k int, in policy.Input) [][]policy.Route {
	b.Helper()
	f := in.Fabric
	routes := make([][]policy.Route, len(in.Flows))
	for i := range in.Flows {
		src, ok := f.PortByID(in.Flows[i].Src)
		dst, ok2 := f.PortByID(in.Flows[i].Dst)
		if !ok || !ok2 {
			b.Fatal("a flow ends outside of the fabric")
		}
		routes[i] = []policy.Route{{Path: upAndDown(f, k, src, dst, i), QPs: float64(in.Flows[i].QPs)}}
	}
	return routes
}

// upAndDown is the path of topogen.FatTree from host to host with the choice-th aggregation switch and core.
func upAndDown(f *subnet.Fabric, k int, src, dst subnet.PortRef, choice int) policy.FlowPath {
	half, pods := k/2, k
	up, _ := f.Peer(src)
	down, _ := f.Peer(dst)
	path := policy.FlowPath{src}
	hop := func(node, port int) {
		path = append(path, subnet.PortRef{Node: int32(node), Port: ident.PortNum(port)})
	}
	if from, to := int(up.Node), int(down.Node); from != to { // edges come first, then aggregations, then cores
		agg, core := choice%half, choice/half%half
		hop(from, half+agg+1)
		if from/half != to/half {
			hop(pods*half+from/half*half+agg, half+core+1)
			hop(2*pods*half+agg*half+core, to/half+1)
		}
		hop(pods*half+to/half*half+agg, to%half+1)
	}
	return append(path, down)
}
