package plans

import (
	"context"

	"fairlane/policy"
	"fairlane/service/control"
)

// BareTarget returns a fabric's latest topology with an empty plan.
func (s *Plans) BareTarget(ctx context.Context, fabric string) (t control.Target, err error) {
	err = s.Store.View(ctx, func(r control.Repos) (err error) {
		if t.Fabric, err = r.Fabric(ctx, fabric); err != nil {
			return err
		}
		_, t.Topology, err = s.Latest(ctx, r, fabric)
		return err
	})
	t.Plan = &policy.Plan{Plane: t.Fabric.Plane}
	return t, err
}
