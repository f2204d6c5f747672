package nicfiles

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlane/ccconfig/nic/nicparam"
)

// mst is a fake mstconfig for a card of two ports: default, current and next values by name.
type mst struct {
	rows   map[string][3]uint64
	runs   []string
	set    func(name string, v uint64) (uint64, error) // called for each value; an error ends the program before any value is set
	output func() (string, error)                      // instead of a query
}

func newMst() *mst {
	m := &mst{rows: map[string][3]uint64{}}
	for _, p := range newTable().By(nicparam.NV) {
		for port := 1; port <= 2; port++ {
			name, err := p.NVName(port)
			if err != nil {
				panic(err)
			}
			m.rows[name] = [3]uint64{p.Default, p.Default, p.Default}
		}
	}
	return m
}

// Run emulates the program.
func (m *mst) Run(ctx context.Context, args []string) ([]byte, error) {
	m.runs = append(m.runs, strings.Join(args, " "))
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if args[len(args)-1] == "q" {
		if m.output != nil {
			s, err := m.output()
			return []byte(s), err
		}
		return []byte(m.print()), nil
	}
	after := maps.Clone(m.rows)
	for _, a := range args[4:] {
		name, value, _ := strings.Cut(a, "=")
		row, ok := after[name]
		v, err := strconv.ParseUint(value, 10, 64)
		if !ok || err != nil {
			return []byte("-E- Unknown parameter: " + name + "\n"), errors.New("exit status 3")
		}
		if m.set != nil {
			if v, err = m.set(name, v); err != nil {
				return nil, err
			}
		}
		row[2] = v
		after[name] = row
	}
	m.rows = after
	return []byte("Applying... Done!\n-I- Please reboot machine to load new configurations.\n"), nil
}

func (m *mst) print() string {
	var b strings.Builder
	b.WriteString("\nDevice #1:\n----------\n\nDevice type:    ConnectX6DX\nDevice:         0000:3b:00.0\n\nConfigurations:    Default     Current     Next Boot\n")
	for _, name := range slices.Sorted(maps.Keys(m.rows)) {
		r := m.rows[name]
		mark := " "
		if r[2] != r[1] {
			mark = "*"
		}
		fmt.Fprintf(&b, "%s        %-36s%-16d%-16d%-16d\n", mark, name, r[0], r[1], r[2])
	}
	b.WriteString("The '*' shows parameters with next value different from default/current value.\n")
	return b.String()
}

func nvDevice(t testing.TB, m *mst) (*NV, *Device) {
	t.Helper()
	n, err := NewNV(m, newTable(), "0000:3b:00.0", 2)
	if err != nil {
		t.Fatal(err)
	}
	return n, NewDevice(newTable(), n)
}

func TestNonVolatileSetIsOneCommandAndActsAfterAReset(t *testing.T) {
	t.Parallel()
	m := newMst()
	n, d := nvDevice(t, m)
	set := []nicparam.Setting{want(1, "rpg_ai_rate", 20), want(2, "rpg_gd", 10), want(2, "rpg_hai_rate", 50), {Key: at(0, "user_programmable_cc"), Value: 1}}
	r, err := d.Set(t.Context(), set)
	if err != nil {
		t.Fatal(err)
	}
	if got := outcomes(r); got != "rpg_ai_rate=verified rpg_gd=verified rpg_hai_rate=unchanged user_programmable_cc=verified" {
		t.Error(got)
	}
	if d := cmp.Diff([]nicparam.Key{at(1, "rpg_ai_rate"), at(2, "rpg_gd"), at(0, "user_programmable_cc")}, r.Pending()); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"-d 0000:3b:00.0 -e q", "-d 0000:3b:00.0 -y set RPG_AI_RATE_P1=20 RPG_GD_P2=10 USER_PROGRAMMABLE_CC=1", "-d 0000:3b:00.0 -e q"}, m.runs); d != "" {
		t.Error(d)
	}
	pending, err := n.Pending(t.Context())
	if err != nil || len(pending) != 3 {
		t.Errorf("pending %v, error %v", pending, err)
	}
	if m.rows["RPG_AI_RATE_P1"] != [3]uint64{5, 5, 20} {
		t.Errorf("%v", m.rows["RPG_AI_RATE_P1"])
	}
	if len(n.Keys()) != len(m.rows) {
		t.Errorf("%d keys, %d rows", len(n.Keys()), len(m.rows))
	}
}

