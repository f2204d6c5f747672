package operations_test

import (
	"testing"
	"time"

	"fairlane/policy"
	"fairlane/service/control"
	"fairlane/service/control/controltest"
	"fairlane/service/control/operations"
	"fairlane/service/control/tenancy"
)

// TestRetentionRemovesOnlyWhatIsOldAndUnused ages a lab with a plan in force, another plan, and a second topology.
func TestRetentionRemovesOnlyWhatIsOldAndUnused(t *testing.T) {
	t.Parallel()
	r, inForce := controltest.InForce(t)
	s, ctx := r.Service, t.Context()
	again := controltest.Start(t, s, inForce) // so that the devices of the first rollout are of no more use
	r.Wait()
	ended := controltest.Rollout(t, s, again.ID).FinishedAt // by the clock of the engine
	var names []string                                      // of plans without a rollout; the latest stays
	for i, name := range []string{"new", "newer"} {
		if _, err := s.ApplyTenants(ctx, "lab", tenancy.TenantSet{Tenants: []tenancy.TenantInput{{Name: name, Weight: 1}}}, false); err != nil {
			t.Fatal(err)
		}
		p, created, err := s.CreatePlan(ctx, "lab", policy.Options{}, false)
		if err != nil || !created {
			t.Fatalf("plan %d: created %v, %v", i, created, err)
		}
		names = append(names, p.Plan.Name)
	}
	const day = 24 * time.Hour
	all := operations.Retention{Events: day, Rollouts: day, Plans: day, Snapshots: day, Audit: day}
	prune := func(ahead time.Duration, p operations.Retention) operations.Pruned {
		t.Helper()
		out, err := operations.Prune(ctx, r.Store, func() time.Time { return s.Now().Add(ahead) }, p)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	if out := prune(day-time.Minute, all); out != (operations.Pruned{}) {
		t.Errorf("what is younger than the retention went: %+v", out)
	}
	if out := prune(30*day, operations.Retention{Events: 31 * day, Plans: 31 * day, Audit: 31 * day}); out != (operations.Pruned{}) {
		t.Errorf("what is younger than a longer retention went: %+v", out)
	}
	// Only rows of the kind with a retention are deleted.
	if out := prune(2*day, operations.Retention{Plans: day}); out != (operations.Pruned{Plans: 1}) {
		t.Errorf("with a retention of plans alone %+v went", out)
	}
	_, err := s.Plan(ctx, "lab", names[0])
	controltest.MustFail(t, "the plan that no rollout refers to", err, control.ErrNotFound)
	if _, err := s.Plan(ctx, "lab", names[1]); err != nil {
		t.Errorf("the latest plan: %v", err)
	}
	ahead := 2*day + max(0, ended.Sub(s.Now()))
	out := prune(ahead, all)
	if out.Plans != 0 || out.Snapshots != 0 || out.RolloutDevices != 4 || out.Audit == 0 {
		t.Errorf("%+v went", out)
	}
	if ro := controltest.Rollout(t, s, again.ID); len(ro.Devices) != 4 {
		t.Errorf("the rollout in force has %d devices left", len(ro.Devices))
	}
	// What is in force can still be loaded.
	if target, err := s.LoadTarget(ctx, "lab", ""); err != nil || target.Plan.Name != inForce || target.Topology == nil {
		t.Errorf("the plan in force is %v, %v", target.Plan, err)
	}
	if more := prune(ahead, all); more.Events+more.RolloutDevices+more.Plans+more.Snapshots != 0 {
		t.Errorf("pruning again took %+v", more)
	}
}

func TestRetentionNamesTheAgeThatIsTooShort(t *testing.T) {
	t.Parallel()
	const short = operations.MinRetention - time.Second
	for name, p := range map[string]operations.Retention{
		"events": {Events: short}, "rollouts": {Rollouts: short}, "plans": {Plans: short}, "snapshots": {Snapshots: short}, "audit": {Audit: short},
	} {
		want := "retention of " + name + " is 23h59m59s: want 0 (for ever) or at least 24h0m0s"
		if err := p.Check(); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if err := (operations.Retention{Events: operations.MinRetention, Audit: 365 * 24 * time.Hour}).Check(); err != nil {
		t.Error(err)
	}
}
