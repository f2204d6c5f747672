package ether

import (
	"testing"

	"fairlane/internal/quantity"
)

// BenchmarkIncast is the oracle's 20-to-1 incast, to its end.
func BenchmarkIncast(b *testing.B) {
	for _, name := range []string{"none", "dcqcn-peer", "dcqcn", "dcqcn-mlx", "hpcc"} {
		b.Run(name, func(b *testing.B) {
			var hops uint64
			b.ReportAllocs()
			for b.Loop() {
				n := incast(b, build(b, name, nil), Config{TruncateNs: true, GlobalRTT: true, Seed: 1})
				for !n.Finished() {
					n.RunUntil(n.Now() + quantity.Millisecond)
				}
				hops += n.Stats().PacketHops
			}
			b.ReportMetric(float64(hops)/b.Elapsed().Seconds()/1e6, "Mhops/s")
		})
	}
}
