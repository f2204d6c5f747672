package model

import (
	"math"

	"fairlane/internal/quantity"
	"fairlane/policy/plan"
)

// Task is the input of a plane's levers.
type Task struct {
	Model  *Model
	Target *Allocation
	// Before is the plan of the previous compilation and was are its digests. A plane reads them only when it also has its settings of that
	// compilation. digests are those of the new plan, to be filled.
	Before       *plan.Plan
	Was, Digests *plan.Digests
}

// Outcome is the result of a plane's levers.
type Outcome struct {
	Predicted *Allocation
	Bounds    []float64 // by tenant: relative error bound of the predicted rate
	Findings  []plan.Finding
	Write     func(*plan.Plan) // sets the plane's sections
	Settle    float64          // seconds, see Plan.Settle
}

// RoundTime converts seconds to whole microseconds, rounds to two significant digits since the value is an estimate, and limits it to 1e6 s.
func RoundTime(s float64) quantity.Picoseconds {
	us, unit := float64(min(s, 1e6)*1e6), quantity.Microsecond
	for us >= 99.5 {
		us /= 10
		unit *= 10
	}
	return quantity.Picoseconds(math.Round(us)) * unit
}

// Limits above which a finding reports settings.
const (
	MaxConvergence  = 0.150 // seconds
	MaxQuantisation = 0.01  // relative error of a rounded timer
)
