package control

import (
	"slices"
	"time"

	"fairlane/internal/phrase"
	"fairlane/service/device"
)

// Bounds of rollout options.
const (
	DefaultShard     = 128
	MaxConfirmWindow = 24 * time.Hour
	maxParallel      = 4096
	maxAttempts      = 100
)

// Check rejects options that are out of range, and lists all of them.
func (o RolloutOptions) Check() error {
	var bad InvalidError
	count := func(name string, v, most int) {
		if v < 0 || v > most {
			bad.Add("/options/"+name, phrase.Of("problem.at-most", "found", v, "max", most))
		}
	}
	count("canary", o.Canary, device.MaxTargets)
	count("wave", o.Wave, device.MaxTargets)
	count("shard", o.Shard, 4096)
	count("parallel", o.Parallel, maxParallel)
	count("failure_budget", o.FailureBudget, device.MaxTargets)
	count("attempts", o.Attempts, maxAttempts)
	if o.Domain != "" && !slices.Contains(device.Domains(), device.Domain(o.Domain)) {
		bad.Add("/options/domain", phrase.Of("problem.rollout-domain", "found", o.Domain, "want", device.Domains()))
	}
	if o.ConfirmWindow < 0 || o.ConfirmWindow > MaxConfirmWindow {
		bad.Add("/options/confirm_window_s", phrase.Of("problem.confirm-window", "found", o.ConfirmWindow, "max", MaxConfirmWindow))
	}
	if o.VerifyShares && o.ConfirmWindow == 0 {
		bad.Add("/options/verify_shares", phrase.Of("problem.verify-shares"))
	}
	share := func(name string, v float64) {
		if !(v >= 0 && v <= 1) { // also rejects NaN
			bad.Add("/options/"+name, phrase.Of("problem.fraction", "found", v))
		}
	}
	share("max_share_error", o.MaxShareError)
	share("min_utilisation", o.MinUtilisation)
	if o.MeasureWindow != 0 && (o.MeasureWindow < MinWindow || o.MeasureWindow > MaxWindow) {
		bad.Add("/options/measure_window_ms", phrase.Of("problem.between", "found", o.MeasureWindow, "min", MinWindow, "max", MaxWindow))
	}
	return bad.OrNil()
}

// RolloutEndedText says how a rollout ended.
func RolloutEndedText(ro Rollout) phrase.Text {
	return phrase.Of("event.rollout-ended", "rollout", ro.ID, "state", string(ro.State), "result", ro.Result)
}

// ClearsUp reports whether a rollout is a clean-up of settings that the previous rollout left.
func (ro *Rollout) ClearsUp() bool {
	return ro.Options.Repair && slices.Contains(ro.Stages, StagePlacement) && !ro.Options.Manager
}

// Leaves reports whether a rollout that ended may have left state that a later clean-up removes.
func (ro *Rollout) Leaves() bool {
	switch ro.State {
	case RolloutSucceeded, RolloutPartial:
		return ro.Moves()
	case RolloutRolledBack:
		return ro.Moves() && ro.Placed == PlacedRestored
	}
	return false
}

// Undoing reports whether a rollout is being rolled back.
func (ro *Rollout) Undoing() bool { return ro.Phase == PhaseUndoing || ro.Phase == PhaseUnplacing }

// Moves reports whether a rollout moves traffic from the placements of another plan. Then devices keep that plan's
// settings for a while (device.HoldOver).
func (ro *Rollout) Moves() bool {
	return ro.Prior != "" && ro.Prior != ro.Plan && slices.Contains(ro.Stages, StagePlacement) && ro.Options.To == ""
}
