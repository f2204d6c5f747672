package operations

import (
	"context"
	"time"

	"fairlane/internal/phrase"
	"fairlane/service/audit"
	"fairlane/service/control"
)

// ListAudit returns audit entries.
func (s *Operations) ListAudit(ctx context.Context, f control.AuditFilter, p control.Page) (list []audit.Entry, next string, err error) {
	if !f.Since.IsZero() && !f.Until.IsZero() && !f.Since.Before(f.Until) {
		return nil, "", control.Invalid("since", phrase.Of("problem.since-until", "since", f.Since.Format(time.RFC3339), "until", f.Until.Format(time.RFC3339)))
	}
	err = s.Store.View(ctx, func(r control.Repos) (err error) { list, next, err = r.ListAudit(ctx, f, p); return err })
	return list, next, err
}

// VerifyAudit verifies the whole chain in one consistent view. expect is an entry remembered from elsewhere that must
// still be in it, or the zero value.
func (s *Operations) VerifyAudit(ctx context.Context, expect audit.Tail) (control.AuditReport, error) {
	var out control.AuditReport
	err := s.Store.View(ctx, func(r control.Repos) (err error) { out, err = control.VerifyAudit(ctx, r, expect); return err })
	return out, err
}
