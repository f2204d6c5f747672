package policy_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fairlane/internal/quantity"
	"fairlane/policy"
	"fairlane/policy/plantest"
	"fairlane/subnet/ident"
	"fairlane/subnet/topogen"
	"fairlane/tenants"
)

// square is three tenants on six hosts and two usable SLs. Every two of them meet on another pair of hosts, so with one SL each they need
// three. But no flow joins a tenant's two pairs, and with an SL for each pair two suffice.
func square(t *testing.T) policy.Input {
	t.Helper()
	in := attached(t, 3, func(i int) []int {
		return [][]int{{0, 1, 2, 3}, {0, 1, 4, 5}, {2, 3, 4, 5}}[i]
	})
	h := plantest.Hosts(in.Fabric)
	pair := func(tn, a int) tenants.Flow {
		return tenants.Flow{Tenant: in.Tenants[tn].Name, Src: h[a], Dst: h[a+1], QPs: 1}
	}
	in.Flows = []tenants.Flow{pair(0, 0), pair(0, 2), pair(1, 0), pair(1, 4), pair(2, 2), pair(2, 4)}
	for sl := ident.SL(2); sl < ident.NumSLs; sl++ {
		in.Options.ReservedSLs = append(in.Options.ReservedSLs, sl)
	}
	return in
}

func TestTenantIsSplitOnlyIfOneSLDoesNotFit(t *testing.T) {
	t.Parallel()
	in := square(t)
	p := compile(t, in)
	if has(p, policy.CodeSLExhausted) {
		t.Fatalf("findings %+v", p.Findings)
	}
	split := 0
	for _, sls := range slsOf(p) {
		if len(sls) > 1 {
			split++
		}
	}
	if split != 1 {
		t.Errorf("SLs %v, want exactly one tenant with two", slsOf(p))
	}
	i := slices.IndexFunc(p.Findings, func(f policy.Finding) bool { return f.Code == policy.CodeSLSplit })
	if i < 0 || len(slsOf(p)[p.Findings[i].Tenants[0]]) != 2 || !strings.Contains(p.Findings[i].Fix, "pkey and source") {
		t.Errorf("findings %+v, want one that names the tenant and what the subnet manager needs", p.Findings)
	}
	for _, f := range in.Flows {
		a, _ := p.SL(f.Tenant, f.Src)
		if b, _ := p.SL(f.Tenant, f.Dst); a != b {
			t.Errorf("tenant %s sends on SL %d to a port where it has SL %d", f.Tenant, a, b)
		}
	}
	in.Options.ReservedSLs = in.Options.ReservedSLs[1:] // follow the advice: free an SL
	if p = compile(t, in); has(p, policy.CodeSLSplit) || len(slsOf(p)) != 3 {
		t.Errorf("with three SLs: %v", slsOf(p))
	}
}

func TestASplitInForceStays(t *testing.T) {
	t.Parallel()
	in := square(t)
	old := compile(t, in)
	in.InForce = old
	if p := compile(t, in); p.Name != old.Name {
		t.Errorf("placements %+v became %+v", old.Placements, p.Placements)
	}
}

func TestOneTenantPerPartRemovesTheSplit(t *testing.T) {
	t.Parallel()
	in := square(t)
	p := compile(t, in)
	var name string
	for n, sls := range slsOf(p) {
		if len(sls) > 1 {
			name = n
		}
	}
	i := slices.IndexFunc(in.Tenants, func(tn tenants.Tenant) bool { return tn.Name == name })
	a, b := in.Tenants[i], in.Tenants[i]
	a.Attachments, b.Attachments = a.Attachments[:2], b.Attachments[2:]
	b.Name = "part-two"
	in.Tenants[i] = a
	in.Tenants = append(in.Tenants, b)
	for k := range in.Flows {
		f := &in.Flows[k]
		if f.Tenant == name && slices.ContainsFunc(b.Attachments, func(x tenants.Attachment) bool { return x.Port == f.Src }) {
			f.Tenant = b.Name
		}
	}
	if p = compile(t, in); has(p, policy.CodeSLSplit) || has(p, policy.CodeSLExhausted) {
		t.Errorf("findings %+v", p.Findings)
	}
}

