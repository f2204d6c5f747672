package policy_test

import (
	"slices"
	"strings"
	"testing"

	"fairlane/internal/quantity"
	"fairlane/policy"
	"fairlane/policy/plantest"
	"fairlane/subnet/topogen"
	"fairlane/tenants"
)

// Queue pairs learn a fair rate once a packet. A port that changes its rate faster than most of its load can follow oscillates: 20,000 queue
// pairs of 2.5 Mbit/s together with one of 50 Gbit/s gave the tenants 7 and 17 % less in simulation.
func TestQueuePairsThatReactTooLateAreFound(t *testing.T) {
	t.Parallel()
	f, err := topogen.Star(3, topogen.Wire{Rate: 100 * quantity.Gbps, Delay: quantity.Microsecond})
	if err != nil {
		t.Fatal(err)
	}
	h := plantest.Hosts(f)
	for _, c := range []struct {
		weight quantity.Weight
		qps    int
		found  bool
	}{
		{1000, 1000, false}, // 50 Mbit/s each: the period is longer than their packets are apart
		{1000, 1700, false}, // 308 us between packets, a period of 512
		{1000, 5000, true},
		{1000, 20_000, true},
		{90, 2000, false}, // 8 % of the link
		{130, 2000, true}, // 12 %
	} {
		p := compile(t, policy.Input{Fabric: f, Options: policy.Options{Plane: policy.PlaneWRCC},
			Tenants: []tenants.Tenant{{Name: "a", Weight: c.weight}, {Name: "b", Weight: 1000}},
			Flows:   []tenants.Flow{{Tenant: "a", Src: h[0], Dst: h[2], QPs: c.qps}, {Tenant: "b", Src: h[1], Dst: h[2], QPs: 1}}})
		i := slices.IndexFunc(p.Findings, func(f policy.Finding) bool { return f.Code == policy.CodeWRCCUnstable })
		if (i >= 0) != c.found {
			t.Errorf("weight %s, %d queue pairs: findings %+v, want one: %v", c.weight, c.qps, p.Findings, c.found)
		}
		if i >= 0 && (!slices.Equal(p.Findings[i].Tenants, []string{"a"}) || len(p.Findings[i].Links) != 1 || !strings.Contains(p.Findings[i].Message, " queue pairs on 1 link once per packet")) {
			t.Errorf("finding %+v", p.Findings[i])
		}
	}
}
