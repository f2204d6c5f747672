package drivertest

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"fairlane/ccconfig/dcqcn"
	"fairlane/ccconfig/driver"
	"fairlane/ccconfig/ibcc"
	"fairlane/ccconfig/nic/nicparam"
	"fairlane/ccconfig/qos"
	"fairlane/subnet/ident"
	"fairlane/wrcc"
)

// ClampedParam is a parameter that every NIC sample sets above ClampedValue, for harnesses with clamping devices.
const (
	ClampedParam = "rpg_ai_rate"
	ClampedValue = 20
)

// ClampedT1Us is below T1 of every sample of a NIC on PlaneWRCC.
const ClampedT1Us = 10

// nicSample sets every DCQCN register that the port supports, with a different value in each variant if the register has more
// than two, the shares of three traffic classes if the port supports them, and some senders on PlaneWRCC.
func nicSample(d driver.Device, c driver.Capabilities, variant int) driver.Settings {
	n := uint32(variant)
	s := dcqcn.Settings{
		ClampTargetRate: variant == 1, ClampTargetRateAfterInc: variant == 2, TimeReset: 100 * n, ByteReset: 1000 * n, Threshold: uint8(1 + n),
		MaxRate: 50_000 * n, AIRate: 30 * n, HAIRate: 150 * n, GD: 10, MinDecFac: uint8(20 * n), MinRate: 10 * n, RateOnFirstCNP: 1000 * n,
		G: uint16(1000 + n), AlphaPeriod: 1 + n, MonitorPeriod: 10 * n, InitialAlpha: uint16(1000 + n), CNPGap: 20 * n,
	}
	out := &driver.NICState{}
	for _, p := range nicparam.OfDCQCN(int(d.ID.Port), &s) {
		if c.NIC == nil || slices.Contains(c.NIC.Params, p.Name) {
			out.Params = append(out.Params, driver.NICParam{Name: p.Name, Value: p.Value})
		}
	}
	out.Sort()
	if c.NIC != nil && c.NIC.Shares {
		out.Shares = []qos.ClassShare{{Class: 0, Percent: uint8(45 * (variant - 1))}, {Class: 1, Percent: uint8(30 - 10*variant)}, {Class: 3}}
		out.Shares[2].Percent = 100 - out.Shares[0].Percent - out.Shares[1].Percent
	}
	if d.Plane == driver.PlaneWRCC {
		out.WRCC = &wrcc.NICConfig{Domain: uint16(variant), T1Us: uint16(24 * variant), MinRateMbps: 100 * n, Increase: []string{"ask", "timer"}[variant%2]}
		for i := range variant + 1 {
			w := wrcc.FixedWeight{Multiplier: uint16(2*variant + 1), Shift: uint8(i)}
			out.WRCC.Senders = append(out.WRCC.Senders, wrcc.SenderWeight{Name: fmt.Sprintf("tenant-%d/class", i+variant), Weight: w})
		}
		last := &out.WRCC.Senders[variant]
		last.Peers = []wrcc.PeerWeight{{Port: ident.PortID{Node: 0x77, Port: 1}, Weight: wrcc.FixedWeight{Multiplier: uint16(2*variant + 5), Shift: 3}}}
	}
	return driver.Settings{NIC: out}
}

// nicDefaults returns the vendor's defaults, without senders on PlaneWRCC.
func nicDefaults(d driver.Device) driver.Settings {
	s := dcqcn.Default()
	out := &driver.NICState{}
	for _, p := range nicparam.OfDCQCN(int(d.ID.Port), &s) {
		out.Params = append(out.Params, driver.NICParam{Name: p.Name, Value: p.Value})
	}
	out.Sort()
	if d.Plane == driver.PlaneWRCC {
		out.WRCC = &wrcc.NICConfig{T1Us: 24, MinRateMbps: 100, Increase: "timer"}
	}
	return driver.Settings{NIC: out}
}

func checkNICCapabilities(d driver.Device, c driver.Capabilities) error {
	switch {
	case c.NIC == nil:
		return errors.New("no capabilities of a NIC port")
	case len(c.NIC.Params) == 0 && !c.NIC.WRCC:
		return errors.New("a NIC port without writable parameters")
	case !slices.IsSorted(c.NIC.Params) || len(slices.Compact(slices.Clone(c.NIC.Params))) != len(c.NIC.Params):
		return fmt.Errorf("parameters %q, want them sorted, each once", c.NIC.Params)
	case d.Plane == driver.PlaneWRCC && (!c.NIC.WRCC || c.NIC.Most < 1):
		return fmt.Errorf("senders %t, at most %d, want some on plane wrcc", c.NIC.WRCC, c.NIC.Most)
	case c.NIC.Shares && (!slices.Contains(c.NIC.Params, driver.PercentParam) || !slices.Contains(c.NIC.Params, driver.SelectionParam)):
		return errors.New("a NIC port with shares of traffic classes and without their parameters")
	}
	for _, name := range c.NIC.Reset {
		if !slices.Contains(c.NIC.Params, name) {
			return fmt.Errorf("parameter %q acts after a reset and cannot be written", name)
		}
	}
	return nil
}

// beyondNIC adds a parameter that the port does not support; false if there is none.
func beyondNIC(want *driver.Settings, c driver.Capabilities) bool {
	table := nicparam.New(nicparam.Caps{})
	for i := range table.Params() {
		p := &table.Params()[i]
		if p.Scope == nicparam.ScopePort && !slices.Contains(c.NIC.Params, p.Name) && p.Legal(p.Min) {
			want.NIC.Params = append(want.NIC.Params, driver.NICParam{Name: p.Name, Value: p.Min})
			want.NIC.Sort()
			return true
		}
	}
	return false
}

