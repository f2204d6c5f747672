package rollout_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"fairlane/policy"
	"fairlane/service/control"
	"fairlane/service/device"
	"fairlane/subnet/ident"
)

// release starts the release of the fabric after whatever state the last rollout left, as Rollouts.ReleaseFabric does: a
// rollout of the empty plan on every device that was ever written.
func (w *world) release(t *testing.T) {
	t.Helper()
	dirty := map[ident.PortID]control.RolloutDevice{}
	for id, d := range w.db.devices[w.id] {
		if s := d.State; d.Touched && s != device.InSync && s != device.RolledBack {
			dirty[id] = d
		}
	}
	if w.db.rollouts[w.id].Options.To == "" {
		nothing, err := policy.Compile(policy.Input{Fabric: w.plan.Topology})
		if err != nil {
			t.Fatal(err)
		}
		w.prior, w.plan.Plan = w.plan, nothing
	}
	var list []device.Target
	for _, id := range slices.SortedFunc(maps.Keys(w.db.based), ident.PortID.Compare) {
		b := w.db.based[id]
		list = append(list, device.Target{Device: b.Device, Want: control.ToBaseline.Want(&b)})
	}
	for id, b := range w.devices {
		if _, ok := dirty[id]; !ok {
			b.before = b.holds.Clone()
		}
		b.rebooted = false
	}
	o := control.RolloutOptions{Wave: 2 + w.rng.IntN(3), Shard: 1 + w.rng.IntN(3), Parallel: 1, Attempts: 2 + w.rng.IntN(4), FailureBudget: len(list)}
	if w.calm {
		o.Attempts = 8
	}
	o.To, o.Release = control.ToBaseline, true
	if err := w.begin(list, o, dirty); err != nil {
		t.Fatal(err)
	}
	ro := w.db.rollouts[w.id] // no failure blocks the return of other devices
	ro.Options.CanaryWaves = nil
	w.db.rollouts[w.id] = ro
}

// released checks the claims of a release.
func (w *world) released() {
	ro := w.db.rollouts[w.id]
	if ro.State == control.RolloutSucceeded && len(w.placed) > 0 {
		w.fault("released, and %d placements are in force", len(w.placed))
	}
	for id, d := range w.db.devices[w.id] {
		b, base := w.devices[id], w.db.based[id]
		if !base.Settings.Equal(b.first) {
			w.fault("the baseline of %s was replaced", d.Device)
		}
		if home := b.holds.Equal(b.first); !b.rebooted && !home && (!base.Held || ro.State == control.RolloutSucceeded) {
			w.fault("%s is let go by a release that ended as %s, and does not hold its baseline", d.Device, ro.State)
		}
	}
}

// A release that fails at any point leaves every device at its baseline or its previous settings, reports which, and
// completes when it is run again without faults.
func TestRepeatedReleaseCompletesAfterAnyFault(t *testing.T) {
	t.Parallel()
	target := lab(t)
	total := map[string]int{}
	for i := range max(1, *schedules/4) {
		s := *seed + uint64(i)
		w := newWorld(t, target, s)
		w.play()
		if len(w.db.based) > 0 && len(w.faults) == 0 {
			clear(w.counts)
			w.calm = false
			w.release(t)
			w.play()
			w.judge()
			w.released()
		}
		for what, k := range w.counts {
			total[what] += k
		}
		if len(w.db.based) > 0 && len(w.faults) == 0 {
			for _, b := range w.devices {
				b.clamps = false
			}
			w.calm = true
			w.release(t)
			w.play()
			w.judge()
			w.released()
			if ro := w.db.rollouts[w.id]; ro.State != control.RolloutSucceeded {
				w.fault("run again in peace the release ends as %s: %s", ro.State, ro.Result)
			}
		}
		if len(w.faults) > 0 {
			t.Fatalf("seed %d (repeat with -schedules=1 -seed=%d):\n%s\noutlook %+v, counts %v", s, s, strings.Join(w.faults, "\n"), w.o, w.counts)
		}
	}
	if *schedules >= ruleSchedules {
		for _, what := range []string{"killed managers", "database outages", "reboots", "ended as succeeded", "ended as failed", "ended as partial", "ended as rolled-back", "ended as canceled"} {
			if total[what] == 0 {
				t.Errorf("no release had %s: the simulation proves less than it should", what)
			}
		}
	}
}
