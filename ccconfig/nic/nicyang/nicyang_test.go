package nicyang_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"pgregory.net/rapid"

	"fairlane/ccconfig/gnmi/gnmitree"
	"fairlane/ccconfig/nic/nicparam"
	"fairlane/ccconfig/nic/nicyang"
	"fairlane/subnet/ident"
	"fairlane/wrcc"
)

// statement is a statement of a YANG module (RFC 7950, 6.3).
type statement struct {
	keyword, argument string
	below             []*statement
}

func (s *statement) find(keyword string) *statement {
	for _, b := range s.below {
		if b.keyword == keyword {
			return b
		}
	}
	return nil
}

// parseYANG reads a module that has no string concatenation.
func parseYANG(t *testing.T, text string) *statement {
	t.Helper()
	var tokens []string
	for rest := text; ; {
		rest = strings.TrimLeft(rest, " \n\t")
		if rest == "" {
			break
		}
		end := 1
		switch c := rest[0]; {
		case c == '"' || c == '\'':
			end = 2 + strings.IndexByte(rest[1:], c)
			if end < 2 {
				t.Fatalf("a string without an end: %.40s", rest)
			}
		case strings.IndexByte("{};", c) < 0:
			end = strings.IndexAny(rest, " \n\t{};")
		}
		tokens, rest = append(tokens, rest[:end]), rest[end:]
	}
	var statements func() []*statement
	statements = func() []*statement {
		var out []*statement
		for len(tokens) > 0 && tokens[0] != "}" {
			s := &statement{keyword: tokens[0]}
			tokens = tokens[1:]
			if tokens[0] != "{" && tokens[0] != ";" {
				s.argument = strings.Trim(tokens[0], `"'`)
				tokens = tokens[1:]
			}
			switch tokens[0] {
			case ";":
				tokens = tokens[1:]
			case "{":
				tokens = tokens[1:]
				s.below = statements()
				if len(tokens) == 0 {
					t.Fatalf("%s %s has no end", s.keyword, s.argument)
				}
				tokens = tokens[1:]
			default:
				t.Fatalf("found %q after %s %s, want a brace or a semicolon", tokens[0], s.keyword, s.argument)
			}
			out = append(out, s)
		}
		return out
	}
	all := statements()
	if len(tokens) > 0 || len(all) != 1 || all[0].keyword != "module" {
		t.Fatalf("%d statements and %q, want one module", len(all), tokens)
	}
	return all[0]
}

// leavesOf lists a module's leaves as nicyang.Leaves does.
func leavesOf(t *testing.T, m *statement) []nicyang.Leaf {
	t.Helper()
	groupings := map[string]*statement{}
	types := map[string]string{}
	for _, s := range m.below {
		switch s.keyword {
		case "grouping":
			groupings[s.argument] = s
		case "typedef":
			types[s.argument] = s.find("type").argument
		}
	}
	kinds := map[string]gnmitree.Kind{"string": gnmitree.KindString, "enumeration": gnmitree.KindString, "uint64": gnmitree.KindUint64, "uint32": gnmitree.KindUint32,
		"uint16": gnmitree.KindUint32, "uint8": gnmitree.KindUint32, "boolean": gnmitree.KindBool}
	var out []nicyang.Leaf
	var walk func(s *statement, path []string, config bool)
	walk = func(s *statement, path []string, config bool) {
		if s.find("description") == nil && s.keyword != "module" {
			t.Errorf("%s %s has no description", s.keyword, s.argument)
		}
		if c := s.find("config"); c != nil {
			config = c.argument == "true"
		}
		keys := ""
		if s.keyword == "list" {
			keys = " " + s.find("key").argument + " "
		}
		for _, b := range s.below {
			at := append(path[:len(path):len(path)], b.argument)
			switch b.keyword {
			case "container", "list":
				walk(b, at, config)
			case "uses":
				g := groupings[b.argument]
				if g == nil {
					t.Fatalf("uses %s: no such grouping", b.argument)
				}
				walk(g, path, config)
			case "leaf", "leaf-list":
				name := b.find("type").argument
				if types[name] != "" {
					name = types[name]
				}
				kind, ok := kinds[name]
				if !ok {
					t.Errorf("leaf %v has type %s", at, name)
				}
				if b.keyword == "leaf-list" {
					kind = gnmitree.KindList
				}
				if b.find("description") == nil {
					t.Errorf("%s %v has no description", b.keyword, at)
				}
				if strings.Contains(keys, " "+b.argument+" ") {
					if kind != gnmitree.KindString && kind != gnmitree.KindUint64 {
						t.Errorf("key %v has type %s, which JSON_IETF does not write as a string", at, name)
					}
					continue
				}
				out = append(out, nicyang.Leaf{Path: strings.Join(at, "/"), Kind: kind, Config: config})
			}
		}
	}
	walk(m, nil, true)
	return out
}

