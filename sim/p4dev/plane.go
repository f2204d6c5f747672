package p4dev

import (
	"fairlane/wrcc"
	"fairlane/wrcc/p4info"
)

// DataPlane is what forwards the packets of a device: it follows the settings and measures what comes of them.
// Its methods are called under the device's lock and must not call the device.
type DataPlane interface {
	// Configure hands over the whole configuration, at the start, after each change and after a reboot. Until a
	// change is complete, entries may differ in their sampling period.
	Configure(c wrcc.SwitchConfig)
	// Measure returns what a port measures now; port 0 and ports that do not exist measure nothing.
	Measure(port uint16) Measured
}

// Measured is what a data plane knows of an egress port.
type Measured struct {
	FairRateMbps uint32
	AvgRTTUs     uint32
	QueueBytes   uint32
	Input        p4info.Count // on their way to the port
	FCNPs        uint64
	Rewrites     uint64       // packets whose fair rate the port lowered
	Pauses       uint64       // pause frames that the port sent as an ingress
	FairRateSum  p4info.Count // packets: sampling periods; bytes: the sum of their fair rates, Mbit/s
}

// idle is the data plane of a device without one: no traffic, so that each port's fair rate stays where it
// starts, at its ceiling.
type idle struct{ config wrcc.SwitchConfig }

func (p *idle) Configure(c wrcc.SwitchConfig) { p.config = c }

func (p *idle) Measure(port uint16) Measured {
	c, _ := p.config.PortConfig(port)
	return Measured{FairRateMbps: c.FmaxMbps}
}
