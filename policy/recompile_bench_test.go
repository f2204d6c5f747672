package policy_test

import (
	"slices"
	"testing"

	"fairlane/internal/quantity"
	"fairlane/policy"
)

// BenchmarkCompileAfterOneWeightChanged compiles with a memory: one tenant's weight goes up and down on the fat trees
// of BenchmarkCompile. The budget, 50 ms, is for 10,000 hosts.
func BenchmarkCompileAfterOneWeightChanged(b *testing.B) {
	for _, c := range trees() {
		b.Run(c.name, func(b *testing.B) {
			in := c.input(b)
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
