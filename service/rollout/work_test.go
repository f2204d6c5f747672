package rollout_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"fairlane/service/control"
	"fairlane/service/device"
)

// TestWorkerContinuesWithFollowingJobs gives one job to one manager, and then nothing from the queue.
func TestWorkerContinuesWithFollowingJobs(t *testing.T) {
	t.Parallel()
	target := lab(t)
	for name, c := range map[string]struct {
		lag     time.Duration // of each answer
		further bool          // waves beyond the first are reached
	}{
		"quick devices": {0, true},
		"slow devices":  {time.Second, false},
	} {
		w := peaceful(t, target, 1, nil)
		w.calm = true
		w.lag = func() time.Duration { return c.lag }
		w.start()
		m, first := w.managers[0], w.db.jobs[0]
		w.db.jobs = nil
		w.run(m, &first, func(ctx context.Context) error { return m.engine.Work(ctx, first) })
		for len(w.tasks) > 0 {
			if t := w.tasks[0]; t.wake.After(w.now) {
				w.now = t.wake
			}
			w.resume(w.tasks[0])
		}
		ro := w.db.rollouts[w.id]
		if further := ro.Wave > 0; further != c.further {
			t.Errorf("%s: one job brings the rollout to wave %d of %d", name, ro.Wave+1, ro.Waves)
		}
		// Nothing depends on that manager: the next job is in the queue, too.
		open := slices.ContainsFunc(w.db.jobs, func(j control.Job) bool {
			s := w.db.shards[control.ShardKey{Rollout: j.Rollout, Undo: j.Undo, Wave: j.Wave, Shard: j.Shard}]
			return j.Kind == control.JobStep && j.Revision == ro.Revision || j.Kind == control.JobShard && s.State == control.ShardQueued && s.Epoch == j.Revision
		})
		if ro.State == control.RolloutRunning && !open {
			t.Errorf("%s: no other worker would continue: jobs %v, revision %d", name, w.db.jobs, ro.Revision)
		}
		if len(w.faults) > 0 {
			t.Errorf("%s: %q", name, w.faults)
		}
	}
}

// TestMovedFabricIsWrittenAtItsNewAddress rolls out the same plan twice, by the same managers.
func TestMovedFabricIsWrittenAtItsNewAddress(t *testing.T) {
	t.Parallel()
	target := lab(t)
	target.Fabric.Source = "old"
	w := peaceful(t, target, 1, nil)
	w.calm = true
	o := w.db.rollouts[w.id].Options
	w.start()
	run := func() map[string]int {
		t.Helper()
		clear(w.counts)
		for n := 0; n < maxSteps && (w.db.rollouts[w.id].State == control.RolloutRunning || len(w.tasks) > 0); n++ {
			w.step()
		}
		if ro := w.db.rollouts[w.id]; ro.State != control.RolloutSucceeded {
			t.Fatalf("rollout %d is %s: %s", ro.ID, ro.State, ro.Result)
		}
		return w.counts
	}
	if got := run(); got["attached to old"] == 0 || got["attached to new"] > 0 {
		t.Errorf("before the move: %v", got)
	}
	w.plan.Fabric.Source = "new"
	list, err := device.Desired(w.plan.Plan, w.plan.Topology)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range w.devices { // so that all are written once more
		b.holds = b.before.Clone()
	}
	o.CanaryWaves = nil
	if err := w.begin(list, o, nil); err != nil {
		t.Fatal(err)
	}
	if got := run(); got["attached to new"] == 0 || got["attached to old"] > 0 {
		t.Errorf("after the move: %v", got)
	}
}
