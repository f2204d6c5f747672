package nicparam

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"fairlane/ccconfig/dcqcn"
)

// everything returns the capabilities of a device that has all of them.
func everything(l dcqcn.Limits) Caps {
	return Caps{Limits: l, GeneralCC: true, NewNV: true, Switchdev: true, TCRates: true, Bnxt: true}
}

func allLimits() []dcqcn.Limits {
	return []dcqcn.Limits{{}, {Rate32: true}, {UndocumentedGD: true}, {Rate32: true, UndocumentedGD: true}}
}

// ends are the limits of a row, written by hand: the minimum, and the maximum on devices with 17-bit and with 32-bit
// rates.
type ends struct{ low, narrow, wide uint64 }

func handWritten() map[string]ends {
	const n, w = 131071, 4294967295
	same := func(low, high uint64) ends { return ends{low, high, high} }
	return map[string]ends{
		"clamp_tgt_rate": same(0, 1), "clamp_tgt_rate_after_time_inc": same(0, 1), "rpg_time_reset": same(1, n),
		"rpg_byte_reset": {0, 32767, w}, "rpg_threshold": same(0, 31), "rpg_max_rate": {0, n, w}, "rpg_ai_rate": {0, n, w},
		"rpg_hai_rate": {0, n, w}, "rpg_gd": same(10, 11), "rpg_min_dec_fac": same(1, 100), "rpg_min_rate": {1, n, w},
		"rate_to_set_on_first_cnp": {0, n, w}, "dce_tcp_g": same(1, 1023), "dce_tcp_rtt": same(1, n),
		"rate_reduce_monitor_period": same(1, n), "initial_alpha_value": same(0, 1023), "min_time_between_cnps": same(0, n),
		"cnp_dscp": same(0, 63), "cnp_802p_prio": same(0, 7), "cnp_prio_mode": same(0, 1),
		"rtt_resp_dscp": same(0, 63), "rtt_resp_dscp_valid": same(0, 1), "rp_enable": same(0, 1), "np_enable": same(0, 1),
		"roce_cc_prio_mask": same(0, 255), "roce_cc_algorithm": same(0, 1), "cnp_dscp_mode": same(0, 2),
		"roce_cc_cnp_moderation": same(0, 2), "roce_cc_shaper_coalesce": same(0, 3),
		"roce_cc_dcqcn_compatibility_mode": same(0, 2), "user_programmable_cc": same(0, 1), "roce_cc_legacy_dcqcn": same(0, 1),
		"pcc_int_en": same(0, 1), "trust": same(0, 1), "dscp2prio": same(0, 7), "prio2tc": same(0, 7), "tsa": same(0, 255),
		"tc_bw": same(0, 100), "tc_maxrate": same(0, 255_000_000), "pfc": same(0, 1), "cable_len": same(0, 65535), "prio2buffer": same(0, 7),
		"buffer_size": same(0, w), "default_roce_tos": same(0, 255), "default_roce_mode": same(0, 1),
		"bnxt_ecn_enable": same(0, 1), "bnxt_ecn_marking": same(0, 2), "bnxt_roce_dscp": same(0, 63), "bnxt_roce_prio": same(0, 7), "bnxt_cnp_dscp": same(0, 63), "bnxt_cnp_prio": same(0, 7),
		"vf_tx_share": same(0, w), "vf_tx_max": same(0, w), "vf_tx_weight": same(1, w), "vf_tc_bw": same(0, 100),
	}
}

