package prereq_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"fairlane/ccconfig/prereq"
)

// plan holds the assumptions of the plans in these tests.
var plan = prereq.RoCE{DSCP: 26, Priority: 3, Queue: 3, Lossless: true}

// prepared is a port on which DCQCN can act.
func prepared() map[string]uint64 {
	return map[string]uint64{
		"rp_enable[3]": 1, "np_enable[3]": 1, "roce_cc_prio_mask": 0xff, "user_programmable_cc": 0, "roce_cc_algorithm": 0,
		"trust": 1, "dscp2prio[26]": 3, "pfc[3]": 1, "default_roce_tos": 106, "cnp_dscp": 48,
	}
}

func judge(port map[string]uint64, lacks ...string) []prereq.Item {
	return prereq.NIC(plan, func(name string, index int) (uint64, bool) {
		if index > 0 {
			name = fmt.Sprintf("%s[%d]", name, index)
		}
		v, ok := port[name]
		return v, ok
	}, func(name string) bool { return slices.Contains(lacks, name) })
}

func TestEveryPrerequisiteOfANICPortIsJudged(t *testing.T) {
	t.Parallel()
	if bad := prereq.Unmet(judge(prepared())); len(bad) > 0 {
		t.Fatalf("of a prepared port %+v", bad)
	}
	for field, c := range map[string]struct {
		found  uint64
		id     prereq.ID
		set    string // what Fairlane may set; "" is nothing
		phrase string
	}{
		"rp_enable[3]":         {0, prereq.Reaction, "rp_enable[3]=1", "do not act on notifications in priority 3"},
		"np_enable[3]":         {0, prereq.Notification, "np_enable[3]=1", "send no notifications for packets marked in priority 3"},
		"roce_cc_prio_mask":    {0xf7, prereq.PriorityMask, "", "reset the firmware"},
		"user_programmable_cc": {1, prereq.Algorithm, "", "may replace DCQCN"},
		"roce_cc_algorithm":    {1, prereq.Algorithm, "", "responds to QCN"},
		"trust":                {0, prereq.Trust, "trust[0]=1", "VLAN tags"},
		"dscp2prio[26]":        {0, prereq.DSCPPriority, "dscp2prio[26]=3", "in another priority than the one that the plan"},
		"pfc[3]":               {0, prereq.Pause, "pfc[3]=1", "has no priority flow control"},
		"default_roce_tos":     {104, prereq.TypeOfService, "default_roce_tos[0]=106", "not ECN-capable"},
		"cnp_dscp":             {26, prereq.CNPDSCP, "cnp_dscp[0]=48", "queue behind the data"},
	} {
		port := prepared()
		port[field] = c.found
		bad := prereq.Unmet(judge(port))
		if len(bad) != 1 || bad[0].ID != c.id || bad[0].State != prereq.Wrong || bad[0].Field != field {
			t.Errorf("%s is %d: %+v", field, c.found, bad)
			continue
		}
		set, rest := prereq.Repairs(bad)
		got := ""
		if len(set) == 1 {
			got = fmt.Sprintf("%s[%d]=%d", set[0].Name, set[0].Index, set[0].Value)
		}
		if strings.ReplaceAll(got, " ", "") != c.set || (c.set == "") != (len(rest) == 1) {
			t.Errorf("%s: Fairlane may set %q, the rest is %+v, want %q", field, got, rest, c.set)
		}
		if s := bad[0].Sentence().String(); !strings.Contains(s, c.phrase) || !strings.Contains(s, fmt.Sprintf("%s is %d, want ", field, c.found)) || (c.set != "") != strings.Contains(s, "prerequisites: repair") {
			t.Errorf("%s: %q", field, s)
		}
	}
}

// A value that cannot be read is never met. The exception is an enable flag that the host does not have, if the mask
// was read.
func TestUnreadableValueIsUnknown(t *testing.T) {
	t.Parallel()
	for field := range prepared() {
		port := prepared()
		delete(port, field)
		bad := prereq.Unmet(judge(port))
		if len(bad) != 1 || bad[0].State != prereq.Unknown || bad[0].Field != field || bad[0].Repair != nil || !strings.Contains(bad[0].Sentence().String(), "is unknown: the host does not offer") {
			t.Errorf("%s cannot be read: %+v", field, bad)
		}
	}
	port := prepared()
	delete(port, "rp_enable[3]")
	delete(port, "np_enable[3]")
	if bad := prereq.Unmet(judge(port, "rp_enable", "np_enable")); len(bad) > 0 {
		t.Errorf("without switches by priority, under a mask: %+v", bad)
	}
	delete(port, "roce_cc_prio_mask")
	if wrong, unknown := prereq.Count(judge(port, "rp_enable", "np_enable")); wrong != 0 || unknown != 3 {
		t.Errorf("without switches and mask: %d wrong, %d not known, want 0 and 3", wrong, unknown)
	}
}

