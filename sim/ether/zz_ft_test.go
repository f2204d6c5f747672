package ether

import (
	"syscall"
	"testing"

	"fairlane/internal/quantity"
	"fairlane/sim/cc"
	"fairlane/subnet/topogen"
)

func cpu() float64 {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

func BenchmarkZZInc(b *testing.B) {
	for _, name := range []string{"none", "dcqcn-peer", "hpcc"} {
		b.Run(name, func(b *testing.B) {
			var hops uint64
			c0 := cpu()
			for b.Loop() {
				n := incast(b, build(b, name, nil), Config{Seed: 1})
				for !n.Finished() {
					n.RunUntil(n.Now() + quantity.Millisecond)
				}
				hops += n.Stats().PacketHops
			}
			b.ReportMetric(float64(hops)/(cpu()-c0)/1e6, "Mhops/cpus")
		})
	}
}

func BenchmarkZZFat(b *testing.B) {
	topo, err := topogen.FatTree(topogen.FatTreeOptions{K: 8, Wire: topogen.Wire{Rate: 100 * quantity.Gbps, Delay: quantity.Microsecond}})
	if err != nil {
		b.Fatal(err)
	}
	for _, name := range []string{"dcqcn-peer", "hpcc"} {
		b.Run(name, func(b *testing.B) {
			var hops uint64
			c0 := cpu()
			for b.Loop() {
				n, err := New(topo, Config{Seed: 1, Algorithms: []cc.Algorithm{build(b, name, nil)}})
				if err != nil {
					b.Fatal(err)
				}
				for i := range int32(128) {
					n.Add(FlowSpec{ID: int64(i), Src: i, Dst: (i*37 + 51) % 128, Bytes: 10_000_000})
				}
				for !n.Finished() {
					n.RunUntil(n.Now() + 100*quantity.Microsecond)
				}
				hops += n.Stats().PacketHops
				if b.N == 1 {
					b.Logf("%+v", n.Stats())
				}
			}
			b.ReportMetric(float64(hops)/(cpu()-c0)/1e6, "Mhops/cpus")
		})
	}
}
