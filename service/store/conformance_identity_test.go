package store

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"fairlane/internal/phrase"
	"fairlane/service/control"
	"fairlane/tenants"
)

func (f *fixture) account(a control.Account) (out control.Account) {
	f.t.Helper()
	a.CreatedAt = at()
	f.tx(func(r control.Repos) (err error) { out, err = r.CreateAccount(f.t.Context(), a); return err })
	return out
}

func (f *fixture) plainTenant(fabric, name string) {
	f.t.Helper()
	f.tx(func(r control.Repos) error {
		_, err := r.CreateTenant(f.t.Context(), control.Tenant{Fabric: fabric, Tenant: tenants.Tenant{Name: name, Weight: 1000}, CreatedAt: at()})
		return err
	})
}

func grant(text string) tenants.Grant {
	g, err := tenants.ParseGrant(text)
	if err != nil {
		panic(err)
	}
	return g
}

func membership(text string, s control.Source) control.Membership {
	return control.Membership{Grant: grant(text), Source: s, CreatedAt: at()}
}

func checkAccounts(t *testing.T, f *fixture) {
	ctx := t.Context()
	f.fabric("lab")
	f.plainTenant("lab", "red")
	ada := f.account(control.Account{
		Kind: control.PrincipalUser, Name: "ada", DisplayName: "Ada", Password: "$x", Memberships: []control.Membership{membership("operator@*", control.SourceLocal)},
	})
	if ada.Version != 1 || len(ada.Memberships) != 1 || !ada.SignedInAt.IsZero() {
		t.Errorf("account is %+v", ada)
	}
	f.want(f.s.Tx(ctx, func(r control.Repos) error {
		_, err := r.CreateAccount(ctx, control.Account{Kind: control.PrincipalUser, Name: "ada", CreatedAt: at()})
		return err
	}), control.ErrConflict)
	f.account(control.Account{Kind: control.PrincipalService, Name: "ada"}) // kinds have separate names
	f.account(control.Account{Kind: control.PrincipalUser, Name: "bob", Issuer: "i", Subject: "s"})
	f.tx(func(r control.Repos) error {
		if err := r.PutMembership(ctx, ada.ID, grant("tenant-viewer@lab/red"), at()); err != nil {
			return err
		}
		if err := r.PutMembership(ctx, ada.ID, grant("tenant-admin@lab/red"), at()); err != nil { // changes it
			return err
		}
		if err := r.SetMemberships(ctx, ada.ID, control.SourceOIDC, []tenants.Grant{grant("auditor@*"), grant("tenant-viewer@lab/red")}, at()); err != nil {
			return err
		}
		return r.SetMemberships(ctx, ada.ID, control.SourceOIDC, []tenants.Grant{grant("auditor@*")}, at()) // replaces them
	})
	f.view(func(r control.Repos) error {
		got, err := r.Account(ctx, control.AccountRef{Kind: control.PrincipalUser, Name: "ada"})
		f.equal("memberships", []control.Membership{
			membership("operator@*", control.SourceLocal), membership("tenant-admin@lab/red", control.SourceLocal), membership("auditor@*", control.SourceOIDC),
		}, got.Memberships)
		bob, berr := r.AccountBySubject(ctx, "i", "s")
		if berr != nil || bob.Name != "bob" {
			t.Errorf("account by subject is %+v, %v", bob, berr)
		}
		_, nobody := r.AccountBySubject(ctx, "", "")
		f.want(nobody, control.ErrNotFound)
		first, next, lerr := r.ListAccounts(ctx, control.PrincipalUser, tenants.Domain{}, control.Page{Limit: 1})
		if lerr != nil || len(first) != 1 || first[0].Name != "ada" || next != "ada" {
			t.Errorf("page is %+v, %q, %v", first, next, lerr)
		}
		members, _, merr := r.ListMembers(ctx, tenants.Domain{Fabric: "lab", Tenant: "red"}, control.Page{})
		if merr != nil || len(members) != 1 || members[0].User != "ada" || members[0].Role != tenants.RoleTenantAdmin {
			t.Errorf("members are %+v, %v", members, merr)
		}
		return err
	})
	changed := ada
	changed.DisplayName, changed.Disabled, changed.SignedInAt, changed.UpdatedAt = "A", true, at(), at()
	f.tx(func(r control.Repos) (err error) { changed, err = r.UpdateAccount(ctx, changed); return err })
	if changed.Version != 2 || !changed.Disabled || changed.DisplayName != "A" || !changed.SignedInAt.Equal(at()) || len(changed.Memberships) != 3 {
		t.Errorf("changed account is %+v", changed)
	}
	f.want(f.s.Tx(ctx, func(r control.Repos) error { _, err := r.UpdateAccount(ctx, ada); return err }), control.ErrPrecondition)
	checkAccountTokens(t, f, ada.ID)
}

