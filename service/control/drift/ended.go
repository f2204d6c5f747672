package drift

import (
	"context"

	"fairlane/service/control"
)

// RolloutEnded updates the audit log and the records of devices in the transaction that ends a rollout.
func (s *Drift) RolloutEnded(ctx context.Context, r control.Repos, ro control.Rollout) error {
	e := control.Event{Fabric: ro.Fabric, Rollout: ro.ID, Kind: "rollout." + string(ro.State), Subject: ro.Plan,
		Said: control.RolloutEndedText(ro)}
	if err := s.settleDevices(ctx, r, ro); err != nil {
		return err
	}
	if err := s.rollouts.SettleRelease(ctx, r, ro); err != nil {
		return err
	}
	return s.AuditEvent(ctx, r, e, map[string]any{"state": ro.State, "result": ro.Result.String(), "started_by": ro.Actor})
}
