package drift

import (
	"context"
	"errors"
	"time"

	"fairlane/ccconfig/driver"
	"fairlane/internal/phrase"
	"fairlane/service/control"
	"fairlane/service/device"
	"fairlane/subnet/ident"
)

// SweepEvery is how often every manager sweeps for drift and checks whether a clean-up is due.
const SweepEvery = 5 * time.Second

// ReadingCleanup is the reading of a device that holds exactly the settings of the plan in force plus those of the
// previous plan that a clean-up will remove. Such devices are recorded as in sync: this is neither drift nor an incident.
const ReadingCleanup device.Reading = "clean-up-pending"

// cleanup describes what the last rollout of a fabric left on purpose, until the clean-up rollout has ended.
type cleanup struct {
	held    map[ident.PortID]driver.Settings // expected settings until then, of devices that keep settings of the previous plan
	leaves  map[ident.PortID]bool            // devices that are not in the plan in force
	left    bool                             // the subnet manager may still have placements of the previous plan
	rollout int64                            // the running clean-up; 0 while it is due
	waits   *phrase.Text                     // why it is on hold; nil when it may start
}

// pendingCleanup returns the clean-up that is due or running on a fabric; nil without one.
func (s *Drift) pendingCleanup(ctx context.Context, k *known) (*cleanup, error) {
	fabric := k.target.Fabric.Name
	var last control.Rollout
	c := cleanup{waits: k.target.Fabric.Waiting()}
	err := s.Store.View(ctx, func(r control.Repos) error {
		list, _, err := r.ListRollouts(ctx, fabric, control.Page{Limit: cleanUpSearch})
		if err != nil {
			return err
		}
		if len(list) > 0 && list[0].State == control.RolloutRunning && list[0].Options.Repair {
			if list[0].ClearsUp() {
				c.rollout = list[0].ID
			}
			list = list[1:]
		}
		last, _ = lastPlacing(list)
		return nil
	})
	if err != nil || !last.Leaves() {
		return nil, err
	}
	of, back, err := s.heldOver(ctx, last)
	if err != nil || of == nil || of.target.Plan.Name != k.target.Plan.Name {
		return nil, err
	}
	c.left, c.held, c.leaves = true, make(map[ident.PortID]driver.Settings, len(back)), map[ident.PortID]bool{}
	devices := []control.RolloutDevice{{Device: device.Manager()}}
	for i := range back {
		if devices = append(devices, control.RolloutDevice{Device: back[i].Device}); back[i].held != nil {
			c.held[back[i].Device.ID] = *back[i].held
		} else {
			c.leaves[back[i].Device.ID] = true
		}
	}
	// A frozen device blocks the clean-up, so what it holds counts as drift.
	err = s.Store.View(ctx, func(r control.Repos) error { return control.Frozen(ctx, r, fabric, devices) })
	if errors.Is(err, control.ErrConflict) {
		return nil, nil
	}
	return &c, err
}

// note says when the clean-up removes what is left.
func (c *cleanup) note() phrase.Text {
	if c.rollout != 0 {
		return phrase.Of("device.kept-rollout", "rollout", c.rollout)
	}
	if c.waits != nil {
		return phrase.Of("device.kept", "text", *c.waits)
	}
	return phrase.Of("device.kept-cleanup", "within", SweepEvery)
}

// mark changes reports of devices that differ only by what the clean-up removes: they become in sync, with Pending.
func (c *cleanup) mark(reports []control.DeviceReport) {
	if c == nil {
		return
	}
	for i := range reports {
		x := &reports[i]
		held, ok := c.held[x.Device.ID]
		switch {
		case x.State != device.Drifted:
		case IsManager(x.Device) && c.left && x.Leftover, c.leaves[x.Device.ID],
			ok && x.Observed != nil && len(held.Diff(*x.Observed)) == 0:
			x.State, x.Pending, x.Error = device.InSync, new(c.note()), phrase.Text{}
		}
	}
}

// show sets ReadingCleanup on devices that were recorded as in sync and still keep settings of the previous plan. It
// reads no device.
func (c *cleanup) show(list []DeviceView) {
	if c == nil {
		return
	}
	for i := range list {
		v := &list[i]
		held, ok := c.held[v.Device.ID]
		switch {
		case ok && v.Watch.Reading == device.ReadingInSync:
			v.Observed = &held
		case c.leaves[v.Device.ID] && v.Watch.Reading == device.ReadingUnknown:
		default:
			continue
		}
		v.pend(c.note())
		v.judge()
	}
}
