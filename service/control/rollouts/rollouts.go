package rollouts

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"fairlane/ccconfig/driver"
	"fairlane/internal/phrase"
	"fairlane/internal/span"
	"fairlane/policy"
	"fairlane/service/control"
	"fairlane/service/device"
	"fairlane/subnet/ident"
)

// RolloutInput is the input for a rollout.
type RolloutInput struct {
	Plan    string          // name of a stored plan, or an unambiguous prefix of it
	Stages  []control.Stage // empty means all; they run in their fixed order
	Options control.RolloutOptions
	// LimitSettings is the largest number of settings that the plan may change from the plan in force; nil sets no limit.
	LimitSettings *int
}

// WavePreview is one wave that a rollout would have.
type WavePreview struct {
	Canary  bool
	Shards  int
	Devices []driver.Device
}

// prepared is a validated rollout, divided into waves.
type prepared struct {
	in      RolloutInput
	target  control.Target
	devices []control.RolloutDevice // in waves and shards
	waves   []WavePreview
	base    *string // name of the plan in force that the bounds of the caller were checked against, "" for none; nil: no bounds
}

// prepare validates a rollout and divides it into waves. It changes nothing.
func (s *Rollouts) prepare(ctx context.Context, fabric string, in RolloutInput) (p prepared, err error) {
	if in.Stages, err = orderStages(in.Stages); err != nil {
		return p, err
	}
	if in.Plan == "" {
		return p, control.Invalid("/plan", phrase.Of("problem.plan-empty"))
	}
	if err := in.Options.Check(); err != nil {
		return p, err
	}
	if p.target, err = s.plans.LoadTarget(ctx, fabric, in.Plan); err != nil {
		return p, err
	}
	if got, want := p.target.Plan.Plane, p.target.Fabric.Plane; got != want {
		return p, control.Invalid("/plan", phrase.Of("problem.plan-plane", "plan", fmt.Sprintf("%.12s", p.target.Plan.Name), "plane", got, "fabric", fabric, "want", want))
	}
	if p.target.Fabric.Snapshot == nil {
		return p, &control.ConflictError{Code: "not-discovered", Said: phrase.Of("problem.undiscovered", "fabric", fabric)}
	}
	p.in = in
	if p.base, err = s.bounded(ctx, fabric, in, p.target.Plan); err != nil {
		return p, err
	}
	if !slices.Contains(in.Stages, control.StageSettings) {
		return p, nil
	}
	if control.DevicesOf(p.target.Plan) == 0 { // it removes everything
		x, err := s.prepareReturn(ctx, fabric, control.ToFactory, true, in.Options)
		x.target, x.in.Plan, x.in.Stages, x.base = p.target, in.Plan, in.Stages, p.base
		return x.prepared, err
	}
	before, err := s.planBefore(ctx, &p.target, in.Stages)
	if err != nil {
		return p, err
	}
	return p, p.cut(before)
}

// planBefore returns the plan in force; a rollout of another plan removes the settings that only the plan in force has.
// It is nil when there is none, or when traffic moves from that plan's placements: then its ports keep their settings for
// a while, and the clean-up (StartCleanUp) removes them.
func (s *Rollouts) planBefore(ctx context.Context, t *control.Target, stages []control.Stage) (before *policy.Plan, err error) {
	if t.Plan.WRCC != nil {
		return nil, nil
	}
	err = s.Store.View(ctx, func(r control.Repos) error {
		name, err := control.InForceName(ctx, r, t.Fabric.Name)
		if errors.Is(err, control.ErrConflict) || err == nil && name == t.Plan.Name {
			return nil
		}
		if err != nil {
			return err
		}
		if t.Plan.RoCE == nil && slices.Contains(stages, control.StagePlacement) {
			if placed, err := r.PlacedPlan(ctx, t.Fabric.Name); err != nil || placed == name {
				return err
			}
		}
		p, err := r.Plan(ctx, t.Fabric.Name, name)
		before = p.Plan
		return err
	})
	return before, err
}

