package nicfiles

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"fairlane/ccconfig/nic/nicparam"
)

var errIO = errors.New("input/output error")

func TestSetReportsEachField(t *testing.T) {
	t.Parallel()
	h := newHost(t, join(debugfsFiles(1), debugfsFiles(2)))
	set := []nicparam.Setting{want(1, "rpg_ai_rate", 20), want(1, "rpg_hai_rate", 50), want(2, "rpg_time_reset", 131071)}
	r, err := debugfsDevice(t, h, 1, 2).Set(t.Context(), set)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]Field{
		{Key: at(1, "rpg_ai_rate"), By: nicparam.Debugfs, Before: 5, Want: 20, Got: 20, Outcome: Verified},
		{Key: at(1, "rpg_hai_rate"), By: nicparam.Debugfs, Before: 50, Want: 50, Got: 50, Outcome: Unchanged},
		{Key: at(2, "rpg_time_reset"), By: nicparam.Debugfs, Before: 300, Want: 131071, Got: 131071, Outcome: Verified},
	}, r.Fields); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"rp_ai_rate=20", "rp_time_reset=131071"}, h.writes); d != "" {
		t.Error(d)
	}
	if r.RolledBack || len(r.Pending()) != 0 {
		t.Errorf("%+v", r)
	}
	h.writes = nil
	again, err := debugfsDevice(t, h, 1, 2).Set(t.Context(), set)
	if err != nil || len(h.writes) != 0 || strings.Count(outcomes(again), "unchanged") != 3 {
		t.Errorf("a second time: %s, wrote %q, error %v", outcomes(again), h.writes, err)
	}
}

func TestClippingToRegisterWidth(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		want, got uint64
		bits      int
	}{
		{200000, 200000 - 131072, 17}, {200000, 131071, 17}, {131072, 0, 15}, {40000, 40000 - 32768, 15}, {1 << 32, 1<<32 - 1, 32},
		{200000, 131070, 0}, {20, 4, 0}, {131071, 131070, 0},
	} {
		if bits, cut := clippedTo(c.want, c.got); bits != c.bits || cut != (c.bits != 0) {
			t.Errorf("%d of %d: %d bits, %v; want %d", c.got, c.want, bits, cut, c.bits)
		}
	}
}

// All values are checked and read before anything is written; a failure then changes nothing.
func TestInvalidSetWritesNothing(t *testing.T) {
	t.Parallel()
	debugfs := fmt.Sprintf(debugfsOf, 0)
	good := want(1, "rpg_ai_rate", 20)
	for _, c := range []struct {
		title  string
		set    []nicparam.Setting
		change func(*testing.T, *host)
		is     error
		text   []string
	}{
		{"out of range", []nicparam.Setting{good, want(1, "rpg_gd", 12)}, nil, nil, []string{"port 1 rpg_gd", "found 12", "10..11"}},
		{"unknown", []nicparam.Setting{good, want(1, "rm_rf", 1)}, nil, nil, []string{"rm_rf", "a name of the table"}},
		{"minimum above the device's maximum", []nicparam.Setting{good, want(1, "rpg_min_rate", 20)},
			func(t *testing.T, h *host) { h.put(t, debugfs+"rp_max_rate", "10\n") }, nil, []string{"rpg_max_rate, which is 10"}},
		{"file missing", []nicparam.Setting{good, want(2, "rpg_ai_rate", 20)}, nil, ErrAbsent, []string{"port 2 rpg_ai_rate", "not offered"}},
		{"no way", []nicparam.Setting{good, want(1, "user", 1)}, nil, nil, []string{"user"}},
		{"row without an accessor", []nicparam.Setting{good, want(1, "default_roce_tos", 1)}, nil, ErrAbsent, []string{"default_roce_tos", "no back end of this host"}},
		{"unreadable", []nicparam.Setting{good, want(1, "rpg_gd", 10)},
			func(_ *testing.T, h *host) {
				h.onRead[debugfs+"rp_gd"] = func() ([]byte, error) { return nil, errIO }
			}, ErrUnreadable, []string{"port 1 rpg_gd", "cc_params/rp_gd", "input/output error"}},
		{"not a number", []nicparam.Setting{good, want(1, "rpg_gd", 10)},
			func(t *testing.T, h *host) { h.put(t, debugfs+"rp_gd", "n/a\n") }, ErrUnreadable, []string{"rp_gd", "\"n/a\\n\"", "10..11"}},
		{"empty", []nicparam.Setting{good, want(1, "rpg_gd", 10)},
			func(t *testing.T, h *host) { h.put(t, debugfs+"rp_gd", "") }, ErrUnreadable, []string{"rp_gd"}},
		{"an affected parameter is unreadable", []nicparam.Setting{good, want(1, "cnp_802p_prio", 5)},
			func(_ *testing.T, h *host) {
				h.onRead[debugfs+"np_cnp_prio_mode"] = func() ([]byte, error) { return nil, errIO }
			}, ErrUnreadable, []string{"cnp_802p_prio changes port 1 cnp_prio_mode too"}},
	} {
		h := newHost(t, debugfsFiles(1))
		if c.change != nil {
			c.change(t, h)
		}
		r, err := debugfsDevice(t, h, 1, 2).Set(t.Context(), c.set)
		if err == nil || r != nil || len(h.writes) > 0 {
			t.Errorf("%s: error %v, receipt %+v, wrote %q", c.title, err, r, h.writes)
			continue
		}
		if c.is != nil && !errors.Is(err, c.is) {
			t.Errorf("%s: error %v is not %v", c.title, err, c.is)
		}
		for _, part := range c.text {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %q is not in %v", c.title, part, err)
			}
		}
	}
}

