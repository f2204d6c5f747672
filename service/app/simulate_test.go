package app

import (
	"testing"

	"fairlane/command/demo"
	"fairlane/policy"
	"fairlane/sim/lab/evaluate"
	"fairlane/sim/scenario"
	"fairlane/tenants"
)

// TestCompiledPlansHoldInThePacketSimulator is the point of the compiler: what it chooses gives the
// tenants their shares when packets really flow. Seeds make it deterministic.
func TestCompiledPlansHoldInThePacketSimulator(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"ib16", "ib8tenants", "ib3to2"} {
		for _, seed := range []uint64{1, 2} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				s, err := scenario.LoadBuiltin(name)
				if err != nil {
					t.Fatal(err)
				}
				flows := s.TenantFlows()
				in := policy.Input{Fabric: s.Fabric, Tenants: tenants.Attach(s.Tenants, flows), Flows: flows}
				p, err := policy.Compile(in)
				if err != nil {
					t.Fatal(err)
				}
				got, err := evaluate.Simulate(t.Context(), in, p, evaluate.Options{Seed: seed})
				if err != nil {
					t.Fatal(err)
				}
				if got.MaxShareError > evaluate.ErrorBound(policy.PlaneIB) {
					t.Errorf("seed %d: share error %.1f %%, want at most %.0f %%: %+v", seed, 100*got.MaxShareError, 100*evaluate.ErrorBound(policy.PlaneIB), got.Tenants)
				}
				var sum float64
				for _, x := range got.Tenants {
					sum += float64(x.Delivered)
				}
				if use := sum / float64(p.Links[0].Capacity); use < demo.MinUtilisation {
					t.Errorf("seed %d: link use %.3f, want at least %.2f", seed, use, demo.MinUtilisation)
				}
			})
		}
	}
}
