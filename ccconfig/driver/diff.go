package driver

import (
	"slices"
	"strconv"

	"fairlane/ccconfig/ibcc"
	"fairlane/subnet/ident"
)

// Diff lists the fields in which the observed state got is not what s wants, by the rules of
// read-back: table entries above the limit and the contents of invalid port elements do not
// count. A half that only one of the two has is one difference, named "ca", "switch" or "wrcc". Nil
// means equal.
func (s Settings) Diff(got Settings) []ibcc.Difference {
	var ds []ibcc.Difference
	switch {
	case s.CA != nil && got.CA != nil:
		ds = s.CA.Diff(got.CA)
	case s.CA != nil || got.CA != nil:
		ds = append(ds, halfDifference("ca", s.CA != nil))
	}
	switch {
	case s.Switch != nil && got.Switch != nil:
		ds = append(ds, s.Switch.Diff(got.Switch)...)
	case s.Switch != nil || got.Switch != nil:
		ds = append(ds, halfDifference("switch", s.Switch != nil))
	}
	switch {
	case s.WRCC != nil && got.WRCC != nil:
		ds = append(ds, diffWRCC(s.WRCC, got.WRCC)...)
	case s.WRCC != nil || got.WRCC != nil:
		ds = append(ds, halfDifference("wrcc", s.WRCC != nil))
	}
	return ds
}

// Equal reports that Diff finds nothing.
func (s Settings) Equal(got Settings) bool {
	if s.CA != nil && got.CA != nil && s.Switch == nil && got.Switch == nil && s.WRCC == nil && got.WRCC == nil {
		return s.CA.Equal(got.CA) // the common case, without listing a whole table
	}
	return len(s.Diff(got)) == 0
}

func halfDifference(field string, wanted bool) ibcc.Difference {
	if wanted {
		return ibcc.Difference{Field: field, Want: "settings", Got: ibcc.Absent}
	}
	return ibcc.Difference{Field: field, Want: ibcc.Absent, Got: "settings"}
}

// Diff lists the fields in which got is not what s wants. Nil means equal.
func (s *SwitchState) Diff(got *SwitchState) []ibcc.Difference {
	ds := s.Defaults.Diff(&got.Defaults)
	if w, g := len(s.Ports), len(got.Ports); w != g {
		ds = append(ds, ibcc.Difference{Field: "ports", Want: strconv.Itoa(w), Got: strconv.Itoa(g)})
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
	return c
}

// Marks reports whether the settings are of a switch that marks packets anywhere.
func (s Settings) Marks() bool {
	if s.Switch == nil {
		return false
	}
	return s.Switch.Defaults.Threshold != 0 || slices.ContainsFunc(s.Switch.Ports, func(p ibcc.PortMarking) bool {
		return p.Valid && p.Threshold != 0
	})
}
