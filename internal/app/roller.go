package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"fairlane/ccconfig/driver"
	"fairlane/ccconfig/ibcc"
	"fairlane/ccconfig/ibmad"
	"fairlane/internal/control"
	"fairlane/internal/reconcile"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/subnet/mad"
)

// ports implements what control needs from the outside, over the MAD transport of each
// fabric's source. A transport lives for one operation, so that a fabric that went away and
// came back needs no care.
type ports struct {
	ccKey mad.Key
	// partitions moves a partition's traffic to a service level, by fabric name, where the
	// manager can do it itself: on a simulated fabric in this process. Elsewhere that is the
	// subnet manager's business, and ports only verifies.
	partitions map[string]func(ident.PKey, ident.SL) int
}

// Discover implements control.Discoverer.
func (p *ports) Discover(ctx context.Context, src string) (f *subnet.Fabric, stats control.DiscoverStats, err error) {
	s, err := parseSource(src)
	if err != nil {
		return nil, stats, err
	}
	f, stats, _, err = discoverSource(ctx, s, nil)
	return f, stats, err
}

// open attaches to the fabric of a target.
func (p *ports) open(ctx context.Context, t control.Target) (*session, error) {
	s, err := parseSource(t.Fabric.Source)
	if err != nil {
		return nil, err
	}
	c, err := s.dial(ctx)
	if err != nil {
		return nil, err
	}
	d, err := ibmad.New(c, ibmad.Options{CCKey: p.ccKey, InFlight: 256})
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return &session{transport: c, close: c.Close, driver: d}, nil
}

// session is an attachment to one fabric.
type session struct {
	transport mad.Transport
	driver    driver.Driver
	close     func() error
}

// Roll implements control.Roller.
func (p *ports) Roll(ctx context.Context, t control.RollRequest, rec control.Recorder) (control.RollResult, error) {
	s, err := p.open(ctx, t.Target)
	if err != nil {
		return control.RollResult{}, err
	}
	defer func() { _ = s.close() }() // the slot is gone either way
	r := reconcile.Rollout{Plan: t.Plan.Name}
	if slices.Contains(t.Stages, control.StageSettings) {
		if r.Targets, err = reconcile.Desired(t.Plan, t.Topology); err != nil {
			return control.RollResult{}, err
		}
	}
	if err := checkIdentities(ctx, s.transport, r.Targets); err != nil {
		return control.RollResult{}, err
	}
	deps := reconcile.Deps{Driver: s.driver, Recorder: newRecorder(rec, r.Targets)}
	if slices.Contains(t.Stages, control.StagePlacement) {
		r.Placements = t.Plan.Placements
		if t.Prior != nil {
			r.PriorPlacements = t.Prior.Placements
		}
		deps.Placer = &placer{transport: s.transport, topology: t.Topology, set: p.partitions[t.Fabric.Name]}
	}
	return rollResult(reconcile.Run(ctx, r, deps)), nil
}

// rollResult says in control's words how a run ended. A paused run has no state of its own:
// control knows whether the rollout was cancelled or the manager stopped.
func rollResult(r reconcile.Result) control.RollResult {
	r.Reason = strings.ReplaceAll(r.Reason, "\n", "; ") // one line, as tables show it
	state := control.RolloutFailed
	switch r.Outcome {
	case reconcile.OutcomeDone:
		state = control.RolloutSucceeded
	case reconcile.OutcomePartial:
		state = control.RolloutPartial
	case reconcile.OutcomeRolledBack:
		state = control.RolloutRolledBack
	case reconcile.OutcomePaused:
		state = ""
	}
	var failed []string
	for _, d := range r.Devices {
		if d.Error != "" {
			failed = append(failed, fmt.Sprintf("%s: %s", d.Device.Name, d.Error))
		}
	}
	switch {
	case r.Outcome == reconcile.OutcomeDone && len(r.Devices) > 0:
		return control.RollResult{State: state, Result: fmt.Sprintf("%d devices read back as wanted", len(r.Devices))}
	case r.Outcome == reconcile.OutcomeDone:
		return control.RollResult{State: state, Result: "placement " + string(r.Placement)}
	case len(failed) > 0 && !strings.Contains(r.Reason, failed[0]):
		return control.RollResult{State: state, Result: r.Reason + "; " + strings.Join(failed, "; ")}
	}
	return control.RollResult{State: state, Result: r.Reason}
}

// recorder turns moves of the reconciler into device rows and events.
type recorder struct {
	to   control.Recorder
	mu   sync.Mutex
	rows map[ident.PortID]*control.RolloutDevice
}

func newRecorder(to control.Recorder, targets []reconcile.Target) *recorder {
	r := &recorder{to: to, rows: make(map[ident.PortID]*control.RolloutDevice, len(targets))}
	for i := range targets {
		r.rows[targets[i].Device.ID] = &control.RolloutDevice{Device: targets[i].Device, Wanted: &targets[i].Want}
	}
	return r
}

// Record implements reconcile.Recorder.
func (r *recorder) Record(_ context.Context, e reconcile.Event) error {
	if e.Device == nil {
		return r.to.Event("rollout.progress", e.Plan, e.Message, nil)
	}
	row := r.update(e)
	if err := r.to.Device(row); err != nil {
		return err
	}
	return r.to.Event("device.state", e.Device.Name, e.Message, map[string]string{
		"device": e.Device.ID.String(), "from": string(e.From), "to": string(e.To), "error": e.Error,
	})
}

func (r *recorder) update(e reconcile.Event) control.RolloutDevice {
	r.mu.Lock()
	defer r.mu.Unlock()
	row, ok := r.rows[e.Device.ID]
	if !ok {
		row = &control.RolloutDevice{Device: *e.Device}
		r.rows[e.Device.ID] = row
	}
	row.State, row.Error = string(e.To), e.Error
	if e.Before != nil {
		row.Before = e.Before
	}
	if e.Observed != nil {
		row.Observed = e.Observed
	}
	if e.Receipt != nil {
		row.Receipt = e.Receipt
	}
	return *row
}

// Observe implements control.Observer.
func (p *ports) Observe(ctx context.Context, t control.Target) ([]control.DeviceReport, error) {
	s, err := p.open(ctx, t)
	if err != nil {
		return nil, err
	}
	defer func() { _ = s.close() }() // the slot is gone either way
	targets, err := reconcile.Desired(t.Plan, t.Topology)
	if err != nil {
		return nil, err
	}
	if err := checkIdentities(ctx, s.transport, targets); err != nil {
		return nil, err
	}
	observed := reconcile.Observe(ctx, targets, s.driver, 64)
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("read devices back: %w", err)
	}
	reports := make([]control.DeviceReport, len(observed))
	for i, o := range observed {
		reports[i] = control.DeviceReport{
			Device: o.Device, State: string(o.State), Desired: &targets[i].Want, Observed: o.Observed,
			Differences: differences(o.Differences), Error: o.Error,
		}
	}
	return reports, nil
}

func differences(in []ibcc.Difference) []control.Difference {
	out := make([]control.Difference, len(in))
	for i, d := range in {
		out[i] = control.Difference{Field: d.Field, Desired: d.Want, Observed: d.Got}
	}
	return out
}
