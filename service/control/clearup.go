package control

// Leaves reports whether a rollout that ended may have left something that a rollout of its own takes back.
func (ro *Rollout) Leaves() bool {
	switch ro.State {
	case RolloutSucceeded, RolloutPartial:
		return ro.Moves()
	case RolloutRolledBack:
		return ro.Moves() && ro.Placed == PlacedRestored
	}
	return false
}