func TestAVirtualFunctionHasNoParameters(t *testing.T) {
	t.Parallel()
	h := newHost(t, join(debugfsFiles(1), map[string]string{"sys/class/net/ens1f0v0/address": "02:00:00:00:00:01"}))
	vf := Port{Number: 3, NetDev: "ens1f0v0", PCI: "0000:3b:01.0"}
	sysfs, err := Sysfs(h, newTable(), vf)
	if err != nil {
		t.Fatal(err)
	}
	debugfs, err := Debugfs(h, newTable(), vf)
	if err != nil {
		t.Fatal(err)
	}
	d := NewDevice(newTable(), sysfs, debugfs)
	if r := d.ReadAll(t.Context()); len(r) != 0 {
		t.Errorf("%+v", r)
	}
	if _, err := d.Set(t.Context(), []nicparam.Setting{want(3, "rpg_ai_rate", 20)}); !errors.Is(err, ErrAbsent) {
		t.Errorf("error %v", err)
	}
}

func TestUnreadableParametersAreReported(t *testing.T) {
	t.Parallel()
	h := newHost(t, debugfsFiles(1))
	h.onRead[fmt.Sprintf(debugfsOf, 0)+"rp_gd"] = func() ([]byte, error) { return nil, errIO }
	readings := debugfsDevice(t, h, 1).ReadAll(t.Context())
	bad := 0
	for _, r := range readings {
		if r.Err != nil {
			bad++
			if r.Name != "rpg_gd" || !errors.Is(r.Err, errIO) || !errors.Is(r.Err, ErrUnreadable) {
				t.Errorf("%s: %v", r.Key, r.Err)
			}
		}
	}
	if bad != 1 || len(readings) != 20 {
		t.Errorf("%d of %d unreadable", bad, len(readings))
	}
}

