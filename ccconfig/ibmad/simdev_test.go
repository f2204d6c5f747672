package ibmad_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"fairlane/ccconfig/driver"
	"fairlane/ccconfig/driver/drivertest"
	"fairlane/ccconfig/ibcc"
	"fairlane/ccconfig/ibmad"
	simfabric "fairlane/sim/fabric"
	"fairlane/sim/simdev"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/subnet/mad"
	"fairlane/subnet/topogen"
)

// simFabric is a harness of simulated devices: the agents are the simulator's, and a transport in front of them
// injects the faults of the suite.
type simFabric struct {
	t    testing.TB
	topo *subnet.Fabric
	dev  *simdev.Devices
	wire mad.Transport

	mu           sync.Mutex
	deviceFaults map[ident.LID]*deviceFaults
}

// deviceFaults holds the faults of the requests to one device.
type deviceFaults struct {
	writes, after, lose, replies, busy int
	losing, mute, partial, clamp       bool
}

func (s *simFabric) Exchange(ctx context.Context, to mad.Target, req *mad.Packet) (mad.Packet, error) {
	if err := ctx.Err(); err != nil {
		return mad.Packet{}, err
	}
	r := *req
	lost, lostReply, busy := s.lose(to.LID, &r)
	if lost {
		return mad.Packet{}, fmt.Errorf("%s: %w", to, mad.ErrTimeout)
	}
	if busy {
		r.Respond(mad.StatusBusy)
		return r, nil
	}
	resp, err := s.wire.Exchange(ctx, to, &r)
	if lostReply {
		return mad.Packet{}, fmt.Errorf("%s: %w", to, mad.ErrTimeout)
	}
	return resp, err
}

func (s *simFabric) lose(lid ident.LID, r *mad.Packet) (lost, lostReply, busy bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.deviceFaults[lid]
	write := r.Method() == mad.MethodSet
	if write {
		b.writes++
	}
	switch {
	case b.losing && b.after == 0 && b.lose != 0:
		b.lose--
		return true, false, false
	case b.busy > 0:
		b.busy--
		return false, false, true
	case b.mute, write && b.replies == 0:
		b.mute = true
		return false, true, false
	}
	if !write {
		return false, false, false
	}
	b.after = max(b.after-1, 0)
	if b.replies > 0 {
		b.replies--
	}
	if b.partial {
		b.partial = false
		r.Data()[6], r.Data()[7] = 0, 0 // the second table entry
		clear(r.Data()[68:])            // of a switch, everything behind the masks
	}
	if b.clamp && r.Attr() == mad.AttrSwitchCongestionSetting {
		r.Data()[75] = 1 // the marking rate
	}
	return false, false, false
}

func (s *simFabric) ref(d driver.Device) subnet.PortRef {
	ref, ok := s.topo.PortByID(d.ID)
	if !ok {
		s.t.Fatalf("no device %s", d)
	}
	return ref
}

func (s *simFabric) TrueState(d driver.Device) (out driver.Settings) {
	ref := s.ref(d)
	s.dev.With(func(n *simfabric.Network) {
		if d.Kind == subnet.KindSwitch {
			st := &driver.SwitchState{Defaults: n.SwitchCC(ref.Node), Ports: make([]ibcc.PortMarking, d.Ports+1)}
			for p := range st.Ports {
				st.Ports[p] = n.PortMarking(ref.Node, ident.PortNum(p))
			}
			out.Switch = st
			return
		}
		c := &ibcc.CASettings{Limit: n.CCTILimit(ref.Node, ref.Port)}
		c.PerSL, c.SLs = n.CAParams(ref.Node, ref.Port)
		for i := range int(c.Limit) + 1 {
			block := n.CCTBlock(ref.Node, ref.Port, i/ibcc.BlockEntries)
			c.Table = append(c.Table, block[i%ibcc.BlockEntries])
		}
		out.CA = c
	})
	return out
}

func (s *simFabric) Put(d driver.Device, want driver.Settings) {
	ref := s.ref(d)
	if want.CA != nil {
		if err := s.dev.OverwriteCA(ref, *want.CA); err != nil {
			s.t.Error(err)
		}
		return
	}
	s.dev.With(func(n *simfabric.Network) {
		n.SetSwitchCC(ref.Node, want.Switch.Defaults)
		for p, m := range want.Switch.Ports {
			n.SetPortMarking(ref.Node, ident.PortNum(p), m)
		}
	})
}

func (s *simFabric) Reboot(d driver.Device) {
	if err := s.dev.Reboot(s.ref(d).Node); err != nil {
		s.t.Error(err)
	}
}

func (s *simFabric) with(d driver.Device, f func(*deviceFaults)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(s.deviceFaults[d.LID])
}

