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
