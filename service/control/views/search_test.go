package views_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlane/service/control"
	"fairlane/service/control/identity"
	"fairlane/service/control/tenancy"
	"fairlane/service/control/views"
	"fairlane/tenants"
)

func TestSearchFindsObjectsByNameAndNumber(t *testing.T) {
	t.Parallel()
	p := newPage(t)
	ctx := t.Context()
	if _, err := p.CreateUser(ctx, identity.UserInput{Name: "h_1"}); err != nil {
		t.Fatal(err)
	}
	if _, err := p.CreateUser(ctx, identity.UserInput{Name: "hx1"}); err != nil {
		t.Fatal(err)
	}
	plan, err := p.PlanOrInForce(ctx, "lab", "")
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string][]string{
		"RED":                          {"tenant red"},
		"e":                            {"tenant blue", "tenant red"},
		"la":                           {"fabric lab"},
		"h1":                           {"host h1"},
		"h1/p1":                        {"port h1/P1"},
		"0x0200000000010300:1":         {"port h4/P1"},
		"0x02000000000103":             {"host h4", "port h4/P1"},
		"02000000000103":               {"host h4", "port h4/P1"},
		"sw":                           {"switch sw1"},
		"1":                            {"rollout 1", "switch sw1", "host h1", "user h_1", "user hx1"},
		"h_1":                          {"user h_1"},
		"%":                            nil,
		"  ":                           nil,
		plan.Plan.Name[:8]:             {"plan " + plan.Plan.Name},
		"the weather is nice tomorrow": nil,
	} {
		got := slices.DeleteFunc(searched(t, p, ctx, text), func(s string) bool { return text == "1" && len(s) > 64 }) // a plan's name may begin with 1
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%q (-want +got): %s", text, d)
		}
	}
}

// TestSearchShowsATenantItsOwnAlone compares the answers before and after what others add.
func TestSearchShowsATenantItsOwnAlone(t *testing.T) {
	t.Parallel()
	p := newPage(t)
	blue := control.WithPrincipal(t.Context(), control.Principal{Kind: control.PrincipalUser, Name: "bob", Grants: []tenants.Grant{{Role: tenants.RoleTenantAdmin, Domain: tenants.Domain{Fabric: "lab", Tenant: "blue"}}}})
	texts := []string{"blue", "red", "h1", "lab", "another", "1", "e", "0x02", "a"}
	var before [][]string
	for _, text := range texts {
		before = append(before, searched(t, p, blue, text))
	}
	if _, err := p.CreateFabric(t.Context(), control.Fabric{Name: "another", Source: "file:x"}); err != nil {
		t.Fatal(err)
	}
	if _, err := p.CreateUser(t.Context(), identity.UserInput{Name: "blues"}); err != nil {
		t.Fatal(err)
	}
	if _, err := p.CreateTenant(t.Context(), "lab", tenancy.TenantInput{Name: "bluest", Weight: 1000}); err != nil {
		t.Fatal(err)
	}
	for i, text := range texts {
		got, _, err := p.Search(blue, views.SearchQuery{Text: text, Limit: 50, May: func(_, _, tenant string) bool { return tenant == "blue" }})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range got {
			if f.Kind != views.FoundFabric && f.Kind != views.FoundTenant || f.Name != "lab" && f.Name != "blue" {
				t.Errorf("%q finds %+v", text, f)
			}
		}
		if before[i] = slices.DeleteFunc(before[i], func(s string) bool { return s[:4] == "user" }); len(got) != len(before[i]) {
			t.Errorf("%q finds %v, before %v", text, got, before[i])
		}
	}
	if got, _, err := p.Search(blue, views.SearchQuery{Text: "e", Fabric: "another", Limit: 50, May: func(string, string, string) bool { return true }}); err != nil || got != nil {
		t.Errorf("on another fabric: %v, %v", got, err)
	}
}
