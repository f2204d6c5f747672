package store

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlane/ccconfig/driver"
	"fairlane/ccconfig/ibcc"
	"fairlane/internal/phrase"
	"fairlane/service/control"
	"fairlane/subnet"
	"fairlane/subnet/ident"
)

// workDevices are n devices in waves of two shards of two.
func workDevices(n int) []control.RolloutDevice {
	out := make([]control.RolloutDevice, n)
	for i := range out {
		out[i] = control.RolloutDevice{
			Device: driver.Device{Plane: "ib", ID: port(uint64(0x100+i), 1), Name: fmt.Sprintf("host-%d/P1", i), Kind: subnet.KindCA, LID: 4},
			State:  "pending", Wave: i / 4, Shard: i % 4 / 2, UpdatedAt: at(),
		}
	}
	return out
}

func (f *fixture) working(n int) control.Rollout {
	f.t.Helper()
	f.fabric("lab")
	f.plan(planName("a"))
	ro := f.rollout()
	f.tx(func(r control.Repos) error { return r.AddRolloutWork(f.t.Context(), ro.ID, workDevices(n)) })
	return ro
}

func checkRolloutRevision(t *testing.T, f *fixture) {
	ctx := t.Context()
	ro := f.working(1)
	f.tx(func(r control.Repos) error {
		held, err := r.LockRollout(ctx, ro.ID)
		held.Phase, held.Wave, held.Owner, held.Reason = control.PhasePushing, 0, "m1", phrase.Verbatim("why")
		saved, err2 := r.SaveRollout(ctx, held)
		if saved.Revision != held.Revision+1 || saved.Fabric != "lab" || saved.Plan != planName("a") {
			t.Errorf("saved rollout is %+v", saved)
		}
		_, stale := r.SaveRollout(ctx, held)
		f.want(stale, control.ErrConflict)
		return errors.Join(err, err2, r.SetRolloutRequest(ctx, ro.ID, control.RequestPause, "ada", true, at()))
	})
	f.tx(func(r control.Repos) error {
		held, err := r.LockRollout(ctx, ro.ID)
		request, err2 := r.RolloutRequest(ctx, ro.ID)
		if held.Request != control.RequestPause || request != control.RequestPause || held.RequestedBy != "ada" || !held.Confirmed || held.Revision != 2 || held.Owner != "m1" || held.Reason.String() != "why" {
			t.Errorf("after a request the rollout is %+v", held)
		}
		held.Request, held.State, held.Phase, held.FinishedAt = control.RequestRun, control.RolloutSucceeded, control.PhaseEnded, at()
		ended, err3 := r.SaveRollout(ctx, held)
		_, again := r.SaveRollout(ctx, ended)
		f.want(again, control.ErrConflict)
		f.want(r.SetRolloutRequest(ctx, ro.ID, control.RequestCancel, "ada", false, at()), control.ErrConflict)
		if got, err := r.LockRollout(ctx, ro.ID); err != nil || got.Request != control.RequestPause || !got.FinishedAt.Equal(at()) {
			t.Errorf("ended rollout is %+v, %v: a step must not change the request", got, err)
		}
		_, missing := r.LockRollout(ctx, 999)
		f.want(missing, control.ErrNotFound)
		return errors.Join(err, err2, err3)
	})
}

func checkShards(t *testing.T, f *fixture) {
	ctx := t.Context()
	ro := f.working(6)
	f.tx(func(r control.Repos) error {
		list, err := r.Shards(ctx, ro.ID)
		want := []control.Shard{}
		for _, k := range [][2]int{{0, 0}, {0, 1}, {1, 0}} {
			want = append(want, control.Shard{Key: control.ShardKey{Rollout: ro.ID, Wave: k[0], Shard: k[1]}, State: control.ShardReady, Epoch: 1})
		}
		f.equal("shards", want, list)
		undo := control.Shard{Key: control.ShardKey{Rollout: ro.ID, Undo: true, Wave: 1}, State: control.ShardWorking, Epoch: 3, Beat: 9, Owner: "m2"}
		if err := r.PutShard(ctx, undo); err != nil {
			return err
		}
		undo.Beat++
		err2 := r.PutShard(ctx, undo)
		got, err3 := r.LockShard(ctx, undo.Key)
		f.equal("shard", undo, got)
		_, missing := r.LockShard(ctx, control.ShardKey{Rollout: ro.ID, Wave: 7})
		f.want(missing, control.ErrNotFound)
		ds, err4 := r.ShardDevices(ctx, ro.ID, 0, 1)
		f.equal("devices of a shard", workDevices(6)[2:4], ds)
		return errors.Join(err, err2, err3, err4)
	})
}

