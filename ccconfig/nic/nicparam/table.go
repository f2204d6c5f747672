package nicparam

import (
	"strings"

	"fairlane/ccconfig/dcqcn"
)

// Caps are the capabilities of a device.
type Caps struct {
	dcqcn.Limits
	GeneralCC bool // general congestion-control capability: RTT responses
	NewNV     bool // non-volatile names of newer firmware
	VFRates   bool // rates of virtual functions in legacy mode
	Switchdev bool // e-switch in switchdev mode
	Bnxt      bool // congestion control of Broadcom NICs
	TCRates   bool // devlink rates by traffic class
}

// Has reports whether a device has a capability.
func (c Caps) Has(n Capability) bool {
	switch n {
	case NeedsNothing:
		return true
	case NeedsGeneralCC:
		return c.GeneralCC
	case NeedsNewNV:
		return c.NewNV
	case NeedsVFRates:
		return c.VFRates || c.Switchdev
	case NeedsSwitchdev:
		return c.Switchdev
	case NeedsBnxt:
		return c.Bnxt
	case NeedsTCRates:
		return c.Switchdev && c.TCRates
	}
	return false
}

// Table holds the parameters of a kind of device.
type Table struct {
	caps   Caps
	params []Param
	byName map[string]int
	byNV   map[string]int
}

// New returns the table of devices with these capabilities. It holds every parameter; Check rejects those that the device
// lacks.
func New(c Caps) *Table {
	t := &Table{caps: c, byName: map[string]int{}, byNV: map[string]int{}}
	for _, rows := range [][]Param{congestion(c.Limits), notification(), firmware(), qos(), share(), broadcom()} {
		t.params = append(t.params, rows...)
	}
	for i := range t.params {
		t.byName[t.params[i].Name] = i
		if s, ok := t.params[i].Source(NV); ok {
			if _, twice := t.byNV[s.Name]; !twice { // a firmware name refers to the first row
				t.byNV[s.Name] = i
			}
		}
	}
	return t
}

// Caps returns the capabilities of the table.
func (t *Table) Caps() Caps { return t.caps }

// Params returns the rows, in a fixed order. The caller must not change the slice.
func (t *Table) Params() []Param { return t.params }

// Find returns a row by its canonical name.
func (t *Table) Find(name string) (*Param, bool) {
	i, ok := t.byName[name]
	if !ok {
		return nil, false
	}
	return &t.params[i], true
}

// By returns the rows that a back end supports and the device has, in the table's order.
func (t *Table) By(b Backend) []*Param {
	var out []*Param
	for i := range t.params {
		p := &t.params[i]
		if _, ok := p.Source(b); ok && t.caps.Has(p.Needs) {
			out = append(out, p)
		}
	}
	return out
}

// ByNV returns the row for a non-volatile name without its _Pn.
func (t *Table) ByNV(name string) (*Param, bool) {
	i, ok := t.byNV[name]
	if !ok {
		return nil, false
	}
	return &t.params[i], true
}

// register holds the properties of a register that dcqcn does not define.
type register struct {
	name        string // as in dcqcn and the vendor's driver; in upper case, as in the firmware configuration
	debugfs     string
	bits        uint8 // width of the non-volatile field (firmware configuration database of mstflint 4.21)
	wide        uint8 // width with the 32-bit rate capability (the 2026 database)
	description string
}

// registers returns the reaction point's registers, and the notification point's register that DCQCN uses.
func registers() []register {
	return []register{
		{"clamp_tgt_rate", "rp_clamp_tgt_rate", 1, 1, "every processed notification pulls the target rate down to the current rate"},
		{"clamp_tgt_rate_after_time_inc", "rp_clamp_tgt_rate_ati", 1, 1, "a notification pulls the target rate down even if the timer caused the last increase"},
		{"rpg_time_reset", "rp_time_reset", 17, 17, "time between increases without a notification"},
		{"rpg_byte_reset", "rp_byte_reset", 15, 32, "data between increases without a notification; 0 is off"},
		{"rpg_threshold", "rp_threshold", 5, 5, "increases before additive and hyper increase"},
		{"rpg_max_rate", "rp_max_rate", 32, 32, "rate at which a flow's limiter is released; 0 is the port's speed"},
		{"rpg_ai_rate", "rp_ai_rate", 17, 32, "step of additive increase"},
		{"rpg_hai_rate", "rp_hai_rate", 17, 32, "step of hyper increase"},
		{"rpg_gd", "rp_gd", 4, 4, "strength of a cut: alpha divided by 2 to this power"},
		{"rpg_min_dec_fac", "rp_min_dec_fac", 8, 8, "minimum ratio of the new rate to the old rate in one cut"},
		{"rpg_min_rate", "rp_min_rate", 17, 32, "minimum rate of a flow"},
		{"rate_to_set_on_first_cnp", "rp_rate_to_set_on_first_cnp", 17, 32, "rate at the first notification; 0 is the port's speed"},
		{"dce_tcp_g", "rp_dce_tcp_g", 10, 10, "retained part of alpha"},
		{"dce_tcp_rtt", "rp_dce_tcp_rtt", 17, 17, "update period of alpha"},
		{"rate_reduce_monitor_period", "rp_rate_reduce_monitor_period", 17, 17, "minimum time between two cuts of a flow"},
		{"initial_alpha_value", "rp_initial_alpha_value", 10, 10, "alpha at the first notification"},
		{"min_time_between_cnps", "np_min_time_between_cnps", 17, 17, "minimum gap between notifications"},
	}
}

// congestion returns the rows of dcqcn's registers, with their ranges, units and defaults from dcqcn.
func congestion(l dcqcn.Limits) []Param {
	def := dcqcn.Default()
	named := map[string]register{}
	for _, w := range registers() {
		named[w.name] = w
	}
	var out []Param
	for _, r := range l.Registers() {
		w := named[r.Name]
		p := Param{Name: r.Name, Group: GroupRP, Scope: ScopePort, Kind: Uint, Unit: r.Unit, Min: r.Min, Max: r.Max,
			Default: r.Value(&def), Known: true, Description: w.description}
		directory := "roce_rp/"
		if strings.HasPrefix(w.debugfs, "np_") {
			p.Group, directory = GroupNP, "roce_np/"
		}
		if r.Min == 0 && r.Max == 1 {
			p.Kind = Bool
		}
		p.Sources = []Source{
			runtimeSource(Sysfs, directory+r.Name),
			runtimeSource(Debugfs, w.debugfs),
			nvSource(strings.ToUpper(r.Name), w.bits, w.wide),
		}
		out = append(out, p)
	}
	return out
}

// runtimeSource returns a source by the run-time command, whose fields are 32 bits wide. The table's ranges are narrower.
func runtimeSource(b Backend, name string, also ...Effect) Source {
	return Source{Backend: b, Name: name, Bits: 32, WideBits: 32, Also: also}
}

// nvAtomic groups non-volatile parameters: one command of mstconfig sets any number of them.
const nvAtomic = "mstconfig"

func nvSource(name string, bits, wide uint8) Source {
	return Source{Backend: NV, Name: name, Bits: bits, WideBits: wide, Atomic: nvAtomic}
}
