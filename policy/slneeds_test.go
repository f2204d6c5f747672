package policy_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"fairlane/internal/quantity"
	"fairlane/policy"
	"fairlane/policy/plantest"
	"fairlane/subnet/ident"
	"fairlane/subnet/topogen"
	"fairlane/tenants"
)

// pairs is n tenants on a star, each with flows between up to so many pairs of hosts of its own choice.
func pairs(t *testing.T, r *rand.Rand, hosts, n, levels, most int) policy.Input {
	t.Helper()
	f, err := topogen.Star(hosts, topogen.Wire{Rate: 100 * quantity.Gbps})
	if err != nil {
		t.Fatal(err)
	}
	in := policy.Input{Fabric: f}
	for sl := levels; sl < ident.NumSLs; sl++ {
		in.Options.ReservedSLs = append(in.Options.ReservedSLs, ident.SL(sl))
	}
	for i := range n {
		addPairs(r, &in, fmt.Sprintf("t%02d", i), most)
	}
	return in
}

func addPairs(r *rand.Rand, in *policy.Input, name string, most int) {
	tn := tenants.Tenant{Name: name, Weight: 1000}
	h := plantest.Hosts(in.Fabric)
	at := r.Perm(len(h))
	for p := range 1 + r.IntN(most) {
		a, b := h[at[2*p]], h[at[2*p+1]]
		tn.Attachments = append(tn.Attachments, tenants.Attachment{Port: a}, tenants.Attachment{Port: b})
		in.Flows = append(in.Flows, tenants.Flow{Tenant: name, Src: a, Dst: b, QPs: 1}, tenants.Flow{Tenant: name, Src: b, Dst: a, QPs: 1})
	}
	slices.SortFunc(tn.Attachments, func(a, b tenants.Attachment) int { return a.Port.Compare(b.Port) })
	in.Tenants = append(in.Tenants, tn)
}

// afterwards is the problem after a plan: the first tenant has been removed, and others were added.
func afterwards(t *testing.T, seed uint64, hosts, n, levels, more int) policy.Input {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 9))
	in := pairs(t, r, hosts, n, levels, 2)
	in.InForce = compile(t, in)
	in.Flows = slices.DeleteFunc(in.Flows, func(f tenants.Flow) bool { return f.Tenant == in.Tenants[0].Name })
	in.Tenants = in.Tenants[1:]
	for k := range more {
		addPairs(r, &in, fmt.Sprintf("n%d", k), 2)
	}
	return in
}

// Two passes of the search, the first without SL 0, leave it free where one pass would assign it to new tenants.
func TestTenantsThatComeLeaveSLZeroFreeWhereTheyCan(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		seed                         uint64
		hosts, tenants, levels, more int
	}{{77, 8, 3, 4, 3}, {83, 8, 3, 5, 5}, {7, 10, 5, 5, 5}} {
		t.Run(fmt.Sprintf("seed %d", c.seed), func(t *testing.T) {
			t.Parallel()
			in := afterwards(t, c.seed, c.hosts, c.tenants, c.levels, c.more)
			p := compile(t, in)
			if slices.ContainsFunc(p.Placements, func(x policy.Placement) bool { return x.SL == 0 }) || movesBetween(in.InForce, p) > 0 {
				t.Errorf("placements %+v, want no SL 0 and none that moves", p.Placements)
			}
		})
	}
}

// Parts of a tenant prefer the SL of the whole tenant, and get one SL again if it is free for all of them.
func TestFewTenantsAreSplit(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		seed                          uint64
		hosts, tenants, levels, split int
	}{
		"parts stay on the tenant's SL":          {1, 8, 6, 2, 1},
		"parts are merged":                       {29, 12, 4, 2, 1},
		"parts of one of ten tenants are merged": {26, 10, 10, 5, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := compile(t, pairs(t, rand.New(rand.NewPCG(c.seed, 9)), c.hosts, c.tenants, c.levels, 3))
			split := 0
			for _, sls := range slsOf(p) {
				if len(sls) > 1 {
					split++
				}
			}
			if split > c.split {
				t.Errorf("%d tenants are split, want %d: %v", split, c.split, slsOf(p))
			}
		})
	}
}
