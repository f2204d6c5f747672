package drift

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"time"

	"fairlane/ccconfig/driver"
	"fairlane/internal/phrase"
	"fairlane/internal/span"
	"fairlane/service/control"
	"fairlane/service/device"
	"fairlane/subnet/ident"
)

// Bounds of the drift sweep.
const (
	sweepBatch = 128              // devices read before the results are stored
	sweepTime  = 30 * time.Second // of one sweep over a fabric; the other devices wait for the next sweep
	maxRepair  = 64               // devices in one repair
	repairWave = 16               // of these concurrently
	repairTry  = 2                // tries of each step on a device
)

// SweepDrift reads the devices that are due on all fabrics, up to a limit at a time, stores the results, and starts the
// repairs that the policy requires. It skips fabrics with a running rollout. Every manager may call it at any time:
// only one of them reads each device. by is the name of the manager. The error joins those of fabrics that could not be
// read.
func (s *Drift) SweepDrift(ctx context.Context, by string) error {
	return s.EachFabric(ctx, "check drift on", func(fabric string) error { return s.sweepFabric(ctx, fabric, by) })
}

// sweep is one batch of devices that are read together.
type sweep struct {
	sweepBasis

	fabric, by string
	known      *known
	due        []control.DeviceRecord
}

// sweepBasis is the state of a fabric that a sweep is based on.
type sweepBasis struct {
	policy control.DriftPolicy
	seeded string       // value of seed() when the device records were created
	plan   string       // the plan in force; empty while a rollout runs
	placed bool         // its placements are in force, too
	latest int64        // the fabric's newest rollout
	waits  *phrase.Text // why automatic repairs are on hold; nil when they are not
}

// seed identifies the recorded devices: the plan in force, with the subnet manager or without.
func (g *sweepBasis) seed() string {
	if g.placed {
		return g.plan + "+" + device.ManagerName
	}
	return g.plan
}

func sweepBasisOf(ctx context.Context, r control.Repos, fabric string) (g sweepBasis, err error) {
	if g.policy, g.seeded, err = control.DriftPolicyOf(ctx, r, fabric); err != nil {
		return g, err
	}
	running, latest, err := control.RolloutsOf(ctx, r, fabric)
	if g.latest = latest; err != nil || running {
		return g, err
	}
	f, err := r.Fabric(ctx, fabric)
	if err != nil || f.Management != control.Managed {
		return g, err // no drift is reported where no repair is possible
	}
	g.waits = f.Waiting()
	g.plan, g.placed, err = planInForce(ctx, r, fabric)
	return g, err
}

// planInForce returns the plan in force on a fabric, and whether its placements are in force.
func planInForce(ctx context.Context, r control.Repos, fabric string) (plan string, placed bool, err error) {
	if plan, err = control.InForceName(ctx, r, fabric); err != nil {
		return "", false, err
	}
	of, err := r.PlacedPlan(ctx, fabric)
	return plan, of == plan, err
}

func (s *Drift) sweepFabric(ctx context.Context, fabric, by string) error {
	return errors.Join(s.StartCleanUp(ctx, fabric), s.sweepDevices(ctx, fabric, by))
}

func (s *Drift) sweepDevices(ctx context.Context, fabric, by string) error {
	for until := s.Now().Add(sweepTime); ; {
		w, err := s.claimDevices(ctx, fabric, by)
		if err != nil || len(w.due) == 0 {
			return err
		}
		ids := make([]ident.PortID, len(w.due))
		for i := range w.due {
			ids[i] = w.due[i].Device.ID
		}
		// Must precede the reading of the devices: if a clean-up ends in between, they read as in sync.
		due, err := s.pendingCleanup(ctx, w.known)
		if err != nil {
			return err
		}
		begun := s.Now()
		reports, err := s.observeWatched(ctx, w.known, ids)
		due.mark(reports)
		if s.Swept != nil {
			s.Swept(reports, s.Now().Sub(begun), err)
		}
		if err != nil {
			return err
		}
		if err := s.noteSweep(ctx, w, reports); err != nil {
			return err
		}
		if len(w.due) < sweepBatch || s.Now().After(until) {
			return nil
		}
	}
}