func TestOtherLegalValuesAreMet(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		field string
		v     uint64
	}{
		{"default_roce_tos", 0}, // applications choose
		{"default_roce_tos", 105}, {"cnp_dscp", 4}, {"roce_cc_prio_mask", 8},
	} {
		port := prepared()
		port[c.field] = c.v
		if bad := prereq.Unmet(judge(port)); len(bad) > 0 {
			t.Errorf("%s is %d: %+v", c.field, c.v, bad)
		}
	}
	lossy := plan
	lossy.Lossless = false
	port := prepared()
	delete(port, "pfc[3]")
	for _, i := range prereq.NIC(lossy, func(name string, _ int) (uint64, bool) { return 0, name == "pfc" }, func(string) bool { return false }) {
		if i.ID == prereq.Pause {
			t.Errorf("a lossy class wants pause: %+v", i)
		}
	}
}

// Several classes share the parameters of a port; each has its own priority and DSCP.
func TestClassesOfOnePortAreJudgedTogether(t *testing.T) {
	t.Parallel()
	classes := []prereq.RoCE{plan, {DSCP: 34, Priority: 4, Queue: 4, Lossless: true}}
	for i := range classes {
		classes[i].Divided = true
	}
	good := func() map[string]uint64 {
		port := prepared()
		for field, v := range map[string]uint64{"rp_enable[4]": 1, "np_enable[4]": 1, "dscp2prio[34]": 4, "pfc[4]": 1, "prio2tc[3]": 3, "prio2tc[4]": 4, "default_roce_tos": 138} {
			port[field] = v
		}
		return port
	}
	judge := func(port map[string]uint64) []prereq.Item {
		return prereq.NICClasses(classes, func(name string, index int) (uint64, bool) {
			if index > 0 {
				name = fmt.Sprintf("%s[%d]", name, index)
			}
			v, ok := port[name]
			return v, ok
		}, func(string) bool { return false })
	}
	all := judge(good())
	if bad := prereq.Unmet(all); len(bad) > 0 {
		t.Fatalf("of a prepared port %+v", bad)
	}
	seen := map[string]bool{}
	for _, i := range all {
		if k := string(i.ID) + i.Field; seen[k] {
			t.Errorf("%s twice", k)
		} else {
			seen[k] = true
		}
	}
	for field, c := range map[string]struct {
		found uint64
		id    prereq.ID
		set   string
	}{
		"pfc[4]":            {0, prereq.Pause, "pfc[4]=1"},
		"dscp2prio[34]":     {3, prereq.DSCPPriority, "dscp2prio[34]=4"},
		"prio2tc[4]":        {0, prereq.TrafficClass, "prio2tc[4]=4"},
		"prio2tc[3]":        {0, prereq.TrafficClass, "prio2tc[3]=3"},
		"roce_cc_prio_mask": {0x0f, prereq.PriorityMask, ""}, // without the second class
		"cnp_dscp":          {34, prereq.CNPDSCP, "cnp_dscp[0]=48"},
		"default_roce_tos":  {42, prereq.TypeOfService, "default_roce_tos[0]=0"}, // of no class
	} {
		port := good()
		port[field] = c.found
		bad := prereq.Unmet(judge(port))
		if len(bad) != 1 || bad[0].ID != c.id || bad[0].Field != field {
			t.Errorf("%s is %d: %+v", field, c.found, bad)
			continue
		}
		got := ""
		if set, _ := prereq.Repairs(bad); len(set) == 1 {
			got = fmt.Sprintf("%s[%d]=%d", set[0].Name, set[0].Index, set[0].Value)
		}
		if got != c.set {
			t.Errorf("%s: Fairlane may set %q, want %q", field, got, c.set)
		}
	}
	if n := (&prereq.Needs{RoCE: &plan}).Traffic(); !slices.Equal(n, []prereq.RoCE{plan}) {
		t.Errorf("one class: %v", n)
	}
	if n := (&prereq.Needs{}).Traffic(); n != nil {
		t.Errorf("no RoCE: %v", n)
	}
}
