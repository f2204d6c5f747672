package control

import (
	"context"
	"errors"
	"fmt"
	"time"

	"fairlane/internal/phrase"
	"fairlane/service/audit"
)

// ListAudit returns audit entries.
func (s *Service) ListAudit(ctx context.Context, f AuditFilter, p Page) (list []audit.Entry, next string, err error) {
	if !f.Since.IsZero() && !f.Until.IsZero() && !f.Since.Before(f.Until) {
		return nil, "", Invalid("since", phrase.Of("problem.since-until", "since", f.Since.Format(time.RFC3339), "until", f.Until.Format(time.RFC3339)))
	}
	err = s.d.Store.View(ctx, func(r Repos) (err error) { list, next, err = r.ListAudit(ctx, f, p); return err })
	return list, next, err
}

// AuditReport is what a check of the audit log came to.
type AuditReport struct {
	audit.Report
	Bad *audit.BadError // the first entry that does not fit; nil when the chain is whole
}

// VerifyAudit checks the whole chain in one consistent view. expect is an entry remembered from elsewhere
// that must still be in it, or the zero value.
func (s *Service) VerifyAudit(ctx context.Context, expect audit.Tail) (AuditReport, error) {
	var out AuditReport
	err := s.d.Store.View(ctx, func(r Repos) (err error) { out, err = VerifyAudit(ctx, r, expect); return err })
	return out, err
}

// VerifyAudit checks the whole chain as a transaction sees it.
func VerifyAudit(ctx context.Context, r AuditRepo, expect audit.Tail) (AuditReport, error) {
	v := audit.Verifier{Expect: expect}
	report, err := verifyChain(ctx, r, &v)
	var bad *audit.BadError
	if errors.As(err, &bad) {
		return AuditReport{Report: report, Bad: bad}, nil
	}
	return AuditReport{Report: report}, err
}

func verifyChain(ctx context.Context, r AuditRepo, v *audit.Verifier) (audit.Report, error) {
	p := Page{Limit: MaxPageLimit}
	var report audit.Report
	for {
		list, next, err := r.ListAudit(ctx, AuditFilter{Oldest: true}, p)
		if err != nil {
			return report, err
		}
		for _, e := range list {
			if err := v.Add(e); err != nil {
				return report, err
			}
			if report.First == 0 {
				report.First = e.Seq
			}
			report.Entries++
			report.Tail = audit.Tail{Seq: e.Seq, Hash: e.Hash}
		}
		if p.After = next; next == "" {
			break
		}
	}
	tail, err := r.AuditTail(ctx)
	if err != nil {
		return report, fmt.Errorf("check the audit log: %w", err)
	}
	return v.Finish(tail)
}
