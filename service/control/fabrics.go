package control

import (
	"context"
	"errors"
	"fmt"
	"math"

	"fairlane/internal/phrase"
)

// CheckSettings rejects settings that are invalid for any fabric.
func (f Fabric) CheckSettings() error {
	switch {
	case !(f.TimeScale > 0) || math.IsInf(f.TimeScale, 0):
		return Invalid("/time_scale", phrase.Of("problem.time-scale", "found", f.TimeScale))
	case f.Counters != CountersClear && f.Counters != CountersKeep:
		return Invalid("/counters", phrase.Of("problem.counters", "found", f.Counters, "first", CountersClear, "second", CountersKeep))
	case f.Prerequisites != PrerequisitesReport && f.Prerequisites != PrerequisitesRepair:
		return Invalid("/prerequisites", phrase.Of("problem.prerequisites", "found", f.Prerequisites, "first", PrerequisitesReport, "second", PrerequisitesRepair))
	}
	return nil
}

// EachFabric runs do, the service's own work, on every fabric. It joins the errors; a fabric without a plan in force, or
// deleted meanwhile, is no error.
func (s *Base) EachFabric(ctx context.Context, what string, do func(fabric string) error) error {
	var errs []error
	for p := (Page{Limit: MaxPageLimit}); ; {
		var (
			list []Fabric
			next string
		)
		err := s.Store.View(ctx, func(r Repos) (err error) { list, next, err = r.ListFabrics(ctx, p); return err })
		if err != nil {
			return errors.Join(append(errs, err)...)
		}
		for _, f := range list {
			if err := do(f.Name); err != nil && !errors.Is(err, ErrConflict) && !errors.Is(err, ErrNotFound) {
				errs = append(errs, fmt.Errorf("%s %s: %w", what, f.Name, err))
			}
		}
		if p.After = next; next == "" {
			return errors.Join(errs...)
		}
	}
}

// AtRest fails with *ConflictError "rollout-running" while a rollout runs on a fabric.
func AtRest(ctx context.Context, r Repos, fabric string) error {
	running, latest, err := RolloutsOf(ctx, r, fabric)
	if err == nil && running {
		err = &ConflictError{Code: "rollout-running", Said: phrase.Of("problem.rollout-running", "rollout", latest, "fabric", fabric)}
	}
	return err
}

// RolloutsOf reports whether a rollout runs on a fabric, and returns the number of the newest rollout, which is then the
// running one.
func RolloutsOf(ctx context.Context, r Repos, fabric string) (running bool, latest int64, err error) {
	list, _, err := r.ListRollouts(ctx, fabric, Page{Limit: 1})
	if err != nil || len(list) == 0 {
		return false, 0, err
	}
	return list[0].State == RolloutRunning, list[0].ID, nil
}
