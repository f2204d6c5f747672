package obs

import (
	"fmt"
	"net/http"
	"runtime"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Metrics is the service's registry. It is safe for concurrent use. Labels take their values from small closed
// sets: the contract's routes, problem codes, states; never names that a user chose.
type Metrics struct {
	registry *prometheus.Registry
	measured *prometheus.Registry // what WatchMeasured adds: too many series to gather for the rules, which read none of them

	inFlight                               prometheus.Gauge
	requests, bytes, problems, refused     *prometheus.CounterVec
	storeErrors, read                      *prometheus.CounterVec
	becn, congestion, unattributed, unread *prometheus.CounterVec
	durations                              *prometheus.HistogramVec
	compile, discover, measure, store      *prometheus.HistogramVec
	sweep                                  *prometheus.HistogramVec
	seriesErrors                           prometheus.Counter
	notifications, pushes                  *prometheus.CounterVec
	auditLag                               *prometheus.GaugeVec
}

// buckets are the upper bounds of durations, in seconds: from an indexed read to a large compilation.
var buckets = [...]float64{.001, .0025, .005, .01, .02, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300}

// NewMetrics returns a registry that holds every family of Table, and those of the Go runtime and the process.
// census counts what is in the store; nil leaves those families out.
func NewMetrics(version string, census *CensusCache) (*Metrics, error) {
	b := newBuilder(prometheus.NewRegistry())
	m := &Metrics{
		registry: b.registry, measured: prometheus.NewRegistry(),
		requests: b.counter(metricRequests), bytes: b.counter(metricBytes), problems: b.counter(metricProblems),
		refused: b.counter(metricRefused), storeErrors: b.counter(metricStoreErrors),
		durations: b.histogram(metricDuration), compile: b.histogram(metricCompile), discover: b.histogram(metricDiscover),
		measure: b.histogram(metricMeasure), store: b.histogram(metricStore), sweep: b.histogram(metricSweep), read: b.counter(metricRead),
		becn: b.counter(metricBECN), congestion: b.counter(metricCongestion), unattributed: b.counter(metricUnattributed), unread: b.counter(metricUnread),
		inFlight: b.gauge(metricInFlight).WithLabelValues(), seriesErrors: b.counter(metricSeriesErrors).WithLabelValues(),
		notifications: b.counter(metricNotifications), pushes: b.counter(metricPushes), auditLag: b.gauge(metricAuditLag),
	}
	m.Congested(Congestion{}) // shows zeros where nothing is measured
	b.gauge(metricBuild).WithLabelValues(version, runtime.Version()).Set(1)
	b.register(collectors.NewGoCollector())
	b.register(collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	if census != nil {
		b.register(newCensusCollector(b.table, census))
	}
	return m, b.err
}

// builder makes families from the table and keeps the first fault, which would be a programmer's.
type builder struct {
	table    map[string]Metric
	registry *prometheus.Registry
	err      error
}

func newBuilder(r *prometheus.Registry) *builder {
	b := &builder{table: map[string]Metric{}, registry: r}
	for _, m := range Table() {
		b.table[m.Name] = m
	}
	return b
}

func (b *builder) register(c prometheus.Collector) {
	if err := b.registry.Register(c); err != nil && b.err == nil {
		b.err = fmt.Errorf("register metrics: %w", err)
	}
}

func (b *builder) counter(name string) *prometheus.CounterVec {
	v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: b.table[name].Help}, b.table[name].Labels)
	b.register(v)
	return v
}

func (b *builder) gauge(name string) *prometheus.GaugeVec {
	v := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: b.table[name].Help}, b.table[name].Labels)
	b.register(v)
	return v
}

func (b *builder) histogram(name string) *prometheus.HistogramVec {
	v := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: b.table[name].Help, Buckets: buckets[:]}, b.table[name].Labels)
	b.register(v)
	return v
}

// WatchSeries adds the size of the stored time series; size returns the number in memory and the bytes on disk. Call it once.
func (m *Metrics) WatchSeries(size func() (series int, bytes int64)) error {
	b := newBuilder(m.registry)
	for name, value := range map[string]func() float64{
		metricSeries:      func() float64 { n, _ := size(); return float64(n) },
		metricSeriesBytes: func() float64 { _, n := size(); return float64(n) },
	} {
		b.register(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: b.table[name].Help}, value))
	}
	return b.err
}

// WatchPorts adds the numbers of watched ports by state. Call it once.
func (m *Metrics) WatchPorts(counts func() map[string]int) error {
	b := newBuilder(m.registry)
	b.register(&watchedCollector{prometheus.NewDesc(metricWatched, b.table[metricWatched].Help, b.table[metricWatched].Labels, nil), counts})
	return b.err
}

// watchedCollector gives the numbers of watched ports.
type watchedCollector struct {
	desc   *prometheus.Desc
	counts func() map[string]int
}

func (c *watchedCollector) Describe(to chan<- *prometheus.Desc) { to <- c.desc }

func (c *watchedCollector) Collect(to chan<- prometheus.Metric) {
	for state, n := range c.counts() {
		to <- prometheus.MustNewConstMetric(c.desc, prometheus.GaugeValue, float64(n), state)
	}
}

// WatchNotifications adds the number of notifications that wait for receivers of a kind. Call it once for each kind.
func (m *Metrics) WatchNotifications(kind string, waiting func() int) error {
	b := newBuilder(m.registry)
	b.register(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: metricQueued, Help: b.table[metricQueued].Help, ConstLabels: prometheus.Labels{"receiver_kind": kind},
	}, func() float64 { return float64(waiting()) }))
	return b.err
}

