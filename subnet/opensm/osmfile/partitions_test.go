package osmfile

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"fairlane/subnet/ident"
)

// The cases use the keywords of the examples in opensm(8).
func TestPartitionsAreReadAsOpenSMReadsThem(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		text   string
		want   []Stanza
		faults []Fault
	}{
		"default": {
			"Default=0x7fff, ipoib : ALL=full, ALL_SWITCHES , SELF=full ; # all\n",
			[]Stanza{{
				Name: "Default", PKey: 0x7fff, IPoIB: true, Line: 1,
				Members: []StanzaMember{{Word: "ALL", Full: true}, {Word: "ALL_SWITCHES"}, {Word: "SELF", Full: true}},
			}}, nil,
		},
		"members on several lines, two partitions on one": {
			"a=0x8001,sl=3,defmember=full:\n 0x10,\n 17=limited,0x12=lim\n, ;b=2:0x13=both;\n",
			[]Stanza{
				{Name: "a", PKey: 1, SL: 3, DefFull: true, Line: 1, Members: []StanzaMember{{GUID: 0x10, Full: true}, {GUID: 17}, {GUID: 0x12}}},
				{Name: "b", PKey: 2, Line: 4, Members: []StanzaMember{{GUID: 0x13, Both: true}}},
			}, nil,
		},
		"no name, no number": {
			"0x30:NONE;\nnew,ipoib,rate=7,mtu=5,scope=3:;\n",
			[]Stanza{{PKey: 0x30, Line: 1}, {Name: "new", IPoIB: true, Rate: 7, MTU: 5, Line: 2}}, nil,
		},
		"groups": {
			"Default=0x7fff:\n  mgid=ff12:401b::0707,sl=1 # random\n  mgid=ff12:601b::16\n  ALL=full;\n",
			[]Stanza{{Name: "Default", PKey: 0x7fff, Line: 1, Members: []StanzaMember{{Word: "ALL", Full: true}}}}, nil,
		},
		"a definition in two lines": {
			"a=1\n:ALL;\n",
			[]Stanza{{Line: 2, Members: []StanzaMember{{Word: "ALL"}}}},
			[]Fault{{1, `"a=1": a partition is NAME=P_KEY, flags, then ":" on the same line`, true}},
		},
		"carriage returns": {
			"a=1:ALL;\r\n", []Stanza{{Name: "a", PKey: 1, Line: 1, Members: []StanzaMember{{Word: "ALL"}}}},
			[]Fault{{1, "a carriage return or a NUL byte: OpenSM takes it for a part of the definition", true}},
		},
		"no member, the rest is ignored": {
			"a=1:0x10,host7,0x11;\nb=2:ALL;",
			[]Stanza{{Name: "a", PKey: 1, Line: 1, Members: []StanzaMember{{GUID: 0x10}}}},
			[]Fault{
				{1, `member "host7": want a port GUID such as 0x0002c90300001234, or ALL, ALL_CAS, ALL_SWITCHES, ALL_ROUTERS or SELF`, true},
				{2, `member "b": want a port GUID such as 0x0002c90300001234, or ALL, ALL_CAS, ALL_SWITCHES, ALL_ROUTERS or SELF`, true},
				{2, `the partition that begins at line 1 has no ";"`, false},
			},
		},
		"a semicolon alone": {
			"a=1:ALL\n;b=2:ALL;\n",
			[]Stanza{{Name: "a", PKey: 1, Line: 1, Members: []StanzaMember{{Word: "ALL"}}}, {Name: "b", PKey: 2, Line: 2, Members: []StanzaMember{{Word: "ALL"}}}},
			[]Fault{{2, `nothing stands between ";" and what is before it on its line: OpenSM reads on where there is nothing`, true}},
		},
		"a large P_Key": {
			"a=0x18001:ALL;\n", []Stanza{{Name: "a", PKey: 1, Line: 1, Members: []StanzaMember{{Word: "ALL"}}}},
			[]Fault{{1, `P_Key "0x18001": want a number from 0x0001 to 0x7fff; OpenSM takes its lowest 15 bits`, false}},
		},
		"P_Key": {
			"a=zwei:ALL;\n", nil, []Fault{{1, `P_Key "zwei": want a number from 0x0001 to 0x7fff`, true}},
		},
		"SL": {
			"a=1,sl=16:ALL;\n", []Stanza{{Name: "a", PKey: 1, Line: 1, Members: []StanzaMember{{Word: "ALL"}}}}, []Fault{{1, "sl=16: want 0 to 15", false}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, faults := ReadPartitions(tt.text)
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("stanzas: %s", d)
			}
			if d := cmp.Diff(tt.faults, faults); d != "" {
				t.Errorf("faults: %s", d)
			}
		})
	}
}

