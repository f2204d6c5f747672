package dcbnl

import (
	stdcmp "cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"fairlane/ccconfig/nic/nicparam"
)

// whole is a port with every object and two DSCPs.
func whole() *IEEE {
	return &IEEE{
		ETS:     &ETS{Cap: 8, TxBW: [8]uint8{50, 50}, TSA: [8]uint8{2, 2}, PrioTC: [8]uint8{0, 1, 2, 3, 4, 5, 6, 7}, RecoBW: [8]uint8{1, 2}},
		PFC:     &PFC{Cap: 8, Enabled: 8, Delay: 7, Requests: [8]uint64{5}},
		Apps:    []App{{SelectorDSCP, 3, 26}, {SelectorEtherType, 3, 0x8915}, {SelectorDSCP, 6, 48}},
		MaxRate: &[8]uint64{},
		Buffer:  &Buffer{Size: [8]uint32{1000, 2000}, Total: 4000},
	}
}

func setting(name string, index int, v uint64) nicparam.Setting {
	return nicparam.Setting{Key: nicparam.Key{Port: 1, Name: name, Index: index}, Value: v}
}

// apply does what the kernel does with a change.
func apply(o *IEEE, c Change) *IEEE {
	out := o.clone()
	if s := c.Set; s != nil {
		out.ETS, out.PFC = stdcmp.Or(s.ETS, out.ETS), stdcmp.Or(s.PFC, out.PFC)
		out.MaxRate, out.Buffer = stdcmp.Or(s.MaxRate, out.MaxRate), stdcmp.Or(s.Buffer, out.Buffer)
		out.Apps = append(out.Apps, s.Apps...)
	}
	out.Apps = slices.DeleteFunc(out.Apps, func(a App) bool { return slices.Contains(c.Delete, a) })
	return out
}

func values(o *IEEE) map[string]uint64 {
	out := map[string]uint64{}
	for _, s := range o.Settings(1) {
		out[fmt.Sprintf("%s[%d]", s.Name, s.Index)] = s.Value
	}
	return out
}

func TestSettingsListThePortsValues(t *testing.T) {
	t.Parallel()
	got := values(whole())
	for key, want := range map[string]uint64{"trust[0]": 1, "dscp2prio[26]": 3, "dscp2prio[48]": 6, "prio2tc[7]": 7, "tsa[1]": 2, "tc_bw[1]": 50,
		"tc_bw[2]": 0, "tc_maxrate[0]": 0, "pfc[3]": 1, "pfc[4]": 0, "cable_len[0]": 7, "prio2buffer[0]": 0, "buffer_size[1]": 2000} {
		if v, ok := got[key]; !ok || v != want {
			t.Errorf("%s is %d (%v), want %d", key, v, ok, want)
		}
	}
	if len(got) != 1+2+3*8+8+8+1+8+8 {
		t.Errorf("%d settings: %v", len(got), got)
	}
	if d := cmp.Diff(map[string]uint64{"trust[0]": 0}, values(&IEEE{})); d != "" {
		t.Error(d)
	}
	twice := &IEEE{Apps: []App{{SelectorDSCP, 2, 26}, {SelectorDSCP, 5, 26}, {SelectorDSCP, 1, 64}}}
	if d := cmp.Diff(map[string]uint64{"trust[0]": 1, "dscp2prio[26]": 5}, values(twice)); d != "" {
		t.Errorf("two entries of a DSCP, and one of none: %s", d)
	}
}

// Every setting that a port can have is in the table, legal there, and accessible through DCB.
func TestSettingsEqualTheTable(t *testing.T) {
	t.Parallel()
	table := nicparam.New(nicparam.Caps{})
	seen := map[string]bool{}
	for _, s := range whole().Settings(1) {
		p, ok := table.Find(s.Name)
		if !ok || !p.Legal(s.Value) {
			t.Errorf("%s = %d", s.Key, s.Value)
			continue
		}
		if _, ok := p.Source(nicparam.DCB); !ok {
			t.Errorf("%s is not reached by DCB", s.Key)
		}
		seen[s.Name] = true
	}
	for _, p := range table.By(nicparam.DCB) {
		if !seen[p.Name] {
			t.Errorf("%s is never listed", p.Name)
		}
	}
}

