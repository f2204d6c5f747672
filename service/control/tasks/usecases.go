// Package tasks has the use cases about tasks: simulations and calibrations that workers run.
package tasks

import (
	"fairlane/service/control"
	"fairlane/service/control/operations"
	"fairlane/service/control/plans"
)

// Tasks are the use cases of this package. They are safe for concurrent use.
type Tasks struct {
	*control.Base
	plans      *plans.Plans
	operations *operations.Operations
}

// New returns the use cases over the shared base and the use cases that they call.
func New(b *control.Base, p *plans.Plans, o *operations.Operations) *Tasks {
	return &Tasks{Base: b, plans: p, operations: o}
}