// A set that fails on the device restores all ports, and reports the outcome of each field.
func TestFailedSetRestoresEarlierValues(t *testing.T) {
	t.Parallel()
	one, two := fmt.Sprintf(debugfsOf, 0), fmt.Sprintf(debugfsOf, 1)
	set := []nicparam.Setting{want(1, "rpg_time_reset", 131071), want(1, "rpg_gd", 10), want(2, "rpg_ai_rate", 20), want(2, "rpg_hai_rate", 60)}
	refuse := func(string) (string, error) { return "", errIO }
	for _, c := range []struct {
		title    string
		change   func(*testing.T, *host)
		is       error
		text     string
		outcomes string
	}{
		{"first refused", func(_ *testing.T, h *host) { h.onWrite[one+"rp_time_reset"] = refuse }, ErrRefused, "port 1 rpg_time_reset: write 131071",
			"rpg_time_reset=refused rpg_gd=skipped rpg_ai_rate=skipped rpg_hai_rate=skipped"},
		{"partial application", func(_ *testing.T, h *host) { h.onWrite[one+"rp_gd"] = refuse }, ErrRefused, "port 1 rpg_gd: write 10",
			"rpg_time_reset=unverified rpg_gd=refused rpg_ai_rate=skipped rpg_hai_rate=skipped"},
		{"one of two ports", func(_ *testing.T, h *host) { h.onWrite[two+"rp_hai_rate"] = refuse }, errIO, "port 2 rpg_hai_rate: write 60",
			"rpg_time_reset=unverified rpg_gd=unverified rpg_ai_rate=unverified rpg_hai_rate=refused"},
		{"refused but executed", func(_ *testing.T, h *host) {
			first := true
			h.onWrite[two+"rp_hai_rate"] = func(s string) (string, error) {
				if first {
					first = false
					return s, errIO
				}
				return s, nil
			}
		}, errIO, "port 2 rpg_hai_rate: write 60", "rpg_time_reset=unverified rpg_gd=unverified rpg_ai_rate=unverified rpg_hai_rate=refused"},
		{"clipped", func(_ *testing.T, h *host) {
			h.onWrite[one+"rp_time_reset"] = func(s string) (string, error) {
				if s == "131071" {
					return "32767", nil
				}
				return s, nil
			}
		}, ErrNotKept, "wrote 131071, read back 32767, cut to 15 bits", "rpg_time_reset=clipped rpg_gd=verified rpg_ai_rate=verified rpg_hai_rate=verified"},
		{"ignored", func(_ *testing.T, h *host) {
			h.onWrite[one+"rp_gd"] = func(string) (string, error) { return "11", nil }
		}, ErrNotKept, "port 1 rpg_gd: wrote 10, read back 11 as before", "rpg_time_reset=verified rpg_gd=ignored rpg_ai_rate=verified rpg_hai_rate=verified"},
		{"a second writer", func(t *testing.T, h *host) {
			h.onWrite[two+"rp_hai_rate"] = func(s string) (string, error) {
				if s == "60" {
					h.put(t, two+"rp_ai_rate", "77\n")
				}
				return s, nil
			}
		}, ErrNotKept, "port 2 rpg_ai_rate: want 20, read back 77, another program may also write it",
			"rpg_time_reset=verified rpg_gd=verified rpg_ai_rate=overridden rpg_hai_rate=verified"},
		{"unreadable afterwards", func(_ *testing.T, h *host) {
			reads := 0
			h.onRead[one+"rp_gd"] = func() ([]byte, error) {
				if reads++; reads == 2 {
					return nil, errIO
				}
				return h.Root.Read(one + "rp_gd")
			}
		}, ErrUnreadable, "port 1 rpg_gd: read back", "rpg_time_reset=verified rpg_gd=unverified rpg_ai_rate=verified rpg_hai_rate=verified"},
		{"removed during the write", func(t *testing.T, h *host) {
			h.onWrite[one+"rp_gd"] = func(string) (string, error) { return "", fmt.Errorf("open: %w", errIO) }
		}, ErrRefused, "rp_gd", "rpg_time_reset=unverified rpg_gd=refused rpg_ai_rate=skipped rpg_hai_rate=skipped"},
	} {
		h := newHost(t, join(debugfsFiles(1), debugfsFiles(2)))
		before := h.all(t)
		c.change(t, h)
		r, err := debugfsDevice(t, h, 1, 2).Set(t.Context(), set)
		var se *SetError
		if !errors.As(err, &se) || !errors.Is(err, c.is) || errors.Is(err, ErrNotRestored) || len(se.NotRestored) > 0 {
			t.Errorf("%s: error %v", c.title, err)
			continue
		}
		if !strings.Contains(err.Error(), c.text) || !strings.HasSuffix(err.Error(), "; all previous values are restored") {
			t.Errorf("%s: %v", c.title, err)
		}
		if got := outcomes(r); got != c.outcomes || !r.RolledBack {
			t.Errorf("%s: %s, want %s", c.title, got, c.outcomes)
		}
		if d := cmp.Diff(before, h.all(t)); d != "" {
			t.Errorf("%s: %s", c.title, d)
		}
	}
}

