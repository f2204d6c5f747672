package control

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"fairlane/ccconfig/driver"
	"fairlane/internal/reconcile"
	"fairlane/internal/span"
	"fairlane/policy"
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
			bad.add("/options/"+name, fmt.Errorf("%d: want 0 to %d", v, most))
		}
	}
	count("canary", o.Canary, reconcile.MaxTargets)
	count("wave", o.Wave, reconcile.MaxTargets)
	count("shard", o.Shard, 4096)
	count("parallel", o.Parallel, maxParallel)
	count("failure_budget", o.FailureBudget, reconcile.MaxTargets)
	count("attempts", o.Attempts, maxAttempts)
	if o.Domain != "" && !slices.Contains(reconcile.Domains(), reconcile.Domain(o.Domain)) {
		bad.add("/options/domain", fmt.Errorf("domain %q: want one of %q", o.Domain, reconcile.Domains()))
	}
	if o.ConfirmWindow < 0 || o.ConfirmWindow > MaxConfirmWindow {
		bad.add("/options/confirm_window_s", fmt.Errorf("%s: want 0 to %s", o.ConfirmWindow, MaxConfirmWindow))
	}
	if o.VerifyShares && o.ConfirmWindow == 0 {
		bad.add("/options/verify_shares", errors.New("verify_shares without confirm_window_s: want both"))
	}
	share := func(name string, v float64) {
		if !(v >= 0 && v <= 1) { // refuses what is not a number, too
			bad.add("/options/"+name, fmt.Errorf("%v: want 0 to 1", v))
		}
	}
	share("max_share_error", o.MaxShareError)
	share("min_utilisation", o.MinUtilisation)
	if o.MeasureWindow != 0 && (o.MeasureWindow < MinWindow || o.MeasureWindow > MaxWindow) {
		bad.add("/options/measure_window_ms", fmt.Errorf("%s: want %s to %s", o.MeasureWindow, MinWindow, MaxWindow))
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
		return p, Invalid("/plan", "plan is empty: want the name of a stored plan")
	}
	if err := in.Options.check(); err != nil {
		return p, err
	}
	if p.target, err = s.target(ctx, fabric, in.Plan); err != nil {
		return p, err
	}
	if got, want := p.target.Plan.Plane, p.target.Fabric.Plane; got != want {
		return p, Invalid("/plan", "plan %.12s is for the plane %s and fabric %q is of the plane %s: plans of other planes are for comparison", p.target.Plan.Name, got, fabric, want)
	}
	if p.target.Fabric.Snapshot == nil {
		return p, &ConflictError{Code: "not-discovered", Detail: fmt.Sprintf("fabric %q was not discovered yet", fabric)}
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
		for _, t := range reconcile.Left(before, p.target.Topology, targets) {
			left[t.Device.ID] = true
			targets = append(targets, t)
		}
		slices.SortStableFunc(targets, func(a, b reconcile.Target) int { return a.Device.ID.Compare(b.Device.ID) })
	}
	return p.cutTargets(targets, func(t reconcile.Target) string {
		if left[t.Device.ID] {
			return leftNote(t.Device)
		}
		return "waits for its wave"
	})
}

// cutTargets plans the waves and shards of targets, sorted by device, each with the note that it begins with.
func (p *prepared) cutTargets(targets []reconcile.Target, note func(reconcile.Target) string) error {
	o := &p.in.Options
	steps, err := reconcile.PlanWaves(targets, p.target.Topology, reconcile.WaveOptions{Canary: o.Canary, Wave: o.Wave, Domain: reconcile.Domain(o.Domain)})
	if err != nil {
		return Invalid("/options", "%v", err)
	}
	size := cmp.Or(o.Shard, defaultShard)
	o.CanaryWaves = nil
	for w, step := range steps {
		preview := WavePreview{Canary: step.Canary}
		if step.Canary {
			o.CanaryWaves = append(o.CanaryWaves, w)
		}
		for i, t := range step.Targets {
			d := RolloutDevice{Device: targets[t].Device, State: string(reconcile.Pending), Wave: w, Shard: i / size, Note: note(targets[t])}
			p.devices = append(p.devices, d)
			preview.Devices = append(preview.Devices, d.Device)
			preview.Shards = d.Shard + 1
		}
		p.waves = append(p.waves, preview)
	}
	return nil
}

