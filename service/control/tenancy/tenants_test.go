package tenancy_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlane/internal/quantity"
	"fairlane/policy"
	"fairlane/service/control"
	"fairlane/service/control/controltest"
	"fairlane/service/control/tenancy"
	"fairlane/subnet/ident"
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
		"unknown host":               {tenancy.TenantInput{Name: "x", Weight: 1, Attachments: att("h1", "nowhere")}, "/attachments/1/port"},
		"a switch":                   {tenancy.TenantInput{Name: "x", Weight: 1, Attachments: att("sw1:1")}, "/attachments/0/port"},
		"the same port twice":        {tenancy.TenantInput{Name: "x", Weight: 1, Attachments: att("h1", "h1/P1")}, "/attachments/1/port"},
		"no weight":                  {tenancy.TenantInput{Name: "x"}, "/weight"},
		"bad name":                   {tenancy.TenantInput{Name: "X", Weight: 1}, "/name"},
		"another tenant's partition": {tenancy.TenantInput{Name: "x", Weight: 1, PKey: 0x0001}, "/pkey"},
		"class twice":                {tenancy.TenantInput{Name: "x", Weight: 1, Classes: []tenants.Class{{Name: "a", Weight: 1}, {Name: "a", Weight: 1}}}, "/classes/1/name"},
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
	_, _, err = r.Service.PutFlows(ctx, "lab", control.AnyVersion, []tenancy.FlowInput{{Tenant: "purple", Src: "h1", Dst: "h2"}})
	controltest.MustFail(t, "flow of an unknown tenant", err, control.ErrInvalid)
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

func TestTenantIsChangedOnlyAtTheVersionThatWasRead(t *testing.T) {
	t.Parallel()
	r := controltest.New(t, controltest.OpenSQLite)
	r.Lab(t)
	s, ctx := r.Service, t.Context()
	in := controltest.Tenants().Tenants[0]
	in.Weight = 9000
	leaves(t, s, "a stale change", func() {
		for _, stale := range []int64{-1, 2} {
			_, err := s.UpdateTenant(ctx, "lab", stale, in)
			controltest.MustFail(t, "update at a stale version", err, control.ErrPrecondition)
			_, err = s.UpdateTenant(ctx, "lab", stale, controltest.Tenants().Tenants[0])
			controltest.MustFail(t, "update to the same at a stale version", err, control.ErrPrecondition)
			controltest.MustFail(t, "deletion at a stale version", s.DeleteTenant(ctx, "lab", "red", stale), control.ErrPrecondition)
		}
	})
	red, err := s.UpdateTenant(ctx, "lab", 1, in)
	if err != nil || red.Version != 2 || red.Weight != 9000 {
		t.Fatalf("%+v, %v", red, err)
	}
	if _, _, err := s.PutFlows(ctx, "lab", control.AnyVersion, nil); err != nil {
		t.Fatal(err)
	}
	if err := s.DeleteTenant(ctx, "lab", "red", 2); err != nil {
		t.Fatal(err)
	}
	controltest.MustFail(t, "deleting it again", s.DeleteTenant(ctx, "lab", "red", 0), control.ErrNotFound)
	_, err = s.UpdateTenant(ctx, "lab", 0, in)
	controltest.MustFail(t, "changing one that is gone", err, control.ErrNotFound)
	if again, err := s.CreateTenant(ctx, "lab", in); err != nil || again.Version != 1 {
		t.Errorf("made anew it is %+v, %v", again, err)
	}
}

func TestUpdateThatChangesNothingLeavesNoTrace(t *testing.T) {
	t.Parallel()
	s := labWithParts(t)
	leaves(t, s, "the same again", func() {
		for _, in := range controltest.Tenants().Tenants {
			slices.Reverse(in.Attachments) // their order is irrelevant
			if got, err := s.UpdateTenant(t.Context(), "lab", 1, in); err != nil || got.Version != 1 {
				t.Errorf("%s: version %d, %v", in.Name, got.Version, err)
			}
		}
	})
}

