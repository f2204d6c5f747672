package osmfile

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlane/subnet/ident"
)

const bothForms = `# the operator's
qos-ulps
    default                      : 1 # of the rest
    sdp, port-num 10000-20000    : 2
    ANY, pkey 0x8001,0x10-0x1f   : 3
    any, target-port-guid 0x1234 : 4
    ipoib                        : 5
end-qos-ulps
port-groups
  port-group
    name: Storage
    port-guid: 0x10-0x20
  end-port-group
end-port-groups
qos-setup
end-qos-setup
qos-levels
  qos-level
    name: DEFAULT
    sl: 6
  end-qos-level
  qos-level
    name: High
    sl: 0x7
    mtu-limit: 4
  end-qos-level
end-qos-levels
qos-match-rules
  qos-match-rule
    use: by key alone
    pkey: 0x20
    qos-level-name: High
  end-qos-match-rule
  qos-match-rule
    source: Storage
    qos-level-name: High
  end-qos-match-rule
end-qos-match-rules
`

func TestAPolicysLongRulesComeFirst(t *testing.T) {
	t.Parallel()
	p, faults := ReadPolicy(bothForms)
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	want := []PolicyRule{
		{Line: 29, PKeys: [][2]uint16{{0x20, 0x20}}, SL: 7, Level: "High"},
		{Line: 34, Source: &Ports{GUIDs: [][2]ident.GUID{{0x10, 0x20}}}, SL: 7, Level: "High"},
		{Line: 4, Other: true, SL: 2},
		{Line: 5, PKeys: [][2]uint16{{1, 1}, {0x10, 0x1f}}, SL: 3},
		{Line: 6, Other: true, SL: 4},
		{Line: 7, PKeys: [][2]uint16{{0x7fff, 0x7fff}}, SL: 5},
	}
	if d := cmp.Diff(want, p.Rules); d != "" {
		t.Error(d)
	}
	if p.Default == nil || *p.Default != 6 || p.DefaultLine != 21 {
		t.Errorf("default %v of line %d: want that of the level", p.Default, p.DefaultLine)
	}
}

func TestPolicyFaultsAreReported(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Fault{
		"qos-ulps\n default : 16\nend-qos-ulps\n":                                       {Line: 2, Text: `"default : 16": SL "16": want 0 to 15`},
		"qos-ulps\n default 1\nend-qos-ulps\n":                                          {Line: 2, Text: `"default 1": a rule is MATCH : SL`},
		"qos-ulps\n nfs : 1\nend-qos-ulps\n":                                            {Line: 2, Text: `"nfs : 1": want default, any, ipoib, sdp, srp, rds or iser`},
		"qos-ulps\n any, pkey x : 1\nend-qos-ulps\n":                                    {Line: 2, Text: `"any, pkey x : 1": P_Keys "x": want numbers or ranges such as 0x0001,0x0010-0x001f`},
		"qos-ulps\n default : 1\n":                                                      {Line: 2, Text: "section qos-ulps has no end-qos-ulps"},
		"default : 1\n":                                                                 {Line: 1, Text: `"default : 1": want one of the sections qos-ulps, port-groups, qos-setup, qos-levels, qos-match-rules`},
		"end-qos-ulps\n":                                                                {Line: 1, Text: `"end-qos-ulps": nothing of that name is open here`},
		"qos-ulps\n default : 1\r\nend-qos-ulps\n":                                      {Line: 2, Text: "a carriage return: OpenSM takes it for a part of the line"},
		"qos-levels\n qos-level\n sl: x\n end-qos-level\nend-qos-levels\n":              {Line: 3, Text: `sl "x": want 0 to 15`},
		"qos-levels\n qos-level\n name: x\n end-qos-level\nend-qos-levels\n":            {Line: 4, Text: "a qos-level has a name and an sl"},
		"qos-levels\n qos-level\n sl: 1\n end-qos-level\nend-qos-levels\n":              {Line: 4, Text: "a qos-level has a name and an sl"},
		"qos-levels\n qos-level\n speed: 1\n end-qos-level\nend-qos-levels\n":           {Line: 3, Text: `"speed: 1": want one of the fields name, use, sl, mtu-limit, rate-limit, packet-life, path-bits, pkey`},
		"qos-ulps\nend-qos-ulps\n":                                                      {Line: 2, Text: "section qos-ulps is empty"},
		"port-groups\nend-port-groups\n":                                                {Line: 2, Text: "section port-groups is empty"},
		"port-groups\n port-group\n port-guid: 1\n end-port-group\nend-port-groups\n":   {Line: 4, Text: "a port-group has a name"},
		"port-groups\n port-group\n port-guid: 1,x\n end-port-group\nend-port-groups\n": {Line: 3, Text: `port GUIDs "x": want numbers or ranges such as 0x0002c90300001234,0x10-0x1f`},
		"qos-levels\n qos-level\n name: X\n sl: 1\n end-qos-level\nend-qos-levels\nqos-match-rules\n qos-match-rule\n source: A\n qos-level-name: x\n end-qos-match-rule\nend-qos-match-rules\n": {
			Line: 8, Text: `port-group "A" is not defined`},
		"qos-levels\n qos-level\n sl\n end-qos-level\nend-qos-levels\n":                            {Line: 3, Text: `"sl": want FIELD: VALUE`},
		"qos-match-rules\n qos-match-rule\n end-qos-match-rule\nend-qos-match-rules\n":             {Line: 2, Text: `level "" is not defined`},
		"qos-match-rules\n qos-match-rule\n pkey: 3-x\n end-qos-match-rule\nend-qos-match-rules\n": {Line: 3, Text: `P_Keys "3-x": want numbers or ranges such as 0x0001,0x0010-0x001f`},
	} {
		_, faults := ReadPolicy(text)
		if len(faults) == 0 {
			t.Errorf("%q is a policy", text)
			continue
		}
		want.Whole = true
		if d := cmp.Diff(want, faults[0]); d != "" {
			t.Errorf("%q: %s", text, d)
		}
	}
}