func TestTheTableOfLeavesIsTheModule(t *testing.T) {
	t.Parallel()
	m := parseYANG(t, nicyang.Text())
	if m.argument != nicyang.Module || m.find("revision").argument != nicyang.Revision || m.find("organization").argument != nicyang.Organization || m.find("yang-version").argument != "1.1" {
		t.Errorf("module %s of %s, revision %s", m.argument, m.find("organization").argument, m.find("revision").argument)
	}
	index := func(all []nicyang.Leaf) map[string]nicyang.Leaf {
		out := map[string]nicyang.Leaf{}
		for _, l := range all {
			if _, twice := out[l.Path]; twice {
				t.Errorf("%s exists twice", l.Path)
			}
			l.Sampled = false // the YANG text does not define it
			out[l.Path] = l
		}
		return out
	}
	if d := cmp.Diff(index(leavesOf(t, m)), index(nicyang.Leaves())); d != "" {
		t.Errorf("module (-), table (+):\n%s", d)
	}
}

func TestTheModuleHasTheWordsOfTheParameterTable(t *testing.T) {
	t.Parallel()
	words := map[string]bool{}
	var walk func(*statement)
	walk = func(s *statement) {
		if s.keyword == "enum" {
			words[s.argument] = true
		}
		for _, b := range s.below {
			walk(b)
		}
	}
	walk(parseYANG(t, nicyang.Text()))
	want := []string{string(nicparam.CostLive), string(nicparam.CostDisruptive), string(nicparam.CostReset), string(nicparam.Runtime), string(nicparam.NonVolatile),
		string(nicparam.NeedsGeneralCC), string(nicparam.NeedsNewNV), string(nicparam.NeedsSwitchdev), string(nicparam.NeedsTCRates),
		string(nicparam.Debugfs), string(nicparam.Sysfs), string(nicparam.NV), string(nicparam.DCB), string(nicparam.Configfs), string(nicparam.Devlink), string(nicparam.Link), string(nicparam.DMS), string(nicparam.NeedsVFRates)}
	for _, w := range want {
		if !words[w] {
			t.Errorf("the module has no enum %s", w)
		}
	}
}

func TestParseInvertsPathConstructors(t *testing.T) {
	t.Parallel()
	peer := ident.PortID{Node: 0x0c42a10300a10000, Port: 1}
	rapid.Check(t, func(t *rapid.T) {
		nic := rapid.StringMatching(`[a-z0-9:./\[\]=\\-]{1,20}`).Draw(t, "nic")
		k := nicparam.Key{Port: rapid.IntRange(0, nicparam.MaxPorts).Draw(t, "port"), Name: rapid.StringMatching(`[a-z_0-9]{1,20}`).Draw(t, "name"), Index: rapid.IntRange(0, 32767).Draw(t, "index")}
		at := nicyang.ParamValue(nic, k)
		text, err := gnmitree.ParsePath(at.String())
		if err != nil || !text.Equal(at) {
			t.Fatalf("%s: %v", at, err)
		}
		got, err := nicyang.Parse(at)
		if d := cmp.Diff(nicyang.Target{Part: nicyang.PartParam, NIC: nic, Key: k}, got); err != nil || d != "" {
			t.Fatal(err, d)
		}
		sender := rapid.StringN(1, 40, -1).Draw(t, "sender")
		port := rapid.IntRange(1, nicparam.MaxPorts).Draw(t, "port of senders")
		got, err = nicyang.Parse(nicyang.Peer(nic, port, sender, peer).Child("config").Child("shift"))
		want := nicyang.Target{Part: nicyang.PartPeerWeight, NIC: nic, Key: nicparam.Key{Port: port}, Sender: sender, Peer: peer, Leaf: "shift"}
		if d := cmp.Diff(want, got); err != nil || d != "" {
			t.Fatal(err, d)
		}
	})
}

