package reproduce

import "testing"

func TestParkingLotAndItsCure(t *testing.T) {
	t.Parallel()
	off, err := runFairness(t.Context(), 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "A and B by D, off", (off.all[0]+off.all[1])/off.all[2], 1, 0.01)
	near(t, "A and B by E, off", (off.all[0]+off.all[1])/off.all[3], 1, 0.01)
	near(t, "Jain index once A has ended, off", jainOf(off.three[1], off.three[2], off.three[3]), 1, 0.001)
	for _, restart := range []bool{false, true} {
		v := base(1, restart)
		on, err := runFairness(t.Context(), 1, &v)
		if err != nil {
			t.Fatal(err)
		}
		if j := jainOf(on.all[0], on.all[1], on.all[2], on.all[3]); j < 0.985 {
			t.Errorf("%s: Jain index %.4f, want the four nearly equal", v.timerForm(), j)
		}
		if on.jitter < off.jitter || on.jitter > 0.15 {
			t.Errorf("%s: jitter %.4f, want some, but small (off: %.4f)", v.timerForm(), on.jitter, off.jitter)
		}
	}
}

// With one mark in 64 the four flows need more marks than the switch can make: the parking lot is
// back with congestion control on.
func TestTooFewMarksBringTheParkingLotBack(t *testing.T) {
	t.Parallel()
	v := base(1, false)
	v.marking = 64
	r, err := runFairness(t.Context(), 1, &v)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "A and B by D", (r.all[0]+r.all[1])/r.all[2], 1, 0.05)
}
