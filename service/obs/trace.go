package obs

import (
	"context"
	"fmt"
	"net/url"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/sdk/trace"
)

// TraceOptions say where spans go.
type TraceOptions struct {
	Endpoint    string  // URL of an OTLP/HTTP collector; a URL without a path gets /v1/traces
	SampleRatio float64 // 0 to 1, of traces that begin here; a caller's decision wins
	Source      Source
}

// Source is the manager that spans and metrics come from.
type Source struct {
	Version  string // of this program
	Instance string // which manager this is, such as its host name
}

func (s Source) resource() *resource.Resource {
	return resource.NewSchemaless(
		attribute.String("service.name", "fairlane"), attribute.String("service.version", s.Version), attribute.String("service.instance.id", s.Instance),
	)
}

// collectorURL returns the URL of a signal ("traces", "metrics") at a collector.
func collectorURL(signal, endpoint string) (string, error) {
	u, err := url.Parse(endpoint)
	if err != nil || u.Host == "" {
		return "", fmt.Errorf("endpoint of %s %q: want http://HOST:PORT or https://HOST:PORT", signal, endpoint)
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = "/v1/" + signal
	}
	return u.String(), nil
}

// NewTracing returns a provider that sends spans in batches to a collector, over OTLP in protobuf. Shut it down at
// the end, which sends what is left. A collector that cannot be reached costs spans, never a request: they are
// dropped once its queue of 2,048 is full. Headers for the collector come from OTEL_EXPORTER_OTLP_HEADERS.
func NewTracing(ctx context.Context, o TraceOptions) (*trace.TracerProvider, error) {
	u, err := collectorURL("traces", o.Endpoint)
	if err != nil {
		return nil, err
	}
	exporter, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(u))
	if err != nil {
		return nil, fmt.Errorf("trace exporter: %w", err)
	}
	return trace.NewTracerProvider(
		trace.WithBatcher(exporter),
		trace.WithSampler(trace.ParentBased(trace.TraceIDRatioBased(o.SampleRatio))),
		trace.WithResource(o.Source.resource()),
	), nil
}
