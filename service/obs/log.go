// Package obs makes the service observable: structured logs, Prometheus metrics and OpenTelemetry
// traces. Nothing in it ever holds a secret, a body or a token.
package obs

import (
	"context"
	"fmt"
	"io"
	"log/slog"

	"fairlane/internal/span"
)

// keyTrace is the key of the trace identifier in log records that belong to a trace.
const keyTrace = "trace_id"

// NewLogger returns a logger that writes one line a record to w, from the given level ("debug", "info", "warn",
// "error") up, as "json" or "text". Records of a traced request carry their trace_id. The level may be changed later.
func NewLogger(w io.Writer, level, format string) (*slog.Logger, *slog.LevelVar, error) {
	least := new(slog.LevelVar)
	if err := least.UnmarshalText([]byte(level)); err != nil {
		return nil, nil, fmt.Errorf("log level %q: want debug, info, warn or error", level)
	}
	o := &slog.HandlerOptions{Level: least}
	switch format {
	case "json":
		return slog.New(traced{slog.NewJSONHandler(w, o)}), least, nil
	case "text":
		return slog.New(traced{slog.NewTextHandler(w, o)}), least, nil
	}
	return nil, nil, fmt.Errorf("log format %q: want json or text", format)
}

// traced adds the trace identifier of a record's context.
type traced struct{ slog.Handler }

var _ slog.Handler = (*traced)(nil)

func (h traced) Handle(ctx context.Context, r slog.Record) error {
	if id := span.TraceID(ctx); id != "" {
		r.AddAttrs(slog.String(keyTrace, id))
	}
	return h.Handler.Handle(ctx, r)
}

func (h traced) WithAttrs(attrs []slog.Attr) slog.Handler { return traced{h.Handler.WithAttrs(attrs)} }

func (h traced) WithGroup(name string) slog.Handler { return traced{h.Handler.WithGroup(name)} }
