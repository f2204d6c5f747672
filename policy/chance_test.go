package policy

import (
	"math"
	"slices"
	"strings"
	"testing"
)

func TestFewQueuePairsOnManyPathsAreUncertain(t *testing.T) {
	t.Parallel()
	m := treeModel(t, 4, [][2]int{{0, 15}})
	in := m.in
	compile := func(qps int, plane Plane, routes [][]Way) (float64, bool) {
		in := in
		in.Options.Plane, in.Routes = plane, routes
		in.Flows = slices.Clone(in.Flows)
		in.Flows[0].QPs = qps
		p, err := Compile(in)
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(p.Findings, func(f Finding) bool { return f.Code == CodePathsByChance })
		if i >= 0 && strings.Contains(p.Findings[i].Fix, "Input.") {
			t.Errorf("%s: advice that operators cannot follow: %s", plane, p.Findings[i].Fix)
		}
		return p.Tenants[0].Bound, i >= 0
	}
	var certain Way
	for _, d := range m.flows[0].links {
		certain.Path = append(certain.Path, m.transmitter(d))
	}
	certain.QPs = 1
	for _, plane := range []Plane{PlaneRoCE, PlaneWRCC} {
		base, found := compile(1, plane, [][]Way{{certain}})
		if found {
			t.Errorf("%s: a finding though the path is given", plane)
		}
		one, found := compile(1, plane, nil)
		if !found || math.Abs(one-base-0.7) > 0.01 {
			t.Errorf("%s: bound %g of one queue pair on four paths, %g on a given one; finding %t; want 0.7 more, and the finding", plane, one, base, found)
		}
		many, found := compile(3000, plane, nil)
		if want := base + 0.7*math.Sqrt(3.0/3000); found || math.Abs(many-want) > 0.001 {
			t.Errorf("%s: bound %g of 3000 queue pairs, %g on a given path; finding %t; want %g and none", plane, many, base, found, want)
		}
	}
}
