// Package nicparam is the table of the parameters of RoCE NICs, for all back ends: the canonical name of each parameter, its
// scope, type, unit, range and default, its back ends, and the side effects of a write.
//
// Numbers and ranges of the reaction point and the notification point are those of ccconfig/dcqcn. Back ends and register
// widths follow the kernel's mlx5 driver (debugfs), the vendor's driver (sysfs), mstflint's firmware configuration database
// (non-volatile) and the kernel's DCB, configfs and devlink interfaces. Nothing here has been tested on hardware.
package nicparam

import (
	"strconv"
	"strings"
)

// Group is a group of related parameters.
type Group string

// Groups.
const (
	GroupRP       Group = "rp"        // reaction point: the sender
	GroupNP       Group = "np"        // notification point: the receiver
	GroupRTT      Group = "rtt"       // responses to RTT probes, for programmable congestion control
	GroupEnable   Group = "cc_enable" // enabling congestion control
	GroupFirmware Group = "firmware"  // the firmware's mode of congestion control
	GroupQoS      Group = "qos"       // priorities, traffic classes, pause, buffers
	GroupToS      Group = "tos"       // default marking of RoCE traffic
	GroupBnxt     Group = "bnxt"      // congestion control of Broadcom NICs
	GroupShare    Group = "share"     // shares of virtual functions
)

// Scope is the kind of object that has one value of a parameter.
type Scope string

// Scopes. The Index of a Key counts the objects within a port, from 0.
const (
	ScopeDevice     Scope = "device"      // the card: all its ports
	ScopePort       Scope = "port"        // one port: all functions and queue pairs on it
	ScopePriority   Scope = "priority"    // 802.1p priority of a port
	ScopeTC         Scope = "tc"          // traffic class of a port
	ScopeDSCP       Scope = "dscp"        // DSCP of a port
	ScopeBuffer     Scope = "buffer"      // receive buffer of a port
	ScopeFunction   Scope = "function"    // virtual function of a port
	ScopeFunctionTC Scope = "function_tc" // traffic class of a virtual function: function * 8 + class
)

// MaxFunctions is the number of virtual functions in the index range of a port.
const MaxFunctions = 4096

const classes = 8 // priorities, traffic classes, buffers of a port

// Size returns the number of indices of a scope.
func (s Scope) Size() int {
	switch s {
	case ScopePriority, ScopeTC, ScopeBuffer:
		return classes
	case ScopeDSCP:
		return 64
	case ScopeFunction:
		return MaxFunctions
	case ScopeFunctionTC:
		return MaxFunctions * classes
	}
	return 1
}

// Kind is the type of a parameter.
type Kind string

// Kinds.
const (
	Bool Kind = "bool" // 0 or 1
	Uint Kind = "uint" // Min to Max
	Enum Kind = "enum" // one of Values
)

// Backend is an interface for access to a parameter.
type Backend string

// Backends.
const (
	Debugfs  Backend = "debugfs"  // kernel's mlx5 driver, cc_params of a port
	Sysfs    Backend = "sysfs"    // vendor's driver, directory ecn of a network device
	NV       Backend = "nv"       // non-volatile configuration, by mstconfig
	DCB      Backend = "dcb"      // DCB netlink
	Configfs Backend = "configfs" // rdma_cm
	Devlink  Backend = "devlink"  // rates of port functions, in switchdev mode
	Link     Backend = "link"     // rates of virtual functions by route netlink, in legacy mode
	Bnxt     Backend = "bnxt"     // Broadcom's driver, congestion control in configfs
	DMS      Backend = "dms"      // the vendor's own management service (gNMI)
)

// Persistence is the lifetime of a value.
type Persistence string

// Persistences.
const (
	Runtime     Persistence = "runtime"      // until a driver reload, a firmware reset or a reboot of the host
	NonVolatile Persistence = "non_volatile" // permanent
)

// Persistence returns the lifetime of values written by the back end.
func (b Backend) Persistence() Persistence {
	if b == NV {
		return NonVolatile
	}
	return Runtime
}

// Cost is the requirement or impact of a write before it takes effect.
type Cost string

// Costs.
const (
	CostLive       Cost = "live"       // takes effect immediately
	CostDisruptive Cost = "disruptive" // takes effect immediately, and may drop or pause traffic of the port
	CostReset      Cost = "reset"      // takes effect after a firmware reset or a reboot
)

// Capability is a device capability that a parameter requires.
type Capability string

// Capabilities.
const (
	NeedsNothing   Capability = ""
	NeedsGeneralCC Capability = "general_cc"  // general congestion-control capability
	NeedsNewNV     Capability = "nv_2026"     // non-volatile names of newer firmware
	NeedsVFRates   Capability = "vf_rates"    // rates of virtual functions, in legacy or in switchdev mode
	NeedsSwitchdev Capability = "switchdev"   // e-switch in switchdev mode
	NeedsBnxt      Capability = "bnxt_cc"     // congestion control of Broadcom NICs
	NeedsTCRates   Capability = "devlink_tcs" // devlink rates by traffic class
)

