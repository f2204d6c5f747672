package model

import (
	"math"

	"fairlane/internal/quantity"
	"fairlane/policy/plan"
)

// Task is what the levers of a plane are to meet.
type Task struct {
	Model  *Model
	Target *Allocation
	// Before is the plan of the compilation before, with its digests was. They are read only where the plane's settings of that compilation
	// are given as well. digests are those of the new plan, to be filled.
	Before       *plan.Plan
	Was, Digests *plan.Digests
}

// Outcome is what the levers of a plane make of the target.
type Outcome struct {
	Predicted *Allocation
	Bounds    []float64 // by tenant: relative error bound of the predicted rate
	Findings  []plan.Finding
	Write     func(*plan.Plan) // sets the plane's sections
	Settle    float64          // see Plan.Settle, in seconds
}

// RoundTime is a time in seconds in whole microseconds and by its first two digits, since an estimate has no more; at most 1e6 s.
func RoundTime(s float64) quantity.Picoseconds {
	us, unit := float64(min(s, 1e6)*1e6), quantity.Microsecond
	for us >= 99.5 {
		us /= 10
		unit *= 10
	}
	return quantity.Picoseconds(math.Round(us)) * unit
}

// What settings may miss before a finding says so.
const (
	MaxConvergence  = 0.150 // seconds
	MaxQuantisation = 0.01  // relative error of a rounded timer
)
