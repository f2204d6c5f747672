// Package drift has the use cases about devices after a rollout: what they hold, what has drifted, repairs and clean-ups.
package drift

import (
	"sync"

	"fairlane/service/control"
	"fairlane/service/control/plans"
	"fairlane/service/control/rollouts"
)

// Drift are the use cases of this package. They are safe for concurrent use.
type Drift struct {
	*control.Base
	plans    *plans.Plans
	rollouts *rollouts.Rollouts

	mu      sync.Mutex
	inForce []*known               // of at most maxKnown devices; the one loaded last is the last
	cleared map[string]int64       // by fabric, the last rollout that ClearUp looked at
	held    map[string]heldOutside // by fabric
	turned  map[string]int64       // by fabric, the newest rollout since which every held device has a turn
}

// New returns the use cases over what all share, and those that they use.
func New(b *control.Base, p *plans.Plans, r *rollouts.Rollouts) *Drift {
	return &Drift{Base: b, plans: p, rollouts: r, cleared: map[string]int64{}, held: map[string]heldOutside{}, turned: map[string]int64{}}
}
