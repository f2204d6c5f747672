package drift

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"fairlane/ccconfig/driver"
	"fairlane/internal/phrase"
	"fairlane/policy"
	"fairlane/service/control"
	"fairlane/service/device"
	"fairlane/subnet/ident"
)

// A repair is a rollout of the plan in force to some of its devices, under the rules of every rollout: it never runs
// concurrently with another on its fabric, the previous settings of a device are recorded before the first write, every
// write is verified by a read, and any manager continues it when one dies. The one difference: each device fails on its
// own, and no failure undoes the repair of other devices.

// RepairDevice repairs one device now, whatever its policy, except freeze; ref is as in Device.
func (s *Drift) RepairDevice(ctx context.Context, fabric, ref string) (ro control.Rollout, err error) {
	k, err := s.watched(ctx, fabric)
	if err != nil {
		return control.Rollout{}, err
	}
	t, err := k.find(ref)
	if err != nil {
		return control.Rollout{}, err
	}
	if _, ok := device.Gone(t.Device); k.left[t.Device.ID] != nil && !ok {
		return control.Rollout{}, &control.ConflictError{Code: "not-repairable", Said: phrase.Of("labelled", "label", t.Device.Name, "text", k.keptText())}
	}
	if err := s.onlyOthersRepair(ctx, k, t.Device); err != nil {
		return control.Rollout{}, err
	}
	err = s.Store.Tx(control.OnFabric(ctx, fabric), func(r control.Repos) (err error) {
		ro, err = s.startRepair(ctx, r, k, []ident.PortID{t.Device.ID})
		return err
	})
	return ro, err
}

// onlyOthersRepair fails with *ConflictError "not-repairable" when the only faults of a device are prerequisites that the
// fabric's setting keeps Fairlane from writing. A repair would verify the settings and leave the device drifted. A device
// that cannot be read now is repaired; the repair then reports why it fails.
func (s *Drift) onlyOthersRepair(ctx context.Context, k *known, d driver.Device) error {
	reports, err := s.observeWatched(ctx, k, []ident.PortID{d.ID})
	if err != nil || len(reports) != 1 || len(reports[0].Differences) == 0 {
		return ctx.Err()
	}
	var reasons []string
	for i := range reports[0].Differences {
		x := &reports[0].Differences[i]
		if !x.Left(k.target.Fabric.Prerequisites) {
			return nil
		}
		reasons = append(reasons, x.Reason)
	}
	return &control.ConflictError{Code: "not-repairable", Said: phrase.Of("problem.only-prerequisites", "device", d.Name, "reasons", reasons)}
}

// startRepair records a repair of devices of the plan in force, in their order, or of its subnet manager alone, with the
// job that makes a manager start it.
func (s *Drift) startRepair(ctx context.Context, r control.Repos, k *known, ids []ident.PortID) (control.Rollout, error) {
	fabric, plan := k.target.Fabric.Name, k.target.Plan.Name
	name, err := control.InForceName(ctx, r, fabric)
	if err != nil {
		return control.Rollout{}, err
	}
	if name != plan {
		return control.Rollout{}, &control.ConflictError{Code: "plan-changed", Said: phrase.Of("problem.plan-changed", "plan", fmt.Sprintf("%.12s", name))}
	}
	if len(ids) == 1 && device.IsManager(ids[0]) {
		ro := control.Rollout{
			Fabric: fabric, Plan: plan, Stages: []control.Stage{control.StagePlacement},
			Options: control.RolloutOptions{Repair: true, Manager: true, Wave: repairWave, Domain: string(device.DomainNone), Attempts: repairTry},
		}
		return s.rollouts.AddRollout(ctx, r, ro, nil, func(id int64) phrase.Text { return phrase.Of("event.placement-repair", "rollout", id) })
	}
	targets := make([]device.Target, len(ids))
	for i, id := range ids {
		targets[i] = k.list[k.index[id]]
	}
	steps, err := device.PlanWaves(targets, k.target.Topology, device.WaveOptions{Wave: repairWave, Domain: device.DomainNone})
	if err != nil {
		return control.Rollout{}, err
	}
	ro := control.Rollout{
		Fabric: fabric, Plan: plan, Stages: []control.Stage{control.StageSettings}, Waves: len(steps),
		Options: control.RolloutOptions{Repair: true, Wave: repairWave, Domain: string(device.DomainNone), FailureBudget: len(targets), Attempts: repairTry},
	}
	var devices []control.RolloutDevice
	for w, step := range steps {
		for _, t := range step.Targets {
			devices = append(devices, control.RolloutDevice{Device: targets[t].Device, State: device.Pending, Wave: w, Note: phrase.Of("note.waits-repair")})
		}
	}
	what := phrase.Verbatim(devices[0].Device.Name)
	if n := len(devices); n > 1 {
		what = phrase.Of("count.device", "n", n)
	}
	return s.rollouts.AddRollout(ctx, r, ro, devices, func(id int64) phrase.Text { return phrase.Of("event.repair", "rollout", id, "what", what) })
}

