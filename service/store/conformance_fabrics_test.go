package store

import (
	"errors"
	"strings"
	"testing"
	"time"

	"fairlane/ccconfig/ibcc"
	"fairlane/internal/quantity"
	"fairlane/policy"
	"fairlane/service/control"
	"fairlane/subnet/ident"
	"fairlane/tenants"
)

func checkFabrics(t *testing.T, f *fixture) {
	ctx := t.Context()
	for _, n := range []string{"c", "a", "b"} {
		f.fabric(n)
	}
	f.want(f.s.Tx(ctx, func(r control.Repos) error { _, err := r.CreateFabric(ctx, fabricCalled("a")); return err }), control.ErrConflict)
	f.view(func(r control.Repos) error {
		list, err := paged(2, func(p control.Page) ([]control.Fabric, string, error) { return r.ListFabrics(ctx, p) })
		if err != nil {
			return err
		}
		names := each(list, func(x control.Fabric) string { return x.Name })
		f.equal("names", []string{"a", "b", "c"}, names)
		got, err := r.Fabric(ctx, "b")
		f.equal("fabric", control.Fabric{Name: "b", Plane: "ib", Source: "file:x", TimeScale: 0.5, Counters: control.CountersKeep, Prerequisites: control.PrerequisitesRepair, Version: 1, CreatedAt: at(), UpdatedAt: at(), Management: control.Managed}, got)
		return err
	})
}

func snapshot(fabric, digit string, seen time.Time) control.Snapshot {
	return control.Snapshot{
		Fabric: fabric, SHA256: strings.Repeat(digit, 64), Topology: []byte("topology " + digit),
		Nodes: 3, Switches: 1, Hosts: 2, Links: 2, TakenAt: seen, SeenAt: seen,
		Stats: control.DiscoverStats{Wall: 1500 * time.Microsecond, MADsSent: 42},
	}
}

func checkSnapshots(t *testing.T, f *fixture) {
	ctx := t.Context()
	f.fabric("lab")
	put := func(s control.Snapshot) {
		f.tx(func(r control.Repos) error { _, err := r.PutSnapshot(ctx, s); return err })
	}
	put(snapshot("lab", "1", at()))
	put(snapshot("lab", "2", at())) // the clock may stand still: the later sighting counts
	f.view(func(r control.Repos) error {
		s, err := r.Snapshot(ctx, "lab", "")
		f.equal("latest", snapshot("lab", "2", at()), s)
		return err
	})
	again := snapshot("lab", "1", at().Add(time.Hour))
	again.Stats.MADsSent = 7
	put(again)
	f.view(func(r control.Repos) error {
		s, err := r.Snapshot(ctx, "lab", "")
		want := again
		want.TakenAt = at()
		f.equal("latest after the first was seen again", want, s)
		list, next, lerr := r.ListSnapshots(ctx, "lab", control.Page{Limit: 1})
		if lerr != nil || len(list) != 1 || list[0].SHA256 != again.SHA256 || list[0].Topology != nil {
			t.Errorf("first page is %v, %v: want the snapshot seen last, without its topology", list, lerr)
		}
		list, next, lerr = r.ListSnapshots(ctx, "lab", control.Page{Limit: 1, After: next})
		if lerr != nil || len(list) != 1 || list[0].SHA256[0] != '2' || next != "" {
			t.Errorf("second page is %v, next %q, %v", list, next, lerr)
		}
		fab, ferr := r.Fabric(ctx, "lab")
		if ferr != nil || fab.Snapshot == nil || fab.Snapshot.SHA256 != again.SHA256 || fab.Snapshot.Topology != nil {
			t.Errorf("fabric's snapshot is %+v, %v", fab.Snapshot, ferr)
		}
		return err
	})
}

func port(guid uint64, num uint8) ident.PortID {
	return ident.PortID{Node: ident.GUID(guid), Port: ident.PortNum(num)}
}

func red() control.Tenant {
	sl := ident.SL(3)
	return control.Tenant{Fabric: "lab", CreatedAt: at(), UpdatedAt: at(), Tenant: tenants.Tenant{
		Name: "red", Weight: 1500, PKey: 0xffff, Guarantee: 10 * quantity.Gbps, Cap: quantity.MaxBitRate,
		Classes:     []tenants.Class{{Name: "bulk", Weight: 1}, {Name: "urgent", Weight: quantity.MaxWeight}},
		Attachments: []tenants.Attachment{{Port: port(1<<63+5, 1)}, {Port: port(2, 254), SL: &sl}},
	}}
}