// observe reads devices of a target back in its own trace span.
func (s *Drift) observe(ctx context.Context, t control.Target, ids []ident.PortID) (list []control.DeviceReport, err error) {
	ctx, sp := span.Start(ctx, "drift.sweep", "fabric", t.Fabric.Name, "devices", len(ids))
	defer func() { sp.End(err) }()
	return s.Observer.Observe(ctx, t, ids)
}

// claimDevices selects the devices to read now and postpones their due times, so that no other manager reads them. It
// selects none while a rollout runs.
func (s *Drift) claimDevices(ctx context.Context, fabric, by string) (w sweep, err error) {
	w = sweep{fabric: fabric, by: by}
	if due, err := s.sweepDue(ctx, fabric); err != nil || !due {
		return w, err
	}
	if w.known, err = s.watched(ctx, fabric); err != nil {
		return w, err
	}
	err = s.Store.Tx(control.OnFabric(ctx, fabric), func(r control.Repos) error {
		w.due = nil
		if w.sweepBasis, err = sweepBasisOf(ctx, r, fabric); err != nil || w.policy.Interval == 0 || w.plan != w.known.target.Plan.Name || w.placed != w.known.target.Placed {
			return err // another plan may be in force by now: the next sweep uses it
		}
		if w.known.left != nil && w.known.newest != w.latest {
			return nil // a rollout has ended meanwhile
		}
		now := s.Now()
		if w.seeded != w.seed() {
			if err := s.seedDevices(ctx, r, w, now); err != nil {
				return err
			}
		}
		if err := s.seedLeft(ctx, r, w, now); err != nil {
			return err
		}
		if w.due, err = r.DevicesDue(ctx, fabric, now, now.Add(2*w.policy.Every()), sweepBatch); err != nil || len(w.due) == 0 {
			return err
		}
		var gone []ident.PortID // devices that a rollout verified after they left the plan
		for i := range w.due {
			w.due[i].Due = device.NextRead(w.due[i].Device.ID, now, w.policy.Every())
			if id := w.due[i].Device.ID; !w.known.has(id) {
				gone = append(gone, id)
			}
		}
		if err := errors.Join(r.PutDeviceRecords(ctx, fabric, w.due), r.DropDeviceRecords(ctx, fabric, gone)); err != nil {
			return err
		}
		w.due = slices.DeleteFunc(w.due, func(d control.DeviceRecord) bool { return !w.known.has(d.Device.ID) })
		return nil
	})
	return w, err
}

// sweepDue reports whether a fabric has any device due. It loads no plan: there may be more plans than are cached.
func (s *Drift) sweepDue(ctx context.Context, fabric string) (due bool, err error) {
	err = s.Store.View(ctx, func(r control.Repos) error {
		g, err := sweepBasisOf(ctx, r, fabric)
		if err != nil || g.policy.Interval == 0 || g.plan == "" {
			return err
		}
		if due = g.seeded != g.seed(); due {
			return nil
		}
		if due, err = s.leftDue(ctx, r, fabric, g); due || err != nil {
			return err
		}
		now := s.Now()
		list, err := r.DevicesDue(ctx, fabric, now, now.Add(2*g.policy.Every()), 1)
		due = len(list) > 0
		return err
	})
	return due, err
}

// seedDevices replaces the device records by those of the plan in force.
func (s *Drift) seedDevices(ctx context.Context, r control.Repos, w sweep, now time.Time) error {
	list := make([]control.DeviceRecord, len(w.known.list))
	for i := range list {
		d := w.known.list[i].Device
		list[i] = newRecord(d)
		list[i].Due = device.FirstRead(d.ID, now, w.policy.Every())
	}
	return r.SeedDevices(ctx, w.fabric, w.seed(), list)
}

