package quantity_test

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"fairlane/internal/quantity"
)

func TestBitRateText(t *testing.T) {
	t.Parallel()
	for r, want := range map[quantity.BitRate]string{
		0: "0 bit/s", 1: "1 bit/s", 999: "999 bit/s", 1000: "1 kbit/s", 1_500_000: "1.5 Mbit/s",
		57_142_857_143: "57.143 Gbit/s", 100 * quantity.Gbps: "100 Gbit/s", 2 * quantity.Tbps: "2 Tbit/s", -10 * quantity.Gbps: "-10 Gbit/s",
		10 * quantity.Mbps: "10 Mbit/s",
	} {
		if got := r.String(); got != want {
			t.Errorf("%d: %q, want %q", int64(r), got, want)
		}
	}
	if got := (25 * quantity.Gbps).Gbit(); got != 25 {
		t.Errorf("25 Gbit/s are %v Gbit/s", got)
	}
}

func TestPercentHasTwoDigitsAndNoPowerOfTen(t *testing.T) {
	t.Parallel()
	for fraction, want := range map[float64]string{
		0: "0 %", 0.0005: "0.05 %", 0.0123: "1.2 %", 0.0425: "4.2 %", 0.05: "5 %", 0.0996: "10 %", 0.125: "12 %", 0.996: "100 %", 1: "100 %", 12.34: "1234 %", 0.00001: "0.001 %",
	} {
		if got := quantity.Percent(fraction); got != want {
			t.Errorf("%v is %q, want %q", fraction, got, want)
		}
	}
}

func TestParseBitRate(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]quantity.BitRate{
		"100Gbit/s": 100e9, "2.5 Gbps": 2.5e9, "400G": 400e9, "1000000": 1e6, " 10 mbit/s ": 10e6, "1k": 1000, "1e3 kbit/s": 1e6,
		"1E+2g": 100e9, "0": 0, "100 Tbit/s": quantity.MaxBitRate, "0.0000000004G": 0, "1.5 bps": 2, "7T": 7e12,
	} {
		if got, err := quantity.ParseBitRate(text); err != nil || got != want {
			t.Errorf("%q: %d, %v; want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "G", "fast", "-1G", "100.1 Tbit/s", "1e400", "NaN", "Inf", "1 Gbyte/s", "1G 2G", "1.2.3G", "--1", "1e", "0x10"} {
		got, err := quantity.ParseBitRate(text)
		if err == nil {
			t.Errorf("%q is read as %s", text, got)
			continue
		}
		if !strings.Contains(err.Error(), "want a number from 0 to 100 Tbit/s") {
			t.Errorf("%q: error %q does not say what is allowed", text, err)
		}
	}
}

func TestATinyRateWithoutUnitIsRejected(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"40", "1", "0.5", " 999999 "} {
		if _, err := quantity.ParseBitRate(text); !errors.Is(err, quantity.ErrNoUnit) {
			t.Errorf("%q: %v", text, err)
		}
	}
	for _, text := range []string{"40bit/s", "0", "0.0", "1000000", "1kbit/s"} {
		if _, err := quantity.ParseBitRate(text); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestPicosecondsText(t *testing.T) {
	t.Parallel()
	for p, want := range map[quantity.Picoseconds]string{
		0: "0 ps", 999: "999 ps", 1000: "1 ns", 1_500_000: "1.5 us", 3 * quantity.Millisecond: "3 ms", 2 * quantity.Second: "2 s", -quantity.Microsecond: "-1 us",
	} {
		if got := p.String(); got != want {
			t.Errorf("%d: %q, want %q", int64(p), got, want)
		}
	}
	if got := (1500 * quantity.Millisecond).Seconds(); got != 1.5 {
		t.Errorf("1500 ms are %v s", got)
	}
}

func TestParsePicoseconds(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]quantity.Picoseconds{
		"1us": quantity.Microsecond, "500 ns": 500_000, "1.5ms": 1_500_000_000, "0": 0, "0ps": 0, "7 ps": 7, "2 µs": 2_000_000, "1 S": quantity.Second,
		"1000 s": 1000 * quantity.Second, "0.4ps": 0,
	} {
		if got, err := quantity.ParsePicoseconds(text); err != nil || got != want {
			t.Errorf("%q: %d, %v; want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "5", "us", "-1us", "1001 s", "1 h", "NaNus", "1e400s", "0 h"} {
		got, err := quantity.ParsePicoseconds(text)
		if err == nil {
			t.Errorf("%q is read as %s", text, got)
			continue
		}
		if !strings.Contains(err.Error(), "want a number from 0 to 1000 s with one of the units") {
			t.Errorf("%q: error %q does not say what is allowed", text, err)
		}
	}
}

func TestParseWeight(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]quantity.Weight{
		"1": quantity.WeightOne, "4": 4000, "1.5": 1500, "0.001": quantity.MinWeight, "1000000": quantity.MaxWeight, " 2.000 ": 2000, "0.1": 100, "1e3": 1_000_000,
		"999999.999": 999_999_999, "0.7": 700,
	} {
		if got, err := quantity.ParseWeight(text); err != nil || got != want {
			t.Errorf("%q: %d, %v; want %d", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"": "want a number", "heavy": "want a number", "0": "want a number from 0.001", "-1": "want a number from 0.001", "0.0009": "want a number from 0.001",
		"1000000.001": "want a number from 0.001 to 1000000", "NaN": "want a number from 0.001", "Inf": "want a number from 0.001",
		"1.0001": "want at most three decimals", "0.0015": "want at most three decimals", "999999.9995": "want at most three decimals", "1e400": "want a number",
	} {
		got, err := quantity.ParseWeight(text)
		if err == nil {
			t.Errorf("%q is read as %s", text, got)
			continue
		}
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %q, want %q", text, err, want)
		}
	}
}

func TestWeightBounds(t *testing.T) {
	t.Parallel()
	for w, ok := range map[quantity.Weight]bool{0: false, 1: true, 1000: true, quantity.MaxWeight: true, quantity.MaxWeight + 1: false, math.MaxUint32: false} {
		if err := w.Validate(); (err == nil) != ok {
			t.Errorf("weight %d: %v", w, err)
		}
	}
	if quantity.Weight(1500).Float() != 1.5 || quantity.Weight(1500).String() != "1.5" {
		t.Error("1500 thousandths are not 1.5")
	}
}

func TestEveryLegalWeightSurvivesItsTextAndNumber(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := quantity.Weight(rapid.Uint32Range(uint32(quantity.MinWeight), uint32(quantity.MaxWeight)).Draw(t, "weight"))
		if got, err := quantity.ParseWeight(w.String()); err != nil || got != w {
			t.Fatalf("text %s: %d, %v", w, got, err)
		}
		if got, err := quantity.WeightFromFloat(w.Float()); err != nil || got != w {
			t.Fatalf("number %v: %d, %v", w.Float(), got, err)
		}
	})
}

// A text has three decimals, so the parsed value deviates by at most half a thousandth of the unit.
func TestTextIsWithinARoundingOfTheValue(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := quantity.BitRate(rapid.Int64Range(0, int64(quantity.MaxBitRate)).Draw(t, "rate"))
		back, err := quantity.ParseBitRate(r.String())
		if err != nil || math.Abs(float64(back-r)) > float64(r)/2000+1 {
			t.Fatalf("rate %d: %s reads as %d, %v", int64(r), r, int64(back), err)
		}
		p := quantity.Picoseconds(rapid.Int64Range(0, int64(1000*quantity.Second)).Draw(t, "span"))
		span, err := quantity.ParsePicoseconds(p.String())
		if err != nil || math.Abs(float64(span-p)) > float64(p)/2000+1 {
			t.Fatalf("span %d: %s reads as %d, %v", int64(p), p, int64(span), err)
		}
	})
}

