package wrcc_test

import (
	"math"
	"testing"

	"fairlane/wrcc"
)

func TestAckShareFollowsTheDistanceOfPackets(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ rate, want float64 }{
		{0, 0}, {-1, 0}, {math.NaN(), 0},
		{1e6, 72.0 / 1060}, {847.9e6, 72.0 / 1060}, // a packet each 10 us and more
		{848e6, 12.0 / 1060}, {100e9, 12.0 / 1060}, {math.Inf(1), 12.0 / 1060},
	} {
		if got := wrcc.AckShare(c.rate); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("AckShare(%g) = %g, want %g", c.rate, got, c.want)
		}
	}
}
