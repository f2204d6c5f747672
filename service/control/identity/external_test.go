package identity_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"fairlane/service/control"
	"fairlane/service/control/controltest"
	"fairlane/service/control/identity"
	"fairlane/service/control/tenancy"
	"fairlane/tenants"
)

// rob is an identity of the provider. Its token is valid for five minutes.
func rob(d *signInService, grants ...tenants.Grant) identity.Identity {
	return identity.Identity{Issuer: "https://id.example", Subject: "rob", Name: "rob", Grants: grants, ExpiresAt: d.clock().Add(5 * time.Minute)}
}

// withProvidersToken returns rob's principal with a provider token whose roles differ from those of his sign-in.
func withProvidersToken(t *testing.T, d *signInService, signedIn, claimed tenants.Grant) context.Context {
	t.Helper()
	if _, err := d.SignInExternal(t.Context(), rob(d, signedIn)); err != nil {
		t.Fatal(err)
	}
	p, err := d.External(t.Context(), rob(d, claimed))
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(p.Grants, []tenants.Grant{claimed}) {
		t.Fatalf("rob's roles are %v", p.Grants)
	}
	return control.WithPrincipal(t.Context(), p)
}

func TestTokenCreatedWithProviderTokenEndsWithIt(t *testing.T) {
	t.Parallel()
	d := newSignInService(t)
	admin := tenants.Grant{Role: tenants.RoleFabricAdmin}
	ctx := withProvidersToken(t, d, admin, admin)
	begun := d.clock()
	ref := control.AccountRef{Kind: control.PrincipalUser, Name: "rob"}
	_, tok, err := d.CreateToken(ctx, ref, identity.TokenInput{Name: "year", Life: identity.MaxTokenLife})
	if err != nil || !tok.ExpiresAt.Equal(begun.Add(5*time.Minute)) {
		t.Errorf("the token ends %v after the provider's was looked at, %v: want 5m", tok.ExpiresAt.Sub(begun), err)
	}
	if _, tok, err = d.CreateToken(ctx, ref, identity.TokenInput{Name: "short", Life: time.Minute}); err != nil || !tok.ExpiresAt.Equal(begun.Add(time.Minute)) {
		t.Errorf("a shorter one ends at %v, %v", tok.ExpiresAt, err)
	}
	d.pass(5 * time.Minute)
	_, _, err = d.CreateToken(ctx, ref, identity.TokenInput{Name: "late"})
	controltest.MustFail(t, "a token of one that has ended", err, control.ErrUnauthorized)
	endless := rob(d)
	endless.ExpiresAt = time.Time{}
	_, err = d.External(t.Context(), endless)
	controltest.MustFail(t, "a token of the provider without an end", err, control.ErrUnauthorized)
	in, err := d.SignInExternal(t.Context(), rob(d, admin))
	if err != nil {
		t.Fatal(err)
	}
	session := control.WithPrincipal(t.Context(), in.Principal)
	if _, tok, err = d.CreateToken(session, ref, identity.TokenInput{Name: "signed-in", Life: identity.MaxTokenLife}); err != nil || !tok.ExpiresAt.Equal(d.clock().Add(identity.MaxTokenLife)) {
		t.Errorf("a token made in a session ends at %v, %v", tok.ExpiresAt, err)
	}
}

func TestEventStreamFollowsRolesAndEndOfProviderToken(t *testing.T) {
	t.Parallel()
	d := newSignInService(t)
	d.rig.Lab(t)
	red := tenants.Domain{Fabric: "lab", Tenant: "red"}
	ctx := withProvidersToken(t, d, tenants.Grant{Role: tenants.RoleFabricAdmin}, tenants.Grant{Role: tenants.RoleTenantViewer, Domain: red})
	w, err := d.WatchEvents(ctx, control.EventFilter{Fabric: "lab"}, 0)
	if err != nil {
		t.Fatal(err)
	}
	list, err := w.Next(ctx, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		if e.Subject != "red" {
			t.Errorf("who claims to be a viewer of red hears of %s %s", e.Kind, e.Subject)
		}
	}
	set := controltest.Tenants().Tenants
	set[0].Weight, set[1].Weight = 5000, 6000
	d.pass(time.Minute)
	for _, in := range set {
		if _, err := d.UpdateTenant(t.Context(), "lab", 0, in); err != nil {
			t.Fatal(err)
		}
	}
	if list, err = w.Next(ctx, 0); err != nil || len(list) != 1 || list[0].Subject != "red" {
		t.Errorf("then it hears %+v, %v", list, err)
	}
	d.pass(4 * time.Minute)
	_, err = w.Next(ctx, 0)
	controltest.MustFail(t, "a stream after its token's end", err, control.ErrUnauthorized)
}

