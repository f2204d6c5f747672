package control

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"fairlane/ccconfig/driver"
	"fairlane/internal/phrase"
	"fairlane/internal/span"
	"fairlane/policy"
	"fairlane/service/device"
	"fairlane/subnet/ident"
)

// RolloutInput is what a rollout is started with.
type RolloutInput struct {
	Plan    string  // name of a stored plan, or an unambiguous beginning of it
	Stages  []Stage // none means all; they run in their fixed order
	Options RolloutOptions
}

// WavePreview is one wave that a rollout would have.
type WavePreview struct {
	Canary  bool
	Shards  int
	Devices []driver.Device
}

// Bounds of rollout options.
const (
	defaultShard     = 128
	MaxConfirmWindow = 24 * time.Hour
	maxParallel      = 4096
	maxAttempts      = 100
)

// check refuses options that are out of range, all at once.
func (o RolloutOptions) check() error {
	var bad InvalidError
	count := func(name string, v, most int) {
		if v < 0 || v > most {
			bad.add("/options/"+name, phrase.Of("problem.at-most", "found", v, "max", most))
		}
	}
	count("canary", o.Canary, device.MaxTargets)
	count("wave", o.Wave, device.MaxTargets)
	count("shard", o.Shard, 4096)
	count("parallel", o.Parallel, maxParallel)
	count("failure_budget", o.FailureBudget, device.MaxTargets)
	count("attempts", o.Attempts, maxAttempts)
	if o.Domain != "" && !slices.Contains(device.Domains(), device.Domain(o.Domain)) {
		bad.add("/options/domain", phrase.Of("problem.rollout-domain", "found", o.Domain, "want", device.Domains()))
	}
	if o.ConfirmWindow < 0 || o.ConfirmWindow > MaxConfirmWindow {
		bad.add("/options/confirm_window_s", phrase.Of("problem.confirm-window", "found", o.ConfirmWindow, "max", MaxConfirmWindow))
	}
	if o.VerifyShares && o.ConfirmWindow == 0 {
		bad.add("/options/verify_shares", phrase.Of("problem.verify-shares"))
	}
	share := func(name string, v float64) {
		if !(v >= 0 && v <= 1) { // refuses what is not a number, too
			bad.add("/options/"+name, phrase.Of("problem.fraction", "found", v))
		}
	}
	share("max_share_error", o.MaxShareError)
	share("min_utilisation", o.MinUtilisation)
	if o.MeasureWindow != 0 && (o.MeasureWindow < MinWindow || o.MeasureWindow > MaxWindow) {
		bad.add("/options/measure_window_ms", phrase.Of("problem.between", "found", o.MeasureWindow, "min", MinWindow, "max", MaxWindow))
	}
	return bad.orNil()
}

// prepared is a rollout that was checked and cut into waves.
type prepared struct {
	in      RolloutInput
	target  Target
	devices []RolloutDevice // in waves and shards
	waves   []WavePreview
}

// prepare checks a rollout and cuts it into waves. It changes nothing.
func (s *Service) prepare(ctx context.Context, fabric string, in RolloutInput) (p prepared, err error) {
	if in.Stages, err = orderStages(in.Stages); err != nil {
		return p, err
	}
	if in.Plan == "" {
		return p, Invalid("/plan", phrase.Of("problem.plan-empty"))
	}
	if err := in.Options.check(); err != nil {
		return p, err
	}
	if p.target, err = s.target(ctx, fabric, in.Plan); err != nil {
		return p, err
	}
	if got, want := p.target.Plan.Plane, p.target.Fabric.Plane; got != want {
		return p, Invalid("/plan", phrase.Of("problem.plan-plane", "plan", fmt.Sprintf("%.12s", p.target.Plan.Name), "plane", got, "fabric", fabric, "want", want))
	}
	if p.target.Fabric.Snapshot == nil {
		return p, &ConflictError{Code: "not-discovered", Said: phrase.Of("problem.undiscovered", "fabric", fabric)}
	}
	p.in = in
	if !slices.Contains(in.Stages, StageSettings) {
		return p, nil
	}
	if DevicesOf(p.target.Plan) == 0 { // it takes everything away
		x, err := s.prepareReturn(ctx, fabric, ToFactory, true, in.Options)
		x.target, x.in.Plan, x.in.Stages = p.target, in.Plan, in.Stages
		return x.prepared, err
	}
	before, err := s.planBefore(ctx, &p.target, in.Stages)
	if err != nil {
		return p, err
	}
	return p, p.cut(before)
}

