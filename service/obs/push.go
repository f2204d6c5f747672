package obs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	bridge "go.opentelemetry.io/contrib/bridges/prometheus"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

// PushOptions say where metrics are pushed.
type PushOptions struct {
	Endpoint string        // URL of an OTLP/HTTP collector; a URL without a path gets /v1/metrics
	Interval time.Duration // between two pushes
	Timeout  time.Duration // of a push; 0: 10 s
	Source   Source
	Log      *slog.Logger
}

const (
	pushTimeout = 10 * time.Second
	warnEvery   = 5 * time.Minute // at most one warning about failed pushes
	maxReason   = 300             // characters of an error in the log, which may quote what the collector answered
)

// StartPush pushes every metric that Handler serves to a collector at each interval, over OTLP in protobuf, until stop. A
// collector that is away or does not answer only loses a push. stop pushes once more; its error is that of the last push.
// Headers for the collector come from OTEL_EXPORTER_OTLP_HEADERS.
func (m *Metrics) StartPush(ctx context.Context, o PushOptions) (stop func(context.Context) error, err error) {
	u, err := collectorURL("metrics", o.Endpoint)
	if err != nil {
		return nil, err
	}
	// A push that fails is not repeated: the next one carries newer values of the same counters.
	exporter, err := otlpmetrichttp.New(ctx, otlpmetrichttp.WithEndpointURL(u), otlpmetrichttp.WithRetry(otlpmetrichttp.RetryConfig{}))
	if err != nil {
		return nil, fmt.Errorf("metrics exporter: %w", err)
	}
	for _, result := range []string{"ok", "error"} { // zeros before the first push
		m.pushes.WithLabelValues(result)
	}
	r := &pushReport{log: o.Log, clock: time.Now, pushes: m.pushes}
	provider := metric.NewMeterProvider(
		metric.WithResource(o.Source.resource()),
		metric.WithReader(metric.NewPeriodicReader(
			pushExporter{exporter, r}, metric.WithProducer(registryProducer{m.all(), r}),
			metric.WithInterval(o.Interval), metric.WithTimeout(cmp.Or(o.Timeout, pushTimeout)),
		)),
	)
	return func(ctx context.Context) error {
		err := provider.Shutdown(ctx)
		return cmp.Or(r.latest(), err)
	}, nil
}

// registryProducer converts what a registry gathers. Like a scrape, it produces all of it or, if part of it cannot be read, nothing.
type registryProducer struct {
	registry prometheus.Gatherer
	report   *pushReport
}

var _ metric.Producer = registryProducer{}

// Produce reports its errors itself, since the reader passes them to a handler that is global.
func (p registryProducer) Produce(ctx context.Context) ([]metricdata.ScopeMetrics, error) {
	families, err := p.registry.Gather()
	if err != nil {
		p.report.done(fmt.Errorf("read the metrics: %w", err))
		return nil, nil
	}
	return bridge.NewMetricProducer(bridge.WithGatherer(prometheus.GathererFunc(always(families)))).Produce(ctx)
}

func always[T any](list []T) func() ([]T, error) {
	return func() ([]T, error) { return list, nil }
}

// pushExporter reports the outcome of each push.
type pushExporter struct {
	metric.Exporter
	report *pushReport
}

func (e pushExporter) Export(ctx context.Context, rm *metricdata.ResourceMetrics) error {
	if len(rm.ScopeMetrics) == 0 { // they could not be read, which is reported
		return nil
	}
	err := e.Exporter.Export(ctx, rm)
	if err == nil || !errors.Is(ctx.Err(), context.Canceled) { // else it was interrupted for the last push
		e.report.done(err)
	}
	return nil
}

// pushReport counts pushes and logs when they begin to fail and when they work again.
type pushReport struct {
	log    *slog.Logger
	clock  func() time.Time
	pushes *prometheus.CounterVec

	mu     sync.Mutex
	last   error     // of the latest push
	failed int       // since the latest message
	warned time.Time // when the latest warning was logged
	open   bool      // no push worked since that warning
}

func (r *pushReport) done(err error) {
	r.pushes.WithLabelValues(outcome(err)).Inc()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last = err
	switch now := r.clock(); {
	case err == nil && r.open:
		r.log.Info("metrics are pushed again", "failed", r.failed)
		r.open, r.failed = false, 0
	case err != nil:
		r.failed++
		if r.warned.IsZero() || now.Sub(r.warned) >= warnEvery {
			r.log.Warn("metrics were not pushed", "error", shortened(err), "failed", r.failed)
			r.open, r.failed, r.warned = true, 0, now
		}
	}
}

func (r *pushReport) latest() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.last == nil {
		return nil
	}
	return errors.New(shortened(r.last))
}

// shortened returns the beginning of an error, on one line.
func shortened(err error) string {
	text := []rune(strings.Join(strings.Fields(err.Error()), " "))
	if len(text) > maxReason {
		text = append(text[:maxReason-1], '…')
	}
	return string(text)
}
