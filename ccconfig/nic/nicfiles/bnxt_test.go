package nicfiles

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"testing"

	"fairlane/ccconfig/nic/nicparam"
)

const thorCC = "sys/kernel/config/bnxt_re/bnxt_re0/ports/1/cc/"

// thor is the directory of a port as the driver of Broadcom presents it: files show the hardware's values, and a write waits for
// apply. Values are hexadecimal also without 0x.
type thor struct {
	hardware, waiting map[string]uint64
	old               bool // "apply" shows a text for people
	refuse            string
	ignores           bool // apply succeeds and changes nothing
	writes            []string
}

func newThor() *thor {
	return &thor{hardware: map[string]uint64{"ecn_enable": 0, "ecn_marking": 0, "roce_dscp": 26, "roce_prio": 3, "cnp_dscp": 48, "cnp_prio": 7}, waiting: map[string]uint64{}}
}

func (f *thor) Read(name string) ([]byte, error) {
	file, ok := strings.CutPrefix(name, thorCC)
	switch v, has := f.hardware[file]; {
	case file == "apply" && f.old:
		return []byte("ecn status\t\t\t\t: Disabled\n"), nil
	case file == "apply":
		return fmt.Appendf(nil, "ecn_enable=%#x\t\t\t# ecn status\t\t\t\t: Disabled\necn_marking=%#x\t\t\t# ecn marking\t: Not-ECT\nphases in fast recovery\t\t\t: 5\n", f.hardware["ecn_enable"], f.hardware["ecn_marking"]), nil
	case ok && has:
		return fmt.Appendf(nil, "%#x\n", v), nil
	}
	return nil, fs.ErrNotExist
}

func (f *thor) Write(name string, contents []byte) error {
	file := strings.TrimPrefix(name, thorCC)
	f.writes = append(f.writes, file+" "+string(contents))
	switch v, err := strconv.ParseUint(strings.TrimPrefix(string(contents), "0x"), 16, 32); {
	case err != nil || file == f.refuse:
		return errors.New("invalid argument")
	case file != "apply":
		f.waiting[file] = v
	case !f.ignores:
		for k, v := range f.waiting {
			f.hardware[k] = v
		}
		clear(f.waiting)
	}
	return nil
}

func (f *thor) List(string) ([]string, error) { return nil, fs.ErrNotExist }

func thorDevice(t *testing.T, f *thor) *Device {
	t.Helper()
	table := nicparam.New(nicparam.Caps{Bnxt: true})
	a, err := NewBnxt(f, table, Port{Number: 1, RDMA: "bnxt_re0", RDMAPort: 1})
	if err != nil {
		t.Fatal(err)
	}
	return NewDevice(table, a)
}

func thorSetting(name string, v uint64) nicparam.Setting {
	return nicparam.Setting{Key: nicparam.Key{Port: 1, Name: name}, Value: v}
}

func TestValuesOfBroadcomAreHexadecimalAndApplied(t *testing.T) {
	t.Parallel()
	f := newThor()
	d := thorDevice(t, f)
	r, err := d.Set(t.Context(), []nicparam.Setting{thorSetting("bnxt_ecn_enable", 1), thorSetting("bnxt_roce_dscp", 34)})
	if err != nil || r.Fields[0].Outcome != Verified || r.Fields[1].Outcome != Verified || r.Fields[1].Before != 26 {
		t.Fatalf("%+v, %v", r, err)
	}
	if got := strings.Join(f.writes, ","); got != "ecn_enable 0x1,roce_dscp 0x22,apply 1" {
		t.Error(got)
	}
	if f.hardware["roce_dscp"] != 34 {
		t.Errorf("hardware has %d", f.hardware["roce_dscp"])
	}
	if err := d.Restore(t.Context(), []nicparam.Setting{thorSetting("bnxt_ecn_enable", 0), thorSetting("bnxt_roce_dscp", 26)}); err != nil || f.hardware["roce_dscp"] != 26 || f.hardware["ecn_enable"] != 0 {
		t.Errorf("%v, %v", f.hardware, err)
	}
}

func TestAFailedSetOfBroadcomLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*thor){
		"a refused value":               func(f *thor) { f.refuse = "cnp_prio" },
		"a refused apply":               func(f *thor) { f.refuse = "apply" },
		"an apply that changes nothing": func(f *thor) { f.ignores = true },
	} {
		f := newThor()
		change(f)
		_, err := thorDevice(t, f).Set(t.Context(), []nicparam.Setting{thorSetting("bnxt_ecn_enable", 1), thorSetting("bnxt_cnp_prio", 5)})
		if err == nil {
			t.Errorf("%s: no error", name)
		}
		if f.hardware["ecn_enable"] != 0 || f.hardware["cnp_prio"] != 7 || f.waiting["ecn_enable"] != 0 {
			t.Errorf("%s: %v, waiting %v", name, f.hardware, f.waiting)
		}
	}
}

// The files of older releases show values that may not have been applied: no read-back proves anything there.
func TestAnOldReleaseOfBroadcomIsNotWritten(t *testing.T) {
	t.Parallel()
	f := newThor()
	f.old = true
	d := thorDevice(t, f)
	if _, err := d.Set(t.Context(), []nicparam.Setting{thorSetting("bnxt_ecn_enable", 1)}); !errors.Is(err, ErrAbsent) || len(f.writes) != 0 {
		t.Errorf("%v, wrote %q", err, f.writes)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if r := thorDevice(t, newThor()).Read(ctx, []nicparam.Key{{Port: 1, Name: "bnxt_ecn_enable"}}); r[0].Err == nil {
		t.Error("a reading after the end of the context")
	}
}

func FuzzBnxt(f *testing.F) {
	f.Add([]byte("ecn_enable=0x1\t\t# ecn status : Enabled\n"))
	f.Add([]byte("ecn_enable=26\necn_enable=1"))
	f.Add([]byte("ecn status : Enabled"))
	f.Fuzz(func(t *testing.T, text []byte) {
		values, err := ParseBnxt(text)
		if err != nil && values != nil {
			t.Error("values with an error")
		}
		for name, v := range values {
			if name == "" || v > 1<<32-1 {
				t.Errorf("%q = %d", name, v)
			}
		}
	})
}
