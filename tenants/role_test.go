package tenants

import (
	"slices"
	"strings"
	"testing"

	"fairlane/internal/testkit/zhtest"
)

func TestGrantsRoundTrip(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"fabric-admin@*", "operator@*", "auditor@*", "fabric-admin@lab", "operator@lab", "auditor@lab", "tenant-admin@lab/red", "tenant-viewer@lab/red"} {
		g, err := ParseGrant(text)
		if err != nil || g.String() != text {
			t.Errorf("%s reads back as %s: %v", text, g, err)
		}
	}
	for text, want := range map[string]string{
		"operator":                "ROLE@DOMAIN",
		"operator@lab/red":        "want the domain * or FABRIC",
		"tenant-admin@*":          "FABRIC/TENANT",
		"root@*":                  "want one of",
		"tenant-admin@lab":        "FABRIC/TENANT",
		"tenant-admin@lab/":       "FABRIC/TENANT",
		"tenant-admin@lab/red/x":  "FABRIC/TENANT",
		"tenant-admin@LAB/red":    "FABRIC/TENANT",
		"tenant-admin@../red":     "FABRIC/TENANT",
		"@":                       "FABRIC/TENANT",
		strings.Repeat("x", 9999): "ROLE@DOMAIN",
	} {
		if _, err := ParseGrant(text); err == nil || !strings.Contains(err.Error(), want) || len(err.Error()) > 300 {
			t.Errorf("%.40q: error is %v, want one with %q", text, err, want)
		}
		_, err := ParseGrant(text)
		zhtest.Error(t, text, err, "lab", "operator", "auditor", "feeder")
	}
}

func TestGrantsAreOrderedByDomain(t *testing.T) {
	t.Parallel()
	list := []Grant{
		{RoleTenantViewer, Domain{"lab", "red"}}, {RoleTenantAdmin, Domain{"lab", "red"}}, {RoleOperator, Domain{}}, {RoleOperator, Domain{Fabric: "lab"}}, {RoleTenantAdmin, Domain{"lab", "blue"}},
	}
	slices.SortFunc(list, CompareGrants)
	var got []string
	for _, g := range list {
		got = append(got, g.String())
	}
	if want := "operator@* operator@lab tenant-admin@lab/blue tenant-admin@lab/red tenant-viewer@lab/red"; strings.Join(got, " ") != want {
		t.Errorf("order is %v", got)
	}
}

func FuzzParseGrant(f *testing.F) {
	f.Add("operator@*")
	f.Add("tenant-admin@lab/red")
	f.Add("x@y/z")
	f.Fuzz(func(t *testing.T, text string) {
		if g, err := ParseGrant(text); err == nil && (g.String() != text || g.Role.Wide() != (g.Domain.Tenant == "")) {
			t.Errorf("%q was accepted as %s", text, g)
		}
	})
}
