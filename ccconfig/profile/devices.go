package profile

import (
	"strconv"

	"fairlane/ccconfig/dcqcn"
	"fairlane/internal/phrase"
	"fairlane/internal/quantity"
	"fairlane/internal/suggest"
)

// Uncalibrated returns the properties of a kind of device that need no calibration: widths and speeds from the vendor's
// firmware configuration database, the settings common to all managed ports, and the lever. It has no response and no bounds,
// so it is not valid yet.
func Uncalibrated(name string) (*Profile, error) {
	p := &Profile{
		Format: Format, Name: name, Version: 3, Scope: ScopePort, Base: managed(),
		Lever: Lever{MinPeriod: 20, MaxPeriod: dcqcn.MaxNarrow, Volume: 120_000, Step: 0.02, First: 1.5, Decline: 0.69},
		Marking: MarkingRule{
			Floor: 8 * quantity.Microsecond, PerRTT: 47, MinSpan: 240 * quantity.Microsecond,
			MaxSpan: 600 * quantity.Microsecond, PMaxPct: 50,
		},
		Cliffs: []Cliff{
			{"dce_tcp_rtt", 1, 1000, "alpha follows the marks of a flow, so that slow and fast flows are cut differently"},
			{"rate_reduce_monitor_period", 9, dcqcn.MaxNarrow, "cuts of fast flows fall together and those of slow flows do not"},
			{"min_time_between_cnps", 9, dcqcn.MaxNarrow, "notifications of fast flows fall together and those of slow flows do not"},
		},
	}
	g := quantity.Gbps
	switch name {
	case "connectx-5":
		p.Title, p.Speeds = "ConnectX-5 class: 17-bit rates, ports to 100 Gbit/s", []quantity.BitRate{10 * g, 25 * g, 40 * g, 50 * g, 100 * g}
	case "connectx-6":
		p.Title, p.Speeds = "ConnectX-6 class: 17-bit rates, ports to 200 Gbit/s", []quantity.BitRate{10 * g, 25 * g, 40 * g, 50 * g, 100 * g, 200 * g}
	case "connectx-7":
		p.Title, p.Speeds, p.Rate32 = "ConnectX-7 class: 32-bit rates, ports to 400 Gbit/s", []quantity.BitRate{10 * g, 25 * g, 40 * g, 50 * g, 100 * g, 200 * g, 400 * g}, true
	default:
		return nil, Unknown(name)
	}
	return p, nil
}

// managed returns the registers that the lever does not change. The byte counter is off. Alpha stays at full scale,
// because its period and its initial value are at their maximum; every cut is then the smallest possible, by
// RPG_MIN_DEC_FAC to 99 percent, independent of a flow's history. RPG_THRESHOLD 0 starts additive increase with the
// first event. All this holds for every interpretation that the vendor's texts allow.
func managed() dcqcn.Settings {
	s := dcqcn.Default()
	s.ClampTargetRate = true
	s.ByteReset = 0
	s.Threshold = 0
	s.MinDecFac = 99
	s.G, s.AlphaPeriod, s.InitialAlpha = dcqcn.AlphaScale-1, dcqcn.MaxNarrow, dcqcn.AlphaScale-1
	s.MonitorPeriod, s.CNPGap = 1, 1
	return s
}

// Unknown returns the error for a name without an embedded profile.
func Unknown(name string) error {
	said := phrase.Of("profile.unknown", "profile", strconv.Quote(name), "names", Names())
	return &phrase.Error{Text: phrase.Meant(said, suggest.Quoted(name, Names()))}
}
