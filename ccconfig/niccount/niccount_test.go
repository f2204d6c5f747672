package niccount

import (
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestACounterThatWasNotReadHasNoValue(t *testing.T) {
	t.Parallel()
	broken := errors.New("input/output error")
	c := Counters{"np_cnp_sent": {Name: "np_cnp_sent", Value: 7}, "out_of_sequence": {Name: "out_of_sequence", Err: broken}, "a": {Name: "a", Err: broken}}
	if v, err := c.Read("np_cnp_sent"); v != 7 || err != nil {
		t.Errorf("%d, error %v", v, err)
	}
	if _, err := c.Read("out_of_sequence"); !errors.Is(err, broken) || !strings.Contains(err.Error(), "out_of_sequence") {
		t.Errorf("error %v", err)
	}
	if _, err := c.Read("rp_cnp_handled"); !errors.Is(err, ErrAbsent) {
		t.Errorf("error %v", err)
	}
	if err := c.Unread(); !errors.Is(err, broken) || err.Error() != "counter a: input/output error\ncounter out_of_sequence: input/output error" {
		t.Errorf("unread: %v", err)
	}
	if err := (Counters{"x": {Name: "x"}}).Unread(); err != nil {
		t.Errorf("unread: %v", err)
	}
}

func TestWidths(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]int{"np_cnp_sent": 64, "rp_cnp_ignored": 64, "out_of_sequence": 32, "vport_out_of_buffer": 32, "rdma_tx_bytes": 64, "": 32} {
		if got := Bits(name); got != want {
			t.Errorf("%s has %d bits, want %d", name, got, want)
		}
	}
}

func TestDelta(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		bits              int
		before, now, want uint64
		reset             bool
	}{
		{64, 5, 5, 0, false}, {64, 5, 9, 4, false}, {64, 9, 5, 0, true}, {32, 1<<32 - 1, 0, 1, false}, {32, 1<<32 - 10, 5, 15, false},
		{32, 1000, 0, 0, true}, {32, 1 << 31, 0, 1 << 31, false}, {32, 1<<31 - 1, 0, 0, true}, {32, 1 << 40, 0, 0, true},
	} {
		got, err := Delta("x", c.bits, c.before, c.now)
		var reset *ResetError
		if got != c.want || errors.As(err, &reset) != c.reset || (err != nil) != c.reset {
			t.Errorf("%+v: %d, error %v", c, got, err)
		}
	}
}

// Whatever is counted between two readings is found again, wrap or not.
func TestDeltaFindsWhatWasCounted(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		before := rapid.Uint64Range(0, 1<<32-1).Draw(t, "before")
		counted := rapid.Uint64Range(0, 1<<31).Draw(t, "counted")
		got, err := Delta("x", 32, before, (before+counted)&(1<<32-1))
		if err != nil || got != counted {
			t.Fatalf("%d, error %v", got, err)
		}
	})
}