func checkManyDevices(t *testing.T, f *fixture) {
	ctx := t.Context()
	const n = 2*batchRows + 3
	ro := f.working(n)
	before := &driver.Settings{CA: &ibcc.CASettings{Table: []ibcc.Entry{{}}}}
	f.tx(func(r control.Repos) error {
		ds := workDevices(n)
		for i := range ds {
			switch i % 5 {
			case 0:
				ds[i].State, ds[i].Before, ds[i].Touched = "in-sync", before, true
			case 1:
				ds[i].State, ds[i].Before, ds[i].Error, ds[i].Touched = "failed", before, phrase.Verbatim("silent"), true
			case 2:
				ds[i].State, ds[i].Error = "rolled-back", phrase.Verbatim("clamped")
			case 3:
				ds[i].State, ds[i].Error = "unsupported", phrase.Verbatim("old firmware")
			}
		}
		err := r.PutRolloutDevices(ctx, ro.ID, ds)
		twice := r.PutRolloutDevices(ctx, ro.ID, []control.RolloutDevice{ds[0], ds[0]})
		if twice == nil {
			t.Error("a device was stored twice in one call")
		}
		return err
	})
	f.view(func(r control.Repos) error {
		all, err := r.TallyRollout(ctx, ro.ID, -1)
		count := func(k int) int { return (n + 4 - k) / 5 }
		failed, errFailed := r.FailedDevices(ctx, ro.ID)
		f.equal("failed devices", count(1)+count(2)+count(3), failed)
		f.want(errFailed, nil)
		f.equal("tally", control.Tally{All: n, InSync: count(0), Open: count(4), Failed: count(1) + count(2) + count(3),
			Returned: count(2), Touched: count(0) + count(1), Dirty: count(1)}, all)
		first, err2 := r.TallyRollout(ctx, ro.ID, 0)
		if first.All != 4 || first.InSync != 1 {
			t.Errorf("tally of the first wave is %+v", first)
		}
		waves, err3 := r.TouchedWaves(ctx, ro.ID)
		if len(waves) == 0 || waves[0] != (control.WaveShards{Wave: 0, Shards: 1}) || waves[1] != (control.WaveShards{Wave: 1, Shards: 2}) {
			t.Errorf("touched waves are %v", waves[:2])
		}
		faulty, err4 := r.FaultyDevices(ctx, ro.ID, 2)
		if len(faulty) != 2 || faulty[0].Error.String() != "silent" || faulty[1].Error.String() != "clamped" {
			t.Errorf("faulty devices are %+v", faulty)
		}
		return errors.Join(err, err2, err3, err4)
	})
}

func checkDirtyDevices(t *testing.T, f *fixture) {
	ctx := t.Context()
	first := f.working(3)
	before := &driver.Settings{CA: &ibcc.CASettings{Table: []ibcc.Entry{{}}}}
	ds := workDevices(3)
	put := func(rollout int64, i int, state control.DeviceState, touched bool) {
		d := ds[i]
		d.State, d.Touched, d.Before = state, touched, before
		f.tx(func(r control.Repos) error { return r.PutRolloutDevices(ctx, rollout, []control.RolloutDevice{d}) })
	}
	put(first.ID, 0, "failed", true)
	put(first.ID, 1, "failed", true)
	put(first.ID, 2, "in-sync", true)
	dirty := func() (names []string) {
		f.view(func(r control.Repos) error {
			list, err := r.DirtyDevices(ctx, "lab")
			for _, d := range list {
				if d.Before == nil {
					t.Errorf("%s has no state before", d.Device)
				}
				names = append(names, d.Device.Name)
			}
			return err
		})
		return names
	}
	if got := dirty(); got != nil {
		t.Errorf("of a running rollout %v are dirty", got)
	}
	end := func(id int64) {
		f.tx(func(r control.Repos) error { return r.FinishRollout(ctx, id, control.RolloutFailed, "stuck", at()) })
	}
	end(first.ID)
	if d := cmp.Diff([]string{"host-0/P1", "host-1/P1"}, dirty()); d != "" {
		t.Error(d)
	}
	second := f.rollout()
	f.tx(func(r control.Repos) error { return r.AddRolloutWork(ctx, second.ID, workDevices(3)) })
	put(second.ID, 0, "in-sync", true)
	end(second.ID)
	if d := cmp.Diff([]string{"host-1/P1"}, dirty()); d != "" {
		t.Errorf("a later rollout settles a device, and one that it never reached stays as it is: %s", d)
	}
	third := f.rollout()
	f.tx(func(r control.Repos) error { return r.AddRolloutWork(ctx, third.ID, workDevices(3)) })
	put(third.ID, 0, "unknown", true)
	put(third.ID, 1, "rolled-back", false)
	if d := cmp.Diff([]string{"host-1/P1"}, dirty()); d != "" {
		t.Errorf("a running rollout is ignored: %s", d)
	}
	end(third.ID)
	if d := cmp.Diff([]string{"host-0/P1"}, dirty()); d != "" {
		t.Errorf("a device that was clean can be left again, and one that was left can be returned: %s", d)
	}
}

