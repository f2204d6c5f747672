package drivertest

import (
	"fairlane/ccconfig/driver"
	"fairlane/ccconfig/ibcc"
	"fairlane/subnet"
	"fairlane/subnet/ident"
)

// kind is the kind of a device, by its plane.
type kind uint8

const (
	adapter kind = iota
	ibSwitch
	nicPort
	etherSwitch
	wrccSwitch
)

func kindOf(d driver.Device) kind {
	ether := d.Plane == driver.PlaneRoCE || d.Plane == driver.PlaneWRCC
	switch {
	case ether && d.Kind == subnet.KindCA:
		return nicPort
	case d.Plane == driver.PlaneRoCE:
		return etherSwitch
	case d.Plane == driver.PlaneWRCC:
		return wrccSwitch
	case d.Kind == subnet.KindSwitch:
		return ibSwitch
	}
	return adapter
}

// Samples returns legal, plausible settings for a device. Each differs from the others and from the defaults in every
// attribute: tables of one block and of several, both modes, port overrides if the device supports them.
func Samples(d driver.Device, c driver.Capabilities) []driver.Settings {
	switch kindOf(d) {
	case nicPort:
		return []driver.Settings{nicSample(d, c, 1), nicSample(d, c, 2)}
	case etherSwitch:
		return queueSamples(d, c)
	case wrccSwitch:
		return []driver.Settings{wrccSample(d, c, 1), wrccSample(d, c, 2)}
	case ibSwitch:
		return []driver.Settings{switchSample(d, c, 1), switchSample(d, c, 2)}
	}
	most := c.TableEntries
	small := min(most, ibcc.BlockEntries)
	out := []driver.Settings{caSample(min(most, 2*ibcc.BlockEntries), 1), caSample(small, 2)}
	if small > 20 {
		out = append(out, caSample(small-13, 3))
	}
	return out
}

func caSample(entries, variant int) driver.Settings {
	c := &ibcc.CASettings{PerSL: variant%2 == 1, Limit: uint16(entries - 1), Table: make([]ibcc.Entry, entries)}
	for i := range c.Table {
		c.Table[i] = ibcc.Entry{Shift: 2, Multiplier: uint16(min(i*(variant+2), ibcc.MaxMultiplier))}
	}
	for sl := range c.SLs {
		c.SLs[sl] = ibcc.SLParams{
			Timer: uint16(100*variant + sl), Increase: uint8(variant + sl),
			Trigger: uint8(10 * variant), Min: uint8(min(sl+variant, entries-1)),
		}
	}
	return driver.Settings{CA: c}
}

func switchSample(d driver.Device, c driver.Capabilities, variant int) driver.Settings {
	s := &driver.SwitchState{Ports: make([]ibcc.PortMarking, d.Ports+1)}
	s.Defaults = ibcc.SwitchSettings{
		Threshold: uint8(5 + variant), PacketSize: uint8(4 * variant), CSThreshold: uint8(variant),
		CSReturnDelay: ibcc.Entry{Shift: 1, Multiplier: uint16(7 * variant)}, MarkingRate: uint16(32 * variant),
	}
	for p := variant; p <= d.Ports; p += 2 {
		s.Defaults.VictimMask.Set(ident.PortNum(p))
		if c.PortMarking {
			s.Ports[p] = ibcc.PortMarking{Valid: true, Threshold: uint8(9 + variant), PacketSize: uint8(variant), MarkingRate: uint16(p + variant)}
		}
	}
	return driver.Settings{Switch: s}
}

// Defaults returns the initial state of a device: no marking, no reaction, and a table of one entry without delay.
func Defaults(d driver.Device) driver.Settings {
	switch kindOf(d) {
	case nicPort:
		return nicDefaults(d)
	case etherSwitch:
		return driver.Settings{Queues: &driver.QueueState{}}
	case wrccSwitch:
		return driver.Settings{WRCC: &driver.WRCCState{}}
	case ibSwitch:
		return driver.Settings{Switch: &driver.SwitchState{Ports: make([]ibcc.PortMarking, d.Ports+1)}}
	}
	return driver.Settings{CA: &ibcc.CASettings{Table: make([]ibcc.Entry, 1)}}
}
