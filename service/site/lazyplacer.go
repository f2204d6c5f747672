package site

import (
	"context"

	"fairlane/policy"
	"fairlane/service/device"
	"fairlane/service/placement"
)

// lazyPlacer opens the port to a subnet manager on first use, so that a fault in the manager's files does not fail a
// session that only writes devices.
type lazyPlacer func() (placement.Port, error)

var _ device.Placer = lazyPlacer(nil)

func (l lazyPlacer) Check(ctx context.Context, p, before *policy.Plan) error {
	port, err := l()
	if err != nil {
		return err
	}
	return port.Check(ctx, p, before)
}

func (l lazyPlacer) Place(ctx context.Context, p, before *policy.Plan, clear bool) error {
	port, err := l()
	if err != nil {
		return err
	}
	return port.Place(ctx, p, before, clear)
}

func (l lazyPlacer) Verify(ctx context.Context, p *policy.Plan) error {
	port, err := l()
	if err != nil {
		return err
	}
	return port.Verify(ctx, p)
}
