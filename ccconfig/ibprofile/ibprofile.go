// Package ibprofile describes models of InfiniBand devices: properties that IBTA vol. 1, annex A10 leaves to the vendor, and
// deviations from the annex. It holds only properties that affect a plan, a prediction or an exchange with the device. It is
// pure.
package ibprofile

import (
	"path"
	"slices"

	"fairlane/ccconfig/ibcc"
	"fairlane/internal/quantity"
	"fairlane/subnet"
)

// Kind is the kind of device that a profile describes.
type Kind string

// Kinds.
const (
	Adapter Kind = "adapter" // a channel-adapter port: the reaction point
	Switch  Kind = "switch"  // the congestion point
)

// Basis is the kind of evidence for a profile.
type Basis string

// Bases.
const (
	Standard Basis = "standard" // the text of the annex, where it is unambiguous
	Source   Basis = "source"   // the source code of a driver or tool
	Measured Basis = "measured" // measurements on devices
	Assumed  Basis = "assumed"  // no better source
)

// Profile describes one device model.
type Profile struct {
	Name   string
	Title  string
	Kind   Kind
	Basis  Basis
	Origin string // clause, file or measurement that Basis refers to
	// Assumptions are the profile's assumptions, one sentence each.
	Assumptions []string
	Adapter     AdapterModel // only for an adapter
	Switch      SwitchModel  // only for a switch
	Layout      Layout
}

// AdapterModel holds the properties that differ between channel adapters. The tags are the keys in files.
type AdapterModel struct {
	TableEntries  int                  `json:"table_entries"`  // entries of the congestion control table, 16 to ibcc.MaxTableEntries (ControlTableCap x 64)
	MaxShift      uint8                `json:"max_shift"`      // largest supported CCT shift, 0 to 3
	MaxMultiplier uint16               `json:"max_multiplier"` // largest CCT multiplier, 1 to 16383
	TimerUnit     quantity.Picoseconds // of CCTI_Timer, 1 ns to 1 ms
	MaxTimer      uint16               `json:"max_timer"`     // largest CCTI_Timer, 1 to 65535
	TimerRestart  bool                 `json:"timer_restart"` // every BECN restarts CCTI_Timer; otherwise it is free-running
	MaxIncrease   uint8                `json:"max_increase"`  // largest CCTI_Increase, 1 to 255
	PerQP, PerSL  bool                 // supported modes of Port_Control
}

// SwitchModel holds the properties that differ between switches. The tags are the keys in files.
type SwitchModel struct {
	// Thresholds are the queue lengths of one output port and VL, in bytes, above which each threshold code marks. Code 0 never
	// marks; the values do not rise with the code.
	Thresholds     [ibcc.MaxThreshold + 1]int
	QueueBytes     int    `json:"queue_bytes"`      // buffer of one port and VL; a plan keeps a quarter of it free
	MinMarkingRate uint16 `json:"min_marking_rate"` // mean packets per mark, 1 to 65535
	MaxMarkingRate uint16 `json:"max_marking_rate"`
	MaxPacketSize  uint8  `json:"max_packet_size"` // largest Packet_Size, unit 64 bytes; 0 means that the device marks packets of every size
	PortMarking    bool   `json:"port_marking"`    // supports SwitchPortCongestionSetting
}

// Layout selects the disputed wire layouts in which a model deviates from the annex; mad.CCLayout describes them.
type Layout struct {
	LibibmadLog, WidePorts, PackedCA bool
}

// LayoutNames returns the names of layouts in files and settings.
func LayoutNames() []string { return []string{"libibmad-log", "wide-ports", "packed-ca"} }

// Add sets the layout with a name; false for an unknown name.
func (l *Layout) Add(name string) bool {
	switch name {
	case "libibmad-log":
		l.LibibmadLog = true
	case "wide-ports":
		l.WidePorts = true
	case "packed-ca":
		l.PackedCA = true
	default:
		return false
	}
	return true
}

// Names returns the names of the layouts that are set, in the order of LayoutNames.
func (l Layout) Names() []string {
	out := []string{}
	for i, on := range []bool{l.LibibmadLog, l.WidePorts, l.PackedCA} {
		if on {
			out = append(out, LayoutNames()[i])
		}
	}
	return out
}

// Entry returns the model's entry nearest to e, or its longest delay if e is longer.
func (a *AdapterModel) Entry(e ibcc.Entry) ibcc.Entry { return a.encode(e.Eighths(), false) }

// EntryUp returns the model's shortest delay that is not below e, or its longest delay if e is longer.
func (a *AdapterModel) EntryUp(e ibcc.Entry) ibcc.Entry { return a.encode(e.Eighths(), true) }