func TestEveryRowAllowsBothEndsOfItsRangeAndNothingBeyond(t *testing.T) {
	t.Parallel()
	hand := handWritten()
	for _, l := range []dcqcn.Limits{{}, {Rate32: true}} {
		table := New(everything(l))
		if len(table.Params()) != len(hand) {
			t.Fatalf("%d rows, %d written by hand", len(table.Params()), len(hand))
		}
		for _, p := range table.Params() {
			e, ok := hand[p.Name]
			if !ok {
				t.Errorf("%s has no limits written by hand", p.Name)
				continue
			}
			high := e.narrow
			if l.Rate32 {
				high = e.wide
			}
			key := Key{Port: 2, Name: p.Name, Index: p.Scope.Size() - 1}
			if p.Scope == ScopeDevice {
				key.Port = 0
			}
			for _, c := range []struct {
				v     uint64
				legal bool
			}{{e.low, true}, {high, true}, {e.low - 1, false}, {high + 1, false}} {
				set, now := []Setting{{key, c.v}}, lenient(p.Name, c.v)
				err := table.Check(set, now)
				var ve *ValueError
				if c.legal != (err == nil) || err != nil && (!errors.As(err, &ve) || ve.Key != key || !strings.Contains(err.Error(), p.Name) ||
					!strings.Contains(err.Error(), "found "+strconv.FormatUint(c.v, 10)) || !strings.Contains(err.Error(), "want "+p.Allowed())) {
					t.Errorf("rate32 %v: %s = %d: error %v, want legal %v", l.Rate32, p.Name, c.v, err, c.legal)
				}
			}
		}
	}
}

// lenient returns values that are consistent with a legal value of the tested parameter: for a test with all of the
// bandwidth, the tested class is of kind ets.
func lenient(name string, v uint64) Now {
	return func(k Key) (uint64, bool) {
		if name == "tc_bw" && v == 100 && k.Name == "tsa" && k.Index == classes-1 {
			return TSAETS, true
		}
		return 0, true
	}
}

func TestDefaultsAreLegal(t *testing.T) {
	t.Parallel()
	for _, l := range allLimits() {
		for _, p := range New(Caps{Limits: l}).Params() {
			if p.Known && !p.Legal(p.Default) {
				t.Errorf("%s: default %d, want %s", p.Name, p.Default, p.Allowed())
			}
		}
	}
}

// Every value that the table allows fits the register of every back end, and no register is narrower on devices with
// wide rates.
func TestEveryLegalValueFitsEveryRegister(t *testing.T) {
	t.Parallel()
	for _, l := range allLimits() {
		c := everything(l)
		for _, p := range New(c).Params() {
			if len(p.Sources) == 0 {
				t.Errorf("no back end for %s", p.Name)
			}
			for _, s := range p.Sources {
				if s.Name == "" || s.Bits == 0 || s.WideBits < s.Bits {
					t.Errorf("%s by %s: %+v", p.Name, s.Backend, s)
				}
				if p.Max > s.Most(c) {
					t.Errorf("%s by %s: most %d does not fit %d bits", p.Name, s.Backend, p.Max, s.Width(c))
				}
			}
		}
	}
}

func TestRowsAreComplete(t *testing.T) {
	t.Parallel()
	table := New(everything(dcqcn.Limits{}))
	names, by := map[string]bool{}, map[string]string{}
	for _, p := range table.Params() {
		if names[p.Name] {
			t.Errorf("%s twice", p.Name)
		}
		names[p.Name] = true
		if p.Description == "" || p.Group == "" || p.Scope == "" || p.Kind == "" || (p.Kind == Enum) != (len(p.Values) > 0) {
			t.Errorf("%+v is incomplete", p)
		}
		for _, s := range p.Sources {
			file := string(s.Backend) + " " + s.Name
			if other := by[file]; other != "" && s.Atomic != "app" {
				t.Errorf("%s leads to %s and %s", file, other, p.Name)
			}
			by[file] = p.Name
			if strings.Contains(s.Name, "<index>") != (p.Scope.Size() > 1) && s.Backend == Sysfs {
				t.Errorf("%s by %s: scope %s", p.Name, s.Name, p.Scope)
			}
			for _, e := range s.Also {
				q, ok := table.Find(e.Name)
				if !ok || !q.Legal(e.Value) || q.Scope != p.Scope {
					t.Errorf("%s also sets %+v", p.Name, e)
				}
			}
		}
	}
}

