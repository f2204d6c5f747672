package tenants

import (
	"slices"
	"strings"

	"fairlane/internal/phrase"
)

// Role is a named set of rights; package tenants/authz defines these.
type Role string

// Roles. The first four act on fabrics and are held in the domain * or on one fabric; the other two are held on one
// tenant. A feeder is a program that reports which ports tenants use.
const (
	RoleFabricAdmin  Role = "fabric-admin"
	RoleOperator     Role = "operator"
	RoleAuditor      Role = "auditor"
	RoleFeeder       Role = "feeder"
	RoleTenantAdmin  Role = "tenant-admin"
	RoleTenantViewer Role = "tenant-viewer"
)

// Roles lists all roles, the widest first.
func Roles() []Role {
	return []Role{RoleFabricAdmin, RoleOperator, RoleAuditor, RoleFeeder, RoleTenantAdmin, RoleTenantViewer}
}

// Wide reports whether the role acts on whole fabrics; other roles act on one tenant.
func (r Role) Wide() bool {
	return r == RoleFabricAdmin || r == RoleOperator || r == RoleAuditor || r == RoleFeeder
}

// Valid reports whether the role is one of Roles.
func (r Role) Valid() bool { return slices.Contains(Roles(), r) }

// Domain is the scope of rights: one tenant of one fabric; one fabric with its tenants, if Tenant is empty; or
// everything, for the zero value, which is the domain of the service's operators and prints as "*".
type Domain struct{ Fabric, Tenant string }

// All reports whether d is the domain of everything.
func (d Domain) All() bool { return d == Domain{} }

// IsFabric reports whether d is the domain of one fabric.
func (d Domain) IsFabric() bool { return d.Fabric != "" && d.Tenant == "" }

// String returns "*", "FABRIC" or "FABRIC/TENANT". Names contain no slash, so a fabric and a tenant never print alike.
func (d Domain) String() string {
	switch {
	case d.All():
		return "*"
	case d.IsFabric():
		return d.Fabric
	}
	return d.Fabric + "/" + d.Tenant
}

// parseDomain parses the output of String.
func parseDomain(text string) (Domain, error) {
	if text == "*" {
		return Domain{}, nil
	}
	fabric, tenant, ok := strings.Cut(text, "/")
	if !ValidName(fabric) || ok && !ValidName(tenant) {
		return Domain{}, &phrase.Error{Text: phrase.Of("tenants.domain", "found", quote(text))}
	}
	return Domain{Fabric: fabric, Tenant: tenant}, nil
}

// Grant is a role held in a domain.
type Grant struct {
	Role   Role
	Domain Domain
}

// String returns "ROLE@DOMAIN".
func (g Grant) String() string { return string(g.Role) + "@" + g.Domain.String() }

// ParseGrant parses the output of String and rejects a role in a domain of the other kind.
func ParseGrant(text string) (Grant, error) {
	role, domain, ok := strings.Cut(text, "@")
	if !ok {
		return Grant{}, &phrase.Error{Text: phrase.Of("tenants.grant", "found", quote(text))}
	}
	d, err := parseDomain(domain)
	if err != nil {
		return Grant{}, err
	}
	g := Grant{Role: Role(role), Domain: d}
	return g, g.Validate()
}

// Validate rejects an unknown role, a tenant without a fabric, and a role in a domain of the other kind: a wide role on
// one tenant would suggest a limit that its rights do not have.
func (g Grant) Validate() error {
	switch {
	case !g.Role.Valid():
		return &phrase.Error{Text: phrase.Of("tenants.role", "found", quote(string(g.Role)), "roles", Roles())}
	case g.Role.Wide() && g.Domain.Tenant != "":
		return &phrase.Error{Text: phrase.Of("tenants.role-wide", "role", g.Role, "domain", g.Domain)}
	case !g.Role.Wide() && (g.Domain.Fabric == "" || g.Domain.Tenant == ""):
		return &phrase.Error{Text: phrase.Of("tenants.role-narrow", "role", g.Role, "domain", g.Domain)}
	}
	return nil
}

// CompareGrants orders grants by domain, then role.
func CompareGrants(a, b Grant) int {
	if c := strings.Compare(a.Domain.String(), b.Domain.String()); c != 0 {
		return c
	}
	return strings.Compare(string(a.Role), string(b.Role))
}
