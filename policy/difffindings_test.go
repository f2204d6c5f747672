package policy_test

import (
	"fmt"
	"testing"

	"fairlane/policy"
	"fairlane/subnet/ident"
)

func TestTheOnlyFindingOfACodeIsReportedAsChangedWhenItsTenantsChange(t *testing.T) {
	t.Parallel()
	type about struct{ tenants, links []string }
	findings := func(list []about) (out []policy.Finding) {
		for i, a := range list {
			out = append(out, policy.Finding{Code: "x", Tenants: a.tenants, Links: a.links, Message: fmt.Sprint(a.tenants, a.links, i)})
		}
		return out
	}
	ab, abc, c, none := []string{"a", "b"}, []string{"a", "b", "c"}, []string{"c"}, []string(nil)
	for name, x := range map[string]struct {
		before, after           []about
		changed, appeared, gone int
	}{
		"a tenant more":                      {[]about{{ab, none}}, []about{{abc, none}}, 1, 0, 0},
		"other tenants":                      {[]about{{ab, none}}, []about{{c, none}}, 0, 1, 1},
		"a link more":                        {[]about{{ab, []string{"k"}}}, []about{{ab, []string{"k", "l"}}}, 1, 0, 0},
		"another link":                       {[]about{{ab, []string{"k"}}}, []about{{ab, []string{"l"}}}, 0, 1, 1},
		"a link of several, no tenants":      {[]about{{none, []string{"k", "l"}}}, []about{{none, []string{"l", "m"}}}, 1, 0, 0},
		"a link where there was none":        {[]about{{ab, none}}, []about{{ab, []string{"l"}}}, 0, 1, 1},
		"two that one may have become":       {[]about{{abc, none}}, []about{{ab, none}, {c, none}}, 0, 2, 1},
		"one that two may have become":       {[]about{{ab, none}, {c, none}}, []about{{abc, none}}, 0, 1, 2},
		"two, each with its own":             {[]about{{[]string{"a"}, none}, {c, none}}, []about{{[]string{"c", "d"}, none}, {ab, none}}, 2, 0, 0},
		"one already reported, and one more": {[]about{{ab, none}}, []about{{ab, none}, {abc, none}}, 0, 1, 0},
	} {
		d := policy.Diff(&policy.Plan{Findings: findings(x.before)}, &policy.Plan{Findings: findings(x.after)})
		if len(d.Reworded) != x.changed || len(d.Appeared) != x.appeared || len(d.Vanished) != x.gone {
			t.Errorf("%s: %d changed, %d new, %d gone; want %d, %d, %d\n%s", name, len(d.Reworded), len(d.Appeared), len(d.Vanished), x.changed, x.appeared, x.gone, &d)
		}
	}
}

func TestAPortWithWeightsForSeveralPeersIsOnePlace(t *testing.T) {
	t.Parallel()
	port := func(n uint64) ident.PortID { return ident.PortID{Node: ident.GUID(n), Port: 1} }
	plan := func(own float64, peers ...uint64) *policy.Plan {
		w := &policy.WRCCPlan{}
		for n := range uint64(2) {
			s := policy.WRCCSenderPlan{Port: port(n), Name: fmt.Sprintf("h%d/P1", n), Tenant: "a", Class: "default", Weight: own}
			for _, p := range peers {
				s.Peers = append(s.Peers, policy.WRCCPeer{Port: port(p), Weight: 5})
			}
			w.Senders = append(w.Senders, s)
		}
		return &policy.Plan{WRCC: w, Tenants: []policy.TenantShare{{Tenant: "a"}}}
	}
	d := policy.Diff(plan(1, 3, 4), plan(2, 4, 5, 6)) // one weight changes, one is removed, and two are new
	if len(d.Tenants) != 1 || len(d.Tenants[0].Settings) != 1 {
		t.Fatalf("difference %+v", d)
	}
	if c := d.Tenants[0].Settings[0]; c.Count != 2 || fmt.Sprint(c.Names) != "[h0/P1 h1/P1]" {
		t.Errorf("%d places, %v", c.Count, c.Names)
	}
}
