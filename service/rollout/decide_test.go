package rollout

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"fairlane/internal/phrase"
	"fairlane/service/control"
)

// after returns the phase that an act leads to.
func after(from control.Phase, a act) control.Phase {
	switch a {
	case actPush:
		return control.PhasePushing
	case actConfirm:
		return control.PhaseConfirming
	case actSettle:
		return control.PhasePlacing
	case actUndo:
		return control.PhaseUnplacing
	case actUnwind:
		return control.PhaseUndoing
	case actEnd:
		return control.PhaseEnded
	}
	return from
}

// moves are the transitions in the diagram of the package comment.
func moves(from control.Phase) []control.Phase {
	switch from {
	case control.PhasePlacing:
		return []control.Phase{control.PhasePushing, control.PhaseConfirming, control.PhaseUnplacing, control.PhaseEnded}
	case control.PhasePushing:
		return []control.Phase{control.PhasePlacing, control.PhaseConfirming, control.PhaseUnplacing, control.PhaseEnded}
	case control.PhaseConfirming:
		return []control.Phase{control.PhaseUnplacing, control.PhaseEnded}
	case control.PhaseUnplacing:
		return []control.Phase{control.PhaseUndoing}
	case control.PhaseUndoing: // back only for rollouts that an earlier release began
		return []control.Phase{control.PhaseUnplacing, control.PhaseEnded}
	}
	return nil
}

// each walks all views of a small rollout: every phase, request, wave, and state of three devices.
func each(f func(view)) {
	now := time.Unix(1000, 0)
	states := []struct {
		state   control.DeviceState
		touched bool
	}{{"in-sync", true}, {"in-sync", false}, {"pending", false}, {"failed", true}, {"failed", false}, {"rolled-back", false}}
	for _, phase := range []control.Phase{control.PhasePlacing, control.PhasePushing, control.PhaseConfirming, control.PhaseUndoing, control.PhaseUnplacing, control.PhaseEnded} {
		for _, request := range []control.RolloutRequest{control.RequestRun, control.RequestPause, control.RequestCancel, control.RequestUndo} {
			for bits := range 1 << 11 {
				bit := func(n int) int { return bits >> n & 1 }
				for _, a := range states {
					for _, b := range states {
						v := view{now: now, busy: bit(0), ready: bit(1), lower: bit(2) - 1, faults: []phrase.Text{phrase.Verbatim("x")}}
						v.ro = control.Rollout{ID: 1, Phase: phase, Request: request, RequestedBy: "ada", Waves: 2, Wave: bit(3), Gated: bit(4) - 1, Stages: []control.Stage{control.StagePlacement, control.StageSettings},
							Confirmed: bit(5) == 1, ConfirmBy: now.Add(time.Duration(bit(6)*2-1) * time.Second), Reason: phrase.Verbatim("why")}
						v.ro.Plan = "q"
						v.ro.Placed = []control.Placed{control.PlacedVerified, control.PlacedUnverified, control.PlacedNone, control.PlacedNone}[bit(7)+2*bit(9)]
						if bit(8) == 1 {
							v.ro.Prior = []string{"p", "q"}[bit(10)]
							v.ro.Options = control.RolloutOptions{ConfirmWindow: time.Minute, MinUtilisation: 0.5, FailureBudget: 1, CanaryWaves: []int{0}}
						}
						v.tally.Add(a.state, a.touched, 1)
						v.tally.Add(b.state, b.touched, 1)
						if a.state == "failed" {
							v.failedHere = 1
						}
						f(v)
					}
				}
			}
		}
	}
}

