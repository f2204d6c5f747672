package drift

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"fairlane/ccconfig/driver"
	"fairlane/internal/phrase"
	"fairlane/policy"
	"fairlane/service/control"
	"fairlane/service/control/rollouts"
	"fairlane/service/device"
	"fairlane/subnet/ident"
)

// A rollout that moves traffic to other service levels leaves on the ports what the levels before need, and with the
// subnet manager the partitions that no tenant needs any more: connections move when their applications like. Once it has
// succeeded, in whole or in part, and so is there to stay, a rollout of the same plan takes both back. One that was rolled
// back after it had placed traffic leaves what only it needed with the subnet manager; a rollout of the plan that is in force
// again takes that back.

// clearUpLooks is how many of the latest rollouts are looked at for the one that placed traffic: repairs may follow it.
const clearUpLooks = 16

// ClearUp starts the rollout that takes back what a fabric's last rollout left, if there is anything. It does
// so once for a rollout; when that is undone or fails, what was left is drift like any other.
func (s *Drift) ClearUp(ctx context.Context, fabric string) error {
	var last control.Rollout
	var newest int64
	err := s.Store.View(ctx, func(r control.Repos) error {
		f, err := r.Fabric(ctx, fabric)
		if err != nil || f.RepairsWait {
			return err
		}
		list, _, err := r.ListRollouts(ctx, fabric, control.Page{Limit: clearUpLooks})
		if err == nil {
			last, newest = lastPlacing(list)
		}
		return err
	})
	if err != nil || !last.Leaves() || !s.first(fabric, last.ID) {
		return err
	}
	k, back, err := s.heldOver(ctx, last)
	list := make([]device.Target, len(back))
	for i := range back {
		list[i] = back[i].Target
	}
	if err != nil || k == nil {
		s.again(fabric, err != nil)
		return err
	}
	overtaken := false // another rollout began meanwhile
	err = s.Store.Tx(control.OnFabric(ctx, fabric), func(r control.Repos) error {
		running, latest, err := control.RolloutsOf(ctx, r, fabric)
		if overtaken = running || latest != newest; err != nil || overtaken {
			return err
		}
		return s.startClearUp(ctx, r, k, list)
	})
	s.again(fabric, err != nil || overtaken)
	if errors.Is(err, control.ErrConflict) {
		return nil // a device is frozen: its policy goes before the clean-up
	}
	return err
}

// lastPlacing returns the first of a list of rollouts, newest first, that may have moved traffic: repairs of drift and refused
// rollouts are skipped. It is the zero Rollout while a rollout runs. newest is the highest number in the list.
func lastPlacing(list []control.Rollout) (last control.Rollout, newest int64) {
	for i := range list {
		ro := &list[i]
		if newest = max(newest, ro.ID); ro.State == control.RolloutRunning {
			return control.Rollout{}, newest
		}
		if ro.State == control.RolloutRefused {
			continue
		}
		if !ro.Options.Repair || ro.ClearsUp() {
			return *ro, newest
		}
	}
	return control.Rollout{}, newest
}

// first reports whether this manager sees for the first time that a rollout has succeeded.
func (s *Drift) first(fabric string, rollout int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.cleared[fabric]
	s.cleared[fabric] = rollout
	return before != rollout
}

// again has a fabric's last rollout looked at once more, if it must.
func (s *Drift) again(fabric string, must bool) {
	if must {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.cleared, fabric)
	}
}

// takenBack is a device with what it is to be once the plan before is not needed any more.
type takenBack struct {
	device.Target
	held *driver.Settings // what it holds until then; nil for a port that the plan before alone had
}

// heldOver finds the devices that keep something of the plan from whose placements a rollout moved, with what they are to be;
// k is nil when nothing at all is left of that plan. Ports that only that plan has keep all of it. A device that the rollout did
// not bring to what it wanted holds nothing over.
func (s *Drift) heldOver(ctx context.Context, ro control.Rollout) (k *known, out []takenBack, err error) {
	back := ro.State == control.RolloutRolledBack
	stays, goes := ro.Plan, ro.Prior
	if back {
		stays, goes = goes, stays
	}
	if k, err = s.known(ctx, ro.Fabric); err != nil || k.target.Plan.Name != stays {
		return nil, nil, err
	}
	before, err := s.plans.LoadTarget(ctx, ro.Fabric, goes)
	if errors.Is(err, control.ErrNotFound) {
		return nil, nil, nil // the plan was deleted: what it had is not known
	}
	if err != nil {
		return nil, nil, err
	}
	if !back && slices.Contains(ro.Stages, control.StageSettings) {
		until := slices.Clone(k.list)
		held := rollouts.HoldOver(until, k.target.Plan, before)
		var rows []control.RolloutDevice
		err := s.Store.View(ctx, func(r control.Repos) (err error) { rows, err = r.DevicesOf(ctx, ro.ID, held); return err })
		if err != nil {
			return nil, nil, err
		}
		for i := range rows {
			if rows[i].State == device.InSync {
				at := k.index[rows[i].Device.ID]
				out = append(out, takenBack{k.list[at], &until[at].Want})
			}
		}
		slices.SortFunc(out, func(a, b takenBack) int { return a.Device.ID.Compare(b.Device.ID) })
		if before.Plan.RoCE == nil {
			for _, t := range device.Left(before.Plan, k.target.Topology, k.list) {
				out = append(out, takenBack{Target: t})
			}
		}
	}
	if len(out) == 0 && !leaves(before.Plan.Placements, k.target.Plan.Placements) {
		return nil, nil, nil
	}
	return k, out, nil
}

// leaves reports whether placements are no more among others.
func leaves(before, after []policy.Placement) bool {
	type place struct {
		key ident.PKey
		at  ident.PortID
		sl  ident.SL
	}
	has := make(map[place]bool, len(after))
	for _, p := range after {
		has[place{p.PKey.Base(), p.Port, p.SL}] = true
	}
	return slices.ContainsFunc(before, func(p policy.Placement) bool { return !has[place{p.PKey.Base(), p.Port, p.SL}] })
}

// startClearUp records the rollout, with the job that makes a manager begin it.
func (s *Drift) startClearUp(ctx context.Context, r control.Repos, k *known, targets []device.Target) error {
	ro := control.Rollout{
		Fabric: k.target.Fabric.Name, Plan: k.target.Plan.Name, Stages: []control.Stage{control.StagePlacement},
		Options: control.RolloutOptions{Repair: true, Wave: repairWave, Domain: string(device.DomainNone), FailureBudget: len(targets), Attempts: repairTry},
	}
	var devices []control.RolloutDevice
	if len(targets) > 0 {
		steps, err := device.PlanWaves(targets, k.target.Topology, device.WaveOptions{Wave: repairWave, Domain: device.DomainNone})
		if err != nil {
			return err
		}
		ro.Stages, ro.Waves = append(ro.Stages, control.StageSettings), len(steps)
		for w, step := range steps {
			for _, t := range step.Targets {
				d := control.RolloutDevice{Device: targets[t].Device, State: device.Pending, Wave: w,
					Note: phrase.Of("note.clean-up")}
				if !k.has(d.Device.ID) {
					d.Note = rollouts.LeftNote(d.Device)
				}
				devices = append(devices, d)
			}
		}
	}
	_, err := s.rollouts.AddRollout(ctx, r, ro, devices, func(id int64) phrase.Text {
		return phrase.Of("event.clean-up-started", "rollout", id, "plan", fmt.Sprintf("%.12s", ro.Plan), "devices", len(devices))
	})
	return err
}
