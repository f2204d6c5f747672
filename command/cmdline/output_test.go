package cmdline

import (
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fairlane/internal/quantity"
)

func TestBarsOfRates(t *testing.T) {
	t.Parallel()
	const most = 100 * quantity.Gbps
	for _, c := range []struct {
		v, most quantity.BitRate
		want    string
	}{
		{0, most, strings.Repeat(" ", 18) + "   0.0"},
		{most, most, strings.Repeat("█", 18) + " 100.0"},
		{most / 2, most, strings.Repeat("█", 9) + strings.Repeat(" ", 9) + "  50.0"},
		{0, 0, strings.Repeat(" ", 18) + "   0.0"},
	} {
		if got := RateBar(c.v, c.most, '█'); got != c.want {
			t.Errorf("%s of %s is %q, want %q", c.v, c.most, got, c.want)
		}
	}
}

func TestBarsOfOneTableAreOfOneWidth(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		most := quantity.BitRate(rapid.Int64Range(1, int64(quantity.MaxBitRate)).Draw(t, "most"))
		v := quantity.BitRate(rapid.Int64Range(0, int64(most)).Draw(t, "v"))
		bar := []rune(RateBar(v, most, '█'))
		filled := strings.Count(string(bar), "█")
		if blank := string(bar[filled:barWidth]); strings.TrimSpace(blank) != "" {
			t.Fatalf("%s of %s has the bar %q", v, most, string(bar))
		}
		if exact := float64(v) / float64(most) * barWidth; math.Abs(float64(filled)-exact) > 0.5001 {
			t.Fatalf("%s of %s fills %d, want %.2f", v, most, filled, exact)
		}
	})
}

func TestSizesAndFractionsAsText(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{
		0: "0 B", 999: "999 B", 1000: "1 KB", 1536: "1.536 KB", 1_000_000: "1 MB", 1_500_000_000: "1.5 GB", 12_345_678: "12.35 MB", 2e12: "2000 GB",
	} {
		if got := Size(n); got != want {
			t.Errorf("%d bytes are %q, want %q", n, got, want)
		}
	}
	if got := PercentOrDash(nil) + PercentOrDash(new(0.1234)) + Percent(1); got != "-12.3 %100.0 %" {
		t.Errorf("parts are %q", got)
	}
	if OrZero[int](nil) != 0 || OrZero(new(3)) != 3 {
		t.Error("what is not known is not zero, or what is known is not itself")
	}
	for path, want := range map[string]bool{"a.yaml": true, "a.YML": true, "a.json": false, "yaml": false, "a.yaml.gz": false} {
		if IsYAML(path) != want {
			t.Errorf("%s is YAML: %v", path, !want)
		}
	}
}
