package vfshare

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"fairlane/ccconfig/nic/nicfiles"
	"fairlane/ccconfig/nic/nicparam"
)

var errTool = errors.New("exit status 1: kernel answers: Operation not supported")

// tool is a fake devlink for a card in switchdev mode.
type tool struct {
	rates  map[string]Rate
	runs   []string
	refuse string // a word of commands that fail
	keep   bool   // commands to set are accepted and nothing happens
}

func handle(i int) string { return fmt.Sprintf("pci/0000:3b:00.0/%d", i+1) }

func newTool(functions int) *tool {
	k := &tool{rates: map[string]Rate{}}
	for i := range functions {
		k.rates[handle(i)] = Rate{TCBW: &[8]uint64{100}}
	}
	return k
}

func (k *tool) Run(ctx context.Context, args []string) ([]byte, error) {
	line := strings.Join(args, " ")
	k.runs = append(k.runs, line)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if k.refuse != "" && strings.Contains(line, k.refuse) {
		return nil, errTool
	}
	if slices.Contains(args, "show") {
		return k.print(), nil
	}
	if k.keep {
		return nil, nil
	}
	r, ok := k.rates[args[4]]
	if !ok {
		return nil, errTool
	}
	for i := 5; i < len(args); i++ {
		switch name := args[i]; name {
		case "tx_share", "tx_max", "tx_weight":
			i++
			number, unit := strings.TrimSuffix(args[i], "mbit"), uint64(1)
			if number != args[i] {
				unit = 125000
			}
			v, err := strconv.ParseUint(number, 10, 64)
			if err != nil {
				return nil, err
			}
			switch name {
			case "tx_share":
				r.TxShare = v * unit
			case "tx_max":
				r.TxMax = v * unit
			default:
				r.Weight = v
			}
		case "tc-bw":
			shares := [8]uint64{}
			for class := range shares {
				i++
				of, v, _ := strings.Cut(args[i], ":")
				if of != strconv.Itoa(class) {
					return nil, errTool
				}
				shares[class], _ = strconv.ParseUint(v, 10, 64)
			}
			r.TCBW = &shares
		default:
			return nil, errTool
		}
	}
	k.rates[args[4]] = r
	return nil, nil
}

// print prints rates as devlink does, without those that are zero.
func (k *tool) print() []byte {
	out := map[string]map[string]any{}
	for h, r := range k.rates {
		o := map[string]any{"type": "leaf"}
		for name, v := range map[string]uint64{"tx_share": r.TxShare, "tx_max": r.TxMax, "tx_weight": r.Weight} {
			if v != 0 {
				o[name] = v
			}
		}
		if r.TCBW != nil {
			classes := map[string]uint64{}
			for i, v := range r.TCBW {
				classes[strconv.Itoa(i)] = v
			}
			o["tc-bw"] = classes
		}
		out[h] = o
	}
	b, err := json.Marshal(map[string]any{"rate": out})
	if err != nil {
		panic(err)
	}
	return b
}

func table() *nicparam.Table {
	return nicparam.New(nicparam.Caps{Switchdev: true, TCRates: true, VFRates: true})
}

func device(t testing.TB, k *tool, functions int) *nicfiles.Device {
	t.Helper()
	var fs []Function
	for i := range functions {
		fs = append(fs, Function{Index: i, Handle: handle(i)})
	}
	w, err := NewDevlink(k, table(), 1, fs)
	if err != nil {
		t.Fatal(err)
	}
	return nicfiles.NewDevice(table(), w)
}

func set(name string, index int, v uint64) nicparam.Setting {
	return nicparam.Setting{Key: nicparam.Key{Port: 1, Name: name, Index: index}, Value: v}
}

