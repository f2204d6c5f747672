package control

import (
	"context"
	"fmt"
)

// WriteScope says what a write transaction decides by and changes. Transactions of one scope take turns, those of different
// scopes run at the same time, and one of ScopeService runs alone. So a scope may be narrower than ScopeService only when
// nothing that the transaction reads and relies on is changed by a transaction of another scope but ScopeService.
type WriteScope string

// Scopes. That of a fabric is made by OnFabric.
const (
	// ScopeService is of whatever has no narrower scope: accounts, roles, settings, fabrics as such, retention.
	ScopeService WriteScope = ""
	// ScopeSignIn is of sessions, refused sign-ins, the last use of tokens, and audit entries that tell of no change.
	ScopeSignIn WriteScope = "sign-in"
	// ScopeTasks is of simulations and calibrations.
	ScopeTasks WriteScope = "tasks"
)

type scopeKey struct{}

// WithScope returns a context whose write transactions have a scope. It is for the call of Store.Tx alone: a use case that is
// called with it has that scope, too, only when it says so itself.
func WithScope(ctx context.Context, s WriteScope) context.Context {
	return context.WithValue(ctx, scopeKey{}, s)
}

// OnFabric is WithScope with the scope of a fabric: its tenants, flows, policies, plans, rollouts, devices and measurements.
func OnFabric(ctx context.Context, fabric string) context.Context {
	return WithScope(ctx, WriteScope("fabric "+fabric))
}

// ScopeOf returns the scope of a context's write transactions.
func ScopeOf(ctx context.Context) WriteScope {
	s, _ := ctx.Value(scopeKey{}).(WriteScope)
	return s
}

// within refuses a use case that joins a transaction of a narrower scope than its own: it could rely on what others change.
func within(outer, inner WriteScope) error {
	if outer == ScopeService || outer == inner {
		return nil
	}
	return fmt.Errorf("a change with the scope %q joins a transaction with the scope %q", inner, outer)
}