func TestPlanChangesOnlyDifferences(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		title string
		set   []nicparam.Setting
		want  Change
	}{
		{"nothing", nil, Change{}},
		{"values that are already set", []nicparam.Setting{setting("tc_bw", 0, 50), setting("dscp2prio", 26, 3), setting("trust", 0, 1)}, Change{}},
		{"shares keep the rest of ETS", []nicparam.Setting{setting("tc_bw", 0, 70), setting("tc_bw", 1, 30)},
			Change{Set: &IEEE{ETS: &ETS{Cap: 8, TxBW: [8]uint8{70, 30}, TSA: [8]uint8{2, 2}, PrioTC: [8]uint8{0, 1, 2, 3, 4, 5, 6, 7}, RecoBW: [8]uint8{1, 2}}}}},
		{"pause moves", []nicparam.Setting{setting("pfc", 3, 0), setting("pfc", 7, 1)},
			Change{Set: &IEEE{PFC: &PFC{Cap: 8, Enabled: 0x80, Delay: 7, Requests: [8]uint64{5}}}}},
		{"cable", []nicparam.Setting{setting("cable_len", 0, 100)},
			Change{Set: &IEEE{PFC: &PFC{Cap: 8, Enabled: 8, Delay: 100, Requests: [8]uint64{5}}}}},
		{"rate", []nicparam.Setting{setting("tc_maxrate", 7, 1<<31)}, Change{Set: &IEEE{MaxRate: &[8]uint64{7: 1 << 31}}}},
		{"buffers", []nicparam.Setting{setting("buffer_size", 1, 1<<32-1), setting("prio2buffer", 3, 1)},
			Change{Set: &IEEE{Buffer: &Buffer{PrioBuffer: [8]uint8{3: 1}, Size: [8]uint32{1000, 1<<32 - 1}, Total: 4000}}}},
		{"a changed DSCP gets its new entry before the old one is deleted", []nicparam.Setting{setting("dscp2prio", 26, 4)},
			Change{Set: &IEEE{Apps: []App{{SelectorDSCP, 4, 26}}}, Delete: []App{{SelectorDSCP, 3, 26}}}},
		{"a new DSCP", []nicparam.Setting{setting("dscp2prio", 10, 1)}, Change{Set: &IEEE{Apps: []App{{SelectorDSCP, 1, 10}}}}},
		{"trust by priority", []nicparam.Setting{setting("trust", 0, 0)}, Change{Delete: []App{{SelectorDSCP, 3, 26}, {SelectorDSCP, 6, 48}}}},
		{"parameters of other back ends", []nicparam.Setting{setting("rpg_gd", 0, 10)}, Change{}},
	} {
		got, err := whole().Plan(c.set)
		if err != nil {
			t.Fatalf("%s: %v", c.title, err)
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s: %s", c.title, d)
		}
	}
}

func TestPlanRejectsImpossibleSettings(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		title, want string
		from        *IEEE
		set         []nicparam.Setting
	}{
		{"no ETS", "no ETS read", &IEEE{}, []nicparam.Setting{setting("tsa", 0, 0)}},
		{"no PFC", "no PFC read", &IEEE{}, []nicparam.Setting{setting("pfc", 0, 0)}},
		{"no cable", "no PFC read", &IEEE{}, []nicparam.Setting{setting("cable_len", 0, 0)}},
		{"no MAXRATE", "no MAXRATE read", &IEEE{}, []nicparam.Setting{setting("tc_maxrate", 0, 0)}},
		{"no BUFFER", "no BUFFER read", &IEEE{}, []nicparam.Setting{setting("buffer_size", 0, 0)}},
		{"no BUFFER for priorities", "no BUFFER read", &IEEE{}, []nicparam.Setting{setting("prio2buffer", 0, 0)}},
		{"index", "index 8, want 0..7", whole(), []nicparam.Setting{setting("tc_bw", 8, 0)}},
		{"trust without an application table", "without a priority of any DSCP", &IEEE{}, []nicparam.Setting{setting("trust", 0, 1)}},
		{"trust that is not in the set", "turns it to dscp", &IEEE{}, []nicparam.Setting{setting("dscp2prio", 26, 3)}},
		{"both", "pcp with priorities of DSCPs", whole(), []nicparam.Setting{setting("trust", 0, 0), setting("dscp2prio", 26, 3)}},
	} {
		got, err := c.from.Plan(c.set)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %+v, error %v", c.title, got, err)
		}
	}
}

// TestPlanRestoresPortWithoutDSCPPriorities sets the values that were read from a port without entries, where the
// DSCP has priority 0.
func TestPlanRestoresPortWithoutDSCPPriorities(t *testing.T) {
	t.Parallel()
	o := whole()
	o.Apps = []App{{SelectorDSCP, 3, 26}}
	c, err := o.Plan([]nicparam.Setting{setting("dscp2prio", 26, 0), setting("trust", 0, nicparam.TrustPCP)})
	if err != nil || c.Set != nil || !slices.Equal(c.Delete, o.Apps) {
		t.Errorf("%+v, %v, want the entry deleted and nothing set", c, err)
	}
}

