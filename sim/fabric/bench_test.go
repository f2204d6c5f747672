package fabric

import (
	"testing"

	"fairlane/ccconfig/ibcc"
	"fairlane/internal/quantity"
	"fairlane/subnet/topogen"
)

// benchmarkHops reports data packet hops per second of a network under load.
func benchmarkHops(b *testing.B, n *Network) {
	b.Helper()
	n.RunUntil(2 * ms)
	before := n.Stats()
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		n.RunUntil(n.Now() + 100*us)
	}
	b.StopTimer()
	after := n.Stats()
	s := b.Elapsed().Seconds()
	b.ReportMetric(float64(after.PacketHops-before.PacketHops)/s, "hops/s")
	b.ReportMetric(float64(after.Events-before.Events)/float64(after.PacketHops-before.PacketHops), "events/hop")
	b.ReportMetric(0, "ns/op")
}

// managed enables congestion control on all devices, with the settings of the product rule.
func managed(n *Network) {
	f := n.Topology()
	for _, s := range f.Switches() {
		n.SetSwitchCC(s, ibcc.SwitchSettings{Threshold: 4, MarkingRate: 32})
	}
	for _, h := range f.Hosts() {
		n.ApplyCA(h, 1, ibcc.CASettings{Limit: 127, Table: geometric(1.05, 128), SLs: allSLs(ibcc.SLParams{Timer: 256, Increase: 1})})
	}
}

func BenchmarkIncast20(b *testing.B) {
	for _, cc := range []bool{false, true} {
		name := map[bool]string{false: "plain", true: "cc"}[cc]
		b.Run(name, func(b *testing.B) {
			f := star(b, 21)
			n := build(b, f, Config{Seed: 1})
			if cc {
				managed(n)
			}
			for i := range 20 {
				addFlow(b, n, FlowSpec{Src: hostPort(f, i), Dst: hostPort(f, 20)})
			}
			benchmarkHops(b, n)
		})
	}
}

func BenchmarkFatTreePermutation(b *testing.B) {
	f, err := topogen.FatTree(topogen.FatTreeOptions{K: 8})
	if err != nil {
		b.Fatal(err)
	}
	n := build(b, f, Config{Seed: 1})
	managed(n)
	hosts := len(f.Hosts())
	for i := range hosts {
		addFlow(b, n, FlowSpec{Src: hostPort(f, i), Dst: hostPort(f, (i+hosts/2+1)%hosts), QPs: 4, Demand: 90 * quantity.Gbps})
	}
	benchmarkHops(b, n)
}
