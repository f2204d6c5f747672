package ccalgo

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestTheAlgorithmFollowsVendorAndDriver(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		vendor, driver string
		want           Name
		managed        bool
	}{
		{"0x15b3", "mlx5_core 24.10-1.1.4", Unverified, true},
		{"0x14e4", "bnxt_en", Thor, false},
		{"0x8086", "ice 1.14", Window, false},
		{"0x1dd8", "ionic", Profiles, false},
		{"0x15b3", "mlx4_core", Unknown, false},
		{"0x1cf2", "mlx5_core", Unknown, false}, // another vendor's driver with the same parameter names
		{"", "", Unknown, false},
	} {
		got := Of(c.vendor, c.driver)
		if got != c.want || got.IsDCQCN() != c.managed {
			t.Errorf("%s %s: %s, managed %v", c.vendor, c.driver, got, got.IsDCQCN())
		}
		if got.Title().ID == "" || (got.Fix().ID == "") != c.managed {
			t.Errorf("%s: %q, %q", got, got.Title().ID, got.Fix().ID)
		}
	}
	if later := Name("of-a-later-agent"); later.IsDCQCN() || later.Title().ID != Unknown.Title().ID {
		t.Error("an algorithm of a later agent is taken for a known one")
	}
}

// register formats the fields of a register as mstreg prints them.
func register(fields ...string) string {
	var b strings.Builder
	b.WriteString("Sending access register...\n\nField Name                    | Data\n===================================\n")
	for _, f := range fields {
		name, v, _ := strings.Cut(f, "=")
		fmt.Fprintf(&b, "%-30s| %s\n", name, v)
	}
	b.WriteString("===================================\n")
	return b.String()
}

func TestSlotsAreReadFromTheRegister(t *testing.T) {
	t.Parallel()
	list, err := ParseList([]byte(register("local_port=0x00000001", "cmd_type=0x00000010", "text[0]=0x00000001", "text[1]=0x00000000", "text[2]=0x0000000a", "text[15]=0x1")))
	if err != nil || !slices.Equal(list, []int{0, 2, 15}) {
		t.Errorf("%v, %v", list, err)
	}
	for text, want := range map[string]bool{register("value=0x00000001"): true, register("value=0x00000000"): false} {
		if got, err := ParseStatus([]byte(text)); err != nil || got != want {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", register("cmd_type=0x3"), register("value=0x2"), register("value=0xzz"), register("value=0x1", "value=0x0"), register("value=0x100000001"), strings.Repeat("x", MaxOutput+1)} {
		if got, err := ParseStatus([]byte(text)); err == nil {
			t.Errorf("%.200q: %v, want an error", text, got)
		}
		if got, err := ParseList([]byte(text)); err == nil {
			t.Errorf("%.200q: %v, want an error", text, got)
		}
	}
}

func TestOnlyTheStatusProvesDCQCN(t *testing.T) {
	t.Parallel()
	yes, no := true, false
	for _, c := range []struct {
		name   string
		status Status
		want   Name
	}{
		{"slot 0", Status{Active: []int{0}}, DCQCN},
		{"slot 0 without the fixed function", Status{Active: []int{0}, Fixed: &no}, DCQCN},
		{"another slot", Status{Active: []int{1}, Fixed: &yes}, Programmable},
		{"DCQCN and another slot", Status{Active: []int{0, 2}}, Programmable},
		{"the last slot", Status{Active: []int{15}}, Programmable},
		{"none, fixed function", Status{Fixed: &yes}, DCQCN},
		{"none, no fixed function", Status{Fixed: &no}, Inactive},
		{"none, unknown", Status{}, Unverified},
		{"unreadable", Status{Active: []int{1}, Err: errors.New("not installed")}, Unverified},
	} {
		if got, why := c.status.Judge(); got != c.want || why == "" {
			t.Errorf("%s: %s, %q", c.name, got, why)
		}
	}
}

func FuzzRegister(f *testing.F) {
	f.Add([]byte(register("text[0]=0x1", "value=0x1")))
	f.Add([]byte("value | 0x00000001\nvalue | 0x0"))
	f.Add([]byte("-E- Failed to send access register"))
	f.Fuzz(func(t *testing.T, out []byte) {
		slots, err := ParseList(out)
		if err == nil && (len(slots) == 0 || len(slots) > Slots || slots[len(slots)-1] != Slots-1 || !slices.IsSorted(slots)) {
			t.Errorf("slots %v", slots)
		}
		if active, err := ParseStatus(out); err != nil && active {
			t.Error("an error with an active algorithm")
		}
	})
}