// nicInvalidations are functions that make settings of a NIC port illegal, by name.
func nicInvalidations(d driver.Device) map[string]func(*driver.Settings) {
	set := func(name string, v uint64) func(*driver.Settings) {
		return func(s *driver.Settings) {
			for i := range s.NIC.Params {
				if s.NIC.Params[i].Name == name {
					s.NIC.Params[i].Value = v
				}
			}
		}
	}
	out := map[string]func(*driver.Settings){
		"nothing":            func(s *driver.Settings) { *s = driver.Settings{} },
		"both halves":        func(s *driver.Settings) { s.Queues = &driver.QueueState{} },
		"of an adapter":      func(s *driver.Settings) { *s = driver.Settings{CA: &ibcc.CASettings{Table: make([]ibcc.Entry, 1)}} },
		"of a switch":        func(s *driver.Settings) { *s = driver.Settings{Queues: &driver.QueueState{}} },
		"threshold 32":       set("rpg_threshold", 32),
		"1025 of 1024":       set("dce_tcp_g", 1025),
		"101 percent":        set("rpg_min_dec_fac", 101),
		"no parameter":       func(s *driver.Settings) { s.NIC.Params[0].Name = "a_parameter_that_no_table_has" },
		"an index":           func(s *driver.Settings) { s.NIC.Params[0].Index = 1 },
		"a parameter twice":  func(s *driver.Settings) { s.NIC.Params = append(s.NIC.Params[:1:1], s.NIC.Params...) },
		"parameters upwards": func(s *driver.Settings) { slices.Reverse(s.NIC.Params) },
		"shares of 99 percent": func(s *driver.Settings) {
			s.NIC.Shares = []qos.ClassShare{{Class: 0, Percent: 49}, {Class: 1, Percent: 50}}
		},
		"shares of class 8": func(s *driver.Settings) { s.NIC.Shares = []qos.ClassShare{{Class: qos.MaxQueue + 1, Percent: 100}} },
		"a share twice": func(s *driver.Settings) {
			s.NIC.Shares = []qos.ClassShare{{Class: 1, Percent: 50}, {Class: 1, Percent: 50}}
		},
	}
	if d.Plane != driver.PlaneWRCC {
		return out
	}
	maps.Copy(out, map[string]func(*driver.Settings){
		"no senders' settings": func(s *driver.Settings) { s.NIC.WRCC = nil },
		"T1 0":                 func(s *driver.Settings) { s.NIC.WRCC.T1Us = 0 },
		"rate 0":               func(s *driver.Settings) { s.NIC.WRCC.MinRateMbps = 0 },
		"increase by guess":    func(s *driver.Settings) { s.NIC.WRCC.Increase = "guess" },
		"weight 0":             func(s *driver.Settings) { s.NIC.WRCC.Senders[0].Weight.Multiplier = 0 },
		"shift 16":             func(s *driver.Settings) { s.NIC.WRCC.Senders[0].Weight.Shift = 16 },
		"no name":              func(s *driver.Settings) { s.NIC.WRCC.Senders[0].Name = "" },
		"senders upwards":      func(s *driver.Settings) { slices.Reverse(s.NIC.WRCC.Senders) },
	})
	return out
}

// fakeNIC returns the capabilities of a Fake's NIC ports: DCQCN's registers.
func fakeNIC(d driver.Device) *driver.NICCapabilities {
	c := &driver.NICCapabilities{}
	for _, p := range nicDefaults(d).NIC.Params {
		c.Params = append(c.Params, p.Name)
	}
	c.Params, c.Shares = append(c.Params, driver.PercentParam, driver.SelectionParam), true
	slices.Sort(c.Params)
	if d.Plane == driver.PlaneWRCC {
		c.WRCC, c.Most = true, wrcc.MaxSenders
	}
	return c
}

// beyondFake rejects parameters that a Fake's NIC port does not have.
func beyondFake(d driver.Device, want driver.Settings) error {
	if want.NIC == nil {
		return nil
	}
	names := fakeNIC(d).Params
	for _, p := range want.NIC.Params {
		if !slices.Contains(names, p.Name) {
			return fmt.Errorf("%w: no parameter %s", driver.ErrUnsupported, p.Name)
		}
	}
	return nil
}

func nicFields(w *driver.NICState) []part {
	put := func(n int) func(*driver.Settings) {
		return func(s *driver.Settings) {
			wanted := w.Params[:n]
			if n == len(w.Params) {
				wanted = slices.Concat(wanted, w.Cleared(s.NIC), w.ShareParams())
			}
			for _, p := range wanted {
				i := slices.IndexFunc(s.NIC.Params, func(q driver.NICParam) bool { return q.Name == p.Name && q.Index == p.Index })
				if i < 0 {
					s.NIC.Params = append(s.NIC.Params, p)
				} else {
					s.NIC.Params[i].Value = p.Value
				}
			}
			s.NIC.Sort()
			if w.WRCC != nil && n == len(w.Params) {
				s.NIC.WRCC = w.WRCC.Clone()
			}
		}
	}
	return []part{{
		field:   "nic",
		differs: func(s driver.Settings) bool { return !(driver.Settings{NIC: w}).Equal(driver.Settings{NIC: s.NIC}) },
		put:     put(len(w.Params)),
		putSome: put(len(w.Params) / 2),
	}}
}
