package rollout

import (
	"slices"
	"time"

	"fairlane/internal/phrase"
	"fairlane/service/control"
)

// view is the input of decide.
type view struct {
	ro    control.Rollout
	tally control.Tally
	// failedHere is how many devices of the open wave failed.
	failedHere int
	now        time.Time
	busy       int // shards that are queued or running, of any wave
	ready      int // shards of the open wave and direction without a job, and not done
	// lower is the highest wave below the open one that has touched devices, -1 when there is none. Set only while
	// undoing.
	lower int
	// faults are the first errors of devices, for the reason of a roll-back.
	faults []phrase.Text
	// unplaced says that the fabric's plane has no placements. Set only while undoing, and when placements are
	// unverified.
	unplaced bool
}

// act is what to do next.
type act int

// Acts. Those from actExamine on take time and run outside of a transaction.
const (
	actWait    act = iota // wait for a change
	actPush               // enter pushing
	actSettle             // enter placing, after the waves
	actOpen               // open the next wave, or the remaining shards of the open one again
	actConfirm            // enter confirming
	actUndo               // enter unplacing, from where undoing follows
	actUnwind             // enter undoing
	actEnd                // end the rollout

	actExamine // check the prerequisites of congestion control
	actCheck   // check whether the placements are possible
	actPlace   // apply the placements and verify them
	actGate    // run the health gates on the open wave
	actUnplace // restore the placements
)

// slow reports whether an act runs outside of a transaction.
func (a act) slow() bool { return a >= actExamine }

// decision is an act with its parameters.
type decision struct {
	act    act
	wave   int                  // to open
	state  control.RolloutState // final state
	reason phrase.Text          // of undoing, or the result at the end
}

