package rollout

import (
	"context"
	"fmt"
	"slices"
	"time"

	"fairlane/ccconfig/driver"
	"fairlane/internal/phrase"
	"fairlane/service/control"
	"fairlane/subnet/ident"
)

// ours is the data that distinguishes settings written by Fairlane from earlier ones.
type ours struct {
	fabric control.Fabric
	plans  []planSettings // that rollouts applied to the fabric, the latest first
}

// planSettings are the settings of a plan's devices.
type planSettings struct {
	fabric, plan string
	want         map[ident.PortID]driver.Settings
}

// Bounds of the plans that a new baseline is compared with.
const (
	maxOurs      = 8   // the latest plans of a fabric
	oursRollouts = 100 // the latest rollouts, in which these plans are found
)

// baseline returns the baseline of a device that is about to be written for the first time.
func (c *claim) baseline(d driver.Device, before driver.Settings) *control.Baseline {
	b := &control.Baseline{Device: d, Settings: before, Origin: control.OriginBefore, Rollout: c.ro.ID, RecordedAt: c.e.d.Clock.Now().UTC()}
	if note := c.ours.suspect(d.ID, before); note.ID != "" {
		b.Origin, b.Note = control.OriginUnknown, note
	}
	return b
}

// suspect returns why the settings of a device may be Fairlane's own, nothing when they are not. Inert settings are never
// suspect: unmanaged devices hold them, too.
func (o *ours) suspect(id ident.PortID, got driver.Settings) phrase.Text {
	for i := range o.plans {
		if want, ok := o.plans[i].want[id]; ok && !inert(got) && want.Equal(got) {
			return phrase.Of("baseline.as-plan", "plan", fmt.Sprintf("%.12s", o.plans[i].plan))
		}
	}
	if at := o.fabric.RestoredAt; !at.IsZero() {
		return phrase.Of("baseline.restored", "date", at.UTC().Format(time.DateOnly))
	}
	return phrase.Text{}
}

// inert reports whether settings belong to an InfiniBand device on which congestion control is inactive.
func inert(s driver.Settings) bool {
	switch {
	case s.CA != nil:
		return !s.CA.Reacts() && s.CA.HighestMin() == 0
	case s.Switch != nil:
		return !s.Marks()
	}
	return false
}

// suspect loads the data of ours.suspect, if a device has no baseline yet.
func (c *claim) suspect(ctx context.Context) (err error) {
	joins := slices.ContainsFunc(c.rows, func(d control.RolloutDevice) bool { _, ok := c.based[d.Device.ID]; return !ok })
	if c.ours.fabric = c.plan.target.Fabric; joins {
		c.ours.plans, err = c.e.appliedSettings(ctx, c.ro)
	}
	return err
}

// returns returns the settings of the devices of a return; nil in other rollouts.
func (c *claim) returns(ctx context.Context) (map[ident.PortID]driver.Settings, error) {
	if c.ro.Options.To == "" {
		return nil, nil
	}
	ids := make([]ident.PortID, len(c.rows))
	for i := range c.rows {
		ids[i] = c.rows[i].Device.ID
	}
	out := make(map[ident.PortID]driver.Settings, len(ids))
	err := c.e.d.Store.View(ctx, func(r control.Repos) error {
		list, err := r.Baselines(ctx, c.ro.Fabric, ids)
		for i := range list {
			out[list[i].Device.ID] = c.ro.Options.To.Want(&list[i])
		}
		return err
	})
	return out, err
}

// appliedSettings loads the settings of the latest plans that earlier rollouts applied to a fabric.
func (e *Engine) appliedSettings(ctx context.Context, ro control.Rollout) (out []planSettings, err error) {
	var earlier []control.Rollout
	err = e.d.Store.View(ctx, func(r control.Repos) (err error) {
		earlier, _, err = r.ListRollouts(ctx, ro.Fabric, control.Page{Limit: oursRollouts, After: fmt.Sprint(ro.ID)})
		return err
	})
	var names []string
	for i := range earlier {
		if name := earlier[i].Plan; slices.Contains(earlier[i].Stages, control.StageSettings) && !slices.Contains(names, name) && len(names) < maxOurs {
			names = append(names, name)
		}
	}
	for _, name := range names {
		w, lerr := e.settingsOf(ctx, ro.Fabric, name)
		switch {
		case outlived(lerr):
			continue
		case lerr != nil:
			return nil, lerr
		}
		out = append(out, w)
	}
	return out, err
}

// settingsOf returns the settings of a plan's devices, from the cache when possible: plans themselves are large.
func (e *Engine) settingsOf(ctx context.Context, fabric, plan string) (planSettings, error) {
	e.mu.Lock()
	for _, w := range e.planSettings {
		if w.fabric == fabric && w.plan == plan {
			e.mu.Unlock()
			return w, nil
		}
	}
	e.mu.Unlock()
	c, err := e.load(ctx, fabric, plan)
	if err != nil {
		return planSettings{}, err
	}
	w := planSettings{fabric: fabric, plan: plan, want: make(map[ident.PortID]driver.Settings, len(c.want))}
	for id, t := range c.want {
		w.want[id] = t.Want
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.planSettings) == maxOurs {
		e.planSettings = slices.Delete(e.planSettings, 0, 1)
	}
	e.planSettings = append(e.planSettings, w)
	return w, nil
}
