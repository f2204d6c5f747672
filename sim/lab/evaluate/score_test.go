package evaluate

import (
	"math"
	"slices"
	"strings"
	"testing"

	"fairlane/policy"
	"fairlane/policy/plantest"
)

func result(plane policy.Plane, ratio, use, before float64, errors ...float64) *Result {
	r := &Result{Plane: plane, Ratio: ratio, Use: use, UseBefore: before}
	for _, e := range errors {
		r.Tenants = append(r.Tenants, TenantResult{Tenant: "t", Contended: true, Error: e, Entitle: 2 * e, Bound: 0.05})
	}
	return r
}

// The expected scores were calculated by hand.
func TestScores(t *testing.T) {
	t.Parallel()
	beside := &Result{Plane: policy.PlaneIB, Ratio: 1, Tenants: []TenantResult{{Tenant: "idle", Error: 0.9}}}
	failed := &Result{Plane: policy.PlaneIB, Failed: "no route"}
	results := []*Result{
		result(policy.PlaneIB, 9, 0.98, 1, 0.01, 0.02, 0.03), result(policy.PlaneIB, 2, 0.9, 0.9, 0.04, 0.08), beside, failed,
		result(policy.PlaneRoCE, 2, 1, 1, 0.01), result(policy.PlaneRoCE, 5, 1, 1, 0.5),
	}
	ib := ScoreOf(policy.PlaneIB, results)
	want := Score{Cases: 3, Tenants: 5, ShareErrorP50: 0.03, ShareErrorP95: 0.08, ShareErrorMax: 0.08, EntitledP50: 0.06, EntitledP95: 0.16, EntitledMax: 0.16,
		BoundCoverage: 0.8, BoundP50: 0.05, Unannounced: 3, Utilisation: 0.99, UtilisationMin: 0.98}
	if ib.Score != want || ib.Failed != 1 {
		t.Errorf("got %+v, want %+v", ib, want)
	}
	if len(ib.Worst) != 5 || ib.Worst[0].Error != 0.08 || ib.Worst[4].Error != 0.01 {
		t.Errorf("worst: %+v", ib.Worst)
	}
	roce := ScoreOf(policy.PlaneRoCE, results)
	if roce.Within.ShareErrorP95 != 0.01 || roce.Beyond.ShareErrorP95 != 0.5 || roce.Beyond.EntitledP95 != 1 || roce.BoundCoverage != 0.5 || roce.Tenants != 2 {
		t.Errorf("RoCE: %+v, within %+v, beyond %+v: want the scores of all cases, and by ratio", roce.Score, roce.Within, roce.Beyond)
	}
	if ib.Within.EntitledP95 != 0.16 || ib.Beyond.EntitledP95 != 0.06 || ib.Beyond.Tenants != 3 {
		t.Errorf("InfiniBand: within %+v, beyond %+v: want errors by ratio on each plane", ib.Within, ib.Beyond)
	}
	if none := ScoreOf(policy.PlaneWRCC, results); none.Score != (Score{}) || none.Missed(policy.PlaneWRCC) != nil {
		t.Errorf("score without results: %+v", none)
	}
}

// A tenant beyond the limit counts, unless a finding about rates names it and its bound holds.
func TestUnannouncedMissesAreCounted(t *testing.T) {
	t.Parallel()
	source, slow := policy.CodeSourcePort, policy.CodeSlowConvergence
	for name, c := range map[string]struct {
		plane policy.Plane
		of    TenantResult
		want  int
	}{
		"within the limit":                                    {policy.PlaneWRCC, TenantResult{Error: 0.05, Entitle: 0.05, Bound: 0.02}, 0},
		"rate off its prediction":                             {policy.PlaneWRCC, TenantResult{Error: 0.051, Bound: 0.02}, 1},
		"rate off its entitlement":                            {policy.PlaneIB, TenantResult{Entitle: 0.051, Bound: 0.02}, 1},
		"at RoCE's limit":                                     {policy.PlaneRoCE, TenantResult{Error: 0.1, Entitle: 0.1, Bound: 0.02}, 0},
		"beyond RoCE's limit":                                 {policy.PlaneRoCE, TenantResult{Error: 0.11, Bound: 0.02}, 1},
		"finding and valid bound":                             {policy.PlaneIB, TenantResult{Error: 0.06, Entitle: 0.3, Bound: 0.07, Findings: []string{slow, source}}, 0},
		"finding, error above the bound but within the limit": {policy.PlaneIB, TenantResult{Error: 0.04, Entitle: 0.3, Bound: 0.02, Findings: []string{source}}, 0},
		"finding that is not about rates":                     {policy.PlaneIB, TenantResult{Entitle: 0.3, Bound: 0.07, Findings: []string{slow}}, 1},
		"uncertain share":                                     {policy.PlaneIB, TenantResult{Error: 1.8, Bound: 1, Findings: []string{policy.CodeShareUncertain}}, 0},
		"finding, but error above the bound":                  {policy.PlaneIB, TenantResult{Error: 0.08, Entitle: 0.3, Bound: 0.07, Findings: []string{source}}, 1},
	} {
		c.of.Contended = true
		r := &Result{Plane: c.plane, Ratio: 1, Tenants: []TenantResult{c.of, {Error: 1}}}
		if s := ScoreOf(c.plane, []*Result{r}); s.Unannounced != c.want || s.Within.Unannounced != c.want || s.Beyond.Unannounced != 0 {
			t.Errorf("%s: %d, within 4:1 %d, beyond %d: want %d", name, s.Unannounced, s.Within.Unannounced, s.Beyond.Unannounced, c.want)
		}
	}
}

