package gnmi_test

import (
	"context"
	"github.com/google/go-cmp/cmp"
	"net"
	"slices"
	"testing"

	"fairlane/ccconfig/driver"
	"fairlane/ccconfig/driver/drivertest"
	"fairlane/ccconfig/gnmi"
	"fairlane/ccconfig/nic/nicparam"
	"fairlane/ccconfig/qos"
	"fairlane/internal/quantity"
	"fairlane/internal/testkit/grpctest"
	"fairlane/sim/gnmidev"
	"fairlane/subnet"
	"fairlane/subnet/ident"
)

// simulatedDevices serves simulated devices in memory.
func simulatedDevices(t testing.TB) (*gnmidev.Server, *rig) {
	t.Helper()
	s, err := gnmidev.NewServer(gnmidev.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s, &rig{dial: grpctest.Serve(t, func(ctx context.Context, l net.Listener) error { return s.Serve(ctx, l) })}
}

func addSwitch(t testing.TB, s *gnmidev.Server, name string, o gnmidev.SwitchOptions) *gnmidev.Switch {
	t.Helper()
	o.Plane = &gnmidev.StillSwitch{}
	for range 4 {
		o.Ports = append(o.Ports, gnmidev.SwitchPort{Speed: 100 * quantity.Gbps})
	}
	w, err := s.AddSwitch(name, o)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// TestSimulatedSwitches drives the simulated switches of every kind from one state to the next.
func TestSimulatedSwitches(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		options gnmidev.SwitchOptions
		dialect gnmi.Dialect
		guarded bool
	}{
		"guarded":    {gnmidev.SwitchOptions{}, gnmi.SONiC, true},
		"unguarded":  {gnmidev.SwitchOptions{Unguarded: true}, gnmi.SONiC, false},
		"openconfig": {gnmidev.SwitchOptions{Dialect: gnmidev.OpenConfig}, gnmi.OpenConfig, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, r := simulatedDevices(t)
			w := addSwitch(t, s, "leaf-1", c.options)
			d, dev := r.driver(t, c.dialect), switchDevice("leaf-1", 4)
			caps, err := d.Capabilities(t.Context(), dev)
			if err != nil || !slices.Equal(caps.Queues.Marked, []uint8{3}) {
				t.Fatalf("capabilities %+v: %v", caps.Queues, err)
			}
			for i, want := range drivertest.Samples(dev, caps) {
				if c.guarded && i == 2 {
					_, err := d.Apply(t.Context(), dev, want)
					refused(t, "two markings", err, driver.ErrUnsupported, "pre-provision", "FAIRLANE_1")
					continue
				}
				wellApplied(t, d, dev, want)
				if got := (driver.Settings{Queues: &driver.QueueState{Marking: w.Marking(), Weights: w.Weights()}}); !want.Equal(got) {
					t.Errorf("the switch has other settings: %v", want.Diff(got))
				}
			}
			if q, err := d.QueueCounters(t.Context(), dev, 3); err != nil || len(q) != 4 || q[0].Octets == nil || (q[0].Peak == nil) == (c.dialect == gnmi.SONiC) {
				t.Errorf("counters %+v: %v", q, err)
			}
			if _, err := d.Preflight(t.Context(), dev, gnmi.Expectation{DSCP: 26, Queue: 3, Lossless: true}); err != nil {
				t.Error(err)
			}
		})
	}
}

// nicHost is a simulated host with one NIC port.
func nicHost(node int) gnmidev.HostOptions {
	return gnmidev.HostOptions{Cards: []gnmidev.CardOptions{{
		GUID: ident.GUID(node), Ports: []gnmidev.PortOptions{{Plane: &gnmidev.Still{}, Speed: 100 * quantity.Gbps, Senders: 8}},
	}}}
}

// TestSimulatedHosts drives a NIC port through the real host agent.
func TestSimulatedHosts(t *testing.T) {
	t.Parallel()
	s, r := simulatedDevices(t)
	h, err := s.AddHost("host-1", nicHost(0x51))
	if err != nil {
		t.Fatal(err)
	}
	d := r.driver(t, gnmi.Agent)
	for _, plane := range []subnet.Plane{driver.PlaneRoCE, driver.PlaneWRCC} {
		dev := nicDevice(plane, ident.PortID{Node: 0x51, Port: 1}, "host-1/P1")
		caps, err := d.Capabilities(t.Context(), dev)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range drivertest.Samples(dev, caps) {
			wellApplied(t, d, dev, want)
		}
		h.Reboot()
		if _, err := d.Read(t.Context(), dev); err != nil {
			t.Errorf("after a reboot: %v", err)
		}
		if c, err := d.ReadCounters(t.Context(), dev); err != nil || len(c.Counters) == 0 {
			t.Errorf("counters %+v: %v", c, err)
		}
	}
}

