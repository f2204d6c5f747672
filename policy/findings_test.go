package policy

import (
	"fmt"
	"testing"

	"fairlane/policy/plan"
)

func TestFindingsOfDifferentTenantsAreBothReported(t *testing.T) {
	t.Parallel()
	same := "shortest timers round coarsely"
	got := plan.SortFindings([]plan.Finding{
		{Code: plan.CodeTimerQuantised, Tenants: []string{"green"}, Message: same},
		{Code: plan.CodeTimerQuantised, Tenants: []string{"blue"}, Message: same},
		{Code: plan.CodeTimerQuantised, Tenants: []string{"blue"}, Message: same},
	})
	if len(got) != 2 || got[0].Tenants[0] != "blue" || got[1].Tenants[0] != "green" {
		t.Errorf("findings are %+v, want one of blue and one of green", got)
	}
}

func TestMissedLinksOfATenantAreListedInPart(t *testing.T) {
	t.Parallel()
	p := &plan.Plan{Classes: []plan.ClassShare{{Tenant: "blue", Class: "bulk", Entitled: 100, Predicted: 90}, {Tenant: "green", Class: "bulk", Entitled: 1e9, Predicted: 1e9}}}
	for i := range plan.MaxNames + 3 {
		p.Links = append(p.Links, plan.LinkShare{Name: fmt.Sprint("link ", i), Tenants: []plan.LinkTenant{
			{Tenant: "blue", Entitled: 1e9, Predicted: 0.9e9}, {Tenant: "green", Entitled: 1e9, Predicted: 1.02e9}, {Tenant: "red", Entitled: 1e9, Predicted: 1.005e9},
		}})
	}
	got := missedBy(p)
	blue, green := got["blue"], got["green"]
	if len(got) != 2 || len(blue.links) != plan.MaxNames || len(blue.parts) != plan.MaxNames || blue.more != 4 {
		t.Errorf("blue misses %+v", blue)
	}
	if blue.parts[0].String() != "class bulk 90 bit/s instead of 100 bit/s" || blue.parts[1].String() != "on link 0 900 Mbit/s instead of 1 Gbit/s" {
		t.Errorf("blue misses %q", blue.parts[:2])
	}
	if len(green.links) != plan.MaxNames || green.parts != nil || green.more != 0 {
		t.Errorf("green, which is 2 %% off, misses %+v", green)
	}
}
