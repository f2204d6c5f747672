package policy_test

import (
	"slices"
	"testing"

	"fairlane/internal/quantity"
	"fairlane/policy"
	"fairlane/policy/plantest"
)

// BenchmarkCompileAfterOneWeightChanged compiles with a memory: one tenant's weight goes up and down on the fat trees
// of BenchmarkCompile. The budget, 50 ms, is for 10,000 hosts.
func BenchmarkCompileAfterOneWeightChanged(b *testing.B) {
	for _, c := range []struct {
		name      string
		k, hosts  int
		scattered bool
	}{
		{"hosts=1024/compact", 16, 1024, false}, {"hosts=1024/scattered", 16, 1024, true},
		{"hosts=10000/compact", 36, 10_000, false}, {"hosts=10000/scattered", 36, 10_000, true},
		{"hosts=27648/compact", 48, 27_648, false},
	} {
		b.Run(c.name, func(b *testing.B) {
			in, err := plantest.FatTree(plantest.TreeOptions{K: c.k, Hosts: c.hosts, Tenants: 64, Flows: 10 * c.hosts, Scattered: c.scattered, Seed: 1})
			if err != nil {
				b.Fatal(err)
			}
			var compiler policy.Compiler
			if _, err := compiler.Compile(in); err != nil {
				b.Fatal(err)
			}
			weights := [2]int64{int64(in.Tenants[31].Weight), 2 * int64(in.Tenants[31].Weight)}
			b.ReportAllocs()
			for i := 1; b.Loop(); i++ {
				in.Tenants = slices.Clone(in.Tenants)
				in.Tenants[31].Weight = quantity.Weight(weights[i%2])
				if _, err := compiler.Compile(in); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
