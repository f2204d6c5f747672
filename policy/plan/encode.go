package plan

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"fairlane/subnet/ident"
)

// Encode returns the plan as JSON: no spaces, fields in the order of the types, one trailing newline. The same plan has the same bytes on
// every machine.
func (p *Plan) Encode() ([]byte, error) {
	b, err := json.Marshal(p)
	if err != nil {
		return nil, fmt.Errorf("encode plan: %w", err)
	}
	return append(b, '\n'), nil
}

// Decode reads a plan that Encode wrote. It fails when the plan's name does not match its contents.
func Decode(b []byte) (*Plan, error) {
	var p Plan
	if err := json.Unmarshal(b, &p); err != nil {
		return nil, fmt.Errorf("decode plan: %w", err)
	}
	if p.Format < 0 || p.Format > PlanFormat {
		return nil, fmt.Errorf("decode plan: format %d: want at most %d; a later version made it", p.Format, PlanFormat)
	}
	if name := p.Hash(); name != p.Name {
		return nil, fmt.Errorf("decode plan: its name is %q, but its contents have the name %s", p.Name, name)
	}
	if p.Format < PlanFormat { // format 1 has no sentence ids
		for i := range p.Findings {
			p.Findings[i].Statement, p.Findings[i].Advice = nil, nil
		}
	}
	return &p, nil
}

// SL returns the service level of a tenant's traffic on a port; false when the plan does not place the tenant there.
func (p *Plan) SL(tenant string, port ident.PortID) (ident.SL, bool) {
	i, ok := slices.BinarySearchFunc(p.Placements, Placement{Tenant: tenant, Port: port}, func(a, b Placement) int {
		if c := strings.Compare(a.Tenant, b.Tenant); c != 0 {
			return c
		}
		return a.Port.Compare(b.Port)
	})
	if !ok {
		return 0, false
	}
	return p.Placements[i].SL, true
}

// Share returns a tenant's share of the plan, or nil.
func (p *Plan) Share(tenant string) *TenantShare {
	for i := range p.Tenants {
		if p.Tenants[i].Tenant == tenant {
			return &p.Tenants[i]
		}
	}
	return nil
}
