package policy_test

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fairlane/ccconfig/profile"
	"fairlane/policy"
	"fairlane/policy/plantest"
)

// Every register and threshold of a plan is legal and explained, and the plan does not depend on the order
// in which tenants and flows are given.
func TestRoCEPlansAreLegalExplainedAndIndependentOfOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := plantest.Input(t)
		in.Options = policy.Options{Plane: policy.PlaneRoCE, Profile: rapid.SampledFrom(profile.Names()).Draw(t, "profile")}
		plan := plantest.Compiled(t, in)
		p, err := profile.Lookup(in.Options.Profile)
		if err != nil {
			t.Fatal(err)
		}
		checkRoCE(t, plan, p)
		slices.Reverse(in.Tenants)
		slices.Reverse(in.Flows)
		again := plantest.Compiled(t, in)
		if again.Name != plan.Name {
			t.Fatal("the plan depends on the order of its input")
		}
	})
}

func checkRoCE(t *rapid.T, plan *policy.Plan, p *profile.Profile) {
	if plan.RoCE == nil || len(plan.CAs) > 0 {
		t.Fatal("want the RoCE section alone")
	}
	for i := range plan.RoCE.NICs {
		n := &plan.RoCE.NICs[i]
		if err := n.Settings.Validate(p.Limits()); err != nil {
			t.Fatalf("port %s: %v", n.Name, err)
		}
		if c, bad := p.Avoids(&n.Settings); bad {
			t.Fatalf("port %s: %+v", n.Name, c)
		}
		texts := map[string]bool{}
		for _, r := range n.Reasons {
			texts[r.Field] = r.Value != "" && r.Range != "" && r.Rule != "" && r.Formula != ""
		}
		for _, r := range p.Limits().Registers() {
			if !texts[r.Name] {
				t.Fatalf("port %s: no reason for %s: %+v", n.Name, r.Name, n.Reasons)
			}
		}
	}
	for _, sw := range plan.RoCE.Switches {
		for _, q := range sw.Queues {
			if err := q.Validate(); err != nil {
				t.Fatalf("switch %s port %d: %v", sw.Name, q.Port, err)
			}
		}
		if len(sw.Queues) > 0 && len(sw.Reasons) == 0 {
			t.Fatalf("switch %s: no reasons", sw.Name)
		}
	}
	for _, ts := range plan.Tenants {
		if !(ts.Bound >= 0) || ts.QPs > 0 && ts.Predicted > 0 && ts.Bound == 0 {
			t.Fatalf("tenant %s: bound %g", ts.Tenant, ts.Bound)
		}
	}
	for _, f := range plan.Findings {
		if f.Message == "" || strings.HasPrefix(f.Message, " ") {
			t.Fatalf("finding %+v", f)
		}
	}
}
