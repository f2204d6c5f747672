package rollout_test

import (
	"strings"
	"testing"
	"time"

	"fairlane/service/control"
)

// TestDeviceSlowerThanTheLeaseIsRetried uses a healthy fabric where one answer in eight takes longer than the lease.
// That must cause no failure and no roll-back.
func TestDeviceSlowerThanTheLeaseIsRetried(t *testing.T) {
	t.Parallel()
	target := lab(t)
	slow := 0
	for seed := range uint64(40) {
		w := peaceful(t, target, seed+1, func(o *control.RolloutOptions) { o.Attempts = 40 })
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

// TestSlowOpeningDoesNotLoseTheLease uses a fabric with nodes that do not answer: the identity check takes longer than the
// lease, before the first device is written.
func TestSlowOpeningDoesNotLoseTheLease(t *testing.T) {
	t.Parallel()
	target := lab(t)
	for seed := range uint64(20) {
		w := peaceful(t, target, seed+1, nil)
		w.steady, w.calm = true, true
		w.opening = func() time.Duration { return lease + time.Second }
		w.play()
		w.judge()
		if got := w.db.rollouts[w.id]; got.State != control.RolloutSucceeded || len(w.faults) > 0 {
			t.Errorf("seed %d: ended as %s: %s; %s", seed+1, got.State, got.Result, strings.Join(w.faults, "\n"))
		}
		for _, e := range w.db.events {
			if e.Kind == "rollout.taken-over" {
				t.Errorf("seed %d: %s", seed+1, e.Said.String())
			}
		}
	}
}
