package notify

import (
	"context"
	"log/slog"
)

// health logs when a receiver begins to fail and when it takes deliveries again, instead of each attempt.
type health struct {
	kind   Kind
	name   string
	log    *slog.Logger
	failed bool
}

// note takes the result of an attempt. An error is not repeated before the receiver has recovered.
func (h *health) note(ctx context.Context, err error) {
	switch {
	case err != nil && ctx.Err() == nil && !h.failed:
		h.failed = true
		h.log.Warn("a receiver of alerts failed", "receiver_kind", string(h.kind), "receiver", h.name, "error", err.Error())
	case err == nil && h.failed:
		h.failed = false
		h.log.Info("a receiver of alerts works again", "receiver_kind", string(h.kind), "receiver", h.name)
	}
}