// The debugfs names are those of the files of the kernel's mlx5 driver, all 22 of them.
func TestDebugfsNamesAreTheKernels(t *testing.T) {
	t.Parallel()
	want := strings.Fields(`rp_clamp_tgt_rate rp_clamp_tgt_rate_ati rp_time_reset rp_byte_reset rp_threshold rp_max_rate rp_ai_rate
		rp_hai_rate rp_gd rp_min_dec_fac rp_min_rate rp_rate_to_set_on_first_cnp rp_dce_tcp_g rp_dce_tcp_rtt
		rp_rate_reduce_monitor_period rp_initial_alpha_value np_min_time_between_cnps np_cnp_dscp np_cnp_prio np_cnp_prio_mode
		rtt_resp_dscp rtt_resp_dscp_valid`)
	var got []string
	for _, p := range New(Caps{GeneralCC: true}).By(Debugfs) {
		s, _ := p.Source(Debugfs)
		got = append(got, s.Name)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	for _, p := range New(Caps{}).By(Debugfs) {
		if p.Group == GroupRTT {
			t.Errorf("a device without the general capability has %s", p.Name)
		}
	}
}

// Names, widths and scopes in the firmware configuration database of mstflint 4.21.
func TestNonVolatileFieldsEqualTheDatabase(t *testing.T) {
	t.Parallel()
	table := New(everything(dcqcn.Limits{}))
	for name, bits := range map[string]uint8{
		"CLAMP_TGT_RATE": 1, "CLAMP_TGT_RATE_AFTER_TIME_INC": 1, "RPG_TIME_RESET": 17, "RPG_BYTE_RESET": 15, "RPG_THRESHOLD": 5,
		"RPG_MAX_RATE": 32, "RPG_AI_RATE": 17, "RPG_HAI_RATE": 17, "RPG_GD": 4, "RPG_MIN_DEC_FAC": 8, "RPG_MIN_RATE": 17,
		"RATE_TO_SET_ON_FIRST_CNP": 17, "DCE_TCP_G": 10, "DCE_TCP_RTT": 17, "RATE_REDUCE_MONITOR_PERIOD": 17,
		"INITIAL_ALPHA_VALUE": 10, "MIN_TIME_BETWEEN_CNPS": 17, "CNP_802P_PRIO": 3, "CNP_RES_PRIO_MODE": 1, "CNP_DSCP": 6,
		"ROCE_CC_PRIO_MASK": 8, "ROCE_CC_ALGORITHM": 1, "USER_PROGRAMMABLE_CC": 1, "ROCE_CC_LEGACY_DCQCN": 1,
	} {
		p, ok := table.ByNV(name)
		if !ok {
			t.Errorf("no row for %s", name)
			continue
		}
		s, _ := p.Source(NV)
		device := name == "USER_PROGRAMMABLE_CC" || name == "ROCE_CC_LEGACY_DCQCN"
		if s.Bits != bits || (p.Scope == ScopeDevice) != device {
			t.Errorf("%s: %d bits, scope %s; want %d bits", name, s.Bits, p.Scope, bits)
		}
	}
}

func TestNonVolatileNamesRoundTrip(t *testing.T) {
	t.Parallel()
	table := New(everything(dcqcn.Limits{}))
	for _, p := range table.By(NV) {
		for port := 1; port <= MaxPorts; port++ {
			name, err := p.NVName(port)
			if err != nil {
				t.Fatal(err)
			}
			base, n := SplitNV(name)
			back, ok := table.ByNV(base)
			if !ok || back.Name != p.Name || n != port && p.Scope != ScopeDevice || n != 0 && p.Scope == ScopeDevice {
				t.Errorf("%s of port %d is %s, which is %s of port %d", p.Name, port, name, base, n)
			}
		}
		if _, err := p.NVName(MaxPorts + 1); (err == nil) != (p.Scope == ScopeDevice) {
			t.Errorf("%s of port %d: error %v", p.Name, MaxPorts+1, err)
		}
	}
	for name, want := range map[string]string{"RPG_GD_P2": "RPG_GD 2", "RPG_GD_P0": "RPG_GD_P0 0", "RPG_GD_P02": "RPG_GD_P02 0",
		"RPG_GD_P17": "RPG_GD_P17 0", "_P1": "_P1 0", "NUM_OF_VFS": "NUM_OF_VFS 0", "X_PF": "X_PF 0", "": " 0", "A_P+1": "A_P+1 0"} {
		base, n := SplitNV(name)
		if got := fmt.Sprint(base, " ", n); got != want {
			t.Errorf("%q is %q, want %q", name, got, want)
		}
	}
	p, _ := table.Find("tc_bw")
	if name, err := p.NVName(1); err == nil {
		t.Errorf("tc_bw has the non-volatile name %s", name)
	}
}

func TestWriteCostAndPersistenceFollowTheBackEnd(t *testing.T) {
	t.Parallel()
	table := New(everything(dcqcn.Limits{}))
	for _, c := range []struct {
		name string
		by   Backend
		cost Cost
		per  Persistence
	}{
		{"rpg_ai_rate", Sysfs, CostLive, Runtime}, {"rpg_ai_rate", NV, CostReset, NonVolatile},
		{"buffer_size", DCB, CostDisruptive, Runtime}, {"tc_bw", DCB, CostLive, Runtime},
	} {
		p, _ := table.Find(c.name)
		if p.Cost(c.by) != c.cost || c.by.Persistence() != c.per {
			t.Errorf("%s by %s: %s, %s; want %s, %s", c.name, c.by, p.Cost(c.by), c.by.Persistence(), c.cost, c.per)
		}
	}
}

func TestParseReadsFileAndToolFormats(t *testing.T) {
	t.Parallel()
	table := New(everything(dcqcn.Limits{}))
	for _, c := range []struct {
		name, text string
		want       uint64
		ok         bool
	}{
		{"rpg_ai_rate", "5\n", 5, true}, {"rpg_ai_rate", "0x10", 16, true}, {"rpg_ai_rate", "", 0, false},
		{"rpg_ai_rate", "-1", 0, false}, {"rpg_ai_rate", "1_0", 0, false}, {"rpg_ai_rate", "5 Mbit", 0, false},
		{"rpg_ai_rate", "18446744073709551616", 0, false}, {"rpg_ai_rate", "true", 0, false}, {"rpg_ai_rate", strings.Repeat("9", 1000), 0, false},
		{"clamp_tgt_rate", "True(1)", 1, true}, {"clamp_tgt_rate", "false", 0, true}, {"clamp_tgt_rate", "(1)", 0, false},
		{"roce_cc_cnp_moderation", "DEVICE_DEFAULT(0)", 0, true}, {"roce_cc_cnp_moderation", "per_flow", 2, true},
		{"roce_cc_cnp_moderation", "SOMETHING(2)", 2, true}, {"tsa", "vendor", 255, true}, {"default_roce_mode", "RoCE v2", 1, true},
		{"roce_cc_cnp_moderation", "Array[0..7]", 0, false},
	} {
		p, ok := table.Find(c.name)
		if !ok {
			t.Fatal(c.name)
		}
		got, err := p.Parse(c.text)
		if got != c.want || c.ok != (err == nil) || err != nil && len(err.Error()) > 300 {
			t.Errorf("%s from %q is %d, error %v; want %d", c.name, c.text, got, err, c.want)
		}
	}
}

func TestCheckReportsAllErrors(t *testing.T) {
	t.Parallel()
	table := New(Caps{})
	classes := func(k Key) (uint64, bool) { // 60 and 40 percent in classes 0 and 1, strict in the others
		v := map[Key]uint64{{1, "tsa", 0}: 2, {1, "tsa", 1}: 2, {1, "tc_bw", 0}: 60, {1, "tc_bw", 1}: 40, {1, "rpg_max_rate", 0}: 1000}
		return v[k], true
	}
	nothing := Now(nil)
	for _, c := range []struct {
		title string
		set   []Setting
		now   Now
		want  []string // parts of the error; none is legal
	}{
		{"nothing", nil, nothing, nil},
		{"unknown name", []Setting{{Key{1, strings.Repeat("x", 500), 0}, 1}}, nothing, []string{"no such parameter", "xxx…"}},
		{"no port", []Setting{{Key{0, "rpg_gd", 0}, 11}}, nothing, []string{"rpg_gd: found port 0, want port 1..16"}},
		{"port too high", []Setting{{Key{17, "rpg_gd", 0}, 11}}, nothing, []string{"found port 17"}},
		{"port of a device's parameter", []Setting{{Key{1, "user_programmable_cc", 0}, 1}}, nothing, []string{"want port 0"}},
		{"index of a port's parameter", []Setting{{Key{1, "rpg_gd", 1}, 11}}, nothing, []string{"rpg_gd[1]: found index 1, want index 0..0"}},
		{"index below 0", []Setting{{Key{1, "pfc", -1}, 1}}, nothing, []string{"found index -1, want index 0..7"}},
		{"lacking", []Setting{{Key{1, "rtt_resp_dscp", 0}, 1}}, nothing, []string{"needs general_cc"}},
		{"gap of an enumeration", []Setting{{Key{1, "tsa", 0}, 3}}, classes, []string{"tsa: found 3, want strict(0), cbs(1), ets(2) or vendor(255)"}},
		{"twice", []Setting{{Key{1, "rpg_gd", 0}, 10}, {Key{1, "rpg_gd", 0}, 11}}, nothing, []string{"found 10 and 11, want one value"}},
		{"two errors", []Setting{{Key{1, "rpg_gd", 0}, 12}, {Key{2, "rpg_ai_rate", 0}, 131072}}, nothing,
			[]string{"port 1 rpg_gd: found 12, want 10..11", "port 2 rpg_ai_rate: found 131072, want 0..131071"}},
		{"minimum above the current maximum", []Setting{{Key{1, "rpg_min_rate", 0}, 1001}}, classes, []string{"at most rpg_max_rate, which is 1000"}},
		{"maximum below the minimum", []Setting{{Key{1, "rpg_min_rate", 0}, 20}, {Key{1, "rpg_max_rate", 0}, 10}}, nothing, []string{"found 20, want at most rpg_max_rate"}},
		{"maximum of 0 is no bound", []Setting{{Key{1, "rpg_min_rate", 0}, 20}, {Key{1, "rpg_max_rate", 0}, 0}}, classes, nil},
		{"another port's maximum is no bound", []Setting{{Key{1, "rpg_min_rate", 0}, 20}, {Key{2, "rpg_max_rate", 0}, 10}}, nothing, nil},
		{"shares that move", []Setting{{Key{1, "tc_bw", 0}, 70}, {Key{1, "tc_bw", 1}, 30}}, classes, nil},
		{"shares of 101", []Setting{{Key{1, "tc_bw", 0}, 61}}, classes, []string{"found 101 percent", "want 100"}},
		{"a share of a strict class", []Setting{{Key{1, "tc_bw", 5}, 1}}, classes, []string{"tc_bw[5]", "not ets"}},
		{"shares of unknown classes", []Setting{{Key{1, "tc_bw", 0}, 60}}, nothing, []string{"all 8 classes"}},
		{"all strict", []Setting{{Key{1, "tsa", 0}, 0}, {Key{1, "tsa", 1}, 0}, {Key{1, "tc_bw", 0}, 0}, {Key{1, "tc_bw", 1}, 0}}, classes, nil},
		{"too many", make([]Setting, MaxSet+1), nothing, []string{"4097 settings", "at most 4096"}},
	} {
		err := table.Check(c.set, c.now)
		if (err == nil) != (len(c.want) == 0) {
			t.Errorf("%s: error %v", c.title, err)
		}
		for _, part := range c.want {
			if err != nil && !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %q is not in %v", c.title, part, err)
			}
		}
	}
}

