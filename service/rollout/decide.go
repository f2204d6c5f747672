package rollout

import (
	"slices"
	"time"

	"fairlane/internal/phrase"
	"fairlane/service/control"
)

// view is all that decide goes by.
type view struct {
	ro    control.Rollout
	tally control.Tally
	// failedHere is how many devices of the open wave failed.
	failedHere int
	now        time.Time
	busy       int // shards that are queued or worked, of any wave
	ready      int // shards of the open wave and direction that nobody was asked to work, and that are not done
	// lower is the highest wave below the open one that has touched devices, -1 when there is none. While
	// undoing only.
	lower int
	// faults are the first errors of devices, for the reason of a roll-back.
	faults []phrase.Text
	// unplaced says that nothing is placed on the fabric's plane. While undoing, and when placements are unverified, only.
	unplaced bool
}

// act is what follows from a view.
type act int

// Acts. Those from actExamine on take time and are done outside of a transaction.
const (
	actWait    act = iota // nothing to do until something changes
	actPush               // enter pushing
	actSettle             // enter placing, after the waves
	actOpen               // open the next wave, or the ready shards of the open one again
	actConfirm            // enter confirming
	actUndo               // enter unplacing, from where undoing follows
	actUnwind             // enter undoing
	actEnd                // end the rollout

	actExamine // check the prerequisites of congestion control
	actCheck   // ask whether the placements could be brought about
	actPlace   // bring the placements about and verify them
	actGate    // ask the health gates about the open wave
	actUnplace // return the placements
)

// slow reports whether an act is done outside of a transaction.
func (a act) slow() bool { return a >= actExamine }

// decision is an act with what it needs.
type decision struct {
	act    act
	wave   int                  // to open
	state  control.RolloutState // to end as
	reason phrase.Text          // of undoing, or the result of the end
}

// decide says what follows from a view. It is a pure function of it.
func decide(v view) decision {
	if v.busy > 0 || v.ro.Phase == control.PhaseEnded {
		return decision{} // the last of the busy asks again
	}
	switch {
	case v.ro.Wish == control.WishPause:
		return decision{}
	case v.ro.Wish == control.WishCancel && !v.ro.Undoing():
		return canceled(v)
	case v.ro.Wish == control.WishUndo && !v.ro.Undoing():
		reason := phrase.Of("result.roll-back-requested", "actor", v.ro.WishActor)
		if unwritten(v) { // not refused: the operator's request ended it
			return decision{act: actEnd, state: control.RolloutRolledBack, reason: reason}
		}
		return decision{act: actUndo, reason: reason}
	}
	switch v.ro.Phase {
	case control.PhasePlacing:
		return placing(v)
	case control.PhasePushing:
		return pushing(v)
	case control.PhaseConfirming:
		return confirming(v)
	case control.PhaseUndoing:
		return undoing(v)
	case control.PhaseUnplacing:
		if (v.ro.Placed == control.PlacedUnverified || v.ro.Placed == control.PlacedVerified) && v.ro.Prior != "" {
			return decision{act: actUnplace}
		}
		return decision{act: actUnwind}
	}
	return decision{}
}

// Settings come before the placements that need them: a tenant's traffic never uses a service level that the ports on its
// way do not know yet. What it used before is held over by device.HoldOver, and taken back by a rollout of its own. On the
// way back placements are returned first. A rollout of the plan whose placements are in force anyway has nothing to move:
// it places first, which takes away what the subnet manager still has beyond the plan, and then the settings for that. So does a
// rollout that takes everything back: traffic leaves the service levels before their settings go.

func placing(v view) decision {
	switch {
	case v.ro.Gated == control.GatedUnexamined:
		return decision{act: actExamine}
	case toPlace(v) && (v.ro.Prior == v.ro.Plan || v.ro.Options.To != "" || pushed(v)):
		return decision{act: actPlace}
	case toPlace(v): // before any device is written for nothing
		return decision{act: actCheck}
	case !pushed(v):
		return decision{act: actPush}
	}
	return settled(v)
}

// toPlace reports whether placements are still to be brought about.
func toPlace(v view) bool {
	return slices.Contains(v.ro.Stages, control.StagePlacement) && v.ro.Placed != control.PlacedVerified && !unplaceable(v.ro)
}

