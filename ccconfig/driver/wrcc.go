package driver

import (
	"cmp"
	"fmt"
	"strconv"

	"fairlane/internal/fieldwise"
	"fairlane/wrcc"
)

// diffWRCC adds, in the order of the keys, the fields of entries that differ, and the entries that only one side has.
func diffWRCC(ds *fieldwise.Differences, want, got *wrcc.SwitchConfig) {
	diffEntries(ds, "ports", want.Ports, got.Ports, func(at string, w, g wrcc.PortConfig) {
		ds.Number(at+".f_min_mbps", uint64(w.FminMbps), uint64(g.FminMbps))
		ds.Number(at+".f_max_mbps", uint64(w.FmaxMbps), uint64(g.FmaxMbps))
		ds.Number(at+".b_tar_mbps", uint64(w.TargetMbps), uint64(g.TargetMbps))
		ds.Number(at+".wrcct_us", uint64(w.PeriodUs), uint64(g.PeriodUs))
		ds.Number(at+".rate_ratio_pct", uint64(w.RateRatioPct), uint64(g.RateRatioPct))
		ds.Number(at+".q_ratio_pct", uint64(w.QRatioPct), uint64(g.QRatioPct))
	})
	diffEntries(ds, "weights", want.Weights, got.Weights, func(at string, w, g wrcc.ClassWeight) {
		ds.Number(at+".multiplier", uint64(w.Multiplier), uint64(g.Multiplier))
		ds.Number(at+".shift", uint64(w.Shift), uint64(g.Shift))
	})
	diffEntries(ds, "domains", want.Domains, got.Domains, func(at string, w, g wrcc.PortDomain) {
		ds.Number(at+".domain", uint64(w.Domain), uint64(g.Domain))
		ds.Add(at+".wan", strconv.FormatBool(w.WAN), strconv.FormatBool(g.WAN))
	})
}

// diffEntries compares two lists, by fields where both have an entry.
func diffEntries[E wrcc.Entry](ds *fieldwise.Differences, list string, want, got []E, fields func(at string, w, g E)) {
	wrcc.Merge(want, got, func(w, g *E) {
		if w != nil && g != nil && *w == *g {
			return
		}
		at := fmt.Sprintf("wrcc.%s[%s]", list, (*cmp.Or(w, g)).Name())
		if both(ds, at, "an entry", w != nil, g != nil) {
			fields(at, *w, *g)
		}
	})
}
