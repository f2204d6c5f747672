package osmfile

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"fairlane/subnet/ident"
)

// splitGold is a tenant with one service level, except for two ports with a second one and one with a third.
func splitGold() Desired {
	return Desired{Partitions: []Partition{
		{Tenant: "gold", PKey: 1, SL: 2, Members: []Member{{0x11, true}, {0x12, true}, {0x13, true}, {0x14, true}, {0x15, true}, {0x16, true}},
			Groups: []Group{{SL: 5, Ports: []ident.GUID{0x15, 0x14}}, {SL: 3, Ports: []ident.GUID{0x16}}}},
		{Tenant: "silver", PKey: 9, SL: 4, Members: []Member{{0x11, true}}},
	}}
}

const splitSections = `port-groups
    port-group # gold
        name: fairlane-0001-sl3
        port-guid: 0x0000000000000016
    end-port-group
    port-group # gold
        name: fairlane-0001-sl5
        port-guid: 0x0000000000000014, 0x0000000000000015
    end-port-group
end-port-groups
qos-levels
    qos-level
        name: fairlane-sl3
        sl: 3
    end-qos-level
    qos-level
        name: fairlane-sl5
        sl: 5
    end-qos-level
end-qos-levels
qos-match-rules
    qos-match-rule # gold
        pkey: 0x0001
        source: fairlane-0001-sl3
        qos-level-name: fairlane-sl3
    end-qos-match-rule
    qos-match-rule # gold
        pkey: 0x0001
        source: fairlane-0001-sl5
        qos-level-name: fairlane-sl5
    end-qos-match-rule
end-qos-match-rules
qos-ulps
    any, pkey 0x0001 : 2 # gold
    any, pkey 0x0009 : 4 # silver
`

// A policy that is created for a split tenant keeps the operator's partitions at their level, and is removed with the
// tenant.
func TestSplitTenantGetsAPolicyThatKeepsOtherLevels(t *testing.T) {
	t.Parallel()
	partitions := "Default=0x7fff,ipoib,sl=1:ALL=full;\nstorage=0x20,sl=6:ALL;\nscratch=0x21,sl=1:ALL;\nstorage=0x20,sl=7:SELF=full;\n"
	c := Compose(files("qos TRUE\n", partitions, "-"), splitGold(), Settings{OneLane: true})
	if len(c.Problems) > 0 {
		t.Fatal(c.Problems)
	}
	if d := cmp.Diff(headOwnPolicy+splitSections+"    any, pkey 0x0020 : 7 # not a tenant's\n    default : 1\nend-qos-ulps\n", body(t, c.Next.Policy)); d != "" {
		t.Error(d)
	}
	if want := "gold=0x0001,sl=2:\n"; !strings.Contains(c.Next.Partitions.Data, want) {
		t.Errorf("partitions\n%s", c.Next.Partitions.Data)
	}
	if d := cmp.Diff(splitGold().normal().Partitions, Ours(c.Next), cmpopts.EquateEmpty()); d != "" {
		t.Errorf("read back: %s", d)
	}
	p, faults := ReadPolicy(c.Next.Policy.Data)
	for from, want := range map[ident.GUID]ident.SL{0x11: 2, 0x14: 5, 0x15: 5, 0x16: 3, 0x99: 2} {
		if got := p.SL(1, from, 0x11); got != want || len(faults) > 0 {
			t.Errorf("from port %s: SL %d, want %d; faults %v", from, got, want, faults)
		}
	}
	if a, b, c := p.SL(0x20, 1, 2), p.SL(0x21, 1, 2), p.SL(0x7fff, 1, 2); a != 7 || b != 1 || c != 1 {
		t.Errorf("the operator's partitions have SLs %d, %d, %d", a, b, c)
	}
	whole := splitGold()
	whole.Partitions[0].Groups = nil
	if got := Compose(c.Next, whole, Settings{}).Next.Policy; got != (Text{Path: c.Next.Policy.Path}) {
		t.Errorf("without groups the policy is %+v", got)
	}
	// Lines that the operator added below stay.
	c.Next.Policy.Data += "# mine\n"
	if got := Compose(c.Next, whole, Settings{}).Next.Policy; !strings.HasSuffix(got.Data, "end-qos-ulps\n"+endMark+"\n# mine\n") || !strings.Contains(got.Data, " default : 1\n") {
		t.Errorf("the policy is %+v", got)
	}
}

