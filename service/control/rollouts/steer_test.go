package rollouts_test

import (
	"context"
	"errors"
	"math"
	"testing"

	"fairlane/service/control"
	"fairlane/service/control/controltest"
)

// rowlessStore is a store that rejects reading a rollout with all its devices, which may be 10,000.
type rowlessStore struct {
	control.Store
	t *testing.T
}

// Tx implements control.Store.
func (s rowlessStore) Tx(ctx context.Context, f func(control.Repos) error) error {
	return s.Store.Tx(ctx, func(r control.Repos) error { return f(rowlessRepos{r, s.t}) })
}

// View implements control.Store.
func (s rowlessStore) View(ctx context.Context, f func(control.Repos) error) error {
	return s.Store.View(ctx, func(r control.Repos) error { return f(rowlessRepos{r, s.t}) })
}

type rowlessRepos struct {
	control.Repos
	t *testing.T
}

// Rollout implements control.RolloutRepo.
func (r rowlessRepos) Rollout(ctx context.Context, fabric string, id int64) (control.Rollout, error) {
	r.t.Helper()
	r.t.Errorf("rollout %d is read with all its devices", id)
	return r.Repos.Rollout(ctx, fabric, id)
}

func TestSteeringAndReadingLoadNoDeviceRows(t *testing.T) {
	t.Parallel()
	r, plan := controltest.LabWithPlan(t)
	done := controltest.Start(t, r.Service, plan) // puts the plan in force
	r.Wait()
	began, let := r.Devices.Hold()
	ro := controltest.Start(t, r.Service, plan)
	<-began
	r.Store = rowlessStore{r.Store, t}
	s := r.Manager(t)
	if _, err := r.Service.CreateFabric(t.Context(), control.Fabric{Name: "other", Source: "file:x"}); err != nil {
		t.Fatal(err)
	}
	d, err := s.Device(t.Context(), "lab", "h1", false)
	if err != nil || d.Rollout != ro.ID || d.State == "" || d.State == string(d.Watch.Reading) {
		t.Errorf("a device during a rollout is %+v, %v", d, err)
	}
	if _, list, _, err := s.ListDevices(t.Context(), "lab", control.Page{}); err != nil || len(list) < 3 || list[0].Device.Name != "subnet-manager" || list[1].Rollout != ro.ID {
		t.Errorf("the devices during a rollout are %+v, %v", list, err)
	}
	paused, err := s.PauseRollout(t.Context(), "lab", ro.ID)
	if err != nil || paused.Request != control.RequestPause {
		t.Errorf("paused rollout is %+v, %v", paused, err)
	}
	if _, err := s.ResumeRollout(t.Context(), "lab", ro.ID); err != nil {
		t.Error(err)
	}
	if list, _, err := s.Events(t.Context(), "lab", ro.ID, control.Page{}); err != nil || len(list) == 0 || list[0].Rollout != ro.ID {
		t.Errorf("the events of a rollout are %+v, %v", list, err)
	}
	for _, id := range []int64{0, -7, ro.ID + 1, math.MaxInt64} {
		if _, err := s.RollBack(t.Context(), "lab", id, plan); !errors.Is(err, control.ErrNotFound) {
			t.Errorf("going back on rollout %d, which is none: %v", id, err)
		}
	}
	_, _, err = s.Events(t.Context(), "lab", ro.ID+1, control.Page{})
	controltest.MustFail(t, "events of a rollout that is none", err, control.ErrNotFound)
	if _, err := s.RollBack(t.Context(), "lab", done.ID, ""); controltest.Code(err) != "rollout-running" {
		t.Errorf("going back on the first rollout: %v", err)
	}
	if _, err := s.PreviewRollBack(t.Context(), "lab", done.ID, ""); controltest.Code(err) != "rollout-running" {
		t.Errorf("preview of going back on the first rollout: %v", err)
	}
	if _, err := s.PreviewRollBack(t.Context(), "lab", ro.ID+1, plan); !errors.Is(err, control.ErrNotFound) {
		t.Errorf("preview of going back on no rollout: %v", err)
	}
	if _, err := s.PreviewRollBack(t.Context(), "lab", ro.ID, ""); err != nil {
		t.Errorf("preview of undoing a running rollout: %v", err)
	}
	for what, c := range map[string]struct {
		fabric string
		id     int64
	}{"of another fabric": {"other", ro.ID}, "of none": {"lab", 99}, "of a fabric that is none": {"nowhere", ro.ID}} {
		_, err := s.CancelRollout(t.Context(), c.fabric, c.id)
		controltest.MustFail(t, "cancelling a rollout "+what, err, control.ErrNotFound)
	}
	if _, err := s.CancelRollout(t.Context(), "lab", done.ID); controltest.Code(err) != "not-running" {
		t.Errorf("cancelling a rollout that ended gives %v", err)
	}
	let()
	r.Wait()
	if got := controltest.Rollout(t, r.Service, ro.ID); got.State != control.RolloutSucceeded {
		t.Errorf("the rollout ended as %s: %s", got.State, got.Result)
	}
}
