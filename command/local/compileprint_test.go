package local

import (
	"testing"

	"fairlane/internal/quantity"
)

func TestBoundsArePrintedForNonzeroRates(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rate  quantity.BitRate
		bound float64
		want  string
	}{
		{10 * quantity.Gbps, 1, "10 Gbit/s ± 100 %"},
		{10 * quantity.Gbps, 0.0425, "10 Gbit/s ± 4.2 %"},
		{10 * quantity.Gbps, 0, "10 Gbit/s"},
		{0, 0.05, "0 bit/s"},
	} {
		if got := bounded(c.rate, c.bound); got != c.want {
			t.Errorf("%s with a bound of %v: %q, want %q", c.rate, c.bound, got, c.want)
		}
	}
}
