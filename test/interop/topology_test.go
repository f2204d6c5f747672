package interop

import (
	"context"
	"strings"
	"testing"
	"time"

	"fairlane/sim/fabric"
	"fairlane/sim/simdev"
	"fairlane/subnet"
	"fairlane/subnet/discover"
	"fairlane/subnet/ibsim"
	"fairlane/subnet/topofile"
	"fairlane/subnet/topogen"
)

// sameFabric fails unless got has the nodes and links of want; LIDs and states may differ.
func sameFabric(t *testing.T, want, got *subnet.Fabric) {
	t.Helper()
	d := subnet.Diff(want, got)
	if n := len(d.NodesAdded) + len(d.NodesRemoved) + len(d.LinksAdded) + len(d.LinksRemoved); n != 0 {
		t.Errorf("nodes +%d -%d, links +%d -%d", len(d.NodesAdded), len(d.NodesRemoved), len(d.LinksAdded), len(d.LinksRemoved))
	}
	for i := range want.Nodes {
		n := &want.Nodes[i]
		at, ok := got.NodeByGUID(n.GUID)
		if ok && (got.Nodes[at].Name != n.Name || got.Nodes[at].Kind != n.Kind || len(got.Nodes[at].Ports) != len(n.Ports)) {
			t.Errorf("node %s is %q with %d ports, want %q with %d", n.GUID, got.Nodes[at].Name, len(got.Nodes[at].Ports), n.Name, len(n.Ports))
		}
	}
	for i := range want.Links {
		w := &want.Links[i]
		ref, ok := got.PortByID(want.PortID(w.A))
		if !ok {
			continue
		}
		if l, _ := got.Link(ref); l != nil && (l.Width != w.Width || !sameSpeed(l.Speed, w.Speed)) {
			t.Errorf("link at %s is %s, want %s", want.PortName(w.A), subnet.FormatWidthSpeed(l.Width, l.Speed), subnet.FormatWidthSpeed(w.Width, w.Speed))
		}
	}
}

// sameSpeed compares speeds that PortInfo can express: FDR10 is vendor-specific and reads as QDR.
func sameSpeed(a, b subnet.Speed) bool {
	ab, ae := a.Codes()
	bb, be := b.Codes()
	return ab == bb && ae == be
}

func TestIbnetdiscoverSeesTheModel(t *testing.T) {
	t.Parallel()
	for name, build := range map[string]func() (*subnet.Fabric, error){
		"two switches": func() (*subnet.Fabric, error) { return twoSwitches(t), nil },
		"S1 testbed":   topogen.S1Testbed,
		"leaf and spine": func() (*subnet.Fabric, error) {
			return topogen.LeafSpine(topogen.LeafSpineOptions{Leaves: 4, HostsPerLeaf: 8, Spines: 3})
		},
		"fat tree": func() (*subnet.Fabric, error) { return topogen.FatTree(topogen.FatTreeOptions{K: 6}) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			topo, err := build()
			if err != nil {
				t.Fatal(err)
			}
			l := newLab(t, topo, fabric.Config{}, simdev.Options{TimeScale: 1})
			out := l.run("", "ibnetdiscover")
			got, err := topofile.ReadIbnetdiscover("ibnetdiscover", strings.NewReader(out))
			if err != nil {
				t.Fatalf("%v in\n%s", err, out)
			}
			sameFabric(t, topo, got)
		})
	}
}

func TestToolsAttachOverUDP(t *testing.T) {
	t.Parallel()
	topo := twoSwitches(t)
	l := newUDPLab(t, topo, fabric.Config{}, simdev.Options{SMMode: simdev.Cold, TimeScale: 1})
	l.startOpenSM(host(1), "")
	got, err := topofile.ReadIbnetdiscover("ibnetdiscover", strings.NewReader(l.run(host(3), "ibnetdiscover")))
	if err != nil {
		t.Fatal(err)
	}
	sameFabric(t, topo, got)
}

func TestIblinkinfoShowsSpeedsAndStates(t *testing.T) {
	t.Parallel()
	l := newLab(t, twoSwitches(t), fabric.Config{}, simdev.Options{TimeScale: 1})
	out := l.run(host(1), "iblinkinfo")
	wantMatch(t, out,
		`11\[  \] ==\( 4X +25\.78125 Gbps Active/  LinkUp\)==> +\d+ +11\[  \] "leaf2"`,
		`1\[  \] ==\( 4X +25\.78125 Gbps Active/  LinkUp\)==> +\d+ +1\[  \] "h3 HCA-1"`,
		`3\[  \] ==\( +Down/ Polling\)==>`)
	if n := strings.Count(out, "Active/  LinkUp"); n != 12 {
		t.Errorf("%d active ends, want 12", n)
	}
}

// A fabric that simulates traffic continuously, far behind its time scale, still answers.
func TestToolsAreAnsweredUnderLoad(t *testing.T) {
	t.Parallel()
	topo, err := topogen.LeafSpine(topogen.LeafSpineOptions{Leaves: 4, HostsPerLeaf: 16, Spines: 4})
	if err != nil {
		t.Fatal(err)
	}
	l := newLab(t, topo, fabric.Config{}, simdev.Options{TimeScale: 1})
	hosts := topo.Hosts()
	l.dev.With(func(n *fabric.Network) {
		for i, h := range hosts[1:] {
			_, err := n.AddFlow(fabric.FlowSpec{
				Name: "load", Src: subnet.PortRef{Node: h, Port: 1}, Dst: subnet.PortRef{Node: hosts[i/2], Port: 1}, QPs: 4,
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	})
	start := time.Now()
	got, err := topofile.ReadIbnetdiscover("ibnetdiscover", strings.NewReader(l.run("host-001", "ibnetdiscover")))
	if err != nil {
		t.Fatal(err)
	}
	sameFabric(t, topo, got)
	t.Logf("72 nodes under load: ibnetdiscover %s, pace %+v", time.Since(start), l.dev.Pace())
}

// Fairlane's discovery over its own transport finds the same fabric as the model and ibnetdiscover.
func TestDiscoveryOfAThousandNodes(t *testing.T) {
	t.Parallel()
	topo, err := topogen.LeafSpine(topogen.LeafSpineOptions{Leaves: 30, HostsPerLeaf: 32, Spines: 10})
	if err != nil {
		t.Fatal(err)
	}
	l := newLab(t, topo, fabric.Config{}, simdev.Options{TimeScale: 1})
	ctx, cancel := context.WithTimeout(context.Background(), toolDeadline)
	defer cancel()
	start := time.Now()
	c, err := ibsim.Dial(ctx, l.server.Addr(), ibsim.Options{NodeID: "host-001"})
	if err != nil {
		t.Fatal(err)
	}
	found, err := discover.Sweep(ctx, c, discover.Options{})
	ours := time.Since(start)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if len(found.Warnings) > 0 {
		t.Errorf("%d warnings, the first: %s", len(found.Warnings), found.Warnings[0])
	}
	sameFabric(t, topo, found.Fabric)

	start = time.Now()
	out := l.run("host-001", "ibnetdiscover")
	theirs := time.Since(start)
	got, err := topofile.ReadIbnetdiscover("ibnetdiscover", strings.NewReader(out))
	if err != nil {
		t.Fatal(err)
	}
	sameFabric(t, topo, got)
	t.Logf("1000 nodes: discovery %s with %d packets, ibnetdiscover %s; server %+v", ours, found.MADs, theirs, l.server.Stats())
}
