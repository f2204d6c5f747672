package drift_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"fairlane/policy"
	"fairlane/service/control"
	"fairlane/service/control/controltest"
	"fairlane/service/control/drift"
	"fairlane/service/control/rollouts"
	"fairlane/service/control/usecases"
)

// counting is a store that counts the loading of plans.
type counting struct {
	control.Store

	plans atomic.Int64
}

func (s *counting) View(ctx context.Context, f func(control.Repos) error) error {
	return s.Store.View(ctx, func(r control.Repos) error { return f(countingRepos{r, s}) })
}

type countingRepos struct {
	control.Repos

	s *counting
}

func (r countingRepos) Plan(ctx context.Context, fabric, name string) (control.Plan, error) {
	r.s.plans.Add(1)
	return r.Repos.Plan(ctx, fabric, name)
}

func TestSweepsOfManyFabricsLoadEachPlanOnce(t *testing.T) {
	t.Parallel()
	const fabrics = 7
	r := controltest.New(t, controltest.OpenSQLite)
	for i := range fabrics {
		name := fmt.Sprintf("lab%d", i)
		if _, err := r.Service.CreateFabric(t.Context(), control.Fabric{Name: name, Source: controltest.Source}); err != nil {
			t.Fatal(err)
		}
		if _, err := r.Service.Discover(t.Context(), name); err != nil {
			t.Fatal(err)
		}
		if _, err := r.Service.ApplyTenants(t.Context(), name, controltest.Tenants(), false); err != nil {
			t.Fatal(err)
		}
		p, _, err := r.Service.CreatePlan(t.Context(), name, policy.Options{}, false)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.Service.StartRollout(t.Context(), name, rollouts.RolloutInput{Plan: p.Plan.Name}); err != nil {
			t.Fatal(err)
		}
		r.Wait()
	}
	st := &counting{Store: r.Store}
	r.Store = st
	list, ahead := controltest.Managers(t, r, 2)
	sweep := func(s *usecases.Services, want int64) {
		t.Helper()
		before := st.plans.Load()
		if err := s.SweepDrift(t.Context(), "m"); err != nil {
			t.Fatal(err)
		}
		if got := st.plans.Load() - before; got != want {
			t.Errorf("the sweep loaded %d plans, want %d", got, want)
		}
	}
	sweep(list[0], fabrics) // creates the records
	sweep(list[1], 0)       // nothing is due
	ahead.Add(int64(6 * time.Minute))
	sweep(list[0], 0) // all is due, and cached
	ahead.Add(int64(6 * time.Minute))
	sweep(list[1], fabrics)
}

func TestPlansInForceAreKeptWhileThereIsRoom(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		most, want int
		devices    []int
	}{
		{10, 0, nil},
		{10, 1, []int{11}},
		{10, 2, []int{5, 5}},
		{10, 1, []int{1, 6, 5}},
		{10, 2, []int{5, 5, 5}},
		{10, 3, []int{9, 0, 5, 5}},
		{10, 1, []int{5, 5, 20}},
	} {
		if got := drift.KeptPlans(c.most, c.devices...); got != c.want {
			t.Errorf("of plans with %v devices %d are kept, want %d", c.devices, got, c.want)
		}
	}
}
