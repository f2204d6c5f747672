package store

import (
	"testing"
	"time"

	"fairlane/service/control"
)

func checkSeriesManagers(t *testing.T, f *fixture) {
	ctx := t.Context()
	a := control.SeriesManager{URL: "https://a.example", Name: "a", Key: []byte{0, 255}, Until: at().Add(time.Minute)}
	b := control.SeriesManager{URL: "https://b.example", Name: "b", Key: []byte("b"), Until: at().Add(time.Hour)}
	announce := func(m control.SeriesManager, forget time.Time, want ...control.SeriesManager) {
		t.Helper()
		f.tx(func(r control.Repos) error { return r.AnnounceSeries(ctx, m, forget) })
		f.view(func(r control.Repos) error {
			got, err := r.SeriesManagers(ctx)
			f.equal("managers", want, got)
			return err
		})
	}
	announce(b, at(), b)
	announce(a, at(), a, b)
	a.Name, a.Key = "a2", []byte("new")
	announce(a, at(), a, b) // replaces
	announce(b, at().Add(time.Minute+time.Second), b)
}

func checkObjectives(t *testing.T, f *fixture) {
	ctx := t.Context()
	f.fabric("lab")
	f.fabric("prod")
	f.plainTenant("lab", "red")
	f.plainTenant("prod", "red")
	put := func(fabric, tenant string, bound, target float64) {
		t.Helper()
		f.tx(func(r control.Repos) error {
			return r.PutObjective(ctx, fabric, control.Objective{Tenant: tenant, Bound: bound, Target: target, UpdatedAt: at()})
		})
	}
	stored := func(want ...control.Objective) {
		t.Helper()
		f.view(func(r control.Repos) error {
			got, err := r.Objectives(ctx, "lab")
			f.equal("objectives", want, got)
			return err
		})
	}
	stored()
	put("lab", "red", 0.9, 0.999)
	put("lab", "", 0.95, 0.99)
	put("lab", "", 0.8, 0.5) // replaces
	put("prod", "red", 0.1, 0.6)
	put("prod", "", 0.2, 0.7)
	red, standard := control.Objective{Tenant: "red", Bound: 0.9, Target: 0.999, UpdatedAt: at()}, control.Objective{Bound: 0.8, Target: 0.5, UpdatedAt: at()}
	stored(standard, red)
	f.want(f.s.Tx(ctx, func(r control.Repos) error { return r.PutObjective(ctx, "lab", control.Objective{Tenant: "nobody"}) }), control.ErrNotFound)
	f.tx(func(r control.Repos) error {
		had, err := r.DeleteObjective(ctx, "lab", "")
		again, err2 := r.DeleteObjective(ctx, "lab", "")
		if err != nil || err2 != nil || !had || again {
			t.Errorf("deleted %v, then %v: %v, %v", had, again, err, err2)
		}
		return nil
	})
	stored(red)
	f.tx(func(r control.Repos) error { return r.DeleteTenant(ctx, "lab", "red", 0) })
	f.plainTenant("lab", "red") // another tenant of the name
	stored()
}
