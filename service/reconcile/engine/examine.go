package engine

import (
	"context"
	"fmt"
	"strings"

	"fairlane/service/control"
	"fairlane/service/reconcile"
)

// examine checks the prerequisites of congestion control on the devices of a rollout's plan before the first write. A wrong one that
// the rollout does not set ends the rollout; a return to the baseline has none. An unknown one is reported only: otherwise a host
// without some parameter could never get a plan. Devices that cannot be read count against the failure budget first. One that does
// not answer at all is counted by the rollout's own reading.
func (e *Engine) examine(ctx context.Context, t control.Target, ro control.Rollout) (func(*control.Rollout), error) {
	var wrong, advised, unknown, unread []string
	devices := 0 // in unread
	if e.d.Prerequisites != nil && ro.Options.To == "" && (t.Plan.RoCE != nil || len(t.Plan.CAs)+len(t.Plan.Switches) > 0) {
		reports, err := e.d.Prerequisites.Observe(ctx, t, nil)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err != nil {
			unknown = append(unknown, fmt.Sprintf("the devices could not be read: %s", err))
		}
		for i := range reports {
			w, a, u := unmet(&reports[i], t.Fabric.Prerequisites)
			advised, unknown = append(advised, a...), append(unknown, u...)
			switch {
			case len(w) == 0:
			case reports[i].Observed == nil && !reconcile.IsManager(reports[i].Device.ID):
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
	var notices []string
	if len(advised) > 0 {
		notices = append(notices, fmt.Sprintf("%d wrong prerequisites do not stop the rollout: %s", len(advised), firstOf(advised)))
	}
	if len(unknown) > 0 {
		notices = append(notices, fmt.Sprintf("%d prerequisites of congestion control are not known: %s", len(unknown), firstOf(unknown)))
	}
	notice := oneLine(strings.Join(notices, "; "))
	if notice != "" {
		if err := e.say(ctx, ro, notice); err != nil {
			return nil, err
		}
	}
	return func(ro *control.Rollout) {
		ro.Gated = -1
		switch {
		case len(wrong) > 0:
			undo(ro, fmt.Sprintf("congestion control cannot act: %d prerequisites are wrong: %s", len(wrong), firstOf(wrong)))
		case notice != "":
			ro.Reason = notice
		}
	}, nil
}

// unmet lists the prerequisites of a device that stay wrong under a fabric's setting, apart those that refuse no rollout, and those
// that are unknown.
func unmet(x *control.DeviceReport, p control.Prerequisites) (wrong, advised, unknown []string) {
	for i := range x.Differences {
		switch d := &x.Differences[i]; {
		case d.Prerequisite == "" || !d.Left(p):
		case d.Observed == control.ObservedUnknown:
			unknown = append(unknown, x.Device.Name+": "+d.Reason)
		case d.Advisory:
			advised = append(advised, x.Device.Name+": "+d.Reason)
		default:
			wrong = append(wrong, x.Device.Name+": "+d.Reason)
		}
	}
	return wrong, advised, unknown
}

// firstOf joins the first few of some sentences.
func firstOf(list []string) string {
	if more := len(list) - maxFaults; more > 0 {
		return strings.Join(list[:maxFaults], "; ") + fmt.Sprintf("; and %d more", more)
	}
	return strings.Join(list, "; ")
}
