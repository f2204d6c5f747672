package wrcc

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"fairlane/internal/quantity"
)

// Limits of a switch's configuration in addition to those of Params: the widths of its tables' keys and values.
const (
	NumClasses    = 8         // traffic classes of a port, 3 bits
	MaxMultiplier = 1<<16 - 1 // of a class weight
	MaxShift      = 15        // of a class weight
	MaxTargetMbps = uint32(quantity.MaxBitRate / quantity.Mbps)
)

// SwitchConfig is the complete WRCC configuration of a switch, in the units of its tables. Each list is sorted by its keys,
// without duplicates. A port without an entry in Ports computes no fair rate and limits no flow; a class without an entry in
// Weights has weight 1; a port without an entry in Domains belongs to no data centre and sends no FCNP.
type SwitchConfig struct {
	Ports   []PortConfig  `json:"ports"`             // by port
	Weights []ClassWeight `json:"weights,omitempty"` // by port, then class
	Domains []PortDomain  `json:"domains,omitempty"` // by port
}

// PortConfig is the table entry of one egress port's Params. It does not contain Lambda: that is DefaultLambda, which S0 fixes
// and a data plane has built in.
type PortConfig struct {
	Port         uint16 `json:"port"`           // 1 and up
	FminMbps     uint32 `json:"f_min_mbps"`     // Mbit/s, 1 to 4294967295
	FmaxMbps     uint32 `json:"f_max_mbps"`     // Mbit/s, at least FminMbps
	TargetMbps   uint32 `json:"b_tar_mbps"`     // Mbit/s, 1 to 100000000
	PeriodUs     uint16 `json:"wrcct_us"`       // microseconds, 1 to 65535, the same for all ports of a switch
	RateRatioPct uint16 `json:"rate_ratio_pct"` // RateRatioMax, percent, 100 to 200
	QRatioPct    uint16 `json:"q_ratio_pct"`    // QRatioMax, percent, 10 to 60
}

// ClassWeight makes the fair rate of a class Multiplier/2^Shift times that of its port, for switches that apply class weights
// themselves: a data plane can multiply and shift, but not divide.
type ClassWeight struct {
	Port       uint16 `json:"port"`
	Class      uint8  `json:"class"`      // 0 to 7
	Multiplier uint16 `json:"multiplier"` // 1 to 65535
	Shift      uint8  `json:"shift"`      // 0 to 15
}

// PortDomain assigns a port to a data centre, on its inner or outer side.
type PortDomain struct {
	Port   uint16 `json:"port"`
	Domain uint16 `json:"domain"` // domain ID of S0's INT header
	WAN    bool   `json:"wan"`    // faces the network between data centres
}

// NewPortConfig converts the settings of a port to table values. It returns an error, with the name of the value, for a value
// out of range or not a whole number of its unit, and for a Lambda other than DefaultLambda.
func NewPortConfig(port uint16, p Params) (PortConfig, error) {
	if err := p.Validate(); err != nil {
		return PortConfig{}, fmt.Errorf("port %d: %w", port, err)
	}
	c := PortConfig{
		Port: port, FminMbps: uint32(p.Fmin / quantity.Mbps), FmaxMbps: uint32(p.Fmax / quantity.Mbps),
		TargetMbps: uint32(p.Target / quantity.Mbps), PeriodUs: uint16(p.Period / quantity.Microsecond),
		RateRatioPct: uint16(p.RateRatioPct), QRatioPct: uint16(p.QRatioPct),
	}
	if p.Lambda != DefaultLambda {
		return PortConfig{}, fmt.Errorf("port %d: weight of a period in the average RTT %v: want %v, which switches build in", port, p.Lambda, DefaultLambda)
	}
	if back := c.Params(); back != p {
		return PortConfig{}, fmt.Errorf("port %d: rates %s, %s and %s, period %s: want rates in whole Mbit/s up to %s and whole microseconds",
			port, p.Fmin, p.Fmax, p.Target, p.Period, MaxFairRate)
	}
	return c, c.validate(fmt.Sprintf("port %d: ", port))
}

