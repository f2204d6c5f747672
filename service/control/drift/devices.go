package drift

import (
	"context"
	"slices"
	"time"

	"fairlane/ccconfig/driver"
	"fairlane/internal/phrase"
	"fairlane/service/control"
	"fairlane/service/device"
	"fairlane/subnet/ident"
)

// Devices reads back and compares every device of a plan; plan "" means that of the latest successful rollout. It returns
// the plan's name with the devices, and stores nothing.
func (s *Drift) Devices(ctx context.Context, fabric, plan string) (name string, list []DeviceView, err error) {
	t, err := s.plans.LoadTarget(ctx, fabric, plan)
	if err != nil {
		return "", nil, err
	}
	known := map[ident.PortID]DeviceView{} // stored state of the devices of the plan in force
	var due *cleanup
	var left []control.DeviceReport // of devices that have left the plan in force
	if k, err := s.watched(ctx, fabric); err == nil && k.target.Plan.Name == t.Plan.Name {
		t.Placed = k.target.Placed
		if due, err = s.pendingCleanup(ctx, k); err != nil {
			return "", nil, err
		}
		views, err := s.deviceViews(ctx, k, k.list)
		if err != nil {
			return "", nil, err
		}
		for i := range views {
			known[views[i].Device.ID] = views[i]
		}
		if left, err = s.observeLeft(ctx, k, nil); err != nil {
			return "", nil, unreadable(fabric, err)
		}
	}
	reports, err := s.Observer.Observe(ctx, t, nil)
	if err != nil {
		return "", nil, unreadable(fabric, err)
	}
	reports = append(reports, left...)
	due.mark(reports)
	slices.SortFunc(reports, func(a, b control.DeviceReport) int { return a.Device.ID.Compare(b.Device.ID) })
	list = make([]DeviceView, len(reports))
	now := s.Now()
	for i := range reports {
		list[i] = known[reports[i].Device.ID]
		list[i].Device, list[i].Desired = reports[i].Device, reports[i].Desired
		list[i].live(&reports[i], now)
	}
	return t.Plan.Name, list, nil
}

func unreadable(fabric string, err error) error {
	return &control.UnavailableError{Code: "devices-unreachable", Said: phrase.Of("problem.devices-unread", "fabric", fabric), Err: err}
}

// DeviceView is the known state of a device that is in the plan in force, or has left it.
type DeviceView struct {
	control.DeviceRecord
	// Left says that the device is not in the plan in force. It is listed until a read verifies that it holds no settings
	// of Fairlane.
	Left bool
	// State is the state in the running rollout, "quarantined", or the reading.
	State   string
	InForce device.Policy // the device's own policy, else the fabric's
	Desired *driver.Settings
	Rollout int64        // the running rollout that is not done with the device; 0 without one
	Note    string       // what the rollout does with it, or when a clean-up removes settings of the previous plan
	Said    *phrase.Text // Note, or else Error, with separate values; nil where these exist in English only

	waits *phrase.Text // why the device is not repaired automatically; nil when it is
}

// ListDevices returns the stored state of the devices of the plan in force and of those that have left it, by device, and
// the plan's name. It reads no device.
func (s *Drift) ListDevices(ctx context.Context, fabric string, p control.Page) (plan string, list []DeviceView, next string, err error) {
	k, err := s.watched(ctx, fabric)
	if err != nil {
		return "", nil, "", err
	}
	from := 0
	if p.After != "" {
		id, err := ident.ParsePortID(p.After)
		if err != nil {
			return "", nil, "", control.Invalid("cursor", phrase.Of("problem.cursor"))
		}
		var found bool
		if from, found = slices.BinarySearchFunc(k.list, id, func(t device.Target, id ident.PortID) int { return t.Device.ID.Compare(id) }); found {
			from++
		}
	}
	part := k.list[from:]
	if n := p.Size(); len(part) > n {
		part = part[:n]
		next = part[n-1].Device.ID.String()
	}
	if list, err = s.deviceViews(ctx, k, part); err != nil {
		return "", nil, "", err
	}
	due, err := s.pendingCleanup(ctx, k)
	due.show(list)
	return k.target.Plan.Name, list, next, err
}

// Device returns the state of a device of the plan in force. ref is its id, its name, or the name of a node that is one
// device. With read it reads the device now, and stores nothing.
func (s *Drift) Device(ctx context.Context, fabric, ref string, read bool) (DeviceView, error) {
	k, err := s.watched(ctx, fabric)
	if err != nil {
		return DeviceView{}, err
	}
	t, err := k.find(ref)
	if err != nil {
		return DeviceView{}, err
	}
	list, err := s.deviceViews(ctx, k, []device.Target{*t})
	if err != nil {
		return DeviceView{}, err
	}
	due, err := s.pendingCleanup(ctx, k)
	if err != nil {
		return DeviceView{}, err
	}
	if !read {
		due.show(list)
		return list[0], nil
	}
	reports, err := s.observeWatched(ctx, k, []ident.PortID{t.Device.ID})
	if err != nil {
		return DeviceView{}, &control.UnavailableError{Code: "devices-unreachable", Said: phrase.Of("problem.device-unread", "device", t.Device.Name), Err: err}
	}
	due.mark(reports)
	for i := range reports {
		list[0].live(&reports[i], s.Now())
	}
	return list[0], nil
}

