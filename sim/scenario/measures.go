package scenario

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"fairlane/internal/quantity"
	"fairlane/internal/stats"
)

// Measure is a quantity by which runs are compared.
type Measure int

// The measures, in the order of tables. A measure that a plane does not have is NaN.
const (
	Completed   Measure = iota // completed flows
	FCTMean                    // us, over completed flows
	SlowdownP50                // completion time divided by the ideal completion time; Ethernet only
	SlowdownP99
	Utilisation // utilization of the busiest link direction, 0 to 1
	Jain        // Jain index of rates divided by weights, 0 to 1
	ShareError  // largest share error of a tenant: over contended time on Ethernet, otherwise over the counted time
	Pauses      // PFC pause frames; Ethernet only
	Drops       // dropped packets
	Hops        // links traversed, summed over all data packets
	numMeasures
)

// String returns the name of a measure in files, with its unit.
func (m Measure) String() string {
	names := [numMeasures]string{
		"completed", "fct_mean_us", "slowdown_p50", "slowdown_p99", "utilisation", "jain", "share_error", "pauses", "drops", "packet_hops",
	}
	if m < 0 || m >= numMeasures {
		return fmt.Sprintf("Measure(%d)", int(m))
	}
	return names[m]
}

// AllMeasures returns the measures in the order of tables.
func AllMeasures() []Measure {
	out := make([]Measure, numMeasures)
	for i := range out {
		out[i] = Measure(i)
	}
	return out
}

// Measures are the values of one run, or a statistic over several runs, by Measure.
type Measures [numMeasures]float64

// noMeasures returns NaN for every measure.
func noMeasures() (m Measures) {
	for i := range m {
		m[i] = math.NaN()
	}
	return m
}

// MarshalJSON returns an object with the measures by name; NaN becomes null.
func (m Measures) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	for i, v := range m {
		text := []byte("null")
		if !math.IsNaN(v) {
			var err error
			if text, err = json.Marshal(v); err != nil {
				return nil, fmt.Errorf("%s: %w", Measure(i), err)
			}
		}
		fmt.Fprintf(&b, ",%q:%s", Measure(i), text)
	}
	text := append(b.Bytes(), '}')
	text[0] = '{'
	return text, nil
}

// UnmarshalJSON decodes the output of MarshalJSON.
func (m *Measures) UnmarshalJSON(data []byte) error {
	var by map[string]*float64
	if err := json.Unmarshal(data, &by); err != nil {
		return fmt.Errorf("measures: %w", err)
	}
	if by == nil {
		return errors.New("measures: null: want an object")
	}
	for i := range m {
		m[i] = math.NaN()
		if v := by[Measure(i).String()]; v != nil {
			m[i] = *v
		}
	}
	return nil
}

// Measures returns the measures of the run.
func (r *EtherResult) Measures() Measures {
	m := noMeasures()
	m[Completed] = float64(r.Flows.Completed)
	if r.FCT.Count > 0 {
		m[FCTMean] = r.FCT.Mean
	}
	if r.Slowdown.Flows > 0 {
		m[SlowdownP50], m[SlowdownP99] = r.Slowdown.P50, r.Slowdown.P99
	}
	m[Utilisation], m[Jain] = r.Utilisation, r.Jain
	if r.ContendedS > 0 {
		m[ShareError] = r.MaxShareError
	}
	m[Pauses], m[Drops], m[Hops] = float64(r.Totals.Pauses), float64(r.Totals.Dropped), float64(r.Totals.Hops)
	return m
}

// measures returns the measures of an InfiniBand run of s.
func (r *Result) measures(s *Scenario) Measures {
	m := noMeasures()
	var fct stats.Moments
	for i := range r.Flows {
		if done := r.Flows[i].CompletedS; done > 0 {
			fct.Add((done - s.Flows[i].Start.Seconds()) * 1e6)
		}
	}
	m[Completed] = float64(fct.Count())
	if fct.Count() > 0 {
		m[FCTMean] = fct.Mean()
	}
	m[Utilisation] = 0
	for i := range r.Links {
		m[Utilisation] = max(m[Utilisation], r.Links[i].Use)
	}
	var rates []quantity.BitRate
	var weights []quantity.Weight
	for i := range r.Tenants {
		rates, weights = append(rates, r.Tenants[i].DeliveredBps), append(weights, r.Tenants[i].Weight)
	}
	m[Jain] = r.Jain
	if errs, err := stats.WeightedShareErrors(rates, weights); err == nil && len(rates) > 1 {
		m[ShareError] = 0
		for _, e := range errs {
			m[ShareError] = max(m[ShareError], e)
		}
	}
	m[Drops], m[Hops] = float64(r.Totals.Discards), float64(r.Totals.Hops)
	return m
}

// summary returns means and sample standard deviations over runs. NaN values are ignored; the deviation of fewer than two
// values is NaN.
func summary(runs []Measures) (mean, deviation Measures) {
	mean, deviation = noMeasures(), noMeasures()
	for i := range mean {
		var all stats.Moments
		for k := range runs {
			if v := runs[k][i]; !math.IsNaN(v) {
				all.Add(v)
			}
		}
		if all.Count() > 0 {
			mean[i] = all.Mean()
		}
		if all.Count() > 1 {
			deviation[i] = math.Sqrt(all.SampleVariance())
		}
	}
	return mean, deviation
}