// A tenant with a rate beyond the limit counts for each finding that names it.
func TestCausesOfDistanceFromEntitlements(t *testing.T) {
	t.Parallel()
	named := func(entitle float64, codes ...string) TenantResult {
		return TenantResult{Contended: true, Entitle: entitle, Findings: codes}
	}
	results := []*Result{
		{Plane: policy.PlaneIB, Tenants: []TenantResult{named(0.2, "a", "b"), named(0.3, "b"), named(0.06), named(0.05, "c")}},
		{Plane: policy.PlaneRoCE, Tenants: []TenantResult{named(0.09, "a"), named(0.11, "a"), {Entitle: 0.9, Findings: []string{"a"}}}},
	}
	want := []Cause{{"b", 2, 0.3}, {"", 1, 0.06}, {"a", 1, 0.2}}
	if got := ScoreOf(policy.PlaneIB, results).Causes; !slices.Equal(got, want) {
		t.Errorf("InfiniBand: %+v, want %+v", got, want)
	}
	if got := ScoreOf(policy.PlaneRoCE, results).Causes; !slices.Equal(got, []Cause{{"a", 1, 0.11}}) {
		t.Errorf("RoCE: %+v, want only the tenant beyond 10 %%", got)
	}
}

// namedBy assigns the findings of a plan to the tenants that they name.
func TestFindingsAreOfTheTenantsTheyName(t *testing.T) {
	t.Parallel()
	got := namedBy([]policy.Finding{{Code: "b", Tenants: []string{"x", "y"}}, {Code: "a", Tenants: []string{"x"}}, {Code: "b", Tenants: []string{"x"}}, {Code: "c"}})
	if len(got) != 2 || !slices.Equal(got["x"], []string{"a", "b"}) || !slices.Equal(got["y"], []string{"b"}) {
		t.Errorf("got %v", got)
	}
}

func TestMissedBoundsAreNamed(t *testing.T) {
	t.Parallel()
	good := Score{Cases: 1, Tenants: 1, ShareErrorP95: 0.009, BoundCoverage: 0.96, Utilisation: 0.98}
	for name, c := range map[string]struct {
		plane  policy.Plane
		change func(*PlaneScore)
		want   string // part of the message; empty means that no bound is missed
	}{
		"no bound missed":                                   {policy.PlaneWRCC, func(*PlaneScore) {}, ""},
		"WRCC, share error above the bound":                 {policy.PlaneWRCC, func(s *PlaneScore) { s.ShareErrorP95 = 0.011 }, "share error 1.10 %"},
		"InfiniBand, share error at the bound":              {policy.PlaneIB, func(s *PlaneScore) { s.ShareErrorP95 = 0.05 }, ""},
		"InfiniBand, share error above the bound":           {policy.PlaneIB, func(s *PlaneScore) { s.ShareErrorP95 = 0.0501 }, "at most 5 %"},
		"RoCE, share error at the bound":                    {policy.PlaneRoCE, func(s *PlaneScore) { s.ShareErrorP95 = 0.1 }, ""},
		"RoCE, share error above the bound":                 {policy.PlaneRoCE, func(s *PlaneScore) { s.ShareErrorP95 = 0.2 }, "at most 10 %"},
		"RoCE, share error above the bound only beyond 4:1": {policy.PlaneRoCE, func(s *PlaneScore) { s.ShareErrorP95, s.Within = 0.2, &Score{ShareErrorP95: 0.1} }, ""},
		"link use":           {policy.PlaneIB, func(s *PlaneScore) { s.Utilisation = 0.969 }, "link use is 96.9 %"},
		"coverage of bounds": {policy.PlaneIB, func(s *PlaneScore) { s.BoundCoverage = 0.9 }, "bounds cover 90.0 %"},
		"failed cases":       {policy.PlaneIB, func(s *PlaneScore) { s.Failed = 2 }, "2 cases failed"},
		"no cases":           {policy.PlaneIB, func(s *PlaneScore) { s.Score = Score{} }, ""},
	} {
		s := PlaneScore{Score: good}
		c.change(&s)
		err := s.Missed(c.plane)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}

func TestRelativeDistance(t *testing.T) {
	t.Parallel()
	for _, c := range [][3]float64{{11, 10, 0.1}, {9, 10, 0.1}, {0, 0, 0}, {5, 0, 1}, {0, 5, 1}} {
		if got := off(c[0], c[1]); math.Abs(got-c[2]) > 1e-12 {
			t.Errorf("%g from %g: %g, want %g", c[0], c[1], got, c[2])
		}
	}
}

// Up to 5 of 100 tenants exceed their bound: on RoCE, a tenant with a bound of 9.4 % had an error of 10.2 %.
func TestTenantsWhoseBoundIsAlmostTheLimitAreNamed(t *testing.T) {
	t.Parallel()
	c, err := Generate(517401, 9, policy.PlaneRoCE)
	if err != nil {
		t.Fatal(err)
	}
	plan := plantest.Compiled(t, c.Input)
	i := slices.IndexFunc(plan.Tenants, func(s policy.TenantShare) bool { return s.Tenant == "tenant-01" })
	if b := plan.Tenants[i].Bound; b <= 0.09 || b >= policy.MissLimit(policy.PlaneRoCE) {
		t.Fatalf("the bound of tenant-01 is %.3f: the case is unsuitable", b)
	}
	if !slices.Contains(namedBy(plan.Findings)["tenant-01"], policy.CodeShareUncertain) {
		t.Errorf("%s does not name the tenant", policy.CodeShareUncertain)
	}
}