// leftDue reports whether devices that have left the plan in force lack a due time.
func (s *Drift) leftDue(ctx context.Context, r control.Repos, fabric string, g sweepBasis) (bool, error) {
	s.mu.Lock()
	checked := s.turned[fabric]
	s.mu.Unlock()
	if checked == g.latest { // only rollouts add such devices
		return false, nil
	}
	due, err := r.HeldUnread(ctx, fabric)
	if err == nil && !due {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.turned[fabric] = g.latest
	}
	return due, err
}

// seedLeft adds the records of devices that have left the plan in force, due at once.
func (s *Drift) seedLeft(ctx context.Context, r control.Repos, w sweep, now time.Time) error {
	if len(w.known.left) == 0 {
		return nil
	}
	ids := slices.Collect(maps.Keys(w.known.left))
	have, err := r.DeviceRecords(ctx, w.fabric, ids)
	if err != nil {
		return err
	}
	records := make(map[ident.PortID]control.DeviceRecord, len(ids))
	for _, id := range ids {
		records[id] = newRecord(w.known.list[w.known.index[id]].Device)
	}
	for _, d := range have {
		records[d.Device.ID] = d // with its own policy
	}
	for _, d := range turned(have, w.sweepBasis, now) {
		delete(records, d.Device.ID)
	}
	list := slices.Collect(maps.Values(records))
	for i := range list {
		list[i].Due = now
	}
	return r.PutDeviceRecords(ctx, w.fabric, list)
}

// turned returns the records of a list that are due within the horizon of a sweep; DevicesDue does not select later ones.
func turned(list []control.DeviceRecord, g sweepBasis, now time.Time) []control.DeviceRecord {
	horizon := now.Add(2 * g.policy.Every())
	return slices.DeleteFunc(slices.Clone(list), func(d control.DeviceRecord) bool { return d.Due.After(horizon) })
}

// noteSweep stores the results of a sweep, and starts the repair of devices that need one. Results are dropped when a
// rollout started while they were read.
func (s *Drift) noteSweep(ctx context.Context, w sweep, reports []control.DeviceReport) error {
	found := make(map[ident.PortID]*control.DeviceReport, len(reports))
	for i := range reports {
		found[reports[i].Device.ID] = &reports[i]
	}
	return s.Store.Tx(control.OnFabric(ctx, w.fabric), func(r control.Repos) error {
		g, err := sweepBasisOf(ctx, r, w.fabric)
		if err != nil || g.plan != w.plan || g.latest != w.latest {
			return err
		}
		w.policy, w.waits = g.policy, g.waits // apply decisions made while the devices were read
		ids := make([]ident.PortID, 0, len(found))
		for id := range found {
			ids = append(ids, id)
		}
		list, err := r.DeviceRecords(ctx, w.fabric, ids)
		if err != nil {
			return err
		}
		slices.SortFunc(list, func(a, b control.DeviceRecord) int { return a.Device.ID.Compare(b.Device.ID) })
		var events []control.Event
		var clean []driver.Device // of those that have left the plan in force
		var broken []ident.PortID
		var manager *control.DeviceRecord // the subnet manager, when it needs a repair
		now := s.Now()
		for i := range list {
			d := &list[i]
			x := found[d.Device.ID]
			if w.known.left[d.Device.ID] != nil && x.State == device.InSync && x.Pending == nil {
				clean = append(clean, d.Device)
				continue
			}
			es := s.noteReport(d, x, w, now)
			events = append(events, es...)
			switch {
			case x.Refused || w.waits != nil || !d.Watch.NeedsRepair(d.PolicyInForce(w.policy)):
			case device.IsManager(d.Device.ID):
				manager = d
			case len(broken) < maxRepair:
				broken = append(broken, d.Device.ID)
			default:
				d.Due = now // repaired after the next sweep
			}
		}
		switch {
		case manager == nil:
		case len(broken) == 0:
			broken = append(broken, manager.Device.ID)
		default: // devices are repaired before traffic moves
			manager.Due = now
		}
		if err := r.PutDeviceRecords(ctx, w.fabric, list); err != nil {
			return err
		}
		es, err := s.letGo(ctx, r, w.fabric, clean)
		if err != nil {
			return err
		}
		events = append(events, es...)
		if err := s.recordTurns(ctx, r, events); err != nil || len(broken) == 0 {
			return err
		}
		_, err = s.startRepair(ctx, r, w.known, broken)
		return err
	})
}

