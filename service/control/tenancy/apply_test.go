package tenancy_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlane/service/control"
	"fairlane/service/control/controltest"
	"fairlane/service/control/tenancy"
	"fairlane/tenants"
)

func TestRejectedSetNamesItsFieldsAndChangesNothing(t *testing.T) {
	t.Parallel()
	s := labWithParts(t)
	if _, _, err := s.PutFlows(t.Context(), "lab", control.AnyVersion, append(controltest.Tenants().Flows, tenancy.FlowInput{Tenant: "green", Class: "bulk", Src: "h1", Dst: "h3"})); err != nil {
		t.Fatal(err)
	}
	at := func(name string, ports ...string) tenancy.TenantInput {
		in := tenancy.TenantInput{Name: name, Weight: 1000}
		for _, p := range ports {
			in.Attachments = append(in.Attachments, tenancy.AttachmentInput{Port: p})
		}
		return in
	}
	for name, c := range map[string]struct {
		set  tenancy.TenantSet
		want []string
	}{
		"a name twice":                         {tenancy.TenantSet{Tenants: []tenancy.TenantInput{at("a"), at("b"), at("a")}}, []string{"/tenants/2/name"}},
		"ports of two":                         {tenancy.TenantSet{Tenants: []tenancy.TenantInput{at("a", "h1", "nowhere"), at("b", "sw1:1")}}, []string{"/tenants/0/attachments/1/port", "/tenants/1/attachments/0/port"}},
		"no weight":                            {tenancy.TenantSet{Tenants: []tenancy.TenantInput{at("a"), {Name: "b"}}}, []string{"/tenants/1/weight"}},
		"one partition twice":                  {tenancy.TenantSet{Tenants: []tenancy.TenantInput{{Name: "a", Weight: 1, PKey: 0x8007}, {Name: "b", Weight: 1, PKey: 0x0007}}}, []string{"/tenants/1/pkey"}},
		"partition of a stored tenant":         {tenancy.TenantSet{Tenants: []tenancy.TenantInput{{Name: "a", Weight: 1, PKey: 0x8001}}}, []string{"/tenants"}},
		"flow of an unknown tenant":            {tenancy.TenantSet{Flows: []tenancy.FlowInput{{Tenant: "red", Src: "h1", Dst: "h4"}, {Tenant: "a", Src: "h1", Dst: "h4"}}}, []string{"/flows/1/tenant"}},
		"flow from nowhere":                    {tenancy.TenantSet{Flows: []tenancy.FlowInput{{Tenant: "red", Src: "nowhere", Dst: "sw1:1"}}}, []string{"/flows/0/src", "/flows/0/dst"}},
		"a port of nowhere, again and again":   {tenancy.TenantSet{Flows: []tenancy.FlowInput{{Tenant: "red", Src: "nowhere", Dst: "h4"}, {Tenant: "red", Src: "h1", Dst: "nowhere"}}}, []string{"/flows/0/src", "/flows/1/dst"}},
		"flow to a port of others":             {tenancy.TenantSet{Flows: []tenancy.FlowInput{{Tenant: "red", Src: "h1", Dst: "h2"}}}, []string{"/flows/0/dst"}},
		"port that a kept flow needs":          {tenancy.TenantSet{Tenants: []tenancy.TenantInput{at("a"), {Name: "red", Weight: 1000, Attachments: []tenancy.AttachmentInput{{Port: "h1"}}}}}, []string{"/tenants/1/attachments"}},
		"class that a kept flow needs":         {tenancy.TenantSet{Tenants: []tenancy.TenantInput{{Name: "green", Weight: 1000, Classes: []tenants.Class{{Name: "x", Weight: 1}}}}}, []string{"/tenants/0/classes"}},
		"pruned tenant that a kept flow needs": {tenancy.TenantSet{Tenants: []tenancy.TenantInput{at("red", "h1", "h4"), at("blue", "h2", "h4")}, Prune: true}, []string{"/tenants"}},
	} {
		for _, dry := range []bool{true, false} {
			leaves(t, s, name, func() {
				_, err := s.ApplyTenants(t.Context(), "lab", c.set, dry)
				if d := cmp.Diff(c.want, pointers(err)); d != "" {
					t.Errorf("%s, dry %v: %v\n%s", name, dry, err, d)
				}
			})
		}
	}
	_, err := s.ApplyTenants(t.Context(), "nowhere", controltest.Tenants(), false)
	controltest.MustFail(t, "a set for no fabric", err, control.ErrNotFound)
}

func TestListOfFaultsOfASetIsBounded(t *testing.T) {
	t.Parallel()
	r := controltest.New(t, controltest.OpenSQLite)
	r.Lab(t)
	var set tenancy.TenantSet
	for i := range 50 {
		set.Tenants = append(set.Tenants, tenancy.TenantInput{Name: fmt.Sprintf("t%d", i), Weight: 1, Attachments: []tenancy.AttachmentInput{{Port: "nowhere"}}})
	}
	_, err := r.Service.ApplyTenants(t.Context(), "lab", set, false)
	if got := pointers(err); len(got) != 20 || got[0] != "/tenants/0/attachments/0/port" {
		t.Errorf("%d faults are listed: %q", len(got), got)
	}
}

