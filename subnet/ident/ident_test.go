package ident_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fairlane/internal/testkit/zhtest"
	"fairlane/subnet/ident"
)

func TestParseGUID(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]ident.GUID{
		"0x0002c90300a1b2c3": 0x2c90300a1b2c3, "2c90300a1b2c3": 0x2c90300a1b2c3, "0002:c903:00a1:b2c3": 0x2c90300a1b2c3, "0X2C9": 0x2c9,
		" 0x1 ": 1, "0": 0, "ffffffffffffffff": 0xffffffffffffffff,
	} {
		if got, err := ident.ParseGUID(text); err != nil || got != want {
			t.Errorf("%q: %s, %v; want %s", text, got, err, want)
		}
	}
	for _, text := range []string{"", "0x", "0x0x1", "g", "10000000000000000", "00000000000000001", "1:2:3:4", "0002:c903:00a1", "0002:c903:00a1:b2c3:1", "-1", "+1", "1_0", "0002c903:00a1:b2:c3", "0002:c903:00a1:b2c"} {
		got, err := ident.ParseGUID(text)
		if err == nil {
			t.Errorf("%q is read as %s", text, got)
			continue
		}
		if !strings.Contains(err.Error(), "want 1 to 16 hexadecimal digits") {
			t.Errorf("%q: error %q lacks the allowed forms", text, err)
		}
		zhtest.Error(t, text, err)
	}
}

func TestParsePKey(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]ident.PKey{"0x7fff": 0x7fff, "0XFFFF": ident.DefaultPKey, "32769": 0x8001, "0": 0, " 5 ": 5, "010": 10} {
		if got, err := ident.ParsePKey(text); err != nil || got != want {
			t.Errorf("%q: %s, %v; want %s", text, got, err, want)
		}
	}
	for _, text := range []string{"", "0x", "7fff", "65536", "0x10000", "-1", "0b1", "0o7", "1_0", "0x_1"} {
		got, err := ident.ParsePKey(text)
		if err == nil {
			t.Errorf("%q is read as %s", text, got)
		}
		zhtest.Error(t, text, err)
	}
}

func TestPKeyParts(t *testing.T) {
	t.Parallel()
	for p, want := range map[ident.PKey]struct {
		base ident.PKey
		full bool
	}{0xffff: {0x7fff, true}, 0x7fff: {0x7fff, false}, 0x8001: {1, true}, 2: {2, false}} {
		if p.Base() != want.base || p.Full() != want.full {
			t.Errorf("%s: base %s, full %t", p, p.Base(), p.Full())
		}
	}
}

func TestLIDKinds(t *testing.T) {
	t.Parallel()
	for l, want := range map[ident.LID]bool{0: false, 1: true, 0xbfff: true, 0xc000: false, 0xfffe: false, ident.PermissiveLID: false} {
		if l.IsUnicast() != want {
			t.Errorf("LID %#x: unicast is %t", l, l.IsUnicast())
		}
	}
}

func TestParsePortID(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]ident.PortID{
		"0x0002c90300a1b2c3:1":  {Node: 0x2c90300a1b2c3, Port: 1},
		"2c9:254":               {Node: 0x2c9, Port: 254},
		"0002:c903:00a1:b2c3:0": {Node: 0x2c90300a1b2c3, Port: 0},
	} {
		if got, err := ident.ParsePortID(text); err != nil || got != want {
			t.Errorf("%q: %s, %v; want %s", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"":           "want GUID:PORT",
		"0x2c9":      "want GUID:PORT",
		"host:1":     "want 1 to 16 hexadecimal digits",
		"0x2c9:":     "want a port number from 0 to 254",
		"0x2c9:255":  "want a port number from 0 to 254",
		"0x2c9:-1":   "want a port number from 0 to 254",
		"0x2c9:0x1":  "want a port number from 0 to 254",
		"0x2c9:1000": "want a port number from 0 to 254",
	} {
		got, err := ident.ParsePortID(text)
		if err == nil {
			t.Errorf("%q is read as %s", text, got)
			continue
		}
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %q, want %q", text, err, want)
		}
		zhtest.Error(t, text, err)
	}
}

