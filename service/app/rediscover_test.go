package app

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"fairlane/command/demo"
	"fairlane/service/control"
	"fairlane/service/rollout/riverwork"
	"fairlane/sim/simdev"
	"fairlane/subnet"
)

// followed is a live fabric that the service rescans periodically, as a manager does.
type followed struct {
	t      *testing.T
	d      *rig
	skew   atomic.Int64
	do     func(context.Context) error
	events int
}

func newFollowed(t *testing.T) *followed {
	t.Helper()
	x := &followed{t: t}
	x.d, _ = onFaultyFabric(t, "h2", simdev.Faults{}, func(d *control.Deps) {
		d.Clock = func() time.Time { return time.Now().Add(time.Duration(x.skew.Load())) }
	})
	m := x.d.manager
	m.options.still, m.options.rescan = false, time.Minute
	list := m.periodic("m")
	at := slices.IndexFunc(list, func(p riverwork.Periodic) bool { return p.Name == "fabrics" })
	if x.do = list[at].Do; list[at].Every > 10*time.Second {
		t.Errorf("fabrics are looked at every %s: want the shortest interval, or less", list[at].Every)
	}
	x.rescan(0)
	return x
}

// rescan advances the time, runs the manager's periodic work, and returns the events that the service added for the fabric.
func (x *followed) rescan(passed time.Duration) string {
	x.t.Helper()
	x.skew.Add(int64(passed))
	if err := x.do(x.t.Context()); err != nil {
		x.t.Fatal(err)
	}
	list, _, err := x.d.manager.service.Events(x.t.Context(), demo.FabricName, 0, control.Page{Limit: 1000})
	if err != nil {
		x.t.Fatal(err)
	}
	var kinds []string
	for _, e := range list[x.events:] {
		if kind, ok := strings.CutPrefix(e.Kind, "fabric."); ok && e.Actor == "system" && kind != "rediscovered" {
			kinds = append(kinds, kind+" "+e.Subject)
		}
	}
	x.events = len(list)
	return strings.Join(kinds, ", ")
}

func (x *followed) known() *subnet.Fabric {
	x.t.Helper()
	_, f, err := x.d.manager.service.Topology(x.t.Context(), demo.FabricName, "")
	if err != nil {
		x.t.Fatal(err)
	}
	return f
}

// plug gives a host of the simulated fabric its link, or takes it away.
func (x *followed) plug(host string, up bool) {
	topo := x.d.live.Scenario.Fabric
	x.d.live.Devices.SetLink(subnet.PortRef{Node: topo.NodesByName(host)[0], Port: 1}, up)
}

func TestTheServiceFollowsALiveFabric(t *testing.T) {
	t.Parallel()
	x := newFollowed(t)
	whole := len(x.known().Nodes)
	silent := simdev.Faults{DropRequest: 1, Nodes: x.d.live.Scenario.Fabric.NodesByName("h2")}
	for step, c := range []struct {
		what   string
		happen func()
		passed time.Duration
		events string
		nodes  int
	}{
		{"nothing", func() {}, 2 * time.Minute, "", whole},
		{"a host is unplugged", func() { x.plug("h3", false) }, 2 * time.Minute, "node-gone h3", whole - 1},
		{"and plugged in again", func() { x.plug("h3", true) }, 2 * time.Minute, "node-new h3", whole},
		{"a host does not answer", func() { x.d.live.Devices.SetFaults(silent) }, 2 * time.Minute, "", whole},
		{"and answers again", func() { x.d.live.Devices.SetFaults(simdev.Faults{}) }, 10 * time.Second, "", whole},
		{"it is silent once more", func() { x.d.live.Devices.SetFaults(silent) }, 2 * time.Minute, "", whole},
		{"and again", func() {}, 10 * time.Second, "node-gone h2", whole - 1},
		{"until it is there", func() { x.d.live.Devices.SetFaults(simdev.Faults{}) }, 2 * time.Minute, "node-new h2", whole},
		{"the service is unplugged", func() { x.plug("h1", false) }, 2 * time.Minute, "shrunk lab", whole},
		{"and plugged in again", func() { x.plug("h1", true) }, 2 * time.Minute, "", whole},
	} {
		c.happen()
		events := x.rescan(c.passed)
		if f := x.known(); events != strings.Replace(c.events, "lab", demo.FabricName, 1) || len(f.Nodes) != c.nodes {
			t.Errorf("step %d, %s: events %q and %d nodes are known, want %q and %d", step, c.what, events, len(f.Nodes), c.events, c.nodes)
		}
	}
}
