package store

import (
	"context"
	"errors"
	"testing"

	"fairlane/ccconfig/driver"
	"fairlane/ccconfig/ibcc"
	"fairlane/internal/phrase"
	"fairlane/service/control"
	"fairlane/subnet"
)

func (f *fixture) rollout() (ro control.Rollout) {
	f.t.Helper()
	f.tx(func(r control.Repos) (err error) {
		ro, err = r.CreateRollout(f.t.Context(), control.Rollout{
			Fabric: "lab", Plan: planName("a"), Stages: []control.Stage{control.StagePlacement, control.StageSettings}, Actor: "ada", CreatedAt: at(),
		})
		return err
	})
	return ro
}

func checkOneRollout(t *testing.T, f *fixture) {
	ctx := t.Context()
	f.fabric("lab")
	f.plan(planName("a"))
	first := f.rollout()
	f.equal("rollout", control.Rollout{ID: first.ID, Fabric: "lab", Plan: planName("a"), State: control.RolloutRunning, Actor: "ada", Version: 1,
		Stages: []control.Stage{control.StagePlacement, control.StageSettings}, CreatedAt: at(), UpdatedAt: at(),
		Revision: first.Revision, Phase: first.Phase, Request: first.Request, Wave: first.Wave, Placed: first.Placed, Gated: first.Gated}, first)
	err := f.s.Tx(ctx, func(r control.Repos) error {
		_, err := r.CreateRollout(ctx, control.Rollout{Fabric: "lab", Plan: planName("a"), Stages: []control.Stage{"settings"}, CreatedAt: at()})
		return err
	})
	f.want(err, control.ErrConflict)
	f.tx(func(r control.Repos) error {
		running, err := r.RunningRollouts(ctx)
		f.equal("running", []control.Rollout{first}, running)
		return errors.Join(err, r.FinishRollout(ctx, first.ID, control.RolloutSucceeded, "done", at()))
	})
	second := f.rollout()
	if second.ID <= first.ID {
		t.Errorf("second rollout has id %d, the first %d", second.ID, first.ID)
	}
	f.view(func(r control.Repos) error {
		ok, err := r.LatestRollout(ctx, "lab", control.RolloutSucceeded, control.RolloutPartial)
		if ok.ID != first.ID {
			t.Errorf("latest successful rollout is %d, want %d", ok.ID, first.ID)
		}
		_, err2 := r.LatestRollout(ctx, "lab", control.RolloutFailed)
		f.want(err2, control.ErrNotFound)
		list, next, err3 := r.ListRollouts(ctx, "lab", control.Page{Limit: 1})
		if len(list) != 1 || list[0].ID != second.ID || next == "" {
			t.Errorf("first page is %+v, next %q", list, next)
		}
		list, next, err4 := r.ListRollouts(ctx, "lab", control.Page{Limit: 1, After: next})
		if len(list) != 1 || list[0].ID != first.ID || next != "" {
			t.Errorf("second page is %+v, next %q", list, next)
		}
		return errors.Join(err, err3, err4)
	})
}

func checkRefusedRollout(t *testing.T, f *fixture) {
	ctx := t.Context()
	f.fabric("lab")
	f.plan(planName("a"))
	back := f.rollout()
	f.tx(func(r control.Repos) error {
		return r.FinishRollout(ctx, back.ID, control.RolloutRolledBack, "undone", at())
	})
	refused := f.rollout()
	f.tx(func(r control.Repos) error {
		return r.FinishRollout(ctx, refused.ID, control.RolloutRefused, "nothing was written", at())
	})
	saved := f.rollout()
	f.tx(func(r control.Repos) error {
		saved.State, saved.Result, saved.Phase = control.RolloutRefused, phrase.Verbatim("nothing was written"), control.PhaseEnded
		_, err := r.SaveRollout(ctx, saved)
		return err
	})
	f.view(func(r control.Repos) error {
		for id, want := range map[int64]control.RolloutState{back.ID: control.RolloutRolledBack, refused.ID: control.RolloutRefused, saved.ID: control.RolloutRefused} {
			got, err := r.Rollout(ctx, "lab", id)
			if err != nil || got.State != want {
				t.Errorf("rollout %d is %s (%v), want %s", id, got.State, err, want)
			}
		}
		for want, states := range map[int64][]control.RolloutState{
			back.ID: {control.RolloutRolledBack}, saved.ID: {control.RolloutSucceeded, control.RolloutRefused},
		} {
			if got, err := r.LatestRollout(ctx, "lab", states...); err != nil || got.ID != want {
				t.Errorf("the latest of %v is %d (%v), want %d", states, got.ID, err, want)
			}
		}
		return nil
	})
	n, err := f.s.(interface {
		Census(ctx context.Context) (control.Census, error)
	}).Census(ctx)
	if err != nil || n.Rollouts["refused"] != 2 || n.Rollouts["rolled-back"] != 1 {
		t.Errorf("counted %v (%v)", n.Rollouts, err)
	}
}

func checkRolloutDevices(t *testing.T, f *fixture) {
	ctx := t.Context()
	f.fabric("lab")
	f.plan(planName("a"))
	ro := f.rollout()
	dev := driver.Device{Plane: "ib", ID: port(1<<63+1, 1), Name: "host-01/P1", Kind: subnet.KindCA, LID: 4}
	before := &driver.Settings{CA: &ibcc.CASettings{Limit: 0, Table: []ibcc.Entry{{}}}}
	wanted := &driver.Settings{CA: &ibcc.CASettings{Limit: 1, Table: []ibcc.Entry{{}, {Shift: 1, Multiplier: 3}}}}
	receipt := &driver.Receipt{Fields: []driver.FieldReceipt{{Field: "ca.sl", Outcome: driver.OutcomeAcknowledged}}}
	put := func(d control.RolloutDevice) {
		d.Device, d.UpdatedAt = dev, at()
		f.tx(func(r control.Repos) error { return r.PutRolloutDevice(ctx, ro.ID, d) })
	}
	put(control.RolloutDevice{State: "applying", Before: before, Wanted: wanted})
	put(control.RolloutDevice{State: "verifying", Receipt: receipt})
	put(control.RolloutDevice{State: "in-sync", Observed: wanted})
	f.view(func(r control.Repos) error {
		got, err := r.Rollout(ctx, "lab", ro.ID)
		f.equal("devices", []control.RolloutDevice{{Device: dev, State: "in-sync", Before: before, Wanted: wanted, Observed: wanted, Receipt: receipt, UpdatedAt: at()}}, got.Devices)
		return err
	})
}

func checkFinalRollout(t *testing.T, f *fixture) {
	ctx := t.Context()
	f.fabric("lab")
	f.plan(planName("a"))
	ro := f.rollout()
	finish := func(s control.RolloutState) error {
		return f.s.Tx(ctx, func(r control.Repos) error { return r.FinishRollout(ctx, ro.ID, s, "because", at()) })
	}
	if err := finish(control.RolloutRunning); err == nil {
		t.Error("a rollout was finished as running")
	}
	if err := finish(control.RolloutInterrupted); err != nil {
		t.Fatal(err)
	}
	f.want(finish(control.RolloutSucceeded), control.ErrConflict)
	f.view(func(r control.Repos) error {
		got, err := r.Rollout(ctx, "lab", ro.ID)
		if got.State != control.RolloutInterrupted || got.Result.String() != "because" || !got.FinishedAt.Equal(at()) || got.Version != 2 {
			t.Errorf("rollout is %+v", got)
		}
		return err
	})
}