func checkPlacedPlan(t *testing.T, f *fixture) {
	ctx := t.Context()
	f.fabric("lab")
	placed := func(want string) {
		t.Helper()
		f.view(func(r control.Repos) error {
			got, err := r.PlacedPlan(ctx, "lab")
			if got != want {
				t.Errorf("the placements in force are those of %q, want %q", got, want)
			}
			return err
		})
	}
	placed("")
	both := []control.Stage{control.StagePlacement, control.StageSettings}
	for i, c := range []struct {
		stages []control.Stage
		state  control.RolloutState
		placed control.Placed
		stays  bool
	}{
		{both, control.RolloutFailed, control.PlacedUnverified, false},
		{both, control.RolloutRolledBack, control.PlacedVerified, true}, // the previous plan is unknown
		{[]control.Stage{control.StageSettings}, control.RolloutSucceeded, control.PlacedNone, false},
		{[]control.Stage{control.StagePlacement}, control.RolloutSucceeded, control.PlacedVerified, true},
		{both, control.RolloutPartial, control.PlacedVerified, true},
		{both, control.RolloutFailed, control.PlacedUnverified, false},
		{both, control.RolloutRolledBack, control.PlacedRestored, false},
		{both, control.RolloutCanceled, control.PlacedNone, false},
		{both, control.RolloutCanceled, control.PlacedVerified, true},
		{[]control.Stage{control.StageSettings}, control.RolloutPartial, control.PlacedNone, false},
		{both, control.RolloutSucceeded, control.PlacedVerified, true},
	} {
		name, before := planName(fmt.Sprintf("%x", i)), ""
		f.plan(name)
		f.tx(func(r control.Repos) (err error) {
			if before, err = r.PlacedPlan(ctx, "lab"); err != nil {
				return err
			}
			ro, err := r.CreateRollout(ctx, control.Rollout{Fabric: "lab", Plan: name, Stages: c.stages, CreatedAt: at()})
			if err != nil {
				return err
			}
			ro.Placed = c.placed
			if _, err = r.SaveRollout(ctx, ro); err != nil {
				return err
			}
			if now, err := r.PlacedPlan(ctx, "lab"); err != nil || now != before {
				t.Errorf("while a rollout runs the placements in force are those of %q, want %q; %v", now, before, err)
			}
			return r.FinishRollout(ctx, ro.ID, c.state, "", at())
		})
		if c.stays {
			before = name
		}
		placed(before)
	}
	f.view(func(r control.Repos) error {
		_, err := r.PlacedPlan(ctx, "nowhere")
		f.want(err, control.ErrNotFound)
		return nil
	})
}

func checkDevicesOf(t *testing.T, f *fixture) {
	ctx := t.Context()
	const n = batchNames + 50 // more than one statement
	ro := f.working(n)
	ds := workDevices(n)
	d := ds[7]
	d.State, d.Note, d.Before = "applying", phrase.Verbatim("writing"), &driver.Settings{CA: &ibcc.CASettings{Table: []ibcc.Entry{{}}}}
	f.tx(func(r control.Repos) error { return r.PutRolloutDevices(ctx, ro.ID, []control.RolloutDevice{d}) })
	other := ds[3].Device.ID
	other.Port++ // of a node that is in the rollout
	f.view(func(r control.Repos) error {
		some, err := r.DevicesOf(ctx, ro.ID, []ident.PortID{ds[7].Device.ID, other, ds[7].Device.ID})
		if len(some) != 1 || some[0].Device.ID != ds[7].Device.ID || some[0].State != "applying" || some[0].Note.String() != "writing" || some[0].Before != nil {
			t.Errorf("one device is %+v", some)
		}
		ids := make([]ident.PortID, len(ds))
		for i := range ds {
			ids[i] = ds[i].Device.ID
		}
		all, err2 := r.DevicesOf(ctx, ro.ID, ids)
		seen := map[ident.PortID]bool{}
		for i := range all {
			seen[all[i].Device.ID] = true
		}
		if len(all) != len(ds) || len(seen) != len(ds) {
			t.Errorf("of %d devices there are %d, %d different ones", len(ds), len(all), len(seen))
		}
		none, err3 := r.DevicesOf(ctx, ro.ID+1, ids)
		if len(none) > 0 {
			t.Errorf("another rollout has %d devices", len(none))
		}
		return errors.Join(err, err2, err3)
	})
}