// Params returns the settings of the table values.
func (c PortConfig) Params() Params {
	return Params{
		Fmin: quantity.BitRate(c.FminMbps) * quantity.Mbps, Fmax: quantity.BitRate(c.FmaxMbps) * quantity.Mbps,
		Target: quantity.BitRate(c.TargetMbps) * quantity.Mbps, Period: quantity.Picoseconds(c.PeriodUs) * quantity.Microsecond,
		RateRatioPct: int(c.RateRatioPct), QRatioPct: int(c.QRatioPct), Lambda: DefaultLambda,
	}
}

// NewClassWeight returns the table value nearest to a weight, as NewFixedWeight does.
func NewClassWeight(port uint16, class uint8, weight float64) (ClassWeight, error) {
	f, err := NewFixedWeight(weight)
	if err != nil {
		return ClassWeight{}, fmt.Errorf("port %d: class %d: %w", port, class, err)
	}
	w := ClassWeight{Port: port, Class: class, Multiplier: f.Multiplier, Shift: f.Shift}
	return w, w.validate(fmt.Sprintf("port %d: ", port))
}

// Weight returns the weight of the table value.
func (w ClassWeight) Weight() float64 { return math.Ldexp(float64(w.Multiplier), -int(w.Shift)) }

// Apply returns the class's fair rate for a port's, Mbit/s: at least 1, at most a header's maximum.
func (w ClassWeight) Apply(mbps uint32) uint32 {
	return uint32(min(max(uint64(mbps)*uint64(w.Multiplier)>>w.Shift, 1), math.MaxUint32))
}

// Entry is an entry of one of the lists of a SwitchConfig.
type Entry interface {
	comparable
	Key() uint32  // orders the list
	Name() string // the key for display: the port, or port/class
}

// Key returns the sort key: the port.
func (c PortConfig) Key() uint32 { return uint32(c.Port) }

// Key returns the sort key: port and class.
func (w ClassWeight) Key() uint32 { return uint32(w.Port)<<3 | uint32(w.Class) }

// Key returns the sort key: the port.
func (d PortDomain) Key() uint32 { return uint32(d.Port) }

// Name returns the port.
func (c PortConfig) Name() string { return fmt.Sprint(c.Port) }

// Name returns port/class.
func (w ClassWeight) Name() string { return fmt.Sprintf("%d/%d", w.Port, w.Class) }

// Name returns the port.
func (d PortDomain) Name() string { return fmt.Sprint(d.Port) }

func byKey[E Entry](a, b E) int { return cmp.Compare(a.Key(), b.Key()) }

// Merge walks two lists in the order of their keys and calls f for each key with the entries of both; a missing entry is nil.
func Merge[E Entry](a, b []E, f func(a, b *E)) { MergeBy(a, b, byKey, f) }

// MergeBy is Merge for lists with a different order.
func MergeBy[E any](a, b []E, compare func(a, b E) int, f func(a, b *E)) {
	for len(a) > 0 || len(b) > 0 {
		switch {
		case len(b) == 0 || len(a) > 0 && compare(a[0], b[0]) < 0:
			f(&a[0], nil)
			a = a[1:]
		case len(a) == 0 || compare(b[0], a[0]) < 0:
			f(nil, &b[0])
			b = b[1:]
		default:
			f(&a[0], &b[0])
			a, b = a[1:], b[1:]
		}
	}
}

// ValidateRanges checks every value of c against its own range, keys against the number of ports, and the order of the entries.
// A configuration to be written must also pass Validate.
func (c *SwitchConfig) ValidateRanges(ports int) error {
	return errors.Join(
		validateList("ports", c.Ports, ports, func(p PortConfig) uint16 { return p.Port }, PortConfig.validate),
		validateList("weights", c.Weights, ports, func(w ClassWeight) uint16 { return w.Port }, ClassWeight.validate),
		validateList("domains", c.Domains, ports, func(d PortDomain) uint16 { return d.Port }, func(PortDomain, string) error { return nil }),
	)
}

