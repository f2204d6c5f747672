package ibcc

import (
	"math"
	"testing"
)

func TestResponseIsTheReciprocalOrTheLogarithmOfS1(t *testing.T) {
	t.Parallel()
	// BECNs of one source at Increase 1, 2, 3, in proportion to its rate: 790 : 395 : 263 free
	// running, 790 : 462 : 328 restarted; S1 reports 790 : 480 : 320.
	for _, c := range []struct {
		restart bool
		want    [3]float64
	}{{false, [3]float64{790, 395, 263}}, {true, [3]float64{790, 462, 328}}} {
		for i, want := range c.want {
			if got := 790 * Response(uint8(i+1), c.restart) / Response(1, c.restart); math.Abs(got-want) > 0.7 {
				t.Errorf("restart %v, increase %d: %.1f BECNs, want %.0f", c.restart, i+1, got, want)
			}
		}
	}
	if !math.IsInf(Response(0, false), 1) {
		t.Error("an Increase of 0 needs a finite decay")
	}
}