func checkAccountTokens(t *testing.T, f *fixture, account int64) {
	ctx := t.Context()
	want := control.Token{
		Account: account, Name: "laptop", Hash: [32]byte{7}, Scopes: []control.Scope{{Object: "*", Action: "read"}, {Object: "plan", Action: "write"}},
		CreatedAt: at(), ExpiresAt: at().Add(time.Hour),
	}
	f.tx(func(r control.Repos) error {
		made, err := r.CreateToken(ctx, want)
		want.ID = made.ID
		f.equal("made token", want, made)
		if err != nil {
			return err
		}
		want.UsedAt = at()
		return r.TouchToken(ctx, made.ID, at())
	})
	f.want(f.s.Tx(ctx, func(r control.Repos) error {
		_, err := r.CreateToken(ctx, control.Token{Account: account, Name: "laptop", Hash: [32]byte{8}, CreatedAt: at()})
		return err
	}), control.ErrConflict)
	f.view(func(r control.Repos) error {
		got, err := r.TokenByHash(ctx, [32]byte{7})
		f.equal("token", want, got)
		list, lerr := r.ListTokens(ctx, account)
		f.equal("tokens", []control.Token{want}, list)
		n, cerr := r.CountHolders(ctx, tenants.RoleOperator)
		if n != 0 || lerr != nil || cerr != nil { // its one holder is disabled
			t.Errorf("%d enabled operators, %v, %v", n, lerr, cerr)
		}
		return err
	})
	f.tx(func(r control.Repos) error { return r.DeleteToken(ctx, account, "laptop") })
	f.want(f.s.Tx(ctx, func(r control.Repos) error { return r.DeleteToken(ctx, account, "laptop") }), control.ErrNotFound)
}

