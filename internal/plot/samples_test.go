package plot

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"fairlane/internal/quantity"
	"fairlane/internal/stats"
)

// samples are charts of every kind, as programs build them.
func samples(t testing.TB) map[string]Chart {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	rate := func(name string, mean, jitter float64, entitled quantity.BitRate) Rate {
		r := Rate{Name: name, Entitled: entitled}
		for i := range 400 {
			r.Bps = append(r.Bps, quantity.BitRate(max(0, mean*(1-math.Exp(-float64(i)/40))+jitter*rng.NormFloat64())*1e9))
		}
		return r
	}
	rates := RatesOverTime("Rates of three tenants of weight 4, 2, 1", 50*quantity.Microsecond, []Rate{
		rate("gold", 57, 1, 57_142_857_143), rate("silver", 28.6, 0.8, 28_571_428_571), rate("bronze", 14.3, 0.5, 14_285_714_286),
	})
	rates.Subtitle = "scenario ib16, seed 1, simulated"
	h, err := stats.NewHistogram(0.01)
	if err != nil {
		t.Fatal(err)
	}
	var rtt []float64
	for range 20000 {
		v := 4e6 * math.Exp(0.4*rng.NormFloat64())
		h.Record(int64(v))
		rtt = append(rtt, v/1e6*1.7)
	}
	cdfs := CDFs("Round-trip times of the 20-to-1 incast", Axis{Label: "round-trip time", Unit: "us"},
		[]Distribution{{"HPCC", HistogramCDF(h, 1e6)}, {"DCQCN", CDF(rtt)}})
	logCDF := CDFs("Queue length, 60-to-1 incast", Axis{Label: "queue", Unit: "B", Log: true}, []Distribution{{"TIMELY", HistogramCDF(h, 1)}})
	sizes := stats.HadoopSizeBounds()
	var slow []SlowdownSeries
	for i, name := range []string{"PIDNN+RTTch+WIN", "HPCC", "TIMELY", "DCTCP", "DCQCN"} {
		s := SlowdownSeries{Name: name}
		for j, b := range sizes {
			s.Rows = append(s.Rows, stats.SlowdownRow{UpTo: b, P95: 1 + float64(i*i)*8*math.Exp(-float64(j)/15) + float64(j)/8})
		}
		slow = append(slow, s)
	}
	slowdown, err := SlowdownBySize("Slowdown by flow size, fat tree with 320 hosts", 95, slow)
	if err != nil {
		t.Fatal(err)
	}
	bars := PublishedBesideOurs("S3, 20-to-1 incast: mean round-trip time", Axis{Label: "mean RTT", Unit: "us"},
		[]Comparison{{"LSTM+PID", 5.03, 5.21}, {"HPCC", 4.32, 4.4}, {"TIMELY", 11.98, 12.7}, {"DCTCP", 14.66, 14.1}})
	var many []Comparison
	for i := range 14 {
		many = append(many, Comparison{fmt.Sprintf("s1-fairness / jain-%dflows.off with a long name", i), 0.9 + float64(i)/100, 0.91 + float64(i)/120})
	}
	manyBars := PublishedBesideOurs("Fairness, all rows", Axis{Label: "Jain index"}, many)
	logBars := PublishedBesideOurs("BECNs, counted", Axis{Label: "BECNs", Log: true}, []Comparison{{"A", 12, 15}, {"B", 1200, 1100}, {"C", 250000, 260000}})
	var cct []Table
	for _, q := range []float64{1.03, 1.05, 1.08} {
		tb := Table{Name: fmt.Sprintf("geometric %.2f", q)}
		for i := range 128 {
			tb.Bps = append(tb.Bps, quantity.BitRate(100e9/(1+3*(math.Pow(q, float64(i))-1))))
		}
		cct = append(cct, tb)
	}
	twenty := Chart{Title: "Twenty flows onto one port " + string(slices.Repeat([]rune("and a very long title "), 12)), X: Axis{Label: "time", Unit: "ms"}, Y: Axis{Label: "rate", Unit: "Gbit/s"}}
	for i := range 20 {
		s := Series{Name: fmt.Sprintf("flow %d of a tenant with a rather long name, port %d", i, i)}
		for k := range 30000 {
			s.Points = append(s.Points, Point{float64(k) / 1000, 5 + 3*math.Sin(float64(k)/3000+float64(i)) + 0.3*rng.NormFloat64()})
		}
		twenty.Series = append(twenty.Series, s)
	}
	scatter := Chart{Title: "Completion time by size", X: Axis{Label: "flow size", Unit: "B", Log: true}, Y: Axis{Label: "completion time", Unit: "us", Log: true}, Series: []Series{{Kind: Scatter}}}
	for range 5000 {
		x := math.Exp(rng.Float64() * 12)
		scatter.Series[0].Points = append(scatter.Series[0].Points, Point{x * 100, (2 + x*0.01) * math.Exp(0.5*math.Abs(rng.NormFloat64()))})
	}
	bits := Chart{Title: "Bytes", X: Axis{Label: "t", Unit: "s"}, Y: Axis{Label: "queued", Unit: "B"}, Series: []Series{{Name: "negative", Points: []Point{{0, -250000}, {1, 1.2e6}}}}}
	return map[string]Chart{
		"rates": rates, "cdf": cdfs, "cdf-log": logCDF, "slowdown": slowdown, "bars": bars, "bars-many": manyBars, "bars-log": logBars,
		"cct": CCTs("Congestion-control tables, 100 Gbit/s", cct), "twenty": twenty, "scatter": scatter, "negative": bits,
		"point": {Title: "One point", Series: []Series{{Points: []Point{{5, 5}}, Kind: LinePoints}}},
	}
}
