package span

import (
	"context"
	"errors"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

func provider(t *testing.T) (*trace.TracerProvider, *tracetest.InMemoryExporter) {
	t.Helper()
	e := tracetest.NewInMemoryExporter()
	return trace.NewTracerProvider(trace.WithSyncer(e)), e
}

func TestASpanIsAChildOfTheContextsSpan(t *testing.T) {
	t.Parallel()
	p, e := provider(t)
	ctx, root := Root(t.Context(), p, "request")
	child, sp := Start(ctx, "compile", "fabric", "lab", "tenants", 3, "dry", true, "took", 1.5, "rows", int64(9), "error", errors.New("x"))
	_, leaf := Start(child, "fill")
	leaf.End(errors.New("no solution"))
	sp.Set("plan", "abc")
	sp.End(nil)
	root.Name("POST /plans")
	root.Fail("refused")
	root.End(nil)
	got := e.GetSpans()
	if len(got) != 3 || got[0].Name != "fill" || got[1].Name != "compile" || got[2].Name != "POST /plans" {
		t.Fatalf("spans %+v", got)
	}
	if got[0].Parent.SpanID() != got[1].SpanContext.SpanID() || got[1].Parent.SpanID() != got[2].SpanContext.SpanID() {
		t.Error("spans are not nested")
	}
	if got[0].Status.Code != codes.Error || got[0].Status.Description != "no solution" || got[1].Status.Code == codes.Error || got[2].Status.Description != "refused" {
		t.Errorf("status %+v, %+v, %+v", got[0].Status, got[1].Status, got[2].Status)
	}
	if len(got[1].Attributes) != 7 {
		t.Errorf("attributes %v", got[1].Attributes)
	}
}

func TestWithoutATraceNoSpansAreCreated(t *testing.T) {
	// Not parallel, because it counts allocations.
	ctx, sp := Start(t.Context(), "compile", "fabric", "lab")
	sp.Set("a", 1)
	sp.Name("b")
	sp.Fail("c")
	sp.End(errors.New("d"))
	if ctx != t.Context() || TraceID(ctx) != "" || Carry(ctx) != "" {
		t.Error("a context without a trace carries one")
	}
	if ctx, _ := Root(t.Context(), nil, "x"); ctx != t.Context() {
		t.Error("no provider, but a span")
	}
	if n := testing.AllocsPerRun(100, func() { _, s := Start(ctx, "compile"); s.End(nil) }); n > 0 {
		t.Errorf("%v allocations without a trace", n)
	}
}

func TestAJobContinuesTheTraceOfItsRequest(t *testing.T) {
	t.Parallel()
	p, e := provider(t)
	ctx, root := Root(t.Context(), p, "request")
	place := Carry(ctx)
	root.End(nil)
	job, sp := Root(Resume(context.Background(), place), p, "rollout")
	if TraceID(job) != TraceID(ctx) || TraceID(job) == "" || !strings.Contains(place, TraceID(job)) {
		t.Errorf("trace %q became %q", TraceID(ctx), TraceID(job))
	}
	sp.End(nil)
	if got := e.GetSpans(); got[1].Parent.SpanID() != got[0].SpanContext.SpanID() {
		t.Error("the job is not a child of the request")
	}
	if TraceID(Resume(t.Context(), "rubbish")) != "" {
		t.Error("rubbish became a trace")
	}
}

func TestJoinNeedsAProviderAndAPlace(t *testing.T) {
	t.Parallel()
	p, e := provider(t)
	ctx, root := Root(t.Context(), p, "request")
	root.End(nil)
	place := Carry(ctx)
	for _, c := range []struct {
		ctx   context.Context
		place string
		want  int
	}{{t.Context(), place, 0}, {WithProvider(t.Context(), p), "", 0}, {WithProvider(t.Context(), nil), place, 0}, {WithProvider(t.Context(), p), place, 1}} {
		e.Reset()
		job, sp := Join(c.ctx, c.place, "shard", "wave", 1)
		_, leaf := Start(job, "device.apply")
		leaf.End(nil)
		sp.End(nil)
		got := e.GetSpans()
		if len(got) != 2*c.want {
			t.Errorf("place %q: %d spans", c.place, len(got))
		}
		if c.want == 1 && (TraceID(job) != TraceID(ctx) || got[0].Parent.SpanID() != got[1].SpanContext.SpanID()) {
			t.Error("the job is not in the request's trace")
		}
	}
}
