package control

import (
	"context"
	"time"

	"fairlane/service/audit"
)

// RetentionRepo removes old rows. Each method removes at most limit rows, oldest first, and returns how many. Rows that a
// fabric's running rollout, latest rollout, latest successful rollout or plan in force needs stay, whatever their age.
type RetentionRepo interface {
	PruneEvents(ctx context.Context, before time.Time, limit int) (int64, error)
	PruneRolloutDevices(ctx context.Context, endedBefore time.Time, limit int) (int64, error)
	PrunePlans(ctx context.Context, before time.Time, limit int) (int64, error)
	PruneSnapshots(ctx context.Context, before time.Time, limit int) (int64, error)
	PruneMaintenance(ctx context.Context, endedBefore time.Time, limit int) (int64, error)
	// AuditBefore returns the newest audit entry older than a time with no younger entry before it; the zero tail when
	// there is none. The clock may have been set back, so the order of the chain counts.
	AuditBefore(ctx context.Context, before time.Time) (audit.Tail, error)
}
