// Package rollouts has the use cases about rollouts: starting and steering them, rolling back, releasing a fabric and
// resuming its management.
package rollouts

import (
	"fairlane/service/control"
	"fairlane/service/control/plans"
)

// Rollouts are the use cases of this package. They are safe for concurrent use.
type Rollouts struct {
	*control.Base
	plans *plans.Plans
}

// New returns the use cases over the shared base and the use cases that they call.
func New(b *control.Base, p *plans.Plans) *Rollouts {
	return &Rollouts{Base: b, plans: p}
}