// Effect is a side effect of a write: a parameter at the same port and index gets a value.
type Effect struct {
	Name  string
	Value uint64
}

// Source describes the access to a parameter by one back end.
type Source struct {
	Backend Backend
	// Name is the file below cc_params (Debugfs) or ecn (Sysfs), where "<index>" is replaced by the index; the name without _Pn
	// (NV); the attribute (DCB, Devlink, Link); the file (Configfs); the path below an interface (DMS).
	Name     string
	Bits     uint8    // width of the register
	WideBits uint8    // width with the 32-bit rate capability
	Atomic   string   // parameters of one port with the same Atomic are written in one operation; empty means this one alone
	Also     []Effect // side effects of a write
}

// Width returns the register width on a device, in bits.
func (s *Source) Width(c Caps) uint8 {
	if c.Rate32 {
		return s.WideBits
	}
	return s.Bits
}

// Most returns the largest value of the register on a device.
func (s *Source) Most(c Caps) uint64 {
	return 1<<s.Width(c) - 1
}

// Value is one value of an Enum.
type Value struct {
	Number uint64
	Name   string
}

// Param is one row of the table.
type Param struct {
	Name        string
	Group       Group
	Scope       Scope
	Kind        Kind
	Unit        string // empty for a plain number
	Min, Max    uint64 // inclusive
	Values      []Value
	Default     uint64 // factory default, if Known
	Known       bool   // whether the default is published
	Needs       Capability
	Disruptive  bool // a write may drop or pause traffic of the port
	Description string
	Sources     []Source
}

// Source returns the access by a back end.
func (p *Param) Source(b Backend) (Source, bool) {
	for _, s := range p.Sources {
		if s.Backend == b {
			return s, true
		}
	}
	return Source{}, false
}

// Cost returns the cost of a write by a back end.
func (p *Param) Cost(b Backend) Cost {
	switch {
	case b == NV:
		return CostReset
	case p.Disruptive:
		return CostDisruptive
	}
	return CostLive
}

// Allowed formats the legal values for display, such as "1..131071" or "strict(0), cbs(1), ets(2) or vendor(255)".
func (p *Param) Allowed() string {
	if p.Kind != Enum {
		return strconv.FormatUint(p.Min, 10) + ".." + strconv.FormatUint(p.Max, 10)
	}
	words := make([]string, len(p.Values))
	for i, v := range p.Values {
		words[i] = v.Name + "(" + strconv.FormatUint(v.Number, 10) + ")"
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// Legal reports whether a value is legal for the parameter.
func (p *Param) Legal(v uint64) bool {
	if p.Kind != Enum {
		return v >= p.Min && v <= p.Max
	}
	for _, e := range p.Values {
		if e.Number == v {
			return true
		}
	}
	return false
}

// Parse parses a value in the forms of files and tools: a decimal or, with 0x, hexadecimal number, true or false for a Bool,
// the name of an Enum's value, and a name followed by its number, such as "True(1)" or "DEVICE_DEFAULT(0)", where the number
// counts. It does not check the range.
func (p *Param) Parse(text string) (uint64, error) {
	word := strings.TrimSpace(text)
	if open := strings.IndexByte(word, '('); open > 0 && strings.HasSuffix(word, ")") {
		word = word[open+1 : len(word)-1]
	}
	if v, err := strconv.ParseUint(word, 0, 64); err == nil && !strings.ContainsRune(word, '_') {
		return v, nil
	}
	switch {
	case p.Kind == Bool && strings.EqualFold(word, "true"):
		return 1, nil
	case p.Kind == Bool && strings.EqualFold(word, "false"):
		return 0, nil
	}
	for _, v := range p.Values {
		if strings.EqualFold(word, v.Name) {
			return v.Number, nil
		}
	}
	return 0, &ValueError{Key: Key{Name: p.Name}, Found: strconv.Quote(Clip(text)), Allowed: p.Allowed()}
}

// Clip truncates input in an error text to 64 bytes.
func Clip(s string) string {
	const most = 64
	if len(s) > most {
		return s[:most] + "…"
	}
	return s
}

// OfDCQCN reports whether the parameter is one of DCQCN: under another congestion-control algorithm it has no meaning.
func (p *Param) OfDCQCN() bool {
	return p.Group == GroupRP || p.Group == GroupNP || p.Group == GroupEnable
}

// Holds reports whether a value fits the register of a back end. A device may hold values that Legal does not allow, such as an
// undocumented RPG_GD.
func (p *Param) Holds(b Backend, v uint64, c Caps) bool {
	s, ok := p.Source(b)
	return ok && v <= s.Most(c)
}
