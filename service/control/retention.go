package control

import (
	"context"
	"time"

	"fairlane/service/audit"
)

// RetentionRepo takes out what is old. Each method takes at most limit rows, oldest first, and returns
// how many went. What a running rollout, the latest one, the latest successful one or the plan in
// force of a fabric needs stays, whatever its age.
type RetentionRepo interface {
	PruneEvents(ctx context.Context, before time.Time, limit int) (int64, error)
	PruneRolloutDevices(ctx context.Context, endedBefore time.Time, limit int) (int64, error)
	PrunePlans(ctx context.Context, before time.Time, limit int) (int64, error)
	PruneSnapshots(ctx context.Context, before time.Time, limit int) (int64, error)
	// AuditBefore returns the newest audit entry older than a time that has no younger one before
	// it; the zero tail when there is none. The clock may have been set back: the chain's order counts.
	AuditBefore(ctx context.Context, before time.Time) (audit.Tail, error)
}