func checkAccountsOfTenant(t *testing.T, f *fixture) {
	ctx := t.Context()
	f.fabric("lab")
	f.plainTenant("lab", "red")
	f.plainTenant("lab", "blue")
	red := tenants.Domain{Fabric: "lab", Tenant: "red"}
	ada := f.account(control.Account{Kind: control.PrincipalUser, Name: "ada", Memberships: []control.Membership{membership("tenant-admin@lab/red", control.SourceLocal)}})
	ci := f.account(control.Account{Kind: control.PrincipalService, Name: "ci", Domain: red, Memberships: []control.Membership{membership("tenant-viewer@lab/red", control.SourceLocal)}})
	f.account(control.Account{Kind: control.PrincipalService, Name: "ci", Domain: tenants.Domain{Fabric: "lab", Tenant: "blue"}})
	f.account(control.Account{Kind: control.PrincipalService, Name: "ci"})
	if ci.Domain != red {
		t.Errorf("account is %+v", ci)
	}
	f.tx(func(r control.Repos) error {
		if _, err := r.CreateToken(ctx, control.Token{Account: ci.ID, Name: "t", Hash: [32]byte{1}, CreatedAt: at()}); err != nil {
			return err
		}
		return r.DeleteTenant(ctx, "lab", "red", 0)
	})
	f.plainTenant("lab", "red") // of the same name, without the old one's accounts
	f.view(func(r control.Repos) error {
		_, err := r.AccountByID(ctx, ci.ID)
		f.want(err, control.ErrNotFound)
		_, err = r.TokenByHash(ctx, [32]byte{1})
		f.want(err, control.ErrNotFound)
		got, err := r.AccountByID(ctx, ada.ID)
		if len(got.Memberships) != 0 {
			t.Errorf("ada has roles in a deleted tenant: %+v", got.Memberships)
		}
		return err
	})
	f.want(f.s.Tx(ctx, func(r control.Repos) error { return r.PutMembership(ctx, ada.ID, grant("tenant-admin@lab/nix"), at()) }), control.ErrNotFound)
	f.want(f.s.Tx(ctx, func(r control.Repos) error { return r.DeleteMembership(ctx, ada.ID, red) }), control.ErrNotFound)
	f.tx(func(r control.Repos) error { return r.DeleteAccount(ctx, ada.ID) })
	f.want(f.s.Tx(ctx, func(r control.Repos) error { return r.DeleteAccount(ctx, ada.ID) }), control.ErrNotFound)
}

func checkAccountsOfFabric(t *testing.T, f *fixture) {
	ctx := t.Context()
	for _, name := range []string{"lab", "prod"} {
		f.fabric(name)
		f.plainTenant(name, "red")
	}
	lab := tenants.Domain{Fabric: "lab"}
	ada := f.account(control.Account{Kind: control.PrincipalUser, Name: "ada", Password: "$x", Memberships: []control.Membership{
		membership("auditor@*", control.SourceLocal), membership("fabric-admin@lab", control.SourceLocal), membership("tenant-admin@lab/red", control.SourceLocal),
		membership("feeder@prod", control.SourceLocal), membership("auditor@lab", control.SourceOIDC), membership("tenant-viewer@prod/red", control.SourceLocal),
	}})
	roles := func() (out []string) {
		f.view(func(r control.Repos) error {
			got, err := r.AccountByID(ctx, ada.ID)
			for _, m := range got.Memberships {
				out = append(out, m.Grant.String()+" "+string(m.Source))
			}
			return err
		})
		return out
	}
	f.equal("roles", []string{"auditor@* local", "fabric-admin@lab local", "tenant-admin@lab/red local", "feeder@prod local", "auditor@lab oidc", "tenant-viewer@prod/red local"}, roles())
	f.view(func(r control.Repos) error {
		n, err := r.CountHolders(ctx, tenants.RoleFabricAdmin)
		if n != 0 {
			t.Errorf("%d hold fabric-admin, want none: ada holds it on one fabric", n)
		}
		members, _, merr := r.ListMembers(ctx, lab, control.Page{})
		count, cerr := r.CountMembers(ctx, lab)
		if len(members) != 2 || count != 1 || merr != nil || cerr != nil {
			t.Errorf("members of the fabric are %+v, %d given here; %v, %v", members, count, merr, cerr)
		}
		return err
	})
	// Each place has its own role: a change of one leaves the others.
	f.tx(func(r control.Repos) error { return r.PutMembership(ctx, ada.ID, grant("operator@lab"), at()) })
	f.tx(func(r control.Repos) error { return r.PutMembership(ctx, ada.ID, grant("operator@*"), at()) })
	f.tx(func(r control.Repos) error { return r.DeleteMembership(ctx, ada.ID, tenants.Domain{Fabric: "prod"}) })
	f.want(f.s.Tx(ctx, func(r control.Repos) error { return r.DeleteMembership(ctx, ada.ID, tenants.Domain{Fabric: "prod"}) }), control.ErrNotFound)
	f.equal("roles", []string{"operator@* local", "operator@lab local", "tenant-admin@lab/red local", "auditor@lab oidc", "tenant-viewer@prod/red local"}, roles())
	f.want(f.s.Tx(ctx, func(r control.Repos) error { return r.PutMembership(ctx, ada.ID, grant("operator@nix"), at()) }), control.ErrNotFound)
	f.want(f.s.Tx(ctx, func(r control.Repos) error {
		return r.SetMemberships(ctx, ada.ID, control.SourceOIDC, []tenants.Grant{grant("auditor@prod"), grant("operator@prod")}, at())
	}), control.ErrConflict)
	f.tx(func(r control.Repos) error {
		return r.SetMemberships(ctx, ada.ID, control.SourceOIDC, []tenants.Grant{grant("auditor@lab"), grant("auditor@prod")}, at())
	})
	ci := f.account(control.Account{Kind: control.PrincipalService, Name: "ci", Memberships: []control.Membership{membership("operator@lab", control.SourceLocal)}})
	far := f.account(control.Account{Kind: control.PrincipalService, Name: "far", Memberships: []control.Membership{membership("operator@prod", control.SourceLocal)}})
	f.tx(func(r control.Repos) error {
		if _, err := r.CreateToken(ctx, control.Token{Account: ci.ID, Name: "t", Hash: [32]byte{1}, CreatedAt: at()}); err != nil {
			return err
		}
		return r.DeleteFabric(ctx, "lab", 0)
	})
	f.fabric("lab") // of the same name, without the old one's accounts
	f.plainTenant("lab", "red")
	f.equal("roles when the fabric was made again", []string{"operator@* local", "tenant-viewer@prod/red local", "auditor@prod oidc"}, roles())
	f.view(func(r control.Repos) error {
		_, err := r.AccountByID(ctx, ci.ID)
		f.want(err, control.ErrNotFound)
		_, err = r.TokenByHash(ctx, [32]byte{1})
		f.want(err, control.ErrNotFound)
		_, err = r.AccountByID(ctx, far.ID)
		return err
	})
}

