package driver

import (
	"slices"
	"strconv"

	"fairlane/ccconfig/ibcc"
	"fairlane/internal/fieldwise"
	"fairlane/subnet/ident"
)

// Diff returns the fields in which the observed state got differs from s, by the rules of read-back: table entries above the
// limit and the contents of invalid port elements do not count. A part that is present in only one of the two is one
// difference, named "ca", "switch", "wrcc", "nic" or "queues". Nil means equal.
func (s Settings) Diff(got Settings) []fieldwise.Difference {
	var ds fieldwise.Differences
	if both(&ds, "ca", "settings", s.CA != nil, got.CA != nil) {
		ds = append(ds, s.CA.Diff(got.CA)...)
	}
	if both(&ds, "switch", "settings", s.Switch != nil, got.Switch != nil) {
		ds = append(ds, s.Switch.Diff(got.Switch)...)
	}
	if both(&ds, "wrcc", "settings", s.WRCC != nil, got.WRCC != nil) {
		diffWRCC(&ds, s.WRCC, got.WRCC)
	}
	if both(&ds, "nic", "settings", s.NIC != nil, got.NIC != nil) {
		diffNIC(&ds, s.NIC, got.NIC)
	}
	if both(&ds, "queues", "settings", s.Queues != nil, got.Queues != nil) {
		diffQueues(&ds, s.Queues, got.Queues)
	}
	return ds
}

// both reports whether both sides have a part, and adds a difference if only one has it.
func both(ds *fieldwise.Differences, field, name string, want, got bool) bool {
	say := map[bool]string{true: name, false: fieldwise.Absent}
	ds.Add(field, say[want], say[got])
	return want && got
}

// Equal reports whether Diff would return nil.
func (s Settings) Equal(got Settings) bool {
	if s.CA != nil && got.CA != nil && s == (Settings{CA: s.CA}) && got == (Settings{CA: got.CA}) {
		return s.CA.Equal(got.CA) // the common case, without building a list
	}
	return len(s.Diff(got)) == 0
}

// Diff returns the fields in which got differs from s. Nil means equal.
func (s *SwitchState) Diff(got *SwitchState) []fieldwise.Difference {
	ds := s.Defaults.Diff(&got.Defaults)
	if w, g := len(s.Ports), len(got.Ports); w != g {
		ds = append(ds, fieldwise.Difference{Field: "ports", Want: strconv.Itoa(w), Got: strconv.Itoa(g)})
	}
	for i := range min(len(s.Ports), len(got.Ports)) {
		ds = append(ds, s.Ports[i].Diff(ident.PortNum(i), got.Ports[i])...)
	}
	return ds
}

// Clone returns a copy that shares no memory with s.
func (s Settings) Clone() Settings {
	var c Settings
	if s.CA != nil {
		ca := *s.CA
		ca.Table = slices.Clone(s.CA.Table)
		c.CA = &ca
	}
	if s.Switch != nil {
		sw := *s.Switch
		sw.Ports = slices.Clone(s.Switch.Ports)
		c.Switch = &sw
	}
	if s.WRCC != nil {
		c.WRCC = s.WRCC.Clone()
	}
	if s.NIC != nil {
		c.NIC = s.NIC.clone()
	}
	if s.Queues != nil {
		c.Queues = &QueueState{Marking: slices.Clone(s.Queues.Marking), Weights: slices.Clone(s.Queues.Weights)}
	}
	return c
}

// Marks reports whether the settings make a switch mark packets on any port.
func (s Settings) Marks() bool {
	if s.Queues != nil {
		return len(s.Queues.Marking) > 0
	}
	if s.Switch == nil {
		return false
	}
	return s.Switch.Defaults.Threshold != 0 || slices.ContainsFunc(s.Switch.Ports, func(p ibcc.PortMarking) bool {
		return p.Valid && p.Threshold != 0
	})
}
