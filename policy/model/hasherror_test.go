package model_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"fairlane/internal/quantity"
	"fairlane/policy"
	"fairlane/policy/model"
	"fairlane/policy/plan"
	"fairlane/subnet"
	"fairlane/tenants"
)

func TestFewQueuePairsOnManyPathsAreUncertain(t *testing.T) {
	t.Parallel()
	m := model.TreeModel(t, 4, [][2]int{{0, 15}})
	in := m.Input
	compile := func(qps int, plane subnet.Plane, routes [][]policy.Route) (float64, bool) {
		in := in
		in.Options.Plane, in.Routes = plane, routes
		in.Flows = slices.Clone(in.Flows)
		in.Flows[0].QPs = qps
		p, err := policy.Compile(in)
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(p.Findings, func(f plan.Finding) bool { return f.Code == plan.CodePathsByChance })
		if i >= 0 && !strings.Contains(p.Findings[i].Message, " queue pairs of 1 tenant: ") {
			t.Errorf("%s: says %s", plane, p.Findings[i].Message)
		}
		if i >= 0 && strings.Contains(p.Findings[i].Fix, "Input.") {
			t.Errorf("%s: advice that operators cannot follow: %s", plane, p.Findings[i].Fix)
		}
		return p.Tenants[0].Bound, i >= 0
	}
	var given policy.Route
	for _, d := range m.Flows[0].Links {
		given.Path = append(given.Path, m.Transmitter(d))
	}
	given.QPs = 1
	for _, plane := range []subnet.Plane{subnet.PlaneRoCE, subnet.PlaneWRCC} {
		base, found := compile(1, plane, [][]policy.Route{{given}})
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

// Flows between the same ports differ in whether their paths are known, and in their rates: neither hides the hash error of another.
func TestKnownPathsAndSmallDemandsHideNoHashError(t *testing.T) {
	t.Parallel()
	m := model.TreeModel(t, 4, [][2]int{{0, 15}})
	var known policy.Route
	for _, d := range m.Flows[0].Links {
		known.Path = append(known.Path, m.Transmitter(d))
	}
	compile := func(plane subnet.Plane, flows []tenants.Flow, routes [][]policy.Route) (float64, bool) {
		in := m.Input
		in.Options.Plane, in.Routes, in.Flows = plane, routes, nil
		for _, f := range flows {
			f.Tenant, f.Src, f.Dst = "a", m.Input.Flows[0].Src, m.Input.Flows[0].Dst
			in.Flows = append(in.Flows, f)
		}
		p, err := policy.Compile(in)
		if err != nil {
			t.Fatal(err)
		}
		return p.Tenants[0].Bound, slices.ContainsFunc(p.Findings, func(f plan.Finding) bool { return f.Code == plan.CodePathsByChance })
	}
	for _, plane := range []subnet.Plane{subnet.PlaneRoCE, subnet.PlaneWRCC} {
		base, _ := compile(plane, []tenants.Flow{{QPs: 2}}, [][]policy.Route{{{known.Path, 2}}})
		for name, c := range map[string]struct {
			flows []tenants.Flow
			first int // queue pairs of the first flow whose path is known
			more  float64
		}{
			"a known one first":                {[]tenants.Flow{{QPs: 1}, {QPs: 1}}, 1, 0.35},
			"a known one of many":              {[]tenants.Flow{{QPs: 3}, {QPs: 1}}, 3, 0.175},
			"two like one of two":              {[]tenants.Flow{{QPs: 1}, {QPs: 1}}, 0, 0.7},
			"one of two":                       {[]tenants.Flow{{QPs: 2}}, 0, 0.7},
			"two like one of 300":              {[]tenants.Flow{{QPs: 200}, {QPs: 100}}, 0, 0.07},
			"one of 300":                       {[]tenants.Flow{{QPs: 300}}, 0, 0.07},
			"beside a crowd that wants little": {[]tenants.Flow{{QPs: 1000, Demand: quantity.Gbps}, {QPs: 1}}, 0, 0.7 * 0.99},
		} {
			for range 2 {
				var routes [][]policy.Route
				if c.first > 0 {
					routes = make([][]policy.Route, len(c.flows))
					routes[slices.IndexFunc(c.flows, func(f tenants.Flow) bool { return f.QPs == c.first })] = []policy.Route{{known.Path, float64(c.first)}}
				}
				got, found := compile(plane, c.flows, routes)
				if !found || math.Abs(got-base-c.more) > 0.01 {
					t.Errorf("%s, %s: bound %g, %g with known paths, finding %t; want %g more and the finding", plane, name, got, base, found, c.more)
				}
				slices.Reverse(c.flows)
			}
		}
	}
}
