package app

import (
	"slices"
	"strings"
	"testing"
	"time"

	"fairlane/ccconfig/driver"
	"fairlane/command/demo"
	"fairlane/policy"
	"fairlane/service/control"
	"fairlane/sim/gnmidev"
	"fairlane/sim/live/livetest"
	"fairlane/subnet/ident"
)

// loopNow says whether congestion control acts, by counters of the live fabric.
func loopNow(t *testing.T, d *rig) control.CongestionLoop {
	t.Helper()
	sh, err := d.manager.service.ReadShares(t.Context(), demo.FabricName, "", 200*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	if sh.Loop == nil {
		t.Fatal("the measurement has no congestion-control figures")
	}
	return *sh.Loop
}

// A prerequisite that is set against the plan on live NICs stops the loop, and the counters say at which stage.
func TestAnInactiveControlLoopIsReportedWithItsStage(t *testing.T) {
	t.Parallel()
	d := etherLab(t, policy.PlaneRoCE)
	ro := rollToEnd(t, d, d.onlyTenants(t, "gold", "silver", "bronze").Name)
	if ro.State != control.RolloutSucceeded || !strings.Contains(ro.Result.String(), "congestion control acts: ") {
		t.Fatalf("rollout %s: %s", ro.State, ro.Result)
	}
	flows := d.ether.Case.Flows
	one, two, to := flows[0].Src, flows[1].Src, flows[0].Dst
	acts := func(when string) {
		t.Helper()
		until(t, when+" congestion control acts", func() bool { return loopNow(t, d).State == control.LoopActing })
	}
	acts("first")
	for _, c := range []struct {
		what   string
		Access []ident.PortID
		set    driver.NICParam
		stage  string
		where  string
	}{
		{"senders do not react", []ident.PortID{one, two}, driver.NICParam{Name: "rp_enable", Index: 3}, "reaction", "host-001/P1 host-002/P1"},
		{"one sender does not react", []ident.PortID{two}, driver.NICParam{Name: "rp_enable", Index: 3}, "reaction", "host-002/P1"},
		{"the receiver does not notify", []ident.PortID{to}, driver.NICParam{Name: "np_enable", Index: 3}, "notifications", "host-004/P1"},
		{"senders are not ECN-capable", []ident.PortID{one, two}, driver.NICParam{Name: "default_roce_tos", Value: 104}, "marks", "host-004/P1"},
		{"another algorithm is in the place of DCQCN", []ident.PortID{one, two}, driver.NICParam{Name: "user_programmable_cc", Value: 1}, "rates", "host-001/P1 host-002/P1"},
	} {
		was := nowOf(t, d, c.Access[0], c.set.Name, c.set.Index)
		put := func(v uint64) {
			t.Helper()
			for _, at := range c.Access {
				if c.set.Name != "user_programmable_cc" {
					behindTheBack(t, d, at, c.set.Name, c.set.Index, v)
					continue
				}
				ref, _ := d.ether.Case.Fabric.PortByID(at)
				_, dev := connectTo(t, d.source())
				want := driver.Settings{NIC: &driver.NICState{Params: []driver.NICParam{{Name: c.set.Name, Value: v}}}}
				if _, err := dev.Apply(t.Context(), driver.PortDevice(d.ether.Case.Fabric, ref, driver.PlaneRoCE), want); err != nil {
					t.Fatal(err)
				}
				d.ether.Hosts[at.Node].ResetFirmware()
			}
			until(t, "the agents set again", func() bool { return len(settingsOff(t, d)) == 0 })
		}
		put(c.set.Value)
		var got control.CongestionLoop
		for range 20 { // what was in flight ends
			if got = loopNow(t, d); got.State == control.LoopNotActing && got.Stage == c.stage && strings.Join(got.Where, " ") == c.where {
				break
			}
		}
		if got.State != control.LoopNotActing || got.Stage != c.stage || strings.Join(got.Where, " ") != c.where {
			t.Errorf("%s: %+v", c.what, got)
		}
		put(was)
		acts("after " + c.what)
	}
}

// A loop that is dead after a rollout undoes it, where the gate before it could not know.
func TestAnInactiveControlLoopRollsTheRolloutBack(t *testing.T) {
	t.Parallel()
	d := etherLab(t, policy.PlaneRoCE)
	plan := d.onlyTenants(t, "gold", "silver", "bronze")
	at := d.ether.Case.Flows[0].Src
	behindTheBack(t, d, at, "rp_enable", 3, 0)
	if err := d.ether.Hosts[at.Node].InjectPort(at, func(f *gnmidev.PortFaults) { f.Unreadable = append(f.Unreadable, "rp_enable") }); err != nil {
		t.Fatal(err)
	}
	ro := rollToEnd(t, d, plan.Name)
	if ro.State != control.RolloutRolledBack {
		t.Fatalf("rollout %s: %s", ro.State, ro.Result)
	}
	for _, part := range []string{"congestion control does not act: notifications are sent, but none is handled at host-001/P1"} {
		if !strings.Contains(ro.Result.String(), part) {
			t.Errorf("the result %q has no %q", ro.Result, part)
		}
	}
	var said []string
	list, _, err := d.manager.service.Events(t.Context(), demo.FabricName, ro.ID, control.Page{})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		said = append(said, e.Said.String())
	}
	if !slices.ContainsFunc(said, func(s string) bool {
		return strings.Contains(s, "1 prerequisite of congestion control is unknown: host-001/P1") && strings.Contains(s, "rp_enable[3] is unknown")
	}) {
		t.Errorf("no event reports that rp_enable[3] is unknown: %q", said)
	}
}

// Without load congestion control is not tested, and never said to act.
func TestAControlLoopWithoutLoadIsNotTested(t *testing.T) {
	t.Parallel()
	c := livetest.SlowCase(t, policy.PlaneRoCE)
	c.Flows, c.Tenants = c.Flows[:1], c.Tenants[:1] // no contending tenant
	d := etherLabOf(t, c)
	ro := rollToEnd(t, d, d.onlyTenants(t, "gold").Name)
	if ro.State != control.RolloutSucceeded || !strings.Contains(ro.Result.String(), "congestion control was not tested: no queue was full") {
		t.Errorf("rollout %s: %s", ro.State, ro.Result)
	}
	if got := loopNow(t, d); got.State != control.LoopNotTested {
		t.Errorf("%+v", got)
	}
}
