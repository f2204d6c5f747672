package policy_test

import (
	"math"
	"slices"
	"testing"

	"fairlane/internal/quantity"
	"fairlane/policy"
	"fairlane/policy/plantest"
	"fairlane/subnet/topogen"
	"fairlane/tenants"
)

func TestBoundGrowsWithTheCausesOfUncertainty(t *testing.T) {
	t.Parallel()
	in := incast(t) // 1, 4 and 16 queue pairs of three tenants onto one host, each from hosts of its own
	p := plantest.Compiled(t, in)
	of := func(p *policy.Plan, name string) float64 {
		return p.Tenants[slices.IndexFunc(p.Tenants, func(s policy.TenantShare) bool { return s.Tenant == name })].Bound
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

// TestBoundIncludesFullLinksAndMarkErrors has two full links in a row and a single one. Flows that end elsewhere cross the first of the
// two; the queue of the second may block them there, and they get the rest of it.
func TestBoundIncludesFullLinksAndMarkErrors(t *testing.T) {
	t.Parallel()
	f, err := topogen.Dumbbell(topogen.DumbbellOptions{Left: 8, Right: 3, Wire: topogen.Wire{Rate: 100 * quantity.Gbps}, CoreRate: 200 * quantity.Gbps})
	if err != nil {
		t.Fatal(err)
	}
	h := plantest.Hosts(f)
	left, right := h[:8], h[8:]
	in := policy.Input{Fabric: f}
	for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
		in.Tenants = append(in.Tenants, tenants.Tenant{Name: name, Weight: 1000})
	}
	in.Flows = []tenants.Flow{
		{Tenant: "a", Src: left[0], Dst: right[0], QPs: 8},
		{Tenant: "b", Src: left[1], Dst: right[0], QPs: 2},
		{Tenant: "c", Src: left[2], Dst: right[1], QPs: 2},
		{Tenant: "c", Src: left[3], Dst: right[1], QPs: 2},
		{Tenant: "d", Src: left[4], Dst: right[2], QPs: 8},
		{Tenant: "e", Src: left[5], Dst: left[7], QPs: 8},
		{Tenant: "f", Src: left[6], Dst: left[7], QPs: 2},
	}
	for mode, want := range map[policy.PerQPMode]map[string]float64{
		policy.PerQPOff: {"a": 0.075, "b": 0.075, "c": 0.14, "d": 0.145, "e": 0.025, "f": 0.025},
		policy.PerQPOn:  {"a": 0.07, "b": 0.07, "c": 0.14, "d": 0.14, "e": 0.02, "f": 0.02},
	} {
		in.Options.PerQP = mode
		for _, s := range plantest.Compiled(t, in).Tenants {
			if math.Abs(s.Bound-want[s.Tenant]) > 1e-9 {
				t.Errorf("mode %s: bound %g of tenant %s, want %g", mode, s.Bound, s.Tenant, want[s.Tenant])
			}
		}
	}
}

// A link at 99 % of its capacity limits no flow but marks now and then. The marks slow the flows that cross it, and other flows gain what
// these lose. Flows that cross it and go elsewhere may be blocked.
func TestTheBoundCountsFullLinksThatLimitNoFlow(t *testing.T) {
	t.Parallel()
	f, err := topogen.Dumbbell(topogen.DumbbellOptions{Left: 3, Right: 3, Wire: topogen.Wire{Rate: 100 * quantity.Gbps}, CoreRate: 200 * quantity.Gbps})
	if err != nil {
		t.Fatal(err)
	}
	h := plantest.Hosts(f)
	for demand, want := range map[quantity.BitRate]map[string]float64{
		80 * quantity.Gbps: {"across": 0.02, "other": 0.02, "local": 0.021792, "filler": 0.08}, // local: random marks
		98 * quantity.Gbps: {"across": 0.142401, "other": 0.142401, "local": 0.439826, "filler": 0.19},
	} {
		p := plantest.Compiled(t, policy.Input{
			Fabric: f, Options: policy.Options{PerQP: policy.PerQPOn},
			Tenants: []tenants.Tenant{{Name: "across", Weight: 1000}, {Name: "filler", Weight: 1000}, {Name: "local", Weight: 80}, {Name: "other", Weight: 1000}},
			Flows: []tenants.Flow{
				{Tenant: "across", Src: h[0], Dst: h[3], QPs: 8}, {Tenant: "other", Src: h[1], Dst: h[3], QPs: 8}, {Tenant: "local", Src: h[5], Dst: h[3], QPs: 8},
				{Tenant: "filler", Src: h[2], Dst: h[4], QPs: 8, Demand: demand},
			},
		})
		for _, s := range p.Tenants {
			if w := want[s.Tenant]; math.Abs(s.Bound-w) > 1e-6 {
				t.Errorf("beside %s: bound %g of tenant %s, want %g", demand, s.Bound, s.Tenant, w)
			}
		}
	}
}
