package policy

import "fmt"

// compileRoCE compiles the DCQCN levers of the RoCE plane.
func (m *model) compileRoCE(*allocation) (*outcome, error) {
	return nil, fmt.Errorf("%w: plane %q has no levers", ErrInput, PlaneRoCE)
}
