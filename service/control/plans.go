package control

import (
	"context"
	"errors"
	"fmt"

	"fairlane/internal/phrase"
	"fairlane/policy"
	"fairlane/service/device"
	"fairlane/subnet/ident"
	"fairlane/tenants"
)

// CreatePlan compiles the fabric's tenants and flows on its latest snapshot with options of its own. A dry run keeps
// nothing. created is false when the plan was stored before, since the same input gives the same
// plan.
func (s *Service) CreatePlan(ctx context.Context, fabric string, o CompileOptions, dryRun bool) (p Plan, created bool, err error) {
	return s.MakePlan(ctx, fabric, PlanRequest{Options: &o}, dryRun)
}

// MakePlan compiles what the request says on the fabric's latest snapshot. A dry run keeps nothing. created is false
// when the plan was stored before.
func (s *Service) MakePlan(ctx context.Context, fabric string, req PlanRequest, dryRun bool) (p Plan, created bool, err error) {
	if len(req.Edits) > 0 {
		return Plan{}, false, Invalid("/edits", phrase.Of("problem.plan-edits", "n", len(req.Edits)))
	}
	in, pin, err := s.planInput(ctx, fabric, req)
	if err != nil {
		return Plan{}, false, err
	}
	compiled, err := s.compile(ctx, fabric, pin)
	if err != nil {
		return Plan{}, false, err
	}
	p = Plan{Fabric: fabric, Plan: compiled, Input: in, CreatedAt: s.now()}
	if dryRun {
		return p, false, nil
	}
	err = s.d.Store.Tx(OnFabric(ctx, fabric), func(r Repos) (err error) {
		if p, created, err = r.PutPlan(ctx, p); err != nil || !created {
			return err
		}
		return s.event(ctx, r, Event{Fabric: fabric, Kind: "plan.created", Subject: p.Plan.Name,
			Said: phrase.Of("event.plan", "plan", fmt.Sprintf("%.12s", p.Plan.Name), "devices", DevicesOf(p.Plan), "findings", len(p.Plan.Findings))}, nil)
	})
	return p, created, err
}

// DevicesOf counts the devices that a plan sets; of a plan for WRCC the switches and the ports with senders.
func DevicesOf(p *policy.Plan) int {
	n := len(p.CAs) + len(p.Switches)
	if p.RoCE != nil {
		n += len(p.RoCE.NICs) + len(p.RoCE.Switches)
	}
	if p.WRCC != nil {
		seen := make(map[ident.PortID]bool)
		for i := range p.WRCC.Ports {
			for _, port := range p.WRCC.Ports[i].Ports {
				seen[ident.PortID{Node: port.Port.Node}] = true
			}
		}
		for i := range p.WRCC.Senders {
			seen[p.WRCC.Senders[i].Port] = true
		}
		n += len(seen)
	}
	return n
}

// uncompilable says why the stored policy cannot be compiled. The faults are of the stored
// tenants and flows, not of a field of the request, so they carry no pointer.
func uncompilable(err error) error {
	var f *tenants.FieldError
	if errors.As(err, &f) {
		return invalidModel(err, func(*tenants.FieldError) string { return "" })
	}
	return &InvalidError{Fields: []FieldError{{Said: phrase.OfError(err)}}}
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

// desired lists what the target's devices should be, by device.
func (t *Target) desired() ([]device.Target, error) {
	list, err := device.Desired(t.Plan, t.Topology)
	if err != nil {
		return nil, &ConflictError{Code: "topology-changed", Said: phrase.Of("problem.plan-misfit", "plan", fmt.Sprintf("%.12s", t.Plan.Name), "reason", err)}
	}
	return list, nil
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
		if p, err = planOrInForce(ctx, r, fabric, name); err != nil {
			return err
		}
		if snapshot := p.Input.Snapshot; DevicesOf(p.Plan) > 0 {
			snap, err = r.Snapshot(ctx, fabric, snapshot)
		} else { // it fits every fabric: what returns to something is found where it is now
			snap, err = r.Snapshot(ctx, fabric, "")
		}
		return err
	})
	if err != nil {
		return Target{}, err
	}
	// A plan's name is the hash of its contents: what was damaged in the store goes nowhere.
	if hash := p.Plan.Hash(); hash != p.Plan.Name {
		return Target{}, fmt.Errorf("stored plan %s is damaged: its contents have the name %s", p.Plan.Name, hash)
	}
	t.Plan, t.Flows = p.Plan, p.Input.Flows
	t.Topology, err = s.parseTopology(snap)
	return t, err
}
