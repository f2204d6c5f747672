package policy_test

import (
	"slices"
	"testing"
	"time"

	"fairlane/policy"
)

// BenchmarkCompileAfterOneWeightChanged compiles with a memory: one tenant's weight goes up and down on the fat trees
// of BenchmarkCompile. The budget, 50 ms, is for 10,000 hosts.
func BenchmarkCompileAfterOneWeightChanged(b *testing.B) {
	for _, c := range trees() {
		b.Run(c.name, func(b *testing.B) { upAndDownAgain(b, c.input(b), func(int) int { return 31 }) })
	}
}

// BenchmarkCompileAfterEachWeightChanged changes the weight of another tenant every time, on fat trees of 10,000 hosts: most changes
// reach few devices, some, such as those of the fastest queue pairs, nearly all.
func BenchmarkCompileAfterEachWeightChanged(b *testing.B) {
	next := func(i int) int { return (i + 1) * 37 % 64 }
	b.Run("ib", func(b *testing.B) { upAndDownAgain(b, trees()[2].input(b), next) })
	for _, plane := range []policy.Plane{policy.PlaneRoCE, policy.PlaneWRCC} {
		b.Run(string(plane), func(b *testing.B) { upAndDownAgain(b, bareTrees()[1].onEthernet(b, plane, true), next) })
	}
}

// upAndDownAgain doubles the weight of a tenant, or brings it back to what it was when it is doubled. which says, by the
// number of the change, which tenant.
func upAndDownAgain(b *testing.B, in policy.Input, which func(int) int) {
	b.Helper()
	var compiler policy.Compiler
	if _, err := compiler.Compile(in); err != nil {
		b.Fatal(err)
	}
	first := in.Tenants
	var times []time.Duration
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		in.Tenants = slices.Clone(in.Tenants)
		t := which(i)
		if was := first[t].Weight; in.Tenants[t].Weight == was {
			in.Tenants[t].Weight = 2 * was
		} else {
			in.Tenants[t].Weight = was
		}
		start := time.Now()
		if _, err := compiler.Compile(in); err != nil {
			b.Fatal(err)
		}
		times = append(times, time.Since(start))
	}
	slices.Sort(times)
	b.ReportMetric(times[len(times)/2].Seconds()*1000, "median-ms")
	b.ReportMetric(times[len(times)*9/10].Seconds()*1000, "p90-ms")
}
