package app

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"fairlane/ccconfig/driver"
	"fairlane/ccconfig/ibcc"
	"fairlane/ccconfig/ibmad"
	"fairlane/internal/control"
	"fairlane/internal/reconcile"
	"fairlane/internal/reconcile/engine"
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
	work       workOptions // how the manager works rollouts
}

// Discover implements control.Discoverer.
func (p *ports) Discover(ctx context.Context, src string) (f *subnet.Fabric, stats control.DiscoverStats, err error) {
	s, err := parseSource(src)
	if err != nil {
		return nil, stats, err
	}
	if f, stats, _, err = discoverSource(ctx, s, nil); s.file != "" {
		err = withoutContent(s.file, err)
	}
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
	return &session{transport: c, close: c.Close, driver: tracedDriver{d}}, nil
}

// session is an attachment to one fabric.
type session struct {
	transport mad.Transport
	driver    driver.Driver
	close     func() error
}

// Open implements engine.Opener.
func (p *ports) Open(ctx context.Context, t control.Target, devices []driver.Device) (engine.Session, error) {
	s, err := p.open(ctx, t)
	if err != nil {
		return engine.Session{}, err
	}
	if err := checkIdentities(ctx, s.transport, devices); err != nil {
		return engine.Session{}, errors.Join(fmt.Errorf("%w: %w", driver.ErrInvalid, err), s.close())
	}
	place := &placer{transport: s.transport, topology: t.Topology, set: p.partitions[t.Fabric.Name]}
	return engine.Session{Driver: s.driver, Placer: place, Close: s.close}, nil
}

// Observe implements control.Observer. A device whose LID belongs to another node by now is one that cannot be read.
func (p *ports) Observe(ctx context.Context, t control.Target, ids []ident.PortID) ([]control.DeviceReport, error) {
	targets, err := reconcile.Desired(t.Plan, t.Topology)
	if err != nil {
		return nil, err
	}
	if ids != nil {
		wanted := make(map[ident.PortID]bool, len(ids))
		for _, id := range ids {
			wanted[id] = true
		}
		targets = slices.DeleteFunc(targets, func(t reconcile.Target) bool { return !wanted[t.Device.ID] })
	}
	s, err := p.open(ctx, t)
	if err != nil {
		return nil, err
	}
	defer func() { _ = s.close() }() // the slot is gone either way
	devices := make([]driver.Device, len(targets))
	for i := range targets {
		devices[i] = targets[i].Device
	}
	observed := reconcile.Observe(ctx, targets, &certain{s.driver, identities(ctx, s.transport, devices)}, observers)
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

// observers is how many devices are read at the same time.
const observers = 64

// certain reads no device whose LID belongs to another node.
type certain struct {
	driver.Driver
	wrong map[ident.PortID]error
}

// Read implements driver.Driver.
func (c *certain) Read(ctx context.Context, d driver.Device) (driver.Settings, error) {
	if err := c.wrong[d.ID]; err != nil {
		return driver.Settings{}, err
	}
	return c.Driver.Read(ctx, d)
}

func differences(in []ibcc.Difference) []control.Difference {
	out := make([]control.Difference, len(in))
	for i, d := range in {
		out[i] = control.Difference{Field: d.Field, Desired: d.Want, Observed: d.Got}
	}
	return out
}
