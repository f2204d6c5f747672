package control

import (
	"context"
	"fmt"
)

// WriteScope is the part of the data that a write transaction relies on and changes. Transactions of one scope take turns, those of
// different scopes run concurrently, and one of ScopeService runs alone. So a scope may be narrower than ScopeService only when
// no transaction of another narrower scope changes data that the transaction relies on.
type WriteScope string

// Scopes. OnFabric makes the scope of a fabric.
const (
	// ScopeService covers everything without a narrower scope: accounts, roles, settings, fabrics as such, retention.
	ScopeService WriteScope = ""
	// ScopeSignIn covers sessions, refused sign-ins, the last use of tokens, and audit entries that record no change.
	ScopeSignIn WriteScope = "sign-in"
	// ScopeTasks covers simulations and calibrations.
	ScopeTasks WriteScope = "tasks"
	// ScopeAuditExport covers the positions of the audit log's sinks.
	ScopeAuditExport WriteScope = "audit-export"
	// ScopeSeries covers where managers have their series.
	ScopeSeries WriteScope = "series"
)

type scopeKey struct{}

// WithScope returns a context whose write transactions have a scope. It is for direct calls of Store.Tx: a use case sets
// its own scope.
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

// within rejects a use case that joins a transaction of a narrower scope than its own: others could change the data that
// it relies on.
func within(outer, inner WriteScope) error {
	if outer == ScopeService || outer == inner {
		return nil
	}
	return fmt.Errorf("a change with the scope %q joins a transaction with the scope %q", inner, outer)
}