// leftNote says of a port that only the plan before set what becomes of it.
func leftNote(d driver.Device) string {
	what := "the congestion control of its tenants is"
	if d.Plane == driver.PlaneRoCE {
		what = "the shares of its virtual functions are"
	}
	return "waits for its wave; no part of the plan any more: " + what + " taken back"
}

// PreviewRollout says which waves a rollout would have, and starts nothing.
func (s *Service) PreviewRollout(ctx context.Context, fabric string, in RolloutInput) ([]WavePreview, error) {
	p, err := s.prepare(ctx, fabric, in)
	return p.waves, err
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
			fmt.Sprintf(" of plan %.12s was started: %d devices in %d waves", name, len(p.devices), len(p.waves)))
		return err
	})
	return out, err
}

// addRollout adds a rollout with its devices, none of which may be frozen, and the job that makes a manager begin it.
// what goes on the sentence "rollout 7".
func (s *Service) addRollout(ctx context.Context, r Repos, ro Rollout, devices []RolloutDevice, what string) (out Rollout, err error) {
	written := devices
	f, err := r.Fabric(ctx, ro.Fabric)
	if err != nil {
		return out, err
	}
	if err := underManagement(f, &ro); err != nil {
		return out, err
	}
	if f.Plane == string(policy.PlaneIB) && slices.Contains(ro.Stages, StagePlacement) {
		written = append(slices.Clone(devices), RolloutDevice{Device: reconcile.Manager()})
	}
	if err := frozen(ctx, r, ro.Fabric, written); err != nil {
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
		Message: fmt.Sprintf("rollout %d%s", out.ID, what)}, map[string]any{"stages": ro.Stages, "options": ro.Options})
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
			d.Touched, d.State = true, string(reconcile.Unknown)
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
			return nil, Invalid(fmt.Sprintf("/stages/%d", i), "stage %q: want placement or settings", st)
		case slices.Contains(in[:i], st):
			return nil, Invalid(fmt.Sprintf("/stages/%d", i), "stage %q is given twice: want each once", st)
		}
	}
	for _, st := range all {
		if slices.Contains(in, st) {
			out = append(out, st)
		}
	}
	return out, nil
}

// steer stores what an operator asks of a running rollout and has somebody look at it. change refuses what makes no
// sense in the rollout's present phase.
func (s *Service) steer(ctx context.Context, fabric string, id int64, kind, message string, change func(*Rollout) error) (ro Rollout, err error) {
	err = s.d.Store.Tx(OnFabric(ctx, fabric), func(r Repos) error {
		f, err := r.Fabric(ctx, fabric)
		if err != nil {
			return err
		}
		switch ro, err = r.LockRollout(ctx, id); {
		case err != nil:
			return err
		case ro.Fabric != fabric:
			return &NotFoundError{Kind: "rollout", Name: fmt.Sprint(id)}
		case ro.State != RolloutRunning:
			return &ConflictError{Code: "not-running", Detail: fmt.Sprintf("rollout %d is not running: it ended as %s", id, ro.State)}
		}
		if err := change(&ro); err != nil {
			return err
		}
		if ro.Wish == WishRun || ro.Wish == WishUndo {
			if err := acted(ctx, r, f); err != nil {
				return err
			}
		}
		now := s.now()
		if err := r.SetWish(ctx, id, ro.Wish, actor(ctx), ro.Confirmed, now); err != nil {
			return err
		}
		if ro.Owner == "" { // else the step that is under way looks again at its end
			ro.UpdatedAt = now
			if ro, err = r.SaveRollout(ctx, ro); err != nil {
				return err
			}
			if err := r.Enqueue(ctx, Job{Kind: JobStep, Rollout: id, Revision: ro.Revision}); err != nil {
				return err
			}
		}
		return s.event(ctx, r, Event{Fabric: fabric, Rollout: id, Kind: kind, Subject: ro.Plan, Message: fmt.Sprintf(message, id)}, nil)
	})
	return ro, err
}

// Undoing reports whether a rollout is on its way back.
func (ro *Rollout) Undoing() bool { return ro.Phase == PhaseUndoing || ro.Phase == PhaseUnplacing }

// Moves reports whether a rollout moves traffic from the placements of another plan, so that devices keep for a while what
// that plan needs (reconcile.HoldOver).
func (ro *Rollout) Moves() bool {
	return ro.Prior != "" && ro.Prior != ro.Plan && slices.Contains(ro.Stages, StagePlacement) && ro.Options.To == ""
}

