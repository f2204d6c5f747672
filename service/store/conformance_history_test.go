package store

import (
	"errors"
	"testing"
	"time"

	"fairlane/service/control"
)

func checkShares(t *testing.T, f *fixture) {
	ctx := t.Context()
	f.fabric("lab")
	f.fabric("prod")
	minute := func(i int) time.Time { return at().Add(time.Duration(i) * time.Minute) }
	f.tx(func(r control.Repos) (err error) {
		for i, body := range []string{"a", "b", "c", "d", "e"} {
			err = errors.Join(err, r.AddShares(ctx, "lab", minute(i), []byte(body), 4))
		}
		return errors.Join(err, r.AddShares(ctx, "prod", minute(0), []byte("x"), 1),
			r.AddShares(ctx, "lab", minute(4), []byte("f"), 4)) // the clock did not advance
	})
	read := func(fabric string, since, until time.Time) (got string) {
		f.view(func(r control.Repos) error {
			list, err := paged(2, func(p control.Page) ([][]byte, string, error) { return r.ListShares(ctx, fabric, since, until, p) })
			for _, body := range list {
				got += string(body)
			}
			return err
		})
		return got
	}
	f.equal("kept", "fdcb", read("lab", time.Time{}, time.Time{}))
	f.equal("kept of some time", "dc", read("lab", minute(2), minute(4)))
	f.equal("kept of the other fabric", "x", read("prod", time.Time{}, time.Time{}))
	claim := func(now, next time.Time) (ok bool) {
		f.tx(func(r control.Repos) (err error) { ok, err = r.ClaimShares(ctx, "lab", now, next); return err })
		return ok
	}
	f.equal("claims that were granted", []bool{true, false, true}, []bool{claim(minute(0), minute(5)), claim(minute(4), minute(9)), claim(minute(5), minute(9))})
	collect := func(owner string, now, until time.Time) (ok bool) {
		f.tx(func(r control.Repos) (err error) {
			ok, err = r.ClaimCollection(ctx, "lab", owner, now, until)
			return err
		})
		return ok
	}
	f.equal("leases of collectors: taken, held by another, extended, still held, ended and taken over, lost", []bool{true, false, true, false, true, false}, []bool{
		collect("m1", minute(0), minute(2)), collect("m2", minute(1), minute(3)), collect("m1", minute(1), minute(4)),
		collect("m2", minute(3), minute(5)), collect("m2", minute(4), minute(6)), collect("m1", minute(5), minute(7)),
	})
}

func checkTasks(t *testing.T, f *fixture) {
	ctx := t.Context()
	var made []control.Task
	f.tx(func(r control.Repos) error {
		for i := range 6 { // four simulations, of which one still runs, and two calibrations
			kind := control.TaskSimulation
			if i%3 == 2 {
				kind = control.TaskCalibration
			}
			task, err := r.CreateTask(ctx, control.Task{Kind: kind, Request: control.TaskRequest{Scenario: "s"}, State: control.TaskQueued, Actor: "ada", CreatedAt: at()})
			if err != nil {
				return err
			}
			task.State, task.StartedAt, task.Cancel, task.Attempt = control.TaskRunning, at(), i == 1, 1
			if i != 1 {
				task.State, task.FinishedAt, task.Result, task.Progress = control.TaskSucceeded, at().Add(time.Minute), []byte(`{"x":1}`), 1
			}
			if err := r.PutTask(ctx, task, at()); err != nil {
				return err
			}
			made = append(made, task)
		}
		return nil
	})
	listed := func(kind control.TaskKind) (ids []int64) {
		f.view(func(r control.Repos) error {
			list, err := paged(1, func(p control.Page) ([]control.Task, string, error) { return r.ListTasks(ctx, kind, p) })
			for _, task := range list {
				ids = append(ids, task.ID)
				if task.Result != nil {
					t.Errorf("a list has the result %s", task.Result)
				}
			}
			return err
		})
		return ids
	}
	f.equal("simulations", []int64{made[4].ID, made[3].ID, made[1].ID, made[0].ID}, listed(control.TaskSimulation))
	f.view(func(r control.Repos) error {
		got, err := r.Task(ctx, control.TaskSimulation, made[0].ID)
		f.equal("task", made[0], got)
		open, err2 := r.CountOpenTasks(ctx)
		silent, err3 := r.SilentTasks(ctx, at().Add(time.Second))
		f.equal("silent tasks", []control.Task{made[1]}, silent)
		f.equal("open tasks", int64(1), open)
		_, missing := r.Task(ctx, control.TaskCalibration, made[0].ID)
		f.want(missing, control.ErrNotFound)
		return errors.Join(err, err2, err3)
	})
	f.tx(func(r control.Repos) error { return r.PruneTasks(ctx, control.TaskSimulation, 1) })
	f.equal("simulations after pruning", []int64{made[4].ID, made[1].ID}, listed(control.TaskSimulation))
	f.equal("calibrations after pruning", []int64{made[5].ID, made[2].ID}, listed(control.TaskCalibration))
	f.tx(func(r control.Repos) error { return r.PruneTasks(ctx, control.TaskCalibration, 2) })
	f.equal("calibrations, all of which are kept", []int64{made[5].ID, made[2].ID}, listed(control.TaskCalibration))
}
