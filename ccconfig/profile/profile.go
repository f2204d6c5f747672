// Package profile describes kinds of RoCE NICs for the compiler: their settings, their limits, and the response of bandwidth to
// the settings. A response is calibrated, by simulation or on hardware, and has the error measured on runs that were not part
// of the fit.
package profile

import (
	"fmt"

	"fairlane/ccconfig/dcqcn"
	"fairlane/internal/num"
	"fairlane/internal/quantity"
)

// Default is the profile of ports without a named profile.
const Default = "connectx-6"

// Scopes of one set of settings.
const (
	ScopePort = "port" // all traffic that the port sends
	ScopeVF   = "vf"   // one virtual function
)

// Format is the version of the JSON format of profiles; Decode accepts no other.
const Format = 1

// Profile describes one kind of device.
type Profile struct {
	Format         int                `json:"format"`
	Name           string             `json:"name"` // such as "connectx-6"
	Title          string             `json:"title"`
	Version        int                `json:"version"`         // of the calibration
	Made           string             `json:"made"`            // the command that generated it
	Scope          string             `json:"scope"`           // ScopePort or ScopeVF
	Speeds         []quantity.BitRate `json:"speeds_bps"`      // of its ports, ascending
	Rate32         bool               `json:"rate32"`          // has the 32-bit rate capability
	UndocumentedGD bool               `json:"undocumented_gd"` // RPG_GD may have values other than 10 and 11
	Base           dcqcn.Settings     `json:"base"`            // registers of managed ports; the lever changes some of them
	Lever          Lever              `json:"lever"`
	Marking        MarkingRule        `json:"marking"`
	Response       Response           `json:"response"`
	Bounds         []Bound            `json:"bounds"`    // by ratio, ascending
	Registers      []Effect           `json:"registers"` // effects of single registers, for display
	Cliffs         []Cliff            `json:"cliffs"`    // register values that the compiler avoids
}

// Bound is the error that 95 % of the rates of held-out runs did not exceed, for flows whose intended rate is at most Ratio
// times lower than that of the fastest flow at the link.
type Bound struct {
	Ratio float64 `json:"ratio"` // largest ratio of per-flow rates at a link
	Error float64 `json:"error"` // relative to a rate
}

// Effect is the measured effect on rates of one register, changed on half of the flows of a link.
type Effect struct {
	Register string  `json:"register"`
	Value    uint64  `json:"value"`
	Base     uint64  `json:"base"`  // on the other flows
	Ratio    float64 `json:"ratio"` // rate of a changed flow divided by that of an unchanged one
	Use      float64 `json:"use"`   // utilization of the link, 0 to 1
}

// Cliff is a range of a register that breaks the response.
type Cliff struct {
	Register string `json:"register"`
	From     uint64 `json:"from"`
	To       uint64 `json:"to"`
	Reason   string `json:"reason"`
}

// Limits returns the ranges of the device's registers.
func (p *Profile) Limits() dcqcn.Limits {
	return dcqcn.Limits{Rate32: p.Rate32, UndocumentedGD: p.UndocumentedGD}
}

// Bound returns the error bound of a flow's rate where the fastest flow at the link has an intended rate ratio times as high.
// The bound of a class of ratios applies at its middle; between the middles it is interpolated in proportion to ln(ratio).
// Beyond the last class it grows in proportion to the ratio.
func (p *Profile) Bound(ratio float64) float64 {
	from := 1.0 // lower end of the class
	x, at, bound := num.Ln(max(ratio, 1)), 0.0, p.Bounds[0].Error
	for _, b := range p.Bounds {
		middle := num.Ln(float64(from*b.Ratio)) / 2
		if x <= middle {
			return bound + float64((b.Error-bound)*((x-at)/(middle-at)))
		}
		from, at, bound = b.Ratio, middle, b.Error
	}
	return float64(bound * max(1, ratio/from))
}

// Avoids returns the cliff that contains a setting, if any.
func (p *Profile) Avoids(s *dcqcn.Settings) (Cliff, bool) {
	for _, r := range p.Limits().Registers() {
		v := r.Value(s)
		for _, c := range p.Cliffs {
			if c.Register == r.Name && v >= c.From && v <= c.To {
				return c, true
			}
		}
	}
	return Cliff{}, false
}

