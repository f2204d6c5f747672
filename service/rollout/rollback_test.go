package rollout_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"fairlane/internal/phrase"
	"fairlane/service/control"
	"fairlane/service/device"
	"fairlane/subnet"
)

// waves lists the waves of the devices that moved to a state, in the order of the moves.
func (w *world) waves(to string) (out []int) {
	wave := map[string]int{}
	for _, d := range w.db.devices[w.id] {
		wave[d.Device.Name] = d.Wave
	}
	for _, e := range w.db.events {
		if e.Kind == "device.state" && strings.Contains(string(e.Data), `"to":"`+to+`"`) {
			out = append(out, wave[e.Subject])
		}
	}
	return out
}

// ended plays the world and returns the rollout.
func (w *world) ended(t *testing.T) control.Rollout {
	t.Helper()
	w.play()
	w.judge()
	if len(w.faults) > 0 {
		t.Error(strings.Join(w.faults, "\n"))
	}
	return w.db.rollouts[w.id]
}

func TestRollbackUndoesInReverse(t *testing.T) {
	t.Parallel()
	target := lab(t)
	for seed := range uint64(20) {
		w := peaceful(t, target, seed+1, func(o *control.RolloutOptions) { o.ConfirmWindow = time.Second }) // without a confirmation
		ro := w.ended(t)
		for _, a := range w.db.devices[w.id] {
			for _, b := range w.db.devices[w.id] {
				if a.Device.Kind == subnet.KindCA && b.Device.Kind == subnet.KindSwitch && a.Wave >= b.Wave {
					t.Errorf("%s is in wave %d, %s in wave %d", a.Device, a.Wave, b.Device, b.Wave)
				}
			}
		}
		there, back := w.waves("in-sync"), w.waves("rolled-back")
		if !slices.IsSorted(there) || len(there) != len(w.devices) {
			t.Errorf("seed %d: written in waves %v", seed+1, there)
		}
		slices.Reverse(back)
		if ro.State != control.RolloutRolledBack || !slices.Equal(back, there) {
			t.Errorf("seed %d: ended as %s, undone in waves %v from the last on, want %v", seed+1, ro.State, back, there)
		}
	}
}

func TestFailedHealthGateRollsBack(t *testing.T) {
	t.Parallel()
	target := lab(t)
	for seed := range uint64(20) {
		w := peaceful(t, target, seed+1, func(o *control.RolloutOptions) { o.MinUtilisation = 0.5 })
		var asked []int
		w.gate = func(ro control.Rollout) error {
			if asked = append(asked, ro.Wave); ro.Wave == 1 {
				return errors.New("nothing flows")
			}
			return nil
		}
		ro := w.ended(t)
		if ro.State != control.RolloutRolledBack || !strings.Contains(ro.Result.String(), "health gate after wave 2 of") || !strings.Contains(ro.Result.String(), "nothing flows") {
			t.Errorf("seed %d: ended as %s: %s", seed+1, ro.State, ro.Result)
		}
		if !slices.Equal(slices.Compact(asked), []int{0, 1}) || slices.Max(w.waves("applying")) != 1 {
			t.Errorf("seed %d: asked after waves %v, written in waves %v", seed+1, asked, w.waves("applying"))
		}
	}
}

func TestAFailedCanaryIsNamed(t *testing.T) {
	t.Parallel()
	target := lab(t)
	w := peaceful(t, target, 1, func(o *control.RolloutOptions) { o.FailureBudget = 5 })
	var canary string
	for id, d := range w.db.devices[w.id] {
		if d.Wave == 0 {
			w.devices[id].clamps, canary = true, d.Device.Name
		}
	}
	ro := w.ended(t)
	if ro.State != control.RolloutRolledBack || !strings.Contains(ro.Result.String(), "canary") || !strings.Contains(ro.Result.String(), canary) {
		t.Errorf("ended as %s: %s; want it to name canary %s", ro.State, ro.Result, canary)
	}
	if waves := w.waves("applying"); slices.Max(waves) != 0 {
		t.Errorf("after the canary had failed, waves %v were written", waves)
	}
}

// after makes the rollout find the placements of a plan in force.
func (w *world) after(prior string) {
	ro := w.db.rollouts[w.id]
	ro.Prior = prior
	w.db.rollouts[w.id] = ro
	moving := device.Moving(w.prior.Plan, w.plan.Plan)
	for id, b := range w.devices {
		if b.want = w.wanted[id]; ro.Moves() {
			b.want = device.HoldOver(b.want, w.earlier[id], moving[id])
		}
	}
}

