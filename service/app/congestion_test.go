package app

import (
	"testing"
	"time"

	"fairlane/command/demo"
	"fairlane/policy"
	"fairlane/service/control"
	"fairlane/service/rollout"
	"fairlane/service/site"
	"fairlane/service/telemetry"
	"fairlane/sim/simdev"
)

// While shares are measured, what congestion control does to the tenants is read as well: after a rollout their ports
// are marked, and all of it is theirs.
func TestAMeasurementReportsCongestion(t *testing.T) {
	t.Parallel()
	d, plan := onFaultyFabric(t, "h2", simdev.Faults{})
	if ro := rollToEnd(t, d, plan); ro.State != control.RolloutSucceeded {
		t.Fatalf("rollout %s: %s", ro.State, ro.Result)
	}
	ctx := t.Context()
	stored, err := d.manager.service.Plan(ctx, demo.FabricName, plan)
	if err != nil {
		t.Fatal(err)
	}
	_, topo, err := d.manager.service.Topology(ctx, demo.FabricName, "")
	if err != nil {
		t.Fatal(err)
	}
	var got []*telemetry.Congestion
	p := &site.Access{Congested: func(c *telemetry.Congestion) { got = append(got, c) }}
	target := control.Target{
		Fabric: control.Fabric{Name: demo.FabricName, Source: "ibsim:" + d.live.Server.Addr(), TimeScale: 0.2}, Topology: topo, Plan: stored.Plan,
	}
	shares, err := p.Measure(ctx, target, 5*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	if shares.Loop == nil || shares.Loop.State != control.LoopActing {
		t.Errorf("congestion control: %+v", shares.Loop)
	}
	if len(got) != 1 {
		t.Fatalf("one measurement was reported %d times", len(got))
	}
	c := got[0]
	if c.Err != nil || len(c.Tenants) != 3 || c.Switch == 0 || c.Unattributed > 0 {
		t.Errorf("%d tenants, %d marks of switches, %d events of strangers: %v", len(c.Tenants), c.Switch, c.Unattributed, c.Err)
	}
	for _, x := range c.Tenants {
		if x.BECN == 0 {
			t.Errorf("tenant %s never received a congestion notification", x.Tenant)
		}
	}
	for _, x := range c.Ports {
		if x.Err != nil {
			t.Errorf("%s: %v", x.Port.Name, x.Err)
		}
	}
}

// On a fabric whose switches mark nothing, full links say that congestion control does not act, and at which stage.
func TestCongestionControlWithoutMarksIsReportedInactive(t *testing.T) {
	t.Parallel()
	d, plan := onFaultyFabric(t, "h2", simdev.Faults{})
	stored, err := d.manager.service.Plan(t.Context(), demo.FabricName, plan)
	if err != nil {
		t.Fatal(err)
	}
	_, topo, err := d.manager.service.Topology(t.Context(), demo.FabricName, "")
	if err != nil {
		t.Fatal(err)
	}
	p := &site.Access{Congested: func(*telemetry.Congestion) {}}
	target := control.Target{
		Fabric: control.Fabric{Name: demo.FabricName, Source: "ibsim:" + d.live.Server.Addr(), TimeScale: 0.2}, Topology: topo, Plan: stored.Plan,
	}
	shares, err := p.Measure(t.Context(), target, 5*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	if l := shares.Loop; l == nil || l.State != control.LoopNotActing || l.Stage != "marks" || len(l.Where) == 0 {
		t.Errorf("before any rollout congestion control: %+v", shares.Loop)
	}
	// Under a plan without tenants, as after a return to the baseline, there is nothing to measure: that is no failure.
	target.Plan = &policy.Plan{Name: stored.Plan.Name, Plane: stored.Plan.Plane}
	if shares, err = p.Measure(t.Context(), target, 5*time.Millisecond); err != nil || len(shares.Tenants) != 0 || !shares.Complete() {
		t.Errorf("under a plan without tenants: %+v, %v", shares, err)
	}
	if notice, err := (rollout.Gates{Meter: p}).Check(t.Context(), target, control.Rollout{Options: control.RolloutOptions{CheckLoop: true}}); err != nil || notice.ID != "" {
		t.Errorf("the gate of a plan without tenants: %q, %v", notice, err)
	}
}
