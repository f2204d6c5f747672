package control_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"fairlane/internal/quantity"
	"fairlane/service/control"
	"fairlane/service/control/controltest"
	"fairlane/service/control/identity"
	"fairlane/tenants"
)

// A tenant's administrator who guesses an operator's name and adds it as a member learns nothing from events, earlier or
// later ones.
func TestMaskedActorStaysMasked(t *testing.T) {
	t.Parallel()
	r := controltest.New(t, controltest.OpenSQLite)
	r.Lab(t)
	ctx := t.Context()
	red := tenants.Domain{Fabric: "lab", Tenant: "red"}
	as := func(name string, g ...tenants.Grant) context.Context {
		return control.WithPrincipal(ctx, control.Principal{Kind: control.PrincipalUser, Name: name, Account: 1, Grants: g})
	}
	bob := as("bob", tenants.Grant{Role: tenants.RoleOperator})
	eve := as("eve", tenants.Grant{Role: tenants.RoleTenantAdmin, Domain: red})
	weigh := func(ctx context.Context, w quantity.Weight) {
		t.Helper()
		set := controltest.Tenants()
		set.Tenants[0].Weight = 1000 * w
		if _, err := r.Service.ApplyTenants(ctx, "lab", set, false); err != nil {
			t.Fatal(err)
		}
	}
	actors := func() (out []string) {
		t.Helper()
		list, _, err := r.Service.Events(eve, "lab", 0, control.Page{})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range list {
			out = append(out, e.Actor)
		}
		return out
	}
	weigh(bob, 5)
	before := actors()
	if len(before) == 0 || strings.Contains(strings.Join(before, " "), "bob") {
		t.Fatalf("actors are %q", before)
	}
	if _, err := r.Service.PutMember(eve, "bob", tenants.Grant{Role: tenants.RoleTenantViewer, Domain: red}); err != nil {
		t.Fatal(err)
	}
	weigh(bob, 6) // bob is now a member, too, and has a role on everything
	after := actors()
	if got := strings.Join(after, " "); strings.Contains(got, "bob") || !strings.HasSuffix(got, "operator eve operator") {
		t.Errorf("with bob made a member actors are %q", after)
	}
	// An actor who is a member at the time of the event is named, also after leaving.
	ann := as("ann", tenants.Grant{Role: tenants.RoleTenantAdmin, Domain: red})
	for _, do := range []func() error{
		func() error { return r.Service.DeleteMember(ann, "bob", red) },
		func() error {
			_, err := r.Service.PutMember(eve, "cyd", tenants.Grant{Role: tenants.RoleTenantViewer, Domain: red})
			return err
		},
	} {
		if err := do(); err != nil {
			t.Fatal(err)
		}
	}
	if got := strings.Join(actors(), " "); !strings.HasSuffix(got, "operator eve operator ann eve") {
		t.Errorf("actors are %q", got)
	}
}

