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
				if got := (driver.Settings{Queues: &driver.QueueState{Marking: w.Marking()}}); !want.Equal(got) {
					t.Errorf("the switch has other settings: %v", want.Diff(got))
				}
			}
			if q, err := d.QueueCounters(t.Context(), dev, 3); err != nil || len(q) != 4 || q[0].Octets == nil {
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