func TestDevlinkSetsAFunctionByOneCommand(t *testing.T) {
	t.Parallel()
	k := newTool(3)
	d := device(t, k, 3)
	r, err := d.Set(t.Context(), []nicparam.Setting{
		set("vf_tx_max", 0, 10000), set("vf_tx_weight", 1, 4), set("vf_tx_share", 0, 2500), set("vf_tc_bw", 8+3, 60), set("vf_tc_bw", 8, 40),
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range r.Fields {
		if f.Outcome != nicfiles.Verified || f.By != nicparam.Devlink {
			t.Errorf("%s: %s by %s", f.Key, f.Outcome, f.By)
		}
	}
	want := map[string]Rate{
		handle(0): {TxShare: 2500 * 125000, TxMax: 10000 * 125000, TCBW: &[8]uint64{100}},
		handle(1): {Weight: 4, TCBW: &[8]uint64{0: 40, 3: 60}},
		handle(2): {TCBW: &[8]uint64{100}},
	}
	for h, r := range want {
		if got := k.rates[h]; got.TxShare != r.TxShare || got.TxMax != r.TxMax || got.Weight != r.Weight || *got.TCBW != *r.TCBW {
			t.Errorf("%s: %+v", h, got)
		}
	}
	sets := slices.DeleteFunc(slices.Clone(k.runs), func(r string) bool { return !strings.Contains(r, " set ") })
	if len(sets) != 2 || sets[0] != "port function rate set pci/0000:3b:00.0/1 tx_max 10000mbit tx_share 2500mbit" {
		t.Errorf("%q", sets)
	}
}

func TestDevlinkRejectionRestoresAllFunctions(t *testing.T) {
	t.Parallel()
	k := newTool(3)
	k.rates[handle(0)] = Rate{TxMax: 125000 * 7, TCBW: &[8]uint64{100}}
	before := maps.Clone(k.rates)
	k.refuse = "set " + handle(1)
	r, err := device(t, k, 3).Set(t.Context(), []nicparam.Setting{set("vf_tx_max", 0, 10), set("vf_tx_max", 1, 10), set("vf_tx_max", 2, 10)})
	if !errors.Is(err, nicfiles.ErrRefused) || errors.Is(err, nicfiles.ErrNotRestored) || !r.RolledBack {
		t.Fatalf("%v, %+v", err, r)
	}
	if r.Fields[2].Outcome != nicfiles.Skipped || r.Fields[1].Outcome != nicfiles.Refused {
		t.Errorf("%+v", r.Fields)
	}
	for h, want := range before {
		if got := k.rates[h]; got.TxMax != want.TxMax {
			t.Errorf("%s: %+v, was %+v", h, got, want)
		}
	}
}

func TestDevlinkReadings(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		mend func(*tool)
		key  nicparam.Key
		want uint64
		err  error
	}{
		{"nothing set", func(*tool) {}, nicparam.Key{Port: 1, Name: "vf_tx_max"}, 0, nil},
		{"weight never set", func(*tool) {}, nicparam.Key{Port: 1, Name: "vf_tx_weight"}, 0, nil},
		{"class", func(*tool) {}, nicparam.Key{Port: 1, Name: "vf_tc_bw", Index: 8}, 100, nil},
		{"no classes", func(k *tool) { k.rates[handle(0)] = Rate{} }, nicparam.Key{Port: 1, Name: "vf_tc_bw"}, 0, nicfiles.ErrAbsent},
		{"a rate between", func(k *tool) { k.rates[handle(0)] = Rate{TxMax: 125001} }, nicparam.Key{Port: 1, Name: "vf_tx_max"}, 0, nicfiles.ErrUnreadable},
		{"a removed function", func(k *tool) { delete(k.rates, handle(1)) }, nicparam.Key{Port: 1, Name: "vf_tx_max", Index: 1}, 0, nicfiles.ErrAbsent},
		{"no such function", func(*tool) {}, nicparam.Key{Port: 1, Name: "vf_tx_max", Index: 2}, 0, nicfiles.ErrAbsent},
		{"another port", func(*tool) {}, nicparam.Key{Port: 2, Name: "vf_tx_max"}, 0, nicfiles.ErrAbsent},
		{"another parameter", func(*tool) {}, nicparam.Key{Port: 1, Name: "rpg_gd"}, 0, nicfiles.ErrAbsent},
		{"program that fails", func(k *tool) { k.refuse = "show" }, nicparam.Key{Port: 1, Name: "vf_tx_max"}, 0, nicfiles.ErrUnreadable},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			k := newTool(2)
			c.mend(k)
			w, err := NewDevlink(k, table(), 1, []Function{{0, handle(0), ""}, {1, handle(1), ""}})
			if err != nil {
				t.Fatal(err)
			}
			r := w.Read(t.Context(), []nicparam.Key{c.key})[0]
			if !errors.Is(r.Err, c.err) || r.Value != c.want {
				t.Errorf("%d, %v", r.Value, r.Err)
			}
		})
	}
}

func TestDevlinkIgnoredWriteIsDetected(t *testing.T) {
	t.Parallel()
	k := newTool(1)
	k.keep = true
	if _, err := device(t, k, 1).Set(t.Context(), []nicparam.Setting{set("vf_tx_max", 0, 10)}); !errors.Is(err, nicfiles.ErrNotKept) {
		t.Error(err)
	}
}