// After a planned change the port has the desired values, all other values are unchanged, and a second plan is empty.
func TestPlannedChangeReachesDesiredState(t *testing.T) {
	t.Parallel()
	table := nicparam.New(nicparam.Caps{})
	rapid.Check(t, func(t *rapid.T) {
		from := whole()
		wanted := map[string]uint64{}
		var set []nicparam.Setting
		for range rapid.IntRange(0, 8).Draw(t, "n") {
			p := rapid.SampledFrom(table.By(nicparam.DCB)).Draw(t, "row")
			v := rapid.Uint64Range(p.Min, p.Max).Draw(t, "value")
			index := rapid.IntRange(0, p.Scope.Size()-1).Draw(t, "index")
			key := fmt.Sprintf("%s[%d]", p.Name, index)
			if _, twice := wanted[key]; twice || p.Name == "trust" || !p.Legal(v) {
				continue
			}
			wanted[key] = v
			set = append(set, setting(p.Name, index, v))
		}
		before := whole()
		c, err := from.Plan(set)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(before, from); d != "" {
			t.Fatalf("planning changed the port: %s", d)
		}
		want := values(from)
		for k, v := range wanted {
			want[k] = v
		}
		after := apply(from, c)
		if d := cmp.Diff(want, values(after)); d != "" {
			t.Fatal(d)
		}
		again, err := after.Plan(set)
		if d := cmp.Diff(Change{}, again); err != nil || d != "" {
			t.Fatalf("a second plan: %v %s", err, d)
		}
	})
}

// From any state Back leads to the earlier one, except for counters and capabilities. From there it changes nothing.
func TestBackRestoresEarlierState(t *testing.T) {
	t.Parallel()
	settle := func(o, from *IEEE) *IEEE { // fields that no request sets have the port's current values
		out := o.clone()
		if out.ETS != nil {
			out.ETS.Cap, out.ETS.CBS = from.ETS.Cap, from.ETS.CBS
		}
		if out.PFC != nil {
			out.PFC.Cap, out.PFC.Requests, out.PFC.Indications = from.PFC.Cap, from.PFC.Requests, from.PFC.Indications
		}
		if out.Buffer != nil {
			out.Buffer.Total = from.Buffer.Total
		}
		slices.SortFunc(out.Apps, func(a, b App) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
		out.Apps = slices.Compact(out.Apps)
		return out
	}
	rapid.Check(t, func(t *rapid.T) {
		now, earlier := drawIEEE(t), drawIEEE(t)
		for _, o := range []*IEEE{now, earlier} { // a port that has an object keeps it
			base := whole()
			o.ETS, o.PFC = stdcmp.Or(o.ETS, base.ETS), stdcmp.Or(o.PFC, base.PFC)
			o.MaxRate, o.Buffer = stdcmp.Or(o.MaxRate, base.MaxRate), stdcmp.Or(o.Buffer, base.Buffer)
		}
		after := apply(now, now.Back(earlier))
		if d := cmp.Diff(settle(earlier, now), settle(after, now), cmpopts.EquateEmpty()); d != "" {
			t.Fatal(d)
		}
		if d := cmp.Diff(Change{}, after.Back(earlier)); d != "" {
			t.Fatalf("back again: %s", d)
		}
	})
}

func TestValueIsTheOneOfSettings(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		o := drawIEEE(t)
		for range 3 { // random entries rarely have the DSCP selector
			a := App{SelectorDSCP, rapid.Uint8Range(0, 7).Draw(t, "priority"), rapid.Uint16Range(0, 65).Draw(t, "dscp")}
			if rapid.Bool().Draw(t, "by dscp") {
				o.Apps = append(o.Apps, a)
			}
		}
		want := map[nicparam.Key]uint64{}
		for _, s := range o.Settings(1) {
			want[s.Key] = s.Value
		}
		for _, name := range []string{"trust", "dscp2prio", "prio2tc", "tsa", "tc_bw", "tc_maxrate", "pfc", "cable_len", "prio2buffer", "buffer_size", "wings", ""} {
			for i := -1; i < 67; i++ {
				v, ok := o.Value(name, i)
				w, has := want[nicparam.Key{Port: 1, Name: name, Index: i}]
				if ok != has || v != w {
					t.Fatalf("%s[%d] is %d (%t), Settings has %d (%t)", name, i, v, ok, w, has)
				}
			}
		}
	})
}
