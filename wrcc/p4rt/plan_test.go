package p4rt_test

import (
	"errors"
	"sync"
	"testing"

	"fairlane/ccconfig/driver"
	"fairlane/ccconfig/driver/grpclink"
	"fairlane/internal/quantity"
	"fairlane/policy"
	"fairlane/policy/plantest"
	"fairlane/sim/cc"
	"fairlane/sim/ether"
	"fairlane/sim/p4dev"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/subnet/topogen"
	"fairlane/tenants"
	"fairlane/wrcc"
	"fairlane/wrcc/p4rt"
)

// s0Plan compiles weights 4:2:1 on S0's two data centres, with flows inside one and between them.
func s0Plan(t *testing.T) (*subnet.Fabric, *policy.WRCCPlan) {
	t.Helper()
	f, err := topogen.S0DualDC()
	if err != nil {
		t.Fatal(err)
	}
	h := plantest.Hosts(f)
	p, err := policy.Compile(policy.Input{
		Fabric: f, Options: policy.Options{Plane: policy.PlaneWRCC},
		Tenants: []tenants.Tenant{{Name: "red", Weight: 4000}, {Name: "green", Weight: 2000}, {Name: "blue", Weight: 1000}},
		Flows: []tenants.Flow{
			{Tenant: "red", Src: h[0], Dst: h[40], QPs: 1}, {Tenant: "green", Src: h[9], Dst: h[40], QPs: 4}, {Tenant: "blue", Src: h[35], Dst: h[40], QPs: 16},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return f, p.WRCC
}

// wanted returns the configuration of each switch in a plan. Data centres are numbered in the plan's order.
func wanted(t *testing.T, f *subnet.Fabric, p *policy.WRCCPlan) map[ident.GUID]*wrcc.SwitchConfig {
	t.Helper()
	number := map[string]uint16{}
	for i, d := range p.Domains {
		number[d.Domain] = uint16(i + 1)
	}
	out := map[ident.GUID]*wrcc.SwitchConfig{}
	for _, group := range p.Ports {
		for _, named := range group.Ports {
			ref, ok := f.PortByID(named.Port)
			if !ok {
				t.Fatalf("no port %s", named.Port)
			}
			c := out[named.Port.Node]
			if c == nil {
				c = &wrcc.SwitchConfig{}
				out[named.Port.Node] = c
			}
			port, err := wrcc.NewPortConfig(uint16(named.Port.Port), group.Settings)
			if err != nil {
				t.Fatalf("%s: %v", named.Name, err)
			}
			c.Ports = append(c.Ports, port)
			c.Domains = append(c.Domains, wrcc.PortDomain{Port: port.Port, Domain: number[f.Nodes[ref.Node].Domain]})
		}
	}
	for _, c := range out {
		c.Sort()
	}
	return out
}

// TestAPlanReachesTheSwitches writes a compiled plan to simulated switches, and builds the packet simulation from
// their state.
func TestAPlanReachesTheSwitches(t *testing.T) {
	t.Parallel()
	f, plan := s0Plan(t)
	want := wanted(t, f, plan)
	if len(want) < 6 {
		t.Fatalf("the plan has %d switches", len(want))
	}
	s := p4dev.NewServer()
	sims := map[ident.GUID]*p4dev.Device{}
	var devices []driver.Device
	for i := range f.Nodes {
		n := &f.Nodes[i]
		if want[n.GUID] == nil {
			continue
		}
		ports := len(n.Ports) - 1
		sim, err := s.Add(uint64(n.GUID), p4dev.Options{Ports: ports})
		if err != nil {
			t.Fatal(err)
		}
		sims[n.GUID] = sim
		devices = append(devices, driver.Device{Plane: driver.PlaneWRCC, ID: ident.PortID{Node: n.GUID}, Name: n.Name, Kind: subnet.KindSwitch, Ports: ports})
	}
	drv := newDriver(t, p4rt.Options{Options: grpclink.Options{Dial: listen(t, s)}})
	errs := make([]error, len(devices))
	var wg sync.WaitGroup
	for i, d := range devices {
		wg.Go(func() {
			set := driver.Settings{WRCC: want[d.ID.Node]}
			if errs[i] = set.Validate(d); errs[i] != nil {
				return
			}
			if _, errs[i] = drv.Apply(t.Context(), d, set); errs[i] != nil {
				return
			}
			got, err := drv.Read(t.Context(), d)
			if errs[i] = err; err == nil && !set.Equal(got) {
				errs[i] = errors.New(d.String() + " does not read back as it was written")
			}
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}

	known, err := cc.ByName("wrcc")
	if err != nil {
		t.Fatal(err)
	}
	algorithm, err := known.Build(nil)
	if err != nil {
		t.Fatal(err)
	}
	taken := 0
	_, err = ether.New(f, ether.Config{Buffer: ether.Buffer{Bytes: 250_000_000}, Algorithms: []cc.Algorithm{algorithm}, FairRate: &ether.FairRate{Period: 24 * quantity.Microsecond, Params: func(ref subnet.PortRef, rate quantity.BitRate) wrcc.Params {
		id := f.PortID(ref)
		planned, inPlan := plan.PortSettings(id)
		sim := sims[id.Node]
		if sim == nil {
			return wrcc.DefaultParams(rate, 24*quantity.Microsecond)
		}
		held := sim.Config()
		c, ok := held.PortConfig(uint16(id.Port))
		if ok != inPlan || ok && c.Params() != planned {
			t.Errorf("%s: the switch holds %+v, the plan has %+v", f.PortName(ref), c, planned)
		}
		taken++
		return c.Params()
	}}})
	if err != nil || taken == 0 {
		t.Errorf("simulation of %d ports: %v", taken, err)
	}
}