func drawPartition(t *rapid.T) Partition {
	p := Partition{
		Tenant: rapid.StringMatching(`[a-zA-Z][a-z0-9_. üé"#;-]{0,40}`).Draw(t, "tenant"),
		PKey:   ident.PKey(rapid.Uint16Range(1, 0x7ffe).Draw(t, "pkey")),
		SL:     ident.SL(rapid.Uint8Range(0, 15).Draw(t, "sl")),
		IPoIB:  rapid.Bool().Draw(t, "ipoib"),
		All:    rapid.Bool().Draw(t, "all"),
	}
	if p.IPoIB {
		p.MTU, p.Rate = rapid.Uint8Range(0, 5).Draw(t, "mtu"), rapid.Uint8Range(0, 20).Draw(t, "rate")
	}
	if !p.All {
		for _, g := range rapid.SliceOfNDistinct(rapid.Uint64Range(1, 1<<63), 1, 30, rapid.ID).Draw(t, "members") {
			p.Members = append(p.Members, Member{ident.GUID(g), rapid.Bool().Draw(t, "full")})
		}
		p.Members = joinMembers(p.Members, nil)
	}
	for _, sl := range rapid.SliceOfNDistinct(rapid.Uint8Range(0, 15), 0, 3, rapid.ID).Draw(t, "groups") {
		i := len(p.Groups) // each group has one member
		if ident.SL(sl) != p.SL && i < len(p.Members) {
			p.Groups = append(p.Groups, Group{SL: ident.SL(sl), Ports: []ident.GUID{p.Members[i].PortGUID}})
		}
	}
	p.Groups = normalGroups(p.Groups)
	return p
}

// A written partition is read back equal, whatever the tenant's name.
func TestPartitionsAreReadAsWritten(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := drawPartition(t)
		p.Groups = nil // which are not in this file
		text := stanza(p)
		for l := range strings.Lines(text) {
			if len(l) > partitionsLine {
				t.Fatalf("a line of %d bytes", len(l))
			}
		}
		got := Ours(Texts{Partitions: Text{Data: Block{}.With(text)}})
		want := p
		want.Tenant = stanzaName(p)
		if d := cmp.Diff([]Partition{want}, got); d != "" {
			t.Fatalf("%s\n%s", text, d)
		}
		if _, faults := ReadPartitions(text); len(faults) > 0 {
			t.Fatalf("%s\n%v", text, faults)
		}
	})
}

func TestNamesThatOpenSMCannotTakeAreReplaced(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"gold": "gold", "a-b_c.1": "a-b_c.1", "1st": "pkey-0010", "": "pkey-0010", "Default": "pkey-0010", "a;b": "pkey-0010",
		"a\nb": "pkey-0010", "söhne": "pkey-0010", strings.Repeat("x", 31): strings.Repeat("x", 31), strings.Repeat("x", 32): "pkey-0010",
	} {
		if got := stanzaName(Partition{Tenant: name, PKey: 0x10}); got != want {
			t.Errorf("%q is named %q, want %q", name, got, want)
		}
	}
}

func FuzzPartitions(f *testing.F) {
	f.Add("Default=0x7fff,ipoib:ALL=full;\na=1,sl=2,defmember=full:\n mgid=ff12::1,sl=1\n0x10;\n")
	f.Add("a=1:0x10,x;;;b:")
	f.Fuzz(func(t *testing.T, text string) {
		stanzas, faults := ReadPartitions(text)
		n := strings.Count(text, "\n") + 1
		for _, s := range stanzas {
			if s.Line < 1 || s.Line > n || s.SL > 15 || s.PKey > 0x7fff {
				t.Errorf("stanza %+v", s)
			}
		}
		for _, x := range faults {
			if x.Line < 1 || x.Line > n || x.Text == "" {
				t.Errorf("fault %+v", x)
			}
		}
	})
}