func TestAuditLogSaysWhatOfATenantChanged(t *testing.T) {
	t.Parallel()
	s := labWithParts(t)
	in := controltest.Tenants().Tenants[0]
	for _, c := range []struct {
		change func()
		want   string
	}{
		{func() { in.Weight = 9000 }, "tenant red: weight 3 -> 9"},
		{func() { in.Guarantee = 2 * quantity.Gbps }, "tenant red: guarantee none -> 2 Gbit/s"},
		{func() { in.Cap = 5 * quantity.Gbps }, "tenant red: cap none -> 5 Gbit/s"},
		{func() { in.Classes = []tenants.Class{{Name: "default", Weight: 1000}} }, "tenant red was changed"},
	} {
		c.change()
		if _, err := s.UpdateTenant(t.Context(), "lab", 0, in); err != nil {
			t.Fatal(err)
		}
		list, _, err := s.Events(t.Context(), "lab", 0, control.Page{Limit: control.MaxPageLimit})
		if err != nil {
			t.Fatal(err)
		}
		if e := list[len(list)-1]; e.Kind != "tenant.updated" || e.Subject != "red" || e.Said.String() != c.want {
			t.Errorf("event %s of %s: %q, want %q", e.Kind, e.Subject, e.Said.String(), c.want)
		}
	}
}

func TestTenantsOfAFabricAreLimited(t *testing.T) {
	t.Parallel()
	r := controltest.New(t, controltest.OpenSQLite)
	r.Lab(t)
	s, ctx := r.Service, t.Context()
	err := r.Store.Tx(ctx, func(repos control.Repos) error {
		for i := range tenants.MaxTenants - 3 { // red and blue are there
			if _, err := repos.CreateTenant(ctx, control.Tenant{Tenant: tenants.Tenant{Name: fmt.Sprintf("t%d", i), Weight: 1}, Fabric: "lab", CreatedAt: s.Now()}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	add := func(name string) error {
		_, err := s.CreateTenant(ctx, "lab", tenancy.TenantInput{Name: name, Weight: 1})
		return err
	}
	if err := add("last"); err != nil {
		t.Fatalf("the last one that may be: %v", err)
	}
	controltest.MustFail(t, "one more", add("more"), control.ErrInvalid)
	_, err = s.ApplyTenants(ctx, "lab", tenancy.TenantSet{Tenants: []tenancy.TenantInput{{Name: "more", Weight: 1}}}, false)
	controltest.MustFail(t, "one more, as a set", err, control.ErrInvalid)
	if _, err := s.UpdateTenant(ctx, "lab", 0, tenancy.TenantInput{Name: "last", Weight: 2}); err != nil {
		t.Errorf("a change of one of them: %v", err)
	}
	if err := s.DeleteTenant(ctx, "lab", "last", 0); err != nil {
		t.Fatal(err)
	}
	if err := add("more"); err != nil {
		t.Errorf("after one went: %v", err)
	}
}

func TestTenantOfThatNameOrPartitionExists(t *testing.T) {
	t.Parallel()
	s := labWithParts(t)
	ctx := t.Context()
	leaves(t, s, "a rejected tenant", func() {
		_, err := s.CreateTenant(ctx, "lab", tenancy.TenantInput{Name: "red", Weight: 1})
		if controltest.Code(err) != "already-exists" {
			t.Errorf("a second red: %v", err)
		}
		for _, key := range []ident.PKey{0x8001, 0x0001} { // the membership bit does not make another partition
			_, err = s.CreateTenant(ctx, "lab", tenancy.TenantInput{Name: "new", Weight: 1, PKey: key})
			if got := pointers(err); !slices.Equal(got, []string{"/pkey"}) {
				t.Errorf("partition %s of red: %v", key, err)
			}
		}
		in := controltest.Tenants().Tenants[1]
		in.PKey = 0x8001
		_, err = s.UpdateTenant(ctx, "lab", 0, in)
		if got := pointers(err); !slices.Equal(got, []string{"/pkey"}) {
			t.Errorf("blue in the partition of red: %v", err)
		}
		_, err = s.CreateTenant(ctx, "nowhere", tenancy.TenantInput{Name: "new", Weight: 1})
		controltest.MustFail(t, "a tenant of no fabric", err, control.ErrNotFound)
	})
	if _, err := s.CreateFabric(ctx, control.Fabric{Name: "other", Source: controltest.Source}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.CreateTenant(ctx, "other", tenancy.TenantInput{Name: "red", Weight: 1, PKey: 0x8001}); err != nil {
		t.Errorf("red on another fabric: %v", err)
	}
}
