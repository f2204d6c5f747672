package rollouts

import (
	"context"
	"slices"

	"fairlane/internal/phrase"
	"fairlane/policy"
	"fairlane/service/control"
	"fairlane/service/control/plans"
	"fairlane/service/device"
	"fairlane/subnet/ident"
)

// A return removes everything that Fairlane wrote to a fabric. It is a rollout of the empty plan, in which each device
// gets its baseline, or no congestion control. Waves, leases, read-back and roll-back work as in every rollout. Two
// things differ: one device's failure does not stop the others, and placements are removed first. A release is a return
// after which Fairlane manages nothing on the fabric.

// ReleasePreview is the effect that a release would have.
type ReleasePreview struct {
	To      control.ReturnTo
	Devices []ReturningDevice // by device
	// Placements are those that the subnet manager would remove, one for each tenant and port.
	Placements []policy.Placement
	Waves      []WavePreview
}

// ReturningDevice is a device that returns.
type ReturningDevice struct {
	control.Baseline
	Missing bool // it is no longer on the fabric, so it cannot be returned
	// Changes are the writes of the return: Desired is the new value. They are valid when Error is empty.
	Changes []control.Difference
	Error   phrase.Text // why the device could not be compared
}

// returning is a validated return, divided into waves.
type returning struct {
	plan    control.Plan // the plan without devices
	to      control.ReturnTo
	all     []control.Baseline
	list    []device.Target // devices that are on the fabric
	missing []control.Baseline
	prepared
}

// prepareReturn determines the effect of a return on all devices that were ever written or, with held, on those that may
// hold settings of Fairlane. It changes nothing.
func (s *Rollouts) prepareReturn(ctx context.Context, fabric string, to control.ReturnTo, held bool, o control.RolloutOptions) (x returning, err error) {
	if to != control.ToBaseline && to != control.ToFactory {
		return x, control.Invalid("/to", phrase.Of("problem.return-to", "found", to))
	}
	if err := o.Check(); err != nil {
		return x, err
	}
	if x.target, err = s.plans.BareTarget(ctx, fabric); err != nil {
		return x, err
	}
	if o.Release && x.target.Fabric.Management == control.Released {
		return x, &control.ConflictError{Code: "fabric-released", Said: control.ReleasedText(x.target.Fabric)}
	}
	snapshot := ""
	err = s.Store.View(ctx, func(r control.Repos) error {
		snapshot = x.target.Fabric.Snapshot.SHA256
		x.all, err = r.Baselines(ctx, fabric, nil)
		return err
	})
	if err != nil {
		return x, err
	}
	options := policy.Options{Plane: x.target.Fabric.Plane}
	if x.target.Plan, err = policy.Compile(policy.Input{Fabric: x.target.Topology, Options: options}); err != nil {
		return x, plans.Uncompilable(err)
	}
	x.to, x.plan = to, control.Plan{Fabric: fabric, Plan: x.target.Plan, Input: control.PlanInput{Snapshot: snapshot, Options: options}, CreatedAt: s.Now()}
	x.all = slices.DeleteFunc(x.all, func(b control.Baseline) bool { return held && !b.Held })
	for i := range x.all {
		b := &x.all[i]
		d, ok := control.Present(b.Device, x.target.Topology)
		if !ok {
			x.missing = append(x.missing, *b)
			continue
		}
		x.list = append(x.list, device.Target{Device: d, Want: to.Want(b)})
	}
	o.To, o.FailureBudget = to, min(len(x.all), device.MaxTargets)
	x.in = RolloutInput{Plan: x.target.Plan.Name, Stages: []control.Stage{control.StagePlacement, control.StageSettings}, Options: o}
	return x, x.waving()
}

// waving divides the returning devices into waves, without canaries: a device that cannot be returned does not stop the
// others. Devices that are no longer on the fabric are recorded as failed at once.
func (x *returning) waving() error {
	if err := x.cutTargets(x.list, func(device.Target) phrase.Text { return phrase.Of("note.waits-return", "settings", x.to.Words()) }); err != nil {
		return err
	}
	x.in.Options.CanaryWaves = nil
	for i := range x.waves {
		x.waves[i].Canary = false
	}
	if len(x.missing) == 0 {
		return nil
	}
	last := WavePreview{Shards: 1} // a wave of its own: another node may have the address of one of them by now
	for _, b := range x.missing {
		x.devices = append(x.devices, control.RolloutDevice{
			Device: b.Device, State: device.Failed, Error: control.ReasonNotOnFabric(), Note: phrase.Of("note.cannot-return", "settings", x.to.Words()), Wave: len(x.waves),
		})
		last.Devices = append(last.Devices, b.Device)
	}
	x.waves = append(x.waves, last)
	return nil
}