func TestSideEffectsAreReportedAndRestored(t *testing.T) {
	t.Parallel()
	dir := fmt.Sprintf(debugfsOf, 0)
	for _, c := range []struct {
		title      string
		mode       string // before
		set        []nicparam.Setting
		fail       bool
		prio, then string // afterwards
		outcomes   string
	}{
		{"mode is cleared", "1", []nicparam.Setting{want(1, "cnp_802p_prio", 5)}, false, "5", "0", "cnp_802p_prio=verified cnp_prio_mode=affected"},
		{"mode was clear", "0", []nicparam.Setting{want(1, "cnp_802p_prio", 5)}, false, "5", "0", "cnp_802p_prio=verified cnp_prio_mode=unchanged"},
		{"priority stays", "1", []nicparam.Setting{want(1, "cnp_802p_prio", 6)}, false, "6", "1", "cnp_802p_prio=unchanged cnp_prio_mode=unchanged"},
		{"both set, mode first", "1", []nicparam.Setting{want(1, "cnp_prio_mode", 1), want(1, "cnp_802p_prio", 5)}, false, "5", "1", "cnp_prio_mode=verified cnp_802p_prio=verified"},
		{"both set, mode off", "1", []nicparam.Setting{want(1, "cnp_prio_mode", 0), want(1, "cnp_802p_prio", 5)}, false, "5", "0", "cnp_prio_mode=verified cnp_802p_prio=verified"},
		{"failure restores mode", "1", []nicparam.Setting{want(1, "cnp_802p_prio", 5), want(1, "rpg_gd", 10)}, true, "6", "1", "cnp_802p_prio=unverified rpg_gd=refused cnp_prio_mode=affected"},
		{"failure, and mode is unchanged until priority is restored", "1", []nicparam.Setting{want(1, "cnp_802p_prio", 5), want(1, "cnp_prio_mode", 1), want(1, "rpg_gd", 10)},
			true, "6", "1", "cnp_802p_prio=unverified cnp_prio_mode=unverified rpg_gd=refused"},
	} {
		h := newHost(t, debugfsFiles(1))
		h.put(t, dir+"np_cnp_prio_mode", c.mode+"\n")
		h.linkEffects(t, 1)
		if c.fail {
			h.onWrite[dir+"rp_gd"] = func(string) (string, error) { return "", errIO }
		}
		d := debugfsDevice(t, h, 1)
		r, err := d.Set(t.Context(), c.set)
		if (err != nil) != c.fail || errors.Is(err, ErrNotRestored) {
			t.Errorf("%s: error %v", c.title, err)
			continue
		}
		if p, m := h.get(t, dir+"np_cnp_prio"), h.get(t, dir+"np_cnp_prio_mode"); p != c.prio || m != c.then {
			t.Errorf("%s: priority %s, mode %s; want %s, %s", c.title, p, m, c.prio, c.then)
		}
		if got := outcomes(r); got != c.outcomes {
			t.Errorf("%s: %s, want %s", c.title, got, c.outcomes)
		}
	}
}

// A driver without the side effect of the table gets the value anyway, and the result is the desired one.
func TestADriverWithoutTheSideEffect(t *testing.T) {
	t.Parallel()
	dir := fmt.Sprintf(debugfsOf, 0)
	h := newHost(t, debugfsFiles(1))
	h.put(t, dir+"np_cnp_prio_mode", "1\n")
	d := debugfsDevice(t, h, 1)
	r, err := d.Set(t.Context(), []nicparam.Setting{want(1, "cnp_802p_prio", 5)})
	if err != nil || outcomes(r) != "cnp_802p_prio=verified cnp_prio_mode=unchanged" {
		t.Errorf("error %v", err)
	}
	if _, err := d.Set(t.Context(), []nicparam.Setting{want(1, "cnp_802p_prio", 4), want(1, "cnp_prio_mode", 0)}); err != nil || h.get(t, dir+"np_cnp_prio_mode") != "0" {
		t.Errorf("mode is %s, error %v", h.get(t, dir+"np_cnp_prio_mode"), err)
	}
}