// PauseRollout stops a running rollout at the next safe point, until it is resumed, cancelled or rolled back.
func (s *Service) PauseRollout(ctx context.Context, fabric string, id int64) (Rollout, error) {
	return s.steer(ctx, fabric, id, "rollout.paused", "rollout %d is to pause", func(ro *Rollout) error {
		if ro.Wish == WishCancel || ro.Wish == WishUndo && !ro.Undoing() {
			return &ConflictError{Code: "rollout-ending", Detail: fmt.Sprintf("rollout %d is to end already (%s)", id, ro.Wish)}
		}
		ro.Wish = WishPause
		return nil
	})
}

// ResumeRollout lets a paused rollout go on.
func (s *Service) ResumeRollout(ctx context.Context, fabric string, id int64) (Rollout, error) {
	return s.steer(ctx, fabric, id, "rollout.resumed", "rollout %d goes on", func(ro *Rollout) error {
		if ro.Wish != WishPause {
			return &ConflictError{Code: "not-paused", Detail: fmt.Sprintf("rollout %d is not paused", id)}
		}
		ro.Wish = WishRun
		return nil
	})
}

// ConfirmRollout gives the word that a rollout which waits for it may stay.
func (s *Service) ConfirmRollout(ctx context.Context, fabric string, id int64) (Rollout, error) {
	return s.steer(ctx, fabric, id, "rollout.confirmed", "rollout %d was confirmed", func(ro *Rollout) error {
		if ro.Phase != PhaseConfirming {
			return &ConflictError{Code: "not-confirming", Detail: fmt.Sprintf("rollout %d is %s: want one that is confirming", id, ro.Phase)}
		}
		ro.Wish, ro.Confirmed = WishRun, true
		return nil
	})
}

// CancelRollout stops a running rollout at the next safe point and leaves the devices as they are then. One that is on
// its way back cannot be cancelled.
func (s *Service) CancelRollout(ctx context.Context, fabric string, id int64) (Rollout, error) {
	return s.steer(ctx, fabric, id, "rollout.canceling", "rollout %d is to stop where it is", func(ro *Rollout) error {
		if ro.Undoing() {
			return &ConflictError{Code: "rollout-ending", Detail: fmt.Sprintf("rollout %d is being rolled back: it ends by itself", id)}
		}
		ro.Wish = WishCancel
		return nil
	})
}

// UndoRollout returns everything that a running rollout did to what it was.
func (s *Service) UndoRollout(ctx context.Context, fabric string, id int64) (Rollout, error) {
	return s.steer(ctx, fabric, id, "rollout.undoing", "rollout %d is to be rolled back", func(ro *Rollout) error {
		if ro.Undoing() && ro.Wish != WishPause || ro.Confirmed {
			return &ConflictError{Code: "rollout-ending", Detail: fmt.Sprintf("rollout %d ends already", id)}
		}
		if ro.Wish = WishUndo; ro.Undoing() {
			ro.Wish = WishRun
		}
		return nil
	})
}

// before finds the rollout that brought what was in force before another one: the latest one before it that succeeded with the
// settings stage. It fails with *ConflictError "no-plan" when there was none.
func (s *Service) before(ctx context.Context, fabric string, id int64) (out Rollout, err error) {
	err = s.d.Store.View(ctx, func(r Repos) error {
		for p := (Page{Limit: 100, After: fmt.Sprint(id)}); ; {
			list, next, err := r.ListRollouts(ctx, fabric, p)
			if err != nil {
				return err
			}
			for _, ro := range list {
				if slices.Contains(ro.Stages, StageSettings) && (ro.State == RolloutSucceeded || ro.State == RolloutPartial) && !ro.Options.Repair {
					out = ro
					return nil
				}
			}
			if next == "" {
				return &ConflictError{Code: "no-plan", Detail: fmt.Sprintf("no rollout succeeded on fabric %q before rollout %d", fabric, id)}
			}
			p.After = next
		}
	})
	return out, err
}