func TestNonVolatileSetThatFailsLeavesEverythingAsItWas(t *testing.T) {
	t.Parallel()
	set := []nicparam.Setting{want(1, "rpg_ai_rate", 20), want(2, "rpg_max_rate", 131071)}
	for _, c := range []struct {
		title    string
		change   func(*mst)
		is       error
		text     string
		receipt  bool
		outcomes string
	}{
		{"refused", func(m *mst) {
			m.set = func(string, uint64) (uint64, error) { return 0, errIO }
		}, ErrRefused, "0000:3b:00.0", true, "rpg_ai_rate=refused rpg_max_rate=refused"},
		{"cut", func(m *mst) {
			m.set = func(name string, v uint64) (uint64, error) { return v & 0x7fff, nil }
		}, ErrNotKept, "cut to 15 bits", true, "rpg_ai_rate=verified rpg_max_rate=clipped"},
		{"no such name", func(m *mst) { delete(m.rows, "RPG_MAX_RATE_P2") }, ErrAbsent, "port 2 rpg_max_rate", false, ""},
		{"query fails", func(m *mst) { m.output = func() (string, error) { return "", errIO } }, ErrUnreadable, "query", false, ""},
		{"query fails with a message", func(m *mst) {
			m.output = func() (string, error) { return "-E- Failed to open the device\n", nil }
		}, ErrUnreadable, "mstconfig 0000:3b:00.0:1", false, ""},
		{"query is garbage", func(m *mst) { m.output = func() (string, error) { return "\x00\x01", nil } }, ErrUnreadable, "Configurations:", false, ""},
	} {
		m := newMst()
		c.change(m)
		before := maps.Clone(m.rows)
		_, d := nvDevice(t, m)
		r, err := d.Set(t.Context(), set)
		if !errors.Is(err, c.is) || errors.Is(err, ErrNotRestored) || !strings.Contains(err.Error(), c.text) || (r != nil) != c.receipt {
			t.Errorf("%s: error %v", c.title, err)
			continue
		}
		if r != nil && outcomes(r) != c.outcomes {
			t.Errorf("%s: %s", c.title, outcomes(r))
		}
		if d := cmp.Diff(before, m.rows); d != "" {
			t.Errorf("%s: %s", c.title, d)
		}
	}
}

// A value outside the table, set earlier by an operator, is restored after a failed set.
func TestAnUndocumentedValueIsRestored(t *testing.T) {
	t.Parallel()
	m := newMst()
	m.rows["RPG_GD_P1"] = [3]uint64{11, 13, 13}
	m.set = func(name string, v uint64) (uint64, error) {
		if name == "RPG_AI_RATE_P1" && v == 20 {
			return 21, nil
		}
		return v, nil
	}
	_, d := nvDevice(t, m)
	_, err := d.Set(t.Context(), []nicparam.Setting{want(1, "rpg_gd", 10), want(1, "rpg_ai_rate", 20)})
	if !errors.Is(err, ErrNotKept) || errors.Is(err, ErrNotRestored) || m.rows["RPG_GD_P1"] != [3]uint64{11, 13, 13} {
		t.Errorf("RPG_GD_P1 is %v, error %v", m.rows["RPG_GD_P1"], err)
	}
}

// One command sets all values or none, but a rejected parameter does not prevent the restore of others.
func TestNonVolatileRestoreContinuesAfterFailures(t *testing.T) {
	t.Parallel()
	m := newMst()
	m.set = func(name string, v uint64) (uint64, error) {
		if name == "RPG_GD_P1" {
			return 0, errIO
		}
		return v, nil
	}
	_, d := nvDevice(t, m)
	err := d.Restore(t.Context(), []nicparam.Setting{want(1, "rpg_ai_rate", 20), want(1, "rpg_gd", 10), want(2, "rpg_ai_rate", 1<<17), want(2, "rpg_hai_rate", 60)})
	if !errors.Is(err, ErrNotRestored) || !errors.Is(err, errIO) || strings.Count(err.Error(), "\n") != 1 {
		t.Errorf("error %v, want one of port 1 rpg_gd and of port 2 rpg_ai_rate", err)
	}
	for name, next := range map[string]uint64{"RPG_AI_RATE_P1": 20, "RPG_GD_P1": 11, "RPG_AI_RATE_P2": 5, "RPG_HAI_RATE_P2": 60} {
		if got := m.rows[name][2]; got != next {
			t.Errorf("%s is %d at the next boot, want %d", name, got, next)
		}
	}
}

func TestCardsHaveOneToSixteenPorts(t *testing.T) {
	t.Parallel()
	for ports, ok := range map[int]bool{0: false, 1: true, nicparam.MaxPorts: true, nicparam.MaxPorts + 1: false} {
		if _, err := NewNV(newMst(), newTable(), "mlx5_0", ports); (err == nil) != ok {
			t.Errorf("%d ports: error %v", ports, err)
		}
	}
}

