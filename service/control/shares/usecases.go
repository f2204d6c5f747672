// Package shares has the use cases about delivered shares: measuring them, now and periodically, and what was measured.
package shares

import (
	"fairlane/service/control"
	"fairlane/service/control/operations"
	"fairlane/service/control/plans"
)

// Shares are the use cases of this package. They are safe for concurrent use.
type Shares struct {
	*control.Base
	plans      *plans.Plans
	operations *operations.Operations
}

// New returns the use cases over what all share, and those that they use.
func New(b *control.Base, p *plans.Plans, o *operations.Operations) *Shares {
	return &Shares{Base: b, plans: p, operations: o}
}
