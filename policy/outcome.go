package policy

import (
	"math"

	"fairlane/internal/quantity"
	"fairlane/policy/plan"
)

// task is what the levers of a plane are to meet.
type task struct {
	m      *model
	target *allocation
	// before is the plan of the compilation before, with its digests was. They are read only where the plane's settings of that compilation
	// are given as well. digests are those of the new plan, to be filled.
	before       *plan.Plan
	was, digests *plan.Digests
}

// outcome is what the levers of a plane make of the target.
type outcome struct {
	predicted *allocation
	bounds    []float64 // by tenant: relative error bound of the predicted rate
	findings  []plan.Finding
	write     func(*plan.Plan) // sets the plane's sections
	settle    float64          // see Plan.Settle, in seconds
}

// about is a time in seconds in whole microseconds and by its first two digits, since an estimate has no more; at most 1e6 s.
func about(s float64) quantity.Picoseconds {
	us, unit := float64(min(s, 1e6)*1e6), quantity.Microsecond
	for us >= 99.5 {
		us /= 10
		unit *= 10
	}
	return quantity.Picoseconds(math.Round(us)) * unit
}

// What settings may miss before a finding says so.
const (
	maxConvergence  = 0.150 // seconds
	maxQuantisation = 0.01  // relative error of a rounded timer
)
