package control

import (
	"slices"
)

// ClearsUp reports whether a rollout takes back what the one before it left.
func (ro *Rollout) ClearsUp() bool {
	return ro.Options.Repair && slices.Contains(ro.Stages, StagePlacement) && !ro.Options.Manager
}
