package policy_test

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"fairlane/policy"
)

// BenchmarkCompileAfterOneWeightChanged compiles with memory: one tenant's weight goes up and down on the fat trees of BenchmarkCompile. The
// budget, 50 ms, is for 10,000 hosts.
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

// upAndDownAgain doubles the weight of a tenant, or halves it if it is doubled. which returns the tenant for the number of the change. It
// reports how many senders got other settings by the last change.
func upAndDownAgain(b *testing.B, in policy.Input, which func(int) int) {
	b.Helper()
	var compiler policy.Compiler
	before, err := compiler.Compile(in)
	if err != nil {
		b.Fatal(err)
	}
	plans := [2]*policy.Plan{before, before}
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
		p, err := compiler.Compile(in)
		times = append(times, time.Since(start))
		if err != nil {
			b.Fatal(err)
		}
		plans[0], plans[1] = plans[1], p
	}
	b.ReportMetric(float64(changedSenders(plans[0], plans[1])), "changed")
	slices.Sort(times)
	b.ReportMetric(times[len(times)/2].Seconds()*1000, "median-ms")
	b.ReportMetric(times[len(times)*9/10].Seconds()*1000, "p90-ms")
}

// changedSenders counts the senders whose settings differ between two plans of the same senders: ports of adapters, on WRCC a tenant's class
// on a port.
func changedSenders(a, b *policy.Plan) int {
	n := 0
	for i := range a.CAs {
		if !reflect.DeepEqual(a.CAs[i].Settings, b.CAs[i].Settings) {
			n++
		}
	}
	if a.RoCE != nil {
		for i := range a.RoCE.NICs {
			if a.RoCE.NICs[i].Settings != b.RoCE.NICs[i].Settings {
				n++
			}
		}
	}
	if a.WRCC != nil {
		for i := range a.WRCC.Senders {
			if !reflect.DeepEqual(a.WRCC.Senders[i], b.WRCC.Senders[i]) {
				n++
			}
		}
	}
	return n
}
