package gnmidev

import (
	"slices"
	"strings"
	"testing"

	"fairlane/ccconfig/driver"
	"fairlane/ccconfig/driver/drivertest"
	"fairlane/ccconfig/driver/grpclink"
	"fairlane/ccconfig/ecn"
	cgnmi "fairlane/ccconfig/gnmi"
	"fairlane/ccconfig/nic/nicparam"
	"fairlane/ccconfig/qos"
	"fairlane/internal/quantity"
	"fairlane/internal/testkit/grpctest"
	"fairlane/subnet"
	"fairlane/subnet/ident"
)

// simulatedDevices are the simulated devices for the conformance suite of drivers.
type simulatedDevices struct {
	t        testing.TB
	hosts    map[ident.GUID]*Host
	switches map[ident.GUID]*Switch
}

func (f simulatedDevices) device(d driver.Device) *gate {
	if h := f.hosts[d.ID.Node]; h != nil {
		return &h.gate
	}
	return &f.switches[d.ID.Node].gate
}

func (f simulatedDevices) check(err error) {
	if err != nil {
		f.t.Error(err)
	}
}

func (f simulatedDevices) TrueState(d driver.Device) driver.Settings {
	h := f.hosts[d.ID.Node]
	if h == nil {
		w := f.switches[d.ID.Node]
		return driver.Settings{Queues: &driver.QueueState{Marking: w.Marking(), Weights: w.Weights()}}
	}
	set, senders, err := h.Settings(d.ID)
	f.check(err)
	out := &driver.NICState{}
	for _, s := range set {
		out.Params = append(out.Params, driver.NICParam{Name: s.Name, Index: s.Index, Value: s.Value})
	}
	out.Sort()
	if d.Plane == driver.PlaneWRCC {
		out.WRCC = senders
	}
	return driver.Settings{NIC: out}
}

func (f simulatedDevices) Put(d driver.Device, s driver.Settings) {
	h := f.hosts[d.ID.Node]
	if h == nil {
		f.switches[d.ID.Node].PutMarking(s.Queues.Marking)
		f.switches[d.ID.Node].PutWeights(s.Queues.Weights)
		return
	}
	var set []nicparam.Setting
	for _, p := range slices.Concat(s.NIC.Params, s.NIC.ShareParams()) {
		set = append(set, nicparam.Setting{Key: nicparam.Key{Name: p.Name, Index: p.Index}, Value: p.Value})
	}
	f.check(h.Put(d.ID, set))
	if d.Plane == driver.PlaneWRCC {
		f.check(h.PutSenders(d.ID, s.NIC.WRCC))
	}
}

func (f simulatedDevices) Reboot(d driver.Device) {
	if h := f.hosts[d.ID.Node]; h != nil {
		h.Reset() // after a reboot, an agent with a journal would restore its settings
		return
	}
	f.switches[d.ID.Node].Reset()
}

func (f simulatedDevices) Writes(d driver.Device) int { return f.device(d).Sets() }

func (f simulatedDevices) LoseRequests(d driver.Device, after, n int) {
	f.device(d).Inject(func(x *Faults) { x.PassWrites, x.LoseRequests = after, n })
}

func (f simulatedDevices) LoseReply(d driver.Device, after int) {
	f.device(d).Inject(func(x *Faults) { x.LoseReply, x.PassReplies = true, after })
}

func (f simulatedDevices) Busy(d driver.Device, n int) {
	f.device(d).Inject(func(x *Faults) { x.Busy = n })
}

func (f simulatedDevices) Disable(d driver.Device) {
	f.device(d).Inject(func(x *Faults) { x.Disabled = true })
}

func (f simulatedDevices) Partial(d driver.Device) {
	if h := f.hosts[d.ID.Node]; h != nil {
		f.check(h.InjectPort(d.ID, func(x *PortFaults) { x.PassWrites, x.SkipWrites = 2, 1 }))
		return
	}
	f.switches[d.ID.Node].InjectSwitch(func(x *SwitchFaults) { x.Partial = true })
}

func (f simulatedDevices) Clamp(d driver.Device) {
	if h := f.hosts[d.ID.Node]; h != nil {
		f.check(h.InjectPort(d.ID, func(x *PortFaults) { x.MostAIRate = drivertest.ClampedValue }))
		return
	}
	f.switches[d.ID.Node].InjectSwitch(func(x *SwitchFaults) { x.MostThreshold = drivertest.ClampedBytes })
}

func (f simulatedDevices) Heal(d driver.Device) {
	if h := f.hosts[d.ID.Node]; h != nil {
		h.Heal()
		return
	}
	f.switches[d.ID.Node].Heal()
}

