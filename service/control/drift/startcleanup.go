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

// A rollout that moves traffic to other service levels keeps on the ports the settings of the previous levels, and in the
// subnet manager the partitions of the previous placements: applications move their connections when they reconnect. When
// it has succeeded, in whole or in part, a clean-up rollout of the same plan removes both. A rollout that was rolled back
// after it had placed traffic leaves its own partitions in the subnet manager; a rollout of the plan that is in force
// again removes them.

// cleanUpSearch bounds how many of the latest rollouts are searched for the one that placed traffic: repairs may follow
// it.
const cleanUpSearch = 16

// StartCleanUp starts the rollout that removes what a fabric's last rollout left, if anything. It does so once for each
// rollout; when the clean-up is undone or fails, what is left counts as drift.
func (s *Drift) StartCleanUp(ctx context.Context, fabric string) error {
	var last control.Rollout
	var newest int64
	err := s.Store.View(ctx, func(r control.Repos) error {
		f, err := r.Fabric(ctx, fabric)
		if err != nil || f.RepairsWait {
			return err
		}
		list, _, err := r.ListRollouts(ctx, fabric, control.Page{Limit: cleanUpSearch})
		if err == nil {
			last, newest = lastPlacing(list)
		}
		return err
	})
	if err != nil || !last.Leaves() || !s.firstCheck(fabric, last.ID) {
		return err
	}
	k, back, err := s.heldOver(ctx, last)
	list := make([]device.Target, len(back))
	for i := range back {
		list[i] = back[i].Target
	}
	if err != nil || k == nil {
		s.recheck(fabric, err != nil)
		return err
	}
	overtaken := false // another rollout started meanwhile
	err = s.Store.Tx(control.OnFabric(ctx, fabric), func(r control.Repos) error {
		running, latest, err := control.RolloutsOf(ctx, r, fabric)
		if overtaken = running || latest != newest; err != nil || overtaken {
			return err
		}
		return s.recordCleanUp(ctx, r, k, list)
	})
	s.recheck(fabric, err != nil || overtaken)
	if errors.Is(err, control.ErrConflict) {
		return nil // a device is frozen: its policy takes precedence over the clean-up
	}
	return err
}

// lastPlacing returns the first of a list of rollouts, newest first, that may have moved traffic; it skips repairs and
// refused rollouts. It is the zero Rollout while a rollout runs. newest is the highest number in the list.
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

// firstCheck reports whether this manager sees a successful rollout for the first time.
func (s *Drift) firstCheck(fabric string, rollout int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.cleared[fabric]
	s.cleared[fabric] = rollout
	return before != rollout
}

// recheck makes StartCleanUp check a fabric's last rollout once more, when must is set.
func (s *Drift) recheck(fabric string, must bool) {
	if must {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.cleared, fabric)
	}
}

// takenBack is a device with its desired state after the clean-up.
type takenBack struct {
	device.Target
	held *driver.Settings // its settings until then; nil for a port that only the previous plan had
}

// heldOver returns the devices that keep settings of the previous plan after a rollout moved traffic, with their desired
// state; k is nil when nothing of that plan is left. Ports that only the previous plan has keep all of its settings. A
// device that did not reach the rollout's desired state keeps none.
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
		return nil, nil, nil // the plan was deleted, so its settings are unknown
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

// leaves reports whether a placement in before is missing in after.
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

// recordCleanUp records the rollout, with the job that makes a manager start it.
func (s *Drift) recordCleanUp(ctx context.Context, r control.Repos, k *known, targets []device.Target) error {
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
