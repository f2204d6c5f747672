package policy

import "fmt"

// compileWRCC compiles the levers of the WRCC plane.
func (m *model) compileWRCC(*allocation) (*outcome, error) {
	return nil, fmt.Errorf("%w: plane %q has no levers", ErrInput, PlaneWRCC)
}
