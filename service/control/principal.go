package control

import (
	"context"
	"slices"
	"time"

	"fairlane/tenants"
)

// PrincipalKind is the kind of an acting party.
type PrincipalKind string

// Kinds of principals.
const (
	PrincipalUser      PrincipalKind = "user"
	PrincipalService   PrincipalKind = "service-account"
	PrincipalBootstrap PrincipalKind = "token"  // the bootstrap token, which belongs to no account
	PrincipalSystem    PrincipalKind = "system" // the service itself
)

// Principal is an authenticated caller, with the rights that were stored when the request arrived.
type Principal struct {
	Kind    PrincipalKind
	Name    string // what events and the audit log record: "alice", "ci@lab/red", "admin"
	Account int64  // the account's row; 0 for the bootstrap token and the service itself
	Token   string // name of the token that was sent; empty in a browser session
	Session int64  // the browser session's row; 0 with a token
	Grants  []tenants.Grant
	// Scopes narrow the rights of a token; nil sets no limit.
	Scopes []Scope
	// ExpiresAt is the end of the principal's credential: its token here or of the provider. It is zero for a token
	// without an end, and for a session, whose row holds the end.
	ExpiresAt time.Time
	// Claims are the roles among Grants that come from a token of the provider; they are not stored.
	Claims []tenants.Grant
}

// External reports whether the principal authenticated with a token of the OpenID provider.
func (p Principal) External() bool { return p.Account != 0 && p.Token == "" && p.Session == 0 }

// Wide reports whether the principal has a role on everything, not only on single fabrics and tenants.
func (p Principal) Wide() bool {
	return p.Kind == PrincipalSystem || slices.ContainsFunc(p.Grants, func(g tenants.Grant) bool { return g.Domain.All() })
}

// Runs reports whether the principal has a role on a whole fabric, not only in single tenants of it.
func (p Principal) Runs(fabric string) bool {
	return p.Wide() || slices.ContainsFunc(p.Grants, func(g tenants.Grant) bool { return g.Domain.IsFabric() && g.Domain.Fabric == fabric })
}

// TenantsOn lists, sorted, the tenants of a fabric in which the principal has a role. The result is never nil.
func (p Principal) TenantsOn(fabric string) []string {
	names := []string{}
	for _, g := range p.Grants {
		if g.Domain.Tenant != "" && g.Domain.Fabric == fabric {
			names = append(names, g.Domain.Tenant)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Fabrics lists, sorted, the fabrics on which the principal has a role, or in a tenant of which it has one.
func (p Principal) Fabrics() []string {
	names := []string{}
	for _, g := range p.Grants {
		if !g.Domain.All() {
			names = append(names, g.Domain.Fabric)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// principalKey is the context key of the principal.
type principalKey struct{}

// WithPrincipal returns a context whose changes are recorded under the principal's name and whose lists are limited to
// what it may see.
func WithPrincipal(ctx context.Context, p Principal) context.Context {
	return context.WithValue(ctx, principalKey{}, p)
}

// PrincipalFrom returns the principal of a context; false when the service acts by itself.
func PrincipalFrom(ctx context.Context) (Principal, bool) {
	p, ok := ctx.Value(principalKey{}).(Principal)
	return p, ok
}

// actorKey is the context key of a name recorded in place of the principal's.
type actorKey struct{}

// WithActor returns a context whose changes are recorded under a name, without effect on rights. It is for work that
// continues after the request that started it.
func WithActor(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, actorKey{}, name)
}

// Actor returns the name of the actor of a context: "system" without a principal.
func Actor(ctx context.Context) string {
	if name, ok := ctx.Value(actorKey{}).(string); ok && name != "" {
		return name
	}
	if p, ok := PrincipalFrom(ctx); ok && p.Name != "" {
		return p.Name
	}
	return string(PrincipalSystem)
}

// VisibleTenants returns the names of a fabric's tenants that a context may see; nil means all. A context without a
// principal is the service's own and sees all.
func VisibleTenants(ctx context.Context, fabric string) []string {
	p, ok := PrincipalFrom(ctx)
	if !ok || p.Runs(fabric) {
		return nil
	}
	return p.TenantsOn(fabric)
}
