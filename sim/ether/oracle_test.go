package ether

import (
	"testing"

	"fairlane/internal/quantity"
	"fairlane/sim/cc"
	"fairlane/subnet/topogen"
)

func incast(tb testing.TB, alg cc.Algorithm, cfg Config) *Network {
	tb.Helper()
	topo, err := topogen.Star(21, topogen.Wire{Rate: 100 * quantity.Gbps, Delay: quantity.Microsecond})
	if err != nil {
		tb.Fatal(err)
	}
	cfg.Algorithms = []cc.Algorithm{alg}
	n, err := New(topo, cfg)
	if err != nil {
		tb.Fatal(err)
	}
	for i := range int32(20) {
		size := int64(5_000_000)
		switch i {
		case 0, 1:
			size = 200_000_000
		case 2:
			size = 150_000_000
		}
		if err := n.Add(FlowSpec{ID: int64(i), Src: i, Dst: 20, Bytes: size}); err != nil {
			tb.Fatal(err)
		}
	}
	return n
}

func build(tb testing.TB, name string, v cc.Values) cc.Algorithm {
	tb.Helper()
	s, err := cc.ByName(name)
	if err != nil {
		tb.Fatal(err)
	}
	a, err := s.Build(v)
	if err != nil {
		tb.Fatal(err)
	}
	return a
}

func TestW1(t *testing.T) {
	for _, name := range []string{"none"} {
		n := incast(t, build(t, name, nil), Config{TruncateNs: true, GlobalRTT: true, Seed: 1, OnDone: func(d Done) {
			t.Log(d.ID, d.FCT, d.Ideal)
		}})
		for !n.Finished() {
			n.RunUntil(n.Now() + quantity.Millisecond)
		}
		t.Logf("%s %+v", name, n.Stats())
	}
}

func BenchmarkIncast(b *testing.B) {
	for _, name := range []string{"none"} {
		b.Run(name, func(b *testing.B) {
			var hops uint64
			b.ReportAllocs()
			for b.Loop() {
				n := incast(b, build(b, name, nil), Config{TruncateNs: true, GlobalRTT: true, Seed: 1})
				n.RunUntil(2 * quantity.Millisecond)
				hops += n.Stats().PacketHops
			}
			b.ReportMetric(float64(hops)/b.Elapsed().Seconds()/1e6, "Mhops/s")
		})
	}
}