// cut plans the waves and shards. Ports that only the previous plan set, if there is one, are included.
func (p *prepared) cut(before *policy.Plan) error {
	targets, err := p.target.Desired()
	if err != nil {
		return err
	}
	left := map[ident.PortID]bool{}
	if before != nil {
		for _, t := range device.Left(before, p.target.Topology, targets) {
			left[t.Device.ID] = true
			targets = append(targets, t)
		}
		slices.SortStableFunc(targets, func(a, b device.Target) int { return a.Device.ID.Compare(b.Device.ID) })
	}
	return p.cutTargets(targets, func(t device.Target) phrase.Text {
		if left[t.Device.ID] {
			return LeftNote(t.Device)
		}
		return phrase.Of("note.waits")
	})
}

// cutTargets plans the waves and shards of targets, sorted by device, each with its initial note.
func (p *prepared) cutTargets(targets []device.Target, note func(device.Target) phrase.Text) error {
	o := &p.in.Options
	steps, err := device.PlanWaves(targets, p.target.Topology, device.WaveOptions{Canary: o.Canary, Wave: o.Wave, Domain: device.Domain(o.Domain)})
	if err != nil {
		return control.InvalidFrom("/options", err)
	}
	size := cmp.Or(o.Shard, control.DefaultShard)
	o.CanaryWaves = nil
	for w, step := range steps {
		preview := WavePreview{Canary: step.Canary}
		if step.Canary {
			o.CanaryWaves = append(o.CanaryWaves, w)
		}
		for i, t := range step.Targets {
			d := control.RolloutDevice{Device: targets[t].Device, State: device.Pending, Wave: w, Shard: i / size, Note: note(targets[t])}
			p.devices = append(p.devices, d)
			preview.Devices = append(preview.Devices, d.Device)
			preview.Shards = d.Shard + 1
		}
		p.waves = append(p.waves, preview)
	}
	return nil
}

// LeftNote says what happens to a port that only the previous plan set.
func LeftNote(d driver.Device) phrase.Text {
	if d.Plane == driver.PlaneRoCE {
		return phrase.Of("note.left-shares")
	}
	return phrase.Of("note.left")
}

// PreviewRollout returns the waves that a rollout would have, and starts nothing.
func (s *Rollouts) PreviewRollout(ctx context.Context, fabric string, in RolloutInput) ([]WavePreview, error) {
	p, err := s.prepare(ctx, fabric, in)
	if err != nil {
		return nil, err
	}
	return p.waves, s.wouldStart(ctx, fabric, &p)
}

// wouldStart rejects a rollout that could not be added now.
func (s *Rollouts) wouldStart(ctx context.Context, fabric string, p *prepared) error {
	return s.Store.View(ctx, func(r control.Repos) error {
		if err := control.AtRest(ctx, r, fabric); err != nil {
			return err
		}
		_, err := startable(ctx, r, &control.Rollout{Fabric: fabric, Stages: p.in.Stages, Options: p.in.Options}, p.devices)
		return err
	})
}

// startable rejects a rollout on a fabric that is not managed, and one that would write a frozen device.
func startable(ctx context.Context, r control.Repos, ro *control.Rollout, devices []control.RolloutDevice) (f control.Fabric, err error) {
	if f, err = r.Fabric(ctx, ro.Fabric); err != nil {
		return f, err
	}
	if err := underManagement(f, ro); err != nil {
		return f, err
	}
	if f.Plane == policy.PlaneIB && slices.Contains(ro.Stages, control.StagePlacement) {
		devices = append(slices.Clone(devices), control.RolloutDevice{Device: device.Manager()})
	}
	return f, control.Frozen(ctx, r, ro.Fabric, devices)
}

// StartRollout records a rollout of a stored plan, with the job that makes a manager start it.
func (s *Rollouts) StartRollout(ctx context.Context, fabric string, in RolloutInput) (out control.Rollout, err error) {
	p, err := s.prepare(ctx, fabric, in)
	if err != nil {
		return control.Rollout{}, err
	}
	name := p.target.Plan.Name
	err = s.Store.Tx(control.OnFabric(ctx, fabric), func(r control.Repos) (err error) {
		if err := unmoved(ctx, r, fabric, p.base); err != nil {
			return err
		}
		p.in.Options.CheckLoop = p.target.Plan.WRCC == nil && len(p.waves) > 0
		ro := control.Rollout{Fabric: fabric, Plan: name, Stages: p.in.Stages, Options: p.in.Options, Waves: len(p.waves), Gated: control.GatedUnexamined}
		out, err = s.AddRollout(ctx, r, ro, p.devices,
			func(id int64) phrase.Text {
				return phrase.Of("event.rollout-started", "rollout", id, "plan", fmt.Sprintf("%.12s", name), "devices", len(p.devices), "waves", len(p.waves))
			})
		return err
	})
	return out, err
}

