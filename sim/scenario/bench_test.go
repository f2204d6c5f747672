package scenario

import (
	"testing"

	"fairlane/internal/quantity"
)

// BenchmarkIB16 reports data packet hops per second on the demo fabric under congestion control.
func BenchmarkIB16(b *testing.B) {
	n, _ := managed(b, load(b, "ib16"), 0.73)
	n.RunUntil(20 * ms)
	before := n.Stats()
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		n.RunUntil(n.Now() + 100*quantity.Microsecond)
	}
	after := n.Stats()
	b.ReportMetric(float64(after.PacketHops-before.PacketHops)/b.Elapsed().Seconds(), "hops/s")
}
