package authz

import (
	"errors"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"fairlane/tenants"
)

func rights(t testing.TB, grants ...string) *Rights {
	t.Helper()
	e, err := New()
	if err != nil {
		t.Fatal(err)
	}
	var list []tenants.Grant
	for _, text := range grants {
		g, err := tenants.ParseGrant(text)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, g)
	}
	r, err := e.Rights(list)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func can(t testing.TB, r *Rights, d tenants.Domain, o Object, a Action) bool {
	t.Helper()
	ok, err := r.Can(d, o, a)
	if err != nil {
		t.Fatal(err)
	}
	return ok
}

// inTable is a naive second implementation: no casbin, and domains are only compared.
func inTable(grants []tenants.Grant, d tenants.Domain, o Object, a Action) bool {
	return slices.ContainsFunc(grants, func(g tenants.Grant) bool {
		in := g.Domain.All() || !OfService(o) && (g.Domain == d || g.Domain.Tenant == "" && g.Domain.Fabric == d.Fabric)
		return in && slices.ContainsFunc(Table(g.Role), func(r Right) bool {
			return r.Object == o && slices.Contains(r.Actions, a)
		})
	})
}

func TestRightsFollowTheTableInTheDomainOfTheGrant(t *testing.T) {
	t.Parallel()
	e, err := New()
	if err != nil {
		t.Fatal(err)
	}
	domains := []tenants.Domain{{}, {Fabric: "lab"}, {Fabric: "prod"}, {Fabric: "red"}, {Fabric: "lab", Tenant: "red"}, {Fabric: "lab", Tenant: "blue"}, {Fabric: "prod", Tenant: "red"}}
	rapid.Check(t, func(t *rapid.T) {
		var grants []tenants.Grant
		for range rapid.IntRange(0, 4).Draw(t, "grants") {
			g := tenants.Grant{Role: rapid.SampledFrom(tenants.Roles()).Draw(t, "role")}
			if g.Role.Wide() {
				g.Domain = rapid.SampledFrom(domains[:4]).Draw(t, "domain")
			} else {
				g.Domain = rapid.SampledFrom(domains[4:]).Draw(t, "domain")
			}
			grants = append(grants, g)
		}
		r, err := e.Rights(grants)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range domains {
			for _, o := range Objects() {
				for _, a := range Actions() {
					got, err := r.Can(d, o.Object, a)
					if err != nil {
						t.Fatal(err)
					}
					if want := inTable(grants, d, o.Object, a); got != want {
						t.Fatalf("%v may %s %s in %s: %v, want %v", grants, a, o.Object, d, got, want)
					}
				}
			}
		}
	})
}

func TestATenantRoleEndsAtItsTenant(t *testing.T) {
	t.Parallel()
	red := tenants.Domain{Fabric: "lab", Tenant: "red"}
	r := rights(t, "tenant-admin@lab/red")
	if !can(t, r, red, Class, Write) || !can(t, r, red, Member, Write) {
		t.Error("a tenant's administrator cannot administer it")
	}
	for _, d := range []tenants.Domain{{}, {Fabric: "lab", Tenant: "blue"}, {Fabric: "prod", Tenant: "red"}} {
		for _, o := range Objects() {
			for _, a := range Actions() {
				if can(t, r, d, o.Object, a) {
					t.Errorf("may %s %s in %s", a, o.Object, d)
				}
			}
		}
	}
	for _, o := range []Object{Plan, Rollout, Device, Fabric, Audit, User, Settings, Diagnostics, Policy} {
		for _, a := range Actions() {
			if can(t, r, red, o, a) {
				t.Errorf("may %s %s, which tells of other tenants", a, o)
			}
		}
	}
}

func TestAFabricRoleEndsAtItsFabric(t *testing.T) {
	t.Parallel()
	r := rights(t, "fabric-admin@lab")
	for _, o := range Objects() {
		for _, a := range Actions() {
			for _, d := range []tenants.Domain{{}, {Fabric: "prod"}, {Fabric: "prod", Tenant: "lab"}} {
				if can(t, r, d, o.Object, a) {
					t.Errorf("may %s %s in %s", a, o.Object, d)
				}
			}
			for _, d := range []tenants.Domain{{Fabric: "lab"}, {Fabric: "lab", Tenant: "red"}} {
				if got := can(t, r, d, o.Object, a); got == OfService(o.Object) {
					t.Errorf("may %s %s in %s: %v", a, o.Object, d, got)
				}
			}
		}
	}
}