func TestPortIDsAreOrderedByNodeThenPort(t *testing.T) {
	t.Parallel()
	want := []ident.PortID{{Node: 1, Port: 2}, {Node: 1, Port: 10}, {Node: 2, Port: 1}, {Node: 1 << 63, Port: 0}}
	got := []ident.PortID{want[3], want[1], want[0], want[2]}
	slices.SortFunc(got, ident.PortID.Compare)
	if !slices.Equal(got, want) {
		t.Errorf("sorted: %v", got)
	}
	if want[0].Compare(want[0]) != 0 {
		t.Error("a port differs from itself")
	}
}

// all has one field of each type with a text form.
type all struct {
	GUID ident.GUID            `json:"guid"`
	PKey ident.PKey            `json:"pkey"`
	Port ident.PortID          `json:"port"`
	Map  map[ident.PortID]bool `json:"map"` // text forms serve as keys
}

func TestJSONRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		id := ident.PortID{Node: ident.GUID(rapid.Uint64().Draw(t, "node")), Port: ident.PortNum(rapid.Uint8Range(0, 254).Draw(t, "port"))}
		want := all{GUID: ident.GUID(rapid.Uint64().Draw(t, "guid")), PKey: ident.PKey(rapid.Uint16().Draw(t, "pkey")), Port: id, Map: map[ident.PortID]bool{id: true}}
		b, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		var got all
		if err := json.Unmarshal(b, &got); err != nil {
			t.Fatalf("%v in %s", err, b)
		}
		if got.GUID != want.GUID || got.PKey != want.PKey || got.Port != want.Port || !got.Map[id] {
			t.Fatalf("%s reads as %+v", b, got)
		}
	})
}

func TestJSONForms(t *testing.T) {
	t.Parallel()
	b, err := json.Marshal(all{GUID: 0x2c9, PKey: 0x8001, Port: ident.PortID{Node: 7, Port: 3}})
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"guid":"0x00000000000002c9","pkey":"0x8001","port":"0x0000000000000007:3","map":null}`
	if string(b) != want {
		t.Errorf("%s\nwant %s", b, want)
	}
	var p ident.PKey
	if err := json.Unmarshal([]byte("32769"), &p); err != nil || p != 0x8001 {
		t.Errorf("number: %s, %v", p, err)
	}
	for _, text := range []string{`null`, `1.5`, `-1`, `65536`, `"x"`, `{}`, `true`} {
		if err := json.Unmarshal([]byte(text), &p); err == nil {
			t.Errorf("%s is read as %s", text, p)
		}
	}
	var g ident.GUID
	var id ident.PortID
	if json.Unmarshal([]byte(`"zz"`), &g) == nil || json.Unmarshal([]byte(`"zz"`), &id) == nil {
		t.Error("nonsense is read")
	}
}

func FuzzParsers(f *testing.F) {
	for _, s := range []string{"0x0002c90300a1b2c3:1", "0002:c903:00a1:b2c3", "0x7fff", "32768"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if g, err := ident.ParseGUID(s); err == nil {
			if again, err := ident.ParseGUID(g.String()); err != nil || again != g {
				t.Errorf("%q: %s reads as %s, %v", s, g, again, err)
			}
		}
		if p, err := ident.ParsePortID(s); err == nil {
			if again, err := ident.ParsePortID(p.String()); err != nil || again != p {
				t.Errorf("%q: %s reads as %s, %v", s, p, again, err)
			}
		}
		if p, err := ident.ParsePKey(s); err == nil {
			if again, err := ident.ParsePKey(p.String()); err != nil || again != p {
				t.Errorf("%q: %s reads as %s, %v", s, p, again, err)
			}
		}
	})
}

func TestPortsPrintAsFmtWould(t *testing.T) {
	t.Parallel()
	for _, g := range []ident.GUID{0, 1, 0xf, 0x10, 0x0002c90300a1b2c3, 1 << 63, ^ident.GUID(0)} {
		for _, n := range []ident.PortNum{0, 1, 9, 10, 254, 255} {
			p := ident.PortID{Node: g, Port: n}
			if want := fmt.Sprintf("0x%016x:%d", uint64(g), n); p.String() != want {
				t.Errorf("port prints as %s, want %s", p, want)
			}
		}
	}
}
