package reconcile

import (
	"context"
	"fmt"

	"fairlane/ccconfig/driver"
)

// Part is the work on some devices of a rollout: what one worker does while others do theirs.
type Part struct {
	Plan  string // name of the stored plan, for messages and events
	Items []Item
	// Undo returns touched devices to what they were; otherwise devices are brought to what is wanted.
	Undo    bool
	Options Options
	// Failures is how many devices of the rollout failed before; over Options.FailureBudget no further one is begun.
	Failures int
	// Canary lets no device of this part fail.
	Canary bool
}

// Item is one device of a part and where it stands.
type Item struct {
	Target

	State   State // as last recorded; a state in the middle of something is what a crash left
	Touched bool  // a write may have reached it
}

// Work brings the devices of a part as far as it can and returns how each of them stands, in the order given. It
// can be called again with what was recorded, after a crash at any point: what is settled is left alone, what is not
// is read and finished. When the context ends, devices in work are finished within Options.Grace and no other is
// begun; when the recorder fails, no device is touched any more. An error means that nothing was done.
func Work(ctx context.Context, p Part, d Deps) ([]DeviceResult, error) {
	r := Rollout{Plan: p.Plan, Options: p.Options}
	for _, it := range p.Items {
		t := it.Target
		t.Before = nil // set below, without the claim of newRunner that it was touched
		r.Targets = append(r.Targets, t)
	}
	run, err := newRunner(r, d)
	if err != nil {
		return nil, err
	}
	byID := make(map[string]*device, len(run.devs))
	for _, dev := range run.devs {
		byID[dev.Device.ID.String()] = dev
	}
	order := make([]*device, len(p.Items))
	for i, it := range p.Items {
		dev := byID[it.Device.ID.String()]
		order[i] = dev
		dev.State, dev.Touched = it.State, it.Touched
		if it.Before != nil {
			if err := it.Before.ValidateRanges(it.Device); err != nil {
				return nil, fmt.Errorf("recorded state of %s before the rollout: %w", it.Device, err)
			}
			b := it.Before.Clone()
			dev.Before = &b
		}
	}
	run.failures.Store(int32(p.Failures))
	stop := run.openWork(ctx)
	defer stop()
	if p.Undo {
		run.undoPart(ctx, order)
	} else {
		run.pushPart(ctx, p, order)
	}
	out := make([]DeviceResult, len(order))
	for i, dev := range order {
		if dev.Err != nil {
			dev.Error = dev.Err.Error()
		}
		out[i] = dev.DeviceResult
	}
	return out, run.haltErr()
}

// pushPart brings the devices to what is wanted.
func (r *runner) pushPart(ctx context.Context, p Part, devs []*device) {
	budget := r.o.FailureBudget
	if p.Canary {
		budget = p.Failures
	}
	r.each(ctx, devs, func(dev *device) {
		switch {
		case dev.State == Failed && dev.Touched:
			r.restore(ctx, dev) // a crash came between the failure and the return
		case dev.State.Settled():
		case int(r.failures.Load()) > budget && !dev.Touched: // one in the middle of something is finished
		case r.takeUp(dev) == nil:
			r.bring(ctx, dev)
		}
	})
}

// undoPart returns the touched devices to what they were.
func (r *runner) undoPart(ctx context.Context, devs []*device) {
	r.each(ctx, devs, func(dev *device) {
		if !dev.Touched || dev.State == RolledBack || dev.Before == nil {
			return
		}
		if dev.State != InSync && dev.State != Failed && r.takeUp(dev) != nil {
			return
		}
		r.restore(ctx, dev)
	})
}

// takeUp brings a device that a crash left in the middle, or that waits, to Pending.
func (r *runner) takeUp(dev *device) error {
	if dev.State == Pending {
		return nil
	}
	if dev.State == Applying || dev.State == Verifying {
		dev.State = Unknown // nothing can be claimed about what another worker left
	}
	return r.move(dev, Pending, Event{Message: dev.Device.String() + " is taken up again", Before: dev.Before})
}

// Broken is a driver all of whose devices answer with the same error: a fabric that could not be opened.
func Broken(err error) driver.Driver { return broken{err} }

type broken struct{ err error }

// Capabilities implements driver.Driver.
func (b broken) Capabilities(context.Context, driver.Device) (driver.Capabilities, error) {
	return driver.Capabilities{}, b.err
}

// Read implements driver.Driver.
func (b broken) Read(context.Context, driver.Device) (driver.Settings, error) {
	return driver.Settings{}, b.err
}

// Apply implements driver.Driver.
func (b broken) Apply(context.Context, driver.Device, driver.Settings) (driver.Receipt, error) {
	return driver.Receipt{}, b.err
}
