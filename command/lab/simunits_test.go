package lab

import (
	"math"
	"strings"
	"testing"
	"time"

	"fairlane/command/cmdline"
	"fairlane/internal/i18n"
	"fairlane/internal/plot"
	"fairlane/internal/quantity"
	"fairlane/internal/stats"
	"fairlane/sim/scenario"
)

func TestStatusBytes(t *testing.T) {
	t.Parallel()
	const status = "Name:\tfairlane\nVmHWM:\t   12345 kB\nVmRSS:\t10 kB\nVmSwap:\tmuch kB\n"
	for _, c := range []struct {
		field string
		want  int64
		fault string
	}{
		{"VmHWM", 12345 << 10, ""},
		{"VmRSS", 10 << 10, ""},
		{"Vm", 0, "has no Vm"},
		{"VmSwap", 0, "VmSwap of /proc/self/status"},
	} {
		got, err := statusBytes(status, c.field)
		if got != c.want || (err == nil) != (c.fault == "") || err != nil && !strings.Contains(err.Error(), c.fault) {
			t.Errorf("%s: %d, %v", c.field, got, err)
		}
	}
}

func TestUsageNowGrowsWithWork(t *testing.T) {
	t.Parallel()
	before, err := usageNow()
	if err != nil {
		t.Fatal(err)
	}
	if before.rss <= 0 || before.peak < before.rss/2 || before.cpu <= 0 {
		t.Errorf("%+v", before)
	}
	after, err := usageNow()
	if err != nil || after.cpu < before.cpu || after.peak < before.peak {
		t.Errorf("%v: %+v after %+v", err, after, before)
	}
}

func TestSizeText(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{0: "0 B", 999: "999 B", 1000: "1 KB", 36_000: "36 KB", 10_000_000: "10 MB", 2_500_000_000: "2.5 GB"} {
		if got := cmdline.Size(n); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}

func TestExpectationsBeyondIntegers(t *testing.T) {
	t.Parallel()
	for n, want := range map[float64]string{0: "0 B", 1500: "1.5 KB", 2e12: "2000 GB", 2e13: "20 TB", 2e21: "2e+09 TB"} {
		if got := expectedSize(n); got != want {
			t.Errorf("%g: %q, want %q", n, got, want)
		}
	}
	for s, want := range map[float64]time.Duration{0.26: 300 * time.Millisecond, 60: time.Minute, 1e10: math.MaxInt64, math.Inf(1): math.MaxInt64} {
		if got := expectedTime(s); got != want {
			t.Errorf("%g s: %s, want %s", s, got, want)
		}
	}
}

func TestTenantRatesChart(t *testing.T) {
	t.Parallel()
	c := tenantRates(&scenario.EtherResult{
		TimesS:  []float64{0.001, 0.0025},
		Tenants: []scenario.EtherTenant{{Name: "a", RateBps: []quantity.BitRate{1e9, 3e9}}, {Name: "b"}},
	})
	want := []plot.Point{{X: 0, Y: 1}, {X: 1, Y: 3}, {X: 2.5, Y: 3}}
	if len(c.Series) != 2 || len(c.Series[0].Points) != 3 {
		t.Fatalf("%+v", c)
	}
	for i, p := range want {
		if c.Series[0].Points[i] != p {
			t.Errorf("point %d is %v, want %v", i, c.Series[0].Points[i], p)
		}
	}
	if got := drawable(c.Series); len(got) != 1 || got[0].Name != "a" {
		t.Errorf("drawable %+v", got)
	}
	if got := drawable(make([]plot.Series, 5)); got != nil {
		t.Errorf("empty series are drawn: %v", got)
	}
}

func TestSizeNames(t *testing.T) {
	t.Parallel()
	text, err := i18n.Load("en")
	if err != nil {
		t.Fatal(err)
	}
	a := &app{&cmdline.App{Texts: text}}
	for want, row := range map[string]stats.SlowdownRow{
		"≤ 1 KB": {Above: 300, UpTo: 1000}, "> 10 MB": {Above: 10_000_000}, "all": {},
	} {
		if got := a.sizeName(row); got != want {
			t.Errorf("%+v: %q, want %q", row, got, want)
		}
	}
}