// settleDevices updates the records of devices after a rollout ended.
func (s *Drift) settleDevices(ctx context.Context, r control.Repos, ro control.Rollout) error {
	p, _, err := control.DriftPolicyOf(ctx, r, ro.Fabric)
	if err != nil {
		return err
	}
	now := s.Now()
	events, err := s.settleManager(ctx, r, ro, p, now)
	if err != nil {
		return err
	}
	if !ro.Options.Repair {
		f, err := r.Fabric(ctx, ro.Fabric)
		if err != nil {
			return err
		}
		// On RoCE, a rollout does not verify the prerequisites: its devices are read again before they count as in sync.
		kept := (ro.State == control.RolloutSucceeded || ro.State == control.RolloutPartial) && f.Plane != policy.PlaneRoCE
		return errors.Join(r.SettleDevices(ctx, ro.ID, kept, now), s.recordTurns(ctx, r, events))
	}
	whole, err := r.Rollout(ctx, ro.Fabric, ro.ID)
	if err != nil {
		return err
	}
	ids := make([]ident.PortID, len(whole.Devices))
	for i := range whole.Devices {
		ids[i] = whole.Devices[i].Device.ID
	}
	list, err := r.DeviceRecords(ctx, ro.Fabric, ids)
	if err != nil {
		return err
	}
	became := make(map[ident.PortID]*control.RolloutDevice, len(ids))
	for i := range whole.Devices {
		became[ids[i]] = &whole.Devices[i]
	}
	for i := range list {
		d := &list[i]
		events = append(events, s.settleRepair(d, became[d.Device.ID], ro, p, now)...)
	}
	if err := r.PutDeviceRecords(ctx, ro.Fabric, list); err != nil {
		return err
	}
	return s.recordTurns(ctx, r, events)
}

// settleManager updates the record of the subnet manager, if any, after a rollout with placements ended, and returns its
// events.
func (s *Drift) settleManager(ctx context.Context, r control.Repos, ro control.Rollout, p control.DriftPolicy, now time.Time) ([]control.Event, error) {
	if !slices.Contains(ro.Stages, control.StagePlacement) {
		return nil, nil
	}
	list, err := r.DeviceRecords(ctx, ro.Fabric, []ident.PortID{device.Manager().ID})
	if err != nil || len(list) == 0 {
		return nil, err
	}
	d := &list[0]
	var turns []device.Turn
	switch {
	case ro.Placed == control.PlacedVerified && (ro.State == control.RolloutSucceeded || ro.State == control.RolloutPartial):
		d.ReadBy, turns = "", d.InSync(ro.Plan, now, p, now)
	case ro.Options.Manager:
		turns = d.NotRepaired(ro.Result, p, now)
	default:
		d.Watch.Reading, d.Watch.Seen, d.Watch.Steady = device.ReadingUnknown, device.ReadingUnknown, time.Time{}
		d.Differences, d.Error, d.Due = nil, phrase.Text{}, now
	}
	if ro.Options.Manager {
		d.Repair = ro.ID
	}
	return s.turnEvents(ro.Fabric, d, turns, phrase.Text{}, now), r.PutDeviceRecords(ctx, ro.Fabric, list)
}

// settleRepair records the result of a repair in a device's record.
func (s *Drift) settleRepair(d *control.DeviceRecord, x *control.RolloutDevice, ro control.Rollout, p control.DriftPolicy, now time.Time) []control.Event {
	d.Repair = ro.ID
	var turns []device.Turn
	switch x.State {
	case device.InSync:
		if slices.ContainsFunc(d.Differences, func(x control.Difference) bool { return x.Prerequisite != "" }) {
			d.Due = now // the next reading verifies the prerequisites
			break
		}
		turns = d.InSync(ro.Plan, x.UpdatedAt, p, now)
	case device.Pending, device.Unknown: // the repair did not reach it
		d.Due = now
	default:
		turns = d.NotRepaired(x.Error, p, now)
	}
	return s.turnEvents(ro.Fabric, d, turns, phrase.Text{}, now)
}