// live replaces stored state by what was just read.
func (v *DeviceView) live(x *control.DeviceReport, now time.Time) {
	v.Watch.Reading = device.ReadingOf(x.State)
	if v.Error, v.ReadAt, v.ReadBy = x.Error, now, ""; x.Pending != nil {
		v.pend(*x.Pending)
	}
	if v.Watch.Reading != device.ReadingUnreachable {
		v.Watch.Seen, v.SeenAt, v.Differences, v.Observed = v.Watch.Reading, now, x.Differences, x.Observed
	}
	v.judge()
}

// pend sets ReadingCleanup, with a note that says when the clean-up starts unless a rollout works on the device.
func (v *DeviceView) pend(note phrase.Text) {
	if v.Watch.Reading = ReadingCleanup; v.Rollout == 0 {
		v.Note, v.Said = note.String(), &note
	}
}

// judge sets the state of a device that no rollout works on.
func (v *DeviceView) judge() {
	switch {
	case v.Rollout != 0:
	case !v.Watch.Quarantined.IsZero():
		v.State = control.StateQuarantined
	default:
		v.State = string(v.Watch.Reading)
	}
	if v.State == string(device.ReadingDrifted) && v.InForce == device.PolicyRepair {
		if v.Error.ID == "" && v.waits != nil {
			v.Error, v.Said = *v.waits, v.waits
		}
	}
}

// deviceViews returns the stored state of some devices of a plan in force.
func (s *Drift) deviceViews(ctx context.Context, k *known, part []device.Target) ([]DeviceView, error) {
	fabric := k.target.Fabric.Name
	ids := make([]ident.PortID, len(part))
	for i := range part {
		ids[i] = part[i].Device.ID
	}
	out := make([]DeviceView, len(part))
	err := s.Store.View(ctx, func(r control.Repos) error {
		p, _, err := control.DriftPolicyOf(ctx, r, fabric)
		if err != nil {
			return err
		}
		records, err := r.DeviceRecords(ctx, fabric, ids)
		if err != nil {
			return err
		}
		known := make(map[ident.PortID]*control.DeviceRecord, len(records))
		for i := range records {
			known[records[i].Device.ID] = &records[i]
		}
		running, work, err := runningRollout(ctx, r, fabric, ids)
		if err != nil {
			return err
		}
		for i := range part {
			v := &out[i]
			v.DeviceRecord = newRecord(part[i].Device)
			if d := known[ids[i]]; d != nil {
				v.DeviceRecord = *d
			}
			v.Device, v.InForce, v.waits = part[i].Device, v.PolicyInForce(p), k.target.Fabric.Waiting()
			if !device.IsManager(ids[i]) { // placements are no settings of the device
				v.Desired = &part[i].Want
			}
			if v.Plan != k.target.Plan.Name { // it was judged by another plan
				v.Watch.Reading, v.Differences, v.Observed = device.ReadingUnknown, nil, nil
			}
			if v.Left = k.left[ids[i]] != nil; v.Left && v.Watch.Reading == device.ReadingInSync { // a clean-up was due at that reading
				v.Watch.Reading = device.ReadingUnknown
			}
			if v.Observed == nil && v.Watch.Reading == device.ReadingInSync {
				v.Observed = v.Desired
			}
			if v.Left {
				note := k.leftText()
				v.Note, v.Said = note.String(), &note
			}
			if x := work[ids[i]]; x != nil && !x.State.Settled() {
				v.State, v.Rollout = string(x.State), running
				v.Note, v.Said = x.Note.String(), new(x.Note)
			}
			v.judge()
		}
		return nil
	})
	return out, err
}

// runningRollout returns the running rollout of a fabric, 0 without one, and the states of the given devices that are in it.
func runningRollout(ctx context.Context, r control.Repos, fabric string, ids []ident.PortID) (int64, map[ident.PortID]*control.RolloutDevice, error) {
	running, latest, err := control.RolloutsOf(ctx, r, fabric)
	if err != nil || !running {
		return 0, nil, err
	}
	list, err := r.DevicesOf(ctx, latest, ids)
	if err != nil {
		return 0, nil, err
	}
	work := make(map[ident.PortID]*control.RolloutDevice, len(list))
	for i := range list {
		work[list[i].Device.ID] = &list[i]
	}
	return latest, work, nil
}
