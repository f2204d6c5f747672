package app

import (
	"context"
	"testing"
	"time"

	"fairlane/command/demo"
	"fairlane/policy"
	"fairlane/service/control"
	"fairlane/sim/fabric"
	"fairlane/sim/simdev"
	"fairlane/subnet"
	"fairlane/subnet/ident"
)

// sentOf is what a port of a simulated fabric has sent, and when, by the simulator.
type sentOf struct {
	octets uint64
	at     float64 // seconds
}

// watchBeside watches ports of a fabric while its shares are measured, and compares each rate with what the simulator counted. Both see all that they
// read.
func watchBeside(t *testing.T, d *rig, ids []ident.PortID, truth func(id ident.PortID) sentOf) {
	t.Helper()
	ctx, svc := t.Context(), d.manager.service
	target, err := svc.RefreshTarget(ctx, demo.FabricName, control.Target{})
	if err != nil {
		t.Fatal(err)
	}
	by, ok := svc.Meter.(control.PortWatcher)
	if !ok {
		t.Fatalf("%T watches no ports", svc.Meter)
	}
	w, err := by.WatchPorts(ctx, target, ids, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = w.Close() }()
	all := func() map[ident.PortID]sentOf {
		out := map[ident.PortID]sentOf{}
		for _, id := range ids {
			out[id] = truth(id)
		}
		return out
	}
	measured := make(chan control.Shares, 1)
	go func() {
		sh, err := svc.Meter.Measure(context.WithoutCancel(ctx), target, 200*time.Millisecond)
		if err != nil {
			t.Error(err)
		}
		measured <- sh
	}()
	var last [2]map[ident.PortID]sentOf // before and after the previous reading
	rates := 0
	for i := 0; i < 5 || rates < 2*len(ids) && i < 40; i++ {
		before := all()
		r, err := w.Read(ctx)
		if err != nil {
			t.Fatal(err)
		}
		now := [2]map[ident.PortID]sentOf{before, all()}
		for _, p := range r.Ports {
			if p.Sent == nil {
				if i > 0 {
					t.Logf("reading %d of %s: %v", i, p.Name, p.Err) // a clear, or a machine that was busy
				}
				continue
			}
			// Both counters were read between what the simulator said before and after.
			a0, a1, b0, b1 := last[0][p.Port], last[1][p.Port], now[0][p.Port], now[1][p.Port]
			least, most := 8*float64(b0.octets-a1.octets)/(b1.at-a0.at), 8*float64(b1.octets-a0.octets)/(b0.at-a1.at)
			if got := float64(*p.Sent); got < 0.98*least || got > 1.02*most {
				t.Errorf("reading %d: %s sent %.4g bit/s, the simulator says %.4g to %.4g", i, p.Name, got, least, most)
			}
			rates++
		}
		t.Logf("a reading of %d ports: %+v", len(ids), r.Cost)
		if r.Cost.Requests == 0 || r.Cost.Bytes < 50*r.Cost.Requests {
			t.Errorf("cost %+v", r.Cost)
		}
		last = now
		time.Sleep(300 * time.Millisecond)
	}
	if rates < 2*len(ids) {
		t.Errorf("%d rates of %d ports", rates, len(ids))
	}
	sh := <-measured
	t.Logf("a measurement of %d ports: %+v", len(sh.Ports), sh.Cost)
	if sh.Cost == nil || sh.Cost.Requests == 0 || len(sh.Tenants) == 0 {
		t.Errorf("the measurement beside the watch: %+v", sh)
	}
	for _, x := range sh.Tenants { // links between SONiC switches are not measured in so short a time
		if x.Delivered == nil {
			t.Errorf("the measurement beside the watch has no rate of %s: %s", x.Tenant, x.Problem)
		}
	}
}

func TestWatchedInfiniBandPortsMatchTheSimulator(t *testing.T) {
	t.Parallel()
	d, plan := onFaultyFabric(t, "h2", simdev.Faults{})
	if ro := rollToEnd(t, d, plan); ro.State != control.RolloutSucceeded {
		t.Fatalf("rollout %s: %s", ro.State, ro.Result)
	}
	var topo *subnet.Fabric
	d.live.Devices.With(func(n *fabric.Network) { topo = n.Topology() })
	var ids []ident.PortID
	for _, h := range topo.Hosts() {
		at := subnet.PortRef{Node: h, Port: 1}
		peer, _ := topo.Peer(at)
		ids = append(ids, topo.PortID(at), topo.PortID(peer))
	}
	watchBeside(t, d, ids, func(id ident.PortID) (s sentOf) {
		ref, _ := topo.PortByID(id)
		d.live.Devices.With(func(n *fabric.Network) {
			s = sentOf{n.Counters(ref.Node, ref.Port).XmitBytes, n.Now().Seconds()}
		})
		return s
	})
}

func TestWatchedEthernetPortsMatchTheSimulator(t *testing.T) {
	t.Parallel()
	for _, p := range []policy.Plane{policy.PlaneRoCE, policy.PlaneWRCC} {
		t.Run(string(p), func(t *testing.T) {
			t.Parallel()
			d := etherLab(t, p)
			plan, _, err := d.manager.service.CreatePlan(t.Context(), demo.FabricName, policy.Options{}, false)
			if err != nil {
				t.Fatal(err)
			}
			if ro := rollToEnd(t, d, plan.Plan.Name); ro.State != control.RolloutSucceeded {
				t.Fatalf("rollout %s: %s", ro.State, ro.Result)
			}
			topo := d.ether.Fabric.Topology()
			var ids []ident.PortID
			for _, h := range topo.Hosts() {
				ids = append(ids, topo.PortID(subnet.PortRef{Node: h, Port: 1}))
			}
			watchBeside(t, d, ids, func(id ident.PortID) sentOf {
				nic, err := d.ether.Fabric.NIC(id)
				if err != nil {
					t.Fatal(err)
				}
				c := nic.Measure()
				return sentOf{c.TxOctets, c.At.Seconds()}
			})
		})
	}
}
