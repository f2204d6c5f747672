package control

import (
	"context"

	"fairlane/tenants"
)

// SightRepo answers lists cut to some tenants of a fabric. The cut is made by the database, before
// paging, so that neither the length of a page nor its cursor tells of what was left out.
type SightRepo interface {
	// TenantsNamed is ListTenants of the named ones.
	TenantsNamed(ctx context.Context, fabric string, names []string, p Page) (list []Tenant, next string, err error)
	// FabricsNamed is ListFabrics of the named ones.
	FabricsNamed(ctx context.Context, names []string, p Page) (list []Fabric, next string, err error)
	// FlowsOf returns the declared flows of the named tenants.
	FlowsOf(ctx context.Context, fabric string, names []string) ([]tenants.Flow, error)
	// TenantEvents returns the events about the named tenants themselves. After is the time of the
	// last event shown in microseconds and, after a dot, how many of that microsecond were shown.
	TenantEvents(ctx context.Context, fabric string, names []string, p Page) (list []Event, next string, err error)
}