// decide returns the next act for a view. It is a pure function.
func decide(v view) decision {
	if v.busy > 0 || v.ro.Phase == control.PhaseEnded {
		return decision{} // the last running shard requests the next step
	}
	switch {
	case v.ro.Request == control.RequestPause:
		return decision{}
	case v.ro.Request == control.RequestCancel && !v.ro.Undoing():
		return canceled(v)
	case v.ro.Request == control.RequestUndo && !v.ro.Undoing():
		reason := phrase.Of("result.roll-back-requested", "actor", v.ro.RequestedBy)
		if unwritten(v) { // not refused: an operator ended it
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

// Settings precede the placements that need them: a tenant's traffic never uses a service level that the ports on its
// path do not know yet. device.HoldOver keeps the settings of its previous level, and a later rollout removes them. In a
// roll-back the placements are restored first. A rollout of the plan whose placements are in force moves no traffic: it
// places first, which removes from the subnet manager what is not in the plan, and then the settings for that. So does a
// rollout that removes everything: traffic leaves the service levels before their settings are removed.

func placing(v view) decision {
	switch {
	case v.ro.Gated == control.GatedUnexamined:
		return decision{act: actExamine}
	case toPlace(v) && (v.ro.Prior == v.ro.Plan || v.ro.Options.To != "" || pushed(v)):
		return decision{act: actPlace}
	case toPlace(v): // before any device is written in vain
		return decision{act: actCheck}
	case !pushed(v):
		return decision{act: actPush}
	}
	return settled(v)
}

// toPlace reports whether placements are still to be applied.
func toPlace(v view) bool {
	return slices.Contains(v.ro.Stages, control.StagePlacement) && v.ro.Placed != control.PlacedVerified && !unplaceable(v.ro)
}

// unplaceable reports whether a release failed to remove placements. It continues with the devices: a release must work
// even where the subnet manager does not.
func unplaceable(ro control.Rollout) bool {
	return ro.Options.Release && ro.Placed == control.PlacedUnverified && ro.Reason.ID != ""
}

// pushed reports whether every wave is complete.
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

// settled decides what follows when every wave is complete and placements are final: the gate of the last wave judges
// both.
func settled(v view) decision {
	if v.ro.Gated < v.ro.Wave && gated(v) {
		return decision{act: actGate}
	}
	return written(v)
}

// gated reports whether a health gate applies to the open wave.
func gated(v view) bool {
	o := v.ro.Options
	last := v.ro.Wave+1 == v.ro.Waves
	return o.MinUtilisation > 0 || last && (o.CheckLoop || o.MaxShareError > 0 && !o.VerifyShares)
}

// overBudget returns why too many devices have failed; empty while the failure budget holds.
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

// written decides what follows when everything is written and the gates have judged it.
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

// unwritten reports whether neither a device nor the subnet manager was written, according to the rows: they announce
// every write before it starts.
func unwritten(v view) bool {
	return v.tally.Touched == 0 && v.tally.Returned == 0 && v.ro.Placed == control.PlacedNone
}

// refused ends a rollout that has written nothing.
func refused(v view, reason phrase.Text) decision {
	if reason.ID != "result.refused" {
		reason = phrase.Of("result.refused", "reason", reason)
	}
	if v.tally.Failed > 0 {
		reason = phrase.Joined(reason, phrase.Of("result.read-now", "fabric", v.ro.Fabric))
	}
	return decision{act: actEnd, state: control.RolloutRefused, reason: reason}
}

func undoing(v view) decision {
	switch {
	case v.ready > 0:
		return decision{act: actOpen, wave: v.ro.Wave}
	case v.lower >= 0:
		return decision{act: actOpen, wave: v.lower}
	case v.ro.Placed == control.PlacedVerified && v.ro.Prior != "": // an earlier release that returned devices first began it
		return decision{act: actUndo, reason: v.ro.Reason}
	}
	return undoneEnd(v)
}

// pushedEnd ends a rollout whose waves are all complete. It claims no more than the rows show.
func pushedEnd(v view) decision {
	d := endAfterWaves(v)
	d.reason = phrase.Joined(d.reason, v.ro.Reason) // findings that a health gate could not judge
	return d
}

// endAfterWaves decides how a rollout ends whose waves are complete.
func endAfterWaves(v view) decision {
	t := v.tally
	switch {
	case t.InSync == t.All && v.ro.Placed != control.PlacedUnverified && t.All > 0:
		return decision{act: actEnd, state: control.RolloutSucceeded, reason: phrase.Of("result.verified", "n", t.All)}
	case t.InSync == t.All && v.ro.Placed != control.PlacedUnverified:
		return decision{act: actEnd, state: control.RolloutSucceeded, reason: phrase.Of("result.placement", "state", string(v.ro.Placed))}
	case unplaceable(v.ro): // placements that could not be removed stay recorded
		return decision{act: actEnd, state: control.RolloutFailed, reason: phrase.Of("result.not-unplaced", "n", t.InSync, "all", t.All)}
	case t.Dirty > 0 || t.Open > 0:
		return decision{act: actEnd, state: control.RolloutFailed, reason: phrase.Of("result.in-between", "n", t.Dirty+t.Open, "why", v.faults)}
	}
	return decision{act: actEnd, state: control.RolloutPartial, reason: phrase.Of("result.partial", "n", t.InSync, "all", t.All, "faults", v.faults)}
}

// undoneEnd ends a rollout that was undone as far as possible.
func undoneEnd(v view) decision {
	reason := v.ro.Reason
	switch {
	case unwritten(v):
		return refused(v, reason)
	case v.tally.Touched > 0:
		return decision{act: actEnd, state: control.RolloutFailed,
			reason: phrase.Of("result.in-between", "n", v.tally.Touched, "why", append([]phrase.Text{reason}, v.faults...))}
	case v.ro.Placed == control.PlacedUnverified && !v.unplaced:
		return decision{act: actEnd, state: control.RolloutFailed, reason: phrase.Joined(reason, halfPlaced)}
	case v.ro.Placed == control.PlacedVerified && !v.unplaced:
		reason = phrase.Joined(reason, phrase.Of("result.placements-stay"))
	}
	return decision{act: actEnd, state: control.RolloutRolledBack, reason: reason}
}

// halfPlaced describes placements whose final state is unknown.
var halfPlaced = phrase.Of("result.half-placed")

// canceled ends a rollout in its current state. It claims no more than the rows show.
func canceled(v view) decision {
	d := decision{act: actEnd, state: control.RolloutCanceled}
	switch {
	case v.tally.Dirty > 0:
		d.state = control.RolloutFailed
		d.reason = phrase.Of("result.canceled", "actor", v.ro.RequestedBy, "what", phrase.Of("result.in-between", "n", v.tally.Dirty, "why", v.faults))
	case v.ro.Phase == control.PhaseConfirming:
		d.reason = phrase.Of("result.canceled", "actor", v.ro.RequestedBy, "what", phrase.Of("result.stay", "n", v.tally.InSync))
	default:
		d.reason = phrase.Of("result.canceled", "actor", v.ro.RequestedBy, "what", phrase.Of("result.reached", "n", v.tally.InSync, "all", v.tally.All, "open", v.tally.Open))
	}
	if v.ro.Placed == control.PlacedUnverified && !v.unplaced {
		d.reason = phrase.Joined(d.reason, halfPlaced)
	}
	return d
}