func TestBothEndsOfAFlowHaveOneSL(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := plantest.Input(t)
		for sl := rapid.IntRange(1, 4).Draw(t, "levels"); sl < ident.NumSLs; sl++ {
			in.Options.ReservedSLs = append(in.Options.ReservedSLs, ident.SL(sl))
		}
		p := compile(t, in)
		for _, f := range in.Flows {
			a, _ := p.SL(f.Tenant, f.Src)
			if b, _ := p.SL(f.Tenant, f.Dst); a != b {
				t.Fatalf("tenant %s has SL %d on %s and %d on %s, between which it sends", f.Tenant, a, f.Src, b, f.Dst)
			}
			if slices.Contains(in.Options.ReservedSLs, a) {
				t.Fatalf("tenant %s has SL %d, which is reserved", f.Tenant, a)
			}
		}
	})
}

func TestExhaustionNamesTheLowerBoundAndThePredictedShares(t *testing.T) {
	t.Parallel()
	in := attached(t, 4, func(int) []int { return []int{0, 1} })
	h := plantest.Hosts(in.Fabric)
	for i := range in.Tenants {
		in.Tenants[i].Weight = []quantity.Weight{1000, 1000, 1000, 5000}[i]
		in.Flows = append(in.Flows, tenants.Flow{Tenant: in.Tenants[i].Name, Src: h[0], Dst: h[1], QPs: 1})
	}
	for sl := ident.SL(3); sl < ident.NumSLs; sl++ {
		in.Options.ReservedSLs = append(in.Options.ReservedSLs, sl)
	}
	p := compile(t, in)
	i := slices.IndexFunc(p.Findings, func(f policy.Finding) bool { return f.Code == policy.CodeSLExhausted })
	if i < 0 {
		t.Fatalf("findings %+v", p.Findings)
	}
	f := p.Findings[i]
	for _, want := range []string{"4 tenants send or may send from port", "at least 4 SLs are needed, 3 are usable", "predicted in total: " + f.Tenants[0] + ": ", "instead of"} {
		if !strings.Contains(f.Message, want) {
			t.Errorf("the message lacks %q:\n%s", want, f.Message)
		}
	}
}

func TestManySetsOfTenantsThatShareAreSummedUp(t *testing.T) {
	t.Parallel()
	// Twenty-two tenants, every two of which meet on a port of their own, with two SLs: hundreds of pairs share.
	n := 22
	f, err := topogen.Star(n*(n-1)/2, topogen.Wire{Rate: 100 * quantity.Gbps})
	if err != nil {
		t.Fatal(err)
	}
	in := policy.Input{Fabric: f}
	for i := range n {
		in.Tenants = append(in.Tenants, tenants.Tenant{Name: fmt.Sprintf("t%02d", i), Weight: 1000})
	}
	next := 0
	for i := range n {
		for j := range i {
			for _, k := range []int{i, j} {
				in.Tenants[k].Attachments = append(in.Tenants[k].Attachments, tenants.Attachment{Port: plantest.Hosts(f)[next]})
			}
			next++
		}
	}
	for sl := ident.SL(2); sl < ident.NumSLs; sl++ {
		in.Options.ReservedSLs = append(in.Options.ReservedSLs, sl)
	}
	p := compile(t, in)
	found, last := 0, ""
	for _, f := range p.Findings {
		if f.Code == policy.CodeSLExhausted {
			if found++; len(f.Tenants) == 0 {
				last = f.Message
			}
		}
	}
	// Two halves of eleven are optimal: 2 · 11·10/2 pairs share, of which 64 are reported individually.
	if found != 65 || !strings.Contains(last, "46 more sets") || !strings.Contains(last, "22 tenants send or may send, pair by pair") {
		t.Errorf("%d findings, the last %q; want 64 and one for the other 46", found, last)
	}
}
