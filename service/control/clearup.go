package control

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"fairlane/ccconfig/driver"
	"fairlane/internal/phrase"
	"fairlane/policy"
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
func (s *Service) ClearUp(ctx context.Context, fabric string) error {
	var last Rollout
	var newest int64
	err := s.d.Store.View(ctx, func(r Repos) error {
		f, err := r.Fabric(ctx, fabric)
		if err != nil || f.RepairsWait {
			return err
		}
		list, _, err := r.ListRollouts(ctx, fabric, Page{Limit: clearUpLooks})
		if err == nil {
			last, newest = lastPlacing(list)
		}
		return err
	})
	if err != nil || !last.leaves() || !s.first(fabric, last.ID) {
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
	err = s.d.Store.Tx(OnFabric(ctx, fabric), func(r Repos) error {
		running, latest, err := rolloutsOf(ctx, r, fabric)
		if overtaken = running || latest != newest; err != nil || overtaken {
			return err
		}
		return s.startClearUp(ctx, r, k, list)
	})
	s.again(fabric, err != nil || overtaken)
	if errors.Is(err, ErrConflict) {
		return nil // a device is frozen: its policy goes before the clean-up
	}
	return err
}

// lastPlacing returns the first of a list of rollouts, newest first, that may have moved traffic: repairs of drift and refused
// rollouts are skipped. It is the zero Rollout while a rollout runs. newest is the highest number in the list.
func lastPlacing(list []Rollout) (last Rollout, newest int64) {
	for i := range list {
		ro := &list[i]
		if newest = max(newest, ro.ID); ro.State == RolloutRunning {
			return Rollout{}, newest
		}
		if ro.State == RolloutRefused {
			continue
		}
		if !ro.Options.Repair || ro.clearsUp() {
			return *ro, newest
		}
	}
	return Rollout{}, newest
}

// leaves reports whether a rollout that ended may have left something that a rollout of its own takes back.
func (ro *Rollout) leaves() bool {
	switch ro.State {
	case RolloutSucceeded, RolloutPartial:
		return ro.Moves()
	case RolloutRolledBack:
		return ro.Moves() && ro.Placed == PlacedRestored
	}
	return false
}

// first reports whether this manager sees for the first time that a rollout has succeeded.
func (s *Service) first(fabric string, rollout int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.cleared[fabric]
	s.cleared[fabric] = rollout
	return before != rollout
}

// again has a fabric's last rollout looked at once more, if it must.
func (s *Service) again(fabric string, must bool) {
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
func (s *Service) heldOver(ctx context.Context, ro Rollout) (k *known, out []takenBack, err error) {
	back := ro.State == RolloutRolledBack
	stays, goes := ro.Plan, ro.Prior
	if back {
		stays, goes = goes, stays
	}
	if k, err = s.known(ctx, ro.Fabric); err != nil || k.target.Plan.Name != stays {
		return nil, nil, err
	}
	before, err := s.target(ctx, ro.Fabric, goes)
	if errors.Is(err, ErrNotFound) {
		return nil, nil, nil // the plan was deleted: what it had is not known
	}
	if err != nil {
		return nil, nil, err
	}
	if !back && slices.Contains(ro.Stages, StageSettings) {
		until := slices.Clone(k.list)
		held := holdOver(until, k.target.Plan, before)
		var rows []RolloutDevice
		err := s.d.Store.View(ctx, func(r Repos) (err error) { rows, err = r.DevicesOf(ctx, ro.ID, held); return err })
		if err != nil {
			return nil, nil, err
		}
		for i := range rows {
			if rows[i].State == string(device.InSync) {
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
func (s *Service) startClearUp(ctx context.Context, r Repos, k *known, targets []device.Target) error {
	ro := Rollout{
		Fabric: k.target.Fabric.Name, Plan: k.target.Plan.Name, Stages: []Stage{StagePlacement},
		Options: RolloutOptions{Repair: true, Wave: repairWave, Domain: string(device.DomainNone), FailureBudget: len(targets), Attempts: repairTry},
	}
	var devices []RolloutDevice
	if len(targets) > 0 {
		steps, err := device.PlanWaves(targets, k.target.Topology, device.WaveOptions{Wave: repairWave, Domain: device.DomainNone})
		if err != nil {
			return err
		}
		ro.Stages, ro.Waves = append(ro.Stages, StageSettings), len(steps)
		for w, step := range steps {
			for _, t := range step.Targets {
				d := RolloutDevice{Device: targets[t].Device, State: string(device.Pending), Wave: w,
					Note: phrase.Of("note.clean-up")}
				if !k.has(d.Device.ID) {
					d.Note = leftNote(d.Device)
				}
				devices = append(devices, d)
			}
		}
	}
	_, err := s.addRollout(ctx, r, ro, devices, func(id int64) phrase.Text {
		return phrase.Of("event.clean-up-started", "rollout", id, "plan", fmt.Sprintf("%.12s", ro.Plan), "devices", len(devices))
	})
	return err
}
