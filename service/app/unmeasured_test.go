package app

import (
	"math"
	"regexp"
	"testing"
	"time"

	"fairlane/command/demo"
	"fairlane/service/control"
	"fairlane/sim/fabric"
	"fairlane/sim/simdev"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/subnet/mad"
)

// saturate takes the counters by SL of every port of a simulated fabric to their end, where 16 GiB of traffic leave them.
func saturate(t *testing.T, d *rig) {
	t.Helper()
	var topo *subnet.Fabric
	d.live.Devices.With(func(n *fabric.Network) { topo = n.Topology() })
	wire, err := d.live.Devices.Local(subnet.PortRef{Node: topo.Hosts()[0], Port: 1})
	if err != nil {
		t.Fatal(err)
	}
	for i := range topo.Nodes {
		n := &topo.Nodes[i]
		for port := 1; port < len(n.Ports); port++ {
			lid := n.Ports[port].LID
			if n.Kind == subnet.KindSwitch {
				lid = n.Ports[0].LID
			}
			full := mad.PortSLCounters{PortSelect: ident.PortNum(port), CounterSelect: 0xffff}
			for sl := range full.SL {
				full.SL[sl] = math.MaxUint32
			}
			req := mad.NewPerf(mad.MethodSet, mad.AttrPortXmitDataSL, 0)
			if err := full.Encode(req.Data()); err != nil {
				t.Fatal(err)
			}
			if _, err := mad.Call(t.Context(), wire, mad.Target{LID: lid}, &req); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestTheFirstMeasurementAfterLongTrafficIsRight takes all counters by SL of a simulated fabric to their end. With the
// setting clear the next measurement is complete and agrees with the one before; with keep it says of each tenant why there is
// no number, and links, which have counters of 64 bits, are measured.
func TestTheFirstMeasurementAfterLongTrafficIsRight(t *testing.T) {
	t.Parallel()
	d, plan := onFaultyFabric(t, "h2", simdev.Faults{})
	if ro := rollToEnd(t, d, plan); ro.State != control.RolloutSucceeded {
		t.Fatalf("rollout %s: %s", ro.State, ro.Result)
	}
	ctx, svc := t.Context(), d.manager.service
	const window = 10 * time.Millisecond
	measure := func() control.Shares {
		t.Helper()
		s, err := svc.ReadShares(ctx, demo.FabricName, plan, window)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	if before, err := d.Settle(ctx, plan, demo.Pace{Round: 10e9, Final: 10e9}); err != nil || !before.Complete() {
		t.Fatalf("before: %+v, %v", before, err)
	}
	saturate(t, d)
	first := measure()
	second := measure()
	if !first.Complete() || first.Window < window || first.Coverage == nil || *first.Coverage < 0.5 {
		t.Fatalf("the first measurement is %+v", first)
	}
	for i, x := range first.Tenants {
		was, is := float64(*x.Delivered), float64(*second.Tenants[i].Delivered)
		if is == 0 || math.Abs(was-is) > 0.3*is {
			t.Errorf("tenant %s: %s first and %s then", x.Tenant, x.Delivered, second.Tenants[i].Delivered)
		}
	}
	f, err := svc.Fabric(ctx, demo.FabricName)
	if err != nil {
		t.Fatal(err)
	}
	f.Counters = control.CountersKeep
	if _, err := svc.UpdateFabric(ctx, f); err != nil {
		t.Fatal(err)
	}
	if s := measure(); !s.Complete() {
		t.Errorf("with counters that are not at their end: %+v", s)
	}
	saturate(t, d)
	s := measure()
	for _, x := range s.Tenants {
		if x.Delivered != nil || x.ShareError != nil || !regexp.MustCompile(`^the counter of SL \d+ has reached its maximum \(port h\d/P1\)$`).MatchString(x.Problem) {
			t.Errorf("tenant %+v", x)
		}
	}
	if _, links := s.Missing(); links > 0 || len(s.Links) == 0 || s.MaxShareError != nil || s.Jain != nil {
		t.Errorf("links %+v, worst error %v, Jain index %v", s.Links, s.MaxShareError, s.Jain)
	}
	if again := measure(); again.Complete() {
		t.Error("a counter was cleared although the fabric's setting is keep")
	}
}