func (f *fixture) tenant(tn control.Tenant) {
	f.t.Helper()
	f.tx(func(r control.Repos) error { _, err := r.CreateTenant(f.t.Context(), tn); return err })
}

func checkTenantRoundTrip(t *testing.T, f *fixture) {
	ctx := t.Context()
	f.fabric("lab")
	f.tenant(red())
	want := red()
	want.Version = 1
	f.view(func(r control.Repos) error {
		got, err := r.Tenant(ctx, "lab", "red")
		f.equal("tenant", want, got)
		all, aerr := r.AllTenants(ctx, "lab")
		f.equal("all tenants", []control.Tenant{want}, all)
		return errors.Join(err, aerr)
	})
	err := f.s.Tx(ctx, func(r control.Repos) error { _, err := r.CreateTenant(ctx, red()); return err })
	f.want(err, control.ErrConflict)
	many := red()
	many.Name, many.Attachments = "many", nil
	for i := range 1500 {
		many.Attachments = append(many.Attachments, tenants.Attachment{Port: port(uint64(i), 1)})
	}
	f.tenant(many)
	f.view(func(r control.Repos) error {
		list, next, err := r.ListTenants(ctx, "lab", control.Page{Limit: 1})
		if len(list) != 1 || len(list[0].Attachments) != 1500 || next != "many" {
			t.Errorf("page has %d tenants, next %q, want many with all its attachments", len(list), next)
		}
		return err
	})
}

func checkStaleVersion(t *testing.T, f *fixture) {
	ctx := t.Context()
	f.fabric("lab")
	f.tenant(red())
	change := red()
	change.Version, change.Weight, change.Classes, change.Attachments = 1, 9000, nil, nil
	change.Guarantee, change.Cap = 0, quantity.Gbps
	f.tx(func(r control.Repos) error {
		got, err := r.UpdateTenant(ctx, change)
		if got.Version != 2 || got.Weight != 9000 || got.Guarantee != 0 || got.Cap != quantity.Gbps || got.Classes != nil || got.Attachments != nil {
			t.Errorf("updated tenant is %+v", got)
		}
		return err
	})
	change.Weight = 1
	f.want(f.s.Tx(ctx, func(r control.Repos) error { _, err := r.UpdateTenant(ctx, change); return err }), control.ErrPrecondition)
	f.want(f.s.Tx(ctx, func(r control.Repos) error { return r.DeleteTenant(ctx, "lab", "red", 1) }), control.ErrPrecondition)
	f.want(f.s.Tx(ctx, func(r control.Repos) error { return r.DeleteFabric(ctx, "lab", 5) }), control.ErrPrecondition)
	f.view(func(r control.Repos) error {
		got, err := r.Tenant(ctx, "lab", "red")
		if got.Weight != 9000 || got.Version != 2 {
			t.Errorf("tenant after refused changes is %+v", got)
		}
		return err
	})
	f.tx(func(r control.Repos) error { return r.DeleteTenant(ctx, "lab", "red", 2) })
}

func someFlows() []tenants.Flow {
	return []tenants.Flow{
		{Tenant: "red", Class: "bulk", Src: port(9, 1), Dst: port(8, 2), QPs: 65536, Demand: 100 * quantity.Tbps},
		{Tenant: "red", Src: port(1<<63, 1), Dst: port(8, 2), QPs: 1},
	}
}

