package p4rt_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	configv1 "github.com/p4lang/p4runtime/go/p4/config/v1"

	"fairlane/ccconfig/driver"
	"fairlane/sim/p4dev"
	"fairlane/wrcc"
	"fairlane/wrcc/p4info"
	"fairlane/wrcc/p4rt"
)

// plane is a data plane with measurements set by a test.
type plane struct {
	mu     sync.Mutex
	ports  map[uint16]p4dev.Measured
	config wrcc.SwitchConfig
}

func (p *plane) Configure(c wrcc.SwitchConfig) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.config = c
}

func (p *plane) Measure(port uint16) p4dev.Measured {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ports[port]
}

func (p *plane) set(port uint16, m p4dev.Measured) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ports[port] = m
}

func newPlane() *plane { return &plane{ports: map[uint16]p4dev.Measured{}} }

func (r *rig) rates(t testing.TB) string {
	t.Helper()
	rates, err := r.drv.FairRates(t.Context(), r.dev)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(rates)
}

func TestFairRatesFromTheRegister(t *testing.T) {
	t.Parallel()
	p := newPlane()
	r := newRig(t, p4dev.Options{Plane: p}, p4rt.Options{})
	p.set(2, p4dev.Measured{FairRateMbps: 25_000})
	p.set(5, p4dev.Measured{FairRateMbps: 1 << 31})
	if got := r.rates(t); got != "[{2 25000 register} {5 2147483648 register}]" {
		t.Errorf("fair rates %s", got)
	}
}

func TestIdleSwitchLimitsNoFlow(t *testing.T) {
	t.Parallel()
	r := newRig(t, p4dev.Options{}, p4rt.Options{})
	if _, err := r.drv.Apply(t.Context(), r.dev, r.sample(t, 0)); err != nil {
		t.Fatal(err)
	}
	if got := r.rates(t); got != "[{2 100002 register} {3 100003 register} {4 100004 register} {5 100005 register}]" {
		t.Errorf("fair rates %s, want each port's ceiling", got)
	}
}

// TestFairRatesFallBackToTheCounter uses a server without access to registers, as some have.
func TestFairRatesFallBackToTheCounter(t *testing.T) {
	t.Parallel()
	p := newPlane()
	r := newRig(t, p4dev.Options{Plane: p}, p4rt.Options{})
	r.sim.Inject(func(f *p4dev.Faults) { f.NoRegisterAccess = true })
	read := func(packets, bytes uint64, want string) {
		t.Helper()
		p.set(3, p4dev.Measured{FairRateMbps: 7, FairRateSum: p4info.Count{Packets: packets, Bytes: bytes}})
		if got := r.rates(t); got != want {
			t.Errorf("after %d periods and %d: %s, want %s", packets, bytes, got, want)
		}
	}
	read(10, 1000, "[]")
	read(14, 1000+4*250, "[{3 250 counter}]")
	read(14, 1000+4*250, "[]")
	read(2, 50, "[]") // restarted
	read(4, 150, "[{3 50 counter}]")
}

// A switch that has digests alone sends none: reading fair rates writes nothing.
func TestReadingFairRatesEnablesNoDigests(t *testing.T) {
	t.Parallel()
	r := newRig(t, p4dev.Options{Program: func(p *configv1.P4Info) { p.Registers, p.Counters = nil, nil }}, p4rt.Options{})
	if rates, err := r.drv.FairRates(t.Context(), r.dev); !errors.Is(err, driver.ErrUnsupported) || r.sim.Congested(p4info.Congestion{Port: 4, Class: 3, PFR: 12_500}) {
		t.Errorf("a reading enabled digests: %v, %v", rates, err)
	}
}

func TestNoSourceOfFairRates(t *testing.T) {
	t.Parallel()
	r := newRig(t, p4dev.Options{Program: func(p *configv1.P4Info) { p.Registers, p.Counters, p.Digests = nil, nil, nil }}, p4rt.Options{})
	if rates, err := r.drv.FairRates(t.Context(), r.dev); !errors.Is(err, driver.ErrUnsupported) {
		t.Errorf("%v, %v", rates, err)
	}
	if counters, err := r.drv.Counters(t.Context(), r.dev); !errors.Is(err, driver.ErrUnsupported) {
		t.Errorf("%v, %v", counters, err)
	}
}

func TestMissingCountersAreNotZero(t *testing.T) {
	t.Parallel()
	p := newPlane()
	r := newRig(t, p4dev.Options{Plane: p, Program: func(p *configv1.P4Info) { p.Counters = append(p.Counters[:1:1], p.Counters[3:]...) }}, p4rt.Options{})
	p.set(1, p4dev.Measured{Input: p4info.Count{Packets: 3, Bytes: 4096}, Pauses: 12, FCNPs: 5, Rewrites: 6})
	got, err := r.drv.Counters(t.Context(), r.dev)
	if err != nil || len(got) != r.dev.Ports {
		t.Fatalf("%v, %v", got, err)
	}
	c := got[0]
	if c.Port != 1 || c.Input == nil || *c.Input != (p4info.Count{Packets: 3, Bytes: 4096}) || c.Pauses == nil || *c.Pauses != 12 {
		t.Errorf("counters %+v", c)
	}
	if c.FCNPs != nil || c.Rewrites != nil {
		t.Error("counters that the program does not have were read")
	}
	if got[4].Pauses == nil || *got[4].Pauses != 0 {
		t.Error("a counter at zero was not read")
	}
}

// TestTheDataPlaneFollows checks that applied settings reach the data plane.
func TestTheDataPlaneFollows(t *testing.T) {
	t.Parallel()
	p := newPlane()
	r := newRig(t, p4dev.Options{Plane: p}, p4rt.Options{})
	want := r.sample(t, 1)
	if _, err := r.drv.Apply(t.Context(), r.dev, want); err != nil {
		t.Fatal(err)
	}
	if !p.config.Equal(want.WRCC) {
		t.Errorf("the data plane has %+v, want %+v", p.config, want.WRCC)
	}
	r.sim.Reboot()
	if len(p.config.Ports) != 0 {
		t.Error("the data plane has outlived a reboot")
	}
}
