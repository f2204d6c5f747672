package engine_test

import (
	"strings"
	"testing"
	"time"

	"fairlane/internal/control"
)

// TestADeviceSlowerThanTheLeaseIsTriedAgain is a fabric where nothing is wrong but that one answer in eight takes longer
// than the lease: that is no refusal, and no reason to turn back.
func TestADeviceSlowerThanTheLeaseIsTriedAgain(t *testing.T) {
	t.Parallel()
	target := lab(t)
	slow := 0
	for seed := range uint64(40) {
		w := newWorld(t, target, seed+1)
		w.o = outlook{}
		ro := w.db.rollouts[w.id]
		ro.Options.Attempts, ro.Options.ConfirmWindow = 40, 0
		w.db.rollouts[w.id] = ro
		for _, b := range w.devices {
			b.clamps = false
		}
		w.lag = func() time.Duration {
			if w.rng.IntN(8) > 0 {
				return 0
			}
			slow++
			return lease + time.Second
		}
		w.play()
		w.judge()
		if got := w.db.rollouts[w.id]; got.State != control.RolloutSucceeded || len(w.faults) > 0 {
			t.Errorf("seed %d: ended as %s: %s; %s", seed+1, got.State, got.Result, strings.Join(w.faults, "\n"))
		}
	}
	if slow < 100 {
		t.Errorf("%d answers came late: the test proves less than it should", slow)
	}
}
