package demo

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"io"
	"net"
	"net/netip"
	"slices"

	"fairlane/internal/outfile"
	"fairlane/service/control"
	"fairlane/service/control/identity"
	"fairlane/tenants"
)

// SignIns are the ways into a demo that stays up. They are valid until it ends: its database is removed.
type SignIns struct {
	URL      string `json:"url"`
	Token    string `json:"token"` // of the administrator
	Fabric   string `json:"fabric"`
	Operator SignIn `json:"operator"`
	Tenant   SignIn `json:"tenant"`
}

// SignIn is a user with a password.
type SignIn struct {
	User     string `json:"user"`
	Password string `json:"password"`
	Tenant   string `json:"tenant,omitempty"` // the tenant that the user administers
}

// passwordLength gives a password 80 random bits, 5 in each character.
const passwordLength = 16

// SignIns creates an administrator's token, an operator, and an administrator of one tenant.
func (d *Demo) SignIns(ctx context.Context, at net.Addr) (*SignIns, error) {
	svc := d.manager.Service()
	ctx = control.WithActor(ctx, "demo")
	token, err := svc.Bootstrap(ctx, "")
	if err != nil {
		return nil, err
	}
	list, _ := d.fabric.Declared()
	s := &SignIns{
		URL: "http://" + reachable(at), Token: token, Fabric: FabricName,
		Operator: SignIn{User: "demo-operator", Password: rand.Text()[:passwordLength]},
		Tenant:   SignIn{User: "demo-tenant", Password: rand.Text()[:passwordLength], Tenant: portalTenant(list)},
	}
	for _, u := range []struct {
		SignIn
		grant tenants.Grant
	}{
		{s.Operator, tenants.Grant{Role: tenants.RoleOperator}},
		{s.Tenant, tenants.Grant{Role: tenants.RoleTenantAdmin, Domain: tenants.Domain{Fabric: FabricName, Tenant: s.Tenant.Tenant}}},
	} {
		if _, err := svc.CreateUser(ctx, identity.UserInput{Name: u.User, Password: u.Password, Grants: []tenants.Grant{u.grant}}); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// portalTenant returns the tenant whose portal a demo shows: the one of the highest weight, the first by name among equals.
func portalTenant(list []tenants.Tenant) string {
	return slices.MinFunc(list, func(a, b tenants.Tenant) int {
		return cmp.Or(cmp.Compare(b.Weight, a.Weight), cmp.Compare(a.Name, b.Name))
	}).Name
}

// reachable returns an address for clients on this machine.
func reachable(at net.Addr) string {
	a, err := netip.ParseAddrPort(at.String())
	if err != nil || !a.Addr().IsUnspecified() {
		return at.String()
	}
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), a.Port()).String()
}

// write writes the sign-ins to a file that only its owner can read.
func (s *SignIns) write(path string) error {
	return outfile.WriteMode(path, 0o600, func(w io.Writer) error { return json.NewEncoder(w).Encode(s) })
}