func TestCancelledSetRestoresEarlierValues(t *testing.T) {
	t.Parallel()
	for ops := range 10 {
		h := newHost(t, debugfsFiles(1))
		before := h.all(t)
		ctx, cancel := context.WithCancel(t.Context())
		h.before = func(op int, _ bool, _ string) {
			if op == ops {
				cancel()
			}
		}
		set := []nicparam.Setting{want(1, "rpg_time_reset", 100), want(1, "rpg_ai_rate", 20), want(1, "rpg_gd", 10)}
		_, err := debugfsDevice(t, h, 1).Set(ctx, set)
		after := h.all(t)
		changed := 0
		for name, v := range after {
			if before[name] != v {
				changed++
			}
		}
		if ok := changed == 3; ok != (err == nil) || !ok && (changed != 0 || !errors.Is(err, ctx.Err())) {
			t.Errorf("ended at operation %d: %d values changed, error %v", ops, changed, err)
		}
		cancel()
	}
}

func TestSetsAreSerialized(t *testing.T) {
	t.Parallel()
	h := newHost(t, debugfsFiles(1))
	d := debugfsDevice(t, h, 1)
	var all sync.WaitGroup
	errs := make([]error, 8)
	for i := range errs {
		all.Go(func() {
			v := uint64(10 + i)
			_, errs[i] = d.Set(t.Context(), []nicparam.Setting{want(1, "rpg_ai_rate", v), want(1, "rpg_hai_rate", v)})
		})
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Error(err)
	}
	dir := fmt.Sprintf(debugfsOf, 0)
	if a, b := h.get(t, dir+"rp_ai_rate"), h.get(t, dir+"rp_hai_rate"); a != b {
		t.Errorf("a mixture: %s and %s", a, b)
	}
}

// After any fault, once or permanent, either all values are as desired without an error, or the error names every
// value that was not restored.
func TestAnyFailureRestoresOrNamesTheField(t *testing.T) {
	t.Parallel()
	table := newTable()
	rows := table.By(nicparam.Debugfs)
	base := join(debugfsFiles(1), debugfsFiles(2))
	rapid.Check(t, func(rt *rapid.T) {
		h := &host{mem: maps.Clone(base), onRead: map[string]func() ([]byte, error){}, onWrite: map[string]func(string) (string, error){}}
		h.linkEffects(t, 1)
		h.linkEffects(t, 2)
		h.put(t, fmt.Sprintf(debugfsOf, 0)+"np_cnp_prio_mode", "1\n")
		before := h.all(t)
		set, files := drawSet(rt, rows)
		addFaults(rt, h, files)
		r, err := debugfsDevice(t, h, 1, 2).Set(t.Context(), set)
		after := h.all(t)
		expected := maps.Clone(before)
		if err == nil {
			for i, s := range set {
				expected[files[i]] = fmt.Sprint(s.Value)
			}
		}
		for name := range before {
			named := err != nil && r != nil && notRestored(r.Fields, name)
			if after[name] != expected[name] && !named && !affectedBy(r, name, err) {
				rt.Fatalf("%s is %s, want %s; error %v, receipt %+v", name, after[name], expected[name], err, r)
			}
			if named && after[name] == before[name] && !strings.Contains(err.Error(), "NOT RESTORED") {
				rt.Fatalf("%s is named and as before", name)
			}
		}
	})
}

// drawSet draws settings of two ports and the file of each.
func drawSet(rt *rapid.T, rows []*nicparam.Param) (set []nicparam.Setting, files []string) {
	seen := map[nicparam.Key]bool{}
	for range rapid.IntRange(1, 6).Draw(rt, "n") {
		p := rapid.SampledFrom(rows).Draw(rt, "row")
		port := rapid.IntRange(1, 2).Draw(rt, "port")
		k := at(port, p.Name)
		if seen[k] || p.Name == "rpg_min_rate" || p.Name == "rpg_max_rate" {
			continue
		}
		seen[k] = true
		s, _ := p.Source(nicparam.Debugfs)
		set = append(set, nicparam.Setting{Key: k, Value: rapid.Uint64Range(p.Min, p.Max).Draw(rt, "value")})
		files = append(files, fmt.Sprintf(debugfsOf, port-1)+s.Name)
	}
	return set, files
}