// TestSharesOfFunctionsOfPodsActInsteadOfThoseOfManagers applies a plan to a port whose host serves pods: what pods have is neither
// overwritten nor a difference.
func TestSharesOfFunctionsOfPodsActInsteadOfThoseOfManagers(t *testing.T) {
	t.Parallel()
	s, r := simulatedDevices(t)
	o := nicHost(0x51)
	o.Cards[0].Caps = nicparam.Caps{VFRates: true, Switchdev: true}
	o.Cards[0].Ports[0].Functions = 4
	h, err := s.AddHost("host-1", o)
	if err != nil {
		t.Fatal(err)
	}
	id := ident.PortID{Node: 0x51, Port: 1}
	d, dev := r.driver(t, gnmi.Agent), nicDevice(driver.PlaneRoCE, id, "host-1/P1")
	h.ServePods(func(ident.PortID) map[int]string { return map[int]string{2: "red"} })
	if err := h.Hold(id, 2, 7000); err != nil {
		t.Fatal(err)
	}
	wellApplied(t, d, dev, driver.Settings{NIC: &driver.NICState{AllShares: true, Params: []driver.NICParam{
		{Name: "rpg_ai_rate", Value: 20}, {Name: driver.ShareParam, Index: 0, Value: 5000}, {Name: driver.ShareParam, Index: 1, Value: 20000},
	}}})
	state, err := h.State(id)
	if err != nil {
		t.Fatal(err)
	}
	acting := map[int]quantity.BitRate{}
	for _, f := range state.Functions {
		acting[f.Index] = f.Min / quantity.Mbps
	}
	if diff := cmp.Diff(map[int]quantity.BitRate{0: 5000, 1: 20000, 2: 7000}, acting); diff != "" {
		t.Errorf("shares that act:\n%s", diff)
	}
	if c, err := d.ReadCounters(t.Context(), dev); err != nil || !c.ServesPods || len(c.Functions) != 4 || c.Functions[2].Tenant != "red" || c.Functions[1].Tenant != "" {
		t.Errorf("counters %+v, %v", c, err)
	}
}

// TestSharesOfTrafficClasses divides a NIC port among traffic classes, and returns it to what it had.
func TestSharesOfTrafficClasses(t *testing.T) {
	t.Parallel()
	s, r := simulatedDevices(t)
	o := nicHost(0x51)
	o.Classes = []qos.TrafficClass{{DSCP: 26, Queue: 3}, {DSCP: 34, Queue: 4}, {DSCP: 10, Queue: 1}}
	h, err := s.AddHost("host-1", o)
	if err != nil {
		t.Fatal(err)
	}
	id := ident.PortID{Node: 0x51, Port: 1}
	d, dev := r.driver(t, gnmi.Agent), nicDevice(driver.PlaneRoCE, id, "host-1/P1")
	if caps, err := d.Capabilities(t.Context(), dev); err != nil || !caps.NIC.Shares {
		t.Fatalf("capabilities %+v: %v", caps.NIC, err)
	}
	before, err := d.Read(t.Context(), dev)
	if err != nil {
		t.Fatal(err)
	}
	share := func(list ...qos.ClassShare) driver.Settings {
		return driver.Settings{NIC: &driver.NICState{Params: []driver.NICParam{{Name: "rpg_ai_rate", Value: 20}}, Shares: list}}
	}
	for _, want := range []driver.Settings{
		share(qos.ClassShare{Class: 1, Percent: 4}, qos.ClassShare{Class: 3, Percent: 72}, qos.ClassShare{Class: 4, Percent: 24}),
		share(qos.ClassShare{Class: 1}, qos.ClassShare{Class: 3, Percent: 50}, qos.ClassShare{Class: 4, Percent: 50}),
	} {
		sets := h.Sets()
		wellApplied(t, d, dev, want)
		if n := h.Sets() - sets; n != 1 {
			t.Errorf("%d Sets, want one", n)
		}
		state, err := h.State(id)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range want.NIC.Shares {
			if got := state.Service[c.Class]; got.Strict || got.Weight != max(1, c.Percent) {
				t.Errorf("class %d is served with %+v, want %d %%", c.Class, got, c.Percent)
			}
		}
	}
	// A share that another program takes is a difference, and comes back.
	if err := h.Put(id, []nicparam.Setting{{Key: nicparam.Key{Name: "tc_bw", Index: 3}, Value: 60}, {Key: nicparam.Key{Name: "tc_bw", Index: 4}, Value: 40}}); err != nil {
		t.Fatal(err)
	}
	want := share(qos.ClassShare{Class: 1}, qos.ClassShare{Class: 3, Percent: 50}, qos.ClassShare{Class: 4, Percent: 50})
	if got, err := d.Read(t.Context(), dev); err != nil || len(want.Diff(got)) != 2 {
		t.Errorf("differences %v, %v", want.Diff(got), err)
	}
	wellApplied(t, d, dev, want)
	// The state before the plan has parameters, and no shares.
	wellApplied(t, d, dev, before)

	// Bandwidth of a class outside the plan is not taken from it.
	sets := h.Sets()
	_, err = d.Apply(t.Context(), dev, share(qos.ClassShare{Class: 3, Percent: 60}, qos.ClassShare{Class: 4, Percent: 40}))
	refused(t, "another class has bandwidth", err, driver.ErrUnsupported, "traffic classes 1 (33 %) have bandwidth", "add them to the classes of the site")
	if h.Sets() != sets {
		t.Error("a Set was sent")
	}
}
