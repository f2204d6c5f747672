package drift

import (
	"context"
	"fmt"

	"fairlane/ccconfig/driver"
	"fairlane/internal/phrase"
	"fairlane/service/control"
	"fairlane/service/device"
	"fairlane/subnet"
	"fairlane/subnet/ident"
)

// Values of BaselineQuery.Against that are not names of plans.
const (
	AgainstObserved = "observed" // the current settings of the devices
	AgainstInForce  = "plan"     // the plan in force
)

// BaselineQuery selects baselines and what to compare them with.
type BaselineQuery struct {
	// Against is the name of a plan, AgainstInForce or AgainstObserved; empty compares nothing.
	Against string
	Device  string // one device, named as Device takes it; empty is all
}

// BaselineView is a baseline with its differences from the settings it was compared with.
type BaselineView struct {
	control.Baseline
	Compared    bool                 // Differences were computed
	Differences []control.Difference // Desired is the baseline
	Error       phrase.Text          // why it could not be compared
}

// ListBaseline returns a page of a fabric's baselines, by device, and what they were compared with: the full name of a
// plan, or AgainstObserved.
func (s *Drift) ListBaseline(ctx context.Context, fabric string, q BaselineQuery, p control.Page) (against string, out []BaselineView, next string, err error) {
	var list []control.Baseline
	err = s.Store.View(ctx, func(r control.Repos) (err error) {
		if q.Device != "" {
			list, err = baselineOf(ctx, r, fabric, q.Device)
			return err
		}
		list, next, err = r.ListBaselines(ctx, fabric, p)
		return err
	})
	if err != nil {
		return "", nil, "", err
	}
	out = make([]BaselineView, len(list))
	for i := range list {
		out[i].Baseline = list[i]
	}
	switch q.Against {
	case "":
	case AgainstObserved:
		err = s.againstObserved(ctx, fabric, out)
		against = AgainstObserved
	default:
		against, err = s.againstPlan(ctx, fabric, q.Against, out)
	}
	return against, out, next, err
}

// baselineOf finds the baseline of one device by its id, its name, or the name of its node.
func baselineOf(ctx context.Context, r control.Repos, fabric, ref string) ([]control.Baseline, error) {
	if id, err := ident.ParsePortID(ref); err == nil {
		list, err := r.Baselines(ctx, fabric, []ident.PortID{id})
		if err == nil && len(list) == 0 {
			err = &control.NotFoundError{Kind: "baseline", Name: ref}
		}
		return list, err
	}
	all, err := r.Baselines(ctx, fabric, nil)
	if err != nil {
		return nil, err
	}
	var hits []control.Baseline
	for i := range all {
		if named(all[i].Device, ref) {
			hits = append(hits, all[i])
		}
	}
	switch len(hits) {
	case 0:
		return nil, &control.NotFoundError{Kind: "baseline", Name: ref}
	case 1:
		return hits, nil
	}
	return nil, &control.ConflictError{Code: "ambiguous-name", Said: phrase.Of("problem.ambiguous-device", "name", control.Clipped(ref), "first", hits[0].Device.ID, "second", hits[1].Device.ID)}
}

// named reports whether ref names a device or its node. A port's name is its node's name with "/P" and a number.
func named(d driver.Device, ref string) bool {
	return d.Name == ref || d.Kind != subnet.KindSwitch && d.Name == fmt.Sprintf("%s/P%d", ref, d.ID.Port)
}

// againstPlan compares baselines with a plan's settings, and returns the plan's name.
func (s *Drift) againstPlan(ctx context.Context, fabric, plan string, out []BaselineView) (string, error) {
	if plan == AgainstInForce {
		plan = ""
	}
	t, err := s.plans.LoadTarget(ctx, fabric, plan)
	if err != nil {
		return "", err
	}
	list, err := t.Desired()
	if err != nil {
		return "", err
	}
	want := make(map[ident.PortID]*driver.Settings, len(list))
	for i := range list {
		want[list[i].Device.ID] = &list[i].Want
	}
	for i := range out {
		if w := want[out[i].Device.ID]; w != nil {
			out[i].Compared, out[i].Differences = true, baselineDifferences(*w, out[i].Settings)
		} else {
			out[i].Error = phrase.Of("device.not-planned", "plan", fmt.Sprintf("%.12s", t.Plan.Name))
		}
	}
	return t.Plan.Name, nil
}

// baselineDifferences lists where a plan's settings differ from the baseline; only fields that the plan sets count.
func baselineDifferences(plan, baseline driver.Settings) []control.Difference {
	list := plan.Diff(baseline)
	out := make([]control.Difference, len(list))
	for i, d := range list {
		out[i] = control.Difference{Field: d.Field, Desired: d.Got, Observed: d.Want}
	}
	return out
}

// againstObserved reads the devices now and compares.
func (s *Drift) againstObserved(ctx context.Context, fabric string, out []BaselineView) error {
	if len(out) == 0 {
		return nil
	}
	t, err := s.plans.BareTarget(ctx, fabric)
	if err != nil {
		return err
	}
	at := make(map[ident.PortID]*BaselineView, len(out))
	for i := range out {
		b := &out[i]
		d, ok := control.Present(b.Device, t.Topology)
		if !ok {
			b.Error = control.ReasonNotOnFabric()
			continue
		}
		at[d.ID] = b
		t.Devices = append(t.Devices, device.Target{Device: d, Want: b.Settings})
	}
	if len(t.Devices) == 0 {
		return nil
	}
	reports, err := s.Observer.Observe(ctx, t, nil)
	if err != nil {
		return &control.UnavailableError{Code: "devices-unreachable", Said: phrase.Of("problem.devices-unread", "fabric", fabric), Err: err}
	}
	for i := range reports {
		if b := at[reports[i].Device.ID]; b != nil {
			b.Compared, b.Differences, b.Error = reports[i].Error.ID == "", reports[i].Differences, reports[i].Error
		}
	}
	return nil
}
