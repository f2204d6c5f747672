package model

import (
	"errors"
	"math"
	"testing"

	"fairlane/policy/fill"
)

// A capacity that is no number would otherwise come out as a plan in which nobody gets anything.
func TestAProblemThatTheSolverRefusesIsAnError(t *testing.T) {
	t.Parallel()
	m := treeModel(t, 4, [][2]int{{0, 15}})
	m.Caps[m.Flows[0].Links[0]] = math.NaN()
	if a := m.Entitle(); !errors.Is(a.Err, fill.ErrProblem) {
		t.Errorf("error %v, rates %v: want %v", a.Err, a.Rates, fill.ErrProblem)
	}
}