// addFaults makes some files misbehave at some of their writes.
func addFaults(rt *rapid.T, h *host, files []string) {
	for _, name := range files {
		fault := rapid.SampledFrom([]string{"", "", "", "refuse", "refuse but do", "keep 3"}).Draw(rt, "fault")
		from, to := rapid.IntRange(1, 3).Draw(rt, "from"), rapid.IntRange(1, 3).Draw(rt, "to")
		writes, inner := 0, h.onWrite[name]
		if fault == "" {
			continue
		}
		h.onWrite[name] = func(s string) (string, error) {
			if writes++; writes >= from && writes <= to {
				switch fault {
				case "refuse":
					return "", errIO
				case "refuse but do":
					return s, errIO
				default:
					return "3", nil
				}
			}
			if inner != nil {
				return inner(s)
			}
			return s, nil
		}
	}
}

// notRestored reports whether a receipt lists a file as not restored.
func notRestored(fields []Field, file string) bool {
	for _, f := range fields {
		p, _ := newTable().Find(f.Name)
		s, _ := p.Source(f.By)
		if fmt.Sprintf(debugfsOf, f.Port-1)+s.Name == file {
			return f.NotRestored != nil
		}
	}
	return false
}

// affectedBy reports whether the receipt of a successful set lists a file as affected.
func affectedBy(r *Receipt, file string, err error) bool {
	if err != nil || r == nil {
		return false
	}
	for _, f := range r.Fields {
		if f.Outcome == Affected && f.Name == "cnp_prio_mode" && file == fmt.Sprintf(debugfsOf, f.Port-1)+"np_cnp_prio_mode" {
			return true
		}
	}
	return false
}

// BenchmarkSetFullPort sets all parameters of a port, without the time that a real device takes.
func BenchmarkSetFullPort(b *testing.B) {
	h := &host{mem: memory(debugfsFiles(1))}
	a, err := Debugfs(h, newTable(), portOf(1))
	if err != nil {
		b.Fatal(err)
	}
	d := NewDevice(newTable(), a)
	var sets [2][]nicparam.Setting
	for _, p := range newTable().By(nicparam.Debugfs) {
		if p.Name != "rpg_min_rate" && p.Name != "rpg_max_rate" {
			sets[0] = append(sets[0], want(1, p.Name, p.Min))
			sets[1] = append(sets[1], want(1, p.Name, p.Max))
		}
	}
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		h.writes = h.writes[:0]
		if _, err := d.Set(b.Context(), sets[n%2]); err != nil {
			b.Fatal(err)
		}
	}
}

// TestBackEndsSupportTheirKeys checks Knows against the list of Keys.
func TestBackEndsSupportTheirKeys(t *testing.T) {
	t.Parallel()
	h := newHost(t, join(sysfsFiles(2, ""), debugfsFiles(2)))
	var accessors []Accessor
	for _, make := range []func() (Accessor, error){
		func() (Accessor, error) { return Sysfs(h, newTable(), portOf(2)) },
		func() (Accessor, error) { return Debugfs(h, newTable(), portOf(2)) },
		func() (Accessor, error) { return NewDCB(newKernel(), little, newTable(), portOf(2)) },
		func() (Accessor, error) { return NewNV(newMst(), newTable(), "0000:3b:00.0", 2) },
	} {
		a, err := make()
		if err != nil {
			t.Fatal(err)
		}
		accessors = append(accessors, a)
	}
	for _, a := range accessors {
		has := map[nicparam.Key]bool{}
		for _, k := range a.Keys() {
			has[k] = true
		}
		if len(has) == 0 {
			t.Errorf("%s has no keys", a.Backend())
		}
		for _, p := range newTable().Params() {
			for port := range 4 {
				for _, i := range []int{-1, 0, 1, p.Scope.Size() - 1, p.Scope.Size()} {
					k := nicparam.Key{Port: port, Name: p.Name, Index: i}
					if a.Knows(k) != has[k] {
						t.Errorf("%s: support of %s is %t", a.Backend(), k, !has[k])
					}
				}
			}
		}
	}
}
