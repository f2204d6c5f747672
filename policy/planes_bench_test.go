package policy_test

import (
	"testing"

	"fairlane/policy"
)

// BenchmarkCompileEthernet compiles the fat trees of BenchmarkCompile for the other planes. No routes are given, so
// every flow is spread over a few of its equal-cost paths.
func BenchmarkCompileEthernet(b *testing.B) {
	for _, plane := range []policy.Plane{policy.PlaneRoCE, policy.PlaneWRCC} {
		for _, c := range []tree{{"hosts=1024", 16, 1024, false}, {"hosts=10000", 36, 10_000, false}} {
			b.Run(string(plane)+"/"+c.name, func(b *testing.B) {
				in := c.input(b)
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
