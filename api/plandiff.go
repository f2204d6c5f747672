package api

import (
	"context"
	"encoding/json"
	"fmt"

	"fairlane/api/gen"

	"fairlane/api/server"
	"fairlane/internal/quantity"
	"fairlane/policy"
	"fairlane/service/control"
	"fairlane/service/control/plans"
)

func (s *Server) WhatIf(ctx context.Context, r server.WhatIfRequestObject) (server.WhatIfResponseObject, error) {
	w, err := s.control.WhatIf(ctx, r.Fabric, plans.PlanRequest{Options: givenOptions(r.Body.Options), Policy: deref(r.Body.Policy), Edits: r.Body.Edits})
	if err != nil {
		return nil, err
	}
	diff, err := differenceOut(w.Difference)
	if err != nil {
		return nil, err
	}
	return server.WhatIf200JSONResponse{
		Before:     gen.PlanShares{Name: w.Before.Name, Tenants: mapped(w.Before.Tenants, predictedOut)},
		After:      gen.PlanShares{Name: w.After.Name, Tenants: mapped(w.After.Tenants, predictedOut)},
		Difference: diff, Notices: mapped(w.Notices, findingOut), Findings: mapped(w.After.Findings, findingOut),
	}, nil
}

func (s *Server) AdmitTenant(ctx context.Context, r server.AdmitTenantRequestObject) (server.AdmitTenantResponseObject, error) {
	ask, err := AdmitRequestIn(r.Body)
	if err != nil {
		return nil, err
	}
	req := plans.PlanRequest{Options: givenOptions(r.Body.Options), Policy: deref(r.Body.Policy)}
	a, err := s.control.AdmitTenant(ctx, r.Fabric, req, ask)
	if err != nil {
		return nil, err
	}
	out, err := AdmissionOut(a)
	return server.AdmitTenant200JSONResponse(out), err
}

// AdmitRequestIn converts an admission request, without its options and the revision.
func AdmitRequestIn(b *gen.AdmissionRequest) (policy.AdmitRequest, error) {
	ask := policy.AdmitRequest{Tenant: b.Tenant, Change: deref(b.Change), Ports: b.Ports, To: b.To, QPs: deref(b.QPS)}
	if b.Weight != nil {
		w, err := quantity.WeightFromFloat(*b.Weight)
		if err != nil {
			return ask, control.InvalidFrom("/weight", err)
		}
		ask.Weight = w
	}
	if b.GuaranteeBps != nil {
		ask.Guarantee = new(quantity.BitRate(*b.GuaranteeBps))
	}
	if b.CapBps != nil {
		ask.Cap = new(quantity.BitRate(*b.CapBps))
	}
	return ask, nil
}

// CompileOptionsIn converts options, and rejects those without effect on their plane.
func CompileOptionsIn(o *gen.CompileOptions) (policy.Options, error) {
	in := optionsIn(o)
	return in, control.CheckOptions(in)
}

// AdmissionOut converts an admission to the contract's form.
func AdmissionOut(a *policy.Admission) (gen.Admission, error) {
	out, err := recast[gen.Admission](a)
	if err != nil {
		return out, err
	}
	for i := range a.Tenants {
		out.Tenants[i].Weight = a.Tenants[i].Weight.Float()
	}
	out.Appeared, out.Vanished = mapped(a.Appeared, findingOut), mapped(a.Vanished, findingOut)
	return out, nil
}

func (s *Server) DiffPlans(ctx context.Context, r server.DiffPlansRequestObject) (server.DiffPlansResponseObject, error) {
	d, err := s.control.DiffPlans(ctx, r.Fabric, deref(r.Params.Against), r.Plan)
	if err != nil {
		return nil, err
	}
	out, err := differenceOut(d)
	return server.DiffPlans200JSONResponse(out), err
}

func (s *Server) ExplainPlan(ctx context.Context, r server.ExplainPlanRequestObject) (server.ExplainPlanResponseObject, error) {
	p, err := page(r.Params.Limit, r.Params.Cursor)
	if err != nil {
		return nil, err
	}
	list, err := s.control.ExplainPlan(ctx, r.Fabric, r.Plan, policy.ExplainFilter{Port: deref(r.Params.Port), Tenant: deref(r.Params.Tenant)})
	if err != nil {
		return nil, err
	}
	list, next, err := control.SlicePage(list, p)
	if err != nil {
		return nil, err
	}
	items := mapped(list, func(e policy.Explanation) gen.Explanation {
		return gen.Explanation{Kind: e.Kind, Name: e.Name, Devices: append([]string{}, e.Devices...), Note: optional(e.Note), Reasons: mapped(e.Reasons, explainedOut)}
	})
	return server.ExplainPlan200JSONResponse{Items: items, NextCursor: cursor(next)}, nil
}

func predictedOut(x policy.TenantShare) gen.PredictedShare {
	return gen.PredictedShare{
		Tenant: x.Tenant, Weight: x.Weight.Float(), QPS: x.QPs,
		EntitledBps: int64(x.Entitled), PredictedBps: int64(x.Predicted), PredictedError: x.PredictedError, Bound: x.Bound,
	}
}

// differenceOut converts through JSON, whose fields are the contract's; fields with another form are converted
// separately.
func differenceOut(d policy.Difference) (out gen.PlanDifference, err error) {
	if out, err = recast[gen.PlanDifference](d); err != nil {
		return out, err
	}
	for i, t := range d.Tenants {
		if t.Before != nil {
			out.Tenants[i].Before = new(predictedOut(*t.Before))
		}
		if t.After != nil {
			out.Tenants[i].After = new(predictedOut(*t.After))
		}
		for j, c := range t.Classes {
			if c.Before != nil {
				out.Tenants[i].Classes[j].Before.Weight = c.Before.Weight.Float()
			}
			if c.After != nil {
				out.Tenants[i].Classes[j].After.Weight = c.After.Weight.Float()
			}
		}
	}
	out.Appeared, out.Vanished = mapped(d.Appeared, findingOut), mapped(d.Vanished, findingOut)
	for i, f := range d.Reworded {
		out.Reworded[i] = gen.FindingChange{Before: findingOut(f.Before), After: findingOut(f.After)}
	}
	return out, nil
}

// recast converts a value through JSON.
func recast[T any](v any) (out T, err error) {
	b, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(b, &out)
	}
	if err != nil {
		return out, fmt.Errorf("convert %T: %w", v, err)
	}
	return out, nil
}