// unplaceable reports whether a release failed to take placements back. It continues with the devices: the off switch must work
// where the subnet manager does not.
func unplaceable(ro control.Rollout) bool {
	return ro.Options.Release && ro.Placed == control.PlacedUnverified && ro.Reason.ID != ""
}

// pushed reports whether every wave went through.
func pushed(v view) bool { return v.ro.Wave+1 >= v.ro.Waves && v.ready == 0 }

func pushing(v view) decision {
	if v.ro.Waves > 0 && v.ro.Wave < 0 {
		return decision{act: actOpen, wave: 0}
	}
	if over := overBudget(v); over.ID != "" {
		return turnBack(v, over)
	}
	switch {
	case v.ready > 0:
		return decision{act: actOpen, wave: v.ro.Wave}
	case pushed(v) && toPlace(v):
		return decision{act: actSettle}
	case pushed(v):
		return settled(v)
	case v.ro.Gated < v.ro.Wave && gated(v):
		return decision{act: actGate}
	}
	return decision{act: actOpen, wave: v.ro.Wave + 1}
}

// settled follows when every wave went through and placements are as they will be: the gate of the last wave judges both.
func settled(v view) decision {
	if v.ro.Gated < v.ro.Wave && gated(v) {
		return decision{act: actGate}
	}
	return written(v)
}

// gated reports whether a health gate has a say on the open wave.
func gated(v view) bool {
	o := v.ro.Options
	last := v.ro.Wave+1 == v.ro.Waves
	return o.MinUtilisation > 0 || last && (o.CheckLoop || o.MaxShareError > 0 && !o.VerifyShares)
}

// overBudget says why the devices that failed so far are too many, or nothing.
func overBudget(v view) phrase.Text {
	canary := slices.Contains(v.ro.Options.CanaryWaves, v.ro.Wave)
	switch {
	case v.tally.Failed > v.ro.Options.FailureBudget:
	case canary && v.failedHere > 0:
	default:
		return phrase.Text{}
	}
	if canary {
		return phrase.Of("result.canary-over-budget", "wave", v.ro.Wave+1, "waves", v.ro.Waves, "failed", v.tally.Failed,
			"allowed", v.ro.Options.FailureBudget, "faults", v.faults)
	}
	return phrase.Of("result.over-budget", "wave", v.ro.Wave+1, "waves", v.ro.Waves, "failed", v.tally.Failed,
		"allowed", v.ro.Options.FailureBudget, "faults", v.faults)
}

// written follows when all is done and was judged.
func written(v view) decision {
	if v.ro.Options.ConfirmWindow > 0 && !v.ro.Confirmed {
		return decision{act: actConfirm}
	}
	return pushedEnd(v)
}

func confirming(v view) decision {
	switch {
	case v.ro.Confirmed:
		return pushedEnd(v)
	case v.now.Before(v.ro.ConfirmBy):
		return decision{}
	case v.ro.Options.VerifyShares && v.ro.Gated < v.ro.Waves:
		return decision{act: actGate}
	case v.ro.Options.VerifyShares:
		return pushedEnd(v)
	}
	return turnBack(v, phrase.Of("result.unconfirmed", "window", v.ro.Options.ConfirmWindow))
}

// turnBack begins the roll-back, or ends the rollout as refused when nothing was written.
func turnBack(v view, reason phrase.Text) decision {
	if unwritten(v) {
		return refused(v, reason)
	}
	return decision{act: actUndo, reason: reason}
}

// unwritten reports whether neither a device nor the subnet manager was written, as far as rows say: a write is announced in
// them before it begins.
func unwritten(v view) bool {
	return v.tally.Touched == 0 && v.tally.Returned == 0 && v.ro.Placed == control.PlacedNone
}

// refused ends a rollout that has written nothing.
func refused(v view, reason phrase.Text) decision {
	if reason.ID != "result.refused" {
		reason = phrase.Of("result.refused", "reason", reason)
	}
	if v.tally.Failed > 0 {
		reason = phrase.Of("joined", "first", reason, "second", phrase.Of("result.read-now", "fabric", v.ro.Fabric))
	}
	return decision{act: actEnd, state: control.RolloutRefused, reason: reason}
}

