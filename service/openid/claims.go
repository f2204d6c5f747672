package openid

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/coreos/go-oidc/v3/oidc"

	"fairlane/service/control/identity"
	"fairlane/tenants"
)

// Mapping lists the grants for each value of the roles claim.
type Mapping map[string][]tenants.Grant

// ParseMapping parses lines "VALUE=ROLE@DOMAIN"; a value may have several lines.
func ParseMapping(lines []string) (Mapping, error) {
	m := Mapping{}
	for _, line := range lines {
		value, text, ok := strings.Cut(line, "=")
		value = strings.TrimSpace(value)
		if !ok || value == "" {
			return nil, fmt.Errorf("role %q: want VALUE=ROLE@DOMAIN, such as fabric-admins=fabric-admin@* or red=tenant-admin@lab/red", line)
		}
		g, err := tenants.ParseGrant(strings.TrimSpace(text))
		if err != nil {
			return nil, fmt.Errorf("role %q: %w", line, err)
		}
		m[value] = append(m[value], g)
	}
	return m, nil
}

// identity maps claims to the service's user name and grants.
func (p *Provider) identity(id *oidc.IDToken, claims map[string]any) (identity.Identity, error) {
	name, _ := lookup(claims, p.o.NameClaim).(string)
	if name == "" {
		return identity.Identity{}, fmt.Errorf("the claim %q is missing: it names the user", p.o.NameClaim)
	}
	// An email address is a valid name except for its @. Users whose names then coincide are distinguished by their
	// subject.
	out := identity.Identity{Issuer: id.Issuer, Subject: id.Subject, Name: strings.ReplaceAll(strings.ToLower(name), "@", "."), ExpiresAt: id.Expiry}
	if id.Subject == "" {
		return identity.Identity{}, errors.New("the token has no subject")
	}
	if display, ok := claims["name"].(string); ok && len(display) <= 200 {
		out.DisplayName = display
	}
	for _, value := range texts(lookup(claims, p.o.RolesClaim)) {
		out.Grants = append(out.Grants, p.o.Roles[value]...)
	}
	slices.SortFunc(out.Grants, tenants.CompareGrants)
	out.Grants = widest(slices.Compact(out.Grants))
	return out, nil
}

// widest keeps one role in each domain: the first in the order of tenants.Roles.
func widest(grants []tenants.Grant) []tenants.Grant {
	rank := func(g tenants.Grant) int { return slices.Index(tenants.Roles(), g.Role) }
	var out []tenants.Grant
	for _, g := range grants {
		i := slices.IndexFunc(out, func(o tenants.Grant) bool { return o.Domain == g.Domain })
		switch {
		case i < 0:
			out = append(out, g)
		case rank(g) < rank(out[i]):
			out[i] = g
		}
	}
	return out
}

// lookup returns a claim. The path joins nested names by dots, such as "realm_access.roles".
func lookup(claims map[string]any, path string) any {
	if v, ok := claims[path]; ok {
		return v
	}
	head, rest, more := strings.Cut(path, ".")
	if !more {
		return nil
	}
	inner, _ := claims[head].(map[string]any)
	return lookup(inner, rest)
}

// texts reads a claim that is a string or a list of strings; it omits other entries.
func texts(v any) []string {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		var out []string
		for _, e := range v {
			if s, ok := e.(string); ok {
				out = append(out, s)
			}
		}
		return out
	}
	return nil
}
