package control

import (
	"context"

	"fairlane/internal/phrase"
	"fairlane/subnet/ident"
	"fairlane/tenants"
)

// TenantConflictRepo finds the tenants that a tenant can conflict with, so that a change of one among thousands reads only a few.
type TenantConflictRepo interface {
	// TenantsInPartition returns the tenants of a fabric in the partition pkey (0: none), by name, without the tenant called name.
	// total counts all other tenants of the fabric.
	TenantsInPartition(ctx context.Context, fabric, name string, pkey ident.PKey) (near []Tenant, total int64, err error)
}

// CheckWhole validates the fabric's tenants and flows with t in place of its namesake, given that they were valid before.
// It reads only the tenants that can conflict with t: those of its partition. at returns the pointer of a fault in the
// request.
func CheckWhole(ctx context.Context, r Repos, fabric string, t tenants.Tenant, at func(*tenants.FieldError) string) error {
	flows, err := r.FlowsOf(ctx, fabric, []string{t.Name})
	if err != nil {
		return err
	}
	near, total, err := r.TenantsInPartition(ctx, fabric, t.Name, t.PKey)
	if err != nil {
		return err
	}
	if total >= tenants.MaxTenants {
		return Invalid("", phrase.Of("problem.tenants-max", "n", total+1, "max", tenants.MaxTenants))
	}
	all := append(Plain(near), t) // last, so that the error of a conflict names it
	return InvalidModel(tenants.Validate(all, flows), at)
}