// noteReport updates a record with a reading, and returns the resulting events.
func (s *Drift) noteReport(d *control.DeviceRecord, x *control.DeviceReport, w sweep, now time.Time) []control.Event {
	reading := device.ReadingOf(x.State)
	if reading == device.ReadingUnknown && x.Observed == nil {
		return nil // it was not read
	}
	d.Plan, d.ReadBy, d.ReadAt, d.Error = w.plan, w.by, now, x.Error
	if reading != device.ReadingUnreachable {
		d.SeenAt, d.Differences, d.Observed = now, x.Differences, nil
		if x.Pending != nil {
			d.Differences = nil
		}
		if reading == device.ReadingDrifted {
			d.Observed = x.Observed
		}
	}
	var turns []device.Turn
	d.Watch, turns = d.Watch.Read(reading, now, w.policy.Rules())
	cause := x.Cause
	if w.waits != nil && d.Error.ID == "" && d.Watch.NeedsRepair(d.PolicyInForce(w.policy)) {
		cause = phrase.Joined(cause, *w.waits)
	}
	return s.turnEvents(w.fabric, d, turns, cause, now)
}

// recordTurns adds events of devices. Starting or ending a quarantine is a decision and is audited.
func (s *Drift) recordTurns(ctx context.Context, r control.Repos, events []control.Event) error {
	if err := r.AddEvents(ctx, events); err != nil {
		return err
	}
	for _, e := range events {
		if e.Kind == "device."+string(device.TurnQuarantined) || e.Kind == "device."+string(device.TurnReleased) {
			if err := s.AuditEvent(ctx, r, e, nil); err != nil {
				return err
			}
		}
	}
	return nil
}

// turnEvents returns the events of a device's changes of state. cause is why it drifted and is not repaired, the
// zero Text when unknown.
func (s *Drift) turnEvents(fabric string, d *control.DeviceRecord, turns []device.Turn, cause phrase.Text, now time.Time) []control.Event {
	var out []control.Event
	for _, t := range turns {
		said, about := phrase.Text{}, map[string]any{"device": d.Device.ID.String(), "reading": d.Watch.Reading, "differences": len(d.Differences), "error": d.Error.String()}
		switch t {
		case device.TurnDrifted:
			why := []phrase.Text{firstDifference(d.Differences)}
			if cause.ID != "" {
				why, about["cause"] = append(why, cause), cause.String()
			}
			if d.Error.ID != "" { // why it cannot be repaired
				why = append(why, d.Error)
			}
			said = phrase.Of("event.device-drifted", "device", d.Device.Name, "why", why)
		case device.TurnInSync:
			said = phrase.Of("event.device-in-sync", "device", d.Device.Name)
		case device.TurnLost:
			said = phrase.Of("event.device-lost", "device", d.Device.Name, "reason", d.Error)
		case device.TurnFound:
			said = phrase.Of("event.device-found", "device", d.Device.Name)
		case device.TurnQuarantined:
			said = phrase.Of("event.device-quarantined", "device", d.Device.Name, "reason", d.Watch.Reason)
		case device.TurnReleased:
			said = phrase.Of("event.device-steady", "device", d.Device.Name)
		}
		data, err := json.Marshal(about)
		if err != nil {
			data = nil // texts and one number always encode
		}
		out = append(out, control.Event{At: now, Fabric: fabric, Actor: string(control.PrincipalSystem), Kind: "device." + string(t), Subject: d.Device.Name, Said: said, Data: data})
	}
	return out
}

