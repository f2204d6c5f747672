package policy_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"fairlane/policy"
	"fairlane/policy/plantest"
	"fairlane/subnet/ident"
	"fairlane/subnet/topogen"
	"fairlane/tenants"
)

// crowd draws tenants on the ports of a star of six hosts, and reserves service levels so that few are left.
func crowd(t *rapid.T) policy.Input {
	f, err := topogen.Star(6, topogen.Wire{Rate: 100_000_000_000})
	if err != nil {
		t.Fatalf("build fabric: %v", err)
	}
	in := policy.Input{Fabric: f}
	for sl := rapid.IntRange(3, 6).Draw(t, "levels"); sl < ident.NumSLs; sl++ {
		in.Options.ReservedSLs = append(in.Options.ReservedSLs, ident.SL(sl))
	}
	for i := range rapid.IntRange(1, 6).Draw(t, "tenants") {
		in.Tenants = append(in.Tenants, member(t, fmt.Sprintf("t%d", i), plantest.Hosts(f)))
	}
	return in
}

func member(t *rapid.T, name string, hosts []ident.PortID) tenants.Tenant {
	tn := tenants.Tenant{Name: name, Weight: 1000}
	for _, h := range rapid.SliceOfNDistinct(rapid.SampledFrom(hosts), 1, 3, rapid.ID).Draw(t, name) {
		tn.Attachments = append(tn.Attachments, tenants.Attachment{Port: h})
	}
	slices.SortFunc(tn.Attachments, func(a, b tenants.Attachment) int { return a.Port.Compare(b.Port) })
	return tn
}

// fewestMoves tries every choice of one service level for each tenant and returns the least number of placements of the old plan that must
// change; -1 when every choice gives tenants that meet the same level.
func fewestMoves(in policy.Input, old *policy.Plan) int {
	var levels []ident.SL
	for sl := range ident.SL(ident.NumSLs) {
		if !slices.Contains(in.Options.ReservedSLs, sl) {
			levels = append(levels, sl)
		}
	}
	best := -1
	chosen := make([]ident.SL, len(in.Tenants))
	var try func(i, moves int)
	try = func(i, moves int) {
		if best >= 0 && moves >= best {
			return
		}
		if i == len(in.Tenants) {
			best = moves
			return
		}
	levels:
		for _, sl := range levels {
			m := moves
			for _, a := range in.Tenants[i].Attachments {
				for j := range i {
					if chosen[j] == sl && slices.ContainsFunc(in.Tenants[j].Attachments, func(b tenants.Attachment) bool { return b.Port == a.Port }) {
						continue levels
					}
				}
				if was, ok := old.SL(in.Tenants[i].Name, a.Port); ok && was != sl {
					m++
				}
			}
			chosen[i] = sl
			try(i+1, m)
		}
	}
	try(0, 0)
	return best
}

func movesBetween(old, next *policy.Plan) int {
	moves := 0
	for _, p := range old.Placements {
		if sl, ok := next.SL(p.Tenant, p.Port); ok && sl != p.SL {
			moves++
		}
	}
	return moves
}

func TestWithAPlanInForceOnlyThosePlacementsMoveThatMust(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := crowd(t)
		old := compile(t, in)
		next := in
		next.InForce = old
		next.Tenants = append(slices.Clone(in.Tenants), member(t, rapid.SampledFrom([]string{"a-new", "z-new"}).Draw(t, "name"), plantest.Hosts(in.Fabric)))
		if rapid.Bool().Draw(t, "one leaves") {
			next.Tenants = next.Tenants[1:]
		}
		want := fewestMoves(next, old)
		p := compile(t, next)
		if want < 0 {
			if !has(p, policy.CodeSLExhausted) {
				t.Fatalf("no choice keeps the tenants apart, and no finding reports it: %+v", p.Placements)
			}
			return
		}
		if got := movesBetween(old, p); got != want || has(p, policy.CodeSLExhausted) {
			t.Fatalf("%d placements moved, %d had to; findings %+v", got, want, p.Findings)
		}
	})
}

func TestCompilingAgainWithTheOwnPlanInForceChangesNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := plantest.Input(t)
		in.Options.VLArbitration = rapid.Bool().Draw(t, "lanes")
		old := compile(t, in)
		in.InForce = old
		if p := compile(t, in); p.Name != old.Name {
			t.Fatalf("placements %+v became %+v, lanes %+v became %+v", old.Placements, p.Placements, old.Lanes, p.Lanes)
		}
	})
}

func TestARenamedTenantKeepsTheSLOfItsPartition(t *testing.T) {
	t.Parallel()
	in := attached(t, 3, func(int) []int { return []int{0, 1} })
	for i := range in.Tenants {
		in.Tenants[i].PKey = ident.PKey(0x8001 + i)
	}
	old := compile(t, in)
	was := slsOf(old)["t02"]
	next := in
	next.InForce = old
	next.Tenants = slices.Clone(in.Tenants)
	next.Tenants[2].Name = "a-first"
	if got := slsOf(compile(t, next))["a-first"]; !slices.Equal(got, was) {
		t.Errorf("the partition had SL %v and gets %v", was, got)
	}
}

func TestAPlanInForceOfUnknownTenantsIsIgnored(t *testing.T) {
	t.Parallel()
	in := attached(t, 4, func(int) []int { return []int{0} })
	want := compile(t, in).Placements
	in.InForce = &policy.Plan{Placements: []policy.Placement{{Tenant: "x", SL: 200}}}
	if got := compile(t, in).Placements; !slices.Equal(got, want) {
		t.Errorf("placements %+v, want %+v", got, want)
	}
}
