package obs

import (
	"fmt"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
)

// Label is a label of a metric.
type Label struct{ Name, Value string }

// Gather calls add for every value of the metrics whose names are wanted, as a scrape has them: a histogram is three metrics. Measured
// series are not among them. Metrics that could not be read are in the error.
func (m *Metrics) Gather(wanted func(name string) bool, add func(name string, labels []Label, value float64)) error {
	list, err := m.registry.Gather()
	for _, f := range list {
		name := f.GetName()
		for _, x := range f.GetMetric() {
			var labels []Label
			for _, l := range x.GetLabel() {
				labels = append(labels, Label{l.GetName(), l.GetValue()})
			}
			give := func(name string, labels []Label, v float64) {
				if wanted(name) {
					add(name, labels, v)
				}
			}
			switch h := x.GetHistogram(); {
			case h != nil:
				bucket := func(le string, n uint64) { give(name+"_bucket", append([]Label{{"le", le}}, labels...), float64(n)) }
				for _, b := range h.GetBucket() {
					bucket(strconv.FormatFloat(b.GetUpperBound(), 'g', -1, 64), b.GetCumulativeCount())
				}
				bucket("+Inf", h.GetSampleCount())
				give(name+"_count", labels, float64(h.GetSampleCount()))
				give(name+"_sum", labels, h.GetSampleSum())
			case x.GetCounter() != nil:
				give(name, labels, x.GetCounter().GetValue())
			case x.GetGauge() != nil:
				give(name, labels, x.GetGauge().GetValue())
			}
		}
	}
	if err != nil {
		return fmt.Errorf("read the metrics: %w", err)
	}
	return nil
}

// Measured is the latest value of a series that measurements of fabrics produce.
type Measured struct {
	Name, Help string
	Counter    bool // else a gauge
	Labels     []Label
	Value      float64
}

// WatchMeasured adds the series that latest returns to those that Handler serves. Unlike other metrics they name fabrics and tenants. Call it once.
func (m *Metrics) WatchMeasured(latest func() []Measured) error {
	if err := m.measured.Register(measured{latest}); err != nil {
		return fmt.Errorf("register the measured series: %w", err)
	}
	return nil
}

// measured gives measured series as metrics. It describes none, since they come and go.
type measured struct{ latest func() []Measured }

var _ prometheus.Collector = measured{}

func (measured) Describe(chan<- *prometheus.Desc) {}

func (c measured) Collect(to chan<- prometheus.Metric) {
	for _, s := range c.latest() {
		names, values := make([]string, len(s.Labels)), make([]string, len(s.Labels))
		for i, l := range s.Labels {
			names[i], values[i] = l.Name, l.Value
		}
		kind := prometheus.GaugeValue
		if s.Counter {
			kind = prometheus.CounterValue
		}
		d := prometheus.NewDesc(s.Name, s.Help, names, nil)
		x, err := prometheus.NewConstMetric(d, kind, s.Value, values...)
		if err != nil {
			x = prometheus.NewInvalidMetric(d, err)
		}
		to <- x
	}
}
