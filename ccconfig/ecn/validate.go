package ecn

import (
	"fmt"

	"fairlane/internal/fieldwise"
)

// Limits of a WRED profile in SONiC's CONFIG_DB (WRED_PROFILE: thresholds in bytes, probability in whole percent).
const (
	MaxThreshold = 1 << 32
	MaxPercent   = 100
	MaxQueue     = 7
)

// Validate returns a *fieldwise.Error for the first value outside a switch's legal range.
func (m Marking) Validate() error {
	for _, f := range []struct {
		name         string
		v, low, high int64
	}{
		{"min_bytes", m.Min, 0, MaxThreshold},
		{"max_bytes", m.Max, m.Min, MaxThreshold},
		{"p_max_percent", int64(m.PMaxPct), 0, MaxPercent},
	} {
		if f.v < f.low || f.v > f.high {
			return fieldwise.Bad(f.name, f.v, fmt.Sprintf("%d..%d", f.low, f.high))
		}
	}
	return nil
}

// Validate checks the marking, and that the queue number is 0 to 7.
func (q QueueMarking) Validate() error {
	if q.Queue > MaxQueue {
		return fieldwise.Bad("queue", q.Queue, "0..7")
	}
	return q.Marking.Validate()
}

// Probability returns the marking probability at a queue length in bytes, 0 to 1.
func (m Marking) Probability(queue int64) float64 {
	switch {
	case queue < m.Min:
		return 0
	case queue >= m.Max:
		return 1
	}
	return float64(m.PMaxPct) / 100 * float64(queue-m.Min) / float64(m.Max-m.Min)
}
