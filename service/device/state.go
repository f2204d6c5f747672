package device

import "fmt"

// State is the state of a device in a rollout or after an observation.
type State string

// States; see the package comment for the moves between them.
const (
	Unknown     State = "unknown"     // no reading, or the last one no longer counts
	InSync      State = "in-sync"     // read back equal to the desired settings
	Pending     State = "pending"     // a rollout will write it, nothing is written yet
	Applying    State = "applying"    // being written
	Verifying   State = "verifying"   // written, being read back
	Drifted     State = "drifted"     // read back different from the desired settings, without a running rollout
	Failed      State = "failed"      // reached neither state; the result says whether it was touched
	RolledBack  State = "rolled-back" // read back equal to the settings before the rollout
	Unsupported State = "unsupported" // cannot hold these settings, and nothing was written
)

// States lists every state.
func States() []State {
	return []State{Unknown, InSync, Pending, Applying, Verifying, Drifted, Failed, RolledBack, Unsupported}
}

// moves lists, for each state, the states that may follow. It is a function rather than a
// variable so that nothing can change it.
func moves(from State) []State {
	switch from {
	case Unknown:
		return []State{Pending, InSync, Drifted, Failed, Unsupported}
	case InSync:
		return []State{Pending, Applying, Drifted, Failed}
	case Pending:
		return []State{InSync, Applying, Failed, Unsupported, Unknown}
	case Applying:
		return []State{Verifying, Failed, Unsupported, Unknown}
	case Verifying:
		return []State{InSync, RolledBack, Applying, Failed, Unknown}
	case Drifted:
		return []State{Pending, InSync, Failed}
	case Failed:
		return []State{Pending, Applying, InSync, Drifted}
	case RolledBack:
		return []State{Pending, Drifted}
	case Unsupported:
		return []State{Pending}
	}
	return nil
}

// CanMove reports whether a device may go from one state to the other. Staying is not a move.
func CanMove(from, to State) bool {
	for _, s := range moves(from) {
		if s == to {
			return true
		}
	}
	return false
}

// checkMove is CanMove with the reason of a refusal.
func checkMove(from, to State) error {
	if CanMove(from, to) {
		return nil
	}
	return fmt.Errorf("device state %q to %q: want one of %q", from, to, moves(from))
}

// Settled reports whether a rollout has nothing left to do in this state.
func (s State) Settled() bool {
	switch s {
	case InSync, Failed, RolledBack, Unsupported:
		return true
	}
	return false
}