func TestPlacementsFollowTheSettingsThatTheyNeed(t *testing.T) {
	t.Parallel()
	target := lab(t)
	for name, c := range map[string]struct {
		lazy          int
		deaf, refuses bool
		state         control.RolloutState
		placed        control.Placed
	}{
		"at once":                   {0, false, false, control.RolloutSucceeded, control.PlacedVerified},
		"at the second try":         {1, false, false, control.RolloutSucceeded, control.PlacedVerified},
		"asked for, never in force": {0, true, false, control.RolloutFailed, control.PlacedUnverified},
		"known to be refused":       {0, false, true, control.RolloutRefused, control.PlacedNone},
	} {
		for seed := range uint64(10) {
			w := peaceful(t, target, seed+1, nil)
			w.lazy, w.deaf, w.refuses = c.lazy, c.deaf, c.refuses
			w.after(w.prior.Plan.Name)
			ro := w.ended(t)
			if ro.State != c.state || ro.Placed != c.placed || slices.Equal(w.placed, target.Plan.Placements) == (c.deaf || c.refuses) {
				t.Errorf("%s: ended as %s, placements %s: %s", name, ro.State, ro.Placed, ro.Result)
			}
			written := w.waves("applying")
			if c.refuses && len(written) > 0 || c.refuses != strings.Contains(ro.Result.String(), "edited by hand") {
				t.Errorf("%s: devices of waves %v were written, result %q", name, written, ro.Result)
			}
			if w.unready != "" {
				t.Errorf("%s: traffic was moved while %s did not know its service level", name, w.unready)
			}
		}
	}
}

// Ethernet has no placements: the result must not mention them.
func TestRollbackOnEthernetDoesNotMentionPlacements(t *testing.T) {
	t.Parallel()
	for plane, mentioned := range map[string]bool{"": true, "ib": true, "roce": false, "wrcc": false} {
		target := lab(t)
		target.Fabric.Plane = subnet.Plane(plane)
		w := peaceful(t, target, 1, func(o *control.RolloutOptions) { o.MaxShareError = 0.1 })
		w.gate = func(control.Rollout) error { return errors.New("nobody gets his share") }
		w.after("") // unknown
		ro := w.ended(t)
		if ro.State != control.RolloutRolledBack || strings.Contains(ro.Result.String(), "placements stay") != mentioned {
			t.Errorf("plane %q: ended as %s: %s", plane, ro.State, ro.Result)
		}
	}
}

func TestRollbackReturnsPlacements(t *testing.T) {
	t.Parallel()
	target := lab(t)
	for _, known := range []bool{true, false} {
		w := peaceful(t, target, 1, func(o *control.RolloutOptions) { o.MaxShareError = 0.1 })
		w.gate = func(control.Rollout) error { return errors.New("nobody gets his share") }
		w.after("")
		if known {
			w.after(w.prior.Plan.Name)
		}
		ro := w.ended(t)
		switch {
		case w.unready != "":
			t.Errorf("placements were returned after %s had lost what they need", w.unready)
		case ro.State != control.RolloutRolledBack:
			t.Errorf("known %t: ended as %s: %s", known, ro.State, ro.Result)
		case known && (ro.Placed != control.PlacedRestored || !slices.Equal(w.placed, w.prior.Plan.Placements)):
			t.Errorf("placements are %s: %v", ro.Placed, w.placed)
		case !known && (ro.Placed != control.PlacedVerified || !strings.Contains(ro.Result.String(), "placements stay")):
			t.Errorf("placements are %s: %s", ro.Placed, ro.Result)
		}
	}
}

// A release that returned devices before placements was replaced halfway.
func TestRollbackOfEarlierReleaseRestoresPlacementsLast(t *testing.T) {
	t.Parallel()
	target := lab(t)
	for seed := range uint64(10) {
		w := peaceful(t, target, seed+1, nil)
		w.after(w.prior.Plan.Name)
		w.placed = target.Plan.Placements
		ro := w.db.rollouts[w.id]
		ro.Phase, ro.Placed, ro.Wave, ro.Reason = control.PhaseUndoing, control.PlacedVerified, ro.Waves, phrase.Verbatim("nobody gets his share")
		w.db.rollouts[w.id] = ro
		if ro = w.ended(t); ro.State != control.RolloutRolledBack || ro.Placed != control.PlacedRestored || !slices.Equal(w.placed, w.prior.Plan.Placements) {
			t.Errorf("seed %d: ended as %s, placements %s: %s", seed+1, ro.State, ro.Placed, ro.Result)
		}
	}
}

// A manager dies after placements came in force and before it recorded that; then an operator undoes the rollout.
func TestTrafficReturnsWhenThePlacementResultIsLost(t *testing.T) {
	t.Parallel()
	target := lab(t)
	for seed := range uint64(10) {
		w := peaceful(t, target, seed+1, nil)
		w.after(w.prior.Plan.Name)
		w.placed = w.prior.Plan.Placements
		w.onPlaced = func(m *manager) {
			w.onPlaced = nil
			w.kill(m)
			ro := w.db.rollouts[w.id]
			ro.Request, ro.RequestedBy = control.RequestUndo, "ada"
			w.request(ro)
		}
		ro := w.ended(t)
		if ro.State != control.RolloutRolledBack || ro.Placed != control.PlacedRestored || !slices.Equal(w.placed, w.prior.Plan.Placements) {
			t.Errorf("seed %d: ended as %s, placements %s, as before: %t: %s", seed+1, ro.State, ro.Placed, slices.Equal(w.placed, w.prior.Plan.Placements), ro.Result)
		}
		if w.unready != "" {
			t.Errorf("seed %d: placements were returned after %s had lost what they need", seed+1, w.unready)
		}
	}
}