func TestSetIsAppliedOnlyAtTheVersionThatWasRead(t *testing.T) {
	t.Parallel()
	s := labWithParts(t)
	ctx := t.Context()
	set := controltest.Tenants()
	read, err := s.ApplyTenants(ctx, "lab", set, true)
	if err != nil {
		t.Fatal(err)
	}
	first := read.Version
	// Any change of a tenant or of the flows makes the version stale, and undoing it makes it valid again.
	for name, change := range map[string][2]func() error{
		"a weight": {
			func() error {
				return s.PutClass(ctx, "lab", "green", tenancy.AnyTag, tenants.Class{Name: "bulk", Weight: 4000})
			},
			func() error {
				return s.PutClass(ctx, "lab", "green", tenancy.AnyTag, tenants.Class{Name: "bulk", Weight: 1000})
			},
		},
		"the flows": {
			func() error { _, _, err := s.PutFlows(ctx, "lab", control.AnyVersion, set.Flows[:1]); return err },
			func() error {
				_, _, err := s.PutFlows(ctx, "lab", control.AnyVersion, []tenancy.FlowInput{set.Flows[1], set.Flows[0]}) // their order is irrelevant
				return err
			},
		},
	} {
		if err := change[0](); err != nil {
			t.Fatal(err)
		}
		set.Version = first
		for _, dry := range []bool{true, false} {
			leaves(t, s, "a stale set", func() {
				_, err := s.ApplyTenants(ctx, "lab", set, dry)
				controltest.MustFail(t, "after a change of "+name, err, control.ErrPrecondition)
			})
		}
		if err := change[1](); err != nil {
			t.Fatal(err)
		}
		if _, err := s.ApplyTenants(ctx, "lab", set, true); err != nil {
			t.Errorf("after %s changed back: %v", name, err)
		}
	}
	set.Tenants[0].Weight = 4000
	done, err := s.ApplyTenants(ctx, "lab", set, false)
	if err != nil || done.Version == first {
		t.Fatalf("version %d after %d, %v", done.Version, first, err)
	}
	set.Version, set.Tenants[0].Weight = done.Version, 5000
	if _, err := s.ApplyTenants(ctx, "lab", set, false); err != nil {
		t.Errorf("at the version that the change before returned: %v", err)
	}
}

func TestSetMayMovePartitionsBetweenTenants(t *testing.T) {
	t.Parallel()
	r := controltest.New(t, controltest.OpenSQLite)
	r.Lab(t)
	set := controltest.Tenants()
	set.Tenants[0].PKey, set.Tenants[1].PKey = set.Tenants[1].PKey, set.Tenants[0].PKey
	if res, err := r.Service.ApplyTenants(t.Context(), "lab", set, false); err != nil || len(res.Updated) != 2 {
		t.Errorf("two tenants change places: %+v, %v", res, err)
	}
	set.Tenants[1].Name, set.Flows[1].Tenant, set.Prune = "green", "green", true
	if res, err := r.Service.ApplyTenants(t.Context(), "lab", set, false); err != nil || len(res.Created) != 1 || len(res.Deleted) != 1 {
		t.Errorf("a new tenant with the partition of a removed one: %+v, %v", res, err)
	}
}

func TestSetWithoutFlowsOrPruneKeepsWhatItDoesNotName(t *testing.T) {
	t.Parallel()
	s := labWithParts(t)
	before := stateOf(t, s, "lab")
	res, err := s.ApplyTenants(t.Context(), "lab", tenancy.TenantSet{Tenants: []tenancy.TenantInput{{Name: "new", Weight: 1}}}, false)
	if err != nil || !slices.Equal(res.Created, []string{"new"}) || len(res.Updated)+len(res.Unchanged)+len(res.Deleted) != 0 || res.FlowsChanged {
		t.Fatalf("%+v, %v", res, err)
	}
	after := stateOf(t, s, "lab")
	after.Tenants = slices.DeleteFunc(after.Tenants, func(x control.Tenant) bool { return x.Name == "new" })
	if d := cmp.Diff(before.Tenants, after.Tenants); d != "" || after.Version != before.Version || !slices.Equal(before.Flows, after.Flows) {
		t.Errorf("flows %v became %v, tenants differ:\n%s", before.Flows, after.Flows, d)
	}
	// An empty list of flows is a declaration, too: of none.
	res, err = s.ApplyTenants(t.Context(), "lab", tenancy.TenantSet{Flows: []tenancy.FlowInput{}}, false)
	if flows, _, _ := s.Flows(t.Context(), "lab"); err != nil || !res.FlowsChanged || len(flows) != 0 {
		t.Errorf("%+v, %v; %d flows are left", res, err, len(flows))
	}
	if res, err = s.ApplyTenants(t.Context(), "lab", tenancy.TenantSet{Prune: true}, false); err != nil || !slices.Equal(res.Deleted, []string{"blue", "green", "new", "red"}) {
		t.Errorf("pruning everything: %+v, %v", res, err)
	}
}

func TestTenantsAreAppliedInTheOrderOfTheirNames(t *testing.T) {
	t.Parallel()
	s := labWithParts(t)
	ctx := t.Context()
	if _, _, err := s.PutFlows(ctx, "lab", control.AnyVersion, nil); err != nil {
		t.Fatal(err)
	}
	before := len(controltest.AuditEntries(t, s))
	for i := range 4 {
		if _, err := s.CreateTenant(ctx, "lab", tenancy.TenantInput{Name: fmt.Sprintf("t%d", i), Weight: 1}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.ApplyTenants(ctx, "lab", tenancy.TenantSet{Prune: true}, false); err != nil {
		t.Fatal(err)
	}
	var gone []string
	for _, e := range controltest.AuditEntries(t, s)[before:] {
		if e.Action == "tenant.deleted" {
			gone = append(gone, e.Object)
		}
	}
	if want := []string{"blue", "green", "red", "t0", "t1", "t2", "t3"}; !slices.Equal(gone, want) {
		t.Errorf("the log has them go as %q, want %q", gone, want)
	}
}
