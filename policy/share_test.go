package policy

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
	m.caps[m.flows[0].links[0]] = math.NaN()
	if a := m.entitle(); !errors.Is(a.err, fill.ErrProblem) {
		t.Errorf("error %v, rates %v: want %v", a.err, a.rates, fill.ErrProblem)
	}
}
