package app

import (
	"context"
	"fmt"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"fairlane/ccconfig/driver"
	"fairlane/ccconfig/ibcc"
	"fairlane/ccconfig/ibmad"
	"fairlane/service/site"
	"fairlane/sim/live"
	"fairlane/sim/scenario"
	"fairlane/sim/simdev"
	"fairlane/subnet"
	"fairlane/subnet/discover"
	"fairlane/subnet/ibsim"
	"fairlane/subnet/mad"
	"fairlane/subnet/topogen"
)

// ccLab is 256 hosts and 24 switches behind a socket, and a driver that reaches them with at most 64 exchanges in flight.
type ccLab struct {
	live    *live.InfiniBand
	wire    *ibsim.Client
	driver  *ibmad.Driver
	devices []driver.Device
}

func newCCLab(tb testing.TB) *ccLab {
	tb.Helper()
	topo, err := topogen.LeafSpine(topogen.LeafSpineOptions{Leaves: 16, HostsPerLeaf: 16, Spines: 8})
	if err != nil {
		tb.Fatal(err)
	}
	ctx := tb.Context()
	addr := fmt.Sprintf("unix:fairlane-cc-%d-%d", os.Getpid(), time.Now().UnixNano())
	l := &ccLab{}
	if l.live, err = live.StartInfiniBand(ctx, &scenario.Scenario{Name: "cc", Fabric: topo}, addr, simdev.Options{TimeScale: 1e-6}); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := l.live.Close(); err != nil {
			tb.Error(err)
		}
	})
	if l.wire, err = ibsim.Dial(ctx, l.live.Server.Addr(), ibsim.Options{InFlight: 64}); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = l.wire.Close() })
	found, err := discover.Sweep(ctx, l.wire, discover.Options{Parallel: 64})
	if err != nil {
		tb.Fatal(err)
	}
	if l.driver, err = ibmad.New(l.wire, ibmad.Options{InFlight: 64}); err != nil {
		tb.Fatal(err)
	}
	if l.devices = site.CCDevices(found.Fabric); len(l.devices) != 280 {
		tb.Fatalf("%d devices, want 280", len(l.devices))
	}
	return l
}

// lose makes a part of the requests, and of the answers, vanish; the others are held back for a time.
func (l *ccLab) lose(seed uint64, part float64, delay time.Duration) {
	f := simdev.Faults{Seed: seed, Classes: []mad.Class{mad.ClassCongestion}, DropRequest: part, DropReply: part, Delay: delay}
	if delay > 0 {
		f.DelayReply = 1
	}
	l.live.Devices.SetFaults(f)
}

// ccWanted are settings with a table of two blocks, or marking on every port, that differ from variant to variant.
func ccWanted(d driver.Device, variant int) driver.Settings {
	if d.Kind == subnet.KindSwitch {
		s := &driver.SwitchState{Ports: make([]ibcc.PortMarking, d.Ports+1)}
		s.Defaults = ibcc.SwitchSettings{Threshold: uint8(5 + variant%8), PacketSize: 8, MarkingRate: 3}
		for p := range s.Ports {
			s.Ports[p] = ibcc.PortMarking{Valid: true, Threshold: 15, PacketSize: 4, MarkingRate: uint16(variant)}
		}
		return driver.Settings{Switch: s}
	}
	c := &ibcc.CASettings{PerSL: true, Limit: 127, Table: make([]ibcc.Entry, 128)}
	for i := range c.Table {
		c.Table[i] = ibcc.Entry{Multiplier: uint16(i * (1 + variant%8))}
	}
	for sl := range c.SLs {
		c.SLs[sl] = ibcc.SLParams{Timer: uint16(100 + variant + sl), Increase: 1}
	}
	return driver.Settings{CA: c}
}

// push writes all devices and reads them back, 64 at a time. It returns the number of devices that were not verified.
func (l *ccLab) push(ctx context.Context, variant int) (wrong int64, err error) {
	var bad atomic.Int64
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(64)
	for _, d := range l.devices {
		g.Go(func() error {
			want := ccWanted(d, variant)
			if _, err := l.driver.Apply(ctx, d, want); err != nil {
				return err
			}
			got, err := l.driver.Read(ctx, d)
			if err == nil && !want.Equal(got) {
				bad.Add(1)
			}
			return err
		})
	}
	err = g.Wait()
	return bad.Load(), err
}

// All ports' settings reach 280 devices and are read back, with a bound on what is in flight, although one in a hundred
// of all requests and answers is lost.
func TestSettingsReachEveryDeviceDespiteLosses(t *testing.T) {
	t.Parallel()
	l := newCCLab(t)
	if wrong, err := l.push(t.Context(), 1); err != nil || wrong > 0 {
		t.Fatalf("without losses: %d devices read back otherwise: %v", wrong, err)
	}
	quiet := l.wire.Stats()
	l.lose(7, 0.01, 0)
	if wrong, err := l.push(t.Context(), 2); err != nil || wrong > 0 {
		t.Fatalf("with losses: %d devices read back otherwise: %v", wrong, err)
	}
	s := l.wire.Stats()
	requests, repeated := s.Sent-quiet.Sent-(s.Retries-quiet.Retries), s.Retries-quiet.Retries
	t.Logf("%d requests, %d repeated", requests, repeated)
	if s.Timeouts != quiet.Timeouts {
		t.Errorf("%d requests were given up", s.Timeouts-quiet.Timeouts)
	}
	if repeated < requests/200 { // more are repeated where answers are late because the machine has other work
		t.Errorf("%d of %d requests repeated: what was lost?", repeated, requests)
	}
}

// BenchmarkCCWithLosses is the time of writing all settings of 280 devices and reading them back, with losses and
// without, taken in turn, from agents that answer at once and from agents that take a millisecond.
func BenchmarkCCWithLosses(b *testing.B) {
	for _, delay := range []time.Duration{0, time.Millisecond} {
		b.Run(delay.String(), func(b *testing.B) { benchmarkCC(b, delay) })
	}
}

func benchmarkCC(b *testing.B, delay time.Duration) {
	l := newCCLab(b)
	variant := 0
	var took [2]time.Duration
	for b.Loop() {
		for i := range took {
			l.lose(uint64(variant), 0.01*float64(i), delay)
			variant++
			began := time.Now()
			if wrong, err := l.push(b.Context(), variant); err != nil || wrong > 0 {
				b.Fatalf("%d devices read back otherwise: %v", wrong, err)
			}
			took[i] += time.Since(began)
		}
	}
	b.ReportMetric(took[0].Seconds()/float64(b.N), "lossless-s/op")
	b.ReportMetric(took[1].Seconds()/float64(b.N), "lossy-s/op")
	b.ReportMetric(took[1].Seconds()/took[0].Seconds(), "ratio")
}
