package opensm

import (
	"context"
	"errors"

	"fairlane/subnet"
	"fairlane/subnet/opensm/osmfile"
)

// Placer puts plans' placements and lanes into force through a Manager, in the form that rollouts call.
type Placer struct {
	Manager *Manager
	Fabric  *subnet.Fabric // the fabric with the placements' ports
	Options PlanOptions
	Force   []osmfile.Code // problems that the operator accepts
	// Done receives the report, also after a failure; may be nil.
	Done func(Report)
}

// Check returns a *RefusedError when Place could not apply a plan, and changes nothing.
func (p *Placer) Check(ctx context.Context, plan *Plan) error {
	d, err := p.desired(plan)
	if err != nil {
		return err
	}
	pre, err := p.Manager.Diff(ctx, d, PhasePrepare)
	if err != nil {
		return err
	}
	if stop := osmfile.Blocking(pre.Problems, p.Force); len(stop) > 0 {
		return &RefusedError{Problems: stop, Differences: pre.Differences}
	}
	return nil
}

// Place adds the entries that a plan needs and proves them. Entries that only earlier plans need stay, for traffic that
// still moves, unless clear is set.
func (p *Placer) Place(ctx context.Context, plan *Plan, clear bool) error {
	d, err := p.desired(plan)
	if err != nil {
		return err
	}
	phase := PhasePrepare
	if clear {
		phase = PhaseFinish
	}
	r, err := p.Manager.Apply(ctx, d, ApplyOptions{Phase: phase, Force: p.Force})
	if p.Done != nil {
		p.Done(r)
	}
	return err
}

// Verify queries whether a plan's placements and lanes are in force, and writes nothing. The error names each one
// that is not in force.
func (p *Placer) Verify(ctx context.Context, plan *Plan) error {
	d, err := p.desired(plan)
	if err != nil {
		return err
	}
	proof, err := p.Manager.Prove(ctx, d)
	if err == nil && !proof.Holds() {
		err = errors.New(proof.Problems())
	}
	return err
}

func (p *Placer) desired(plan *Plan) (osmfile.Desired, error) {
	d, problems := FromPlan(plan, p.Fabric, p.Options)
	if stop := osmfile.Blocking(problems, p.Force); len(stop) > 0 {
		return d, &RefusedError{Problems: stop}
	}
	return d, nil
}
