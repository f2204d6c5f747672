package control

import (
	"context"
	"errors"
	"fmt"

	"fairlane/service/audit"
)

// AuditReport is the result of verifying the audit log.
type AuditReport struct {
	audit.Report
	Bad *audit.BadError // the first entry that breaks the chain; nil when the chain is intact
}

// VerifyAudit verifies the whole chain as a transaction sees it.
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
