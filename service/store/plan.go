package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"fairlane/internal/phrase"
	"fairlane/policy"
	"fairlane/service/control"
)

var _ control.PlanRepo = (*repos)(nil)

func (r *repos) PutPlan(ctx context.Context, p control.Plan) (control.Plan, bool, error) {
	f, err := r.fabric(ctx, p.Fabric)
	if err != nil {
		return control.Plan{}, false, err
	}
	switch old, err := r.Plan(ctx, p.Fabric, p.Plan.Name); {
	case err == nil:
		return old, false, nil
	case !errors.Is(err, control.ErrNotFound):
		return control.Plan{}, false, err
	}
	row := planRow{
		FabricID: f.ID, Name: p.Plan.Name, SnapshotSHA256: p.Input.Snapshot,
		Tenants: len(p.Plan.Tenants), Devices: control.DevicesOf(p.Plan), Findings: len(p.Plan.Findings),
		CreatedAtUS: micros(p.CreatedAt),
	}
	for _, t := range p.Plan.Tenants {
		row.MaxPredictedError = max(row.MaxPredictedError, t.PredictedError)
	}
	if row.Plan, err = json.Marshal(p.Plan); err == nil {
		row.Input, err = json.Marshal(p.Input)
	}
	if err != nil {
		return control.Plan{}, false, fmt.Errorf("encode plan %s: %w", p.Plan.Name, err)
	}
	if err := r.in(ctx).Create(&row).Error; err != nil {
		return control.Plan{}, false, fmt.Errorf("insert plan %s: %w", p.Plan.Name, err)
	}
	stored, err := row.domain(p.Fabric)
	return stored, true, err
}

func (r *repos) Plan(ctx context.Context, fabric, name string) (control.Plan, error) {
	f, err := r.fabric(ctx, fabric)
	if err != nil {
		return control.Plan{}, err
	}
	row, err := r.plan(ctx, f.ID, name)
	if err != nil {
		return control.Plan{}, err
	}
	return row.domain(fabric)
}

// plan finds a plan by an unambiguous prefix of its name. The name is hexadecimal, so the range from the prefix to the
// prefix followed by "g" holds exactly the matches.
func (r *repos) plan(ctx context.Context, fabricID int64, name string) (planRow, error) {
	var rows []planRow
	if strings.Trim(name, "0123456789abcdef") != "" || name == "" {
		return planRow{}, &control.NotFoundError{Kind: "plan", Name: name}
	}
	err := r.in(ctx).Where("fabric_id = ? AND name >= ? AND name < ?", fabricID, name, name+"g").
		Order("name").Limit(2).Find(&rows).Error
	switch {
	case err != nil:
		return planRow{}, fmt.Errorf("read plan %s: %w", name, err)
	case len(rows) == 0:
		return planRow{}, &control.NotFoundError{Kind: "plan", Name: name}
	case len(rows) > 1:
		return planRow{}, &control.ConflictError{Code: "ambiguous-name", Said: phrase.Of("problem.plan-ambiguous", "found", name)}
	}
	return rows[0], nil
}

// ListPlans lists plans, newest first.
func (r *repos) ListPlans(ctx context.Context, fabric string, p control.Page) ([]control.PlanSummary, string, error) {
	f, err := r.fabric(ctx, fabric)
	if err != nil {
		return nil, "", err
	}
	q := r.in(ctx).Omit("plan", "input").Where("fabric_id = ?", f.ID)
	rows, next, err := newestFirst(q, "id", "plans of "+fabric, p, func(p planRow) int64 { return p.ID })
	return each(rows, func(row planRow) control.PlanSummary { return row.summary(fabric) }), next, err
}

func (row planRow) summary(fabric string) control.PlanSummary {
	return control.PlanSummary{
		Name: row.Name, Fabric: fabric, Snapshot: row.SnapshotSHA256, Tenants: row.Tenants, Devices: row.Devices,
		Findings: row.Findings, MaxPredictedError: row.MaxPredictedError, CreatedAt: fromMicros(row.CreatedAtUS),
	}
}

func (row planRow) domain(fabric string) (control.Plan, error) {
	p := control.Plan{Fabric: fabric, Plan: new(policy.Plan), CreatedAt: fromMicros(row.CreatedAtUS), Stored: true}
	err := json.Unmarshal(row.Plan, p.Plan)
	if err == nil {
		err = json.Unmarshal(row.Input, &p.Input)
	}
	if err != nil {
		return control.Plan{}, fmt.Errorf("decode plan %s: %w", row.Name, err)
	}
	return p, nil
}