// The names of a request come from its path. None may print like the domain of a grant.
func TestInvalidNamesAreNoDomain(t *testing.T) {
	t.Parallel()
	r := rights(t, "fabric-admin@lab", "tenant-admin@lab/red")
	for _, d := range []tenants.Domain{{Fabric: "lab/red"}, {Fabric: "lab/red", Tenant: "x"}, {Fabric: "*"}, {Fabric: "lab", Tenant: "red/x"}, {Fabric: "lab/", Tenant: ""}, {Tenant: "lab"}} {
		for _, o := range Objects() {
			for _, a := range Actions() {
				if can(t, r, d, o.Object, a) {
					t.Errorf("may %s %s in %#v", a, o.Object, d)
				}
			}
		}
	}
}

func TestTheTableKeepsTheOrderOfPower(t *testing.T) {
	t.Parallel()
	within := func(small, large tenants.Role) {
		for _, r := range Table(small) {
			i := slices.IndexFunc(Table(large), func(l Right) bool { return l.Object == r.Object })
			for _, a := range r.Actions {
				if i < 0 || !slices.Contains(Table(large)[i].Actions, a) {
					t.Errorf("%s may %s %s and %s may not", small, a, r.Object, large)
				}
			}
		}
	}
	for _, r := range tenants.Roles() {
		within(r, tenants.RoleFabricAdmin)
		for _, right := range Table(r) {
			for _, a := range right.Actions {
				if !Known(right.Object, a) {
					t.Errorf("%s has a right on %s %s, which do not exist", r, a, right.Object)
				}
			}
		}
	}
	within(tenants.RoleTenantViewer, tenants.RoleTenantAdmin)
	for _, r := range Table(tenants.RoleAuditor) {
		if !slices.Equal(r.Actions, []Action{Read}) {
			t.Errorf("an auditor may %v %s", r.Actions, r.Object)
		}
	}
	if Table("root") != nil || Known("planet", Read) || Known(Plan, "eat") {
		t.Error("what does not exist has rights")
	}
}

func TestEmptyAndInvalidGrants(t *testing.T) {
	t.Parallel()
	if can(t, rights(t), tenants.Domain{}, Fabric, Read) {
		t.Error("without a grant something is allowed")
	}
	e, err := New()
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range []tenants.Grant{{Role: "root"}, {Role: tenants.RoleOperator, Domain: tenants.Domain{Fabric: "a", Tenant: "b"}}, {Role: tenants.RoleTenantAdmin}} {
		if _, err := e.Rights([]tenants.Grant{g}); err == nil {
			t.Errorf("grant %s is taken", g)
		}
	}
}

func TestNothingCanBeWrittenThroughCasbin(t *testing.T) {
	t.Parallel()
	var a adapter
	for _, err := range []error{a.SavePolicy(nil), a.AddPolicy("p", "p", nil), a.RemovePolicy("p", "p", nil), a.RemoveFilteredPolicy("p", "p", 0)} {
		if !errors.Is(err, errReadOnly) {
			t.Errorf("adapter answers %v", err)
		}
	}
}

func TestCachedRightsAreBoundedAndShared(t *testing.T) {
	t.Parallel()
	e, err := New()
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for i := range maxKept {
				d := tenants.Domain{Fabric: "lab", Tenant: string(rune('a'+i%26)) + string(rune('a'+i/26)) + string(rune('a'+w))}
				r, err := e.Rights([]tenants.Grant{{Role: tenants.RoleTenantViewer, Domain: d}})
				if err != nil {
					t.Error(err)
					return
				}
				if ok, err := r.Can(d, Tenant, Read); err != nil || !ok {
					t.Errorf("%s is not seen: %v", d, err)
				}
			}
		})
	}
	wg.Wait()
	if len(e.kept) > maxKept || len(e.used) != len(e.kept) {
		t.Errorf("%d rights and %d uses are kept, want at most %d of each", len(e.kept), len(e.used), maxKept)
	}
	two := []tenants.Grant{{Role: tenants.RoleOperator}, {Role: tenants.RoleAuditor}}
	a, err := e.Rights(two)
	if err != nil {
		t.Fatal(err)
	}
	slices.Reverse(two)
	if b, err := e.Rights(two); err != nil || a != b {
		t.Errorf("the same grants in another order are built anew: %v", err)
	}
}

func BenchmarkCan(b *testing.B) {
	r := rights(b, "operator@*")
	b.ReportAllocs()
	for b.Loop() {
		can(b, r, tenants.Domain{Fabric: "lab", Tenant: "red"}, Tenant, Read)
	}
}
