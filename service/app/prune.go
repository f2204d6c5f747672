package app

import (
	"context"
	"time"

	"fairlane/service/control/operations"
	"fairlane/service/rollout/riverwork"
)

// pruneEvery is how often one of the managers applies the retention. A new leader among them counts from its own
// beginning, so it has to be shorter than the time between two restarts.
const pruneEvery = time.Hour

// pruning returns the retention as periodic work.
func (m *manager) pruning() riverwork.Periodic {
	return riverwork.Periodic{Name: "retention", Every: pruneEvery, Do: func(ctx context.Context) error {
		out, err := m.service.Prune(ctx, m.options.retention)
		if err == nil && out != (operations.Pruned{}) {
			m.log.Info("retention applied", "events", out.Events, "rollout_devices", out.RolloutDevices, "plans", out.Plans, "snapshots", out.Snapshots, "audit", out.Audit, "maintenance", out.Maintenance)
		}
		return err
	}}
}
