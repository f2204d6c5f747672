package app

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"fairlane/command/demo"
	"fairlane/policy"
	"fairlane/service/collect"
	"fairlane/service/control"
	"fairlane/service/series"
	"fairlane/service/series/embedded"
	"fairlane/service/series/embedded/embeddedtest"
	"fairlane/sim/gnmidev"
	"fairlane/sim/plane"
	"fairlane/subnet"
	"fairlane/subnet/ident"
)

// functionTruth is what the simulator counted for the functions of a port, and when.
type functionTruth struct {
	of []plane.FunctionCounters
	at float64 // seconds
}

func (f functionTruth) count(i int, kind string) uint64 {
	switch c := &f.of[i]; kind {
	case "marks":
		return c.ECNMarked
	case "cnps-sent":
		return c.CNPsSent
	default:
		return c.CNPsHandled
	}
}

// TestNotificationsOfVirtualFunctionsMatchTheSimulator watches a port that two tenants share by virtual functions, and the port of their
// receiver. Counts of each function agree with the simulator's by 1 %; those of a function in a container are missing, and are no zeros.
func TestNotificationsOfVirtualFunctionsMatchTheSimulator(t *testing.T) {
	t.Parallel()
	d := etherLab(t, policy.PlaneRoCE)
	svc, ctx := d.manager.service, t.Context()
	plan, _, err := svc.CreatePlan(ctx, demo.FabricName, policy.Options{}, false)
	if err != nil {
		t.Fatal(err)
	}
	if ro := rollToEnd(t, d, plan.Plan.Name); ro.State != control.RolloutSucceeded {
		t.Fatalf("rollout %s: %s", ro.State, ro.Result)
	}
	target, err := svc.RefreshTarget(ctx, demo.FabricName, control.Target{})
	if err != nil {
		t.Fatal(err)
	}
	topo := d.ether.Fabric.Topology()
	hosts := topo.Hosts()
	shared, receiver := topo.PortID(subnet.PortRef{Node: hosts[1], Port: 1}), topo.PortID(subnet.PortRef{Node: hosts[3], Port: 1})
	ids := []ident.PortID{shared, receiver}
	w, err := svc.Meter.(control.PortWatcher).WatchPorts(ctx, target, ids, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = w.Close() }()
	truth := func() map[ident.PortID]functionTruth {
		out := map[ident.PortID]functionTruth{}
		for _, id := range ids {
			nic, err := d.ether.Fabric.NIC(id)
			if err != nil {
				t.Fatal(err)
			}
			c := nic.Measure()
			out[id] = functionTruth{c.Functions, c.At.Seconds()}
		}
		return out
	}
	read := func() (before, after map[ident.PortID]functionTruth, all map[ident.PortID][]control.FunctionActivity) {
		before = truth()
		r, err := w.Read(ctx)
		if err != nil {
			t.Fatal(err)
		}
		after, all = truth(), map[ident.PortID][]control.FunctionActivity{}
		for _, p := range r.Ports {
			all[p.Port] = p.Functions
		}
		return before, after, all
	}
	a0, a1, _ := read()
	time.Sleep(4 * time.Second)
	b0, b1, all := read()
	compared := 0
	for id, functions := range all {
		for _, f := range functions {
			for _, n := range f.Counts {
				// Both counters were read between what the simulator counted before and after.
				i, x0, x1, y0, y1 := f.Index, a0[id], a1[id], b0[id], b1[id]
				least := float64(y0.count(i, n.Kind)-x1.count(i, n.Kind)) / (y1.at - x0.at)
				most := float64(y1.count(i, n.Kind)-x0.count(i, n.Kind)) / (y0.at - x1.at)
				t.Logf("%s function %d: %.5g %s per second, the simulator says %.5g to %.5g", id, i, n.PerSecond, n.Kind, least, most)
				if n.PerSecond < 0.99*least || n.PerSecond > 1.01*most {
					t.Errorf("%s function %d: %.5g %s per second, the simulator says %.5g to %.5g", id, i, n.PerSecond, n.Kind, least, most)
				}
				if least > 0 {
					compared++
				}
			}
		}
	}
	if compared < 2+2*3 { // handled by the senders; marks and notifications of the receivers
		t.Errorf("%d counts of functions were compared: %+v", compared, all)
	}
	elsewhere := func(list ...int) {
		if err := d.ether.Hosts[shared.Node].InjectPort(shared, func(f *gnmidev.PortFaults) { f.Elsewhere = list }); err != nil {
			t.Fatal(err)
		}
	}
	elsewhere(1)
	time.Sleep(600 * time.Millisecond) // the agent's counters are fresh for 500 ms
	_, _, _ = read()
	time.Sleep(600 * time.Millisecond)
	if _, _, all = read(); len(all[shared]) != 2 || len(all[shared][0].Counts) != 3 || len(all[shared][1].Counts) != 0 || all[shared][1].Sent == nil {
		t.Errorf("with function 1 in a container: %+v", all[shared])
	}
	elsewhere()
	db := embeddedtest.Open(t, embedded.Options{})
	c, err := collect.New(svc, svc.Meter, db, collect.Options{Name: "m1", Period: 15 * time.Second, AllPorts: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Round(ctx); err != nil {
		t.Fatal(err)
	}
	answer, err := db.Instant(ctx, series.Everything, series.FunctionCNPs, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	var list struct {
		Result []struct{ Metric map[string]string }
	}
	if err := json.Unmarshal(answer.Data, &list); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"bronze", "silver"} {
		if !slices.ContainsFunc(list.Result, func(r struct{ Metric map[string]string }) bool {
			return r.Metric["tenant"] == want && r.Metric["vf"] != ""
		}) {
			t.Errorf("no series of %s: %s", want, answer.Data)
		}
	}
}