// manager returns a driver for the rig's devices. The target of a device has the name of the device.
func (r *rig) manager(t testing.TB, dialect cgnmi.Dialect) *cgnmi.Driver {
	t.Helper()
	d, err := cgnmi.New(cgnmi.Options{Options: grpclink.Options{Insecure: true, Dial: r.dial}, Target: func(d driver.Device) (cgnmi.Target, error) {
		name, _, _ := strings.Cut(d.Name, "/")
		return cgnmi.Target{Address: "rig", Name: name, Dialect: dialect}, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	grpctest.CloseAtEnd(t, d)
	return d
}

// nicHarness returns the driver for hosts with each kind of NIC driver, one of them with WRCC.
func nicHarness(t testing.TB, classes ...qos.TrafficClass) drivertest.Harness {
	r := newRig(t)
	f := simulatedDevices{t: t, hosts: map[ident.GUID]*Host{}}
	h := drivertest.Harness{Driver: r.manager(t, cgnmi.Agent), Atomic: true, Faults: f}
	for i, how := range []Driver{KernelDriver, VendorDriver, VendorDriverParams} {
		d := driver.Device{Plane: driver.PlaneRoCE, ID: ident.PortID{Node: testGUID + ident.GUID(i), Port: 2}, Name: []string{"kernel/2", "vendor/2", "wrcc/2"}[i], Kind: subnet.KindCA}
		o := CardOptions{GUID: d.ID.Node, Driver: how, Ports: []PortOptions{{}, {Speed: 100 * quantity.Gbps}}}
		if i == 2 {
			d.Plane = driver.PlaneWRCC
			o.Ports[1].Senders = 16
		}
		name, _, _ := strings.Cut(d.Name, "/")
		host, err := r.AddHost(name, HostOptions{Cards: []CardOptions{o}, Classes: classes})
		if err != nil {
			t.Fatal(err)
		}
		f.hosts[d.ID.Node] = host
		h.Devices = append(h.Devices, d)
	}
	return h
}

// switchHarness returns the driver for two switches of a dialect.
func switchHarness(t testing.TB, of cgnmi.Dialect, change func(*SwitchOptions)) drivertest.Harness {
	r := newRig(t)
	f := simulatedDevices{t: t, switches: map[ident.GUID]*Switch{}}
	h := drivertest.Harness{Driver: r.manager(t, of), Atomic: true, Faults: f}
	for i, name := range []string{"leaf-1", "leaf-2"} {
		d := driver.Device{Plane: driver.PlaneRoCE, ID: ident.PortID{Node: 0x51 + ident.GUID(i)}, Name: name, Kind: subnet.KindSwitch, Ports: 4}
		o := SwitchOptions{Ports: make([]SwitchPort, d.Ports)}
		if of == cgnmi.OpenConfig {
			o.Dialect = OpenConfig
		}
		if change != nil {
			change(&o)
		}
		w, err := r.AddSwitch(name, o)
		if err != nil {
			t.Fatal(err)
		}
		f.switches[d.ID.Node] = w
		h.Devices = append(h.Devices, d)
	}
	return h
}

func TestConformanceOnNICs(t *testing.T) {
	t.Parallel()
	drivertest.Run(t, func(t testing.TB) drivertest.Harness { return nicHarness(t) })
}

func TestConformanceOnSONiC(t *testing.T) {
	t.Parallel()
	drivertest.Run(t, func(t testing.TB) drivertest.Harness {
		return switchHarness(t, cgnmi.SONiC, func(o *SwitchOptions) { o.Unguarded = true })
	})
}

func TestConformanceOnGuardedSONiC(t *testing.T) {
	t.Parallel()
	drivertest.Run(t, func(t testing.TB) drivertest.Harness {
		h := switchHarness(t, cgnmi.SONiC, nil)
		h.Samples = func(d driver.Device, c driver.Capabilities) []driver.Settings {
			return slices.DeleteFunc(drivertest.Samples(d, c), func(s driver.Settings) bool { // only settings with one rule: the thresholds of the stock profile
				return slices.ContainsFunc(s.Queues.Marking, func(q ecn.QueueMarking) bool { return q.Marking != s.Queues.Marking[0].Marking })
			})
		}
		return h
	})
}

// siteClasses are the classes of traffic of provisioned fabrics.
func siteClasses() []qos.TrafficClass {
	return []qos.TrafficClass{{DSCP: 26, Queue: 3}, {DSCP: 34, Queue: 4}, {DSCP: 10, Queue: 1}, {DSCP: 18, Queue: 2}}
}

func TestConformanceOnSwitchesWithClasses(t *testing.T) {
	t.Parallel()
	for name, of := range map[string]cgnmi.Dialect{"SONiC": cgnmi.SONiC, "OpenConfig": cgnmi.OpenConfig} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			drivertest.Run(t, func(t testing.TB) drivertest.Harness {
				return switchHarness(t, of, func(o *SwitchOptions) { o.Classes, o.Guard = siteClasses(), Guard2026 })
			})
		})
	}
}

func TestConformanceOnNICsWithClasses(t *testing.T) {
	t.Parallel()
	classes := []qos.TrafficClass{{DSCP: 26, Queue: 3}, {DSCP: 34, Queue: 1}, {DSCP: 10, Queue: 0}}
	drivertest.Run(t, func(t testing.TB) drivertest.Harness { return nicHarness(t, classes...) })
}

func TestConformanceOnOpenConfig(t *testing.T) {
	t.Parallel()
	drivertest.Run(t, func(t testing.TB) drivertest.Harness { return switchHarness(t, cgnmi.OpenConfig, nil) })
}
