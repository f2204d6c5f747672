package rollouts

import (
	"context"
	"fmt"
	"math"

	"fairlane/ccconfig/driver"
	"fairlane/policy"
	"fairlane/service/control"
	"fairlane/service/device"
	"fairlane/subnet/ident"
)

// Rollout returns a rollout with its devices.
func (s *Rollouts) Rollout(ctx context.Context, fabric string, id int64) (ro control.Rollout, err error) {
	err = s.Store.View(ctx, func(r control.Repos) (err error) { ro, err = r.Rollout(ctx, fabric, id); return err })
	return ro, err
}

// RolloutRow returns a rollout without its devices, which may be many.
func RolloutRow(ctx context.Context, r control.Repos, fabric string, id int64) (control.Rollout, error) {
	next := min(max(id, 0), math.MaxInt64-1) + 1
	list, _, err := r.ListRollouts(ctx, fabric, control.Page{After: fmt.Sprint(next), Limit: 1}) // the newest one up to that number
	switch {
	case err != nil:
		return control.Rollout{}, err
	case len(list) == 0 || list[0].ID != id:
		return control.Rollout{}, &control.NotFoundError{Kind: "rollout", Name: fmt.Sprint(id)}
	}
	return list[0], nil
}

// RolloutSettings is Rollout with the desired and observed settings of each device filled in: rows store neither the
// plan's settings nor observed settings that equal known ones.
func (s *Rollouts) RolloutSettings(ctx context.Context, fabric string, id int64) (control.Rollout, error) {
	ro, err := s.Rollout(ctx, fabric, id)
	if err != nil || len(ro.Devices) == 0 {
		return ro, err
	}
	t, err := s.plans.LoadTarget(ctx, fabric, ro.Plan)
	if err != nil {
		return ro, err
	}
	list, err := t.Desired()
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
		if before, err := s.plans.LoadTarget(ctx, fabric, ro.Prior); err == nil {
			HoldOver(list, t.Plan, before)
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
		case d.State == device.InSync:
			d.Observed = d.Wanted
		case d.State == device.RolledBack:
			d.Observed = d.Before
		}
	}
	return ro, nil
}

// goneFrom returns the devices of a rollout that only the previous plan had.
func goneFrom(list []device.Target, devices []control.RolloutDevice) (out []device.Target) {
	has := make(map[ident.PortID]bool, len(list))
	for i := range list {
		has[list[i].Device.ID] = true
	}
	for i := range devices {
		if want, ok := device.Gone(devices[i].Device); ok && !has[devices[i].Device.ID] {
			out = append(out, device.Target{Device: devices[i].Device, Want: want})
		}
	}
	return out
}

// HoldOver changes the desired states of a plan to those that apply while traffic moves from the placements of the
// previous plan.
func HoldOver(list []device.Target, p *policy.Plan, before control.Target) (held []ident.PortID) {
	old, err := before.Desired()
	if err != nil {
		return nil // it no longer fits the fabric: nothing was held over
	}
	was := make(map[ident.PortID]driver.Settings, len(old))
	for i := range old {
		was[old[i].Device.ID] = old[i].Want
	}
	moving := device.Moving(before.Plan, p)
	for i := range list {
		t := &list[i]
		if then := device.HoldOver(t.Want, was[t.Device.ID], moving[t.Device.ID]); !then.Equal(t.Want) {
			t.Want = then
			held = append(held, t.Device.ID)
		}
	}
	return held
}

// ListRollouts returns rollouts without their devices, newest first.
func (s *Rollouts) ListRollouts(ctx context.Context, fabric string, p control.Page) (list []control.Rollout, next string, err error) {
	err = s.Store.View(ctx, func(r control.Repos) (err error) { list, next, err = r.ListRollouts(ctx, fabric, p); return err })
	return list, next, err
}

// Events returns events of a fabric; a rollout other than 0 selects those of that rollout.
func (s *Rollouts) Events(ctx context.Context, fabric string, rollout int64, p control.Page) (list []control.Event, next string, err error) {
	return s.ListEvents(ctx, control.EventFilter{Fabric: fabric, Rollout: rollout}, p)
}

// ListEvents returns the selected events of the filter's fabric that the caller may see.
func (s *Rollouts) ListEvents(ctx context.Context, filter control.EventFilter, p control.Page) (list []control.Event, next string, err error) {
	fabric := filter.Fabric
	err = s.Store.View(ctx, func(r control.Repos) (err error) {
		f, err := r.Fabric(ctx, fabric)
		if err != nil {
			return err
		}
		if names := control.VisibleTenants(ctx, fabric); names != nil {
			list, next, err = control.TenantEvents(ctx, r, filter, names, p)
			return err
		}
		if filter.Rollout != 0 {
			if _, err = RolloutRow(ctx, r, fabric, filter.Rollout); err != nil {
				return err
			}
		}
		if heard := control.VisibleSince(ctx, f); heard.After(filter.Since) {
			filter.Since = heard
		}
		list, next, err = r.ListEvents(ctx, filter, p)
		return err
	})
	return list, next, err
}
