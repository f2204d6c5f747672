package shares

import (
	"context"
	"time"

	"fairlane/internal/phrase"
	"fairlane/policy"
	"fairlane/service/control"
)

// ReadShares measures delivered shares over a window of the fabric's own time, from MinWindow to MaxWindow; plan "" means
// that of the latest successful rollout.
func (s *Shares) ReadShares(ctx context.Context, fabric, plan string, window time.Duration) (control.Shares, error) {
	names := control.VisibleTenants(ctx, fabric)
	if names == nil {
		return s.measure(ctx, fabric, plan, window)
	}
	if plan != "" {
		return control.Shares{}, &control.NotFoundError{Kind: "plan", Name: plan}
	}
	sh, err := s.measure(ctx, fabric, "", window)
	return sh.Reduced(names), control.ReducedFault(err)
}

func (s *Shares) measure(ctx context.Context, fabric, plan string, window time.Duration) (control.Shares, error) {
	if window < control.MinWindow || window > control.MaxWindow {
		return control.Shares{}, control.Invalid("window_ms", phrase.Of("problem.window", "window", window, "min", control.MinWindow, "max", control.MaxWindow))
	}
	t, err := s.plans.LoadTarget(ctx, fabric, plan)
	if err != nil {
		return control.Shares{}, err
	}
	if wall := time.Duration(float64(window) / t.Fabric.TimeScale); wall > control.MaxWall {
		return control.Shares{}, control.Invalid("window_ms", phrase.Of("problem.window-scaled", "window", window, "takes", wall.Round(time.Second), "scale", t.Fabric.TimeScale, "max", control.MaxWall))
	}
	if err := s.Store.View(ctx, func(r control.Repos) (err error) { _, t.Latest, err = s.Latest(ctx, r, fabric); return err }); err != nil {
		return control.Shares{}, err
	}
	sh, err := s.Meter.Measure(ctx, t, window)
	if err != nil {
		return control.Shares{}, &control.UnavailableError{Code: "measurement-failed", Said: phrase.Of("problem.shares-unmeasured", "fabric", fabric), Err: err}
	}
	sh.Plan, sh.MeasuredAt, sh.Requested, sh.Limit = t.Plan.Name, s.Now(), window, policy.MissLimit(t.Plan.Plane)
	return sh, nil
}

// ClaimCollection reports whether owner, a manager, is to measure the fabric until the given time: it does so already, or no other
// manager's lease holds.
func (s *Shares) ClaimCollection(ctx context.Context, fabric, owner string, until time.Time) (ok bool, err error) {
	err = s.Store.Tx(control.OnFabric(ctx, fabric), func(r control.Repos) (err error) {
		ok, err = r.ClaimCollection(ctx, fabric, owner, s.Now(), until)
		return err
	})
	return ok, err
}