func checkFlows(t *testing.T, f *fixture) {
	ctx := t.Context()
	f.fabric("lab")
	f.tenant(red())
	replace := func(v int64, list []tenants.Flow) (next int64, err error) {
		err = f.s.Tx(ctx, func(r control.Repos) (err error) { next, err = r.ReplaceFlows(ctx, "lab", v, list); return err })
		return next, err
	}
	if v, err := replace(0, someFlows()); v != 1 || err != nil {
		t.Fatalf("first replacement gives version %d, %v", v, err)
	}
	_, err := replace(0, nil)
	f.want(err, control.ErrPrecondition)
	_, err = replace(1, []tenants.Flow{{Tenant: "nobody", Src: port(1, 1), Dst: port(2, 1), QPs: 1}})
	f.want(err, control.ErrNotFound)
	f.view(func(r control.Repos) error {
		got, v, err := r.Flows(ctx, "lab")
		f.equal("flows", someFlows(), got)
		f.equal("version", int64(1), v)
		return err
	})
	f.plainTenant("lab", "blue")
	f.fabric("other")
	f.plainTenant("other", "red")
	f.view(func(r control.Repos) error {
		counts, err := r.CountFlows(ctx, "lab", []string{"blue", "red", "nobody"})
		f.equal("numbers of flows", map[string]int{"red": 2}, counts)
		if err == nil {
			counts, err = r.CountFlows(ctx, "other", []string{"red"})
			f.equal("numbers of flows of another fabric", map[string]int{}, counts)
		}
		return err
	})
	f.want(f.s.Tx(ctx, func(r control.Repos) error { return r.DeleteTenant(ctx, "lab", "red", 0) }), control.ErrConflict)
	if v, err := replace(-1, nil); v != 2 || err != nil {
		t.Fatalf("replacement at any version gives %d, %v", v, err)
	}
	f.tx(func(r control.Repos) error { return r.DeleteTenant(ctx, "lab", "red", 0) })
}

func plan(name string) control.Plan {
	return control.Plan{
		Fabric: "lab", CreatedAt: at(), Stored: true,
		Plan: &policy.Plan{
			Name: name, Plane: "ib",
			CAs:      []policy.CAPlan{{Port: port(7, 1), Name: "host-01/P1", Settings: ibcc.CASettings{Limit: 1, Table: []ibcc.Entry{{}, {Shift: 2, Multiplier: 5}}}}},
			Switches: []policy.SwitchPlan{{Node: 4, Name: "leaf"}},
			Tenants:  []policy.TenantShare{{Tenant: "red", Weight: 1500, PredictedError: 0.25}},
			Findings: []policy.Finding{{Code: "sl-exhausted", Message: "m"}},
		},
		Input: control.PlanInput{Snapshot: strings.Repeat("1", 64), Tenants: []tenants.Tenant{red().Tenant}, Flows: someFlows(), Options: policy.Options{Mode: "theorem1"}},
	}
}

func planName(prefix string) string { return prefix + strings.Repeat("0", 64-len(prefix)) }

func (f *fixture) plan(name string) {
	f.t.Helper()
	f.tx(func(r control.Repos) error { _, _, err := r.PutPlan(f.t.Context(), plan(name)); return err })
}

func checkPlans(t *testing.T, f *fixture) {
	ctx := t.Context()
	f.fabric("lab")
	for _, n := range []string{"abc1", "abc2", "d"} {
		f.plan(planName(n))
	}
	f.tx(func(r control.Repos) error {
		again := plan(planName("d"))
		again.CreatedAt = at().Add(time.Hour)
		got, created, err := r.PutPlan(ctx, again)
		if created {
			t.Error("storing a plan again created one")
		}
		f.equal("plan stored before", plan(planName("d")), got)
		return err
	})
	f.view(func(r control.Repos) error {
		got, err := r.Plan(ctx, "lab", "abc1")
		f.equal("plan by its beginning", plan(planName("abc1")), got)
		_, err2 := r.Plan(ctx, "lab", "abc")
		f.want(err2, control.ErrConflict)
		for _, name := range []string{"", "abd", "ABC1", "%", "abc1'"} {
			_, err3 := r.Plan(ctx, "lab", name)
			f.want(err3, control.ErrNotFound)
		}
		list, next, err4 := r.ListPlans(ctx, "lab", control.Page{Limit: 2})
		if len(list) != 2 || list[0].Name != planName("d") || next == "" {
			t.Errorf("first page is %+v, next %q: want the newest two", list, next)
		}
		f.equal("summary", control.PlanSummary{Name: planName("d"), Fabric: "lab", Snapshot: strings.Repeat("1", 64),
			Tenants: 1, Devices: 2, Findings: 1, MaxPredictedError: 0.25, CreatedAt: at()}, list[0])
		rest, next, err5 := r.ListPlans(ctx, "lab", control.Page{Limit: 2, After: next})
		if len(rest) != 1 || rest[0].Name != planName("abc1") || next != "" {
			t.Errorf("second page is %+v, next %q", rest, next)
		}
		return errors.Join(err, err4, err5)
	})
}
