package control

import (
	"context"
	"slices"
	"time"

	"fairlane/tenants"
)

// PrincipalKind says what kind of party acts.
type PrincipalKind string

// Kinds of principals.
const (
	PrincipalUser      PrincipalKind = "user"
	PrincipalService   PrincipalKind = "service-account"
	PrincipalBootstrap PrincipalKind = "token"  // the first token, which belongs to no account
	PrincipalSystem    PrincipalKind = "system" // the service itself
)

// Principal is who acts, with the rights that were stored when the request came.
type Principal struct {
	Kind    PrincipalKind
	Name    string // what events and the audit log record: "alice", "ci@lab/red", "admin"
	Account int64  // the account's row; 0 for the bootstrap token and the service itself
	Token   string // name of the token that was sent; empty in a browser session
	Session int64  // the browser session's row; 0 with a token
	Grants  []tenants.Grant
	// Scopes narrow the rights of a token; nil narrows nothing.
	Scopes []Scope
	// ExpiresAt is when what the principal came with ends: its token here or of the provider; zero for
	// a token without an end and for a session, whose end is in its row.
	ExpiresAt time.Time
	// Claims are the roles among Grants that a token of the provider brought along; they are stored nowhere.
	Claims []tenants.Grant
}

// External reports whether the principal came with a token of the OpenID provider.
func (p Principal) External() bool { return p.Account != 0 && p.Token == "" && p.Session == 0 }

// Wide reports whether the principal acts on everything rather than on single fabrics and tenants.
func (p Principal) Wide() bool {
	return p.Kind == PrincipalSystem || slices.ContainsFunc(p.Grants, func(g tenants.Grant) bool { return g.Domain.All() })
}

// Runs reports whether the principal acts on a whole fabric rather than on single tenants of it.
func (p Principal) Runs(fabric string) bool {
	return p.Wide() || slices.ContainsFunc(p.Grants, func(g tenants.Grant) bool { return g.Domain.Whole() && g.Domain.Fabric == fabric })
}

// TenantsOn lists, sorted, the tenants of a fabric in which the principal has a role. It is not
// nil, also when there are none.
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

// Fabrics lists, sorted, the fabrics on which the principal has a role, or in some tenant of which.
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

// principalKey is the context key of who acts.
type principalKey struct{}

// WithPrincipal returns a context whose changes are recorded under the principal's name and whose
// lists are cut to what it may see.
func WithPrincipal(ctx context.Context, p Principal) context.Context {
	return context.WithValue(ctx, principalKey{}, p)
}

// PrincipalFrom returns who acts; false when the service does so by itself.
func PrincipalFrom(ctx context.Context) (Principal, bool) {
	p, ok := ctx.Value(principalKey{}).(Principal)
	return p, ok
}

// actorKey is the context key of a name recorded in place of the principal's.
type actorKey struct{}

// WithActor returns a context whose changes are recorded under a name, with no bearing on rights:
// for work that goes on after the request of who started it.
func WithActor(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, actorKey{}, name)
}

// Actor returns who acts: "system" when nobody in particular does.
func Actor(ctx context.Context) string {
	if name, ok := ctx.Value(actorKey{}).(string); ok && name != "" {
		return name
	}
	if p, ok := PrincipalFrom(ctx); ok && p.Name != "" {
		return p.Name
	}
	return string(PrincipalSystem)
}

// TenantsInSight is what a context may see of a fabric's tenants: nil is all of them, else their names. A
// context without a principal is the service's own and sees all.
func TenantsInSight(ctx context.Context, fabric string) []string {
	p, ok := PrincipalFrom(ctx)
	if !ok || p.Runs(fabric) {
		return nil
	}
	return p.TenantsOn(fabric)
}
