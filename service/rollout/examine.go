package rollout

import (
	"context"
	"slices"

	"fairlane/internal/phrase"
	"fairlane/service/control"
	"fairlane/service/device"
)

// examine checks the prerequisites of congestion control on the devices of a rollout's plan before the first write. A
// wrong one that the rollout does not set ends the rollout; a return to the baseline has no prerequisites. An unknown one
// is only reported: otherwise a host that lacks a parameter could never get a plan. Devices that cannot be read count
// against the failure budget first. A device that does not answer at all is counted when the rollout reads it.
func (e *Engine) examine(ctx context.Context, t control.Target, ro control.Rollout) (func(*control.Rollout), error) {
	var wrong, advised, unknown, unread []phrase.Text
	devices := 0 // in unread
	if e.d.Prerequisites != nil && ro.Options.To == "" && (t.Plan.RoCE != nil || len(t.Plan.CAs)+len(t.Plan.Switches) > 0) {
		reports, err := e.d.Prerequisites.Observe(ctx, t, nil)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err != nil {
			unknown = append(unknown, phrase.Of("result.devices-unread", "reason", err))
		}
		for i := range reports {
			w, a, u := unmet(&reports[i], t.Fabric.Prerequisites)
			advised, unknown = append(advised, a...), append(unknown, u...)
			switch {
			case len(w) == 0:
			case reports[i].Observed == nil && !device.IsManager(reports[i].Device.ID):
				unread = append(unread, w...)
				devices++
			default:
				wrong = append(wrong, w...)
			}
		}
	}
	if devices > ro.Options.FailureBudget {
		wrong = append(wrong, unread...)
	} else {
		advised = append(advised, unread...)
	}
	var notices []phrase.Text
	if len(advised) > 0 {
		notices = append(notices, phrase.Of("result.advised", "n", len(advised), "first", firstOf(advised)))
	}
	if len(unknown) > 0 {
		notices = append(notices, phrase.Of("result.unknown-prerequisites", "n", len(unknown), "first", firstOf(unknown)))
	}
	var notice phrase.Text
	if len(notices) > 0 {
		notice = phrase.Of("list.whole", "list", notices)
		if err := e.say(ctx, ro, notice); err != nil {
			return nil, err
		}
	}
	return func(ro *control.Rollout) {
		ro.Gated = -1
		switch {
		case len(wrong) > 0:
			undo(ro, phrase.Of("result.prerequisites", "n", len(wrong), "first", firstOf(wrong)))
		case notice.ID != "":
			ro.Reason = notice
		}
	}, nil
}

// unmet lists the prerequisites of a device that stay wrong under a fabric's setting. It returns separately those that
// refuse no rollout, and those that are unknown.
func unmet(x *control.DeviceReport, p control.Prerequisites) (wrong, advised, unknown []phrase.Text) {
	for i := range x.Differences {
		switch d := &x.Differences[i]; {
		case d.Prerequisite == "" || !d.Left(p):
		case d.Observed == control.ObservedUnknown:
			unknown = append(unknown, at(x, d))
		case d.Advisory:
			advised = append(advised, at(x, d))
		default:
			wrong = append(wrong, at(x, d))
		}
	}
	return wrong, advised, unknown
}

// at returns the reason of a prerequisite with its device.
func at(x *control.DeviceReport, d *control.Difference) phrase.Text {
	return phrase.Of("labelled", "label", x.Device.Name, "text", phrase.Or(d.Reason, d.Said))
}

// firstOf returns the first few of some sentences, and the number of the others.
func firstOf(list []phrase.Text) []phrase.Text {
	if more := len(list) - maxFaults; more > 0 {
		return append(slices.Clone(list[:maxFaults]), phrase.Of("list.and-more", "n", more))
	}
	return list
}
