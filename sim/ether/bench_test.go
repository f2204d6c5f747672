package ether

import (
	"runtime"
	"testing"

	"fairlane/internal/quantity"
	"fairlane/sim"
	"fairlane/sim/cc"
	"fairlane/subnet"
	"fairlane/subnet/topogen"
)

// BenchmarkIncast runs the 20-to-1 incast of the reference simulator to its end.
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

// BenchmarkSteady runs an endless 20-to-1 incast, 100 us per iteration. It measures time and allocations per packet after
// memory has reached its working size.
func BenchmarkSteady(b *testing.B) {
	for _, spec := range cc.Specs() {
		b.Run(spec.Name, func(b *testing.B) {
			topo, err := topogen.Star(21, topogen.Wire{})
			if err != nil {
				b.Fatal(err)
			}
			n := bare(b, topo, spec.Name)
			for i := range int32(20) {
				if err := n.Add(FlowSpec{ID: int64(i), Src: i, Dst: 20}); err != nil {
					b.Fatal(err)
				}
			}
			n.RunUntil(20 * quantity.Millisecond)
			before := n.Stats().PacketHops
			b.ReportAllocs()
			for b.Loop() {
				n.RunUntil(n.Now() + 100*quantity.Microsecond)
			}
			b.ReportMetric(float64(n.Stats().PacketHops-before)/b.Elapsed().Seconds()/1e6, "Mhops/s")
		})
	}
}

// BenchmarkFatTree runs a permutation of 1 MB flows among the 128 hosts of an 8-ary fat tree to its end.
func BenchmarkFatTree(b *testing.B) {
	topo, err := topogen.FatTree(topogen.FatTreeOptions{K: 8})
	if err != nil {
		b.Fatal(err)
	}
	for _, name := range []string{"dcqcn-peer", "hpcc"} {
		b.Run(name, func(b *testing.B) {
			var hops uint64
			b.ReportAllocs()
			for b.Loop() {
				n := bare(b, topo, name)
				for i := range int32(128) {
					if err := n.Add(FlowSpec{ID: int64(i), Src: i, Dst: (i + 77) % 128, Bytes: 1_000_000}); err != nil {
						b.Fatal(err)
					}
				}
				for !n.Finished() {
					n.RunUntil(n.Now() + quantity.Millisecond)
				}
				hops += n.Stats().PacketHops
			}
			b.ReportMetric(float64(hops)/b.Elapsed().Seconds()/1e6, "Mhops/s")
		})
	}
}

// BenchmarkFatTree320 runs 30,000 flows of 10 KB, which start within a millisecond, on HPCC's fabric of 320 hosts to their
// end. B/flow is the heap memory of the network and its flows, per flow.
func BenchmarkFatTree320(b *testing.B) {
	topo, err := topogen.FatTree320()
	if err != nil {
		b.Fatal(err)
	}
	const flows = 30_000
	heap := func() float64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return float64(m.HeapAlloc)
	}
	for _, name := range []string{"dcqcn-peer", "hpcc"} {
		b.Run(name, func(b *testing.B) {
			var hops uint64
			var kept float64
			b.ReportAllocs()
			for b.Loop() {
				b.StopTimer()
				before := heap()
				b.StartTimer()
				n := bare(b, topo, name)
				rng := sim.NewRNG(1)
				for i := range flows {
					src := int32(rng.Uint64n(320))
					dst := (src + 1 + int32(rng.Uint64n(319))) % 320
					if err := n.Add(FlowSpec{ID: int64(i), Src: src, Dst: dst, Bytes: 10_000, Start: quantity.Picoseconds(i) * quantity.Millisecond / flows}); err != nil {
						b.Fatal(err)
					}
				}
				for !n.Finished() {
					n.RunUntil(n.Now() + quantity.Millisecond)
				}
				hops += n.Stats().PacketHops
				b.StopTimer()
				kept = heap() - before
				runtime.KeepAlive(n)
				b.StartTimer()
			}
			b.ReportMetric(float64(hops)/b.Elapsed().Seconds()/1e6, "Mhops/s")
			b.ReportMetric(kept/flows, "B/flow")
		})
	}
}

func bare(b *testing.B, topo *subnet.Fabric, name string) *Network {
	b.Helper()
	n, err := New(topo, Config{Seed: 1, Algorithms: []cc.Algorithm{build(b, name, nil)}})
	if err != nil {
		b.Fatal(err)
	}
	return n
}
