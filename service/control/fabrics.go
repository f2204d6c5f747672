package control

import (
	"context"
	"errors"
	"fmt"
	"math"

	"fairlane/internal/phrase"
)

// CheckSettings refuses settings that no fabric can have.
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

// EachFabric does the service's own work on every fabric. The error joins those of fabrics where it failed; that a fabric
// has nothing in force, or is gone, is none.
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

// RolloutsOf returns whether a rollout runs on a fabric, and the number of its newest one, which is the one that runs.
func RolloutsOf(ctx context.Context, r Repos, fabric string) (running bool, latest int64, err error) {
	list, _, err := r.ListRollouts(ctx, fabric, Page{Limit: 1})
	if err != nil || len(list) == 0 {
		return false, 0, err
	}
	return list[0].State == RolloutRunning, list[0].ID, nil
}
