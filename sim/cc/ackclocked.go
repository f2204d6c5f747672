package cc

import "fairlane/internal/quantity"

// ackClocked is embedded by algorithms that react to acknowledgements only: no timers, no notification packets, no accounting
// of sent packets.
type ackClocked struct{}

func (ackClocked) Settle(int32, quantity.Picoseconds, *Control)    {}
func (ackClocked) Sent(int32, quantity.Picoseconds, int, *Control) {}
func (ackClocked) Notify(int32, *Notification, *Control)           {}

// grown returns s with length n and its contents preserved.
func grown[T any](s []T, n int) []T {
	if n <= len(s) {
		return s
	}
	out := make([]T, n)
	copy(out, s)
	return out
}

// windowOf returns the variable window of the reference simulators: full at line rate, proportional to the rate below, and at
// least one byte, which allows one packet at a time.
func windowOf(full int64, rate, line float64) int64 {
	return max(1, int64(float64(full)*rate/line))
}

// boundRate returns rate limited to [low, line]; low is limited to the line rate first. NaN becomes low.
func boundRate(rate, low, line float64) float64 {
	if rate > low { // false for NaN, which min and max would pass on
		low = rate
	}
	return min(low, line)
}

// windowParam returns the parameter "window" of the rate-based algorithms, with the named default.
func windowParam(def int) Param {
	return Param{
		Name: "window", Kind: ParamWord, Default: float64(def), Words: []string{"variable", "fixed", "none"},
		Doc: "bound on the payload bytes in flight: the flow's bandwidth-delay product times rate / line rate, " +
			"the whole product, or none",
	}
}

// Values of the parameter "window".
const (
	windowVariable = iota
	windowFixed
	windowNone
)

// windowFor returns the window at a rate; mode is a value of the parameter "window".
func windowFor(mode uint8, full int64, rate, line float64) int64 {
	switch mode {
	case windowVariable:
		return windowOf(full, rate, line)
	case windowFixed:
		return max(1, full)
	default:
		return 0
	}
}

// minRateParam returns the parameter "min_rate"; the reference simulators use 1 Gbit/s.
func minRateParam() Param {
	return Param{
		Name: "min_rate", Kind: ParamRate, Default: 1e9, Min: 1e6, Max: 100e9,
		Doc: "lowest rate of a flow, bit/s; a flow of a slower NIC runs at line rate",
	}
}
