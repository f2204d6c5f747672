package opensm

import (
	"context"
	"errors"

	"fairlane/subnet"
	"fairlane/subnet/opensm/osmfile"
)

// Placer brings plans' placements and lanes into force through a Manager: the form in which a rollout asks for it.
type Placer struct {
	Manager *Manager
	Fabric  *subnet.Fabric // on which the placements' ports are found
	Options PlanOptions
	Force   []osmfile.Code // problems that the operator accepts
	// Done is told what was done, also when it failed; nil is nobody.
	Done func(Report)
}

// Check returns a *RefusedError when Place could not bring a plan about, and changes nothing.
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

// Place adds what a plan needs and proves it. What earlier plans needed and this one does not stays, for traffic that
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

// Verify asks whether a plan's placements and lanes are in force, and writes nothing. The error names each that is not.
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
