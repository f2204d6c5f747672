// Package shares has the use cases about delivered shares: measuring them on request and periodically, and stored
// measurements.
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

// New returns the use cases over the shared base and the use cases that they call.
func New(b *control.Base, p *plans.Plans, o *operations.Operations) *Shares {
	return &Shares{Base: b, plans: p, operations: o}
}
