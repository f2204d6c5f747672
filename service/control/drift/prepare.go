package drift

import "context"

type preparedDevicesKey struct{}

// PrepareDevices loads the plan in force on a fabric into the cache that the use cases about devices read under the
// returned context. Errors are left to these use cases.
func (s *Drift) PrepareDevices(ctx context.Context, fabric string) context.Context {
	k, err := s.known(ctx, fabric)
	if err != nil {
		return ctx
	}
	return context.WithValue(ctx, preparedDevicesKey{}, k)
}
