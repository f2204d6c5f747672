package plans

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"fairlane/internal/phrase"
	"fairlane/internal/span"
	"fairlane/policy"
	"fairlane/service/control"
	"fairlane/service/control/tenancy"
	"fairlane/tenants"
)

// PlanRequest selects the input of a plan; the zero value is the current declaration with the fabric's options.
type PlanRequest struct {
	Options *policy.Options // nil: the options of the policy
	Policy  int64           // the revision of tenants and flows; 0 is the current declaration
	// KeepPlacements keeps tenants on their service levels in the plan in force, where these are still valid.
	KeepPlacements bool
	Edits          []string // what-if edits, as policy.ParseEdit parses them; only WhatIf accepts any
}

// MaxEdits bounds the edits of one WhatIf.
const MaxEdits = 100

// compilers caches compiler state for the fabrics that were compiled last.
type compilers struct {
	mu    sync.Mutex
	slots []*compilerSlot // most recently used last, at most maxCompilers
}

// maxCompilers bounds the cache: the state of a fabric of 10,000 hosts and 100,000 flows takes some hundred megabytes.
const maxCompilers = 2

// compilerSlot holds the compiler state of one fabric, whose plans are compiled one at a time.
type compilerSlot struct {
	fabric string
	mu     sync.Mutex
	c      policy.Compiler
	flows  []tenants.Flow // of the last plan: the state is reused while they are the same slices
}

func (c *compilers) slot(fabric string) *compilerSlot {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.IndexFunc(c.slots, func(s *compilerSlot) bool { return s.fabric == fabric })
	var s *compilerSlot
	if i >= 0 {
		s = c.slots[i]
		c.slots = slices.Delete(c.slots, i, i+1)
	} else {
		s = &compilerSlot{fabric: fabric}
		if len(c.slots) == maxCompilers {
			c.slots = slices.Delete(c.slots, 0, 1)
		}
	}
	c.slots = append(c.slots, s)
	return s
}

func (s *compilerSlot) compile(in policy.Input) (*policy.Plan, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if slices.Equal(s.flows, in.Flows) {
		in.Flows = s.flows
	}
	s.flows = in.Flows
	return s.c.Compile(in)
}

// compile compiles with the cached state of the fabric.
func (s *Plans) compile(ctx context.Context, fabric string, in policy.Input) (p *policy.Plan, err error) {
	_, sp := span.Start(ctx, "compile", "fabric", fabric, "tenants", len(in.Tenants), "flows", len(in.Flows))
	begun := s.Now()
	defer func() {
		sp.End(err)
		if s.Compiled != nil {
			s.Compiled(cmp.Or(in.Options.Plane, policy.PlaneIB), s.Now().Sub(begun), err)
		}
	}()
	if p, err = s.compilers.slot(fabric).compile(in); err != nil {
		return nil, Uncompilable(err)
	}
	return p, nil
}

// planInput collects the input of a plan.
func (s *Plans) planInput(ctx context.Context, fabric string, req PlanRequest) (in control.PlanInput, pin policy.Input, err error) {
	err = s.Store.View(ctx, func(r control.Repos) error {
		snap, topo, err := s.Latest(ctx, r, fabric)
		if err != nil {
			return err
		}
		in.Snapshot = snap.SHA256
		if err := declared(ctx, r, fabric, req.Policy, &in); err != nil {
			return err
		}
		if req.Options != nil {
			in.Options = *req.Options
		}
		if err := control.FollowPlane(ctx, r, fabric, &in.Options); err != nil {
			return err
		}
		if req.KeepPlacements {
			p, err := inForce(ctx, r, fabric)
			switch {
			case errors.Is(err, control.ErrConflict): // nothing is in force, so there is nothing to keep
			case err != nil:
				return err
			default:
				in.InForce, pin.InForce = p.Plan.Name, p.Plan
			}
		}
		pin.Fabric = topo
		return nil
	})
	if err != nil {
		return in, pin, err
	}
	pin.Tenants, pin.Flows, pin.Options, pin.IBProfiles = in.Tenants, in.Flows, in.Options, s.ProfilesOfDevices()
	return in, pin, control.CheckOptions(in.Options)
}

// declared loads tenants, flows and options of a revision; 0 is the current declaration.
func declared(ctx context.Context, r control.Repos, fabric string, number int64, in *control.PlanInput) error {
	if number != 0 {
		c, err := tenancy.ContentOf(ctx, r, fabric, number)
		in.Tenants, in.Flows, in.Options, in.Policy = c.List, c.Traffic, c.Options, c.Number
		return err
	}
	list, err := r.AllTenants(ctx, fabric)
	if err != nil {
		return err
	}
	in.Tenants = control.Plain(list)
	if in.Flows, _, err = r.Flows(ctx, fabric); err != nil {
		return err
	}
	if in.Options, _, err = control.OptionsOf(ctx, r, fabric); err != nil {
		return err
	}
	switch p, err := r.Policy(ctx, fabric, 0); {
	case err == nil:
		in.Policy = p.Number
	case !errors.Is(err, control.ErrNotFound):
		return err
	}
	return nil
}

