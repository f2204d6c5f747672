package control

import (
	"context"
	"errors"

	"fairlane/internal/phrase"
	"fairlane/policy"
)

// Check rejects options that have no effect on their plane, so that no caller assumes they were applied.
func (o CompileOptions) Check() error {
	var bad InvalidError
	only := func(set bool, field string, plane policy.Plane) {
		if has := o.plane(); set && has != plane {
			bad.Add("/"+field, phrase.Of("problem.option-plane", "option", field, "plane", has, "want", plane))
		}
	}
	only(o.Mode != "", "mode", policy.PlaneIB)
	only(o.CCTLaw != "", "cct_law", policy.PlaneIB)
	only(o.TimerRestart, "timer_restart", policy.PlaneIB)
	only(o.PerQP != "", "per_qp", policy.PlaneIB)
	only(o.ReservedSLs != nil, "reserved_sls", policy.PlaneIB)
	only(o.TableEntries != 0, "table_entries", policy.PlaneIB)
	only(o.VLArbitration, "vl_arbitration", policy.PlaneIB)
	only(o.Profile != "", "profile", policy.PlaneRoCE)
	return bad.OrNil()
}

func (o CompileOptions) plane() policy.Plane {
	if o.Plane == "" {
		return policy.PlaneIB
	}
	return o.Plane
}

// Follow sets the plane of options that name none to that of their fabric; for InfiniBand the plane stays zero.
func (o *CompileOptions) Follow(ctx context.Context, r Repos, fabric string) error {
	f, err := r.Fabric(ctx, fabric)
	if err == nil && o.Plane == "" && f.Plane != policy.PlaneIB {
		o.Plane = f.Plane
	}
	return err
}

// InForceName returns the name of the plan in force on a fabric: that of its latest successful rollout. Without one the
// error is *ConflictError "no-plan".
func InForceName(ctx context.Context, r Repos, fabric string) (string, error) {
	if f, err := r.Fabric(ctx, fabric); err != nil {
		return "", err
	} else if f.Management == Released {
		return "", &ConflictError{Code: "no-plan", Said: ReleasedText(f)}
	}
	ro, err := r.LatestRollout(ctx, fabric, RolloutSucceeded, RolloutPartial)
	if errors.Is(err, ErrNotFound) {
		return "", &ConflictError{Code: "no-plan", Said: phrase.Of("problem.no-rollout", "fabric", fabric)}
	}
	if err == nil && ro.Options.Release && ro.State == RolloutSucceeded {
		return "", &ConflictError{Code: "no-plan", Said: phrase.Of("problem.no-rollout-since", "fabric", fabric, "rollout", ro.ID)}
	}
	return ro.Plan, err
}