func checkSessions(t *testing.T, f *fixture) {
	ctx := t.Context()
	ada := f.account(control.Account{Kind: control.PrincipalUser, Name: "ada"})
	want := make([]control.Session, 4)
	f.tx(func(r control.Repos) (err error) {
		for i := range want {
			want[i] = control.Session{Hash: [32]byte{byte(i + 1)}, Account: ada.ID, Method: "password", CreatedAt: at(), SeenAt: at(), ExpiresAt: at().Add(time.Duration(i+1) * time.Hour)}
			if want[i], err = r.CreateSession(ctx, want[i]); err != nil {
				return err
			}
		}
		want[1].SeenAt = at().Add(time.Minute)
		if err := r.TouchSession(ctx, want[1].ID, want[1].SeenAt); err != nil {
			return err
		}
		return r.DeleteStaleSessions(ctx, at().Add(time.Hour), at().Add(-time.Second))
	})
	has := func(i int) bool {
		var err error
		f.view(func(r control.Repos) error {
			var got control.Session
			if got, err = r.SessionByHash(ctx, want[i].Hash); err == nil {
				f.equal("session", want[i], got)
				byID, ierr := r.SessionByID(ctx, got.ID)
				f.equal("session by number", want[i], byID)
				return ierr
			} else {
				f.want(err, control.ErrNotFound)
				_, ierr := r.SessionByID(ctx, want[i].ID)
				f.want(ierr, control.ErrNotFound)
			}
			return nil
		})
		return err == nil
	}
	if has(0) || !has(1) || !has(2) {
		t.Error("other sessions than the expired one were deleted")
	}
	f.tx(func(r control.Repos) error { return r.DeleteStaleSessions(ctx, at(), at()) })
	if !has(1) || has(2) {
		t.Error("other sessions than the idle ones were deleted")
	}
	f.tx(func(r control.Repos) error { return r.DeleteSessionsOf(ctx, ada.ID, want[1].ID) })
	if !has(1) {
		t.Error("a valid session was deleted")
	}
	f.tx(func(r control.Repos) error { return r.DeleteSessionsOf(ctx, ada.ID, 0) })
	if has(1) {
		t.Error("a session is left")
	}
	key := [32]byte{9}
	fail := control.SigninFailures{Failures: 6, LastAt: at(), LockedUntil: at().Add(time.Minute)}
	f.tx(func(r control.Repos) error {
		none, err := r.SigninFailures(ctx, key)
		f.equal("no failures", control.SigninFailures{}, none)
		if err != nil {
			return err
		}
		if err := r.PutSigninFailures(ctx, key, control.SigninFailures{Failures: 1, LastAt: at(), LockedUntil: at()}); err != nil {
			return err
		}
		if err := r.PutSigninFailures(ctx, key, fail); err != nil {
			return err
		}
		if err := r.ForgetSigninFailures(ctx, at()); err != nil {
			return err
		}
		got, err := r.SigninFailures(ctx, key)
		f.equal("failures", fail, got)
		return err
	})
	f.tx(func(r control.Repos) error {
		if err := r.ForgetSigninFailures(ctx, at().Add(time.Second)); err != nil {
			return err
		}
		got, err := r.SigninFailures(ctx, key)
		f.equal("forgotten failures", control.SigninFailures{}, got)
		if err != nil {
			return err
		}
		return r.ClearSigninFailures(ctx, key)
	})
}