func undoing(v view) decision {
	switch {
	case v.ready > 0:
		return decision{act: actOpen, wave: v.ro.Wave}
	case v.lower >= 0:
		return decision{act: actOpen, wave: v.lower}
	case v.ro.Placed == control.PlacedVerified && v.ro.Prior != "": // a release that returned devices first began it
		return decision{act: actUndo, reason: v.ro.Reason}
	}
	return undoneEnd(v)
}

// pushedEnd ends a rollout whose waves all went through. It claims no more than the rows do.
func pushedEnd(v view) decision {
	d := goneThrough(v)
	if v.ro.Reason.ID != "" { // what a health gate could not judge
		d.reason = phrase.Of("joined", "first", d.reason, "second", v.ro.Reason)
	}
	return d
}

func goneThrough(v view) decision {
	t := v.tally
	switch {
	case t.InSync == t.All && v.ro.Placed != control.PlacedUnverified && t.All > 0:
		return decision{act: actEnd, state: control.RolloutSucceeded, reason: phrase.Of("result.verified", "n", t.All)}
	case t.InSync == t.All && v.ro.Placed != control.PlacedUnverified:
		return decision{act: actEnd, state: control.RolloutSucceeded, reason: phrase.Of("result.placement", "state", string(v.ro.Placed))}
	case unplaceable(v.ro): // what was placed stays on record as placed
		return decision{act: actEnd, state: control.RolloutFailed, reason: phrase.Of("result.not-unplaced", "n", t.InSync, "all", t.All)}
	case t.Dirty > 0 || t.Open > 0:
		return decision{act: actEnd, state: control.RolloutFailed, reason: phrase.Of("result.in-between", "n", t.Dirty+t.Open, "why", v.faults)}
	}
	return decision{act: actEnd, state: control.RolloutPartial, reason: phrase.Of("result.partial", "n", t.InSync, "all", t.All, "faults", v.faults)}
}

// undoneEnd ends a rollout that was undone as far as it could be.
func undoneEnd(v view) decision {
	reason := v.ro.Reason
	switch {
	case unwritten(v):
		return refused(v, reason)
	case v.tally.Touched > 0:
		return decision{act: actEnd, state: control.RolloutFailed,
			reason: phrase.Of("result.in-between", "n", v.tally.Touched, "why", append([]phrase.Text{reason}, v.faults...))}
	case v.ro.Placed == control.PlacedUnverified && !v.unplaced:
		return decision{act: actEnd, state: control.RolloutFailed, reason: phrase.Of("joined", "first", reason, "second", halfPlaced)}
	case v.ro.Placed == control.PlacedVerified && !v.unplaced:
		reason = phrase.Of("joined", "first", reason, "second", phrase.Of("result.placements-stay"))
	}
	return decision{act: actEnd, state: control.RolloutRolledBack, reason: reason}
}

// halfPlaced says of placements what is known when the last word about them is missing.
var halfPlaced = phrase.Of("result.half-placed")

// canceled ends a rollout where it is. It claims no more than the rows do.
func canceled(v view) decision {
	d := decision{act: actEnd, state: control.RolloutCanceled}
	switch {
	case v.tally.Dirty > 0:
		d.state = control.RolloutFailed
		d.reason = phrase.Of("result.canceled", "actor", v.ro.WishActor, "what", phrase.Of("result.in-between", "n", v.tally.Dirty, "why", v.faults))
	case v.ro.Phase == control.PhaseConfirming:
		d.reason = phrase.Of("result.canceled", "actor", v.ro.WishActor, "what", phrase.Of("result.stay", "n", v.tally.InSync))
	default:
		d.reason = phrase.Of("result.canceled", "actor", v.ro.WishActor, "what", phrase.Of("result.reached", "n", v.tally.InSync, "all", v.tally.All, "open", v.tally.Open))
	}
	if v.ro.Placed == control.PlacedUnverified && !v.unplaced {
		d.reason = phrase.Of("joined", "first", d.reason, "second", halfPlaced)
	}
	return d
}