func (s *simFabric) Writes(d driver.Device) (n int) {
	s.with(d, func(b *deviceFaults) { n = b.writes })
	return n
}
func (s *simFabric) LoseRequests(d driver.Device, after, n int) {
	s.with(d, func(b *deviceFaults) { b.losing, b.after, b.lose = true, after, n })
}
func (s *simFabric) LoseReply(d driver.Device, after int) {
	s.with(d, func(b *deviceFaults) { b.replies = after })
}
func (s *simFabric) Partial(d driver.Device)     { s.with(d, func(b *deviceFaults) { b.partial = true }) }
func (s *simFabric) Busy(d driver.Device, n int) { s.with(d, func(b *deviceFaults) { b.busy = n }) }
func (s *simFabric) Clamp(d driver.Device) {
	s.with(d, func(b *deviceFaults) { b.clamp = true })
	s.dev.SetFaults(simdev.Faults{ClampTimer: 7})
}
func (s *simFabric) Disable(d driver.Device) {
	s.dev.SetFaults(simdev.Faults{Nodes: []int32{s.ref(d).Node}, CC: simdev.CCNoAttribute})
}
func (s *simFabric) Heal(d driver.Device) {
	s.dev.SetFaults(simdev.Faults{})
	s.with(d, func(b *deviceFaults) { *b = deviceFaults{writes: b.writes, replies: -1} })
}

// simulated returns a star of hosts whose devices answer from simulated state, and the transport of its last host.
// The devices are in the form of package driver, the switch before the hosts.
func simulated(t testing.TB, hosts int, o simdev.Options) (*simfabric.Network, *simdev.Devices, mad.Transport, []driver.Device) {
	t.Helper()
	topo, err := topogen.Star(hosts, topogen.Wire{})
	if err != nil {
		t.Fatal(err)
	}
	n, err := simfabric.New(topo, simfabric.Config{})
	if err != nil {
		t.Fatal(err)
	}
	dev, err := simdev.New(n, o)
	if err != nil {
		t.Fatal(err)
	}
	topo = n.Topology()
	wire, err := dev.Local(subnet.PortRef{Node: topo.Hosts()[hosts-1], Port: 1})
	if err != nil {
		t.Fatal(err)
	}
	leaf := &topo.Nodes[topo.Switches()[0]]
	devices := []driver.Device{{Plane: "ib", ID: ident.PortID{Node: leaf.GUID}, Name: leaf.Name, Kind: leaf.Kind, LID: leaf.Ports[0].LID, Ports: len(leaf.Ports) - 1}}
	for _, at := range topo.Hosts() {
		x := &topo.Nodes[at]
		devices = append(devices, driver.Device{Plane: "ib", ID: ident.PortID{Node: x.GUID, Port: 1}, Name: x.Name, Kind: x.Kind, LID: x.Ports[1].LID})
	}
	return n, dev, wire, devices
}

func newSimHarness(t testing.TB, o simdev.Options) drivertest.Harness {
	t.Helper()
	o.CCKey = testKey
	n, dev, wire, devices := simulated(t, 3, o)
	s := &simFabric{t: t, topo: n.Topology(), dev: dev, wire: wire, deviceFaults: map[ident.LID]*deviceFaults{}}
	list := []driver.Device{devices[1], devices[0]}
	for _, d := range list {
		s.deviceFaults[d.LID] = &deviceFaults{replies: -1}
	}
	drv, err := ibmad.New(s, ibmad.Options{CCKey: testKey, Layout: func(driver.Device) mad.CCLayout { return o.Layout }})
	if err != nil {
		t.Fatal(err)
	}
	return drivertest.Harness{Driver: drv, Devices: list, Faults: s}
}

func TestConformanceOnSimulatedDevices(t *testing.T) {
	t.Parallel()
	drivertest.Run(t, func(t testing.TB) drivertest.Harness { return newSimHarness(t, simdev.Options{}) })
}

// The devices use the disputed layouts that differ from the annex.
func TestConformanceOnDevicesOfTheOtherLayouts(t *testing.T) {
	t.Parallel()
	other := simdev.Options{
		ReversedControlMap: true,
		Layout:             mad.CCLayout{LibibmadLog: true, WidePorts: true, PackedCA: true},
	}
	drivertest.Run(t, func(t testing.TB) drivertest.Harness { return newSimHarness(t, other) })
}

// The firmware answers only some attributes: nothing is written to it, and the error names the missing attribute.
func TestHalfAnsweringFirmwareIsNamed(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		device int // 0 the switch, 1 a host
		attr   mad.AttrID
		asked  bool // of capabilities
	}{
		{0, mad.AttrSwitchCongestionSetting, false}, {0, mad.AttrSwitchPortCongestionSetting, true},
		{1, mad.AttrCACongestionSetting, true}, {1, mad.AttrCongestionControlTable, false},
	} {
		name := mad.AttrName(mad.ClassCongestion, tt.attr)
		f := newFleet(t, simdev.Options{})
		f.dev.SetFaults(simdev.Faults{Unanswered: []simdev.Attribute{{Class: mad.ClassCongestion, Attr: tt.attr}}})
		d, v := f.driver(), f.devices[tt.device]
		if _, err := d.Capabilities(t.Context(), v); errors.Is(err, driver.ErrUnreachable) != tt.asked || tt.asked != (err != nil) {
			t.Errorf("%s: capabilities: %v", name, err)
		}
		if _, err := d.Read(t.Context(), v); !errors.Is(err, driver.ErrUnreachable) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: read: %v", name, err)
		}
		r, err := d.Apply(t.Context(), v, drivertest.Samples(v, driver.Capabilities{TableEntries: 128, PortMarking: true, PerSL: true})[0])
		if !errors.Is(err, driver.ErrUnreachable) || len(r.Fields) > 0 || f.sets > 0 {
			t.Errorf("%s: apply: %d fields, %d writes: %v", name, len(r.Fields), f.sets, err)
		}
	}
}