func checkScopedLists(t *testing.T, f *fixture) {
	ctx := t.Context()
	for _, n := range []string{"lab", "prod", "test"} {
		f.fabric(n)
	}
	for i := range 9 {
		f.plainTenant("lab", fmt.Sprintf("t%d", i))
	}
	mine := []string{"t1", "t4", "t7", "nix"}
	f.view(func(r control.Repos) error {
		list, err := paged(2, func(p control.Page) ([]control.Tenant, string, error) { return r.TenantsNamed(ctx, "lab", mine, p) })
		if err != nil {
			return err
		}
		got := each(list, func(x control.Tenant) string { return x.Name })
		f.equal("tenants", []string{"t1", "t4", "t7"}, got)
		none, next, err := r.TenantsNamed(ctx, "lab", []string{}, control.Page{})
		if len(none) != 0 || next != "" || err != nil {
			t.Errorf("without names the tenants are %v, %q, %v", none, next, err)
		}
		fabrics, next, err := r.FabricsNamed(ctx, []string{"prod", "test"}, control.Page{Limit: 1})
		if len(fabrics) != 1 || fabrics[0].Name != "prod" || next != "prod" {
			t.Errorf("fabrics are %v, %q", fabrics, next)
		}
		return err
	})
	checkTenantEvents(t, f, mine)
}

