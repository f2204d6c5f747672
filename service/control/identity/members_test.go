package identity_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"fairlane/service/control"
	"fairlane/service/control/controltest"
	"fairlane/service/control/identity"
	"fairlane/tenants"
)

// isFull fails the test unless the error says that the limit is reached.
func isFull(t *testing.T, what string, err error) {
	t.Helper()
	var c *control.ConflictError
	if !errors.As(err, &c) || c.Code != "too-many" {
		t.Errorf("%s: error is %v, want too-many", what, err)
	}
}

func TestMembersOfATenantAreLimited(t *testing.T) {
	t.Parallel()
	r := controltest.New(t, controltest.OpenSQLite)
	r.Lab(t)
	ctx, at := t.Context(), time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	red := tenants.Grant{Role: tenants.RoleTenantViewer, Domain: tenants.Domain{Fabric: "lab", Tenant: "red"}}
	err := r.Store.Tx(ctx, func(repos control.Repos) error {
		for i := range identity.MaxMembers - 1 {
			_, err := repos.CreateAccount(ctx, control.Account{
				Kind: control.PrincipalUser, Name: fmt.Sprintf("m%d", i), CreatedAt: at,
				Memberships: []control.Membership{{Grant: red, Source: control.SourceLocal, CreatedAt: at}, {Grant: red, Source: control.SourceOIDC, CreatedAt: at}},
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	put := func(user string, g tenants.Grant) error {
		_, err := r.Service.PutMember(ctx, user, g)
		return err
	}
	if err := put("last", red); err != nil {
		t.Fatalf("the last one that may be: %v", err)
	}
	isFull(t, "one more", put("more", red))
	if _, err := r.Service.User(ctx, "more"); !errors.Is(err, control.ErrNotFound) {
		t.Errorf("who was refused has an account: %v", err)
	}
	admin := red
	admin.Role = tenants.RoleTenantAdmin
	if err := put("last", admin); err != nil {
		t.Errorf("another role for a member: %v", err)
	}
	blue := red
	blue.Domain.Tenant = "blue"
	if err := put("more", blue); err != nil {
		t.Errorf("another tenant: %v", err)
	}
	if err := put("more", tenants.Grant{Role: tenants.RoleAuditor, Domain: tenants.Domain{Fabric: "lab"}}); err != nil {
		t.Errorf("the whole fabric: %v", err)
	}
	for _, bad := range []tenants.Grant{
		{Role: tenants.RoleAuditor}, {Role: tenants.RoleAuditor, Domain: red.Domain}, {Role: tenants.RoleTenantViewer, Domain: tenants.Domain{Fabric: "lab"}}, {Role: tenants.RoleTenantViewer},
	} {
		controltest.MustFail(t, "a member as "+bad.String(), put("more", bad), control.ErrInvalid)
	}
	controltest.MustFail(t, "a member of no fabric", put("more", tenants.Grant{Role: tenants.RoleAuditor, Domain: tenants.Domain{Fabric: "nix"}}), control.ErrNotFound)
	if err := r.Service.DeleteMember(ctx, "m0", red.Domain); err != nil {
		t.Fatal(err)
	}
	if err := put("more", red); err != nil {
		t.Errorf("after one went: %v", err)
	}
}

func TestServiceAccountsOfADomainAreLimited(t *testing.T) {
	t.Parallel()
	r := controltest.New(t, controltest.OpenSQLite)
	r.Lab(t)
	ctx := t.Context()
	all := tenants.Grant{Role: tenants.RoleOperator}
	red := tenants.Grant{Role: tenants.RoleTenantAdmin, Domain: tenants.Domain{Fabric: "lab", Tenant: "red"}}
	add := func(name string, g tenants.Grant) error {
		_, err := r.Service.CreateServiceAccount(ctx, identity.ServiceAccountInput{Name: name, Grant: g})
		return err
	}
	for i := range identity.MaxServiceAccounts {
		if err := add(fmt.Sprintf("p%d", i), red); err != nil {
			t.Fatal(err)
		}
	}
	isFull(t, "one more", add("more", red))
	if err := add("more", all); err != nil {
		t.Errorf("another domain: %v", err)
	}
	if err := r.Service.DeleteServiceAccount(ctx, red.Domain, "p0"); err != nil {
		t.Fatal(err)
	}
	if err := add("more", red); err != nil {
		t.Errorf("after one went: %v", err)
	}
}