func TestFunctionsThatCannotBe(t *testing.T) {
	t.Parallel()
	for _, f := range []Function{{Index: -1, Handle: "x"}, {Index: maxFunctions, Handle: "x"}, {Index: 0}} {
		if _, err := NewDevlink(newTool(0), table(), 1, []Function{f}); err == nil {
			t.Errorf("%+v was accepted", f)
		}
	}
	for _, n := range []int{0, maxFunctions + 1} {
		if _, err := NewLink(&links{}, table(), 1, "ens1f0np0", n); err == nil {
			t.Errorf("%d functions were accepted", n)
		}
	}
	if _, err := NewLink(&links{}, table(), 1, "", 1); err == nil {
		t.Error("an empty name was accepted")
	}
}

// links is a fake route netlink for a card in legacy mode.
type links struct {
	rates  []LinkRate
	refuse int // function whose rates are refused, from 1
	sets   int
	fail   error
}

func (l *links) Rates(_ context.Context, netdev string) ([]LinkRate, error) {
	if netdev != "ens1f0np0" {
		return nil, errors.New("no such device")
	}
	return slices.Clone(l.rates), l.fail
}

func (l *links) SetRate(_ context.Context, _ string, r LinkRate) error {
	l.sets++
	if l.refuse == r.Function+1 || r.Max != 0 && r.Min > r.Max {
		return errors.New("invalid argument")
	}
	l.rates[r.Function] = r
	return nil
}

func linkDevice(t testing.TB, l *links) *nicfiles.Device {
	t.Helper()
	w, err := NewLink(l, table(), 1, "ens1f0np0", 3)
	if err != nil {
		t.Fatal(err)
	}
	return nicfiles.NewDevice(table(), w)
}

func TestLinkSetsBothRatesOfAFunctionTogether(t *testing.T) {
	t.Parallel()
	l := &links{rates: []LinkRate{{0, 0, 100}, {1, 0, 0}, {2, 5, 0}}}
	r, err := linkDevice(t, l).Set(t.Context(), []nicparam.Setting{set("vf_tx_share", 0, 200), set("vf_tx_max", 0, 400), set("vf_tx_max", 2, 9)})
	if err != nil {
		t.Fatal(err)
	}
	if want := []LinkRate{{0, 200, 400}, {1, 0, 0}, {2, 5, 9}}; !slices.Equal(l.rates, want) || l.sets != 2 || r.Fields[0].By != nicparam.Link {
		t.Errorf("%v by %d requests", l.rates, l.sets)
	}
	for _, x := range linkDevice(t, l).ReadAll(t.Context()) {
		if x.Name != "vf_tx_share" && x.Name != "vf_tx_max" {
			t.Errorf("legacy mode has %s", x.Key)
		}
	}
}

func TestLinkThatRefusesLeavesAllAsItWas(t *testing.T) {
	t.Parallel()
	l := &links{rates: []LinkRate{{0, 0, 100}, {1, 0, 0}, {2, 5, 0}}, refuse: 2}
	before := slices.Clone(l.rates)
	_, err := linkDevice(t, l).Set(t.Context(), []nicparam.Setting{set("vf_tx_max", 0, 50), set("vf_tx_max", 1, 50), set("vf_tx_max", 2, 50)})
	if !errors.Is(err, nicfiles.ErrRefused) || errors.Is(err, nicfiles.ErrNotRestored) || !slices.Equal(before, l.rates) {
		t.Errorf("%v, %v", err, l.rates)
	}
	l.fail = errors.New("no buffer space")
	if _, err := linkDevice(t, l).Set(t.Context(), []nicparam.Setting{set("vf_tx_max", 0, 50)}); !errors.Is(err, nicfiles.ErrUnreadable) {
		t.Error(err)
	}
	l.fail = nil
	if _, err := linkDevice(t, l).Set(t.Context(), []nicparam.Setting{set("vf_tx_weight", 0, 5)}); !errors.Is(err, nicfiles.ErrAbsent) {
		t.Errorf("weights in legacy mode: %v", err)
	}
}

func BenchmarkReadRates(b *testing.B) {
	k := newTool(128)
	d := device(b, k, 128)
	b.ReportAllocs()
	for b.Loop() {
		if got := d.ReadAll(b.Context()); len(got) != 128*11 {
			b.Fatal(len(got))
		}
		k.runs = k.runs[:0]
	}
}