func FuzzParsers(f *testing.F) {
	for _, s := range []string{"100Gbit/s", "1.5 us", "-0", "1e9", "0x1p4", "4"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if r, err := quantity.ParseBitRate(s); err == nil && (r < 0 || r > quantity.MaxBitRate) {
			t.Errorf("rate %q is %d", s, int64(r))
		}
		if p, err := quantity.ParsePicoseconds(s); err == nil && (p < 0 || p > 1000*quantity.Second) {
			t.Errorf("span %q is %d", s, int64(p))
		}
		if w, err := quantity.ParseWeight(s); err == nil && w.Validate() != nil {
			t.Errorf("weight %q is %d", s, w)
		}
	})
}

func TestSpansOfWallTime(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]quantity.Picoseconds{0: 0, time.Nanosecond: 1000, -3 * time.Millisecond: -3 * quantity.Millisecond, 100 * 24 * time.Hour: 8_640_000 * quantity.Second} {
		if got := quantity.Elapsed(d); got != want || got.Duration() != d {
			t.Errorf("%s: %d, back %s; want %d", d, got, got.Duration(), want)
		}
	}
	if got := (1999 * quantity.Picosecond).Duration(); got != time.Nanosecond {
		t.Errorf("1999 ps are %s, want 1ns", got)
	}
	for _, d := range []time.Duration{math.MaxInt64, math.MinInt64, 107 * 24 * time.Hour} {
		if got := quantity.Elapsed(d); (got > 0) != (d > 0) || got.Duration().Abs() < 106*24*time.Hour {
			t.Errorf("%s: %s, want the longest span", d, got)
		}
	}
}
