package p4dev

import (
	"fairlane/wrcc"
	"fairlane/wrcc/p4info"
)

// DataPlane is the data plane of a device: it applies the settings and measures their effect. Its methods are called under the
// device's lock and must not call the device.
type DataPlane interface {
	// Configure sets the complete configuration: at the start, after each change and after a reboot. Until a change is
	// complete, entries may have different sampling periods.
	Configure(c wrcc.SwitchConfig)
	// Measure returns a port's current measurements, which are all zero for port 0 and ports that do not exist.
	Measure(port uint16) Measured
}

// Measured holds the measurements of an egress port.
type Measured struct {
	FairRateMbps uint32
	AvgRTTUs     uint32
	QueueBytes   uint32
	Input        p4info.Count // traffic received for the port
	FCNPs        uint64
	Rewrites     uint64       // packets whose fair rate the port lowered
	Pauses       uint64       // pause frames that the port sent as an ingress port
	FairRateSum  p4info.Count // packets: sampling periods; bytes: the sum of their fair rates, Mbit/s
}

// idle is the default data plane: no traffic, so each port's fair rate stays at its initial value, the maximum.
type idle struct{ config wrcc.SwitchConfig }

func (p *idle) Configure(c wrcc.SwitchConfig) { p.config = c }

func (p *idle) Measure(port uint16) Measured {
	c, _ := p.config.PortConfig(port)
	return Measured{FairRateMbps: c.FmaxMbps}
}