// checkSelectedTenantEvents checks that filters and the order leave each event its number, and that limits of time are whole minutes.
func checkSelectedTenantEvents(t *testing.T, f *fixture, mine, all []string, size int) {
	ctx, minute := t.Context(), at().Truncate(time.Minute)
	even := make([]string, 0, len(all))
	for i, said := range all {
		if i%2 == 0 { // the events are of two tenants in turn
			even = append(even, said)
		}
	}
	for name, tc := range map[string]struct {
		filter control.EventFilter
		want   []string
	}{
		"newest":                {control.EventFilter{Newest: true}, all},
		"newest of one":         {control.EventFilter{Newest: true, Subject: mine[0]}, even},
		"of one":                {control.EventFilter{Subject: mine[0]}, even},
		"of another":            {control.EventFilter{Subject: "t2"}, nil},
		"kind":                  {control.EventFilter{Kind: "tenant.u"}, all},
		"another kind":          {control.EventFilter{Kind: "tenant.c"}, nil},
		"since the last second": {control.EventFilter{Since: minute.Add(59 * time.Second), Newest: true}, all},
		"since the next minute": {control.EventFilter{Since: minute.Add(time.Minute)}, nil},
		"until the minute":      {control.EventFilter{Until: minute}, nil},
		"until a moment in it":  {control.EventFilter{Until: minute.Add(time.Microsecond), Newest: true}, all},
	} {
		tc.filter.Fabric = "lab"
		var got []string
		f.view(func(r control.Repos) error {
			list, err := paged(size, func(p control.Page) ([]control.Event, string, error) { return r.TenantEvents(ctx, tc.filter, mine, p) })
			for _, e := range list {
				got = append(got, e.Said.String())
				if n := e.ID - minute.UnixMicro(); n != int64(slices.Index(all, e.Said.String())+1) {
					t.Errorf("%s: event %s has the number %d", name, e.Said, n)
				}
			}
			return err
		})
		if tc.filter.Newest {
			slices.Reverse(got)
		}
		f.equal(fmt.Sprintf("events %s in pages of %d", name, size), tc.want, got)
	}
}

// checkTenantEvents pages through events in threes, with a clock that stands still.
func checkTenantEvents(t *testing.T, f *fixture, mine []string) {
	ctx := t.Context()
	var want []string
	f.tx(func(r control.Repos) error {
		for i := range 30 {
			e := control.Event{
				Fabric: "lab", Kind: "tenant.updated", Subject: fmt.Sprintf("t%d", i%9), At: at().Add(time.Duration(i/9) * time.Second),
				Actor: "x", Said: phrase.Verbatim(fmt.Sprint(i)), Data: json.RawMessage(`{}`),
			}
			if i%9 == 4 {
				e.Kind = "plan.created" // about no tenant, whatever its subject is
			}
			if e.Kind == "tenant.updated" && (i%9 == 1 || i%9 == 7) {
				want = append(want, e.Said.String())
			}
			if err := r.AddEvent(ctx, e); err != nil {
				return err
			}
		}
		return nil
	})
	for _, size := range []int{1, 2, 3, 100} {
		var got []string
		f.view(func(r control.Repos) error {
			list, err := paged(size, func(p control.Page) ([]control.Event, string, error) {
				return r.TenantEvents(ctx, control.EventFilter{Fabric: "lab"}, mine, p)
			})
			for _, e := range list {
				got = append(got, e.Said.String())
				if !e.At.Equal(e.At.Truncate(time.Minute)) || e.ID-e.At.UnixMicro() != int64(len(got)) { // all are of one minute
					t.Errorf("event %d of %v has the number %d", len(got), e.At, e.ID)
				}
			}
			return err
		})
		f.equal(fmt.Sprintf("events in pages of %d", size), want, got)
		checkSelectedTenantEvents(t, f, mine, want, size)
	}
	f.view(func(r control.Repos) error {
		minute := at().Truncate(time.Minute).UnixMicro()
		last, _, err := r.TenantEvents(ctx, control.EventFilter{Fabric: "lab"}, mine, control.Page{After: fmt.Sprint(minute + int64(len(want)) - 1)})
		if len(last) != 1 {
			t.Errorf("%d events after the last but one", len(last))
		}
		if list, _, err := r.TenantEvents(ctx, control.EventFilter{Fabric: "lab"}, mine, control.Page{After: fmt.Sprintf("%d.3", at().UnixMicro())}); err != nil || len(list) != len(want) {
			t.Errorf("with a cursor of an earlier release: %d events, %v", len(list), err)
		}
		for _, bad := range []string{"x", "1.x", "-1", "1.-1", "1.", "99999999999999999999"} {
			if _, _, err := r.TenantEvents(ctx, control.EventFilter{Fabric: "lab"}, mine, control.Page{After: bad}); err == nil {
				t.Errorf("cursor %q is taken", bad)
			}
		}
		return err
	})
}
