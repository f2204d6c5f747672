// Package objectives has the use cases about the objectives of tenants: what each is to receive while it contends, and how often.
package objectives

import (
	"cmp"
	"context"

	"fairlane/internal/phrase"
	"fairlane/service/control"
)

// Objectives are the use cases of this package. They are safe for concurrent use.
type Objectives struct{ *control.Base }

// New returns the use cases over the shared base.
func New(b *control.Base) *Objectives { return &Objectives{b} }

// Bounds of the settings.
const (
	MinBound  = 0.01
	MaxBound  = 1.0
	MinTarget = 0.5
	MaxTarget = 0.99999 // a target of 1 has no budget
)

// Input is a change of an objective; a nil field takes the default of the fabric or, for the default itself, the built-in one.
type Input struct{ Bound, Target *float64 }

// Kinds of events about objectives.
const (
	kindTenant = "tenant.objective"
	kindFabric = "fabric.objective"
)

// ObjectiveSet returns the objectives of a fabric.
func (s *Objectives) ObjectiveSet(ctx context.Context, fabric string) (set control.ObjectiveSet, err error) {
	err = s.Store.View(ctx, func(r control.Repos) (err error) { set, err = setOf(ctx, r, fabric); return err })
	return set, err
}

func setOf(ctx context.Context, r control.Repos, fabric string) (control.ObjectiveSet, error) {
	stored, err := r.Objectives(ctx, fabric)
	return control.NewObjectiveSet(stored), err
}

// ListObjectives returns the objectives in force of the tenants that the caller may see, by tenant.
func (s *Objectives) ListObjectives(ctx context.Context, fabric string, p control.Page) (list []control.Objective, next string, err error) {
	err = s.Store.View(ctx, func(r control.Repos) error {
		set, err := setOf(ctx, r, fabric)
		if err != nil {
			return err
		}
		var page []control.Tenant
		if names := control.VisibleTenants(ctx, fabric); names != nil {
			page, next, err = r.TenantsNamed(ctx, fabric, names, p)
		} else {
			page, next, err = r.ListTenants(ctx, fabric, p)
		}
		for i := range page {
			list = append(list, set.Of(page[i].Name))
		}
		return err
	})
	return list, next, err
}

// PutObjective sets the objective of a tenant, or with "" the default of a fabric.
func (s *Objectives) PutObjective(ctx context.Context, fabric, tenant string, in Input) (out control.Objective, err error) {
	err = s.Store.Tx(control.OnFabric(ctx, fabric), func(r control.Repos) error {
		set, err := setOf(ctx, r, fabric)
		if err != nil {
			return err
		}
		before := of(&set, tenant)
		base := set.Default
		if tenant == "" {
			base = control.DefaultObjective()
		}
		o := control.Objective{Tenant: tenant, Bound: deref(in.Bound, base.Bound), Target: deref(in.Target, base.Target), UpdatedAt: s.Now()}
		if err := check(o); err != nil {
			return err
		}
		if err := r.PutObjective(ctx, fabric, o); err != nil {
			return err
		}
		if set, err = setOf(ctx, r, fabric); err != nil {
			return err
		}
		out = of(&set, tenant)
		if before.Source == out.Source && before.Bound == out.Bound && before.Target == out.Target {
			return nil
		}
		return s.AddEvent(ctx, r, event(fabric, tenant, phrase.Of("event.objective", "subject", cmp.Or(tenant, fabric), "bound", phrase.PercentOf(out.Bound, 3), "target", phrase.PercentOf(out.Target, 3))),
			control.Change{Before: recorded(before), After: recorded(out)})
	})
	return out, err
}

// DeleteObjective removes the objective of a tenant, so that the default applies, or with "" the default of a fabric.
func (s *Objectives) DeleteObjective(ctx context.Context, fabric, tenant string) error {
	return s.Store.Tx(control.OnFabric(ctx, fabric), func(r control.Repos) error {
		set, err := setOf(ctx, r, fabric)
		if err != nil {
			return err
		}
		before := of(&set, tenant)
		had, err := r.DeleteObjective(ctx, fabric, tenant)
		switch {
		case err != nil:
			return err
		case !had:
			return &control.NotFoundError{Kind: "objective of", Name: cmp.Or(tenant, fabric)}
		}
		return s.AddEvent(ctx, r, event(fabric, tenant, phrase.Of("event.objective-removed", "subject", cmp.Or(tenant, fabric))), control.Change{Before: recorded(before)})
	})
}

// of returns the objective of a tenant or, for "", the default.
func of(s *control.ObjectiveSet, tenant string) control.Objective {
	if tenant == "" {
		return s.Default
	}
	return s.Of(tenant)
}

func event(fabric, tenant string, said phrase.Text) control.Event {
	if tenant == "" {
		return control.Event{Fabric: fabric, Kind: kindFabric, Subject: fabric, Said: said}
	}
	return control.Event{Fabric: fabric, Kind: kindTenant, Subject: tenant, Said: said}
}

// recorded is an objective as events and audit entries have it.
func recorded(o control.Objective) any {
	return struct {
		Bound  float64 `json:"bound"`
		Target float64 `json:"target"`
	}{o.Bound, o.Target}
}

// check rejects values out of range; NaN is out of any.
func check(o control.Objective) error {
	var bad control.InvalidError
	for _, f := range []struct {
		pointer        string
		v, least, most float64
	}{{"/bound", o.Bound, MinBound, MaxBound}, {"/target", o.Target, MinTarget, MaxTarget}} {
		if !(f.v >= f.least && f.v <= f.most) {
			bad.Fields = append(bad.Fields, control.FieldError{Pointer: f.pointer, Said: phrase.Of("problem.objective", "found", f.v, "least", f.least, "most", f.most)})
		}
	}
	if bad.Fields != nil {
		return &bad
	}
	return nil
}

func deref(v *float64, none float64) float64 {
	if v == nil {
		return none
	}
	return *v
}
