// Package span creates spans for OpenTelemetry traces. The package that begins a trace puts its provider into the
// context; children use the same provider, so that no package needs wiring and nothing is global. Without a trace, each
// call costs only a nil check.
//
// A trace covers request → compile, request → rollout → shard → device → apply, read back. A job outlives the request
// that created it: Carry returns the position in the trace for the job, and Resume continues from it.
package span

import (
	"context"
	"fmt"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// scope is the instrumentation scope of every span.
const scope = "fairlane"

// Span is an operation in a trace. The zero value does nothing.
type Span struct{ s trace.Span }

// Start begins a child of the context's span, and returns a context with the child. Names are few and stable, such as
// "compile" or "device.apply"; variable data goes into attributes, given as key, value, key, value.
func Start(ctx context.Context, name string, attrs ...any) (context.Context, Span) {
	parent := trace.SpanFromContext(ctx)
	if !parent.SpanContext().IsValid() || !parent.IsRecording() {
		return ctx, Span{}
	}
	return begin(ctx, parent.TracerProvider(), name, trace.SpanKindInternal, attrs)
}

// Root begins a trace, or continues the remote trace in the context. A nil provider does nothing.
func Root(ctx context.Context, p trace.TracerProvider, name string, attrs ...any) (context.Context, Span) {
	if p == nil {
		return ctx, Span{}
	}
	return begin(ctx, p, name, trace.SpanKindServer, attrs)
}

func begin(ctx context.Context, p trace.TracerProvider, name string, kind trace.SpanKind, attrs []any) (context.Context, Span) {
	ctx, s := p.Tracer(scope).Start(ctx, name, trace.WithSpanKind(kind), trace.WithAttributes(pairs(attrs)...))
	return ctx, Span{s}
}

// Set adds attributes, given as key, value, key, value.
func (s Span) Set(attrs ...any) {
	if s.s != nil {
		s.s.SetAttributes(pairs(attrs)...)
	}
}

// Name changes the name, if it is known only later, such as a route.
func (s Span) Name(name string) {
	if s.s != nil {
		s.s.SetName(name)
	}
}

// Fail marks the span as failed, with a line of text without secrets.
func (s Span) Fail(text string) {
	if s.s != nil {
		s.s.SetStatus(codes.Error, text)
	}
}

// End ends the span; an error marks it as failed. Use it with the named result: defer func() { sp.End(err) }().
func (s Span) End(err error) {
	if s.s == nil {
		return
	}
	if err != nil {
		s.s.SetStatus(codes.Error, err.Error())
	}
	s.s.End()
}

// TraceID returns the identifier of the context's trace in hexadecimal, "" if there is none.
func TraceID(ctx context.Context) string {
	if c := trace.SpanContextFromContext(ctx); c.HasTraceID() {
		return c.TraceID().String()
	}
	return ""
}

// Carry returns the context's position in its trace as W3C traceparent, for a job; "" if there is none.
func Carry(ctx context.Context) string {
	m := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, m)
	return m["traceparent"]
}

// Resume returns a context at the position from Carry; an invalid traceparent changes nothing.
func Resume(ctx context.Context, traceparent string) context.Context {
	return propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{"traceparent": traceparent})
}

// providerKey is the context key of the provider for work without a request.
type providerKey struct{}

// WithProvider returns a context in which Join creates spans; a nil provider changes nothing.
func WithProvider(ctx context.Context, p trace.TracerProvider) context.Context {
	if p == nil {
		return ctx
	}
	return context.WithValue(ctx, providerKey{}, p)
}

// Join begins a span at the position from Carry, with the provider from WithProvider. Without either it does nothing.
func Join(ctx context.Context, traceparent, name string, attrs ...any) (context.Context, Span) {
	p, ok := ctx.Value(providerKey{}).(trace.TracerProvider)
	if !ok || traceparent == "" {
		return ctx, Span{}
	}
	return begin(Resume(ctx, traceparent), p, name, trace.SpanKindConsumer, attrs)
}

// pairs converts key, value, key, value to attributes; it formats values of other types.
func pairs(in []any) []attribute.KeyValue {
	out := make([]attribute.KeyValue, 0, len(in)/2)
	for i := 0; i+1 < len(in); i += 2 {
		key := attribute.Key(fmt.Sprint(in[i]))
		switch v := in[i+1].(type) {
		case string:
			out = append(out, key.String(v))
		case int:
			out = append(out, key.Int(v))
		case int64:
			out = append(out, key.Int64(v))
		case bool:
			out = append(out, key.Bool(v))
		case float64:
			out = append(out, key.Float64(v))
		default:
			out = append(out, key.String(fmt.Sprint(v)))
		}
	}
	return out
}