// Our rules precede the operator's rules; the operator's names and groups stay.
func TestASplitTenantsRulesComeFirst(t *testing.T) {
	t.Parallel()
	policy := "port-groups\n port-group\n  name: All\n  node-type: ALL\n end-port-group\nend-port-groups\nqos-levels\n qos-level\n  name: Default\n  sl: 1\n end-qos-level\nend-qos-levels\n" +
		"qos-match-rules\n qos-match-rule\n  source: All\n  pkey: 0x7000\n  qos-level-name: default\n end-qos-match-rule\nend-qos-match-rules\n"
	c := Compose(files("qos TRUE\n", "-", policy), splitGold(), Settings{OneLane: true})
	if want := (Block{}).With(headPolicy+splitSections+"end-qos-ulps\n") + policy; len(c.Problems) > 0 || c.Next.Policy.Data != want {
		t.Errorf("problems %v, policy\n%s", c.Problems, c.Next.Policy.Data)
	}
	// An operator's rule that matches the tenant's other ports is reported: Fairlane's line for the partition is of
	// the short form, which OpenSM checks later.
	taken := policy + "qos-match-rules\n qos-match-rule\n  pkey: 1\n  qos-level-name: default\n end-qos-match-rule\nend-qos-match-rules\n"
	ps := Compose(files("qos TRUE\n", "-", taken), splitGold(), Settings{OneLane: true}).Problems
	if len(ps) != 1 || ps[0].Code != CodePolicyRule || ps[0].Text != "tenant gold: the rule gives SL 1 to queries for partition 0x0001, which needs SL 2" {
		t.Errorf("problems %v", ps)
	}
}

// A policy that Fairlane may not write may still serve a split tenant, by source or by both ends.
func TestReadOnlyPolicyIsCheckedByGroup(t *testing.T) {
	t.Parallel()
	rule := func(what string, sl string) string {
		return " qos-match-rule\n  pkey: 1\n" + what + "  qos-level-name: l" + sl + "\n end-qos-match-rule\n"
	}
	level := func(sl string) string { return " qos-level\n  name: l" + sl + "\n  sl: " + sl + "\n end-qos-level\n" }
	policy := func(rules string) string {
		return "port-groups\n port-group\n  name: a\n  port-guid: 0x14-0x15\n end-port-group\n port-group\n  name: b\n  port-guid: 0x16\n end-port-group\nend-port-groups\n" +
			"qos-levels\n" + level("2") + level("3") + level("4") + level("5") + "end-qos-levels\nqos-match-rules\n" + rules + "end-qos-match-rules\n" +
			"qos-ulps\n any, pkey 9 : 4\n any, pkey 1 : 2\n default : 0\nend-qos-ulps\n"
	}
	for rules, want := range map[string]string{
		rule("  source: A\n", "5") + rule("  source: b\n", "3"):                                        "",
		rule("  source: a\n  destination: a\n", "5") + rule("  source: b\n  destination: a, b\n", "3"): "",
		rule("  source: a\n", "5"):    "tenant gold: the rule gives SL 2 to queries for partition 0x0001, which needs SL 3",
		rule("  source: a, b\n", "5"): "tenant gold: the rule gives SL 5 to queries for partition 0x0001, which needs SL 3",
		rule("  source: a\n  destination: b\n", "5") + rule("  source: a\n", "5") + rule("  source: b\n", "3"): "",
		rule("  source: a\n", "4") + rule("  source: b\n", "3"):                                                "tenant gold: the rule gives SL 4 to queries for partition 0x0001, which needs SL 5",
	} {
		ps := Compose(files("qos TRUE\n", "-", policy(rules)), splitGold(), Settings{LeavePolicy: true, OneLane: true}).Problems
		got := ""
		if len(ps) > 0 {
			got = ps[0].Text
		}
		if got != want || len(ps) > 1 {
			t.Errorf("rules\n%sproblems %v, want %q", rules, ps, want)
		}
	}
}

