package control

import (
	"context"

	"fairlane/tenants"
)

// ScopedListRepo returns lists limited to some tenants of a fabric. The database filters before it pages, so that neither the
// length of a page nor its cursor reveals hidden rows.
type ScopedListRepo interface {
	// TenantsNamed is ListTenants for the named tenants.
	TenantsNamed(ctx context.Context, fabric string, names []string, p Page) (list []Tenant, next string, err error)
	// FabricsNamed is ListFabrics for the named fabrics.
	FabricsNamed(ctx context.Context, names []string, p Page) (list []Fabric, next string, err error)
	// FlowsOf returns the declared flows of the named tenants.
	FlowsOf(ctx context.Context, fabric string, names []string) ([]tenants.Flow, error)
	// TenantEvents returns those of the selected events that are about the named tenants themselves, with times rounded down to the
	// minute. After is the ID of the last event shown: the minute in microseconds, and the position of the event in it among all events
	// about these tenants. The limits of time are rounded to whole minutes, too.
	TenantEvents(ctx context.Context, f EventFilter, names []string, p Page) (list []Event, next string, err error)
}