// firstDifference names one difference and the number of others.
func firstDifference(list []control.Difference) phrase.Text {
	if len(list) == 0 {
		return phrase.Of("event.differs")
	}
	said := phrase.Of("event.difference", "field", list[0].Field, "observed", list[0].Observed, "desired", list[0].Desired)
	if list[0].Prerequisite != "" {
		said = phrase.Or(list[0].Reason, list[0].Said)
	}
	return phrase.First(phrase.Commas{said}, len(list), 1)
}

// known is the plan in force of a fabric with the desired state of each device.
type known struct {
	target control.Target
	list   []device.Target // by device, with the subnet manager first if it is included
	index  map[ident.PortID]int

	left   map[ident.PortID]*control.Baseline // devices of list that have left the plan, see watched; nil without any
	newest int64                              // the fabric's newest rollout when left was read
}

func (k *known) has(id ident.PortID) bool { _, ok := k.index[id]; return ok }

// find returns a device by its id, its name, or the name of a node that is one device.
func (k *known) find(ref string) (*device.Target, error) {
	if id, err := ident.ParsePortID(ref); err == nil {
		if i, ok := k.index[id]; ok {
			return &k.list[i], nil
		}
		return nil, &control.NotFoundError{Kind: "device", Name: ref}
	}
	var hit *device.Target
	for i := range k.list {
		d := &k.list[i].Device
		if d.Name != ref && k.target.NodeName(d.ID.Node) != ref {
			continue
		}
		if hit != nil {
			return nil, &control.ConflictError{Code: "ambiguous-name", Said: phrase.Of("problem.ambiguous-device", "name", control.Clipped(ref), "first", hit.Device.ID, "second", d.ID)}
		}
		hit = &k.list[i]
	}
	if hit == nil {
		return nil, &control.NotFoundError{Kind: "device", Name: ref}
	}
	return hit, nil
}

// maxKnown bounds the cache of decoded plans in force, in devices. The plan used last stays, whatever its size.
const maxKnown = 1 << 16

// known returns the plan in force of a fabric, decoded. It fails with *ConflictError "no-plan" when there is none.
func (s *Drift) known(ctx context.Context, fabric string) (*known, error) {
	var f control.Fabric
	var name string
	var placed bool
	err := s.Store.View(ctx, func(r control.Repos) (err error) {
		if f, err = r.Fabric(ctx, fabric); err != nil {
			return err
		}
		name, placed, err = planInForce(ctx, r, fabric)
		return err
	})
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	list := slices.Clone(s.inForce)
	s.mu.Unlock()
	if k, ok := ctx.Value(preparedDevicesKey{}).(*known); ok {
		list = append(list, k)
	}
	for _, k := range list {
		if k.target.Fabric.Name == fabric && k.target.Plan.Name == name && k.target.Placed == placed {
			fresh := *k
			fresh.target.Fabric = f // its source may have changed
			return &fresh, nil
		}
	}
	t, err := s.plans.LoadTarget(ctx, fabric, name)
	if err != nil {
		return nil, err
	}
	t.Placed = placed
	k := &known{target: t}
	if k.list, err = t.Desired(); err != nil {
		return nil, err
	}
	if placed && device.Manages(t.Plan) {
		k.list = slices.Insert(k.list, 0, device.Target{Device: device.Manager()})
	}
	k.index = make(map[ident.PortID]int, len(k.list))
	for i := range k.list {
		k.index[k.list[i].Device.ID] = i
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inForce = append(slices.DeleteFunc(s.inForce, func(k *known) bool { return k.target.Fabric.Name == fabric }), k)
	s.inForce = lastKnown(s.inForce, maxKnown)
	return k, nil
}

// lastKnown returns the latest entries of a list with at most most devices in total, but at least one entry.
func lastKnown(list []*known, most int) []*known {
	devices := 0
	for i, k := range slices.Backward(list) {
		if devices += len(k.list); devices > most && i < len(list)-1 {
			return slices.Delete(list, 0, i+1)
		}
	}
	return list
}