// RollBack goes back to what was before a rollout. Without a plan a running rollout is undone, and for one that ended a
// new rollout brings the plan that was in force before it, or the baseline where none was. With a plan it is a new rollout of
// that plan. The new rollout brings settings and, where rollouts ever placed traffic, placements, whatever stages the other one had: half of a plan
// is no state to go back to. A repair that ended is nothing to go back from: *ConflictError "is-repair".
func (s *Service) RollBack(ctx context.Context, fabric string, id int64, plan string) (Rollout, error) {
	var ro Rollout
	var placed string
	err := s.d.Store.View(ctx, func(r Repos) (err error) {
		if ro, err = rolloutRow(ctx, r, fabric, id); err == nil {
			placed, err = r.PlacedPlan(ctx, fabric)
		}
		return err
	})
	switch {
	case err != nil:
		return Rollout{}, err
	case ro.State == RolloutRunning && plan == "":
		return s.UndoRollout(ctx, fabric, id)
	case plan == "" && ro.Options.Repair:
		return Rollout{}, &ConflictError{Code: "is-repair", Detail: fmt.Sprintf("rollout %d repaired devices of plan %.12s, which is still in force: roll back the rollout that brought it, or name a plan", id, ro.Plan)}
	case plan == "":
		was, err := s.before(ctx, fabric, id)
		switch {
		case code(err) == "no-plan" || err == nil && was.Options.To == ToBaseline:
			return s.ReturnToBaseline(ctx, fabric, wayBack(ro.Options))
		case err != nil:
			return Rollout{}, err
		}
		plan = was.Plan
	}
	in := RolloutInput{Plan: plan, Stages: []Stage{StageSettings}, Options: wayBack(ro.Options)}
	if placed != "" || slices.Contains(ro.Stages, StagePlacement) {
		in.Stages = []Stage{StagePlacement, StageSettings}
	}
	return s.StartRollout(ctx, fabric, in)
}

// RollBackToBaseline returns everything that was ever written on a rollout's fabric to the baseline, as wide and as patient as
// that rollout.
func (s *Service) RollBackToBaseline(ctx context.Context, fabric string, id int64) (ro Rollout, err error) {
	err = s.d.Store.View(ctx, func(r Repos) (err error) { ro, err = rolloutRow(ctx, r, fabric, id); return err })
	if err != nil {
		return Rollout{}, err
	}
	return s.ReturnToBaseline(ctx, fabric, wayBack(ro.Options))
}

// RollbackPlan names the plan that was in force before a rollout. It fails with *ConflictError "no-plan" when there was none.
func (s *Service) RollbackPlan(ctx context.Context, fabric string, id int64) (plan string, err error) {
	ro, err := s.before(ctx, fabric, id)
	return ro.Plan, err
}

// code is the code of a *ConflictError, "" of any other error.
func code(err error) string {
	var conflict *ConflictError
	if errors.As(err, &conflict) {
		return conflict.Code
	}
	return ""
}

// wayBack are the options for going back on a rollout with the given ones: as wide and as patient, but nothing may turn
// it forward again. The confirm window and the health gates of that rollout guard what it brought, not the return.
func wayBack(o RolloutOptions) RolloutOptions {
	if o.Repair {
		return RolloutOptions{}
	}
	o.ConfirmWindow, o.VerifyShares, o.MaxShareError, o.MinUtilisation, o.MeasureWindow, o.To, o.Release = 0, false, 0, 0, 0, "", false
	return o
}

