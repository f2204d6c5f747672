package drivertest

import (
	"fmt"

	"fairlane/ccconfig/driver"
	"fairlane/ccconfig/ibcc"
	"fairlane/subnet"
	"fairlane/wrcc"
)

// WRCCTargetMbps is above the values that a clamp must not change and below the target of every port of every WRCC sample.
const WRCCTargetMbps = 50_000

// wrccSample sets ports of a WRCC switch, their data centres and, if supported, class weights: all ports except one, a
// different one in each variant.
func wrccSample(d driver.Device, c driver.Capabilities, variant int) driver.Settings {
	s := &driver.WRCCState{}
	for p := 1; p <= d.Ports; p++ {
		if d.Ports > 1 && p == variant {
			continue
		}
		port := uint16(p)
		s.Ports = append(s.Ports, wrcc.PortConfig{
			Port: port, FminMbps: uint32(100 * variant), FmaxMbps: uint32(100_000 + p), TargetMbps: uint32(100_000*variant - p),
			PeriodUs: uint16(24 * variant), RateRatioPct: uint16(105 + variant), QRatioPct: uint16(10 * variant),
		})
		s.Domains = append(s.Domains, wrcc.PortDomain{Port: port, Domain: uint16(variant), WAN: p%2 == variant%2})
		if c.WRCC != nil && c.WRCC.Weights > 0 {
			s.Weights = append(s.Weights, wrcc.ClassWeight{Port: port, Class: uint8(variant), Multiplier: uint16(3 + p), Shift: 2})
		}
	}
	return driver.Settings{WRCC: s}
}

func checkWRCCCapabilities(d driver.Device, c driver.Capabilities) error {
	if c.WRCC == nil {
		return fmt.Errorf("no capabilities of a WRCC switch")
	}
	if c.WRCC.Ports < d.Ports || c.WRCC.Domains < d.Ports || c.WRCC.Weights < 0 {
		return fmt.Errorf("tables of %d ports, %d data centres and %d weights, want at least %d of the first two", c.WRCC.Ports, c.WRCC.Domains, c.WRCC.Weights, d.Ports)
	}
	return nil
}

// wrccInvalidations are functions that make settings of a WRCC switch illegal, by name.
func wrccInvalidations(d driver.Device) map[string]func(*driver.Settings) {
	return map[string]func(*driver.Settings){
		"nothing":       func(s *driver.Settings) { *s = driver.Settings{} },
		"both halves":   func(s *driver.Settings) { s.Switch = &driver.SwitchState{Ports: make([]ibcc.PortMarking, d.Ports+1)} },
		"of an adapter": func(s *driver.Settings) { *s = driver.Settings{CA: &ibcc.CASettings{Table: make([]ibcc.Entry, 1)}} },
		"period 0":      func(s *driver.Settings) { s.WRCC.Ports[0].PeriodUs = 0 },
		"target 0":      func(s *driver.Settings) { s.WRCC.Ports[0].TargetMbps = 0 },
		"floor 0":       func(s *driver.Settings) { s.WRCC.Ports[0].FminMbps = 0 },
		"rate ratio 99": func(s *driver.Settings) { s.WRCC.Ports[0].RateRatioPct = wrcc.MinRateRatioPct - 1 },
		"queue ratio 61": func(s *driver.Settings) {
			s.WRCC.Ports[0].QRatioPct = wrcc.MaxQRatioPct + 1
		},
		"port 0":        func(s *driver.Settings) { s.WRCC.Ports[0].Port = 0 },
		"a port beyond": func(s *driver.Settings) { s.WRCC.Domains[len(s.WRCC.Domains)-1].Port = uint16(d.Ports + 1) },
		"a port twice":  func(s *driver.Settings) { s.WRCC.Ports = append(s.WRCC.Ports[:1:1], s.WRCC.Ports...) },
		"class 8":       func(s *driver.Settings) { s.WRCC.Weights = []wrcc.ClassWeight{{Port: 1, Class: 8, Multiplier: 1}} },
		"weight 0":      func(s *driver.Settings) { s.WRCC.Weights = []wrcc.ClassWeight{{Port: 1}} },
		"shift 16":      func(s *driver.Settings) { s.WRCC.Weights = []wrcc.ClassWeight{{Port: 1, Multiplier: 1, Shift: 16}} },
		"ports in reverse": func(s *driver.Settings) {
			n := len(s.WRCC.Ports) - 1
			s.WRCC.Ports[0].Port, s.WRCC.Ports[n].Port = uint16(d.Ports), 1
		},
	}
}

// badDevices are devices with an invalid address, by the kind of error.
func badDevices(d driver.Device) map[string]driver.Device {
	router := d
	router.Kind = subnet.KindRouter
	switch kindOf(d) {
	case nicPort:
		whole, far := d, d
		whole.ID.Port, far.ID.Port = 0, driver.MaxSwitchPorts+1
		return map[string]driver.Device{"a whole card": whole, "port 255": far, "router": router}
	case etherSwitch, wrccSwitch:
		port, portless := d, d
		port.ID.Port, portless.Ports = 1, 0
		return map[string]driver.Device{"a port of a switch": port, "no ports": portless, "router": router}
	}
	noLID := d
	noLID.LID = 0
	return map[string]driver.Device{"no LID": noLID, "router": router}
}

func wrccFields(w *driver.WRCCState) []part {
	return []part{{
		field: "wrcc.ports",
		differs: func(s driver.Settings) bool {
			return !w.Equal(&driver.WRCCState{Ports: s.WRCC.Ports, Weights: w.Weights, Domains: w.Domains})
		},
		put:     func(s *driver.Settings) { s.WRCC.Ports = w.Clone().Ports },
		putSome: func(s *driver.Settings) { s.WRCC.Ports = w.Clone().Ports[:len(w.Ports)/2] },
	}, {
		field: "wrcc.rest",
		differs: func(s driver.Settings) bool {
			return !w.Equal(&driver.WRCCState{Ports: w.Ports, Weights: s.WRCC.Weights, Domains: s.WRCC.Domains})
		},
		put: func(s *driver.Settings) {
			c := w.Clone()
			s.WRCC.Weights, s.WRCC.Domains = c.Weights, c.Domains
		},
		putSome: func(s *driver.Settings) { s.WRCC.Domains = w.Clone().Domains[:len(w.Domains)/2] },
	}}
}
