package auditexport

import (
	"context"
	"encoding/json"
	"fmt"

	"fairlane/service/audit"
	"fairlane/service/webhook"
)

// hook is a webhook.
type hook struct {
	sink string
	to   *webhook.Sender
}

// delivery is the body of a webhook.
type delivery struct {
	Version string        `json:"version"`
	Sink    string        `json:"sink"`
	Entries []audit.Entry `json:"entries"` // in the form of `fairlane audit export`
}

func (h *hook) send(ctx context.Context, list []audit.Entry) error {
	body, err := json.Marshal(delivery{"1", h.sink, list})
	if err != nil {
		return fmt.Errorf("encode audit entries: %w", err)
	}
	first, last := &list[0], &list[len(list)-1]
	// The same entries have the same id, also after a restart.
	return h.to.Post(ctx, fmt.Sprintf("audit-%d-%d-%.16s", first.Seq, last.Seq, last.Hash), body)
}

func (h *hook) close() { h.to.Close() }