func TestDecideKeepsInvariantsInEveryView(t *testing.T) {
	t.Parallel()
	n, faults, ends := 0, map[string]string{}, map[control.RolloutState]int{}
	fault := func(v view, d decision, what string) {
		if _, described := faults[what]; !described {
			faults[what] = fmt.Sprintf("%+v from %+v", d, v)
		}
	}
	each(func(v view) {
		n++
		d := decide(v)
		undone := v.ro.Undoing()
		if next := after(v.ro.Phase, d.act); next != v.ro.Phase && !slices.Contains(moves(v.ro.Phase), next) {
			fault(v, d, "a move that is not in the drawing")
		}
		if v.busy > 0 && d.act != actWait {
			fault(v, d, "something is done while workers write")
		}
		if v.ro.Request == control.RequestPause && d.act != actWait {
			fault(v, d, "a paused rollout goes on")
		}
		if d.act == actOpen && !undone && (v.ro.Request != control.RequestRun || v.tally.Failed > v.ro.Options.FailureBudget) {
			fault(v, d, "a wave is opened though the rollout is to stop")
		}
		if d.act == actUndo && undone && (v.ready > 0 || v.lower >= 0 || v.ro.Placed != control.PlacedVerified) {
			fault(v, d, "the way back begins twice")
		}
		if d.act == actOpen && undone && d.wave > v.ro.Wave {
			fault(v, d, "undoing goes forward")
		}
		written := v.ro.Wave+1 == v.ro.Waves && v.ready == 0
		switch same := v.ro.Prior == v.ro.Plan; {
		case d.act == actPlace && !same && !written:
			fault(v, d, "traffic is moved onto service levels before all ports know them")
		case d.act == actCheck && same, d.act == actPush && v.ro.Placed != control.PlacedVerified:
			fault(v, d, "devices are written before anybody asked for the placements")
		case d.act == actOpen && undone && v.ro.Placed == control.PlacedVerified && v.ro.Prior != "" && v.ro.Phase == control.PhaseUnplacing:
			fault(v, d, "devices are undone while traffic still uses what they lose")
		case d.act == actGate && written && v.ro.Phase != control.PhaseConfirming && v.ro.Placed != control.PlacedVerified:
			fault(v, d, "shares are judged before the traffic was moved")
		}
		if d.act != actEnd {
			return
		}
		if d.reason.ID == "" {
			fault(v, d, "an end without a reason")
		}
		ends[d.state]++
		switch d.state {
		case control.RolloutSucceeded:
			if v.tally.InSync != v.tally.All || v.ro.Placed == control.PlacedUnverified || undone {
				fault(v, d, "a success that is none")
			}
			if v.ro.Options.ConfirmWindow > 0 && !v.ro.Confirmed {
				fault(v, d, "a success that nobody confirmed")
			}
		case control.RolloutRolledBack:
			switch nothing := unwritten(v); {
			case v.tally.Touched > 0:
				fault(v, d, "a roll-back that left something")
			case nothing && v.ro.Request != control.RequestUndo:
				fault(v, d, "a roll-back of nothing")
			case !nothing && !undone:
				fault(v, d, "a roll-back that returned nothing")
			}
		case control.RolloutRefused:
			if v.tally.Touched+v.tally.Returned > 0 || v.ro.Placed != control.PlacedNone {
				fault(v, d, "refused, though something was written")
			}
			if !undone && v.ro.Request == control.RequestUndo {
				fault(v, d, "a roll-back that an operator requested is called refused")
			}
		case control.RolloutPartial:
			if v.tally.Dirty+v.tally.Open > 0 || undone {
				fault(v, d, "a partial success that hides something")
			}
		case control.RolloutCanceled:
			if v.ro.Request != control.RequestCancel || v.tally.Dirty > 0 {
				fault(v, d, "canceled by nobody, or with a device in the middle")
			}
		case control.RolloutFailed:
		default:
			fault(v, d, "an end in no final state")
		}
	})
	for what, where := range faults {
		t.Errorf("%s: %s", what, where)
	}
	for _, s := range []control.RolloutState{control.RolloutSucceeded, control.RolloutPartial, control.RolloutFailed, control.RolloutRolledBack, control.RolloutRefused, control.RolloutCanceled} {
		if ends[s] == 0 {
			t.Errorf("no view ends as %s", s)
		}
	}
	if n < 100_000 {
		t.Errorf("only %d views were looked at", n)
	}
}

func TestAnUnconfirmedRolloutIsUndone(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	ro := control.Rollout{Phase: control.PhaseConfirming, Request: control.RequestRun, Waves: 1, ConfirmBy: now, Options: control.RolloutOptions{ConfirmWindow: time.Minute}}
	v := view{ro: ro, now: now.Add(-1), lower: -1}
	v.tally.Add("in-sync", true, 3)
	if d := decide(v); d.act != actWait {
		t.Errorf("before the end of the window: %+v", d)
	}
	v.now = now
	if d := decide(v); d.act != actUndo {
		t.Errorf("at the end of the window: %+v", d)
	}
	v.ro.Options.VerifyShares = true
	if d := decide(v); d.act != actGate {
		t.Errorf("with shares for a confirmation: %+v", d)
	}
	v.ro.Gated = v.ro.Waves
	if d := decide(v); d.act != actEnd || d.state != control.RolloutSucceeded {
		t.Errorf("with right shares: %+v", d)
	}
}
