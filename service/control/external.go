package control

import (
	"context"
	"errors"
	"slices"

	"fairlane/tenants"
)

// Existing drops grants in fabrics and tenants that do not exist, and all but the first in each domain: a
// mapping outlives the fabrics and tenants that it names.
func Existing(ctx context.Context, r Repos, grants []tenants.Grant) ([]tenants.Grant, error) {
	var out []tenants.Grant
	for _, g := range grants {
		if g.Validate() != nil || slices.ContainsFunc(out, func(o tenants.Grant) bool { return o.Domain == g.Domain }) {
			continue
		}
		if !g.Domain.All() {
			switch err := Standing(ctx, r, g.Domain); {
			case errors.Is(err, ErrNotFound):
				continue
			case err != nil:
				return nil, err
			}
		}
		out = append(out, g)
	}
	return out, nil
}

// Claimed is an account as one who acts with the roles of claims in place of those of its latest sign-in.
func Claimed(ctx context.Context, r Repos, a Account, claims []tenants.Grant) (Principal, error) {
	grants, err := Existing(ctx, r, claims)
	if err != nil {
		return Principal{}, err
	}
	a.Memberships = slices.DeleteFunc(slices.Clone(a.Memberships), func(m Membership) bool { return m.Source == SourceOIDC })
	for _, g := range grants {
		a.Memberships = append(a.Memberships, Membership{Grant: g, Source: SourceOIDC})
	}
	p := a.Principal()
	p.Claims = claims
	return p, nil
}
