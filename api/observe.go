package api

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"fairlane/internal/span"
	"fairlane/service/control"
)

// problemKey is the key of the code of the problem in the answer.
const problemKey = "fairlane.problem"

// Answered describes an answered request. It contains nothing from bodies, queries or credentials.
type Answered struct {
	Method, Route string // Route is the contract's path, "/api/v1/fabrics/{fabric}"; empty for an unknown path
	Status        int
	Code          string // code of the problem; empty for a good answer
	Duration      time.Duration
	Bytes         int64 // of the body as sent
}

// observe logs, counts and traces every request. It is the outermost middleware.
func (s *Server) observe(c *gin.Context) {
	begun := time.Now()
	var done func(Answered)
	if s.o.Watch != nil {
		done = s.o.Watch()
	}
	ctx := c.Request.Context()
	if s.o.Tracer != nil {
		ctx = span.Resume(ctx, c.GetHeader("traceparent"))
	}
	ctx, sp := span.Root(ctx, s.o.Tracer, c.Request.Method)
	c.Request = c.Request.WithContext(ctx)
	c.Next()
	a := Answered{
		Method: c.Request.Method, Route: contractPath(c.FullPath()), Status: c.Writer.Status(),
		Code: c.GetString(problemKey), Duration: time.Since(begun), Bytes: int64(max(c.Writer.Size(), 0)),
	}
	if done != nil {
		done(a)
	}
	sp.Name(strings.TrimSpace(a.Method + " " + a.Route))
	sp.Set("http.request.method", a.Method, "http.route", a.Route, "http.response.status_code", a.Status, "fairlane.request_id", requestID(c))
	if a.Status >= http.StatusInternalServerError {
		sp.Fail(a.Code)
	}
	sp.End(nil)
	// By now the handlers have put the principal into the request's context.
	s.logRequest(c.Request.Context(), c, a)
}

// logRequest logs a request. Periodic requests of machines are logged for debugging only.
func (s *Server) logRequest(ctx context.Context, c *gin.Context, a Answered) {
	level := slog.LevelInfo
	switch a.Route {
	case "/api/v1/health", "/api/v1/ready", "/api/v1/version":
		level = slog.LevelDebug
	}
	if !s.o.Log.Enabled(ctx, level) {
		return
	}
	attrs := []slog.Attr{
		slog.String("request_id", requestID(c)), slog.String("method", clip(a.Method)), slog.String("route", a.Route),
		slog.Int("status", a.Status), slog.Float64("duration_ms", float64(a.Duration.Microseconds())/1000),
		slog.Int64("bytes", a.Bytes), slog.String("remote", c.Request.RemoteAddr),
	}
	if p, ok := control.PrincipalFrom(ctx); ok {
		attrs = append(attrs, slog.String("principal", p.Name))
	}
	if a.Code != "" {
		attrs = append(attrs, slog.String("code", a.Code))
	}
	s.o.Log.LogAttrs(ctx, level, "request", attrs...)
}

// contractPath converts gin's pattern, "/fabrics/:fabric", into the contract's, "/fabrics/{fabric}".
func contractPath(pattern string) string {
	if !strings.ContainsRune(pattern, ':') {
		return pattern
	}
	parts := strings.Split(pattern, "/")
	for i, p := range parts {
		if name, ok := strings.CutPrefix(p, ":"); ok {
			parts[i] = "{" + name + "}"
		}
	}
	return strings.Join(parts, "/")
}