// No account can have the mask's name.
func TestMaskedActorIsReservedName(t *testing.T) {
	t.Parallel()
	r := controltest.New(t, controltest.OpenSQLite)
	r.Lab(t)
	ctx := t.Context()
	red := tenants.Grant{Role: tenants.RoleTenantAdmin, Domain: tenants.Domain{Fabric: "lab", Tenant: "red"}}
	_, err := r.Service.CreateUser(ctx, identity.UserInput{Name: "ann"})
	if err != nil {
		t.Fatal(err)
	}
	for what, do := range map[string]func() error{
		"user":   func() error { _, err := r.Service.CreateUser(ctx, identity.UserInput{Name: "operator"}); return err },
		"member": func() error { _, err := r.Service.PutMember(ctx, "operator", red); return err },
		"service account": func() error {
			_, err := r.Service.CreateServiceAccount(ctx, identity.ServiceAccountInput{Name: "operator", Grant: red})
			return err
		},
		"token": func() error {
			_, _, err := r.Service.CreateToken(ctx, control.AccountRef{Kind: control.PrincipalUser, Name: "ann"}, identity.TokenInput{Name: "operator"})
			return err
		},
	} {
		if err := do(); !errors.Is(err, control.ErrInvalid) || !strings.Contains(err.Error(), `"operator" is reserved: in the events of a tenant it stands for users outside the tenant`) {
			t.Errorf("%s: %v", what, err)
		}
	}
	id := identity.Identity{Issuer: "https://id.test", Subject: "1", Name: "operator"}
	var no *control.ForbiddenError
	if _, err := r.Service.SignInExternal(ctx, id); !errors.As(err, &no) || !strings.Contains(no.Error(), "operator, cannot be a user name here") {
		t.Errorf("a new name of the provider: %v", err)
	}
	// An account from an earlier release keeps working.
	err = r.Store.Tx(ctx, func(repos control.Repos) error {
		_, err := repos.CreateAccount(ctx, control.Account{Kind: control.PrincipalUser, Name: "operator", Issuer: id.Issuer, Subject: id.Subject,
			Memberships: []control.Membership{{Grant: red, Source: control.SourceLocal}}})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Service.SignInExternal(ctx, id); err != nil {
		t.Errorf("a name of before: %v", err)
	}
}

// A fabric administrator's actions in a tenant are masked for the tenant, even when the administrator has a role in the
// tenant as well. On another fabric the same person may be an ordinary member.
func TestFabricAdminIsMaskedInTenantEvents(t *testing.T) {
	t.Parallel()
	r := controltest.New(t, controltest.OpenSQLite)
	r.Lab(t)
	ctx := t.Context()
	red := tenants.Domain{Fabric: "lab", Tenant: "red"}
	act := func(name string, w quantity.Weight, g ...tenants.Grant) string {
		t.Helper()
		who := control.WithPrincipal(ctx, control.Principal{Kind: control.PrincipalUser, Name: name, Account: 1, Grants: append(g, tenants.Grant{Role: tenants.RoleTenantAdmin, Domain: red})})
		set := controltest.Tenants()
		set.Tenants[0].Weight = 1000 * w
		if _, err := r.Service.ApplyTenants(who, "lab", set, false); err != nil {
			t.Fatal(err)
		}
		eve := control.WithPrincipal(ctx, control.Principal{Kind: control.PrincipalUser, Name: "eve", Account: 2, Grants: []tenants.Grant{{Role: tenants.RoleTenantViewer, Domain: red}}})
		list, _, err := r.Service.Events(eve, "lab", 0, control.Page{})
		if err != nil || len(list) == 0 {
			t.Fatal(list, err)
		}
		return list[len(list)-1].Actor
	}
	if got := act("bob", 5, tenants.Grant{Role: tenants.RoleOperator, Domain: tenants.Domain{Fabric: "lab"}}); got != control.MaskedActor {
		t.Errorf("the fabric's operator is shown as %s", got)
	}
	if got := act("bob", 6, tenants.Grant{Role: tenants.RoleOperator, Domain: tenants.Domain{Fabric: "prod"}}); got != "bob" {
		t.Errorf("a member who operates another fabric is shown as %s", got)
	}
}

// A list from the time of an event on begins with that event or, for tenants, with the first event of its minute.
func TestEventsAreListedFromATimeOn(t *testing.T) {
	t.Parallel()
	r := controltest.New(t, controltest.OpenSQLite)
	r.Lab(t)
	as := func(g tenants.Grant) context.Context {
		return control.WithPrincipal(t.Context(), control.Principal{Kind: control.PrincipalUser, Name: "eve", Account: 1, Grants: []tenants.Grant{g}})
	}
	for name, ctx := range map[string]context.Context{
		"operator":           as(tenants.Grant{Role: tenants.RoleOperator}),
		"operator of fabric": as(tenants.Grant{Role: tenants.RoleOperator, Domain: tenants.Domain{Fabric: "lab"}}),
		"tenant":             as(tenants.Grant{Role: tenants.RoleTenantViewer, Domain: tenants.Domain{Fabric: "lab", Tenant: "red"}}),
	} {
		set := controltest.Tenants()
		set.Tenants[0].Weight = quantity.Weight(4000 + 1000*len(name))
		if _, err := r.Service.ApplyTenants(t.Context(), "lab", set, false); err != nil {
			t.Fatal(err)
		}
		all, _, err := r.Service.Events(ctx, "lab", 0, control.Page{})
		if err != nil || len(all) < 2 {
			t.Fatal(all, err)
		}
		want := all[len(all)-1]
		from := map[time.Time]int{want.At: 1, want.At.Add(time.Microsecond): 0, {}: len(all)}
		if name == "tenant" {
			from = map[time.Time]int{want.At: len(all), want.At.Add(59 * time.Second): len(all), want.At.Add(time.Minute): 0, {}: len(all)}
		}
		for since, most := range from {
			list, _, err := r.Service.ListEvents(ctx, control.EventFilter{Fabric: "lab", Since: since}, control.Page{})
			if err != nil || len(list) != most || most > 0 && list[most-1].ID != want.ID {
				t.Errorf("%s: events since %v: %+v, %v; want %d", name, since, list, err, most)
			}
		}
	}
}

// A tenant sees the minutes of its events, in lists and in streams. A stream of new events begins after those of the present minute, and
// continues after each event within it.
func TestATenantSeesTheMinuteOfAnEvent(t *testing.T) {
	t.Parallel()
	r := controltest.New(t, controltest.OpenSQLite)
	r.Lab(t)
	red := tenants.Grant{Role: tenants.RoleTenantViewer, Domain: tenants.Domain{Fabric: "lab", Tenant: "red"}}
	eve := control.WithPrincipal(t.Context(), control.Principal{Kind: control.PrincipalUser, Name: "eve", Grants: []tenants.Grant{red}})
	weigh := func(w quantity.Weight) {
		t.Helper()
		set := controltest.Tenants()
		set.Tenants[0].Weight = 1000 * w
		if _, err := r.Service.ApplyTenants(t.Context(), "lab", set, false); err != nil {
			t.Fatal(err)
		}
	}
	weigh(5)
	before, _, err := r.Service.Events(eve, "lab", 0, control.Page{})
	if err != nil || len(before) != 2 {
		t.Fatal(before, err)
	}
	fresh, err := r.Service.WatchEvents(eve, control.EventFilter{Fabric: "lab"}, -1)
	if err != nil {
		t.Fatal(err)
	}
	resumed, err := r.Service.WatchEvents(eve, control.EventFilter{Fabric: "lab"}, before[0].ID)
	if err != nil {
		t.Fatal(err)
	}
	weigh(6)
	weigh(7)
	for name, w := range map[string]*control.Watch{"fresh": fresh, "resumed": resumed} {
		got, err := w.Next(eve, time.Minute)
		if name == "resumed" && len(got) == 3 && got[0].ID == before[1].ID {
			got = got[1:]
		}
		if err != nil || len(got) != 2 || got[0].ID != before[1].ID+1 || got[1].ID != before[1].ID+2 || !got[1].At.Equal(got[1].At.Truncate(time.Minute)) {
			t.Errorf("the %s stream has %+v, %v", name, got, err)
		}
	}
	weigh(8)
	if got, err := fresh.Next(eve, time.Minute); err != nil || len(got) != 1 || got[0].ID != before[1].ID+3 {
		t.Errorf("then the stream has %+v, %v", got, err)
	}
}
