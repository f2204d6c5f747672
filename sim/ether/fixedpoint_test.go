package ether

import (
	"testing"

	"fairlane/internal/quantity"
	"fairlane/sim/cc"
)

// ns-3 converts seconds in a double to nanoseconds by binary fixed point. A whole number of nanoseconds loses one nanosecond,
// unless the time is an exact binary fraction of a second. All other values are truncated as usual.
func TestFixedPointTimes(t *testing.T) {
	t.Parallel()
	g := float64(quantity.Gbps)
	for _, tc := range []struct {
		wire int
		rate float64
		want quantity.Picoseconds // ns
	}{
		{1056, g, 8447}, {1048, g, 8383}, {1000, 8 * g, 999}, {60, 10 * g, 47}, // whole nanoseconds
		{1048, 100 * g, 83}, {1048, 400 * g, 20}, {60, 100 * g, 4}, {1090, 25 * g, 348}, {1048, 3 * g, 2794}, // fractions of a nanosecond
		{1000, 8000, 1_000_000_000}, {1000, 16_000, 500_000_000}, // exact binary fractions of a second
		{1000, 7000, 1_142_857_142},
	} {
		if got := fixedPoint(tc.wire, tc.rate); got != tc.want*quantity.Nanosecond {
			t.Errorf("%d bytes at %g bit/s: %s, want %d ns", tc.wire, tc.rate, got, tc.want)
		}
	}
	if got := fixedPoint(1000, 1e-9); got != longestGap {
		t.Errorf("at a rate near zero: %d, want the longest gap", got)
	}
}

// Packets of 1000 bytes and acknowledgements of 100 bytes cross two links of 8 Gbit/s in 999 ns and 99 ns per link in fixed
// point. The pacing gap of a flow of 1 Gbit/s is 7999 ns. The base round trip time, computed from the payload only, does not
// change.
func TestFixedPointShortensLinksAndGaps(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		fixed bool
		want  quantity.Picoseconds // ns
	}{{false, 8000 + 2*1000 + 2*100 + 4*1000}, {true, 7999 + 2*999 + 2*99 + 4*1000}} {
		var done []Done
		n, err := New(chain(t, 8*quantity.Gbps, 8*quantity.Gbps), Config{
			TruncateNs: true, FixedPoint: tc.fixed, Payload: 952, Headers: Headers{Ack: 100}, Algorithms: []cc.Algorithm{build(t, "none", nil)},
			OnDone: func(d Done) { done = append(done, d) },
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := n.Add(FlowSpec{Src: 0, Dst: 1, Bytes: 2 * 952, Demand: quantity.Gbps}); err != nil {
			t.Fatal(err)
		}
		n.RunUntil(quantity.Millisecond)
		if len(done) != 1 || done[0].FCT != tc.want*quantity.Nanosecond {
			t.Errorf("fixed point %v: %+v, want one flow of %d ns", tc.fixed, done, tc.want)
		}
	}
}