func (a *AdapterModel) encode(eighths uint32, up bool) ibcc.Entry {
	for shift := int(a.MaxShift); shift >= 0; shift-- {
		unit := uint32(1) << (ibcc.MaxShift - shift) // eighths in one unit of the multiplier
		round := unit / 2
		if up {
			round = unit - 1
		}
		if m := (eighths + round) / unit; m <= uint32(a.MaxMultiplier) {
			if m == 0 {
				return ibcc.Entry{}
			}
			return ibcc.Entry{Shift: uint8(shift), Multiplier: uint16(m)}
		}
	}
	return ibcc.Entry{Multiplier: a.MaxMultiplier}
}

// Code returns the threshold code with the smallest queue of at least depth bytes, or the code with the largest queue if there
// is none.
func (s *SwitchModel) Code(depth int) uint8 {
	code := uint8(1)
	for c := 1; c < len(s.Thresholds); c++ {
		if s.Thresholds[c] >= depth {
			code = uint8(c)
		}
	}
	return code
}

// Marking returns the model's Marking_Rate nearest to a mean of every packets per mark.
func (s *SwitchModel) Marking(every int) uint16 {
	return uint16(min(max(every, int(s.MinMarkingRate)), int(s.MaxMarkingRate)))
}

// Linear returns thresholds that divide a queue of q bytes evenly: code c marks above q·(16-c)/16.
func Linear(q int) (out [ibcc.MaxThreshold + 1]int) {
	for c := 1; c < len(out); c++ {
		out[c] = q * (len(out) - c) / len(out)
	}
	return out
}

// Identity holds the properties of a device from discovery that select its profile.
type Identity struct {
	Kind     Kind
	VendorID uint32 // from NodeInfo, 24 bits
	DeviceID uint16 // from NodeInfo
	Name     string // NodeDescription
}

// IdentityOf returns the identity of a fabric's node.
func IdentityOf(n *subnet.Node) Identity {
	id := Identity{Kind: Adapter, VendorID: n.VendorID, DeviceID: n.DeviceID, Name: n.Name}
	if n.Kind == subnet.KindSwitch {
		id.Kind = Switch
	}
	return id
}

// Rule assigns a profile to devices. Empty fields match every device.
type Rule struct {
	Profile   string
	VendorID  uint32   // 0 matches any
	DeviceIDs []uint16 // empty matches any
	Name      string   // pattern of path.Match for the node's name; empty matches any
}

// fits reports whether the rule matches a device of the rule's kind.
func (r *Rule) fits(id *Identity) bool {
	if r.VendorID != 0 && r.VendorID != id.VendorID || len(r.DeviceIDs) > 0 && !slices.Contains(r.DeviceIDs, id.DeviceID) {
		return false
	}
	if r.Name == "" {
		return true
	}
	ok, err := path.Match(r.Name, id.Name)
	return err == nil && ok
}

// Set holds profiles and the rules that select one for a device. A nil Set has the built-in ones only. It is immutable, so it
// is safe for concurrent use.
type Set struct {
	own   []Profile
	rules []Rule
}

// Profiles returns the site's own profiles, then the built-in ones.
func (s *Set) Profiles() []Profile {
	if s == nil {
		return builtin()
	}
	return slices.Concat(s.own, builtin())
}

// Rules returns the rules in the order of evaluation: the site's own, then the built-in ones.
func (s *Set) Rules() []Rule {
	if s == nil {
		return builtinRules()
	}
	return slices.Concat(s.rules, builtinRules())
}

// Lookup returns the profile with a name; false if there is none.
func (s *Set) Lookup(name string) (Profile, bool) {
	all := s.Profiles()
	i := slices.IndexFunc(all, func(p Profile) bool { return p.Name == name })
	if i < 0 {
		return Profile{}, false
	}
	return all[i], true
}

// ByNode returns the profile of each node of a fabric.
func (s *Set) ByNode(f *subnet.Fabric) []*Profile {
	c := s.Chooser()
	out := make([]*Profile, len(f.Nodes))
	for i := range f.Nodes {
		out[i] = c.Of(IdentityOf(&f.Nodes[i]))
	}
	return out
}

// Chooser selects the profiles of many devices.
type Chooser struct {
	rules    []Rule
	profiles map[string]*Profile
}

// Chooser returns a chooser for the set.
func (s *Set) Chooser() *Chooser {
	c := &Chooser{rules: s.Rules(), profiles: map[string]*Profile{}}
	for _, p := range s.Profiles() {
		c.profiles[p.Name] = &p
	}
	return c
}

// Of returns the profile of the first rule that matches a device and whose profile is of its kind, otherwise the generic
// profile of the kind.
func (c *Chooser) Of(id Identity) *Profile {
	for i := range c.rules {
		if p := c.profiles[c.rules[i].Profile]; p != nil && p.Kind == id.Kind && c.rules[i].fits(&id) {
			return p
		}
	}
	if id.Kind == Switch {
		return c.profiles[GenericSwitch]
	}
	return c.profiles[GenericAdapter]
}

// Generic reports whether p is the profile of devices without a specific profile.
func (p *Profile) Generic() bool { return p.Name == GenericAdapter || p.Name == GenericSwitch }