// inForce returns the plan in force: that of the latest rollout that left its plan on devices.
func inForce(ctx context.Context, r control.Repos, fabric string) (control.Plan, error) {
	name, err := control.InForceName(ctx, r, fabric)
	if err != nil {
		return control.Plan{}, err
	}
	return r.Plan(ctx, fabric, name)
}

// planOrInForce returns a stored plan; name "" means the one in force.
func planOrInForce(ctx context.Context, r control.Repos, fabric, name string) (control.Plan, error) {
	if name == "" {
		return inForce(ctx, r, fabric)
	}
	return r.Plan(ctx, fabric, name)
}

// WhatIf is the effect of edits on a plan.
type WhatIf struct {
	Before, After *policy.Plan
	Notices       []policy.Finding // of the edits themselves
	Difference    policy.Difference
}

// WhatIf compiles the request without and with its edits, 1 to MaxEdits of them, and stores nothing.
func (s *Plans) WhatIf(ctx context.Context, fabric string, req PlanRequest) (WhatIf, error) {
	if len(req.Edits) < 1 || len(req.Edits) > MaxEdits {
		return WhatIf{}, control.Invalid("/edits", phrase.Of("problem.edits", "n", len(req.Edits), "max", MaxEdits))
	}
	var edits []policy.Edit
	var bad control.InvalidError
	for i, text := range req.Edits {
		e, err := policy.ParseEdit(text)
		if err != nil {
			bad.AddFrom(fmt.Sprintf("/edits/%d", i), err)
		}
		edits = append(edits, e)
	}
	if err := bad.OrNil(); err != nil {
		return WhatIf{}, err
	}
	_, in, err := s.planInput(ctx, fabric, req)
	if err != nil {
		return WhatIf{}, err
	}
	var w WhatIf
	if w.Before, err = s.compile(ctx, fabric, in); err != nil {
		return WhatIf{}, err
	}
	edited, notices, err := policy.Apply(in, edits...)
	if err != nil {
		return WhatIf{}, control.InvalidFrom("/edits", err)
	}
	edited.InForce, w.Notices = w.Before, notices
	// Without the cached state: the next real plan is closer to the plan before the edits.
	if w.After, err = policy.Compile(edited); err != nil {
		return WhatIf{}, Uncompilable(err)
	}
	w.Difference = policy.Diff(w.Before, w.After)
	return w, nil
}

// AdmitTenant judges whether a tenant can be admitted to the requested plan, and stores nothing.
func (s *Plans) AdmitTenant(ctx context.Context, fabric string, req PlanRequest, ask policy.AdmitRequest) (*policy.Admission, error) {
	req.KeepPlacements = true // changes are judged against the plan in force
	_, in, err := s.planInput(ctx, fabric, req)
	if err != nil {
		return nil, err
	}
	a, err := policy.Admit(in, ask)
	var refused *policy.AdmitError
	switch {
	case errors.As(err, &refused):
		return nil, control.InvalidFrom("/"+admitPointer(refused.Field), refused.Err)
	case err != nil:
		return nil, Uncompilable(err)
	}
	return a, nil
}

// admitPointer returns the contract's name of a field of an admission request.
func admitPointer(field string) string {
	switch field {
	case "guarantee", "cap":
		return field + "_bps"
	}
	return field
}

// DiffPlans returns the changes from plan against to plan name; against "" means the plan in force.
func (s *Plans) DiffPlans(ctx context.Context, fabric, against, name string) (policy.Difference, error) {
	var before, after control.Plan
	err := s.Store.View(ctx, func(r control.Repos) (err error) {
		if after, err = r.Plan(ctx, fabric, name); err == nil {
			before, err = planOrInForce(ctx, r, fabric, against)
		}
		return err
	})
	if err != nil {
		return policy.Difference{}, err
	}
	return policy.Diff(before.Plan, after.Plan), nil
}

// ExplainPlan explains the settings of a plan's devices that pass the filter.
func (s *Plans) ExplainPlan(ctx context.Context, fabric, name string, f policy.ExplainFilter) ([]policy.Explanation, error) {
	p, err := s.Plan(ctx, fabric, name)
	if err != nil {
		return nil, err
	}
	list, err := p.Plan.Explain(f)
	if err != nil {
		var refused *policy.FilterError
		if errors.As(err, &refused) {
			return nil, control.InvalidFrom(refused.Field, err)
		}
		return nil, err
	}
	return list, nil
}

// PlanOrInForce returns a stored plan; name "" is the plan in force, and a *ConflictError when there is none.
func (s *Plans) PlanOrInForce(ctx context.Context, fabric, name string) (p control.Plan, err error) {
	err = s.Store.View(ctx, func(r control.Repos) (err error) { p, err = planOrInForce(ctx, r, fabric, name); return err })
	return p, err
}