// startReturn records a return with the job that makes a manager start it. also runs in the same transaction.
func (s *Rollouts) startReturn(ctx context.Context, fabric string, x returning, said func(id int64) phrase.Text, also func(control.Repos) error) (out control.Rollout, err error) {
	err = s.Store.Tx(control.OnFabric(ctx, fabric), func(r control.Repos) error {
		if _, _, err := r.PutPlan(ctx, x.plan); err != nil {
			return err
		}
		ro := control.Rollout{Fabric: fabric, Plan: x.plan.Plan.Name, Stages: x.in.Stages, Options: x.in.Options, Waves: len(x.waves)}
		if out, err = s.AddRollout(ctx, r, ro, x.devices, said); err != nil {
			return err
		}
		return also(r)
	})
	return out, err
}

// ReturnToBaseline starts a rollout that returns every device that Fairlane wrote to its baseline, and removes
// placements.
func (s *Rollouts) ReturnToBaseline(ctx context.Context, fabric string, o control.RolloutOptions) (control.Rollout, error) {
	x, err := s.baselineReturn(ctx, fabric, o)
	if err != nil {
		return control.Rollout{}, err
	}
	return s.startReturn(ctx, fabric, x, func(id int64) phrase.Text {
		return phrase.Of("event.return-started", "rollout", id, "devices", len(x.devices))
	}, func(control.Repos) error { return nil })
}

// previewReturn returns the devices that ReturnToBaseline would write, in waves.
func (s *Rollouts) previewReturn(ctx context.Context, fabric string, o control.RolloutOptions) ([]WavePreview, error) {
	x, err := s.baselineReturn(ctx, fabric, o)
	if err != nil {
		return nil, err
	}
	return x.waves, s.wouldStart(ctx, fabric, &x.prepared)
}

// baselineReturn prepares the return of all devices to the baseline. It fails when no device was ever written.
func (s *Rollouts) baselineReturn(ctx context.Context, fabric string, o control.RolloutOptions) (returning, error) {
	x, err := s.prepareReturn(ctx, fabric, control.ToBaseline, false, o)
	if err == nil && len(x.all) == 0 {
		err = &control.ConflictError{Code: "no-plan", Said: phrase.Of("problem.no-baseline", "fabric", fabric)}
	}
	return x, err
}

// ReleaseFabric starts the rollout that removes everything, after which Fairlane manages nothing on the fabric. Unless it
// succeeds for every device, the fabric stays "releasing", and the release can be run again.
func (s *Rollouts) ReleaseFabric(ctx context.Context, fabric string, to control.ReturnTo, o control.RolloutOptions) (control.Rollout, error) {
	o.Release = true
	x, err := s.prepareReturn(ctx, fabric, to, false, o)
	if err != nil {
		return control.Rollout{}, err
	}
	x.in.Options.Again = x.target.Fabric.Management == control.Releasing
	return s.startReturn(ctx, fabric, x, func(id int64) phrase.Text {
		return phrase.Of("event.release-started", "rollout", id, "fabric", fabric, "devices", len(x.devices), "settings", x.to.Words())
	}, func(r control.Repos) error {
		return r.SetManagement(ctx, fabric, control.Releasing, s.Now())
	})
}

// returnTargets returns the devices of a return with their desired states.
func (s *Rollouts) returnTargets(ctx context.Context, ro *control.Rollout) (out []device.Target, err error) {
	ids := make([]ident.PortID, len(ro.Devices))
	for i := range ro.Devices {
		ids[i] = ro.Devices[i].Device.ID
	}
	err = s.Store.View(ctx, func(r control.Repos) error {
		list, err := r.Baselines(ctx, ro.Fabric, ids)
		for i := range list {
			out = append(out, device.Target{Device: list[i].Device, Want: ro.Options.To.Want(&list[i])})
		}
		return err
	})
	return out, err
}

