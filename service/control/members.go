package control

import (
	"context"

	"fairlane/tenants"
)

// Standing fails with *NotFoundError when the fabric or the tenant of a domain does not exist.
func Standing(ctx context.Context, r Repos, d tenants.Domain) (err error) {
	if d.Whole() {
		_, err = r.Fabric(ctx, d.Fabric)
	} else {
		_, err = r.Tenant(ctx, d.Fabric, d.Tenant)
	}
	return err
}
