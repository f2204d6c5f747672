package evaluate

import (
	"math"
	"strings"
	"testing"

	"fairlane/policy"
)

func result(plane policy.Plane, ratio, use, before float64, errors ...float64) *Result {
	r := &Result{Plane: plane, Ratio: ratio, Use: use, UseBefore: before}
	for _, e := range errors {
		r.Tenants = append(r.Tenants, TenantResult{Tenant: "t", Contended: true, Error: e, Entitle: 2 * e, Bound: 0.05})
	}
	return r
}

// Figures of a handful of results, by hand.
func TestScores(t *testing.T) {
	t.Parallel()
	beside := &Result{Plane: policy.PlaneIB, Ratio: 1, Tenants: []TenantResult{{Tenant: "idle", Error: 0.9}}}
	failed := &Result{Plane: policy.PlaneIB, Failed: "no route"}
	results := []*Result{
		result(policy.PlaneIB, 9, 0.98, 1, 0.01, 0.02, 0.03), result(policy.PlaneIB, 2, 0.9, 0.9, 0.04, 0.08), beside, failed,
		result(policy.PlaneRoCE, 2, 1, 1, 0.01), result(policy.PlaneRoCE, 5, 1, 1, 0.5),
	}
	ib := ScoreOf(policy.PlaneIB, results)
	want := Score{Cases: 3, Tenants: 5, ShareErrorP50: 0.03, ShareErrorP95: 0.08, ShareErrorMax: 0.08, EntitledP95: 0.16, BoundCoverage: 0.8, BoundP50: 0.05, Utilisation: 0.99, UtilisationLeast: 0.98}
	if ib.Score != want || ib.Failed != 1 || ib.Beyond != nil {
		t.Errorf("got %+v, want %+v", ib, want)
	}
	if len(ib.Worst) != 5 || ib.Worst[0].Error != 0.08 || ib.Worst[4].Error != 0.01 {
		t.Errorf("worst: %+v", ib.Worst)
	}
	roce := ScoreOf(policy.PlaneRoCE, results)
	if roce.ShareErrorP95 != 0.01 || roce.Beyond == nil || roce.Beyond.ShareErrorP95 != 0.5 || roce.BoundCoverage != 0.5 || roce.Tenants != 2 {
		t.Errorf("RoCE: %+v, beyond %+v: want errors by ratio, and coverage of all", roce.Score, roce.Beyond)
	}
	if none := ScoreOf(policy.PlaneWRCC, results); none.Score != (Score{}) || none.Missed(policy.PlaneWRCC) != nil {
		t.Errorf("nothing: %+v", none)
	}
}

func TestMissedBoundsAreNamed(t *testing.T) {
	t.Parallel()
	good := Score{Cases: 1, Tenants: 1, ShareErrorP95: 0.009, BoundCoverage: 0.96, Utilisation: 0.98}
	for name, c := range map[string]struct {
		plane  policy.Plane
		change func(*PlaneScore)
		want   string // part of the message; empty is none missed
	}{
		"good":       {policy.PlaneWRCC, func(*PlaneScore) {}, ""},
		"wrcc":       {policy.PlaneWRCC, func(s *PlaneScore) { s.ShareErrorP95 = 0.011 }, "share error 1.10 %"},
		"ib in":      {policy.PlaneIB, func(s *PlaneScore) { s.ShareErrorP95 = 0.05 }, ""},
		"ib":         {policy.PlaneIB, func(s *PlaneScore) { s.ShareErrorP95 = 0.0501 }, "at most 5 %"},
		"roce in":    {policy.PlaneRoCE, func(s *PlaneScore) { s.ShareErrorP95 = 0.1 }, ""},
		"roce":       {policy.PlaneRoCE, func(s *PlaneScore) { s.ShareErrorP95 = 0.2 }, "at most 10 %"},
		"use":        {policy.PlaneIB, func(s *PlaneScore) { s.Utilisation = 0.969 }, "link use is 96.9 %"},
		"coverage":   {policy.PlaneIB, func(s *PlaneScore) { s.BoundCoverage = 0.9 }, "bounds cover 90.0 %"},
		"failed":     {policy.PlaneIB, func(s *PlaneScore) { s.Failed = 2 }, "2 cases failed"},
		"not a case": {policy.PlaneIB, func(s *PlaneScore) { s.Score = Score{} }, ""},
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
