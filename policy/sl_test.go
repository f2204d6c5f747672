package policy_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"fairlane/internal/quantity"
	"fairlane/policy"
	"fairlane/policy/plantest"
	"fairlane/subnet/ident"
	"fairlane/subnet/topogen"
	"fairlane/tenants"
)

// attached is n tenants of weight one, tenant i attached to the hosts that on(i) lists.
func attached(t *testing.T, n int, on func(i int) []int) policy.Input {
	t.Helper()
	f, err := topogen.Star(40, topogen.Wire{Rate: 100 * quantity.Gbps})
	if err != nil {
		t.Fatal(err)
	}
	h := plantest.Hosts(f)
	in := policy.Input{Fabric: f}
	for i := range n {
		tn := tenants.Tenant{Name: fmt.Sprintf("t%02d", i), Weight: 1000}
		for _, k := range on(i) {
			tn.Attachments = append(tn.Attachments, tenants.Attachment{Port: h[k]})
		}
		in.Tenants = append(in.Tenants, tn)
	}
	return in
}

func slsOf(p *policy.Plan) map[string][]ident.SL {
	out := map[string][]ident.SL{}
	for _, pl := range p.Placements {
		if !slices.Contains(out[pl.Tenant], pl.SL) {
			out[pl.Tenant] = append(out[pl.Tenant], pl.SL)
		}
	}
	return out
}

func has(p *policy.Plan, code string) bool {
	return slices.ContainsFunc(p.Findings, func(f policy.Finding) bool { return f.Code == code })
}

func TestTenantsThatNeverMeetStillGetDifferentSLsWhenThereAreEnough(t *testing.T) {
	t.Parallel()
	p := compile(t, attached(t, 14, func(i int) []int { return []int{i} }))
	seen := map[ident.SL]bool{}
	for name, sls := range slsOf(p) {
		if len(sls) != 1 || seen[sls[0]] || sls[0] == 0 || sls[0] == 15 {
			t.Errorf("tenant %s has SLs %v, want one of its own from 1 to 14", name, sls)
		}
		seen[sls[0]] = true
	}
}

func TestTwentyTenantsInAChainNeedOnlyTwoSLsAndLeaveZeroFree(t *testing.T) {
	t.Parallel()
	in := attached(t, 20, func(i int) []int { return []int{i, i + 1} })
	for sl := 3; sl < 16; sl++ {
		in.Options.ReservedSLs = append(in.Options.ReservedSLs, ident.SL(sl))
	}
	p := compile(t, in)
	if has(p, policy.CodeSLExhausted) {
		t.Errorf("findings %+v", p.Findings)
	}
	for name, sls := range slsOf(p) {
		if len(sls) != 1 || sls[0] != 1 && sls[0] != 2 {
			t.Errorf("tenant %s has SLs %v, want 1 or 2", name, sls)
		}
	}
}

func TestFifteenTenantsUseSLZeroAndSixteenShareOneWithAFinding(t *testing.T) {
	t.Parallel()
	all := func(int) []int { return []int{0} }
	p := compile(t, attached(t, 15, all))
	if has(p, policy.CodeSLExhausted) || len(slsOf(p)) != 15 {
		t.Errorf("fifteen: findings %+v", p.Findings)
	}
	p = compile(t, attached(t, 16, all))
	if !has(p, policy.CodeSLExhausted) {
		t.Error("sixteen tenants on fifteen SLs without a finding")
	}
}

func TestAPinnedSLIsKeptAndExclusiveOnThePort(t *testing.T) {
	t.Parallel()
	in := attached(t, 3, func(int) []int { return []int{0, 1} })
	pin := ident.SL(1)
	in.Tenants[2].Attachments[0].SL = &pin
	p := compile(t, in)
	sls := slsOf(p)
	if !slices.Equal(sls["t02"], []ident.SL{1}) {
		t.Errorf("pinned tenant has SLs %v, want 1 on both ports", sls["t02"])
	}
	if slices.Contains(sls["t00"], 1) || slices.Contains(sls["t01"], 1) || has(p, policy.CodeSLExhausted) {
		t.Errorf("SLs %v, findings %+v", sls, p.Findings)
	}
}

func TestTwoTenantsPinnedToOneSLOnAPortAreAFinding(t *testing.T) {
	t.Parallel()
	in := attached(t, 2, func(int) []int { return []int{0} })
	pin := ident.SL(4)
	in.Tenants[0].Attachments[0].SL, in.Tenants[1].Attachments[0].SL = &pin, &pin
	if p := compile(t, in); !has(p, policy.CodeSLExhausted) {
		t.Errorf("findings %+v", p.Findings)
	}
}

func TestServiceLevel15IsPinnedOnlyWithExplicitReservations(t *testing.T) {
	t.Parallel()
	in := attached(t, 1, func(int) []int { return []int{0, 1} })
	in.Tenants[0].Attachments[0].SL = level(15)
	if _, err := policy.Compile(in); !errors.Is(err, policy.ErrInput) || !strings.Contains(err.Error(), "SL 15 is reserved") {
		t.Errorf("error is %v, want that SL 15 is reserved", err)
	}
	for _, reserved := range [][]ident.SL{{}, {15}} {
		in.Options.ReservedSLs = reserved
		if p := plantest.Compiled(t, in); p.Placements[0].SL != 15 {
			t.Errorf("SL %d where %v are reserved, want the 15 that is pinned", p.Placements[0].SL, reserved)
		}
	}
}
