// Package quantity defines the quantities that all packages share, each with its unit in its type: bit rates, simulated
// time and tenant weights. It imports only the standard library.
package quantity

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// BitRate is a data rate in bits per second. The zero value means "unknown" or "unlimited", as each field documents.
type BitRate int64

// Common rates.
const (
	BitPerSecond BitRate = 1
	Kbps                 = 1000 * BitPerSecond
	Mbps                 = 1000 * Kbps
	Gbps                 = 1000 * Mbps
	Tbps                 = 1000 * Gbps
)

// MaxBitRate is the largest rate that the parsers accept: 100 Tbit/s.
const MaxBitRate = 100 * Tbps

// Gbit returns the rate in Gbit/s.
func (r BitRate) Gbit() float64 { return float64(r) / 1e9 }

// String returns the rate in the largest unit that gives at least one, with at most three decimals: "57.143 Gbit/s".
func (r BitRate) String() string {
	neg := ""
	if r < 0 {
		neg, r = "-", -r
	}
	unit, div := "bit/s", BitPerSecond
	switch {
	case r >= Tbps:
		unit, div = "Tbit/s", Tbps
	case r >= Gbps:
		unit, div = "Gbit/s", Gbps
	case r >= Mbps:
		unit, div = "Mbit/s", Mbps
	case r >= Kbps:
		unit, div = "kbit/s", Kbps
	}
	return neg + trimDecimals(float64(r)/float64(div)) + " " + unit
}

// ParseBitRate parses a rate such as "100Gbit/s", "2.5 Gbps", "400G" or "1000000". It returns an *Error for invalid,
// negative and out-of-range rates. For a positive number below 1 Mbit/s without a unit, the error is ErrNoUnit.
func ParseBitRate(s string) (BitRate, error) {
	num, unit := splitUnit(s)
	mul, ok := map[string]BitRate{
		"": 1, "bit/s": 1, "bps": 1,
		"k": Kbps, "kbit/s": Kbps, "kbps": Kbps, "m": Mbps, "mbit/s": Mbps, "mbps": Mbps,
		"g": Gbps, "gbit/s": Gbps, "gbps": Gbps, "t": Tbps, "tbit/s": Tbps, "tbps": Tbps,
	}[strings.ToLower(unit)]
	v, err := strconv.ParseFloat(num, 64)
	if err != nil || !ok || math.IsNaN(v) || v < 0 || v*float64(mul) > float64(MaxBitRate) {
		return 0, &Error{WantRate, strconv.Quote(s)}
	}
	if unit == "" && v > 0 && v < float64(Mbps) {
		return 0, &Error{WantRateUnit, strconv.Quote(s)}
	}
	return BitRate(math.Round(v * float64(mul))), nil
}

// ErrNoUnit reports a positive number without a unit that is so small that the unit is probably missing.
var ErrNoUnit = errors.New("rate without a unit")

// Picoseconds is a span or an instant of simulated or propagation time, in units of 10^-12 s. The range of int64 covers
// 106 days.
type Picoseconds int64

// Common spans.
const (
	Picosecond  Picoseconds = 1
	Nanosecond              = 1000 * Picosecond
	Microsecond             = 1000 * Nanosecond
	Millisecond             = 1000 * Microsecond
	Second                  = 1000 * Millisecond
)

// Elapsed converts a span of wall time to picoseconds; one of more than 106 days becomes the longest that fits.
func Elapsed(d time.Duration) Picoseconds {
	return min(max(Picoseconds(d), math.MinInt64/Nanosecond), math.MaxInt64/Nanosecond) * Nanosecond
}

// Duration returns the span as a time.Duration, truncated to nanoseconds.
func (p Picoseconds) Duration() time.Duration { return time.Duration(p / Nanosecond) }

// Seconds returns the span in seconds.
func (p Picoseconds) Seconds() float64 { return float64(p) / 1e12 }

