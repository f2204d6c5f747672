package model

import (
	"errors"
	"math"
	"testing"

	"fairlane/policy/fill"
)

// Otherwise a capacity that is not a number would give a plan in which all rates are zero.
func TestAProblemThatTheSolverRefusesIsAnError(t *testing.T) {
	t.Parallel()
	m := treeModel(t, 4, [][2]int{{0, 15}})
	m.Caps[m.Flows[0].Links[0]] = math.NaN()
	if a := m.Entitle(); !errors.Is(a.Err, fill.ErrProblem) {
		t.Errorf("error %v, rates %v: want %v", a.Err, a.Rates, fill.ErrProblem)
	}
}
