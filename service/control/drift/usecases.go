// Package drift has the use cases about devices after a rollout: their current settings, drift, repairs and clean-ups.
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
	inForce []*known               // at most maxKnown devices, in the order of loading
	cleared map[string]int64       // by fabric, the last rollout that StartCleanUp has processed
	held    map[string]heldOutside // by fabric
	turned  map[string]int64       // by fabric, the newest rollout for which every held device has a due time
}

// New returns the use cases over the shared base and the use cases that they call.
func New(b *control.Base, p *plans.Plans, r *rollouts.Rollouts) *Drift {
	return &Drift{Base: b, plans: p, rollouts: r, cleared: map[string]int64{}, held: map[string]heldOutside{}, turned: map[string]int64{}}
}
