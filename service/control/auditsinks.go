package control

import (
	"context"
	"time"

	"fairlane/service/audit"
)

// AuditSink is the progress of exporting the audit log to one receiver.
type AuditSink struct {
	Name     string
	Position audit.Tail // the newest entry that the receiver has acknowledged; zero for none
	Owner    string     // the manager that sends; "" for none
	Until    time.Time  // when its lease ends
}

// AuditSinkRepo stores the positions of exports.
type AuditSinkRepo interface {
	// AuditSink returns a sink; one that was never claimed has only its name.
	AuditSink(ctx context.Context, name string) (AuditSink, error)
	// ClaimAuditSink makes owner the sender until a time, unless the lease of another holds. The sink has the owner then.
	ClaimAuditSink(ctx context.Context, name, owner string, now, until time.Time) (AuditSink, error)
	// MoveAuditSink records what was acknowledged to owner and extends its lease. ok is false when another manager owns the sink.
	MoveAuditSink(ctx context.Context, name, owner string, position audit.Tail, until time.Time) (ok bool, err error)
}