func TestInvalidGroupsAreRejected(t *testing.T) {
	t.Parallel()
	gold := func(d *Desired) *Partition { return &d.Partitions[0] }
	for want, corrupt := range map[string]func(*Desired) Settings{
		"tenant gold: SL 16": func(d *Desired) Settings { gold(d).Groups[0].SL = 16; return Settings{} },
		"tenant gold has two groups of ports with SL 2 in partition 0x0001": func(d *Desired) Settings { gold(d).Groups[0].SL = 2; return Settings{} },
		"tenant gold has two groups of ports with SL 3 in partition 0x0001": func(d *Desired) Settings { gold(d).Groups[0].SL = 3; return Settings{} },
		"tenant gold: no port has SL 3 in partition 0x0001":                 func(d *Desired) Settings { gold(d).Groups[1].Ports = nil; return Settings{} },
		"port 0x0000000000000016 needs SL 3 and SL 5 in partition 0x0001 of tenant gold, but a port has one SL per partition": func(d *Desired) Settings {
			gold(d).Groups[0].Ports = append(gold(d).Groups[0].Ports, 0x16)
			return Settings{}
		},
		"tenant gold: port 0x0000000000000020 has SL 3 in partition 0x0001 and is no member": func(d *Desired) Settings { gold(d).Groups[1].Ports[0] = 0x20; return Settings{} },
		"tenant gold needs SLs 2, 3, 5 in partition 0x7fff, which is the operator's": func(d *Desired) Settings {
			gold(d).PKey, gold(d).Kept = 0x7fff, true
			return Settings{}
		},
		"tenant gold needs SLs 2, 3, 5 in partition 0x0001: partitions.conf has one for a partition, and there is no QoS policy, which Fairlane must not change": func(*Desired) Settings {
			return Settings{LeavePolicy: true}
		},
	} {
		d := splitGold()
		set := corrupt(&d)
		ps := Compose(files("-", "-", "-"), d, set).Problems
		i := slices.IndexFunc(ps, func(p Problem) bool { return p.Text == want })
		if i < 0 || !ps[i].Final || ps[i].Remedy == "" {
			t.Errorf("problems %v, want %q", ps, want)
		}
	}
	if ps := Compose(files("-", "-", "-"), splitGold(), Settings{OneLane: true}).Problems; len(ps) > 0 {
		t.Errorf("valid groups: %v", ps)
	}
}

// While traffic moves, the desired levels count, and removed ports keep their previous ones.
func TestPrepareKeepsTheLevelsOfRemovedPorts(t *testing.T) {
	t.Parallel()
	cur := Compose(files("-", "-", "-"), splitGold(), Settings{}).Next
	next := splitGold()
	g := &next.Partitions[0]
	g.Members = []Member{{0x11, true}, {0x12, true}, {0x14, true}, {0x17, true}}
	g.SL, g.Groups = 5, []Group{{SL: 3, Ports: []ident.GUID{0x12}}}
	got := Ours(Compose(cur, Prepare(cur, next), Settings{}).Next)
	want := []Group{{SL: 3, Ports: []ident.GUID{0x12, 0x16}}} // port 0x15 had level 5 in a group, which is now the partition's level
	if d := cmp.Diff(want, got[0].Groups); d != "" || got[0].SL != 5 || len(got[0].Members) != 7 {
		t.Errorf("%+v: %s", got[0], d)
	}
	next = splitGold()
	next.Partitions = next.Partitions[1:]
	if got := Ours(Compose(cur, Prepare(cur, next), Settings{}).Next); len(got) != 2 || len(got[0].Groups) != 2 {
		t.Errorf("a removed tenant: %+v", got)
	}
}

// For any groups, the written text is read back equal, and each port gets the level of its part.
func TestGroupsAreReadBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := drawPartition(t)
		c := Compose(files("-", "-", "-"), Desired{Partitions: []Partition{p}}, Settings{})
		got := Ours(c.Next)
		if len(got) != 1 || !cmp.Equal(got[0].Groups, p.Groups, cmpopts.EquateEmpty()) {
			t.Fatalf("%+v of\n%s", got, c.Next.Policy.Data)
		}
		if c.Next.Policy.Present != (len(p.Groups) > 0) {
			t.Fatalf("the policy is %+v", c.Next.Policy)
		}
		policy, faults := ReadPolicy(c.Next.Policy.Data)
		for _, part := range p.Parts() {
			for _, m := range part.Members {
				if sl := policy.SL(p.PKey, m.PortGUID, 1); c.Next.Policy.Present && (sl != part.SL || len(faults) > 0) {
					t.Fatalf("port %s: SL %d, want %d, faults %v", m.PortGUID, sl, part.SL, faults)
				}
			}
		}
	})
}
