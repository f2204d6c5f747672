package rollouts

import (
	"context"
	"errors"
	"fmt"

	"fairlane/internal/phrase"
	"fairlane/policy"
	"fairlane/service/control"
	"fairlane/service/control/plans"
)

// bounded checks the bounds of a rollout: LimitSettings, and those of a caller with a limited right. It returns the name
// of the plan in force that it compared with, "" for none, and nil when there is no bound.
func (s *Rollouts) bounded(ctx context.Context, fabric string, in RolloutInput, next *policy.Plan) (base *string, err error) {
	limited := control.LimitedRight(ctx)
	if !limited && in.LimitSettings == nil {
		return nil, nil
	}
	var before, after control.Plan
	err = s.Store.View(ctx, func(r control.Repos) (err error) {
		if before, err = planInForce(ctx, r, fabric); err == nil && limited {
			after, err = r.Plan(ctx, fabric, next.Name)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	name := before.Plan.Name
	if limited {
		if causes := causesBeyondFeeds(in, before, after); len(causes) > 0 {
			return nil, &control.ConflictError{Code: "needs-operator", Said: phrase.Of("problem.needs-operator", "plan", fmt.Sprintf("%.12s", next.Name), "causes", phrase.Commas(causes))}
		}
	}
	if max := in.LimitSettings; max != nil {
		d := policy.Diff(before.Plan, next)
		if n := d.Changes(); n > *max {
			return nil, &control.ConflictError{Code: "too-many-settings", Said: phrase.Of("problem.too-many-settings", "plan", fmt.Sprintf("%.12s", next.Name), "n", n, "max", *max)}
		}
	}
	return &name, nil
}

// planInForce returns the plan in force; an empty plan without a name when there is none.
func planInForce(ctx context.Context, r control.Repos, fabric string) (control.Plan, error) {
	name, err := control.InForceName(ctx, r, fabric)
	if errors.Is(err, control.ErrConflict) {
		return control.Plan{Plan: &policy.Plan{}}, nil
	} else if err != nil {
		return control.Plan{}, err
	}
	return r.Plan(ctx, fabric, name)
}

// unmoved rejects a rollout whose bounds were checked against a plan that is no longer in force.
func unmoved(ctx context.Context, r control.Repos, fabric string, base *string) error {
	if base == nil {
		return nil
	}
	name, err := control.InForceName(ctx, r, fabric)
	if errors.Is(err, control.ErrConflict) {
		name, err = "", nil
	}
	if err == nil && name != *base {
		err = &control.ConflictError{Code: "plan-changed", Said: phrase.Of("problem.in-force-changed", "fabric", fabric)}
	}
	return err
}

// causesBeyondFeeds lists what else than attachments of feeds distinguishes a plan from the plan in force, and what else a
// rollout would do than bring that difference to devices.
func causesBeyondFeeds(in RolloutInput, before, after control.Plan) []phrase.Text {
	if before.Plan.Name == "" {
		return []phrase.Text{phrase.Of("cause.none-in-force")}
	}
	causes := plans.CausesBeyondFeeds(before, after)
	if before.Plan.Name == after.Plan.Name {
		causes = append(causes, phrase.Of("cause.same-plan"))
	}
	if len(in.Stages) < len(allStages()) {
		causes = append(causes, phrase.Of("cause.stages"))
	}
	return causes
}
