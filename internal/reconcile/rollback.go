package reconcile

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// restore returns one touched device to its state before the rollout and verifies it. A
// device that cannot be restored is Failed and Dirty.
func (r *runner) restore(ctx context.Context, dev *device) {
	if dev.Before == nil {
		return // never read, so never written
	}
	err := r.drive(ctx, dev, *dev.Before, RolledBack)
	switch {
	case err == nil:
		dev.Dirty = false
	case dev.State == Unknown || r.haltErr() != nil:
		// Paused: the result says Unknown, and Before is recorded.
	default:
		dev.Dirty = true
		dev.Err = errors.Join(dev.Err, fmt.Errorf("return to the state before: %w", err))
	}
}

// rollBack undoes everything this rollout did, in the reverse of the order of doing.
func (r *runner) rollBack(ctx context.Context, why error) {
	r.stopped = why
	r.note("rolling back: " + why.Error())
	ws := r.waves()
	slices.Reverse(ws)
	for _, w := range ws {
		var devs []*device
		for _, dev := range slices.Backward(w.devs) {
			if dev.Touched && (dev.State == InSync || dev.State == Failed) {
				devs = append(devs, dev)
			}
		}
		r.each(ctx, devs, func(dev *device) { r.restore(ctx, dev) })
		if r.paused(ctx) {
			return
		}
	}
	r.unplace(ctx)
	if r.paused(ctx) {
		return
	}
	r.undone = true
	r.note("roll-back ended")
}

// place brings the placements about and verifies them.
func (r *runner) place(ctx context.Context) error {
	if r.d.Placer == nil || len(r.r.Placements) == 0 {
		return nil
	}
	r.placement = PlacementUnverified
	r.note(fmt.Sprintf("placing %d tenant attachments", len(r.r.Placements)))
	if r.haltErr() != nil {
		r.placement = PlacementNone // nothing was asked for
		return nil                  //nolint:nilerr // the recorder halted the run; result tells why
	}
	err := r.patiently(ctx, func() error {
		if err := r.d.Placer.Place(r.work, r.r.Placements); err != nil {
			return fmt.Errorf("place: %w", err)
		}
		if err := r.d.Placer.Verify(r.work, r.r.Placements); err != nil {
			return fmt.Errorf("verify placement: %w", err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	r.placement = PlacementVerified
	r.note("placements are in force")
	return nil
}

// unplace returns the placements to what they were, if that is known.
func (r *runner) unplace(ctx context.Context) {
	if r.placement == PlacementNone || r.r.PriorPlacements == nil {
		return
	}
	r.placement = PlacementUnverified
	err := r.patiently(ctx, func() error {
		if err := r.d.Placer.Place(r.work, r.r.PriorPlacements); err != nil {
			return fmt.Errorf("place: %w", err)
		}
		return r.d.Placer.Verify(r.work, r.r.PriorPlacements)
	})
	if err != nil {
		r.stopped = errors.Join(r.stopped, fmt.Errorf("return placements: %w", err))
		return
	}
	r.placement = PlacementRestored
}

// patiently tries f up to Options.Attempts times, with the pauses between them.
func (r *runner) patiently(ctx context.Context, f func() error) error {
	var err error
	for i := range r.o.Attempts {
		if i > 0 && r.pause(ctx, i) != nil {
			break
		}
		if err = f(); err == nil {
			return nil
		}
	}
	return err
}

// result sums up. It derives the outcome from the devices alone, so that no path through the
// run can claim more than was read.
func (r *runner) result(ctx context.Context) Result {
	res := Result{Placement: r.placement, Devices: make([]DeviceResult, 0, len(r.devs))}
	var counts tally
	for _, dev := range r.devs {
		if dev.State == Applying || dev.State == Verifying {
			dev.State = Unknown // the recorder failed between the act and the word
		}
		if dev.Err != nil {
			dev.Error = dev.Err.Error()
		}
		if dev.State == InSync || dev.State == RolledBack {
			dev.Differences = nil
		}
		counts.add(dev)
		res.Devices = append(res.Devices, dev.DeviceResult)
	}
	res.Outcome, res.Err = r.outcome(ctx, counts)
	res.Reason = errText(res.Err)
	r.note(fmt.Sprintf("rollout of %s ended: %s", r.r.Plan, res.Outcome))
	return res
}

// tally counts devices by what the outcome depends on.
type tally struct {
	inSync, dirty, open, all int
	errs                     []error
}

func (t *tally) add(dev *device) {
	t.all++
	switch {
	case dev.State == InSync:
		t.inSync++
	case dev.Dirty:
		t.dirty++
	case !dev.State.Settled():
		t.open++
	}
	if dev.Err != nil {
		t.errs = append(t.errs, fmt.Errorf("%s: %w", dev.Device, dev.Err))
	}
}

func (r *runner) outcome(ctx context.Context, t tally) (Outcome, error) {
	cause := errors.Join(t.errs...)
	unplaced := r.placement == PlacementUnverified || r.placement == PlacementVerified && r.r.PriorPlacements == nil
	switch {
	case r.stopped == nil && t.inSync == t.all && r.placement != PlacementUnverified:
		return OutcomeDone, nil
	case r.haltErr() != nil:
		return OutcomePaused, errors.Join(r.haltErr(), cause)
	case t.dirty > 0 && (r.undone || ctx.Err() == nil):
		return OutcomeStuck, errors.Join(fmt.Errorf("%d devices are neither as wanted nor as before", t.dirty), r.stopped, cause)
	case r.undone && r.placement == PlacementUnverified:
		return OutcomeStuck, r.stopped
	case r.undone && unplaced:
		return OutcomeRolledBack, errors.Join(r.stopped, errors.New("placements stay as the rollout made them: what they were before is not known"))
	case r.undone:
		return OutcomeRolledBack, r.stopped
	case ctx.Err() != nil || t.open > 0:
		return OutcomePaused, errors.Join(context.Cause(ctx), r.stopped, cause)
	}
	return OutcomePartial, cause
}
