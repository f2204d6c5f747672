package plans

import (
	"context"
	"errors"
	"fmt"

	"fairlane/internal/phrase"
	"fairlane/policy"
	"fairlane/service/control"
	"fairlane/tenants"
)

// CreatePlan compiles the fabric's tenants and flows on its latest snapshot with the given options. A dry run stores
// nothing. created is false when the plan was stored before, since the same input gives the same plan.
func (s *Plans) CreatePlan(ctx context.Context, fabric string, o policy.Options, dryRun bool) (p control.Plan, created bool, err error) {
	return s.MakePlan(ctx, fabric, PlanRequest{Options: &o}, dryRun)
}

// MakePlan compiles the request on the fabric's latest snapshot. A dry run stores nothing. created is false when the plan
// was stored before.
func (s *Plans) MakePlan(ctx context.Context, fabric string, req PlanRequest, dryRun bool) (p control.Plan, created bool, err error) {
	if len(req.Edits) > 0 {
		return control.Plan{}, false, control.Invalid("/edits", phrase.Of("problem.plan-edits", "n", len(req.Edits)))
	}
	in, pin, err := s.planInput(ctx, fabric, req)
	if err != nil {
		return control.Plan{}, false, err
	}
	compiled, err := s.compile(ctx, fabric, pin)
	if err != nil {
		return control.Plan{}, false, err
	}
	p = control.Plan{Fabric: fabric, Plan: compiled, Input: in, CreatedAt: s.Now()}
	if dryRun {
		return p, false, nil
	}
	err = s.Store.Tx(control.OnFabric(ctx, fabric), func(r control.Repos) (err error) {
		if p, created, err = r.PutPlan(ctx, p); err != nil || !created {
			return err
		}
		return s.AddEvent(ctx, r, control.Event{Fabric: fabric, Kind: "plan.created", Subject: p.Plan.Name,
			Said: phrase.Of("event.plan", "plan", fmt.Sprintf("%.12s", p.Plan.Name), "devices", control.DevicesOf(p.Plan), "findings", len(p.Plan.Findings))}, nil)
	})
	return p, created, err
}

// Uncompilable says why the stored policy cannot be compiled. The faults are in the stored tenants and flows, not in a
// field of the request, so they have no pointer.
func Uncompilable(err error) error {
	var f *tenants.FieldError
	if errors.As(err, &f) {
		return control.InvalidModel(err, func(*tenants.FieldError) string { return "" })
	}
	return &control.InvalidError{Fields: []control.FieldError{{Said: phrase.OfError(err)}}}
}

// Plan returns a stored plan by its name or an unambiguous prefix of it.
func (s *Plans) Plan(ctx context.Context, fabric, name string) (p control.Plan, err error) {
	err = s.Store.View(ctx, func(r control.Repos) (err error) { p, err = r.Plan(ctx, fabric, name); return err })
	return p, err
}

// ListPlans returns stored plans, newest first.
func (s *Plans) ListPlans(ctx context.Context, fabric string, p control.Page) (list []control.PlanSummary, next string, err error) {
	err = s.Store.View(ctx, func(r control.Repos) (err error) { list, next, err = r.ListPlans(ctx, fabric, p); return err })
	return list, next, err
}

// LoadTarget loads a plan of a fabric with its topology; name "" means the plan of the latest successful rollout.
func (s *Plans) LoadTarget(ctx context.Context, fabric, name string) (t control.Target, err error) {
	var p control.Plan
	var snap control.Snapshot
	err = s.Store.View(ctx, func(r control.Repos) error {
		if t.Fabric, err = r.Fabric(ctx, fabric); err != nil {
			return err
		}
		if p, err = planOrInForce(ctx, r, fabric, name); err != nil {
			return err
		}
		if snapshot := p.Input.Snapshot; control.DevicesOf(p.Plan) > 0 {
			snap, err = r.Snapshot(ctx, fabric, snapshot)
		} else { // an empty plan fits every topology: devices are located on the current one
			snap, err = r.Snapshot(ctx, fabric, "")
		}
		return err
	})
	if err != nil {
		return control.Target{}, err
	}
	// A plan's name is the hash of its contents: a damaged plan must not reach devices.
	if hash := p.Plan.Hash(); hash != p.Plan.Name {
		return control.Target{}, fmt.Errorf("stored plan %s is damaged: its contents have the name %s", p.Plan.Name, hash)
	}
	t.Plan, t.Flows, t.Tenants, t.Options = p.Plan, p.Input.Flows, p.Input.Tenants, p.Input.Options
	t.Topology, err = s.ParseTopology(snap)
	return t, err
}

// RefreshTarget returns the target of the plan in force. When prior is the target of the same plan, it keeps prior's plan, flows and
// topology: loading them takes noticeable time for a large fabric. Errors are those of LoadTarget.
func (s *Plans) RefreshTarget(ctx context.Context, fabric string, prior control.Target) (control.Target, error) {
	var f control.Fabric
	var name string
	err := s.Store.View(ctx, func(r control.Repos) (err error) {
		if f, err = r.Fabric(ctx, fabric); err != nil {
			return err
		}
		name, err = control.InForceName(ctx, r, fabric)
		return err
	})
	if err != nil {
		return control.Target{}, err
	}
	if prior.Plan == nil || prior.Plan.Name != name || prior.Fabric.Name != fabric || control.DevicesOf(prior.Plan) == 0 { // an empty plan follows the topology
		return s.LoadTarget(ctx, fabric, name)
	}
	prior.Fabric = f
	return prior, nil
}
