package gnmi_test

import (
	"sync"
	"testing"

	"fairlane/ccconfig/driver"
	"fairlane/ccconfig/driver/drivertest"
	"fairlane/ccconfig/ecn"
	"fairlane/ccconfig/gnmi"
	"fairlane/ccconfig/gnmi/gnmitree"
)

// fake is a switch of a test, in either dialect.
type fake interface {
	gnmitree.Tree
	bend(change func(*bent))
	// reset configures the switch as it came, with its name.
	reset(ports int)
	// marking reads in its own way how queues of the first ports mark, and mark changes it behind the driver's back.
	marking(ports int) []ecn.QueueMarking
	mark(to []ecn.QueueMarking)
	// call configures the switch's name; empty is a switch that does not say one.
	call(name string)
}

// bent is what is wrong with a fake switch, and what all of them have.
type bent struct {
	gnmitree.Watchers

	mu      sync.Mutex
	clamp   bool // thresholds are cut to drivertest.ClampedBytes, silently
	partial bool // the next Set is carried out by half
	name    string
}

func (b *bent) bend(change func(*bent)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	change(b)
}

// switchFaults are fake switches as the suite wants to bend them.
type switchFaults struct {
	faults

	switches map[string]fake
}

func (f switchFaults) Truth(d driver.Device) driver.Settings {
	return driver.Settings{Queues: &driver.QueueState{Marking: f.switches[host(d)].marking(d.Ports)}}
}
func (f switchFaults) Put(d driver.Device, want driver.Settings) {
	f.switches[host(d)].mark(want.Queues.Marking)
}
func (f switchFaults) Reboot(d driver.Device) { f.switches[host(d)].reset(d.Ports) }
func (f switchFaults) Partial(d driver.Device) {
	f.switches[host(d)].bend(func(b *bent) { b.partial = true })
}
func (f switchFaults) Clamp(d driver.Device) {
	f.switches[host(d)].bend(func(b *bent) { b.clamp = true })
}
func (f switchFaults) Heal(d driver.Device) {
	f.switches[host(d)].bend(func(b *bent) { b.clamp, b.partial = false, false })
	f.faults.Heal(d)
}

// switchHarness is a driver over two switches, leaf-1 and leaf-2, of 4 and 6 ports.
func switchHarness(t testing.TB, dialect gnmi.Dialect, first, second fake) drivertest.Harness {
	t.Helper()
	r := newRig(t)
	devices := []driver.Device{switchDevice("leaf-1", 4), switchDevice("leaf-2", 6)}
	devices[1].ID.Node++
	r.add(t, "leaf-1", first)
	r.add(t, "leaf-2", second)
	return drivertest.Harness{Driver: r.driver(t, dialect), Atomic: true, Faults: switchFaults{faults{r}, map[string]fake{"leaf-1": first, "leaf-2": second}}, Devices: devices}
}
