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
	Version     string  // of this program
	Instance    string  // which manager this is, such as its host name
}

// NewTracing returns a provider that sends spans in batches to a collector, over OTLP in protobuf. Shut it down at
// the end, which sends what is left. A collector that cannot be reached costs spans, never a request: they are
// dropped once its queue of 2,048 is full. Headers for the collector come from OTEL_EXPORTER_OTLP_HEADERS.
func NewTracing(ctx context.Context, o TraceOptions) (*trace.TracerProvider, error) {
	u, err := url.Parse(o.Endpoint)
	if err != nil || u.Host == "" {
		return nil, fmt.Errorf("trace endpoint %q: want http://HOST:PORT or https://HOST:PORT", o.Endpoint)
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = "/v1/traces"
	}
	exporter, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(u.String()))
	if err != nil {
		return nil, fmt.Errorf("trace exporter: %w", err)
	}
	return trace.NewTracerProvider(
		trace.WithBatcher(exporter),
		trace.WithSampler(trace.ParentBased(trace.TraceIDRatioBased(o.SampleRatio))),
		trace.WithResource(resource.NewSchemaless(
			attribute.String("service.name", "fairlane"), attribute.String("service.version", o.Version),
			attribute.String("service.instance.id", o.Instance),
		)),
	), nil
}
