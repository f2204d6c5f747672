package telemetry_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"fairlane/policy"
	"fairlane/service/telemetry"
	"fairlane/subnet"
	"fairlane/subnet/ident"
)

// polled is a world whose switches refresh their counters only sometimes, and whose host h2 answers slowly.
type polled struct {
	*etherWorld

	every time.Duration
	slow  bool
}

func (p *polled) ReadSwitch(ctx context.Context, id ident.PortID) (telemetry.Octets, error) {
	o, err := p.etherWorld.ReadSwitch(ctx, id)
	o.Every = p.every
	return o, err
}

func (p *polled) ReadNIC(ctx context.Context, id ident.PortID) (telemetry.NICReading, error) {
	if p.slow && p.name(id) == "h2" {
		<-ctx.Done()
		return telemetry.NICReading{}, ctx.Err()
	}
	return p.etherWorld.ReadNIC(ctx, id)
}

// TestWatchedEthernetPorts reads two hosts and a port of the switch every second. A host that fails, is slow or resets its counters is a gap, and so is
// a switch that refreshes its counters too rarely; the others are measured all the same.
func TestWatchedEthernetPorts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &polled{etherWorld: newEtherWorld(t, policy.PlaneRoCE)}
		at := w.topo.PortID(subnet.PortRef{Node: w.topo.Switches()[0], Port: 4})
		ref, _ := w.topo.PortByID(at)
		name := w.topo.PortName(ref)
		w.rates[name] = 10e9
		watch, err := telemetry.NewEtherPortWatch(w, []ident.PortID{w.ids[0], w.ids[1], at}, w.topo, 800*time.Millisecond, telemetry.EtherOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for i, x := range []struct {
			change       func()
			h1, h2, leaf float64 // Gbit/s; 0: a gap
		}{
			{func() {}, 0, 0, 0}, // the baseline
			{func() {}, 5, 5, 10},
			{func() { w.rates["h1 tx"] = 5e9 }, 5, 5, 10},
			{func() { w.broken["h1"] = errors.New("no route") }, 0, 5, 10},
			{func() { delete(w.broken, "h1") }, 0, 5, 10},
			{func() {}, 5, 5, 10},
			{func() { w.slow = true }, 5, 0, 10},
			{func() { w.slow = false }, 5, 0, 10},
			{func() { w.every = 10 * time.Second }, 5, 5, 0},
			{func() { w.every = 100 * time.Millisecond }, 5, 5, 0},
			{func() {}, 5, 5, 10},
		} {
			time.Sleep(time.Second - 800*time.Millisecond)
			x.change()
			begun := time.Now()
			got, err := watch.Read(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if took := time.Since(begun); took > 800*time.Millisecond {
				t.Errorf("reading %d took %s", i, took)
			}
			time.Sleep(800*time.Millisecond - time.Since(begun))
			want := map[ident.PortID]float64{w.ids[0]: x.h1, w.ids[1]: x.h2, at: x.leaf}
			for _, p := range got {
				if gbit := want[p.Port]; gbit == 0 && (p.Sent != nil || p.Err == nil) || gbit > 0 && (!near(p.Sent, gbit) || p.Err != nil) {
					t.Errorf("reading %d: %+v, want %v Gbit/s", i, p, gbit)
				}
			}
			if len(got) != 3 {
				t.Errorf("reading %d has %d ports", i, len(got))
			}
		}
		if _, err := telemetry.NewEtherPortWatch(w, []ident.PortID{{Node: 1, Port: 1}}, w.topo, 0, telemetry.EtherOptions{}); err == nil {
			t.Error("a watch of a port that is not on the fabric")
		}
	})
}
