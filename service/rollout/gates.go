package rollout

import (
	"cmp"
	"context"
	"time"

	"fairlane/internal/phrase"
	"fairlane/internal/quantity"
	"fairlane/service/control"
)

// Gates judges the health of a fabric by delivered shares and the use of links.
type Gates struct{ Meter control.Meter }

// Defaults of gates.
const (
	gateWindow        = 100 * time.Millisecond // of the fabric's own time
	defaultShareError = 0.1
	loopTime          = 5 * time.Second // wall clock: the longest measurement of a rollout that requested none
)

// Check judges by the tenants and links that were measured; the notice names the others. It fails when none could be
// measured.
func (g Gates) Check(ctx context.Context, t control.Target, ro control.Rollout) (notice phrase.Text, err error) {
	o := ro.Options
	last := ro.Wave+1 >= ro.Waves
	requested := o.MinUtilisation > 0 || last && (o.MaxShareError > 0 || o.VerifyShares)
	window := cmp.Or(o.MeasureWindow, gateWindow)
	if !requested && o.MeasureWindow == 0 {
		window = min(window, time.Duration(t.Fabric.TimeScale*float64(loopTime)))
	}
	s, err := g.Meter.Measure(ctx, t, window)
	if err != nil && !requested {
		return phrase.Of("gate.not-tested", "why", err), nil
	}
	if err != nil {
		return phrase.Text{}, phrase.Because(err, phrase.Of("gate.unmeasured", "reason", err))
	}
	var left []phrase.Text
	if o.CheckLoop && last {
		switch {
		case s.Loop == nil && (t.Plan.RoCE == nil || len(s.Tenants) == 0): // congestion is not read on this fabric, or nothing is sent
		case s.Loop == nil:
			notice = phrase.Of("gate.not-tested", "why", phrase.Of("gate.no-counters"))
		case s.Loop.State == control.LoopNotActing && s.Loop.Stage == "rates" && window.Seconds() < t.Plan.Settle.Seconds():
			notice = phrase.Of("gate.not-tested", "why", phrase.Of("gate.settles", "settle", t.Plan.Settle, "window", quantity.Picoseconds(window.Nanoseconds())*quantity.Nanosecond))
		case s.Loop.State == control.LoopNotActing:
			return phrase.Text{}, &phrase.Error{Text: phrase.Of("gate.not-acting", "why", phrase.Or(s.Loop.Text, s.Loop.Said))}
		case s.Loop.State == control.LoopActing:
			notice = phrase.Of("gate.acts", "figures", phrase.Or(s.Loop.Text, s.Loop.Said))
		default:
			notice = phrase.Of("gate.not-tested", "why", phrase.Or(s.Loop.Text, s.Loop.Said))
		}
	}
	if o.MinUtilisation > 0 {
		links, out := measuredLinks(s)
		if left = append(left, out...); len(links) == 0 && len(s.Links) > 0 {
			return phrase.Text{}, &phrase.Error{Text: phrase.Of("gate.no-link", "reasons", out)}
		}
		u := control.Utilisation(links)
		if u == nil {
			return phrase.Text{}, &phrase.Error{Text: phrase.Of("gate.no-contended-link")}
		}
		if *u < o.MinUtilisation {
			return phrase.Text{}, &phrase.Error{Text: phrase.Of("gate.use", "use", phrase.PercentOf(*u, 2), "want", phrase.PercentOf(o.MinUtilisation, 2))}
		}
	}
	bound := o.MaxShareError
	if bound == 0 && o.VerifyShares {
		bound = defaultShareError
	}
	if last && bound > 0 {
		worst, n, out := measuredTenants(s)
		if left = append(left, out...); n == 0 && len(s.Tenants) > 0 {
			return phrase.Text{}, &phrase.Error{Text: phrase.Of("gate.no-tenant", "reasons", out)}
		}
		if worst > bound {
			return phrase.Text{}, &phrase.Error{Text: phrase.Of("gate.share-error", "error", phrase.PercentOf(worst, 2), "want", phrase.PercentOf(bound, 2))}
		}
	}
	if len(left) > 0 {
		notice = phrase.Joined(notice, phrase.Of("gate.incomplete", "n", len(left), "reasons", left))
	}
	return notice, nil
}

// measuredTenants returns the largest share error of the measured tenants, their number, and why the others were not
// measured.
func measuredTenants(s control.Shares) (worst float64, n int, left []phrase.Text) {
	for _, t := range s.Tenants {
		if t.Delivered == nil {
			left = append(left, phrase.Of("gate.tenant", "tenant", t.Tenant, "problem", phrase.Or(t.Problem, t.Said)))
			continue
		}
		n++
		if t.ShareError != nil {
			worst = max(worst, *t.ShareError)
		}
	}
	return worst, n, left
}

// measuredLinks returns the links that were measured, and why the others were not.
func measuredLinks(s control.Shares) (links []control.LinkUse, left []phrase.Text) {
	for _, l := range s.Links {
		if l.Delivered == nil {
			left = append(left, phrase.Of("gate.link", "link", l.Name, "problem", phrase.Or(l.Problem, l.Said)))
			continue
		}
		links = append(links, l)
	}
	return links, left
}