func TestEveryLeafOfConfigurationIsUnderstoodAndNoOther(t *testing.T) {
	t.Parallel()
	for _, l := range nicyang.Leaves() {
		var p gnmitree.Path
		for _, name := range strings.Split(l.Path, "/") {
			var keys []gnmitree.Key
			for _, k := range nicyang.Schema().Keys(gnmitree.PathOf(name)) {
				v := map[string]string{"number": "1", "index": "0", "port": "0x0c42a10300a10000:1"}[k]
				if name == "params" || name == "nics" || name == "ports" {
					break
				}
				if v == "" {
					v = "x"
				}
				keys = append(keys, gnmitree.Key{Name: k, Value: v})
			}
			p = p.Child(name, keys...)
		}
		_, err := nicyang.Parse(p)
		if (err == nil) != l.Config {
			t.Errorf("%s, config %t: %v", p, l.Config, err)
		}
		var bad *nicyang.PathError
		if err != nil && (!errors.As(err, &bad) || bad.Allowed == "") {
			t.Errorf("%v", err)
		}
	}
}

func TestInvalidPathsAreRejected(t *testing.T) {
	t.Parallel()
	for path, wantText := range map[string]string{
		"/elsewhere":                                                   "a node below /nics",
		"/agent/apply/config/who":                                      "a node below /nics",
		"/nics/nic":                                                    "nic[name=…]",
		"/nics/nic[name=a]/ports/port[number=0]":                       "port[number=1..16]",
		"/nics/nic[name=a]/ports/port[number=17]":                      "port[number=1..16]",
		"/nics/nic[name=a]/ports/port[number=01]":                      "port[number=1..16]",
		"/nics/nic[name=a]/ports/params":                               "port[number=…]",
		"/nics/nic[name=a]/params/param[index=0]":                      "param[name=…]",
		"/nics/nic[name=a]/params/param[name=x][index=-1]":             "a decimal number",
		"/nics/nic[name=a]/params/param[name=x][index=0]/config/other": "config/value",
		"/nics/nic[name=a]/wrcc":                                       "can be written",
		"/nics/nic[name=a]/ports/port[number=1]/wrcc/config/other":     "a leaf of",
		"/nics/nic[name=a]/ports/port[number=1]/wrcc/senders/sender":   "sender[name=…]",
		"/nics/nic[name=a]/ports/port[number=1]/wrcc/senders/sender[name=s]/peers/peer[port=7]":    "peer[port=0x",
		"/nics/nic[name=a]/ports/port[number=1]/wrcc/senders/sender[name=s]/state/tx-octets":       "config of wrcc",
		"/nics/nic[name=a]/ports/port[number=1]/counters/counter[name=np_cnp_sent]/state/value":    "can be written",
		"/nics/nic[name=a]/ports/port[number=1]/params/param[name=x][index=0]/state/pending-reset": "config/value",
	} {
		p, err := gnmitree.ParsePath(path)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := nicyang.Parse(p); err == nil || !strings.Contains(err.Error(), wantText) || !strings.Contains(err.Error(), "found") {
			t.Errorf("%s: %+v, %v, want an error with %q", path, got, err, wantText)
		}
	}
}

func TestFailuresSurviveEncoding(t *testing.T) {
	t.Parallel()
	want := []nicyang.Failure{
		{Reason: nicyang.ReasonInvalid, Path: "/a", NIC: "eth-a", Key: nicparam.Key{Port: 1, Name: "rpg_gd", Index: 3}, Found: "12", Allowed: "10..11", Text: "words"},
		{Reason: nicyang.ReasonNotRestored, Path: "/b", Text: "more"},
	}
	err := nicyang.StatusError(codes.DataLoss, "all", want)
	if status.Code(err) != codes.DataLoss || status.Convert(err).Message() != "all" {
		t.Error(err)
	}
	if d := cmp.Diff(want, nicyang.Failures(fmt.Errorf("wrapped: %w", err))); d != "" {
		t.Error(d)
	}
	many := make([]nicyang.Failure, 2*nicyang.MaxFailures)
	if n := len(nicyang.Failures(nicyang.StatusError(codes.Aborted, "x", many))); n != nicyang.MaxFailures {
		t.Errorf("%d failures", n)
	}
	if f := nicyang.Failures(errors.New("other")); f != nil {
		t.Error(f)
	}
}

func TestSendersAsAValueAndBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := &wrcc.NICConfig{Domain: rapid.Uint16().Draw(t, "domain"), T1Us: rapid.Uint16Min(1).Draw(t, "t1"), MinRateMbps: rapid.Uint32Min(1).Draw(t, "min"), Increase: rapid.SampledFrom([]string{"ask", "timer"}).Draw(t, "increase")}
		weight := rapid.Custom(func(t *rapid.T) wrcc.FixedWeight {
			return wrcc.FixedWeight{Multiplier: rapid.Uint16Min(1).Draw(t, "multiplier"), Shift: rapid.Uint8Range(0, 15).Draw(t, "shift")}
		})
		for i := range rapid.IntRange(0, 3).Draw(t, "senders") {
			s := wrcc.SenderWeight{Name: fmt.Sprintf("t%d/[x]=/y", i), Weight: weight.Draw(t, "weight")}
			for j := range rapid.IntRange(0, 2).Draw(t, "peers") {
				s.Peers = append(s.Peers, wrcc.PeerWeight{Port: ident.PortID{Node: 7, Port: ident.PortNum(j)}, Weight: weight.Draw(t, "weight")})
			}
			c.Senders = append(c.Senders, s)
		}
		// A manager's value, as an agent takes it apart.
		at := nicyang.WRCC("n", 1)
		leaves, err := gnmitree.Flatten(at, nicyang.WRCCValue(c), nicyang.Schema())
		if err != nil {
			t.Fatal(err)
		}
		got := &wrcc.NICConfig{}
		for _, l := range leaves {
			target, err := nicyang.Parse(l.Path)
			if err != nil || target.Leaf == "" {
				continue // a key
			}
			if err := nicyang.SetWRCC(got, target, l.Value); err != nil {
				t.Fatal(err)
			}
		}
		if d := cmp.Diff(c, got); d != "" {
			t.Fatal(d)
		}
		// An agent's answer, as a manager reads it.
		answer := gnmitree.Compose(nicyang.Port("n", 1), nicyang.WRCCLeaves("n", 1, c), gnmitree.EncodingJSONIETF, nicyang.Module)
		v, err := nicyang.DecodePort(answer)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(c, v.WRCC.NICConfig()); d != "" {
			t.Fatal(d)
		}
	})
}

func FuzzDecodePort(f *testing.F) {
	f.Add([]byte(`{"fairlane-nic:number":"1","params":{"param":[{"name":"a","index":"0","config":{"value":"7"}},{"name":"b","index":1,"config":{}}]}}`))
	f.Add([]byte(`{"wrcc":{"config":{"domain":1},"senders":{"sender":[{"name":"x"}]}},"state":{"id":"0x0c42a10300a10000:1"},"counters":{"counter":[{}]}}`))
	f.Add([]byte(`{"counter-sets":{"state":{"problem":"x"},"counter-set":[{"id":"3","state":{"mode":"auto","pid":7,"qps":[17]},"counters":{"counter":[{"name":"a","state":{"value":"1"}}]}}]}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		v, err := nicyang.DecodePort(b)
		if err != nil {
			return
		}
		for _, s := range v.Set(1) {
			if s.Index < 0 {
				t.Errorf("%+v", s)
			}
		}
		v.WRCC.NICConfig()
	})
}

func FuzzParse(f *testing.F) {
	f.Add("/nics/nic[name=a]/ports/port[number=1]/params/param[name=x][index=0]/config/value")
	f.Add("/nics/nic[name=a]/ports/port[number=1]/wrcc/senders/sender[name=s]/peers/peer[port=0x0c42a10300a10000:1]/config/shift")
	f.Fuzz(func(t *testing.T, s string) {
		p, err := gnmitree.ParsePath(s)
		if err != nil {
			return
		}
		got, err := nicyang.Parse(p)
		var bad *nicyang.PathError
		if (err != nil) != (got == nicyang.Target{}) && p.String() != "/" || err != nil && !errors.As(err, &bad) {
			t.Errorf("%s: %+v, %v", p, got, err)
		}
	})
}

func TestPathsOfParametersBelowTheirPort(t *testing.T) {
	t.Parallel()
	for _, port := range []int{0, 2} {
		k := nicparam.Key{Port: port, Name: "tc_bw", Index: 3}
		got := nicyang.ParamOf(nicyang.Params("a", port), k)
		if !got.Equal(nicyang.Param("a", k)) {
			t.Errorf("%s, want %s", got, nicyang.Param("a", k))
		}
		if target, err := nicyang.Parse(got); err != nil || target.Key != k || target.NIC != "a" {
			t.Errorf("%s means %+v (%v)", got, target, err)
		}
	}
}
