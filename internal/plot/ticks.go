package plot

import (
	"math"
	"strconv"

	"gonum.org/v1/plot"
)

// Approximate maximum numbers of labelled ticks on a linear axis.
const (
	xTicks = 10.0
	yTicks = 8.0
)

// span is the range of an axis.
type span struct{ low, high float64 }

// fit returns the range of an axis for data from low to high: the requested one, or a round one that contains the data.
// With base, a linear axis starts at zero and ends at a tick.
func (a *Axis) fit(low, high, ticks float64, base bool) span {
	switch {
	case a.Min < a.Max:
		return span{a.Min, a.Max}
	case a.Log:
		s := span{round125(low, false), round125(high, true)}
		if s.low == s.high {
			s = span{s.low / 2, s.high * 2}
		}
		return s
	case base:
		low, high = min(low, 0), max(high, 0)
		if low == high {
			high = 1
		}
		return roundOut(low, high, ticks)
	}
	if margin := max(math.Abs(low), math.Abs(high)) * 1e-6; high-low <= margin {
		margin = max(margin, 0.5)
		return span{low - margin, high + margin}
	}
	if low > 0 && low < high/10 {
		low = 0
	}
	return span{low, high}
}

// roundOut extends a range to ticks, with a small margin, except at an end that is zero. Extending it may need a larger
// step, which extends it further.
func roundOut(low, high, ticks float64) span {
	out := span{low, high}
	for range 3 {
		step, room := linearStep(out.low, out.high, ticks), (high-low)*0.02
		if high > 0 {
			out.high = math.Ceil((high+room)/step) * step
		}
		if low < 0 {
			out.low = math.Floor((low-room)/step) * step
		}
	}
	return out
}

// round125 rounds a positive number to 1, 2 or 5 times a power of ten, up or down.
func round125(v float64, up bool) float64 {
	decade := math.Pow10(int(math.Floor(math.Log10(v) + 1e-12)))
	best := decade
	for _, m := range []float64{1, 2, 5, 10} {
		at := m * decade
		if up && at >= v*(1-1e-9) {
			return at
		}
		if !up && at <= v*(1+1e-9) {
			best = at
		}
	}
	return best
}

// linearStep returns the distance between ticks, for about the given number of them: 1, 2 or 5 times a power of ten.
func linearStep(low, high, ticks float64) float64 { return round125((high-low)/ticks, true) }

// ticks returns the ticks of an axis with a range.
func (a *Axis) ticks(s span, most float64) []plot.Tick {
	if a.Log {
		return logTicks(s)
	}
	return linearTicks(s, most)
}

func linearTicks(s span, most float64) []plot.Tick {
	step := linearStep(s.low, s.high, most)
	div, prefix := 1.0, ""
	if top := max(math.Abs(s.low), math.Abs(s.high)); top >= 1e5 {
		div, prefix = siPrefix(top)
	}
	var out []plot.Tick
	for k := math.Ceil(s.low/step - 1e-9); k*step <= s.high+step*1e-9; k++ {
		label := fixed(k*step/div, step/div)
		if label != "0" {
			label += prefix
		}
		out = append(out, plot.Tick{Value: k * step, Label: label})
	}
	return out
}

// fixed returns a multiple of a step with the decimals that the step needs.
func fixed(v, step float64) string {
	if math.Abs(v) < step/2 {
		return "0"
	}
	decimals := int(-math.Floor(math.Log10(step) + 1e-9))
	if decimals > 5 {
		digits := int(math.Ceil(math.Log10(max(math.Abs(v)/step, 1)))) + 1
		return strconv.FormatFloat(v, 'g', digits, 64)
	}
	return strconv.FormatFloat(v, 'f', max(decimals, 0), 64)
}

// logTicks labels powers of ten; on short ranges also 2 and 5 times these, and on long ones not every power.
func logTicks(s span) []plot.Tick {
	first, last := math.Floor(math.Log10(s.low)+1e-9), math.Ceil(math.Log10(s.high)-1e-9)
	decades := math.Log10(s.high / s.low)
	every := math.Ceil(decades / 9)
	var out []plot.Tick
	labelled := 0
	for d := first; d <= last; d++ {
		for m := 1.0; m < 10; m++ {
			v := m * math.Pow10(int(d))
			if v < s.low*(1-1e-9) || v > s.high*(1+1e-9) {
				continue
			}
			t := plot.Tick{Value: min(max(v, s.low), s.high)}
			if m == 1 && math.Mod(d-first, every) == 0 || decades <= 2.5 && (m == 1 || m == 2 || m == 5) {
				t.Label = logLabel(v, s)
				labelled++
			}
			if t.Label != "" || every == 1 {
				out = append(out, t)
			}
		}
	}
	if labelled < 2 {
		// A fixed range within one step of 1, 2, 5 has labels at its ends.
		return []plot.Tick{{Value: s.low, Label: shortNumber(s.low)}, {Value: s.high, Label: shortNumber(s.high)}}
	}
	return out
}

// logLabel returns the label of a tick on a logarithmic axis; if others have SI prefixes, a thousand has one too.
func logLabel(v float64, s span) string {
	if v >= 999 && v < 1e4 && s.high >= 1e5 {
		return strconv.FormatFloat(v/1000, 'g', 3, 64) + "k"
	}
	return shortNumber(v)
}

// siPrefix returns the largest power of 1000 that does not exceed v, with its SI prefix.
func siPrefix(v float64) (div float64, prefix string) {
	div = 1
	for _, p := range []string{"k", "M", "G", "T", "P", "E"} {
		if v < div*1000*(1-1e-9) {
			break
		}
		div, prefix = div*1000, p
	}
	return div, prefix
}

// shortNumber returns a value with three digits: 0.25, 36k, 10M.
func shortNumber(v float64) string {
	a := math.Abs(v)
	if a >= 1e4*(1-1e-9) {
		div, prefix := siPrefix(a * (1 + 1e-9))
		return strconv.FormatFloat(v/div, 'g', 3, 64) + prefix
	}
	if a >= 1000 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}