// AddRollout adds a startable rollout with its devices, and the job that makes a manager start it. said is the text of
// its event.
func (s *Rollouts) AddRollout(ctx context.Context, r control.Repos, ro control.Rollout, devices []control.RolloutDevice, said func(id int64) phrase.Text) (out control.Rollout, err error) {
	f, err := startable(ctx, r, &ro, devices)
	if err != nil {
		return out, err
	}
	if ro.Prior, err = r.PlacedPlan(ctx, ro.Fabric); err != nil {
		return out, err
	}
	ro.Phase, ro.Actor, ro.CreatedAt, ro.Options.Trace = control.PhasePlacing, control.Actor(ctx), s.Now(), span.Carry(ctx)
	if err := control.Acted(ctx, r, f); err != nil { // automatic repairs are on hold and do not get here
		return out, err
	}
	if out, err = r.CreateRollout(ctx, ro); err != nil {
		return out, err
	}
	if err := s.inherit(ctx, r, ro.Fabric, devices); err != nil {
		return out, err
	}
	if err := r.AddRolloutWork(ctx, out.ID, devices); err != nil {
		return out, err
	}
	if err := r.Enqueue(ctx, control.Job{Kind: control.JobStep, Rollout: out.ID, Revision: out.Revision}); err != nil {
		return out, err
	}
	return out, s.AddEvent(ctx, r, control.Event{Fabric: ro.Fabric, Rollout: out.ID, Kind: "rollout.started", Subject: ro.Plan,
		Said: said(out.ID)}, map[string]any{"stages": ro.Stages, "options": ro.Options})
}

// inherit makes a new rollout use the recorded previous settings of devices that an earlier rollout left in neither the
// desired nor the previous state: the current settings of such a device are no state to restore.
func (s *Rollouts) inherit(ctx context.Context, r control.Repos, fabric string, devices []control.RolloutDevice) error {
	dirty, err := r.DirtyDevices(ctx, fabric)
	if err != nil {
		return err
	}
	before := make(map[ident.PortID]*driver.Settings, len(dirty))
	for i := range dirty {
		before[dirty[i].Device.ID] = dirty[i].Before
	}
	now := s.Now()
	for i := range devices {
		d := &devices[i]
		d.UpdatedAt = now
		if d.Before = before[d.Device.ID]; d.Before != nil {
			d.Touched, d.State = true, device.Unknown
		}
	}
	return nil
}

// allStages lists the stages in the order in which they run.
func allStages() []control.Stage {
	return []control.Stage{control.StagePlacement, control.StageSettings}
}

// orderStages sorts stages into the order in which they run, and rejects unknown and repeated ones.
func orderStages(in []control.Stage) ([]control.Stage, error) {
	all := allStages()
	if len(in) == 0 {
		return all, nil
	}
	var out []control.Stage
	for i, st := range in {
		switch {
		case !slices.Contains(all, st):
			return nil, control.Invalid(fmt.Sprintf("/stages/%d", i), phrase.Of("problem.stage", "found", st))
		case slices.Contains(in[:i], st):
			return nil, control.Invalid(fmt.Sprintf("/stages/%d", i), phrase.Of("problem.stage-twice", "found", st))
		}
	}
	for _, st := range all {
		if slices.Contains(in, st) {
			out = append(out, st)
		}
	}
	return out, nil
}

// RolloutHome returns the name of the fabric that a rollout is on.
func (s *Rollouts) RolloutHome(ctx context.Context, rollout int64) (fabric string, err error) {
	err = s.Store.View(ctx, func(r control.Repos) (err error) { fabric, err = r.RolloutFabric(ctx, rollout); return err })
	return fabric, err
}
