package interop

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"fairlane/sim/fabric"
	"fairlane/sim/simdev"
	"fairlane/subnet"
	"fairlane/subnet/check"
	"fairlane/subnet/discover"
	"fairlane/subnet/ibsim"
	"fairlane/subnet/ident"
	"fairlane/subnet/topofile"
	"fairlane/subnet/topogen"
)

// scaleRounds is the number of alternate runs of each side; the fastest of each counts.
const scaleRounds = 3

// TestDiscoveryAtScale sweeps 1,944 nodes with Fairlane and ibnetdiscover, on the same server in the same run. Both
// must find the same fabric, and ibnetdiscover must read Fairlane's output. The durations are logged and not checked,
// since other tests run concurrently.
func TestDiscoveryAtScale(t *testing.T) {
	t.Parallel()
	topo, err := topogen.LeafSpine(topogen.LeafSpineOptions{Leaves: 52, HostsPerLeaf: 36, Spines: 20})
	if err != nil {
		t.Fatal(err)
	}
	l := newLab(t, topo, fabric.Config{}, simdev.Options{TimeScale: 1})
	var ours, theirs, again []time.Duration
	var text string
	var found *discover.Result
	for range scaleRounds {
		var took [2]time.Duration
		found, took = l.sweepTwice(t)
		ours, again = append(ours, took[0]), append(again, took[1])
		start := time.Now()
		text = l.run("host-001", "ibnetdiscover")
		theirs = append(theirs, time.Since(start))
	}
	sameFabric(t, topo, found.Fabric)
	got, err := topofile.ReadIbnetdiscover("ibnetdiscover", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	sameFabric(t, topo, got)
	var written bytes.Buffer
	if err := topofile.WriteIbnetdiscover(&written, found.Fabric); err != nil {
		t.Fatal(err)
	}
	back, err := topofile.ReadIbnetdiscover("ours", &written)
	if err != nil {
		t.Fatal(err)
	}
	if d := subnet.Diff(got, back); !d.Empty() {
		t.Errorf("what we write differs from what ibnetdiscover prints: %.2000s", d)
	}
	start := time.Now()
	if r := check.Check(found.Fabric, check.Extra{Details: found.Details}); len(r.Findings) > 0 {
		t.Errorf("%d findings, the first: %+v", len(r.Findings), r.Findings[0])
	}
	judged := time.Since(start)
	a, b := slices.Min(ours), slices.Min(theirs)
	t.Logf("1,944 nodes: sweep %s with %d packets, ibnetdiscover %s: %.1f times faster; sweep again %s; check %s",
		a, found.MADs, b, b.Seconds()/a.Seconds(), slices.Min(again), judged)
}

// sweepTwice attaches, sweeps, and sweeps the unchanged fabric again.
func (l *lab) sweepTwice(t *testing.T) (*discover.Result, [2]time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), toolDeadline)
	defer cancel()
	start := time.Now()
	c, err := ibsim.Dial(ctx, l.server.Addr(), ibsim.Options{NodeID: "host-001"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}()
	o := discover.Options{}
	r, err := discover.Sweep(ctx, c, o)
	took := [2]time.Duration{time.Since(start)}
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Warnings) > 0 {
		t.Errorf("%d warnings, the first: %s", len(r.Warnings), r.Warnings[0])
	}
	start = time.Now()
	r2, err := discover.Again(ctx, c, r, discover.AgainOptions{Options: o, Trust: true})
	took[1] = time.Since(start)
	if err != nil {
		t.Fatal(err)
	}
	if d := subnet.Diff(r.Fabric, r2.Fabric); !d.Empty() || r2.MADs >= r.MADs/10 {
		t.Errorf("a sweep of what did not change took %d packets of %d, and differs: %s", r2.MADs, r.MADs, d)
	}
	return r, took
}

// TestCheckOfWhatOpenSMSetUp checks a fabric with lanes and weights written by a real OpenSM, and again with one faulty
// table.
func TestCheckOfWhatOpenSMSetUp(t *testing.T) {
	t.Parallel()
	topo := twoSwitches(t)
	l := newLab(t, topo, fabric.Config{}, simdev.Options{SMMode: simdev.Cold, TimeScale: 1})
	l.startOpenSM(host(1), "qos TRUE\nqos_max_vls 8\nqos_high_limit 4\nqos_vlarb_high 0:4\nqos_vlarb_low 0:64,1:64,2:64,3:64,4:64,5:64,6:64,7:64\n"+
		"qos_sl2vl 0,1,2,3,4,5,6,7,0,1,2,3,4,5,6,7\n")
	ctx, cancel := context.WithTimeout(context.Background(), toolDeadline)
	defer cancel()
	c, err := ibsim.Dial(ctx, l.server.Addr(), ibsim.Options{NodeID: host(2)})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}()
	judge := func() *check.Report {
		found, err := discover.Sweep(ctx, c, discover.Options{Tables: true})
		if err != nil {
			t.Fatal(err)
		}
		uses := []check.Use{}
		for i, name := range []string{"ml", "web"} {
			ref, err := found.Fabric.ResolvePort(host(i + 2))
			if err != nil {
				t.Fatal(err)
			}
			uses = append(uses, check.Use{Tenant: name, Port: ref, SL: ident.SL(i + 1), HasSL: true})
		}
		return check.Check(found.Fabric, check.Extra{Details: found.Details, Uses: uses})
	}
	r := judge()
	for _, f := range r.Findings {
		if f.Severity >= check.Warning {
			t.Errorf("%s: %s", f.Code, f.Text)
		}
	}
	for _, g := range r.Checked {
		if g.Skipped != "" || g.Of == 0 || g.Unread > 0 {
			t.Errorf("%s: %+v: want it looked at, all of it", g.Group, g)
		}
	}
	l.dev.With(func(n *fabric.Network) {
		table := n.SL2VL(0, 1, 11)
		for _, out := range []ident.PortNum{11, 12} {
			table[1] = ident.ManagementVL
			n.SetSL2VL(0, 2, out, table) // h2's tenant, from leaf1 to leaf2
		}
	})
	r = judge()
	if len(r.Findings) == 0 || r.Findings[0].Code != check.CodeSLDropped || !strings.Contains(r.Findings[0].Text, "SL 1 (ml)") {
		t.Errorf("findings %+v: want the SL that is dropped", r.Findings)
	}
}