func TestARuleMatchesItsPartitions(t *testing.T) {
	t.Parallel()
	r := PolicyRule{PKeys: [][2]uint16{{1, 1}, {0x10, 0x1f}}}
	for k, want := range map[ident.PKey]bool{1: true, 0x8001: true, 2: false, 0xf: false, 0x10: true, 0x801f: true, 0x20: false} {
		if r.matches(k) != want {
			t.Errorf("%s matches: %v", k, !want)
		}
	}
	if !(&PolicyRule{}).matches(5) {
		t.Error("a rule without P_Keys matches all")
	}
}

func TestPortsAreFoundInAnyOrder(t *testing.T) {
	t.Parallel()
	p := Ports{GUIDs: [][2]ident.GUID{{0x30, 0x3f}, {5, 5}, {0x10, 0x20}, {0x18, 0x28}, {0x11, 0x12}, {6, 6}}}
	p.sort()
	if d := cmp.Diff([][2]ident.GUID{{5, 5}, {6, 6}, {0x10, 0x28}, {0x30, 0x3f}}, p.GUIDs); d != "" {
		t.Error(d)
	}
	for g, want := range map[ident.GUID]bool{4: false, 5: true, 6: true, 7: false, 0x10: true, 0x28: true, 0x29: false, 0x30: true, 0x3f: true, 0x40: false} {
		if p.has(g) != want {
			t.Errorf("port %s: %v", g, !want)
		}
	}
	if (&Ports{}).has(1) {
		t.Error("no ports have one")
	}
}

func FuzzPolicy(f *testing.F) {
	f.Add(bothForms)
	f.Add("qos-ulps\nany, pkey 0x1 : 2\nend-qos-ulps\n")
	f.Fuzz(func(t *testing.T, text string) {
		p, _ := ReadPolicy(text)
		for _, r := range p.Rules {
			if r.SL > 15 || r.Line < 1 {
				t.Errorf("rule %+v", r)
			}
		}
		if p.Default != nil && *p.Default > 15 {
			t.Errorf("default %d", *p.Default)
		}
		q, _ := ReadPolicy(text + strings.Repeat(" \n", 2))
		if d := cmp.Diff(p, q); d != "" {
			t.Errorf("blank lines make a difference: %s", d)
		}
	})
}
