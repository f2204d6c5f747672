package gnmi_test

import (
	"testing"

	"fairlane/ccconfig/driver"
	"fairlane/ccconfig/driver/drivertest"
	"fairlane/ccconfig/gnmi"
	"fairlane/subnet/ident"
	"fairlane/wrcc"
)

// agentHarness is a driver over hosts: one with two ports, and one with WRCC.
func agentHarness(t testing.TB) drivertest.Harness {
	r := newRig(t)
	one, two := ident.PortID{Node: 0x11, Port: 1}, ident.PortID{Node: 0x12, Port: 1}
	weighed := ident.PortID{Node: 0x21, Port: 1}
	agents := map[string]*fakeAgent{"host-1": newFakeAgent(one), "host-2": newFakeAgent(two), "host-3": newFakeAgent(weighed)}
	agents["host-3"].ports[0].wrcc = &wrcc.NICConfig{T1Us: 24, MinRateMbps: 100, Increase: "timer"}
	for name, a := range agents {
		r.add(t, name, a)
	}
	return drivertest.Harness{
		Driver: r.driver(t, gnmi.Agent), Atomic: true, Faults: agentFaults{faults{r}, agents},
		Devices: []driver.Device{nicDevice(driver.PlaneRoCE, one, "host-1/P1"), nicDevice(driver.PlaneRoCE, two, "host-2/P1"), nicDevice(driver.PlaneWRCC, weighed, "host-3/P1")},
	}
}

func TestConformanceOfAgents(t *testing.T) {
	t.Parallel()
	drivertest.Run(t, agentHarness)
}
