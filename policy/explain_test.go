package policy_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"fairlane/policy"
	"fairlane/subnet/ident"
)

// explained prints what a filter selects as "name: field field".
func explained(t *testing.T, p *policy.Plan, f policy.ExplainFilter) []string {
	t.Helper()
	es, err := p.Explain(f)
	if err != nil {
		t.Fatalf("explain %+v: %v", f, err)
	}
	var out []string
	for _, e := range es {
		s := e.Kind + " " + e.Name + ":"
		for _, r := range e.Reasons {
			s += " " + r.Field
		}
		out = append(out, s)
	}
	return out
}

func TestExplainHasEveryReasonOfThePlan(t *testing.T) {
	t.Parallel()
	p := compile(t, incast(t))
	want := 0
	for _, c := range p.CAs {
		want += len(c.Reasons)
	}
	for _, s := range p.Switches {
		want += len(s.Reasons)
	}
	es, err := p.Explain(policy.ExplainFilter{})
	got := 0
	for _, e := range es {
		got += len(e.Reasons)
	}
	if err != nil || got != want || len(es) != len(p.CAs)+len(p.Switches) {
		t.Errorf("%d reasons of %d devices, %v; want %d of %d", got, len(es), err, want, len(p.CAs)+len(p.Switches))
	}
}

// explainable is a small plan of all planes with known reasons.
func explainable() *policy.Plan {
	p := ethernet()
	reason := func(field, tenant string) policy.Reason { return policy.Reason{Field: field, Tenant: tenant} }
	for i, tenant := range []string{"a, b", "b", "c"} {
		p.RoCE.NICs[i].Reasons = []policy.Reason{reason("rpg_gd", tenant), reason("dce_tcp_g", "")}
	}
	p.RoCE.Switches[0].Reasons = []policy.Reason{reason("ports[1].queues[3].min_bytes", ""), reason("ports[2].queues[3].min_bytes", ""), reason("mode", "")}
	p.WRCC.Ports[0].Reasons = []policy.Reason{reason("fmax", "")}
	p.WRCC.Senders[1].Reasons = []policy.Reason{reason("weight", "b")}
	p.WRCC.Domains[0].Reasons = []policy.Reason{reason("t1", "")}
	return p
}

func TestExplainNarrowsToAPortOrATenant(t *testing.T) {
	t.Parallel()
	p := explainable()
	for name, c := range map[string]struct {
		filter policy.ExplainFilter
		want   []string
	}{
		"a port":          {policy.ExplainFilter{Port: "host-2/P1"}, []string{"port host-2/P1: rpg_gd dce_tcp_g", "sender host-2/P1: weight"}},
		"with a colon":    {policy.ExplainFilter{Port: "host-3:1"}, []string{"port host-3/P1: rpg_gd dce_tcp_g", "sender host-3/P1:"}},
		"a host":          {policy.ExplainFilter{Port: "host-1"}, []string{"port host-1/P1: rpg_gd dce_tcp_g", "sender host-1/P1:"}},
		"by identifier":   {policy.ExplainFilter{Port: "0x0000000000000003:1"}, []string{"port host-3/P1: rpg_gd dce_tcp_g", "sender host-3/P1:"}},
		"a switch":        {policy.ExplainFilter{Port: "leaf1"}, []string{"switch leaf1: ports[1].queues[3].min_bytes ports[2].queues[3].min_bytes mode", "switch port leaf1/P1: fmax"}},
		"a switch's port": {policy.ExplainFilter{Port: "leaf1/P2"}, []string{"switch leaf1: ports[2].queues[3].min_bytes mode"}},
		"a tenant":        {policy.ExplainFilter{Tenant: "b"}, []string{"port host-1/P1: rpg_gd dce_tcp_g", "port host-2/P1: rpg_gd dce_tcp_g", "switch leaf1: ports[1].queues[3].min_bytes ports[2].queues[3].min_bytes mode", "data centre default: t1", "switch port leaf1/P1: fmax", "sender host-2/P1: weight"}},
		"a single one":    {policy.ExplainFilter{Tenant: "c"}, []string{"port host-3/P1: rpg_gd dce_tcp_g", "data centre default: t1"}},
		"both":            {policy.ExplainFilter{Port: "host-1", Tenant: "b"}, []string{"port host-1/P1: rpg_gd dce_tcp_g"}},
	} {
		if got := explained(t, p, c.filter); !slices.Equal(got, c.want) {
			t.Errorf("%s: explained\n%s\nwant\n%s", name, strings.Join(got, "\n"), strings.Join(c.want, "\n"))
		}
	}
}

func TestExplainNamesTheTrafficOfAPort(t *testing.T) {
	t.Parallel()
	p := explainable()
	p.RoCE.Traffic[0].VFShare = 250
	p.Placements = []policy.Placement{{Tenant: "a", Port: ident.PortID{Node: 7, Port: 1}, SL: 3}}
	p.CAs = []policy.CAPlan{{Port: ident.PortID{Node: 7, Port: 1}, Name: "hca"}}
	es, err := p.Explain(policy.ExplainFilter{})
	if err != nil {
		t.Fatal(err)
	}
	var notes []string
	for _, e := range es {
		notes = append(notes, e.Note)
	}
	for _, want := range []string{"a on SL 3", "profile connectx-6; a with DSCP 26, priority 3, queue 3, VF share 250 of 1000 for function 0; b with DSCP 26, priority 3, queue 3",
		"tenant c, class default: weight 1.5 of a queue pair, others towards 1 port"} {
		if !slices.Contains(notes, want) {
			t.Errorf("no note %q among %q", want, notes)
		}
	}
}

func TestExplainNamesNearMisses(t *testing.T) {
	t.Parallel()
	p := compile(t, incast(t))
	if _, err := p.Explain(policy.ExplainFilter{Port: "leaf1/P1"}); err != nil {
		t.Errorf("a port that the switch has: %v", err)
	}
	for f, want := range map[policy.ExplainFilter]string{
		{Port: "host-00/P1"}:    "did you mean host-001/P1",
		{Port: "somewhere"}:     "such as host-001/P1",
		{Port: "leaf1/P99"}:     "the plan sets nothing at \"leaf1/P99\"",
		{Tenant: "gren"}:        "did you mean green?",
		{Tenant: "ultraviolet"}: "want one of blue, green, red",
	} {
		var refused *policy.FilterError
		if _, err := p.Explain(f); !errors.As(err, &refused) || !strings.Contains(fmt.Sprint(err), want) || (refused.Field == "tenant") != (f.Tenant != "") {
			t.Errorf("%+v: error %v, want one with %q", f, err, want)
		}
	}
	// A port that the plan sets is no near match of itself.
	if _, err := explainable().Explain(policy.ExplainFilter{Port: "host-3/P1", Tenant: "a"}); fmt.Sprint(err) != `nothing that the plan sets at "host-3/P1" concerns tenant a` {
		t.Errorf("a port that another tenant uses: %v", err)
	}
}