// A mapping of the provider's claims can name fabrics that were deleted or created again.
func TestARoleOnAFabricEndsWithItAndStartsWithTheNextSignIn(t *testing.T) {
	t.Parallel()
	d := newSignInService(t)
	d.rig.Lab(t)
	ctx := t.Context()
	lab := tenants.Grant{Role: tenants.RoleOperator, Domain: tenants.Domain{Fabric: "lab"}}
	nix := tenants.Grant{Role: tenants.RoleFabricAdmin, Domain: tenants.Domain{Fabric: "nix"}}
	red := tenants.Grant{Role: tenants.RoleTenantViewer, Domain: tenants.Domain{Fabric: "lab", Tenant: "red"}}
	lost := tenants.Grant{Role: tenants.RoleTenantViewer, Domain: tenants.Domain{Fabric: "nix", Tenant: "red"}}
	in, err := d.SignInExternal(ctx, rob(d, nix, lab, lost, red))
	if err != nil || !slices.Equal(in.Principal.Grants, []tenants.Grant{lab, red}) {
		t.Fatalf("roles after the sign-in are %v, %v; want those on what is there", in.Principal.Grants, err)
	}
	session := control.WithPrincipal(ctx, in.Principal)
	w, err := d.WatchEvents(session, control.EventFilter{Fabric: "lab"}, 0)
	if err != nil {
		t.Fatal(err)
	}
	list, err := w.Next(session, 0)
	if err != nil || !slices.ContainsFunc(list, func(e control.Event) bool { return e.Subject == "blue" }) {
		t.Fatalf("an operator of lab hears %+v, %v", list, err)
	}
	d.pass(time.Minute)
	if err := d.DeleteFabric(ctx, "lab", 0, true); err != nil {
		t.Fatal(err)
	}
	d.pass(time.Minute)
	if _, err := d.CreateFabric(ctx, control.Fabric{Name: "lab", Source: controltest.Source}); err != nil {
		t.Fatal(err)
	}
	if _, err := d.CreateTenant(ctx, "lab", tenancy.TenantInput{Name: "red", Weight: 1000}); err != nil {
		t.Fatal(err)
	}
	if list, err = w.Next(session, 0); err != nil || len(list) != 0 {
		t.Errorf("after lab was created again, its operator's stream has %+v, %v", list, err)
	}
	a, err := d.User(ctx, "rob")
	if err != nil || len(a.Memberships) != 0 {
		t.Errorf("roles on what was made again are %+v, %v", a.Memberships, err)
	}
	if in, err = d.SignInExternal(ctx, rob(d, nix, lab)); err != nil || !slices.Equal(in.Principal.Grants, []tenants.Grant{lab}) {
		t.Fatalf("roles after the next sign-in are %v, %v", in.Principal.Grants, err)
	}
	// It receives events of the fabric that it has a role on, not of the earlier one of that name.
	session = control.WithPrincipal(ctx, in.Principal)
	if w, err = d.WatchEvents(session, control.EventFilter{Fabric: "lab"}, 0); err != nil {
		t.Fatal(err)
	}
	followed, err := w.Next(session, 0)
	if err != nil {
		t.Fatal(err)
	}
	listed, _, err := d.Events(session, "lab", 0, control.Page{})
	if err != nil {
		t.Fatal(err)
	}
	all, _, err := d.Events(ctx, "lab", 0, control.Page{})
	if err != nil {
		t.Fatal(err)
	}
	begun := slices.IndexFunc(all, func(e control.Event) bool { return e.Kind == "fabric.deleted" }) + 1
	for _, list := range [][]control.Event{followed, listed} {
		if begun == 0 || len(list) == 0 || len(list) != len(all)-begun || list[0].ID != all[begun].ID {
			t.Errorf("of %d events, %d of them of the earlier fabric, the operator of the new one gets %d", len(all), begun, len(list))
		}
	}
}
