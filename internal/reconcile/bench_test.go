package reconcile_test

import (
	"testing"

	"fairlane/ccconfig/driver"
	"fairlane/ccconfig/driver/drivertest"
	"fairlane/internal/reconcile"
	"fairlane/subnet"
	"fairlane/subnet/ident"
)

// BenchmarkRollout10000 brings 10,000 adapters from their defaults to a plan and reads them
// back, over devices in memory: what the rollout itself costs.
func BenchmarkRollout10000(b *testing.B) {
	const n = 10000
	ds := make([]driver.Device, n)
	targets := make([]reconcile.Target, n)
	for i := range ds {
		ds[i] = driver.Device{Plane: "ib", ID: ident.PortID{Node: ident.GUID(i + 1), Port: 1}, Name: "host", Kind: subnet.KindCA, LID: ident.LID(i + 1)}
		targets[i] = reconcile.Target{Device: ds[i], Want: wanted(ds[i], 0)}
	}
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		fake := drivertest.NewFake(ds...)
		b.StartTimer()
		res := reconcile.Run(b.Context(), reconcile.Rollout{Plan: "p", Targets: targets}, reconcile.Deps{Driver: fake})
		if res.Outcome != reconcile.OutcomeDone {
			b.Fatalf("outcome %s: %s", res.Outcome, res.Reason)
		}
	}
}
