// Package site provides access to the devices of fabrics: sources, discovery, observation, measurement and sessions of
// rollouts. It uses management datagrams on InfiniBand, and gNMI and P4Runtime on Ethernet. The identity guard verifies
// each device before any of its settings is read or written.
package site

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"fairlane/ccconfig/driver"
	"fairlane/ccconfig/ibmad"
	"fairlane/ccconfig/prereq"
	"fairlane/internal/fieldwise"
	"fairlane/internal/phrase"
	"fairlane/internal/quantity"
	"fairlane/policy"
	"fairlane/service/config"
	"fairlane/service/control"
	"fairlane/service/device"
	"fairlane/service/placement"
	"fairlane/service/rollout"
	"fairlane/service/telemetry"
	"fairlane/subnet"
	"fairlane/subnet/ident"
)

// Access implements what package control needs of fabrics: over MADs at the source of an InfiniBand fabric, and by gNMI
// and P4Runtime at the addresses in the inventory of an Ethernet fabric. A connection lasts for one operation, so a
// fabric that was unreachable needs no special handling once it is back.
type Access struct {
	mu      sync.RWMutex // guards current
	current Settings

	Placements placement.Placements
	// Congested receives the congestion-control events of each measurement; nil: they are not read.
	Congested      func(*telemetry.Congestion)
	RescanInterval time.Duration // between rescans of a fabric; 0: no rescans
	Patience       int           // with clocks of simulated devices, see telemetry.Options
	files          inventories
	measuring      turns   // one measurement of a fabric at a time
	cleared        clears  // counters that measurements cleared
	rescans        rescans // latest scan of each fabric
}

var (
	_ control.Discoverer  = (*Access)(nil)
	_ control.Rescanner   = (*Access)(nil)
	_ control.Meter       = (*Access)(nil)
	_ control.PortWatcher = (*Access)(nil)
	_ control.Observer    = (*Access)(nil)
	_ rollout.Opener      = (*Access)(nil)
)

// Discover builds the model from the source of a fabric. Its errors contain nothing of the contents of files.
func (p *Access) Discover(ctx context.Context, src string, options policy.Options) (_ *subnet.Fabric, stats control.DiscoverStats, err error) {
	now := p.Settings()
	s, err := now.source(src)
	if err != nil {
		return nil, stats, err
	}
	s.needs = device.RoCENeeds(options.TrafficClasses(), false)
	o, err := DiscoverSource(ctx, s, nil)
	if isFile(s) {
		err = withoutContent(src, err)
	}
	if err != nil {
		return nil, stats, err
	}
	o.Stats.Warnings = o.Warnings
	return o.Fabric, o.Stats, nil
}

// source parses the source of a fabric and resolves its links, if the settings allow it.
func (now *Settings) source(src string) (Source, error) {
	s, err := ParseSource(src)
	if err != nil {
		return s, err
	}
	resolved, err := now.Sources.Resolve(src)
	switch {
	case errors.Is(err, config.ErrSource):
		return s, err
	case err != nil:
		return s, withoutContent(src, err)
	}
	s, err = ParseSource(resolved)
	s.MKey, s.CCKey, s.examine = now.MKey, now.CCKey, true
	return s, err
}

// open attaches to the fabric of a target, with a driver for its plane. One operation uses one copy of the settings, so
// that a reload during it does not mix old and new ones.
func (p *Access) open(ctx context.Context, now *Settings, t control.Target) (*session, error) {
	s, err := now.source(t.Fabric.Source)
	if err != nil {
		return nil, err
	}
	if ether, plane := s.Ethernet != "", t.Plan.Plane != policy.PlaneIB; ether != plane && s.File == "" {
		return nil, fmt.Errorf("fabric %s at %s: the plan is for plane %s, which has no device there", t.Fabric.Name, t.Fabric.Source, t.Plan.Plane)
	}
	if s.Ethernet != "" {
		return p.openEthernet(s.Ethernet, t)
	}
	c, err := s.Dial(ctx)
	if err != nil {
		return nil, err
	}
	d, err := ibmad.New(c, ibmad.Options{CCKey: now.CCKey, InFlight: 256, Layout: now.models.driver(t.Topology)})
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	cost := &costOf{}
	counted := countedTransport{c, cost}
	sure := &identityGuard{Driver: tracedDriver{d}, transport: c, known: map[ident.PortID]bool{}}
	return &session{
		close: c.Close, driver: sure, others: sure.others,
		placer: sync.OnceValues(func() (placement.Port, error) { return p.Placements.Open(t, now.Managers[t.Fabric.Name], c) }),
		measure: func(ctx context.Context, window quantity.Picoseconds) (telemetry.Report, error) {
			return p.measure(ctx, now, counted, t, window)
		},
		watch: func(ids []ident.PortID, within time.Duration) (portReader, error) {
			return telemetry.NewPortWatch(counted, ids, t.Topology, within, p.counting(now, t))
		},
		cost: cost.total,
	}, nil
}

// session is an attachment to one fabric.
type session struct {
	driver driver.Driver
	// others finds those of some devices that are not the devices in the plan.
	others func(context.Context, []driver.Device) map[ident.PortID]error
	// placer opens the port to the subnet manager on first use, since most operations need none; nil: the plane has no
	// placements.
	placer  func() (placement.Port, error)
	measure func(ctx context.Context, window quantity.Picoseconds) (telemetry.Report, error)
	// watch prepares to read ports; a reading of a device may take within.
	watch func(ids []ident.PortID, within time.Duration) (portReader, error)
	cost  func() control.Cost // of measure and watch so far
	close func() error
}

