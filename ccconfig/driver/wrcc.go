package driver

import (
	"fmt"
	"strconv"

	"fairlane/ccconfig/ibcc"
	"fairlane/subnet"
	"fairlane/wrcc"
)

func (d Device) validateWRCC() error {
	switch {
	case d.Kind != subnet.KindSwitch:
		return fmt.Errorf("device %s: kind %d, want %d (switch) on plane %q", d, d.Kind, subnet.KindSwitch, PlaneWRCC)
	case d.ID.Port != 0:
		return fmt.Errorf("device %s: port %d of a switch, want 0: a switch is managed as a whole", d, d.ID.Port)
	case d.Ports < 1 || d.Ports > MaxSwitchPorts:
		return fmt.Errorf("device %s: %d ports, want 1 to %d", d, d.Ports, MaxSwitchPorts)
	}
	return nil
}

// diffWRCC lists, in the order of the keys, the fields of entries that differ, and the entries that only one has.
func diffWRCC(want, got *wrcc.SwitchConfig) []ibcc.Difference {
	var ds differences
	merge(want.Ports, got.Ports, func(p wrcc.PortConfig) uint32 { return uint32(p.Port) }, func(w, g *wrcc.PortConfig) {
		at := fmt.Sprintf("wrcc.ports[%d]", either(w, g).Port)
		if ds.entry(at, w != nil, g != nil) {
			return
		}
		ds.number(at+".f_min_mbps", w.FminMbps, g.FminMbps)
		ds.number(at+".f_max_mbps", w.FmaxMbps, g.FmaxMbps)
		ds.number(at+".b_tar_mbps", w.TargetMbps, g.TargetMbps)
		ds.number(at+".wrcct_us", uint32(w.PeriodUs), uint32(g.PeriodUs))
		ds.number(at+".rate_ratio_pct", uint32(w.RateRatioPct), uint32(g.RateRatioPct))
		ds.number(at+".q_ratio_pct", uint32(w.QRatioPct), uint32(g.QRatioPct))
	})
	merge(want.Weights, got.Weights, wrcc.ClassWeight.Key, func(w, g *wrcc.ClassWeight) {
		e := either(w, g)
		at := fmt.Sprintf("wrcc.weights[%d/%d]", e.Port, e.Class)
		if ds.entry(at, w != nil, g != nil) {
			return
		}
		ds.number(at+".multiplier", uint32(w.Multiplier), uint32(g.Multiplier))
		ds.number(at+".shift", uint32(w.Shift), uint32(g.Shift))
	})
	merge(want.Domains, got.Domains, func(p wrcc.PortDomain) uint32 { return uint32(p.Port) }, func(w, g *wrcc.PortDomain) {
		at := fmt.Sprintf("wrcc.domains[%d]", either(w, g).Port)
		if ds.entry(at, w != nil, g != nil) {
			return
		}
		ds.number(at+".domain", uint32(w.Domain), uint32(g.Domain))
		ds.text(at+".wan", strconv.FormatBool(w.WAN), strconv.FormatBool(g.WAN))
	})
	return ds
}

type differences []ibcc.Difference

func (ds *differences) text(field, want, got string) {
	if want != got {
		*ds = append(*ds, ibcc.Difference{Field: field, Want: want, Got: got})
	}
}

func (ds *differences) number(field string, want, got uint32) {
	ds.text(field, strconv.FormatUint(uint64(want), 10), strconv.FormatUint(uint64(got), 10))
}

// entry notes an entry that only one side has, and reports whether it did.
func (ds *differences) entry(field string, want, got bool) bool {
	say := map[bool]string{true: "an entry", false: ibcc.Absent}
	ds.text(field, say[want], say[got])
	return want != got
}

func either[T any](a, b *T) *T {
	if a != nil {
		return a
	}
	return b
}

// merge walks two lists in the order of their keys and calls f for each key with what either has.
func merge[T any](want, got []T, key func(T) uint32, f func(w, g *T)) {
	for len(want) > 0 || len(got) > 0 {
		switch {
		case len(got) == 0 || len(want) > 0 && key(want[0]) < key(got[0]):
			f(&want[0], nil)
			want = want[1:]
		case len(want) == 0 || key(got[0]) < key(want[0]):
			f(nil, &got[0])
			got = got[1:]
		default:
			f(&want[0], &got[0])
			want, got = want[1:], got[1:]
		}
	}
}
