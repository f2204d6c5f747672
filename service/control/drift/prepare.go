package drift

import "context"

type preparedDevicesKey struct{}

// PrepareDevices returns a context in which the use cases about devices need no time for loading the plan that is in
// force on a fabric now. What is wrong with that they find themselves.
func (s *Drift) PrepareDevices(ctx context.Context, fabric string) context.Context {
	k, err := s.known(ctx, fabric)
	if err != nil {
		return ctx
	}
	return context.WithValue(ctx, preparedDevicesKey{}, k)
}