// Open attaches to the fabric of a target after checking that none of the devices has been replaced by another node.
func (p *Access) Open(ctx context.Context, t control.Target, devices []driver.Device) (rollout.Session, error) {
	now := p.Settings()
	s, err := p.open(ctx, &now, t)
	if err != nil {
		return rollout.Session{}, err
	}
	if err := othersAmong(devices, s.others(ctx, devices)); err != nil {
		return rollout.Session{}, errors.Join(fmt.Errorf("%w: %w", driver.ErrInvalid, err), s.close())
	}
	out := rollout.Session{Driver: s.driver, Close: s.close}
	if s.placer != nil {
		out.Placer = lazyPlacer(s.placer)
	}
	return out, nil
}

var _ control.CapabilityReader = (*Access)(nil)

// Capabilities implements control.CapabilityReader.
func (p *Access) Capabilities(ctx context.Context, t control.Target, d driver.Device) (driver.Capabilities, error) {
	now := p.Settings()
	s, err := p.open(ctx, &now, t)
	if err != nil {
		return driver.Capabilities{}, err
	}
	defer func() { _ = s.close() }() // the slot is released in any case
	return s.driver.Capabilities(ctx, d)
}

// Observe reads devices of a plan and, when due, the subnet manager, and compares both with the plan; ids limits it,
// nil means all. A device whose address now belongs to another node is reported as unreadable.
func (p *Access) Observe(ctx context.Context, t control.Target, ids []ident.PortID) ([]control.DeviceReport, error) {
	targets := slices.Clone(t.Devices)
	if t.Devices == nil {
		var err error
		if targets, err = device.Desired(t.Plan, t.Topology); err != nil {
			return nil, err
		}
	}
	if ids != nil {
		wanted := make(map[ident.PortID]bool, len(ids))
		for _, id := range ids {
			wanted[id] = true
		}
		targets = slices.DeleteFunc(targets, func(t device.Target) bool { return !wanted[t.Device.ID] })
	}
	now := p.Settings()
	if m := now.Managers[t.Fabric.Name]; m != nil && m.OpenSM != nil && !t.Placed {
		device.WithoutLanes(targets) // the placement of the plan sets these lanes through OpenSM
	}
	t.Repair = true // to find what would refuse a repair; nothing is written
	s, err := p.open(ctx, &now, t)
	if err != nil {
		return nil, err
	}
	defer func() { _ = s.close() }() // the slot is released in any case
	observed := device.Observe(ctx, targets, s.driver, observers)
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("read devices back: %w", err)
	}
	reports := make([]control.DeviceReport, len(observed), len(observed)+1)
	for i, o := range observed {
		reports[i] = control.DeviceReport{
			Device: o.Device, State: o.State, Desired: &targets[i].Want, Observed: o.Observed,
			Differences: append(differences(o.Differences), prerequisites(o.Unmet)...),
		}
		if o.Err != nil {
			reports[i].Error = driver.Said(o.Err)
		}
		for k := range o.Unmet {
			if o.Observed == nil { // an unreadable device has the differences of its last reading
				reports[i].Error = phrase.Joined(reports[i].Error, o.Unmet[k].Sentence())
			}
		}
		markRefused(&reports[i], t.Fabric.Prerequisites)
	}
	if s.placer == nil {
		return reports, nil
	}
	port, unopened := s.placer()
	if t.Placed && device.Manages(t.Plan) && (ids == nil || slices.ContainsFunc(ids, device.IsManager)) {
		if unopened != nil {
			return append(reports, control.DeviceReport{Device: device.Manager(), State: device.Failed, Error: driver.Said(unopened)}), nil
		}
		reports = append(reports, p.Placements.Observe(ctx, t, port, ids == nil))
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("query the subnet manager: %w", err)
		}
	}
	if unopened == nil { // an unopened port provides no observation that could explain drift
		p.Placements.Explain(ctx, t.Fabric.Name, port, reports)
	}
	return reports, nil
}

// observers is the number of devices that are read concurrently.
const observers = 64

func differences(in []fieldwise.Difference) []control.Difference {
	out := make([]control.Difference, len(in))
	for i, d := range in {
		out[i] = control.Difference{Field: d.Field, Desired: d.Want, Observed: d.Got}
	}
	return out
}

// prerequisites converts unmet prerequisites to differences, each with the reason why it matters.
func prerequisites(in []prereq.Item) []control.Difference {
	var out []control.Difference
	for i := range in {
		item := &in[i]
		said := item.Sentence()
		d := control.Difference{
			Field: item.Field, Desired: item.Want, Observed: item.Found, Prerequisite: string(item.ID), Reason: said.String(), Said: &said, Repairable: item.Repair != nil, Advisory: item.Advisory,
		}
		if item.State == prereq.Unknown {
			d.Observed = control.ObservedUnknown
		}
		out = append(out, d)
	}
	return out
}

// markRefused marks a drifted device on which a repair would change nothing.
func markRefused(x *control.DeviceReport, p control.Prerequisites) {
	if x.State != device.Drifted || slices.ContainsFunc(x.Differences, func(d control.Difference) bool { return !d.Left(p) }) {
		return
	}
	x.Refused = true
}
