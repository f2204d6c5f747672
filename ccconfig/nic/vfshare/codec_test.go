package vfshare

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// Output of devlink, written by hand after devlink-rate(8) and devlink-port(8).
const (
	modeText  = `{"dev":{"pci/0000:3b:00.0":{"mode":"switchdev","inline-mode":"none","encap-mode":"basic"}}}`
	portsText = `{"port":{
		"pci/0000:3b:00.0/65535":{"type":"eth","netdev":"ens1f0np0","flavour":"physical","port":0,"splittable":false},
		"pci/0000:3b:00.0/2":{"type":"eth","netdev":"ens1f0npf0vf1","flavour":"pcivf","controller":0,"pfnum":0,"vfnum":1,"external":false,"splittable":false,"function":{"hw_addr":"00:00:00:00:00:00"}},
		"pci/0000:3b:00.0/1":{"type":"eth","netdev":"ens1f0npf0vf0","flavour":"pcivf","controller":0,"pfnum":0,"vfnum":0,"external":false,"splittable":false},
		"pci/0000:3b:00.0/7":{"type":"eth","netdev":"other","flavour":"pcivf","controller":1,"pfnum":0,"vfnum":0,"external":true},
		"pci/0000:3b:00.1/1":{"type":"eth","flavour":"pcivf","controller":0,"pfnum":1,"vfnum":0}}}`
	ratesText = `{"rate":{
		"pci/0000:3b:00.0/1":{"type":"leaf","tx_share":125000000,"tx_max":1250000000,"tx_weight":4,"parent":"g","tc-bw":{"0":20,"5":80}},
		"pci/0000:3b:00.0/2":{"type":"leaf"},
		"pci/0000:3b:00.0/g":{"type":"node","tx_max":1250000000}}}`
)

func TestDevlinkOutputIsParsed(t *testing.T) {
	t.Parallel()
	if m, err := ParseMode([]byte(modeText), "0000:3b:00.0"); err != nil || m != Switchdev {
		t.Errorf("%q %v", m, err)
	}
	functions, err := ParsePorts([]byte(portsText), "0000:3b:00.0", 0)
	want := []Function{{0, "pci/0000:3b:00.0/1", "ens1f0npf0vf0"}, {1, "pci/0000:3b:00.0/2", "ens1f0npf0vf1"}}
	if d := cmp.Diff(want, functions); d != "" || err != nil {
		t.Errorf("%s %v", d, err)
	}
	rates, err := ParseRates([]byte(ratesText))
	wantRates := map[string]Rate{
		"pci/0000:3b:00.0/1": {TxShare: 125000000, TxMax: 1250000000, Weight: 4, Parent: "g", TCBW: &[8]uint64{0: 20, 5: 80}},
		"pci/0000:3b:00.0/2": {},
	}
	if d := cmp.Diff(wantRates, rates); d != "" || err != nil {
		t.Errorf("%s %v", d, err)
	}
	listed, err := ParseRates([]byte(`{"rate":{"pci/0000:3b:00.0/1":{"type":"leaf","tc-bw":[{"0":20},{"5":80}]}}}`))
	if err != nil || *listed["pci/0000:3b:00.0/1"].TCBW != [8]uint64{0: 20, 5: 80} {
		t.Errorf("%v %v", listed, err)
	}
	if none, err := ParseRates([]byte("\n")); err != nil || len(none) != 0 {
		t.Errorf("a host without devlink devices: %v %v", none, err)
	}
}

