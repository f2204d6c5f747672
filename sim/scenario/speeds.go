package scenario

import (
	"slices"

	"fairlane/internal/quantity"
	"fairlane/sim/cc"
)

// Speed holds the effective settings at one link rate.
type Speed struct {
	RateBps quantity.BitRate `json:"rate_bps"`
	Links   int              `json:"links"`
	Hosts   int              `json:"hosts"` // hosts with such links
	// ECNMin and ECNMax are marking thresholds in bytes; 0 means no marking.
	ECNMin int64 `json:"ecn_min_bytes"`
	ECNMax int64 `json:"ecn_max_bytes"`
	// PFCAlpha is the fraction of the free buffer that a port may hold, as model.buffer sets it; 0 with a static threshold.
	PFCAlpha float64        `json:"pfc_alpha"`
	Controls []ControlSteps `json:"congestion_control,omitempty"` // only for rates of links to hosts
}

// ControlSteps are the rate increases of one congestion control.
type ControlSteps struct {
	Name  string    `json:"name"`
	Steps []cc.Step `json:"steps"`
}

// Speeds returns the effective settings at each link rate of an Ethernet fabric, from slow to fast.
func (s *Scenario) Speeds() []Speed {
	if s.Ethernet == nil {
		return nil
	}
	e := s.Ethernet
	by := make(map[quantity.BitRate]*Speed)
	for i := range s.Fabric.Links {
		rate := s.Fabric.Links[i].Rate
		if by[rate] == nil {
			by[rate] = &Speed{RateBps: rate}
		}
		by[rate].Links++
	}
	slowest := quantity.MaxBitRate
	for _, h := range Hosts(s.Fabric) {
		if l, _ := s.Fabric.Link(h); l != nil {
			by[l.Rate].Hosts++
			slowest = min(slowest, l.Rate)
		}
	}
	var out []Speed
	for rate, v := range by {
		if ecn := e.Model.ECN.ForRate(rate); !ecn.Off {
			v.ECNMin, v.ECNMax = ecn.Min, ecn.Max
		}
		if e.Model.Buffer.Static == 0 {
			v.PFCAlpha = e.Model.Buffer.AlphaAt(rate, slowest)
		}
		for _, c := range e.Controls {
			spec, err := cc.ByName(c.Algorithm)
			if steps := spec.Steps(c.Values, rate); err == nil && v.Hosts > 0 && len(steps) > 0 {
				v.Controls = append(v.Controls, ControlSteps{c.Name, steps})
			}
		}
		out = append(out, *v)
	}
	slices.SortFunc(out, func(a, b Speed) int { return int(a.RateBps/1000 - b.RateBps/1000) })
	return out
}

// Unscaled returns the settings that have the same value at several rates of the links to which they apply. A value suitable
// for one rate may not suit the others.
func (s *Scenario) Unscaled() []string {
	speeds := s.Speeds()
	hosts := slices.DeleteFunc(slices.Clone(speeds), func(v Speed) bool { return v.Hosts == 0 })
	var out []string
	if len(speeds) > 1 {
		if e := &s.Ethernet.Model.ECN; e.Absolute && !e.Off {
			out = append(out, "model.ecn")
		}
		if b := &s.Ethernet.Model.Buffer; b.AlphaFixed && b.Static == 0 {
			out = append(out, "model.buffer.alpha")
		}
	}
	if len(hosts) < 2 {
		return out
	}
	for _, c := range hosts[0].Controls {
		for _, step := range c.Steps {
			if !step.Scales {
				out = append(out, c.Name+"."+step.Name)
			}
		}
	}
	return out
}
