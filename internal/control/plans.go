package control

import (
	"context"
	"errors"
	"fmt"

	"fairlane/policy"
	"fairlane/tenants"
)

// CreatePlan compiles the fabric's tenants and flows on its latest snapshot. A dry run keeps
// nothing. created is false when the plan was stored before, since the same input gives the
// same plan.
func (s *Service) CreatePlan(ctx context.Context, fabric string, o CompileOptions, dryRun bool) (p Plan, created bool, err error) {
	in := PlanInput{Options: o}
	var pin policy.Input
	err = s.d.Store.View(ctx, func(r Repos) error {
		snap, topo, err := s.latest(ctx, r, fabric)
		if err != nil {
			return err
		}
		list, err := r.AllTenants(ctx, fabric)
		if err != nil {
			return err
		}
		in.Snapshot, in.Tenants = snap.SHA256, plain(list)
		if in.Flows, _, err = r.Flows(ctx, fabric); err != nil {
			return err
		}
		pin = policy.Input{Fabric: topo, Tenants: in.Tenants, Flows: in.Flows, Options: o.Policy()}
		return nil
	})
	if err != nil {
		return Plan{}, false, err
	}
	compiled, err := s.d.Compiler(pin)
	if err != nil {
		return Plan{}, false, uncompilable(err)
	}
	p = Plan{Fabric: fabric, Plan: compiled, Input: in, CreatedAt: s.now()}
	if dryRun {
		return p, false, nil
	}
	err = s.d.Store.Tx(ctx, func(r Repos) (err error) {
		if p, created, err = r.PutPlan(ctx, p); err != nil || !created {
			return err
		}
		return s.event(ctx, r, Event{Fabric: fabric, Kind: "plan.created", Subject: p.Plan.Name,
			Message: fmt.Sprintf("plan %.12s covers %d adapters and %d switches, with %d findings",
				p.Plan.Name, len(p.Plan.CAs), len(p.Plan.Switches), len(p.Plan.Findings))}, nil)
	})
	return p, created, err
}

// uncompilable says why the stored policy cannot be compiled. The faults are of the stored
// tenants and flows, not of a field of the request, so they carry no pointer.
func uncompilable(err error) error {
	var f *tenants.FieldError
	if errors.As(err, &f) {
		return invalidModel(err, func(*tenants.FieldError) string { return "" })
	}
	return &InvalidError{Fields: []FieldError{{Detail: err.Error()}}}
}

// Plan returns a stored plan by its name or an unambiguous beginning of it.
func (s *Service) Plan(ctx context.Context, fabric, name string) (p Plan, err error) {
	err = s.d.Store.View(ctx, func(r Repos) (err error) { p, err = r.Plan(ctx, fabric, name); return err })
	return p, err
}

// ListPlans returns stored plans, newest first.
func (s *Service) ListPlans(ctx context.Context, fabric string, p Page) (list []PlanSummary, next string, err error) {
	err = s.d.Store.View(ctx, func(r Repos) (err error) { list, next, err = r.ListPlans(ctx, fabric, p); return err })
	return list, next, err
}

// target loads what a plan of a fabric is brought to: name "" is the plan of the latest
// successful rollout.
func (s *Service) target(ctx context.Context, fabric, name string) (t Target, err error) {
	var p Plan
	var snap Snapshot
	err = s.d.Store.View(ctx, func(r Repos) error {
		if t.Fabric, err = r.Fabric(ctx, fabric); err != nil {
			return err
		}
		if name == "" {
			ro, err := r.LatestRollout(ctx, fabric, RolloutSucceeded, RolloutPartial)
			if errors.Is(err, ErrNotFound) {
				return &ConflictError{Code: "no-plan", Detail: fmt.Sprintf("no rollout succeeded on fabric %q yet; name a plan", fabric)}
			} else if err != nil {
				return err
			}
			name = ro.Plan
		}
		if p, err = r.Plan(ctx, fabric, name); err != nil {
			return err
		}
		snap, err = r.Snapshot(ctx, fabric, p.Input.Snapshot)
		return err
	})
	if err != nil {
		return Target{}, err
	}
	// A plan's name is the hash of its contents: what was damaged in the store goes nowhere.
	if hash := p.Plan.Hash(); hash != p.Plan.Name {
		return Target{}, fmt.Errorf("stored plan %s is damaged: its contents have the name %s", p.Plan.Name, hash)
	}
	t.Plan = p.Plan
	t.Topology, err = s.parseTopology(snap)
	return t, err
}
