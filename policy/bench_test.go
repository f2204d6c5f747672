package policy_test

import (
	"testing"

	"fairlane/policy"
	"fairlane/policy/plantest"
)

// BenchmarkCompile10k compiles 10,000 hosts, 100,000 flows and 64 tenants, the size of the compiler's
// budget; routes are part of the input, as a discovered fabric has them.
func BenchmarkCompile10k(b *testing.B) {
	in, err := plantest.Large(plantest.LargeOptions{Leaves: 100, HostsPerLeaf: 100, Spines: 25, Tenants: 64, Flows: 100_000, Seed: 1})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		p, err := policy.Compile(in)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(len(p.CAs)), "ports")
		b.ReportMetric(float64(len(p.Links)), "links")
		b.ReportMetric(float64(len(p.Findings)), "findings")
	}
}