func TestInvalidDevlinkOutputNamesThePart(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, text string
		parse      func([]byte) error
		wantText   string
	}{
		{"no JSON", "Failed to connect to devlink Netlink", rates, "JSON"},
		{"another section", `{"port":{}}`, rates, `no "rate"`},
		{"a rate in words", `{"rate":{"pci/0000:3b:00.0/1":{"type":"leaf","tx_max":"10Gbit"}}}`, rates, "pci/0000:3b:00.0/1 tx_max"},
		{"a negative rate", `{"rate":{"pci/0000:3b:00.0/1":{"type":"leaf","tx_share":-1}}}`, rates, "found -1"},
		{"class 8", `{"rate":{"pci/0000:3b:00.0/1":{"type":"leaf","tc-bw":{"8":1}}}}`, rates, "classes 0..7"},
		{"class in a word", `{"rate":{"pci/0000:3b:00.0/1":{"type":"leaf","tc-bw":"0:20"}}}`, rates, "tc-bw"},
		{"too much", strings.Repeat(" ", MaxBytes+1), rates, "at most 8388608"},
		{"no mode", `{"dev":{"pci/0000:3b:00.0":{}}}`, mode, "no mode"},
		{"another mode", `{"dev":{"pci/0000:3b:00.0":{"mode":"switchdev_inactive"}}}`, mode, "want legacy or switchdev"},
		{"another card's mode", `{"dev":{"pci/0000:5e:00.0":{"mode":"legacy"}}}`, mode, "no mode"},
		{"a function without a number", `{"port":{"pci/0000:3b:00.0/1":{"flavour":"pcivf","pfnum":0}}}`, ports, "vfnum"},
		{"function 4096", `{"port":{"pci/0000:3b:00.0/1":{"flavour":"pcivf","pfnum":0,"vfnum":4096}}}`, ports, "0..4095"},
		{"a function twice", `{"port":{"pci/0000:3b:00.0/1":{"flavour":"pcivf","pfnum":0,"vfnum":1},"pci/0000:3b:00.0/2":{"flavour":"pcivf","pfnum":0,"vfnum":1}}}`, ports, "function 1 twice"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			err := c.parse([]byte(c.text))
			var f *FormatError
			if !errors.As(err, &f) || !strings.Contains(err.Error(), c.wantText) {
				t.Errorf("%v does not contain %q", err, c.wantText)
			}
		})
	}
}

func rates(b []byte) error { _, err := ParseRates(b); return err }
func mode(b []byte) error  { _, err := ParseMode(b, "0000:3b:00.0"); return err }
func ports(b []byte) error { _, err := ParsePorts(b, "0000:3b:00.0", 0); return err }

// Any rates are read back equal from the output of the fake program.
func TestRatesAreReadBackAsWritten(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		k := newTool(rapid.IntRange(0, 9).Draw(t, "functions"))
		for h := range k.rates {
			k.rates[h] = Rate{
				TxShare: rapid.Uint64().Draw(t, "share"), TxMax: rapid.Uint64().Draw(t, "max"), Weight: rapid.Uint64().Draw(t, "weight"),
				TCBW: &[8]uint64{3: rapid.Uint64().Draw(t, "class")},
			}
		}
		got, err := ParseRates(k.print())
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(k.rates, got); d != "" {
			t.Fatal(d)
		}
	})
}

func FuzzParseRates(f *testing.F) {
	f.Add([]byte(ratesText))
	f.Add([]byte(`{"rate":{"a":{"type":"leaf","tc-bw":[{"0":1},{"1":2}],"tx_weight":"7"}}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		if _, err := ParseRates(b); err != nil {
			var e *FormatError
			if !errors.As(err, &e) {
				t.Errorf("%T", err)
			}
		}
	})
}

func FuzzParsePorts(f *testing.F) {
	f.Add([]byte(portsText))
	f.Fuzz(func(t *testing.T, b []byte) {
		functions, err := ParsePorts(b, "0000:3b:00.0", 0)
		for i, v := range functions {
			if v.Index < 0 || v.Index >= maxFunctions || i > 0 && v.Index <= functions[i-1].Index {
				t.Errorf("%v", functions)
			}
		}
		if mode, merr := ParseMode(b, "0000:3b:00.0"); merr == nil && mode != Legacy && mode != Switchdev {
			t.Errorf("%q", mode)
		}
		_ = err
	})
}
