package store

import (
	"errors"
	"testing"
	"time"

	"fairlane/ccconfig/driver"
	"fairlane/service/audit"
	"fairlane/service/control"
)

// rolledOut adds a finished rollout of a plan with the given number of devices and two events.
func (f *fixture) rolledOut(plan string, state control.RolloutState, finished time.Time, devices int) (id int64) {
	f.t.Helper()
	return f.rolledOutBy(control.RolloutOptions{}, plan, state, finished, devices)
}

func (f *fixture) rolledOutBy(o control.RolloutOptions, plan string, state control.RolloutState, finished time.Time, devices int) (id int64) {
	f.t.Helper()
	ctx := f.t.Context()
	f.tx(func(r control.Repos) error {
		ro, err := r.CreateRollout(ctx, control.Rollout{Fabric: "lab", Plan: planName(plan), Stages: []control.Stage{control.StageSettings}, Actor: "ada", CreatedAt: finished, Options: o})
		if err != nil {
			return err
		}
		id = ro.ID
		for i := range devices {
			err = errors.Join(err, r.PutRolloutDevice(ctx, id, control.RolloutDevice{Device: driver.Device{ID: port(uint64(i), 1)}, State: "in-sync", UpdatedAt: finished}))
		}
		for range 2 {
			err = errors.Join(err, r.AddEvent(ctx, control.Event{At: finished, Fabric: "lab", Rollout: id, Kind: "k"}))
		}
		if state != control.RolloutRunning {
			err = errors.Join(err, r.FinishRollout(ctx, id, state, "done", finished))
		}
		return err
	})
	return id
}

// prunedBy prunes until nothing is removed, and returns the count of each call.
func (f *fixture) prunedBy(prune func(r control.Repos) (int64, error)) (counts []int64) {
	f.t.Helper()
	for range 20 {
		var n int64
		f.tx(func(r control.Repos) (err error) { n, err = prune(r); return err })
		if n == 0 {
			return counts
		}
		counts = append(counts, n)
	}
	f.t.Fatalf("pruning does not end: %v", counts)
	return nil
}

func (f *fixture) devices(id int64) (n int) {
	f.t.Helper()
	f.view(func(r control.Repos) error {
		ro, err := r.Rollout(f.t.Context(), "lab", id)
		n = len(ro.Devices)
		return err
	})
	return n
}

func checkRetentionOfRollouts(t *testing.T, f *fixture) {
	ctx := t.Context()
	f.fabric("lab")
	f.plan(planName("a"))
	f.plan(planName("b"))
	old, young := at().Add(-48*time.Hour), at()
	failed := f.rolledOut("a", control.RolloutFailed, old, 5)
	inForce := f.rolledOut("a", control.RolloutSucceeded, old, 2)
	repair := f.rolledOutBy(control.RolloutOptions{Repair: true}, "a", control.RolloutSucceeded, old, 1)
	recent := f.rolledOut("b", control.RolloutFailed, young, 1)
	latest := f.rolledOut("b", control.RolloutFailed, old, 1)
	limit := at().Add(-24 * time.Hour)
	f.equal("device rows taken", []int64{2, 2, 2}, f.prunedBy(func(r control.Repos) (int64, error) { return r.PruneRolloutDevices(ctx, limit, 2) }))
	f.equal("events taken", []int64{2, 2}, f.prunedBy(func(r control.Repos) (int64, error) { return r.PruneEvents(ctx, limit, 2) }))
	for id, want := range map[int64]int{failed: 0, inForce: 2, repair: 0, recent: 1, latest: 1} {
		if n := f.devices(id); n != want {
			t.Errorf("rollout %d has %d devices, want %d", id, n, want)
		}
	}
	running := f.rolledOut("b", control.RolloutRunning, old, 3)
	f.equal("rows taken from a running rollout", []int64{1}, f.prunedBy(func(r control.Repos) (int64, error) { return r.PruneRolloutDevices(ctx, limit, 9) })) // of the previous latest one
	if n := f.devices(running); n != 3 {
		t.Errorf("the running rollout has %d devices, want 3", n)
	}
}

func checkRetentionOfPlans(t *testing.T, f *fixture) {
	ctx := t.Context()
	f.fabric("lab")
	for _, digit := range []string{"1", "2", "3"} {
		f.tx(func(r control.Repos) error {
			_, err := r.PutSnapshot(ctx, snapshot("lab", digit, at()))
			return err
		})
	}
	for _, digit := range []string{"a", "b", "c"} {
		f.plan(planName(digit))
	}
	f.rolledOut("b", control.RolloutSucceeded, at(), 0)
	later := at().Add(time.Hour)
	none := f.prunedBy(func(r control.Repos) (int64, error) { return r.PrunePlans(ctx, at(), 9) })
	f.equal("plans taken at their own age", []int64(nil), none)
	f.equal("plans taken", []int64{1}, f.prunedBy(func(r control.Repos) (int64, error) { return r.PrunePlans(ctx, later, 9) }))
	f.view(func(r control.Repos) error {
		_, err := r.Plan(ctx, "lab", planName("a"))
		f.want(err, control.ErrNotFound)
		for _, kept := range []string{"b", "c"} { // rolled out, and the latest
			if _, err := r.Plan(ctx, "lab", planName(kept)); err != nil {
				t.Errorf("plan %s: %v", kept, err)
			}
		}
		return nil
	})
	var used string
	f.view(func(r control.Repos) error {
		list, _, err := r.ListPlans(ctx, "lab", control.Page{})
		used = list[0].Snapshot
		return err
	})
	f.tx(func(r control.Repos) error { // the plans' own snapshot, then one more that is the latest
		s := snapshot("lab", "1", at())
		s.SHA256 = used
		_, err := r.PutSnapshot(ctx, s)
		if err == nil {
			_, err = r.PutSnapshot(ctx, snapshot("lab", "9", at()))
		}
		return err
	})
	f.equal("snapshots taken", []int64{1, 1}, f.prunedBy(func(r control.Repos) (int64, error) { return r.PruneSnapshots(ctx, later, 1) }))
	f.view(func(r control.Repos) error {
		_, err := r.Snapshot(ctx, "lab", used)
		last, err2 := r.Snapshot(ctx, "lab", "")
		if last.SHA256[0] != '9' {
			t.Errorf("the latest snapshot is %s", last.SHA256)
		}
		return errors.Join(err, err2)
	})
}

func checkAuditBefore(t *testing.T, f *fixture) {
	ctx := t.Context()
	times := []int{0, 10, 5, 20, 15} // seconds: the clock was set back twice
	for _, s := range times {
		f.audit(audit.Entry{At: at().Add(time.Duration(s) * time.Second), Action: "x"})
	}
	for seconds, want := range map[int]int64{0: 0, 1: 1, 6: 1, 11: 3, 16: 3, 21: 5} {
		f.view(func(r control.Repos) error {
			tail, err := r.AuditBefore(ctx, at().Add(time.Duration(seconds)*time.Second))
			if tail.Seq != want {
				t.Errorf("before second %d is entry %d, want %d", seconds, tail.Seq, want)
			}
			return err
		})
	}
}