// Check calls now only for keys that Asks returns.
func TestAsksListsAllThatCheckAsksFor(t *testing.T) {
	t.Parallel()
	table := New(Caps{})
	for _, set := range [][]Setting{
		{{Key{1, "rpg_gd", 0}, 11}}, {{Key{1, "rpg_min_rate", 0}, 5}, {Key{2, "tc_bw", 3}, 5}, {Key{2, "tsa", 3}, 2}}, {{Key{3, "rpg_max_rate", 0}, 5}},
	} {
		listed := map[Key]int{}
		for _, k := range table.Asks(set) {
			listed[k]++
		}
		asked := 0
		err := table.Check(set, func(k Key) (uint64, bool) {
			asked++
			if listed[k] != 1 {
				t.Errorf("%v: %s is listed %d times", set, k, listed[k])
			}
			return 0, true
		})
		if (asked == 0) != (len(listed) == 0) {
			t.Errorf("%v: asked %d times, %d listed, error %v", set, asked, len(listed), err)
		}
	}
}

// A random setting without dependencies is legal for Check exactly when it is legal for its row.
func TestCheckAgreesWithTheRow(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		table := New(everything(rapid.SampledFrom(allLimits()).Draw(t, "limits")))
		alone := slices.DeleteFunc(slices.Clone(table.Params()), func(p Param) bool { return len(table.Asks([]Setting{{Key: Key{Port: 1, Name: p.Name}}})) > 0 })
		p := rapid.SampledFrom(alone).Draw(t, "row")
		v := rapid.OneOf(rapid.Uint64(), rapid.Uint64Range(0, 300), rapid.Just(p.Max), rapid.Just(p.Max+1)).Draw(t, "value")
		key := Key{Port: 1, Name: p.Name, Index: rapid.IntRange(0, p.Scope.Size()-1).Draw(t, "index")}
		if p.Scope == ScopeDevice {
			key.Port = 0
		}
		if err := table.Check([]Setting{{key, v}}, nil); (err == nil) != p.Legal(v) {
			t.Fatalf("%s = %d: %v", key, v, err)
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"5\n", "True(1)", "0x1f", "PER_PORT(1)", "()", "(", "strict"} {
		f.Add(s)
	}
	params := New(everything(dcqcn.Limits{})).Params()
	f.Fuzz(func(t *testing.T, s string) {
		for i := range params {
			v, err := params[i].Parse(s)
			if err != nil {
				continue
			}
			if again, err := params[i].Parse(strconv.FormatUint(v, 10)); err != nil || again != v {
				t.Fatalf("%q is %d, which is %d, error %v", s, v, again, err)
			}
		}
	})
}

// Rates of functions exist in legacy mode and in switchdev mode; weights and classes only in the latter.
func TestSharesOfFunctionsFollowTheMode(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		caps Caps
		want []string
	}{
		{Caps{}, nil},
		{Caps{TCRates: true}, nil},
		{Caps{VFRates: true}, []string{"vf_tx_share", "vf_tx_max"}},
		{Caps{Switchdev: true}, []string{"vf_tx_share", "vf_tx_max", "vf_tx_weight"}},
		{Caps{Switchdev: true, TCRates: true}, []string{"vf_tx_share", "vf_tx_max", "vf_tx_weight", "vf_tc_bw"}},
	} {
		var got []string
		for _, p := range New(c.caps).Params() {
			if p.Group == GroupShare && New(c.caps).Check([]Setting{{Key{1, p.Name, 0}, 1}}, nil) == nil {
				got = append(got, p.Name)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%+v: %q, want %q", c.caps, got, c.want)
		}
	}
	for _, p := range New(Caps{VFRates: true}).By(Link) {
		if s, _ := p.Source(Link); s.Atomic != "vf_rate" || s.Bits != 32 {
			t.Errorf("%s: %+v", p.Name, s)
		}
	}
}
