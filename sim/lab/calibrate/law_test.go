package calibrate

import (
	"fmt"
	"math"
	"testing"

	"fairlane/ccconfig/profile"
	"fairlane/internal/quantity"
)

// With registers that do not follow the lever's proportion, rates follow the law, although nothing was fitted to such runs.
// Eight flows have an eighth of the rate of eight others, with other increases and periods. The earlier power law of both was
// up to 31 % off in this case.
func TestRatesFollowTheLawOfIncreaseAndPeriod(t *testing.T) {
	t.Parallel()
	p, err := profile.Lookup(profile.Default)
	if err != nil {
		t.Fatal(err)
	}
	slow := func(t *testing.T, period, increase float64) float64 {
		t.Helper()
		m := &maker{p: p, g: fullGrid(p)}
		pt := m.addRun(kindMix, "law", 100*quantity.Gbps, 4, 3, []share{{4, 2, 8}, {4, 2, 1}})
		s := &pt.run.Groups[1].Settings
		s.TimeReset, s.AIRate = uint32(math.Round(float64(s.TimeReset)*period)), uint32(math.Round(float64(s.AIRate)*increase))
		s.HAIRate = s.AIRate
		m.wait(pt)
		got, err := pt.run.Do(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return got.Rates[1] / got.Rates[0]
	}
	w, lever := p.Law(), slow(t, 1, 1)
	for _, c := range []struct{ period, increase float64 }{{2, 1}, {4, 1}, {1, 2}, {1, 4}, {1, 8}, {4, 8}, {2.5, 6}} {
		t.Run(fmt.Sprintf("period by %g, increase by %g", c.period, c.increase), func(t *testing.T) {
			t.Parallel()
			got, want := slow(t, c.period, c.increase)/lever, w.Rate(c.period, c.increase)
			if math.Abs(got/want-1) > 0.05 {
				t.Errorf("%.3f of the lever's rate, the law gives %.3f: want within 5 %%", got, want)
			}
		})
	}
}
