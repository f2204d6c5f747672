package drift

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"fairlane/ccconfig/driver"
	"fairlane/internal/phrase"
	"fairlane/service/control"
	"fairlane/service/control/rollouts"
	"fairlane/service/device"
	"fairlane/subnet"
	"fairlane/subnet/ident"
)

// A device leaves the plan in force when a rollout of an earlier plan wrote it and this plan does not contain it. It
// stays among the devices of the fabric, and drift sweeps read it, until a read verifies that it holds no settings of
// Fairlane. The clean-up may have failed on it, or it may not have answered.

// heldOutside lists the devices outside of a plan that may hold settings of Fairlane.
type heldOutside struct {
	plan   string
	newest int64 // the fabric's newest rollout at that time, which had ended
	ids    []ident.PortID
}

// watched returns known plus the devices that have left the plan in force.
func (s *Drift) watched(ctx context.Context, fabric string) (*known, error) {
	k, err := s.known(ctx, fabric)
	if err != nil {
		return nil, err
	}
	var left []control.Baseline
	var newest int64
	var topo *subnet.Fabric
	err = s.Store.View(ctx, func(r control.Repos) error {
		var running bool
		if running, newest, err = control.RolloutsOf(ctx, r, fabric); err != nil {
			return err
		}
		ids, err := s.outside(ctx, r, k, running, newest)
		if err != nil || len(ids) == 0 {
			return err
		}
		if left, err = r.Baselines(ctx, fabric, ids); err != nil {
			return err
		}
		_, topo, err = s.Latest(ctx, r, fabric)
		return err
	})
	left = slices.DeleteFunc(left, func(b control.Baseline) bool { return !b.Held })
	if err != nil || len(left) == 0 {
		return k, err
	}
	out := &known{target: k.target, list: slices.Clone(k.list), index: maps.Clone(k.index), newest: newest, left: make(map[ident.PortID]*control.Baseline, len(left))}
	for i := range left {
		b := &left[i]
		want, ok := device.Gone(b.Device)
		if !ok {
			want = control.ToBaseline.Want(b)
		}
		d, _ := control.Present(b.Device, topo)
		out.left[d.ID] = b
		out.list = append(out.list, device.Target{Device: d, Want: want})
	}
	slices.SortFunc(out.list, func(a, b device.Target) int { return a.Device.ID.Compare(b.Device.ID) })
	for i := range out.list {
		out.index[out.list[i].Device.ID] = i
	}
	return out, nil
}

// outside returns the devices outside of a plan in force that held settings of Fairlane when the fabric's newest rollout
// ended. While a rollout of another plan runs, its devices are not among them.
func (s *Drift) outside(ctx context.Context, r control.Repos, k *known, running bool, newest int64) ([]ident.PortID, error) {
	fabric := k.target.Fabric.Name
	s.mu.Lock()
	of := s.held[fabric]
	s.mu.Unlock()
	if !running && of.plan == k.target.Plan.Name && of.newest == newest {
		return of.ids, nil
	}
	held, err := r.HeldDevices(ctx, fabric)
	if err != nil {
		return nil, err
	}
	ids := []ident.PortID{}
	for i := range held {
		if !k.has(held[i].ID) {
			ids = append(ids, held[i].ID)
		}
	}
	if !running {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.held[fabric] = heldOutside{plan: k.target.Plan.Name, newest: newest, ids: ids}
		return ids, nil
	}
	ro, err := rollouts.RolloutRow(ctx, r, fabric, newest)
	if err != nil || len(ids) == 0 || ro.Options.Repair || ro.Options.To != "" {
		return ids, err
	}
	_, work, err := runningRollout(ctx, r, fabric, ids)
	return slices.DeleteFunc(ids, func(id ident.PortID) bool { return work[id] != nil }), err
}

// leftText says why a device that has left the plan in force is still listed.
func (k *known) leftText() phrase.Text {
	return phrase.Of("device.leaving", "plan", fmt.Sprintf("%.12s", k.target.Plan.Name))
}

// keptText says what helps where no rollout of a plan removes settings from a device that has left it.
func (k *known) keptText() phrase.Text {
	return phrase.Of("problem.kept", "fabric", k.target.Fabric.Name)
}

// observeLeft reads devices that have left the plan in force: those of ids or, with nil, all. A device that holds its
// baseline is in sync, too.
func (s *Drift) observeLeft(ctx context.Context, k *known, ids []ident.PortID) ([]control.DeviceReport, error) {
	if ids == nil {
		ids = slices.SortedFunc(maps.Keys(k.left), ident.PortID.Compare)
	}
	if len(ids) == 0 {
		return nil, nil
	}
	t, err := s.plans.BareTarget(ctx, k.target.Fabric.Name)
	if err != nil {
		return nil, err
	}
	var out []control.DeviceReport
	for _, id := range ids {
		target := k.list[k.index[id]]
		var there bool
		if target.Device, there = control.Present(target.Device, t.Topology); !there {
			out = append(out, control.DeviceReport{Device: target.Device, State: device.Failed, Desired: &k.list[k.index[id]].Want, Error: control.ReasonNotOnFabric()})
			continue
		}
		t.Devices = append(t.Devices, target)
	}
	if len(t.Devices) == 0 {
		return out, nil
	}
	reports, err := s.observe(ctx, t, nil)
	for i := range reports {
		x := &reports[i]
		if x.State != device.Drifted || x.Observed == nil {
			continue
		}
		before := control.ToBaseline.Want(k.left[x.Device.ID])
		if len(before.Diff(*x.Observed)) == 0 {
			x.State, x.Differences, x.Desired = device.InSync, nil, &before
			continue
		}
		x.Cause = phrase.Of("device.left")
		if _, ok := device.Gone(x.Device); !ok {
			x.Refused, x.Error = true, k.keptText()
		}
	}
	return append(out, reports...), err
}

// observeWatched reads devices of a plan in force, and devices that have left it.
func (s *Drift) observeWatched(ctx context.Context, k *known, ids []ident.PortID) ([]control.DeviceReport, error) {
	var in, left []ident.PortID
	for _, id := range ids {
		if k.left[id] != nil {
			left = append(left, id)
		} else {
			in = append(in, id)
		}
	}
	var reports []control.DeviceReport
	if len(in) > 0 {
		var err error
		if reports, err = s.observe(ctx, k.target, in); err != nil {
			return reports, err
		}
	}
	if len(left) == 0 {
		return reports, nil
	}
	more, err := s.observeLeft(ctx, k, left)
	return append(reports, more...), err
}

// letGo records that devices which have left the plan in force were verified, and returns the events.
func (s *Drift) letGo(ctx context.Context, r control.Repos, fabric string, list []driver.Device) ([]control.Event, error) {
	if len(list) == 0 {
		return nil, nil
	}
	ids := make([]ident.PortID, len(list))
	events := make([]control.Event, len(list))
	for i, d := range list {
		ids[i] = d.ID
		events[i] = control.Event{
			At: s.Now(), Fabric: fabric, Actor: string(control.PrincipalSystem), Kind: "device.left", Subject: d.Name,
			Said: phrase.Of("event.device-left", "device", d.Name),
		}
	}
	if err := r.LetGo(ctx, fabric, ids); err != nil {
		return nil, err
	}
	return events, r.DropDeviceRecords(ctx, fabric, ids)
}