// RolloutEnded records the end of a rollout in the audit log and in what is known of its devices, in the transaction
// that ends it.
func (s *Service) RolloutEnded(ctx context.Context, r Repos, ro Rollout) error {
	e := Event{Fabric: ro.Fabric, Rollout: ro.ID, Kind: "rollout." + string(ro.State), Subject: ro.Plan,
		Message: fmt.Sprintf("rollout %d ended as %s: %s", ro.ID, ro.State, ro.Result)}
	if err := s.settleDevices(ctx, r, ro); err != nil {
		return err
	}
	if err := s.settleRelease(ctx, r, ro); err != nil {
		return err
	}
	return s.auditEvent(ctx, r, e, map[string]any{"state": ro.State, "result": ro.Result, "started_by": ro.Actor})
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

// Rollout returns a rollout with its devices.
func (s *Service) Rollout(ctx context.Context, fabric string, id int64) (ro Rollout, err error) {
	err = s.d.Store.View(ctx, func(r Repos) (err error) { ro, err = r.Rollout(ctx, fabric, id); return err })
	return ro, err
}

// rolloutRow is a rollout without its devices, of which there may be many.
func rolloutRow(ctx context.Context, r Repos, fabric string, id int64) (Rollout, error) {
	next := min(max(id, 0), math.MaxInt64-1) + 1
	list, _, err := r.ListRollouts(ctx, fabric, Page{After: fmt.Sprint(next), Limit: 1}) // the newest one up to it
	switch {
	case err != nil:
		return Rollout{}, err
	case len(list) == 0 || list[0].ID != id:
		return Rollout{}, &NotFoundError{Kind: "rollout", Name: fmt.Sprint(id)}
	}
	return list[0], nil
}

// RolloutSettings is Rollout with what each device should be and was seen to be filled in: rows keep neither the
// plan's settings nor what was read back equal to something known.
func (s *Service) RolloutSettings(ctx context.Context, fabric string, id int64) (Rollout, error) {
	ro, err := s.Rollout(ctx, fabric, id)
	if err != nil || len(ro.Devices) == 0 {
		return ro, err
	}
	t, err := s.target(ctx, fabric, ro.Plan)
	if err != nil {
		return ro, err
	}
	list, err := t.desired()
	if err != nil {
		return ro, err
	}
	if ro.Options.To != "" {
		if list, err = s.returnTargets(ctx, &ro); err != nil {
			return ro, err
		}
	}
	list = append(list, goneFrom(list, ro.Devices)...)
	if ro.Moves() {
		if before, err := s.target(ctx, fabric, ro.Prior); err == nil {
			holdOver(list, t.Plan, before)
		}
	}
	want := make(map[ident.PortID]*driver.Settings, len(list))
	for i := range list {
		want[list[i].Device.ID] = &list[i].Want
	}
	for i := range ro.Devices {
		d := &ro.Devices[i]
		if d.Wanted == nil {
			d.Wanted = want[d.Device.ID]
		}
		switch {
		case d.Observed != nil:
		case d.State == string(reconcile.InSync):
			d.Observed = d.Wanted
		case d.State == string(reconcile.RolledBack):
			d.Observed = d.Before
		}
	}
	return ro, nil
}

// goneFrom are the devices of a rollout that only the plan before had.
func goneFrom(list []reconcile.Target, devices []RolloutDevice) (out []reconcile.Target) {
	has := make(map[ident.PortID]bool, len(list))
	for i := range list {
		has[list[i].Device.ID] = true
	}
	for i := range devices {
		if want, ok := reconcile.Gone(devices[i].Device); ok && !has[devices[i].Device.ID] {
			out = append(out, reconcile.Target{Device: devices[i].Device, Want: want})
		}
	}
	return out
}

// holdOver makes of what devices should be by a plan what they should be while traffic moves from the plan before.
func holdOver(list []reconcile.Target, p *policy.Plan, before Target) (held []ident.PortID) {
	old, err := before.desired()
	if err != nil {
		return nil // it does not fit the fabric any more: nothing was held over
	}
	was := make(map[ident.PortID]driver.Settings, len(old))
	for i := range old {
		was[old[i].Device.ID] = old[i].Want
	}
	moving := reconcile.Moving(before.Plan, p)
	for i := range list {
		t := &list[i]
		if then := reconcile.HoldOver(t.Want, was[t.Device.ID], moving[t.Device.ID]); !then.Equal(t.Want) {
			t.Want = then
			held = append(held, t.Device.ID)
		}
	}
	return held
}

// ListRollouts returns rollouts without their devices, newest first.
func (s *Service) ListRollouts(ctx context.Context, fabric string, p Page) (list []Rollout, next string, err error) {
	err = s.d.Store.View(ctx, func(r Repos) (err error) { list, next, err = r.ListRollouts(ctx, fabric, p); return err })
	return list, next, err
}

// Events returns events of a fabric, or of one of its rollouts when that is not 0.
func (s *Service) Events(ctx context.Context, fabric string, rollout int64, p Page) (list []Event, next string, err error) {
	err = s.d.Store.View(ctx, func(r Repos) (err error) {
		if _, err = r.Fabric(ctx, fabric); err != nil {
			return err
		}
		if names := sight(ctx, fabric); names != nil {
			list, next, err = tenantEvents(ctx, r, fabric, names, rollout, p)
			return err
		}
		if rollout != 0 {
			if _, err = rolloutRow(ctx, r, fabric, rollout); err != nil {
				return err
			}
		}
		list, next, err = r.ListEvents(ctx, EventFilter{Fabric: fabric, Rollout: rollout}, p)
		return err
	})
	return list, next, err
}