// String returns the span in the largest unit that gives at least one.
func (p Picoseconds) String() string {
	neg := ""
	if p < 0 {
		neg, p = "-", -p
	}
	unit, div := "ps", Picosecond
	switch {
	case p >= Second:
		unit, div = "s", Second
	case p >= Millisecond:
		unit, div = "ms", Millisecond
	case p >= Microsecond:
		unit, div = "us", Microsecond
	case p >= Nanosecond:
		unit, div = "ns", Nanosecond
	}
	return neg + trimDecimals(float64(p)/float64(div)) + " " + unit
}

// ParsePicoseconds parses a span such as "1us", "500 ns" or "1.5ms". A unit is required unless the number is zero. It
// rejects negative spans and spans over 1000 s.
func ParsePicoseconds(s string) (Picoseconds, error) {
	num, unit := splitUnit(s)
	mul, ok := map[string]Picoseconds{
		"ps": Picosecond, "ns": Nanosecond, "us": Microsecond, "µs": Microsecond, "ms": Millisecond, "s": Second,
	}[strings.ToLower(unit)]
	v, err := strconv.ParseFloat(num, 64)
	if err == nil && v == 0 && unit == "" {
		return 0, nil
	}
	if err != nil || !ok || math.IsNaN(v) || v < 0 || v*float64(mul) > 1000*float64(Second) {
		return 0, &Error{WantDuration, strconv.Quote(s)}
	}
	return Picoseconds(math.Round(v * float64(mul))), nil
}

// Weight is a tenant's or a class's weight in thousandths: Weight(1500) is 1.5. Valid weights are MinWeight to
// MaxWeight; the zero value means no weight.
type Weight uint32

// Limits of a valid weight, 0.001 and 1,000,000, and the weight one.
const (
	MinWeight Weight = 1
	WeightOne Weight = 1000
	MaxWeight Weight = 1_000_000_000
)

// Float returns the weight as a number: WeightOne.Float() is 1.
func (w Weight) Float() float64 { return float64(w) / 1000 }

// String returns the weight with at most three decimals.
func (w Weight) String() string { return trimDecimals(w.Float()) }

// Validate reports a weight outside MinWeight..MaxWeight.
func (w Weight) Validate() error {
	if w < MinWeight || w > MaxWeight {
		return &Error{WantWeight, w.String()}
	}
	return nil
}

// ParseWeight parses a weight such as "4" or "1.5". It rejects zero, negative, NaN and out-of-range weights, and more
// than three decimals.
func ParseWeight(s string) (Weight, error) {
	v, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	if err != nil {
		return 0, &Error{WantWeight, strconv.Quote(s)}
	}
	return WeightFromFloat(v)
}

// WeightFromFloat converts a number to a weight by the rules of ParseWeight.
func WeightFromFloat(v float64) (Weight, error) {
	m := v * 1000
	if !(v >= 0.001 && v <= 1e6) {
		return 0, &Error{WantWeight, fmt.Sprint(v)}
	}
	// A weight with three decimals has a rounding error of at most 3e-7 thousandths.
	if r := math.Round(m); math.Abs(r-m) > 1e-6 {
		return 0, &Error{WantDecimals, fmt.Sprint(v)}
	}
	return Weight(math.Round(m)), nil
}

func splitUnit(s string) (num, unit string) {
	s = strings.TrimSpace(s)
	i := 0
	for i < len(s) && (s[i] >= '0' && s[i] <= '9' || s[i] == '.' || s[i] == '+' || s[i] == '-' ||
		(s[i] == 'e' || s[i] == 'E') && i+1 < len(s) && (s[i+1] >= '0' && s[i+1] <= '9' || s[i+1] == '-' || s[i+1] == '+')) {
		i++
	}
	return s[:i], strings.TrimSpace(s[i:])
}

func trimDecimals(v float64) string {
	s := strconv.FormatFloat(v, 'f', 3, 64)
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
}

// Percent formats an estimated fraction, such as an error bound, in percent: with two significant digits, and as an
// integer from 10 % up: "4.2 %", "0.05 %", "100 %".
func Percent(fraction float64) string {
	percent := 100 * fraction
	digits := 0
	for at := 10.0; digits < 3 && math.Abs(percent) < at; at /= 10 {
		digits++
	}
	text := strconv.FormatFloat(percent, 'f', digits, 64)
	if digits > 0 {
		text = strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
	}
	return text + " %"
}
