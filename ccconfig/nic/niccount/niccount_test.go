package niccount

import (
	"errors"
	"strings"
	"testing"
)

func TestUnreadCounterHasNoValue(t *testing.T) {
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
