package control

import (
	"slices"
)

// Undoing reports whether a rollout is on its way back.
func (ro *Rollout) Undoing() bool { return ro.Phase == PhaseUndoing || ro.Phase == PhaseUnplacing }

// Moves reports whether a rollout moves traffic from the placements of another plan, so that devices keep for a while what
// that plan needs (device.HoldOver).
func (ro *Rollout) Moves() bool {
	return ro.Prior != "" && ro.Prior != ro.Plan && slices.Contains(ro.Stages, StagePlacement) && ro.Options.To == ""
}
