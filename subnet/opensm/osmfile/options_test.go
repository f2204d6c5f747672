package osmfile

import (
	"strings"
	"testing"

	"fairlane/subnet/ident"
)

func TestOptionsAreReadAsOpenSMReadsThem(t *testing.T) {
	t.Parallel()
	long := strings.Repeat(" ", optionsLine-7) + "qos_max_vls 5\n" // cut inside the key
	for name, tt := range map[string]struct{ text, key, want string }{
		"plain":                     {"qos_policy_file /a b\n", "qos_policy_file", "/a b"},
		"the last line counts":      {"lmc 1\nlmc 2\n", "lmc", "2"},
		"a comment behind":          {"lmc 1 # one\n", "lmc", "1"},
		"a comment in the value":    {"log_prefix a#b\n", "log_prefix", "a"},
		"quotes":                    {"log_prefix \"  a b \"\n", "log_prefix", "  a b "},
		"one quote":                 {"log_prefix \"a#\"\n", "log_prefix", "\"a"},
		"a quote alone":             {"log_prefix \"\n", "log_prefix", ""},
		"blanks before":             {"\t lmc\t 3 \t\n", "lmc", "3"},
		"carriage return":           {"lmc 3\r\n", "lmc", "3"},
		"nothing":                   {"lmc\n", "lmc", ""},
		"OpenSM's default":          {"routing_engine updn\nrouting_engine (null)\n", "routing_engine", "-"},
		"commented out":             {"#lmc 3\n# lmc 3\n", "lmc", "-"},
		"a line that is too long":   {long, "_vls", "5"},
		"the text before the limit": {"lmc " + strings.Repeat("1", 2000) + "\n", "lmc", strings.Repeat("1", optionsLine-4)},
		"no line end":               {"lmc 7", "lmc", "7"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, ok := ReadOptions(tt.text).Text(tt.key)
			if !ok {
				got = "-"
			}
			if got != tt.want {
				t.Errorf("%s is %q, want %q", tt.key, got, tt.want)
			}
		})
	}
}

func TestOnlyTRUEInCapitalsIsTrue(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"TRUE": true, "TRUE # yes": true, `"TRUE"`: true,
		"true": false, "True": false, "1": false, "yes": false, "TRUEx": false, "TRUE and more": false, "": false,
	} {
		if got := ReadOptions("qos " + text + "\n").Bool("qos"); got != want {
			t.Errorf("qos %s is %v, want %v", text, got, want)
		}
	}
}

func TestOptionsOfTheSubnetManager(t *testing.T) {
	t.Parallel()
	o := ReadOptions("guid 0x0002c90300001234\nsubnet_prefix 0xfe80000000000001\n")
	if o.PortGUID() != 0x0002c90300001234 || o.SubnetPrefix() != 0xfe80000000000001 {
		t.Errorf("guid %s, prefix %x", o.PortGUID(), o.SubnetPrefix())
	}
	o = ReadOptions("guid 0x0000000000000000\nsubnet_prefix nonsense\n")
	if o.PortGUID() != 0 || o.SubnetPrefix() != 0xfe80000000000000 {
		t.Errorf("guid %s, prefix %x", o.PortGUID(), o.SubnetPrefix())
	}
	if o = ReadOptions(""); o.PortGUID() != 0 || o.SubnetPrefix() != 0xfe80000000000000 {
		t.Errorf("guid %s, prefix %x", o.PortGUID(), o.SubnetPrefix())
	}
}

func TestAKindWithoutAMapHasThatOfAll(t *testing.T) {
	t.Parallel()
	o := ReadOptions("qos_sl2vl 1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,15\nqos_ca_sl2vl 0,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2\nqos_rtr_sl2vl 1,2\n")
	for kind, want := range map[PortKind]ident.VL{AdapterPort: 2, SwitchPort: 15, AllPorts: 15} {
		if m, ok := o.SL2VL(kind); !ok || m[15] != want {
			t.Errorf("SL 15 of %q is on VL %d, %v; want %d", kind, m[15], ok, want)
		}
	}
	if _, ok := o.SL2VL(RouterPort); ok {
		t.Error("a map of two is one")
	}
	if m, ok := ReadOptions("").SL2VL(SwitchPort); !ok || m[14] != 14 || m[15] != 7 {
		t.Errorf("OpenSM's own map is %v", m)
	}
}

func TestLanesThatOpenSMCannotHoldAreRefused(t *testing.T) {
	t.Parallel()
	limit := func(n int) *int { return &n }
	bad := [ident.NumSLs]ident.VL{16}
	for want, l := range map[string]Lanes{
		`kind of ports "x"`:             {Kind: "x"},
		"16 data lanes: want 1 to 15":   {MaxVLs: 16},
		"high limit 256: want 0 to 255": {HighLimit: limit(256)},
		"65 entries":                    {Low: make([]VLWeight, 65)},
		"VL 15 in an arbitration table": {High: []VLWeight{{VL: 15}}},
		"SL 0 on VL 16":                 {SL2VL: &bad},
	} {
		if got := l.check(); !strings.Contains(got, want) {
			t.Errorf("%+v: %q, want %q", l, got, want)
		}
	}
	if got := (Lanes{Kind: AdapterPort, MaxVLs: 15, HighLimit: limit(0)}).check(); got != "" {
		t.Error(got)
	}
}

func FuzzOptions(f *testing.F) {
	f.Add("qos TRUE\nqos_ca_sl2vl 0,1\n# fairlane end\n")
	f.Add(strings.Repeat("x", 3000))
	f.Fuzz(func(t *testing.T, text string) {
		o := ReadOptions(text)
		for _, x := range o.all {
			if x.key == "" || x.line < 1 || strings.ContainsAny(x.key, blanks) {
				t.Errorf("option %+v", x)
			}
		}
		_, _ = o.SL2VL(AdapterPort)
		_ = o.turns(SwitchPort, true)
	})
}
