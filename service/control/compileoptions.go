package control

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"fairlane/internal/phrase"
	"fairlane/policy"
)

// CheckOptions rejects options that have no effect on their plane, so that no caller assumes they were applied.
func CheckOptions(o policy.Options) error {
	var bad InvalidError
	for name, plane := range o.Misplaced() {
		bad.Add("/"+name, phrase.Of("problem.option-plane", "option", name, "plane", cmp.Or(o.Plane, policy.PlaneIB), "want", plane))
	}
	return bad.OrNil()
}

// OptionsOf returns the compiler options of a fabric and their version, in a transaction; the zero options when none were
// set.
func OptionsOf(ctx context.Context, r Repos, fabric string) (o policy.Options, version int64, err error) {
	p, err := r.Policy(ctx, fabric, 0)
	if errors.Is(err, ErrNotFound) {
		_, err = r.Fabric(ctx, fabric)
		return o, 0, err
	} else if err != nil {
		return o, 0, err
	}
	parts, err := r.PolicyParts(ctx, fabric, p.Number, PartOptions)
	if err != nil || len(parts) == 0 {
		return o, 0, err
	}
	if err := json.Unmarshal(parts[0].Body, &o); err != nil {
		return o, 0, fmt.Errorf("decode options of %s: %w", fabric, err)
	}
	return o, parts[0].Since, nil
}

// FollowPlane sets the plane of options that name none to that of their fabric; for InfiniBand the plane stays zero.
func FollowPlane(ctx context.Context, r Repos, fabric string, o *policy.Options) error {
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
