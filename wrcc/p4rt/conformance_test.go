package p4rt_test

import (
	"context"
	"net"
	"slices"
	"testing"

	configv1 "github.com/p4lang/p4runtime/go/p4/config/v1"
	"go.uber.org/goleak"
	"google.golang.org/grpc"

	"fairlane/ccconfig/driver"
	"fairlane/ccconfig/driver/drivertest"
	"fairlane/ccconfig/driver/grpclink"
	"fairlane/internal/testkit/grpctest"
	"fairlane/sim/p4dev"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/wrcc/p4info"
	"fairlane/wrcc/p4rt"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// listen serves devices in memory until the test ends, and returns the function that dials them.
func listen(t testing.TB, s *p4dev.Server, o ...grpc.ServerOption) grpctest.Dial {
	t.Helper()
	return grpctest.Serve(t, func(ctx context.Context, l net.Listener) error { return s.Serve(ctx, l, o...) })
}

// target returns the address of a device; the device ID is that of its node.
func target(d driver.Device) (p4rt.Target, error) {
	return p4rt.Target{Address: "switches", DeviceID: uint64(d.ID.Node)}, nil
}

func newDriver(t testing.TB, o p4rt.Options) *p4rt.Driver {
	t.Helper()
	if o.Target == nil {
		o.Target = target
	}
	o.Insecure = o.TLS == nil
	d, err := p4rt.New(o)
	if err != nil {
		t.Fatal(err)
	}
	grpctest.CloseAtEnd(t, d)
	return d
}

func switchDevice(node uint64, name string) driver.Device {
	return driver.Device{Plane: driver.PlaneWRCC, ID: ident.PortID{Node: ident.GUID(node)}, Name: name, Kind: subnet.KindSwitch, Ports: 5}
}

// withoutWeights removes the class weights from a program.
func withoutWeights(p *configv1.P4Info) {
	p.Tables = slices.DeleteFunc(p.Tables, func(t *configv1.Table) bool { return t.GetPreamble().GetId() == p4info.TableClassWeight })
}

// simFaults injects the faults of package drivertest into simulated devices.
type simFaults struct {
	dev map[ident.PortID]*p4dev.Device
}

func (s *simFaults) of(d driver.Device) *p4dev.Device { return s.dev[d.ID] }

func (s *simFaults) TrueState(d driver.Device) driver.Settings {
	c := s.of(d).Config()
	return driver.Settings{WRCC: &c}
}
func (s *simFaults) Put(d driver.Device, want driver.Settings) { s.of(d).Put(*want.WRCC) }
func (s *simFaults) Reboot(d driver.Device)                    { s.of(d).Reboot() }
func (s *simFaults) Writes(d driver.Device) int                { return s.of(d).Writes() }
func (s *simFaults) LoseRequests(d driver.Device, after, n int) {
	s.of(d).Inject(func(f *p4dev.Faults) { f.PassWrites, f.LoseRequests = after, n })
}
func (s *simFaults) LoseReply(d driver.Device, after int) {
	s.of(d).Inject(func(f *p4dev.Faults) { f.LoseReply, f.PassReplies = true, after })
}
func (s *simFaults) Partial(d driver.Device) {
	s.of(d).Inject(func(f *p4dev.Faults) { f.Partial = true })
}
func (s *simFaults) Clamp(d driver.Device) {
	s.of(d).Inject(func(f *p4dev.Faults) { f.ClampTargetMbps = drivertest.WRCCTargetMbps })
}
func (s *simFaults) Busy(d driver.Device, n int) {
	s.of(d).Inject(func(f *p4dev.Faults) { f.Busy = n })
}
func (s *simFaults) Disable(d driver.Device) {
	s.of(d).Inject(func(f *p4dev.Faults) { f.NoPipeline = true })
}
func (s *simFaults) Heal(d driver.Device) { s.of(d).Heal() }

// harness is a driver over two simulated switches behind one listener, one of them without class weights.
func harness(t testing.TB, batch int) drivertest.Harness {
	t.Helper()
	s := p4dev.NewServer()
	devices := []driver.Device{switchDevice(0x11, "dci-1"), switchDevice(0x12, "dci-2")}
	faults := &simFaults{dev: map[ident.PortID]*p4dev.Device{}}
	for i, o := range []p4dev.Options{{Ports: 5}, {Ports: 5, Program: withoutWeights}} {
		d, err := s.Add(uint64(devices[i].ID.Node), o)
		if err != nil {
			t.Fatal(err)
		}
		faults.dev[devices[i].ID] = d
	}
	drv := newDriver(t, p4rt.Options{Options: grpclink.Options{Dial: listen(t, s)}, BatchSize: batch})
	return drivertest.Harness{Driver: drv, Devices: devices, Faults: faults}
}

func TestConformanceOnSimulatedDevices(t *testing.T) {
	t.Parallel()
	drivertest.Run(t, func(t testing.TB) drivertest.Harness { return harness(t, 0) })
}

// TestConformanceInSmallBatches has several Writes for each table.
func TestConformanceInSmallBatches(t *testing.T) {
	t.Parallel()
	drivertest.Run(t, func(t testing.TB) drivertest.Harness { return harness(t, 2) })
}
