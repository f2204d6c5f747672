package controller

import (
	"slices"
	"time"
)

// A rollout that failed for a reason that may pass, such as a device or a manager that was away, is repeated: without a change of
// attachments nothing else would bring its plan to the devices. One that was rolled back or canceled is not: a health gate or a person
// has decided.

// Times between the end of a rollout that failed and the next attempt. Each attempt at the same plan waits twice as long.
const (
	firstRepetition = 30 * time.Second
	lastRepetition  = time.Hour
)

// repetition is the next attempt at a plan. Losing it, by a restart, makes the next attempt earlier.
type repetition struct {
	rollout int64 // that failed
	plan    string
	wait    time.Duration
	at      time.Time
}

// repeatable reports whether a rollout ended for a reason that may pass.
func repeatable(r Rollout) bool {
	return slices.Contains([]string{"failed", "partial", "refused", "interrupted"}, r.State)
}

// due reports whether it is time for the next attempt after a failed rollout.
func (n *repetition) due(failed Rollout, now time.Time) bool {
	if n.rollout != failed.ID {
		wait := firstRepetition
		if n.plan == failed.Plan {
			wait = min(2*n.wait, lastRepetition)
		}
		*n = repetition{failed.ID, failed.Plan, wait, now.Add(wait)}
	}
	return !now.Before(n.at)
}
