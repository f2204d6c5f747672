package tenancy_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlane/policy"
	"fairlane/service/control"
	"fairlane/service/control/controltest"
	"fairlane/service/control/tenancy"
	"fairlane/tenants"
)

func TestApplyTenants(t *testing.T) {
	t.Parallel()
	r := controltest.New(t, controltest.OpenSQLite)
	r.Lab(t)
	ctx := t.Context()
	set := controltest.Tenants()
	same, err := r.Service.ApplyTenants(ctx, "lab", set, false)
	if d := cmp.Diff(tenancy.TenantSetResult{Unchanged: []string{"blue", "red"}, Version: same.Version}, same); d != "" || err != nil {
		t.Errorf("applying the same again: %v\n%s", err, d)
	}
	set.Tenants[0].Weight = 5000
	set.Tenants[1].Name = "green"
	set.Flows[1].Tenant = "green"
	set.Prune = true
	set.Tenants[1].PKey = 0x8003
	want := tenancy.TenantSetResult{Created: []string{"green"}, Updated: []string{"red"}, Deleted: []string{"blue"}, FlowsChanged: true}
	for _, dry := range []bool{true, false} {
		got, err := r.Service.ApplyTenants(ctx, "lab", set, dry)
		if (got.Version == same.Version) != dry {
			t.Errorf("dry %v: version %d, before it was %d", dry, got.Version, same.Version)
		}
		want.Version = got.Version
		if d := cmp.Diff(want, got); d != "" || err != nil {
			t.Errorf("dry %v: %v\n%s", dry, err, d)
		}
		_, err = r.Service.Tenant(ctx, "lab", "green")
		if dry != errors.Is(err, control.ErrNotFound) {
			t.Errorf("dry %v: looking for green gives %v", dry, err)
		}
	}
}

func TestBadTenantsNameTheFieldAndWhatIsAllowed(t *testing.T) {
	t.Parallel()
	r := controltest.New(t, controltest.OpenSQLite)
	r.Lab(t)
	ctx := t.Context()
	att := func(ports ...string) (out []tenancy.AttachmentInput) {
		for _, p := range ports {
			out = append(out, tenancy.AttachmentInput{Port: p})
		}
		return out
	}
	for name, tc := range map[string]struct {
		in      tenancy.TenantInput
		pointer string
	}{
		"unknown host":         {tenancy.TenantInput{Name: "x", Weight: 1, Attachments: att("h1", "nowhere")}, "/attachments/1/port"},
		"a switch":             {tenancy.TenantInput{Name: "x", Weight: 1, Attachments: att("sw1:1")}, "/attachments/0/port"},
		"the same port twice":  {tenancy.TenantInput{Name: "x", Weight: 1, Attachments: att("h1", "h1/P1")}, "/attachments/1/port"},
		"no weight":            {tenancy.TenantInput{Name: "x"}, "/weight"},
		"bad name":             {tenancy.TenantInput{Name: "X", Weight: 1}, "/name"},
		"somebody's partition": {tenancy.TenantInput{Name: "x", Weight: 1, PKey: 0x0001}, "/pkey"},
		"class twice":          {tenancy.TenantInput{Name: "x", Weight: 1, Classes: []tenants.Class{{Name: "a", Weight: 1}, {Name: "a", Weight: 1}}}, "/classes/1/name"},
	} {
		_, err := r.Service.CreateTenant(ctx, "lab", tc.in)
		var inv *control.InvalidError
		if !errors.As(err, &inv) || inv.Fields[0].Pointer != tc.pointer {
			t.Errorf("%s: %v, want a fault at %s", name, err, tc.pointer)
		}
	}
	_, err := r.Service.UpdateTenant(ctx, "lab", 0, tenancy.TenantInput{Name: "red", Weight: 1, Attachments: att("h3")})
	controltest.MustFail(t, "leaving a port with declared flows", err, control.ErrInvalid)
	controltest.MustFail(t, "deleting a tenant with flows", r.Service.DeleteTenant(ctx, "lab", "red", 0), control.ErrConflict)
	_, _, err = r.Service.PutFlows(ctx, "lab", control.AnyVersion, []tenancy.FlowInput{{Tenant: "nobody", Src: "h1", Dst: "h2"}})
	controltest.MustFail(t, "flow of nobody", err, control.ErrInvalid)
}

func TestWithoutDiscoveryPortsCannotBeNamed(t *testing.T) {
	t.Parallel()
	r := controltest.New(t, controltest.OpenSQLite)
	ctx := t.Context()
	if _, err := r.Service.CreateFabric(ctx, control.Fabric{Name: "lab", Source: controltest.Source}); err != nil {
		t.Fatal(err)
	}
	_, err := r.Service.CreateTenant(ctx, "lab", tenancy.TenantInput{Name: "x", Weight: 1, Attachments: []tenancy.AttachmentInput{{Port: "h1"}}})
	if controltest.Code(err) != "not-discovered" {
		t.Errorf("attaching gives %v", err)
	}
	if _, _, err = r.Service.CreatePlan(ctx, "lab", policy.Options{}, true); controltest.Code(err) != "not-discovered" {
		t.Errorf("compiling gives %v", err)
	}
}