// planBefore is the plan in force, from whose devices a plan that follows it may have to take something back that it does
// not have itself; nil when there is none. Where traffic moves from that plan's placements, its ports keep for a while what
// they have, and the rollout that clears up (ClearUp) takes it back.
func (s *Service) planBefore(ctx context.Context, t *Target, stages []Stage) (before *policy.Plan, err error) {
	if t.Plan.WRCC != nil {
		return nil, nil
	}
	err = s.d.Store.View(ctx, func(r Repos) error {
		name, err := inForceName(ctx, r, t.Fabric.Name)
		if errors.Is(err, ErrConflict) || err == nil && name == t.Plan.Name {
			return nil
		}
		if err != nil {
			return err
		}
		if t.Plan.RoCE == nil && slices.Contains(stages, StagePlacement) {
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

// cut plans the waves and shards. Ports that only the plan before set, if there is one, come with those of the plan.
func (p *prepared) cut(before *policy.Plan) error {
	targets, err := p.target.desired()
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
			return leftNote(t.Device)
		}
		return phrase.Of("note.waits")
	})
}

// cutTargets plans the waves and shards of targets, sorted by device, each with the note that it begins with.
func (p *prepared) cutTargets(targets []device.Target, note func(device.Target) phrase.Text) error {
	o := &p.in.Options
	steps, err := device.PlanWaves(targets, p.target.Topology, device.WaveOptions{Canary: o.Canary, Wave: o.Wave, Domain: device.Domain(o.Domain)})
	if err != nil {
		return InvalidFrom("/options", err)
	}
	size := cmp.Or(o.Shard, defaultShard)
	o.CanaryWaves = nil
	for w, step := range steps {
		preview := WavePreview{Canary: step.Canary}
		if step.Canary {
			o.CanaryWaves = append(o.CanaryWaves, w)
		}
		for i, t := range step.Targets {
			d := RolloutDevice{Device: targets[t].Device, State: string(device.Pending), Wave: w, Shard: i / size, Note: note(targets[t])}
			p.devices = append(p.devices, d)
			preview.Devices = append(preview.Devices, d.Device)
			preview.Shards = d.Shard + 1
		}
		p.waves = append(p.waves, preview)
	}
	return nil
}

// leftNote says of a port that only the plan before set what becomes of it.
func leftNote(d driver.Device) phrase.Text {
	if d.Plane == driver.PlaneRoCE {
		return phrase.Of("note.left-shares")
	}
	return phrase.Of("note.left")
}

// PreviewRollout says which waves a rollout would have, and starts nothing.
func (s *Service) PreviewRollout(ctx context.Context, fabric string, in RolloutInput) ([]WavePreview, error) {
	p, err := s.prepare(ctx, fabric, in)
	if err != nil {
		return nil, err
	}
	return p.waves, s.wouldStart(ctx, fabric, &p)
}

// wouldStart refuses a rollout that could not be added now.
func (s *Service) wouldStart(ctx context.Context, fabric string, p *prepared) error {
	return s.d.Store.View(ctx, func(r Repos) error {
		if err := atRest(ctx, r, fabric); err != nil {
			return err
		}
		_, err := startable(ctx, r, &Rollout{Fabric: fabric, Stages: p.in.Stages, Options: p.in.Options}, p.devices)
		return err
	})
}

// startable refuses a rollout on a fabric that is not under management, and one that would write a frozen device.
func startable(ctx context.Context, r Repos, ro *Rollout, devices []RolloutDevice) (f Fabric, err error) {
	if f, err = r.Fabric(ctx, ro.Fabric); err != nil {
		return f, err
	}
	if err := underManagement(f, ro); err != nil {
		return f, err
	}
	if f.Plane == policy.PlaneIB && slices.Contains(ro.Stages, StagePlacement) {
		devices = append(slices.Clone(devices), RolloutDevice{Device: device.Manager()})
	}
	return f, frozen(ctx, r, ro.Fabric, devices)
}

// StartRollout records a rollout of a stored plan, with the job that makes a manager begin it.
func (s *Service) StartRollout(ctx context.Context, fabric string, in RolloutInput) (out Rollout, err error) {
	p, err := s.prepare(ctx, fabric, in)
	if err != nil {
		return Rollout{}, err
	}
	name := p.target.Plan.Name
	err = s.d.Store.Tx(OnFabric(ctx, fabric), func(r Repos) (err error) {
		p.in.Options.CheckLoop = p.target.Plan.WRCC == nil && len(p.waves) > 0
		ro := Rollout{Fabric: fabric, Plan: name, Stages: p.in.Stages, Options: p.in.Options, Waves: len(p.waves), Gated: GatedUnexamined}
		out, err = s.addRollout(ctx, r, ro, p.devices,
			func(id int64) phrase.Text {
				return phrase.Of("event.rollout-started", "rollout", id, "plan", fmt.Sprintf("%.12s", name), "devices", len(p.devices), "waves", len(p.waves))
			})
		return err
	})
	return out, err
}

// addRollout adds a startable rollout with its devices, and the job that makes a manager begin it. said is its event.
func (s *Service) addRollout(ctx context.Context, r Repos, ro Rollout, devices []RolloutDevice, said func(id int64) phrase.Text) (out Rollout, err error) {
	f, err := startable(ctx, r, &ro, devices)
	if err != nil {
		return out, err
	}
	if ro.Prior, err = r.PlacedPlan(ctx, ro.Fabric); err != nil {
		return out, err
	}
	ro.Phase, ro.Actor, ro.CreatedAt, ro.Options.Trace = PhasePlacing, actor(ctx), s.now(), span.Carry(ctx)
	if err := acted(ctx, r, f); err != nil { // what starts by itself waits, and does not come here
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
	if err := r.Enqueue(ctx, Job{Kind: JobStep, Rollout: out.ID, Revision: out.Revision}); err != nil {
		return out, err
	}
	return out, s.event(ctx, r, Event{Fabric: ro.Fabric, Rollout: out.ID, Kind: "rollout.started", Subject: ro.Plan,
		Said: said(out.ID)}, map[string]any{"stages": ro.Stages, "options": ro.Options})
}

// inherit makes a new rollout return to where an earlier one began with the devices that one left neither as wanted
// nor as before: what such a device holds now is nothing to return to.
func (s *Service) inherit(ctx context.Context, r Repos, fabric string, devices []RolloutDevice) error {
	dirty, err := r.DirtyDevices(ctx, fabric)
	if err != nil {
		return err
	}
	before := make(map[ident.PortID]*driver.Settings, len(dirty))
	for i := range dirty {
		before[dirty[i].Device.ID] = dirty[i].Before
	}
	now := s.now()
	for i := range devices {
		d := &devices[i]
		d.UpdatedAt = now
		if d.Before = before[d.Device.ID]; d.Before != nil {
			d.Touched, d.State = true, string(device.Unknown)
		}
	}
	return nil
}

// orderStages puts stages in the order in which they run and refuses unknown ones and repeats.
func orderStages(in []Stage) ([]Stage, error) {
	all := []Stage{StagePlacement, StageSettings}
	if len(in) == 0 {
		return all, nil
	}
	var out []Stage
	for i, st := range in {
		switch {
		case !slices.Contains(all, st):
			return nil, Invalid(fmt.Sprintf("/stages/%d", i), phrase.Of("problem.stage", "found", st))
		case slices.Contains(in[:i], st):
			return nil, Invalid(fmt.Sprintf("/stages/%d", i), phrase.Of("problem.stage-twice", "found", st))
		}
	}
	for _, st := range all {
		if slices.Contains(in, st) {
			out = append(out, st)
		}
	}
	return out, nil
}

// RolloutEndedText says how a rollout ended.
func RolloutEndedText(ro Rollout) phrase.Text {
	return phrase.Of("event.rollout-ended", "rollout", ro.ID, "state", string(ro.State), "result", ro.Result)
}

// RolloutEnded records the end of a rollout in the audit log and in what is known of its devices, in the transaction
// that ends it.
func (s *Service) RolloutEnded(ctx context.Context, r Repos, ro Rollout) error {
	e := Event{Fabric: ro.Fabric, Rollout: ro.ID, Kind: "rollout." + string(ro.State), Subject: ro.Plan,
		Said: RolloutEndedText(ro)}
	if err := s.settleDevices(ctx, r, ro); err != nil {
		return err
	}
	if err := s.settleRelease(ctx, r, ro); err != nil {
		return err
	}
	return s.auditEvent(ctx, r, e, map[string]any{"state": ro.State, "result": ro.Result.String(), "started_by": ro.Actor})
}

// JobStore is the store that the workers of jobs use: watchers of events hear of its changes.
func (s *Service) JobStore() Store { return s.d.Store }

// JobHome returns the name of the fabric that a rollout is on.
func (s *Service) JobHome(ctx context.Context, rollout int64) (fabric string, err error) {
	err = s.d.Store.View(ctx, func(r Repos) (err error) { fabric, err = r.RolloutFabric(ctx, rollout); return err })
	return fabric, err
}

// JobTarget loads what a stored plan of a fabric is brought to.
func (s *Service) JobTarget(ctx context.Context, fabric, plan string) (Target, error) {
	return s.target(ctx, fabric, plan)
}
