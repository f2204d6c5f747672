package scenario

import (
	"context"
	"testing"

	"fairlane/internal/quantity"
)

// BenchmarkIB16 reports data packet hops per second on the demo fabric under congestion control.
func BenchmarkIB16(b *testing.B) {
	n, _ := managed(b, load(b, "ib16"), 0.73)
	n.RunUntil(20 * ms)
	before := n.Stats()
	b.ReportAllocs()
	for b.Loop() {
		n.RunUntil(n.Now() + 100*quantity.Microsecond)
	}
	after := n.Stats()
	b.ReportMetric(float64(after.PacketHops-before.PacketHops)/b.Elapsed().Seconds(), "hops/s")
}

// BenchmarkDrive runs the workloads of fairlane sim bench from their files to their ends.
func BenchmarkDrive(b *testing.B) {
	for _, name := range []string{"incast20", "fattree128", "fattree128-hpcc", "fattree320", "dualdc", "flows10k", "ib16"} {
		b.Run(name, func(b *testing.B) {
			var hops uint64
			b.ReportAllocs()
			for b.Loop() {
				w, err := Drive(context.Background(), load(b, name))
				if err != nil {
					b.Fatal(err)
				}
				hops += w.PacketHops
			}
			b.ReportMetric(float64(hops)/b.Elapsed().Seconds()/1e6, "Mhops/s")
		})
	}
}
