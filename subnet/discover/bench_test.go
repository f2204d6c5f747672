package discover_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	simfabric "fairlane/sim/fabric"
	"fairlane/sim/simdev"
	"fairlane/subnet"
	"fairlane/subnet/discover"
	"fairlane/subnet/ibsim"
	"fairlane/subnet/ibsim/ibsimtest"
	"fairlane/subnet/topogen"
)

// large is a fabric of 1,944 nodes: 52 leaves of 36 hosts, 20 spines.
func large(tb testing.TB) *subnet.Fabric {
	tb.Helper()
	f, err := topogen.LeafSpine(topogen.LeafSpineOptions{Leaves: 52, HostsPerLeaf: 36, Spines: 20})
	if err != nil {
		tb.Fatal(err)
	}
	return f
}

// simulate serves the fabric with our own devices until the test ends.
func simulate(tb testing.TB, f *subnet.Fabric) *ibsimtest.Server {
	tb.Helper()
	n, err := simfabric.New(f, simfabric.Config{})
	if err != nil {
		tb.Fatal(err)
	}
	d, err := simdev.New(n, simdev.Options{TimeScale: 1})
	if err != nil {
		tb.Fatal(err)
	}
	srv := &ibsimtest.Server{SockName: ibsimtest.SockName(tb), Dir: tb.TempDir()}
	s, err := simdev.Listen(d, srv.Addr())
	if err != nil {
		tb.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx) }()
	tb.Cleanup(func() {
		cancel()
		if err := <-done; err != nil && !errors.Is(err, context.Canceled) {
			tb.Error(err)
		}
	})
	return srv
}

// dial connects to the server until the test ends.
func dial(tb testing.TB, srv *ibsimtest.Server) *ibsim.Client {
	tb.Helper()
	c, err := ibsim.Dial(tb.Context(), srv.Addr(), ibsim.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := c.Close(); err != nil {
			tb.Error(err)
		}
	})
	return c
}

func TestSweepOfOurOwnFabricFindsAllOfIt(t *testing.T) {
	t.Parallel()
	f := large(t)
	c := dial(t, simulate(t, f))
	start := time.Now()
	r := mustSweep(t, c, discover.Options{})
	t.Logf("%d nodes, %d links, %d MADs in %s; %+v", len(r.Fabric.Nodes), len(r.Fabric.Links), r.MADs, time.Since(start), c.Stats())
	if len(r.Warnings) > 0 {
		t.Errorf("%d warnings, first %s", len(r.Warnings), r.Warnings[0])
	}
	if len(r.Fabric.Nodes) != len(f.Nodes) || len(r.Fabric.Links) != len(f.Links) {
		t.Errorf("found %d nodes and %d links: want %d and %d", len(r.Fabric.Nodes), len(r.Fabric.Links), len(f.Nodes), len(f.Links))
	}
	for line := range strings.Lines(subnet.Diff(f, r.Fabric).String()) {
		if !strings.Contains(line, ":0 vls:") { // a switch's management port has no data VLs
			t.Errorf("the model differs: %s", line)
		}
	}
}

// BenchmarkSweep1944Nodes and BenchmarkIbnetdiscover1944Nodes run on the same fabric
// and server; their quotient is the speed-up.
func BenchmarkSweep1944Nodes(b *testing.B) {
	srv := simulate(b, large(b))
	for b.Loop() {
		c, err := ibsim.Dial(b.Context(), srv.Addr(), ibsim.Options{})
		if err != nil {
			b.Fatal(err)
		}
		r := mustSweep(b, c, discover.Options{})
		b.ReportMetric(float64(r.MADs), "MADs/op")
		if err := c.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkIbnetdiscover1944Nodes(b *testing.B) {
	srv := simulate(b, large(b))
	for b.Loop() {
		srv.Tool(b, "", "ibnetdiscover")
	}
}

// BenchmarkAgain1944Nodes repeats the sweep of an unchanged fabric, with and without AgainOptions.Trust.
func BenchmarkAgain1944Nodes(b *testing.B) {
	c := dial(b, simulate(b, large(b)))
	first := mustSweep(b, c, discover.Options{})
	for name, trust := range map[string]bool{"trust": true, "ask": false} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				r, err := discover.Again(b.Context(), c, first, discover.AgainOptions{Trust: trust})
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(r.MADs), "MADs/op")
			}
		})
	}
}

// BenchmarkSweep1944NodesWithTables also reads lanes, arbitration, partitions and congestion control; the simulated
// devices start with one lane, so the tables of lanes are not read.
func BenchmarkSweep1944NodesWithTables(b *testing.B) {
	c := dial(b, simulate(b, large(b)))
	for b.Loop() {
		r := mustSweep(b, c, discover.Options{Tables: true})
		b.ReportMetric(float64(r.MADs), "MADs/op")
	}
}
