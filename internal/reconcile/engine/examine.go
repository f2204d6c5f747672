package engine

import (
	"context"
	"fmt"
	"strings"

	"fairlane/internal/control"
)

// examine looks at the prerequisites of congestion control on the devices of a rollout's plan before anything is written. One that
// is wrong and that the rollout does not set ends it. One that is not known is told and does not: a way that a host lacks would keep
// every plan from it. A device that does not answer is left to the rollout's own reading, which counts it.
func (e *Engine) examine(ctx context.Context, t control.Target, ro control.Rollout) (func(*control.Rollout), error) {
	var wrong, unknown []string
	if e.d.Prerequisites != nil && t.Plan.RoCE != nil {
		reports, err := e.d.Prerequisites.Observe(ctx, t, nil)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err != nil {
			unknown = append(unknown, fmt.Sprintf("the devices could not be read: %s", err))
		}
		for i := range reports {
			w, u := unmet(&reports[i], t.Fabric.Prerequisites)
			wrong, unknown = append(wrong, w...), append(unknown, u...)
		}
	}
	notice := ""
	if len(unknown) > 0 {
		notice = oneLine(fmt.Sprintf("%d prerequisites of congestion control are not known: %s", len(unknown), firstOf(unknown)))
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

// unmet lists the prerequisites of a device that stay wrong under a fabric's setting, and those that are not known.
func unmet(x *control.DeviceReport, p control.Prerequisites) (wrong, unknown []string) {
	for i := range x.Differences {
		switch d := &x.Differences[i]; {
		case d.Prerequisite == "" || !d.Left(p):
		case d.Observed == control.ObservedUnknown:
			unknown = append(unknown, x.Device.Name+": "+d.Reason)
		default:
			wrong = append(wrong, x.Device.Name+": "+d.Reason)
		}
	}
	return wrong, unknown
}

// firstOf joins the first few of some sentences.
func firstOf(list []string) string {
	if more := len(list) - maxFaults; more > 0 {
		return strings.Join(list[:maxFaults], "; ") + fmt.Sprintf("; and %d more", more)
	}
	return strings.Join(list, "; ")
}
