package policy_test

import (
	"testing"

	"fairlane/policy"
	"fairlane/policy/plantest"
)

// BenchmarkCompile compiles three-level fat trees with 64 tenants and ten flows a host. The compiler's budget is for 10,000 hosts. The largest
// tree has 48 ports a switch, the generator's maximum. Forwarding tables are part of the input, as in a discovered fabric.
func BenchmarkCompile(b *testing.B) {
	for _, c := range trees() {
		b.Run(c.name, func(b *testing.B) {
			in := c.input(b)
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
		})
	}
}

// tree is a fat tree of the benchmarks.
type tree struct {
	name      string
	k, hosts  int
	scattered bool
}

func trees() []tree {
	return []tree{
		{"hosts=1024/compact", 16, 1024, false}, {"hosts=1024/scattered", 16, 1024, true},
		{"hosts=10000/compact", 36, 10_000, false}, {"hosts=10000/scattered", 36, 10_000, true},
		{"hosts=27648/compact", 48, 27_648, false}, {"hosts=27648/scattered", 48, 27_648, true},
	}
}

func (c tree) input(b testing.TB) policy.Input {
	b.Helper()
	in, err := plantest.FatTree(plantest.TreeOptions{K: c.k, Hosts: c.hosts, Tenants: 64, Flows: 10 * c.hosts, Scattered: c.scattered, Seed: 1})
	if err != nil {
		b.Fatal(err)
	}
	return in
}
