package policy_test

import (
	"testing"

	"fairlane/policy"
	"fairlane/policy/plantest"
)

// BenchmarkCompileEthernet compiles the fat trees of BenchmarkCompile for the other planes. No routes are given, so
// every flow is spread over a few of its equal-cost paths.
func BenchmarkCompileEthernet(b *testing.B) {
	for _, plane := range []policy.Plane{policy.PlaneRoCE, policy.PlaneWRCC} {
		for _, c := range []struct {
			name     string
			k, hosts int
		}{{"hosts=1024", 16, 1024}, {"hosts=10000", 36, 10_000}} {
			b.Run(string(plane)+"/"+c.name, func(b *testing.B) {
				in, err := plantest.FatTree(plantest.TreeOptions{K: c.k, Hosts: c.hosts, Tenants: 64, Flows: 10 * c.hosts, Seed: 1})
				if err != nil {
					b.Fatal(err)
				}
				in.Options.Plane = plane
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
