package app

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"fairlane/command/demo"
	"fairlane/policy"
	"fairlane/service/control"
	"fairlane/service/control/rollouts"
	"fairlane/service/placement"
	"fairlane/service/site"
	"fairlane/sim/fabric"
	"fairlane/sim/live"
	"fairlane/sim/scenario"
	"fairlane/sim/simdev"
	"fairlane/subnet/ident"
	"fairlane/subnet/topogen"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// onFaultyFabric starts a live star of four hosts whose agents have the given fault on one node,
// puts it under management with sample tenants, and stores a plan.
func onFaultyFabric(t *testing.T, node string, f simdev.Faults, adjust ...func(*control.Deps)) (*rig, string) {
	t.Helper()
	return onFabricOf(t, fabric.Config{}, node, f, adjust...)
}

// onFabricOf is onFaultyFabric with settings of the fabric's model.
func onFabricOf(t *testing.T, model fabric.Config, node string, f simdev.Faults, adjust ...func(*control.Deps)) (*rig, string) {
	t.Helper()
	topo, err := topogen.Star(4, topogen.Wire{})
	if err != nil {
		t.Fatal(err)
	}
	nodes := topo.NodesByName(node)
	if len(nodes) != 1 {
		t.Fatalf("%d nodes have the name %q", len(nodes), node)
	}
	f.Nodes = nodes
	ts, flows, err := demo.SampleTenants(topo)
	if err != nil {
		t.Fatal(err)
	}
	s := &scenario.Scenario{Name: "faulty", Fabric: topo, Tenants: ts, Config: model}
	for _, fl := range flows {
		s.Flows = append(s.Flows, scenario.Flow{Flow: fl})
	}
	ctx := t.Context()
	l, err := live.StartInfiniBand(ctx, s, fmt.Sprintf("unix:fairlane-%d-%s", os.Getpid(), t.Name()), simdev.Options{TimeScale: 0.2, Faults: f})
	if err != nil {
		t.Fatal(err)
	}
	m, err := openManager(ctx, filepath.Join(t.TempDir(), "fairlane.db"),
		&site.Access{Placements: placement.Placements{Simulated: map[string]func(ident.PKey, ident.SL) int{demo.FabricName: l.Devices.SetPartitionSL}}}, workOptions{still: true}, adjust...)
	if err != nil {
		t.Fatal(err)
	}
	d := newRig(demo.InfiniBand(l), m, 0.2)
	d.live = l
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := d.Onboard(ctx); err != nil {
		t.Fatal(err)
	}
	plan, _, err := m.service.CreatePlan(ctx, demo.FabricName, policy.Options{}, false)
	if err != nil {
		t.Fatal(err)
	}
	return d, plan.Plan.Name
}

// rollToEnd rolls both stages out and returns how it ended.
func rollToEnd(t *testing.T, d *rig, plan string) control.Rollout {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	ro, err := d.ToEnd(ctx, rollouts.RolloutInput{Plan: plan})
	if err != nil {
		t.Fatal(err)
	}
	return ro
}

// settled fails when a device is left in the middle of something.
func settled(t *testing.T, ro control.Rollout) {
	t.Helper()
	if len(ro.Devices) == 0 {
		t.Fatal("the rollout has no devices")
	}
	for _, dev := range ro.Devices {
		if slices.Contains([]control.DeviceState{"applying", "verifying", "in-sync"}, dev.State) {
			t.Errorf("%s is left %s by a rollout that ended as %s", dev.Device.Name, dev.State, ro.State)
		}
	}
}

func TestAnUnresponsiveAgentIsReportedAndNothingIsPartlyWritten(t *testing.T) {
	t.Parallel()
	d, plan := onFaultyFabric(t, "h2", simdev.Faults{CC: simdev.CCSilent})
	ro := rollToEnd(t, d, plan)
	if ro.State == control.RolloutSucceeded || ro.State == control.RolloutPartial {
		t.Fatalf("rollout %s: %s", ro.State, ro.Result)
	}
	if !strings.Contains(ro.Result.String(), "h2/P1") {
		t.Errorf("the result does not name the silent device: %s", ro.Result)
	}
	settled(t, ro)
}

func TestASilentClampIsNoSuccessAndTheDifferenceIsShown(t *testing.T) {
	t.Parallel()
	d, plan := onFaultyFabric(t, "h2", simdev.Faults{ClampTimer: 3})
	ro := rollToEnd(t, d, plan)
	if ro.State == control.RolloutSucceeded || ro.State == control.RolloutPartial {
		t.Fatalf("rollout %s: %s", ro.State, ro.Result)
	}
	if !strings.Contains(ro.Result.String(), "h2/P1") || !strings.Contains(ro.Result.String(), "timer") {
		t.Errorf("the result does not name device and field: %s", ro.Result)
	}
	settled(t, ro)
	_, reports, err := d.manager.service.Devices(t.Context(), demo.FabricName, plan)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range reports {
		if r.State == "in-sync" {
			t.Errorf("%s is in sync after a roll-back", r.Device.Name)
		}
	}
}
