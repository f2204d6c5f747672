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
	inject(change func(*injected))
	// reset restores the initial configuration of the switch, with its name.
	reset(ports int)
	// marking returns the marking of the first ports' queues, read independently of the driver; mark changes it as
	// another manager would.
	marking(ports int) []ecn.QueueMarking
	mark(to []ecn.QueueMarking)
	// call configures the switch's name; with an empty name the switch reports none.
	call(name string)
}

// injected holds the injected faults and the common fields of fake switches.
type injected struct {
	gnmitree.Watchers

	mu      sync.Mutex
	clamp   bool // thresholds are cut to drivertest.ClampedBytes, silently
	partial bool // only half of the next Set is executed
	name    string
}

func (b *injected) inject(change func(*injected)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	change(b)
}

// switchFaults injects the faults of package drivertest into fake switches.
type switchFaults struct {
	faults

	switches map[string]fake
}

func (f switchFaults) TrueState(d driver.Device) driver.Settings {
	return driver.Settings{Queues: &driver.QueueState{Marking: f.switches[host(d)].marking(d.Ports)}}
}
func (f switchFaults) Put(d driver.Device, want driver.Settings) {
	f.switches[host(d)].mark(want.Queues.Marking)
}
func (f switchFaults) Reboot(d driver.Device) { f.switches[host(d)].reset(d.Ports) }
func (f switchFaults) Partial(d driver.Device) {
	f.switches[host(d)].inject(func(b *injected) { b.partial = true })
}
func (f switchFaults) Clamp(d driver.Device) {
	f.switches[host(d)].inject(func(b *injected) { b.clamp = true })
}
func (f switchFaults) Heal(d driver.Device) {
	f.switches[host(d)].inject(func(b *injected) { b.clamp, b.partial = false, false })
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