// Notified counts notifications for receivers of a kind, by what became of them.
func (m *Metrics) Notified(kind, outcome string, n int) {
	m.notifications.WithLabelValues(kind, outcome).Add(float64(n))
}

// AuditLag notes how many audit entries a sink has not acknowledged.
func (m *Metrics) AuditLag(sink string, entries int64) {
	m.auditLag.WithLabelValues(sink).Set(float64(entries))
}

// WatchSeriesQueue adds what waits for an external server of series, and what was lost. Call it once.
func (m *Metrics) WatchSeriesQueue(queue func() (bytes int, lost uint64, health error)) error {
	b := newBuilder(m.registry)
	b.register(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: metricSeriesQueue, Help: b.table[metricSeriesQueue].Help}, func() float64 { n, _, _ := queue(); return float64(n) }))
	b.register(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: metricSeriesLost, Help: b.table[metricSeriesLost].Help}, func() float64 { _, n, _ := queue(); return float64(n) }))
	return b.err
}

// SeriesFailed counts a batch of samples that was not stored, or not completely.
func (m *Metrics) SeriesFailed() { m.seriesErrors.Inc() }

// Handler serves the metrics in Prometheus's text and OpenMetrics formats.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.all(), promhttp.HandlerOpts{EnableOpenMetrics: true, MaxRequestsInFlight: 4, Timeout: 10 * time.Second})
}

// all returns what a scrape and a push have.
func (m *Metrics) all() prometheus.Gatherer { return prometheus.Gatherers{m.registry, m.measured} }

// Begin counts a request that has begun; call the function it returns when the request has ended.
func (m *Metrics) Begin() (end func()) {
	m.inFlight.Inc()
	return m.inFlight.Dec
}

// Request is an answered request.
type Request struct {
	Method, Route string // Route is the contract's path; empty when none fitted
	Status        int
	Code          string // of the problem answered; empty when it was none
	Duration      time.Duration
	Bytes         int64 // of the answer's body
}

// Answered counts a request.
func (m *Metrics) Answered(r Request) {
	route, method := r.Route, r.Method
	if route == "" {
		route = "unmatched"
	}
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
	default:
		method = "other"
	}
	m.requests.WithLabelValues(method, route, strconv.Itoa(r.Status)).Inc()
	m.durations.WithLabelValues(method, route).Observe(r.Duration.Seconds())
	m.bytes.WithLabelValues(method, route).Add(float64(max(r.Bytes, 0)))
	if r.Code != "" {
		m.problems.WithLabelValues(r.Code).Inc()
	}
	if kind := refusal(r.Code); kind != "" {
		m.refused.WithLabelValues(kind).Inc()
	}
}

// refusal returns the kind of a refused authentication, by the code of the problem; empty when it was none.
func refusal(code string) string {
	switch code {
	case "unauthorized":
		return "credential"
	case "sign-in-refused":
		return "sign-in"
	case "locked":
		return "locked"
	}
	return ""
}

func outcome(err error) string {
	if err != nil {
		return "error"
	}
	return "ok"
}

// Compiled counts a compilation for a plane ("ib", "roce", "wrcc").
func (m *Metrics) Compiled(plane string, took time.Duration, err error) {
	m.compile.WithLabelValues(plane, outcome(err)).Observe(took.Seconds())
}

// Discovered counts a discovery.
func (m *Metrics) Discovered(took time.Duration, err error) {
	m.discover.WithLabelValues(outcome(err)).Observe(took.Seconds())
}

// Measured counts a measurement of shares; complete: every tenant and link was measured.
func (m *Metrics) Measured(took time.Duration, complete bool, err error) {
	result := outcome(err)
	if err == nil && !complete {
		result = "incomplete"
	}
	m.measure.WithLabelValues(result).Observe(took.Seconds())
}

// Congestion is what congestion control did during a measurement.
type Congestion struct {
	BECN, Adapter, Switch, Unattributed uint64
	Unread                              uint64 // ports and logs that are missing in the others
}

// Congested counts what congestion control did during a measurement.
func (m *Metrics) Congested(c Congestion) {
	m.becn.WithLabelValues().Add(float64(c.BECN))
	m.congestion.WithLabelValues("adapter").Add(float64(c.Adapter))
	m.congestion.WithLabelValues("switch").Add(float64(c.Switch))
	m.unattributed.WithLabelValues().Add(float64(c.Unattributed))
	m.unread.WithLabelValues().Add(float64(c.Unread))
}

// Swept counts a batch of devices that were read to look for drift, by what was found.
func (m *Metrics) Swept(readings map[string]int, took time.Duration, err error) {
	m.sweep.WithLabelValues(outcome(err)).Observe(took.Seconds())
	for reading, n := range readings {
		m.read.WithLabelValues(reading).Add(float64(n))
	}
}

// Transaction counts a store transaction, a write or a read.
func (m *Metrics) Transaction(write bool, took time.Duration) {
	m.store.WithLabelValues(transactionKind(write)).Observe(took.Seconds())
}

// StoreFailed counts a transaction that failed; reason is one of "full", "read-only", "damaged", "lost", "timeout", "other".
func (m *Metrics) StoreFailed(write bool, reason string) {
	m.storeErrors.WithLabelValues(transactionKind(write), reason).Inc()
}

func transactionKind(write bool) string {
	if write {
		return "write"
	}
	return "read"
}