// PreviewRelease returns the effect that a release would have. It reads the devices, and writes nothing.
func (s *Rollouts) PreviewRelease(ctx context.Context, fabric string, to control.ReturnTo, o control.RolloutOptions) (out ReleasePreview, err error) {
	o.Release = true
	x, err := s.prepareReturn(ctx, fabric, to, false, o)
	if err != nil {
		return out, err
	}
	if err := s.wouldStart(ctx, fabric, &x.prepared); err != nil {
		return out, err
	}
	out = ReleasePreview{To: to, Waves: x.waves}
	err = s.Store.View(ctx, func(r control.Repos) error {
		name, err := r.PlacedPlan(ctx, fabric)
		if err != nil || name == "" {
			return err
		}
		p, err := r.Plan(ctx, fabric, name)
		if err == nil {
			out.Placements = p.Plan.Placements
		}
		return err
	})
	if err != nil {
		return out, err
	}
	var reports []control.DeviceReport
	if x.target.Devices = x.list; len(x.list) > 0 {
		if reports, err = s.Observer.Observe(ctx, x.target, nil); err != nil {
			return out, &control.UnavailableError{Code: "devices-unreachable", Said: phrase.Of("problem.devices-unread", "fabric", fabric), Err: err}
		}
	}
	read := make(map[ident.PortID]*control.DeviceReport, len(reports))
	for i := range reports {
		read[reports[i].Device.ID] = &reports[i]
	}
	out.Devices = make([]ReturningDevice, len(x.all))
	for i, b := range x.all {
		_, there := control.Present(b.Device, x.target.Topology)
		d := ReturningDevice{Baseline: b, Missing: !there}
		if r := read[b.Device.ID]; r != nil {
			d.Changes, d.Error = r.Differences, r.Error
		}
		out.Devices[i] = d
	}
	return out, nil
}

// ManageFabric resumes the management of a fabric that was released, or whose release did not complete. After a complete
// release baselines start anew: the settings of a device before its next first write are its new baseline.
func (s *Rollouts) ManageFabric(ctx context.Context, name string) (f control.Fabric, err error) {
	err = s.Store.Tx(control.OnFabric(ctx, name), func(r control.Repos) error {
		if err := control.AtRest(ctx, r, name); err != nil {
			return err
		}
		if f, err = r.Fabric(ctx, name); err != nil || f.Management == control.Managed {
			return err
		}
		before, dropped := f.Management, int64(0)
		if before == control.Released {
			if dropped, err = r.DropBaselines(ctx, name); err != nil {
				return err
			}
		}
		if err := r.SetManagement(ctx, name, control.Managed, s.Now()); err != nil {
			return err
		}
		if f, err = r.Fabric(ctx, name); err != nil {
			return err
		}
		return s.AddEvent(ctx, r, control.Event{Fabric: name, Kind: "fabric.managed", Subject: name, Said: phrase.Of("event.managed", "fabric", name)},
			control.Change{Before: map[string]any{"management": before, "baselines": dropped}, After: map[string]any{"management": control.Managed}})
	})
	return f, err
}

// underManagement rejects a rollout on a fabric that Fairlane does not manage.
func underManagement(f control.Fabric, ro *control.Rollout) error {
	if f.Management == control.Managed || f.Management == "" || ro.Options.Release {
		return nil
	}
	return &control.ConflictError{Code: "fabric-released", Said: control.ReleasedText(f)}
}

// SettleRelease updates a fabric's management when its release ends.
func (s *Rollouts) SettleRelease(ctx context.Context, r control.Repos, ro control.Rollout) error {
	if !ro.Options.Release {
		return nil
	}
	var to control.Management
	switch ro.State {
	case control.RolloutSucceeded:
		to = control.Released
	case control.RolloutRolledBack, control.RolloutRefused:
		if ro.Options.Again {
			return nil // what the earlier release left remains again
		}
		to = control.Managed
	default: // it stays Releasing until the release is run again or abandoned
		return r.SeedDevices(ctx, ro.Fabric, "", nil)
	}
	err := r.SetManagement(ctx, ro.Fabric, to, s.Now())
	if err != nil || to != control.Released {
		return err
	}
	// The devices are not read any more: old readings would be shown and counted forever.
	if err := r.SeedDevices(ctx, ro.Fabric, "", nil); err != nil {
		return err
	}
	return s.AddEvent(ctx, r, control.Event{Fabric: ro.Fabric, Rollout: ro.ID, Kind: "fabric.released", Subject: ro.Fabric,
		Said: phrase.Of("event.released", "fabric", ro.Fabric, "settings", ro.Options.To.Words())}, nil)
}
