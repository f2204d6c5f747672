package store

import (
	"testing"
	"time"

	"fairlane/service/control"
)

func checkMaintenance(t *testing.T, f *fixture) {
	ctx := t.Context()
	f.fabric("lab")
	f.fabric("prod")
	f.plainTenant("lab", "red")
	f.plainTenant("lab", "blue")
	f.plainTenant("prod", "red")
	hour := func(i int) time.Time { return at().Add(time.Duration(i) * time.Hour) }
	add := func(id, fabric string, start int, s control.MaintenanceScope, touches ...string) control.Maintenance {
		t.Helper()
		m := control.Maintenance{
			ID: id, Fabric: fabric, StartsAt: hour(start), EndsAt: hour(start + 1), Text: control.MaintenanceText{EN: "a\x00b", ZH: "维护"}, Scope: s, Touches: touches,
			Author: "ada", CreatedAt: at(), UpdatedAt: at(),
		}
		f.tx(func(r control.Repos) (err error) { m, err = r.CreateMaintenance(ctx, m); return err })
		return m
	}
	one := add("m-000000000001", "lab", 1, control.MaintenanceScope{Tenants: []string{"red"}, Places: []string{"sw1"}}, "red")
	add("m-000000000002", "lab", 3, control.MaintenanceScope{}, "blue", "red")
	add("m-000000000003", "prod", 2, control.MaintenanceScope{})
	read := func(id string) (m control.Maintenance) {
		t.Helper()
		f.view(func(r control.Repos) (err error) { m, err = r.Maintenance(ctx, "lab", id); return err })
		return m
	}
	one.Text.EN = "a\uFFFDb"
	f.equal("read back", one, read(one.ID))
	f.equal("the whole fabric touches", []string{"blue", "red"}, read("m-000000000002").Touches)
	ids := func(list []control.Maintenance, _ string, err error) (out []string) {
		t.Helper()
		for i := range list {
			out = append(out, list[i].ID[13:])
		}
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	f.view(func(r control.Repos) error {
		f.equal("all", []string{"2", "1"}, ids(r.ListMaintenance(ctx, "lab", time.Time{}, control.Page{})))
		f.equal("those that end later", []string{"2"}, ids(r.ListMaintenance(ctx, "lab", hour(2), control.Page{})))
		f.equal("those of red", []string{"2", "1"}, ids(r.MaintenanceOf(ctx, "lab", "red", control.Page{})))
		f.equal("those of blue", []string{"2"}, ids(r.MaintenanceOf(ctx, "lab", "blue", control.Page{})))
		f.equal("those of another fabric's red", []string{"3"}, ids(r.MaintenanceOf(ctx, "prod", "red", control.Page{})))
		n, err := r.CountMaintenance(ctx, "lab", at())
		f.equal("open ones", 2, n)
		if err != nil {
			return err
		}
		_, next, err := r.MaintenanceOf(ctx, "lab", "red", control.Page{Limit: 1})
		if err != nil {
			return err
		}
		f.equal("the second page of red", []string{"1"}, ids(r.MaintenanceOf(ctx, "lab", "red", control.Page{Limit: 1, After: next})))
		return nil
	})
	next := one
	next.Scope, next.Touches, next.CanceledAt, next.UpdatedAt = control.MaintenanceScope{Tenants: []string{"blue"}}, []string{"blue"}, hour(1), hour(1)
	f.tx(func(r control.Repos) (err error) { next, err = r.UpdateMaintenance(ctx, next); return err })
	f.equal("version", int64(2), next.Version)
	f.equal("updated", next, read(one.ID))
	f.want(f.s.Tx(ctx, func(r control.Repos) error { _, err := r.UpdateMaintenance(ctx, one); return err }), control.ErrPrecondition)
	f.view(func(r control.Repos) error {
		f.equal("those of red after the change", []string{"2"}, ids(r.MaintenanceOf(ctx, "lab", "red", control.Page{})))
		f.equal("those not canceled", []string{"2"}, ids(r.ListMaintenance(ctx, "lab", at(), control.Page{})))
		n, err := r.CountMaintenance(ctx, "lab", at())
		f.equal("open ones after the change", 1, n)
		return err
	})
	f.tx(func(r control.Repos) error { return r.DeleteTenant(ctx, "lab", "blue", 0) })
	f.equal("a deleted tenant is not touched", 0, len(read(one.ID).Touches))
	f.tx(func(r control.Repos) error {
		n, err := r.PruneMaintenance(ctx, hour(3), 10)
		f.equal("removed", int64(1), n)
		return err
	})
	f.want(f.s.View(ctx, func(r control.Repos) error { _, err := r.Maintenance(ctx, "lab", one.ID); return err }), control.ErrNotFound)
	f.want(f.s.View(ctx, func(r control.Repos) error { _, err := r.Maintenance(ctx, "prod", "m-000000000002"); return err }), control.ErrNotFound)
}