// Validate checks a profile from a file: names and sizes within limits, legal settings for the device, ascending axes, and
// gains that never rise with the position.
func (p *Profile) Validate() error {
	if err := checkFormat(p.Format); err != nil {
		return err
	}
	if len(p.Name) == 0 || len(p.Name) > maxName {
		return fmt.Errorf("name of %d bytes: want 1 to %d", len(p.Name), maxName)
	}
	if p.Scope != ScopePort && p.Scope != ScopeVF {
		return fmt.Errorf("scope %q: want %q or %q", p.Scope, ScopePort, ScopeVF)
	}
	if p.Version < 1 {
		return fmt.Errorf("version %d: want 1 or more", p.Version)
	}
	if len(p.Speeds) == 0 || len(p.Speeds) > maxAxis {
		return fmt.Errorf("%d speeds: want 1 to %d", len(p.Speeds), maxAxis)
	}
	if err := ascending("speeds_bps", p.Speeds, 1); err != nil {
		return err
	}
	if err := p.Base.Validate(p.Limits()); err != nil {
		return fmt.Errorf("base: %w", err)
	}
	for _, check := range []func() error{p.Lever.validate, p.Marking.validate, p.Response.validate, p.validateBounds, p.validateTables} {
		if err := check(); err != nil {
			return err
		}
	}
	if c, bad := p.Avoids(&p.Base); bad {
		return fmt.Errorf("base: %s is within the cliff from %d to %d", c.Register, c.From, c.To)
	}
	return nil
}

func checkFormat(v int) error {
	if v != Format {
		return fmt.Errorf("format %d: want %d", v, Format)
	}
	return nil
}

// Limits of a file's contents.
const (
	maxName   = 64
	maxAxis   = 64
	maxGains  = 1 << 16
	maxTables = 256
)

func (p *Profile) validateBounds() error {
	if len(p.Bounds) == 0 || len(p.Bounds) > maxAxis {
		return fmt.Errorf("%d bounds: want 1 to %d", len(p.Bounds), maxAxis)
	}
	last := 1.0
	for i, b := range p.Bounds {
		if !(b.Ratio > last && b.Ratio <= 1e6) || !(b.Error > 0 && b.Error <= 10) {
			return fmt.Errorf("bounds[%d]: ratio %g, error %g: want ratios that ascend from above 1 to 1e6, errors above 0 to 10", i, b.Ratio, b.Error)
		}
		last = b.Ratio
	}
	return nil
}

func (p *Profile) validateTables() error {
	if len(p.Registers) > maxTables || len(p.Cliffs) > maxTables {
		return fmt.Errorf("%d register effects, %d cliffs: want at most %d of each", len(p.Registers), len(p.Cliffs), maxTables)
	}
	known := map[string]bool{}
	for _, r := range p.Limits().Registers() {
		known[r.Name] = true
	}
	for i, e := range p.Registers {
		if !known[e.Register] || !(e.Ratio > 0 && e.Ratio < 1e6) || !(e.Use >= 0 && e.Use <= 1.01) {
			return fmt.Errorf("registers[%d]: %q, ratio %g, use %g: want a register of the device, a ratio above 0, a use of 0 to 1", i, e.Register, e.Ratio, e.Use)
		}
	}
	for i, c := range p.Cliffs {
		if !known[c.Register] || c.From > c.To || c.Reason == "" {
			return fmt.Errorf("cliffs[%d]: %q from %d to %d: want a register of the device, from at most to, and a reason", i, c.Register, c.From, c.To)
		}
	}
	return nil
}

// ascending checks an axis.
func ascending[T quantity.BitRate | int | uint32 | float64](name string, axis []T, least T) error {
	for i, v := range axis {
		if i == 0 && !(v >= least) || i > 0 && !(v > axis[i-1]) {
			return fmt.Errorf("%s[%d] %v: want values that ascend from %v or more", name, i, v, least)
		}
	}
	return nil
}
