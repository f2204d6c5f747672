package control

import (
	"context"
	"slices"

	"fairlane/subnet/ident"
	"fairlane/tenants"
)

// NearRepo finds the tenants that a tenant can collide with, so that a change of one of thousands is judged by a few.
type NearRepo interface {
	// Near returns, by name and without the tenant called name, at least those tenants of a fabric that have the
	// partition pkey (0: none), are attached to one of the nodes or, when they list no attachments, have a declared
	// flow that ends at one of them. total counts all tenants of the fabric but that one.
	Near(ctx context.Context, fabric, name string, pkey ident.PKey, nodes []ident.GUID) (near []Tenant, total int64, err error)
}

// maxNear is the number of nodes from which all tenants are looked at instead.
const maxNear = 4000

// checkWhole checks what t, in the place of its namesake, makes of the fabric's tenants and flows, given that they
// were right before: it looks at the tenants that can collide with t only, which are those of its partition and of
// its nodes.
func checkWhole(ctx context.Context, r Repos, fabric string, t tenants.Tenant, base string) error {
	own, err := r.FlowsOf(ctx, fabric, []string{t.Name})
	if err != nil {
		return err
	}
	nodes := nodesOf(t, own)
	var near []Tenant
	var total int64
	if len(nodes) > maxNear {
		near, err = others(ctx, r, fabric, t.Name)
		total = int64(len(near))
	} else {
		near, total, err = r.Near(ctx, fabric, t.Name, t.PKey, nodes)
	}
	if err != nil {
		return err
	}
	if total >= tenants.MaxTenants {
		return Invalid(base, "%d tenants: want at most %d", total+1, tenants.MaxTenants)
	}
	all := make([]tenants.Tenant, 0, len(near)+1)
	names := []string{t.Name}
	for _, o := range near {
		all = append(all, o.Tenant)
		if len(o.Attachments) == 0 { // it is where its flows end
			names = append(names, o.Name)
		}
	}
	all = append(all, t) // last, so that of two that collide this one is blamed
	flows := own
	if len(names) > 1 {
		if flows, err = r.FlowsOf(ctx, fabric, names); err != nil {
			return err
		}
	}
	return invalidModel(tenants.ValidateInfiniBand(all, flows), inTenant(base))
}

// others are all tenants of a fabric but one.
func others(ctx context.Context, r Repos, fabric, name string) ([]Tenant, error) {
	all, err := r.AllTenants(ctx, fabric)
	return slices.DeleteFunc(all, func(t Tenant) bool { return t.Name == name }), err
}

// nodesOf are the nodes that a tenant is on: those of its attachments or, when it lists none, of its flows' ends.
func nodesOf(t tenants.Tenant, flows []tenants.Flow) []ident.GUID {
	var out []ident.GUID
	for _, a := range t.Attachments {
		out = append(out, a.Port.Node)
	}
	if len(t.Attachments) == 0 {
		for _, f := range flows {
			out = append(out, f.Src.Node, f.Dst.Node)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
