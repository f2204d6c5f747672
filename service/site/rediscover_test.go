package site

import (
	"context"
	"strings"
	"testing"
	"time"

	"fairlane/policy"
	"fairlane/service/control"
	"fairlane/sim/live/livetest"
	"fairlane/sim/scenario"
	"fairlane/sim/simdev"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/subnet/topogen"
)

func TestSweepsOfDeletedFabricsAreRemoved(t *testing.T) {
	t.Parallel()
	var l rescans
	at := func(name, source string, after time.Duration) *swept {
		return l.of(control.Fabric{Name: name, Source: source}, time.Unix(1e9, 0).Add(after), keepScans)
	}
	a, b := at("a", "here", 0), at("b", "here", 0)
	if at("a", "here", keepScans) != a || len(l.fabrics) != 2 {
		t.Errorf("%d fabrics after an hour, want both", len(l.fabrics))
	}
	if at("a", "here", keepScans+time.Second) != a || len(l.fabrics) != 1 {
		t.Errorf("%d fabrics later, want the one that is looked at", len(l.fabrics))
	}
	if at("b", "here", keepScans+2*time.Second) == b || at("a", "there", keepScans+3*time.Second) == a {
		t.Error("sweeps of deleted or moved fabrics are still stored")
	}
}

// A rescan requests less than a discovery, routes only sometimes, and reports when another port manages the subnet.
func TestRescansAreCheapAndReportANewSubnetManager(t *testing.T) {
	t.Parallel()
	topo, err := topogen.Star(4, topogen.Wire{})
	if err != nil {
		t.Fatal(err)
	}
	l := livetest.InfiniBand(t, &scenario.Scenario{Name: "lab", Fabric: topo}, simdev.Options{TimeScale: 0.2})
	p, f := &Access{}, control.Fabric{Name: "lab", Source: "ibsim:" + l.Server.Addr()}
	known, _, err := p.Discover(t.Context(), f.Source, policy.Options{})
	if err != nil {
		t.Fatal(err)
	}
	first, err := p.Rescan(t.Context(), f, known, ident.PortID{})
	if err != nil || len(first.Changes) > 0 || first.Manager == (ident.PortID{}) || first.Topology == nil {
		t.Fatalf("the first rescan is %+v, %v", first, err)
	}
	other := known.PortID(subnet.PortRef{Node: known.NodesByName("h4")[0], Port: 1})
	last := first.Stats.MADsSent
	for scan := 1; scan < 2*routesEvery; scan++ {
		again, err := p.Rescan(t.Context(), f, known, other)
		if err != nil {
			t.Fatal(err)
		}
		if len(again.Changes) != 1 || again.Changes[0].Kind != "sm-handover" || again.Changes[0].Peer != other || again.Changes[0].Port != first.Manager {
			t.Errorf("rescan %d reports %+v, want that the subnet manager was on %s", scan, again.Changes, other)
		}
		if sent, routes := again.Stats.MADsSent, scan%routesEvery == routesEvery-1; !routes && sent >= first.Stats.MADsSent || routes && sent <= last {
			t.Errorf("rescan %d sent %d requests, the one before %d, the first %d", scan, sent, last, first.Stats.MADsSent)
		}
		last = again.Stats.MADsSent
	}
	f.Source = "ibsim:unix:nobody-is-there"
	if _, err := p.Rescan(t.Context(), f, known, other); err == nil || !strings.Contains(err.Error(), "nobody-is-there") {
		t.Errorf("a fabric that is not there: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.Rescan(ctx, f, known, other); err == nil {
		t.Error("a rescan after its end")
	}
}
