package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"fairlane/internal/quantity"
	"fairlane/service/control"
)

// Gates judges the health of a fabric by what tenants and links get.
type Gates struct{ Meter control.Meter }

// Defaults of gates.
const (
	gateWindow        = 100 * time.Millisecond // of the fabric's own time
	defaultShareError = 0.1
	loopTime          = 5 * time.Second // wall clock: the longest measurement of a rollout that requested none
)

// Check implements engine.Gate. Tenants and links that cannot be measured neither fail a gate nor pass it: it is judged by the
// others, and the notice names those left out. When none could be measured, that is an error.
func (g Gates) Check(ctx context.Context, t control.Target, ro control.Rollout) (notice string, err error) {
	o := ro.Options
	last := ro.Wave+1 >= ro.Waves
	requested := o.MinUtilisation > 0 || last && (o.MaxShareError > 0 || o.VerifyShares)
	window := cmp.Or(o.MeasureWindow, gateWindow)
	if !requested && o.MeasureWindow == 0 {
		window = min(window, time.Duration(t.Fabric.TimeScale*float64(loopTime)))
	}
	s, err := g.Meter.Measure(ctx, t, window)
	if err != nil && !requested {
		return "congestion control was not tested: " + err.Error(), nil
	}
	if err != nil {
		return "", fmt.Errorf("shares could not be measured: %w", err)
	}
	var left []error
	if o.CheckLoop && last {
		switch {
		case s.Loop == nil && (t.Plan.RoCE == nil || len(s.Tenants) == 0): // congestion is not read on this fabric, or nothing is sent
		case s.Loop == nil:
			notice = "congestion control was not tested: the devices do not count its events"
		case s.Loop.State == control.LoopNotActing && s.Loop.Stage == "rates" && window.Seconds() < t.Plan.Settle.Seconds():
			notice = fmt.Sprintf("congestion control was not tested: rates settle in about %v, and %v of the fabric's time were measured", t.Plan.Settle, quantity.Picoseconds(window.Nanoseconds())*quantity.Nanosecond)
		case s.Loop.State == control.LoopNotActing:
			return "", fmt.Errorf("congestion control does not act: %s", s.Loop.Text)
		case s.Loop.State == control.LoopActing:
			notice = "congestion control acts: " + s.Loop.Text
		default:
			notice = "congestion control was not tested: " + s.Loop.Text
		}
	}
	if o.MinUtilisation > 0 {
		links, out := measuredLinks(s)
		if left = append(left, out...); len(links) == 0 && len(s.Links) > 0 {
			return "", fmt.Errorf("the use of no contended link could be measured: %w", errors.Join(out...))
		}
		u := control.Utilisation(links)
		if u == nil {
			return "", errors.New("the plan has no contended link: link use cannot be judged")
		}
		if *u < o.MinUtilisation {
			return "", fmt.Errorf("contended links are used to %.3g %%, want at least %.3g %%", 100**u, 100*o.MinUtilisation)
		}
	}
	bound := o.MaxShareError
	if bound == 0 && o.VerifyShares {
		bound = defaultShareError
	}
	if last && bound > 0 {
		worst, n, out := measuredTenants(s)
		if left = append(left, out...); n == 0 && len(s.Tenants) > 0 {
			return "", fmt.Errorf("the share of no tenant could be measured: %w", errors.Join(out...))
		}
		if worst > bound {
			return "", fmt.Errorf("the worst share error is %.3g %%, want at most %.3g %%", 100*worst, 100*bound)
		}
	}
	if len(left) > 0 {
		notice = strings.TrimPrefix(fmt.Sprintf("%s; the health gate could not judge everything, %d tenants or links were not measured: %v", notice, len(left), errors.Join(left...)), "; ")
	}
	return notice, nil
}

// measuredTenants returns the worst share error of those that were measured, how many these are, and why the others were not.
func measuredTenants(s control.Shares) (worst float64, n int, left []error) {
	for _, t := range s.Tenants {
		if t.Delivered == nil {
			left = append(left, fmt.Errorf("share of tenant %s: %s", t.Tenant, t.Problem))
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
func measuredLinks(s control.Shares) (links []control.LinkUse, left []error) {
	for _, l := range s.Links {
		if l.Delivered == nil {
			left = append(left, fmt.Errorf("use of link %s: %s", l.Name, l.Problem))
			continue
		}
		links = append(links, l)
	}
	return links, left
}
