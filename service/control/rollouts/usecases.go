// Package rollouts has the use cases about rollouts: starting and steering them, rolling back, releasing a fabric and managing it again.
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

// New returns the use cases over what all share, and those that they use.
func New(b *control.Base, p *plans.Plans) *Rollouts {
	return &Rollouts{Base: b, plans: p}
}