// Validate checks ValidateRanges and consistency: no minimum above its maximum, one sampling period for the whole switch, and
// no class weight or data centre for a port without a fair rate.
func (c *SwitchConfig) Validate(ports int) error {
	if err := c.ValidateRanges(ports); err != nil {
		return err
	}
	has := make(map[uint16]bool, len(c.Ports))
	for i, p := range c.Ports {
		has[p.Port] = true
		if p.FmaxMbps < p.FminMbps {
			return fmt.Errorf("ports[%d].f_max_mbps: found %d, want at least f_min_mbps, %d", i, p.FmaxMbps, p.FminMbps)
		}
		if first := c.Ports[0]; p.PeriodUs != first.PeriodUs {
			return fmt.Errorf("ports[%d].wrcct_us: found %d, want %d as of port %d: a switch has one sampling period", i, p.PeriodUs, first.PeriodUs, first.Port)
		}
	}
	for i, w := range c.Weights {
		if !has[w.Port] {
			return fmt.Errorf("weights[%d].port: found %d, want a port with a fair rate", i, w.Port)
		}
	}
	for i, d := range c.Domains {
		if !has[d.Port] {
			return fmt.Errorf("domains[%d].port: found %d, want a port with a fair rate", i, d.Port)
		}
	}
	return nil
}

func validateList[E Entry](name string, list []E, ports int, portOf func(E) uint16, check func(E, string) error) error {
	for i, e := range list {
		at := fmt.Sprintf("%s[%d].", name, i)
		port := portOf(e)
		if port < 1 || int(port) > ports {
			return fmt.Errorf("%sport: found %d, want 1 to %d", at, port, ports)
		}
		if i > 0 && byKey(list[i-1], e) >= 0 {
			return fmt.Errorf("%sport: found %d, want entries in the order of their keys, each once", at, port)
		}
		if err := check(e, at); err != nil {
			return err
		}
	}
	return nil
}

func (c PortConfig) validate(at string) error {
	return errors.Join(
		numberInRange(at+"f_min_mbps", c.FminMbps, 1, math.MaxUint32),
		numberInRange(at+"f_max_mbps", c.FmaxMbps, 1, math.MaxUint32),
		numberInRange(at+"b_tar_mbps", c.TargetMbps, 1, MaxTargetMbps),
		numberInRange(at+"wrcct_us", c.PeriodUs, 1, math.MaxUint16),
		numberInRange(at+"rate_ratio_pct", c.RateRatioPct, MinRateRatioPct, MaxRateRatioPct),
		numberInRange(at+"q_ratio_pct", c.QRatioPct, MinQRatioPct, MaxQRatioPct),
	)
}

func (w ClassWeight) validate(at string) error {
	return errors.Join(
		numberInRange(at+"class", w.Class, 0, NumClasses-1),
		numberInRange(at+"multiplier", w.Multiplier, 1, MaxMultiplier),
		numberInRange(at+"shift", w.Shift, 0, MaxShift),
	)
}

func numberInRange[T uint8 | uint16 | uint32](field string, v, lo, hi T) error {
	if v < lo || v > hi {
		return fmt.Errorf("%s: found %d, want %d to %d", field, v, lo, hi)
	}
	return nil
}

// Sort sorts the entries by their keys.
func (c *SwitchConfig) Sort() {
	slices.SortFunc(c.Ports, byKey)
	slices.SortFunc(c.Weights, byKey)
	slices.SortFunc(c.Domains, byKey)
}

// Clone returns a copy that shares no memory with c.
func (c *SwitchConfig) Clone() *SwitchConfig {
	return &SwitchConfig{Ports: slices.Clone(c.Ports), Weights: slices.Clone(c.Weights), Domains: slices.Clone(c.Domains)}
}

// Equal reports whether both hold the same entries.
func (c *SwitchConfig) Equal(d *SwitchConfig) bool {
	return slices.Equal(c.Ports, d.Ports) && slices.Equal(c.Weights, d.Weights) && slices.Equal(c.Domains, d.Domains)
}

// PortConfig returns the entry of a port; false if there is none.
func (c *SwitchConfig) PortConfig(port uint16) (PortConfig, bool) {
	i, ok := slices.BinarySearchFunc(c.Ports, PortConfig{Port: port}, byKey)
	if !ok {
		return PortConfig{}, false
	}
	return c.Ports[i], true
}
