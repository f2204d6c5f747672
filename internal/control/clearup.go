package control

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"fairlane/internal/reconcile"
	"fairlane/policy"
	"fairlane/subnet/ident"
)

// A rollout that moves traffic to other service levels leaves on the ports what the levels before need, and with the
// subnet manager the partitions that no tenant needs any more: connections move when their applications like. Once it has
// succeeded, and so is there to stay, a rollout of the same plan takes both back.

// ClearUp starts the rollout that takes back what a fabric's last rollout held over, if there is anything. It does
// so once for a rollout; when that is undone or fails, what was left is drift like any other.
func (s *Service) ClearUp(ctx context.Context, fabric string) error {
	var last Rollout
	err := s.d.Store.View(ctx, func(r Repos) error {
		list, _, err := r.ListRollouts(ctx, fabric, Page{Limit: 1})
		if err == nil && len(list) > 0 {
			last = list[0]
		}
		return err
	})
	if err != nil || last.State != RolloutSucceeded || !last.Moves() || !s.first(fabric, last.ID) {
		return err
	}
	k, list, err := s.heldOver(ctx, last)
	if err != nil || k == nil {
		return errors.Join(err, s.again(fabric, err))
	}
	err = s.d.Store.Tx(ctx, func(r Repos) error {
		running, latest, err := rolloutsOf(ctx, r, fabric)
		if err != nil || running || latest != last.ID {
			return err
		}
		return s.startClearUp(ctx, r, k, list)
	})
	if errors.Is(err, ErrConflict) {
		return nil // a device is frozen: its policy is what somebody wants
	}
	return errors.Join(err, s.again(fabric, err))
}

// first reports whether this manager sees for the first time that a rollout has succeeded.
func (s *Service) first(fabric string, rollout int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cleared == nil {
		s.cleared = map[string]int64{}
	}
	before := s.cleared[fabric]
	s.cleared[fabric] = rollout
	return before != rollout
}

// again has a rollout looked at once more after an error.
func (s *Service) again(fabric string, err error) error {
	if err != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.cleared, fabric)
	}
	return nil
}

// heldOver finds the devices that keep something of the plan from whose placements a rollout moved, with what they are to be;
// k is nil when nothing at all is left of that plan. Ports that only that plan has keep all of it.
func (s *Service) heldOver(ctx context.Context, ro Rollout) (k *known, out []reconcile.Target, err error) {
	if k, err = s.known(ctx, ro.Fabric); err != nil || k.target.Plan.Name != ro.Plan {
		return nil, nil, err
	}
	before, err := s.target(ctx, ro.Fabric, ro.Prior)
	if err != nil {
		return nil, nil, err
	}
	for _, id := range holdOver(slices.Clone(k.list), k.target.Plan, before) {
		out = append(out, k.list[k.index[id]])
	}
	if before.Plan.RoCE == nil && slices.Contains(ro.Stages, StageSettings) {
		out = append(out, reconcile.Left(before.Plan, k.target.Topology, k.list)...)
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
func (s *Service) startClearUp(ctx context.Context, r Repos, k *known, targets []reconcile.Target) error {
	ro := Rollout{
		Fabric: k.target.Fabric.Name, Plan: k.target.Plan.Name, Stages: []Stage{StagePlacement},
		Options: RolloutOptions{Repair: true, Wave: repairWave, Domain: string(reconcile.DomainNone), FailureBudget: len(targets), Attempts: repairTry},
	}
	var devices []RolloutDevice
	if len(targets) > 0 {
		steps, err := reconcile.PlanWaves(targets, k.target.Topology, reconcile.WaveOptions{Wave: repairWave, Domain: reconcile.DomainNone})
		if err != nil {
			return err
		}
		ro.Stages, ro.Waves = append(ro.Stages, StageSettings), len(steps)
		for w, step := range steps {
			for _, t := range step.Targets {
				d := RolloutDevice{Device: targets[t].Device, State: string(reconcile.Pending), Wave: w,
					Note: "waits for its wave; the parameters of service levels that no tenant uses any more are taken back"}
				if !k.has(d.Device.ID) {
					d.Note = leftNote(d.Device)
				}
				devices = append(devices, d)
			}
		}
	}
	_, err := s.addRollout(ctx, r, ro, devices, fmt.Sprintf(", which takes back what plan %.12s needs no more, was started: %d devices", ro.Plan, len(devices)))
	return err
}