// A run-time accessor and the non-volatile one in one set: the second fails, and the first is rolled back.
func TestSetAcrossBackEndsIsOneTransaction(t *testing.T) {
	t.Parallel()
	h, m := newHost(t, debugfsFiles(1)), newMst()
	m.set = func(string, uint64) (uint64, error) { return 0, errIO }
	debugfs, err := Debugfs(h, newTable(), portOf(1))
	if err != nil {
		t.Fatal(err)
	}
	nv, err := NewNV(m, newTable(), "0000:3b:00.0", 2)
	if err != nil {
		t.Fatal(err)
	}
	before := h.all(t)
	r, err := NewDevice(newTable(), debugfs, nv).Set(t.Context(), []nicparam.Setting{want(1, "rpg_ai_rate", 20), want(1, "roce_cc_prio_mask", 8)})
	if !errors.Is(err, errIO) || outcomes(r) != "rpg_ai_rate=unverified roce_cc_prio_mask=refused" {
		t.Errorf("%s, error %v", outcomes(r), err)
	}
	if d := cmp.Diff(before, h.all(t)); d != "" {
		t.Error(d)
	}
}

const countersOf = "sys/class/infiniband/mlx5_0/ports/1/hw_counters/"

func TestCountersThatCannotBeReadAreErrors(t *testing.T) {
	t.Parallel()
	h := newHost(t, map[string]string{countersOf + "np_cnp_sent": "18446744073709551615", countersOf + "out_of_sequence": "0", countersOf + "lifespan": "10",
		countersOf + "rp_cnp_handled": "", countersOf + "rnr_nak_retry_err": "-1", countersOf + "packet_seq_err": "7", countersOf + "out_of_buffer": "18446744073709551616"})
	h.onRead[countersOf+"packet_seq_err"] = func() ([]byte, error) { return nil, errIO }
	c, err := HWCounters(h, "mlx5_0", 1)
	if err != nil {
		t.Fatal(err)
	}
	if len(c) != 6 {
		t.Errorf("%d counters", len(c))
	}
	for name, value := range map[string]uint64{"np_cnp_sent": 1<<64 - 1, "out_of_sequence": 0} {
		if v, err := c.Read(name); v != value || err != nil {
			t.Errorf("%s is %d, error %v", name, v, err)
		}
	}
	for _, name := range []string{"rp_cnp_handled", "rnr_nak_retry_err", "packet_seq_err", "out_of_buffer"} {
		v, err := c.Read(name)
		if !errors.Is(err, ErrUnreadable) || v != 0 || !strings.Contains(err.Error(), countersOf+name) {
			t.Errorf("%s is %d, error %v", name, v, err)
		}
	}
	if err := c.Unread(); !errors.Is(err, errIO) {
		t.Errorf("unread: %v", err)
	}
	for _, port := range []int{0, 2} {
		if c, err := HWCounters(h, "mlx5_0", port); !errors.Is(err, ErrAbsent) || c != nil {
			t.Errorf("port %d: %v, error %v", port, c, err)
		}
	}
	empty := newHost(t, map[string]string{countersOf + "lifespan": "10"})
	if _, err := HWCounters(empty, "mlx5_0", 1); !errors.Is(err, ErrAbsent) {
		t.Errorf("no counters: error %v", err)
	}
}

// TestAProgramThatWritesIsNotKilled cancels the manager while mstconfig writes: mstconfig runs to its end, and its
// changes are then rolled back.
func TestAProgramThatWritesIsNotKilled(t *testing.T) {
	t.Parallel()
	m := newMst()
	nv, err := NewNV(m, newTable(), "0000:3b:00.0", 2)
	if err != nil {
		t.Fatal(err)
	}
	ctx, leave := context.WithCancel(t.Context())
	n := 0
	m.set = func(name string, v uint64) (uint64, error) {
		n++
		leave()
		return v, nil
	}
	set := []nicparam.Setting{{Key: nicparam.Key{Port: 1, Name: "rpg_ai_rate"}, Value: 77}}
	run := runner(func(ctx context.Context, args []string) ([]byte, error) {
		out, err := m.Run(ctx, args)
		return out, errors.Join(err, ctx.Err()) // a program of that context would have been killed by now
	})
	nv.run = run
	before := maps.Clone(m.rows)
	if _, err := NewDevice(newTable(), nv).Set(ctx, set); !errors.Is(err, context.Canceled) || errors.Is(err, ErrRefused) || errors.Is(err, ErrNotRestored) {
		t.Errorf("%v, want cancelled, neither refused nor without restoration", err)
	}
	if d := cmp.Diff(before, m.rows); d != "" || n != 2 {
		t.Errorf("%d writes, want one and one back: %s", n, d)
	}
	if errs := nv.Write(ctx, set); !errors.Is(errs[0], ErrSkipped) || n != 2 {
		t.Errorf("%v after %d writes, want it skipped", errs, n)
	}
}

type runner func(context.Context, []string) ([]byte, error)

func (r runner) Run(ctx context.Context, args []string) ([]byte, error) { return r(ctx, args) }
