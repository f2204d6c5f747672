package policy_test

import (
	"math"
	"slices"
	"testing"

	"fairlane/policy"
	"fairlane/policy/plantest"
)

func TestTheBoundGrowsWithWhatMakesAPredictionDoubtful(t *testing.T) {
	t.Parallel()
	in := incast(t) // 1, 4 and 16 queue pairs of three tenants onto one host, each from hosts of its own
	p := plantest.Compiled(t, in)
	of := func(p *policy.Plan, name string) float64 {
		return p.Tenants[slices.IndexFunc(p.Tenants, func(s policy.TenantShare) bool { return s.Tenant == name })].Bound
	}
	if few, many := of(p, "red"), of(p, "blue"); math.Abs(few-many-0.025) > 1e-9 {
		t.Errorf("bound %g with one queue pair, %g with sixteen, want 0.025 more", few, many)
	}
	for _, l := range p.Links {
		for _, lt := range l.Tenants {
			if lt.Bound != of(p, lt.Tenant) {
				t.Errorf("link %s: bound %g of %s, want the tenant's %g", l.Name, lt.Bound, lt.Tenant, of(p, lt.Tenant))
			}
		}
	}
	together := in
	together.Flows = slices.Clone(in.Flows)
	for i := range together.Flows {
		together.Flows[i].Src = in.Flows[0].Src
	}
	for i := range in.Tenants {
		in.Tenants[i].Attachments = nil
	}
	q := plantest.Compiled(t, together)
	if got := of(q, "blue"); got < 0.2 {
		t.Errorf("bound %g where all tenants send from one port, want 0.2 and more", got)
	}
}
