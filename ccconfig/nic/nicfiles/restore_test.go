package nicfiles

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlane/ccconfig/nic/nicparam"
)

func TestUnrestoredFieldsAreNamed(t *testing.T) {
	t.Parallel()
	one := fmt.Sprintf(debugfsOf, 0)
	h := newHost(t, debugfsFiles(1))
	h.onWrite[one+"rp_ai_rate"] = func(s string) (string, error) {
		if s != "20" {
			return "", errIO // rejects the restore
		}
		return s, nil
	}
	h.onWrite[one+"rp_hai_rate"] = func(s string) (string, error) { return "1" + s, nil } // stores a different value
	h.onWrite[one+"rp_gd"] = func(string) (string, error) { return "", errors.New("no") }
	r, err := debugfsDevice(t, h, 1).Set(t.Context(), []nicparam.Setting{want(1, "rpg_time_reset", 100), want(1, "rpg_ai_rate", 20), want(1, "rpg_hai_rate", 60), want(1, "rpg_gd", 10)})
	if !errors.Is(err, ErrNotRestored) || !errors.Is(err, errIO) || !errors.Is(err, ErrRefused) {
		t.Fatalf("error %v", err)
	}
	for _, part := range []string{"port 1 rpg_gd: write 10", "NOT RESTORED", "port 1 rpg_ai_rate: was 5", "port 1 rpg_hai_rate: was 50, is 150"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q is not in %v", part, err)
		}
	}
	for _, f := range r.Fields {
		if bad := f.Name == "rpg_ai_rate" || f.Name == "rpg_hai_rate"; bad != (f.NotRestored != nil) {
			t.Errorf("%s: %v", f.Key, f.NotRestored)
		}
	}
	if got := h.get(t, one+"rp_time_reset"); got != "300" {
		t.Errorf("rp_time_reset is %s: a parameter that cannot be restored prevents the restore of others", got)
	}
}

func TestRestoreDoesAllItCan(t *testing.T) {
	t.Parallel()
	dir := fmt.Sprintf(debugfsOf, 0)
	h := newHost(t, debugfsFiles(1))
	h.linkEffects(t, 1)
	h.put(t, dir+"np_cnp_prio_mode", "1\n")
	h.put(t, dir+"rp_gd", "13\n") // not a value that a set may have
	d := debugfsDevice(t, h, 1)
	var earlier []nicparam.Setting
	for _, r := range d.ReadAll(t.Context()) {
		earlier = append(earlier, r.Setting)
	}
	before := h.all(t)
	set := []nicparam.Setting{want(1, "rpg_gd", 10), want(1, "cnp_802p_prio", 5), want(1, "rpg_ai_rate", 20), want(1, "rpg_hai_rate", 60)}
	if _, err := d.Set(t.Context(), set); err != nil {
		t.Fatal(err)
	}
	if err := d.Restore(t.Context(), earlier); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(before, h.all(t)); d != "" {
		t.Error(d)
	}
	if _, err := d.Set(t.Context(), set); err != nil {
		t.Fatal(err)
	}
	h.onWrite[dir+"rp_ai_rate"] = func(string) (string, error) { return "", errIO }
	err := d.Restore(t.Context(), append(earlier, want(2, "rpg_gd", 11), earlier[0]))
	if !errors.Is(err, ErrNotRestored) || !errors.Is(err, errIO) || !errors.Is(err, ErrAbsent) || strings.Count(err.Error(), "\n") != 2 {
		t.Errorf("error %v", err)
	}
	before[dir+"rp_ai_rate"] = "20"
	if d := cmp.Diff(before, h.all(t)); d != "" {
		t.Error(d)
	}
	if err := d.Restore(t.Context(), make([]nicparam.Setting, nicparam.MaxSet+1)); err == nil {
		t.Error("restored too many")
	}
}

// A dead accessor and an unknown side effect do not keep other parameters from being restored.
func TestRestoreContinuesDespiteUnavailableParts(t *testing.T) {
	t.Parallel()
	dir := fmt.Sprintf(debugfsOf, 0)
	h := newHost(t, debugfsFiles(1))
	h.put(t, dir+"rp_gd", "10\n")
	h.put(t, dir+"np_cnp_prio", "5\n")
	h.onRead[dir+"np_cnp_prio_mode"] = func() ([]byte, error) { return nil, errIO }
	debugfs, err := Debugfs(h, newTable(), portOf(1))
	if err != nil {
		t.Fatal(err)
	}
	dcb, err := NewDCB(&kernel{errno: 5}, little, newTable(), portOf(1))
	if err != nil {
		t.Fatal(err)
	}
	err = NewDevice(newTable(), debugfs, dcb).Restore(t.Context(), []nicparam.Setting{index("pfc", 3, 1), want(1, "cnp_802p_prio", 6), want(1, "rpg_gd", 11)})
	if !errors.Is(err, ErrNotRestored) {
		t.Fatalf("error %v", err)
	}
	for _, part := range []string{"port 1 pfc[3]: was 1", "cnp_802p_prio changes port 1 cnp_prio_mode too"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q is not in %v", part, err)
		}
	}
	if gd, prio := h.get(t, dir+"rp_gd"), h.get(t, dir+"np_cnp_prio"); gd != "11" || prio != "6" {
		t.Errorf("rp_gd is %s, np_cnp_prio %s; want 11, 6", gd, prio)
	}
}
