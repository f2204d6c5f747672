// Package diff compares two plans.
package diff

import (
	"cmp"
	"slices"
	"strings"

	"fairlane/internal/quantity"
	"fairlane/policy/plan"
)

// Difference lists the changes from one plan to another, in order of interest: what each tenant gains and loses with the settings that cause
// it, then devices as a whole, contended links and findings. Reasons and names are not compared: plans that set and predict the same have no
// difference. Lists of places are bounded, their counts are not. Rates that change by less than a relative 1e-6, or print alike, are only
// counted.
type Difference struct {
	From string `json:"from"` // name of the earlier plan
	To   string `json:"to"`
	// Tenants that changed, by name.
	Tenants []TenantChange `json:"tenants,omitempty"`
	// Settings of no single tenant, by kind of device and field.
	Settings []SettingChange `json:"settings,omitempty"`
	// Devices that only one of the plans sets, by kind.
	Devices []DeviceChange `json:"devices,omitempty"`
	// Contended lists links on which tenants meet only in the later plan; Relieved the reverse.
	Contended *plan.NameList `json:"contended,omitempty"`
	Relieved  *plan.NameList `json:"relieved,omitempty"`
	// Appeared and Vanished are the findings of only one of the plans.
	Appeared []plan.Finding `json:"appeared,omitempty"`
	Vanished []plan.Finding `json:"vanished,omitempty"`
	// Reworded are findings of both plans whose content changed: pairs of the same code, tenants and links, or of the same code with some tenants
	// and links in common if the pair is unambiguous.
	Reworded []FindingChange `json:"reworded,omitempty"`
	// Minor counts the tenants, classes and parts of links that differ only in rates, and by too little to be reported.
	Minor int `json:"minor,omitempty"`
}

// FindingChange is one finding before and after.
type FindingChange struct {
	Before plan.Finding `json:"before"`
	After  plan.Finding `json:"after"`
}

// TenantChange lists the changes for one tenant.
type TenantChange struct {
	Tenant string            `json:"tenant"`
	Before *plan.TenantShare `json:"before,omitempty"` // nil: the tenant is new
	After  *plan.TenantShare `json:"after,omitempty"`  // nil: the tenant was removed
	// Settings changed for the tenant's traffic only.
	Settings []SettingChange `json:"settings,omitempty"`
	Classes  []ClassChange   `json:"classes,omitempty"`
	Links    *LinkChange     `json:"links,omitempty"`
}

// ClassChange is one class of a tenant before and after; nil where it does not exist.
type ClassChange struct {
	Class  string           `json:"class"`
	Before *plan.ClassShare `json:"before,omitempty"`
	After  *plan.ClassShare `json:"after,omitempty"`
}

// LinkChange summarises a tenant's part of the links that are contended in both plans and where it changes.
type LinkChange struct {
	Count   int              `json:"count"` // links with any change
	Gains   int              `json:"gains"` // links with more predicted
	Gained  quantity.BitRate `json:"gained_bps"`
	Losses  int              `json:"losses"`
	Lost    quantity.BitRate `json:"lost_bps"`
	Largest []LinkRate       `json:"largest"` // up to eight, largest change first
}

// maxDiffLinks bounds the links listed for a tenant.
const maxDiffLinks = 8

// LinkRate is a tenant's part of one link before and after.
type LinkRate struct {
	Link   string          `json:"link"`
	Before plan.LinkTenant `json:"before"`
	After  plan.LinkTenant `json:"after"`
}

// SettingChange is one parameter that changes in several places.
type SettingChange struct {
	Tenant string `json:"tenant,omitempty"` // whose traffic it applies to; empty: of the device
	Kind   string `json:"kind"`             // of the places: "port", "switch", "switch port", "queue", "link", "plan"
	Field  string `json:"field"`            // such as "timer"
	Unit   string `json:"unit,omitempty"`   // of Before and After where they are plain numbers
	Before string `json:"before"`           // one value; a range "least to largest", of texts "first … last"; or "none"
	After  string `json:"after"`
	plan.NameList
}

// DeviceChange lists devices of a kind that only one of the plans sets.
type DeviceChange struct {
	Kind    string         `json:"kind"`
	Added   *plan.NameList `json:"added,omitempty"`
	Removed *plan.NameList `json:"removed,omitempty"`
}

// Empty reports that the plans set and predict the same.
func (d *Difference) Empty() bool {
	return len(d.Tenants) == 0 && len(d.Settings) == 0 && len(d.Devices) == 0 && d.Contended == nil && d.Relieved == nil &&
		len(d.Appeared) == 0 && len(d.Vanished) == 0 && len(d.Reworded) == 0 && d.Minor == 0
}

// Changes counts the settings that change: each setting at each place, and each device that only one of the plans sets.
func (d *Difference) Changes() int {
	n := 0
	add := func(list []SettingChange) {
		for _, c := range list {
			n += c.Count
		}
	}
	add(d.Settings)
	for _, t := range d.Tenants {
		add(t.Settings)
	}
	for _, x := range d.Devices {
		for _, names := range []*plan.NameList{x.Added, x.Removed} {
			if names != nil {
				n += names.Count
			}
		}
	}
	return n
}

// Between returns the changes from one plan to another, on any plane. Plans of different planes differ in everything.
func Between(before, after *plan.Plan) Difference {
	x := &differ{out: Difference{From: before.Name, To: after.Name}, tenants: map[string]*TenantChange{}, groups: map[settingKey]*settingGroup{},
		devices: map[string]*DeviceChange{}}
	x.shares(before.Tenants, after.Tenants)
	x.classes(before.Classes, after.Classes)
	x.links(before.Links, after.Links)
	x.settings(before, after)
	x.compareFields(plan.KindPlan, plan.KindPlan, "", uncompared(before), uncompared(after))
	x.findings(before.Findings, after.Findings)
	return x.finish(before, after)
}

// settings compares the settings of devices.
func (x *differ) settings(before, after *plan.Plan) {
	x.infiniBand(before, after)
	x.lanes(before.Lanes, after.Lanes)
	x.roce(orEmpty(before.RoCE), orEmpty(after.RoCE))
	x.wrcc(orEmpty(before.WRCC), orEmpty(after.WRCC))
}

// touch records a place where something differs.
func (x *differ) touch(kind, place string) {
	if x.touched != nil {
		x.touched[[2]string{kind, place}] = true
	}
}

// uncompared returns the parts of a plan that no other comparison covers: fields added to Plan are compared here. Settle is left out: it is an
// estimate that follows from the other parts, and plans of one name may have it or not.
func uncompared(p *plan.Plan) plan.Plan {
	q := *p
	q.Name, q.Placements, q.CAs, q.Switches, q.Tenants, q.Links, q.Findings, q.Classes, q.Lanes, q.RoCE, q.WRCC = "", nil, nil, nil, nil, nil, nil, nil, nil, nil, nil
	q.Settle, q.Format = 0, 0
	return q
}

// differ collects a Difference.
type differ struct {
	out     Difference
	tenants map[string]*TenantChange
	groups  map[settingKey]*settingGroup
	devices map[string]*DeviceChange
	units   map[string]string  // of fields whose values have none
	touched map[[2]string]bool // kind and place of differences; nil: not recorded
}

func (x *differ) tenant(name string) *TenantChange {
	t := x.tenants[name]
	if t == nil {
		t = &TenantChange{Tenant: name}
		x.tenants[name] = t
	}
	return t
}

// match pairs the entries of two lists by key. changed gets each pair, with nil for a missing entry, in the order of the lists.
func match[T any, K comparable](before, after []T, key func(*T) K, changed func(a, b *T)) {
	at := make(map[K]int, len(after))
	for i := range after {
		at[key(&after[i])] = i
	}
	was := make(map[K]bool, len(before))
	for i := range before {
		k := key(&before[i])
		was[k] = true
		if j, ok := at[k]; ok {
			changed(&before[i], &after[j])
		} else {
			changed(&before[i], nil)
		}
	}
	for i := range after {
		if !was[key(&after[i])] {
			changed(nil, &after[i])
		}
	}
}

// shares records the tenants whose figures differ; finish adds both sides to each.
func (x *differ) shares(before, after []plan.TenantShare) {
	match(before, after, func(t *plan.TenantShare) string { return t.Tenant }, func(a, b *plan.TenantShare) {
		switch {
		case a == nil || b == nil || withoutMinor(*a, *b) != *a:
			x.tenant(first(a, b).Tenant)
		case *a != *b:
			x.out.Minor++
		}
	})
}

// minorChange is the relative change of a rate below which it is not reported.
const minorChange = 1e-6

// unlessMinor returns the later rate, or the earlier one if the change is minor.
func unlessMinor(before, after quantity.BitRate) quantity.BitRate {
	d, most := after-before, max(before, after)
	if float64(max(d, -d)) <= float64(minorChange*float64(most)) || before.String() == after.String() {
		return before
	}
	return after
}

// withoutMinor returns a tenant's later figures, with the earlier ones where the change is minor.
func withoutMinor(a, b plan.TenantShare) plan.TenantShare {
	b.Entitled, b.Predicted = unlessMinor(a.Entitled, b.Entitled), unlessMinor(a.Predicted, b.Predicted)
	if d := b.PredictedError - a.PredictedError; d < minorChange && d > -minorChange {
		b.PredictedError = a.PredictedError
	}
	return b
}

func first[T any](a, b *T) *T {
	if a != nil {
		return a
	}
	return b
}

func (x *differ) classes(before, after []plan.ClassShare) {
	type key struct{ tenant, class string }
	match(before, after, func(c *plan.ClassShare) key { return key{c.Tenant, c.Class} }, func(a, b *plan.ClassShare) {
		listed := a == nil || b == nil
		if !listed {
			c := *b
			c.Entitled, c.Predicted = unlessMinor(a.Entitled, b.Entitled), unlessMinor(a.Predicted, b.Predicted)
			listed = c != *a
		}
		switch {
		case listed:
			c := first(a, b)
			t := x.tenant(c.Tenant)
			t.Classes = append(t.Classes, ClassChange{Class: c.Class, Before: a, After: b})
		case *a != *b:
			x.out.Minor++
		}
	})
}

// links compares tenants' parts of links that are contended in both plans, and lists the other links.
func (x *differ) links(before, after []plan.LinkShare) {
	byName := func(l *plan.LinkShare) string { return l.Port.String() }
	match(before, after, byName, func(a, b *plan.LinkShare) {
		switch {
		case a == nil:
			plan.AddName(&x.out.Contended, b.Name)
		case b == nil:
			plan.AddName(&x.out.Relieved, a.Name)
		default:
			u, v := *a, *b
			u.Tenants, v.Tenants = nil, nil
			x.compareFields(plan.KindLink, b.Name, "", u, v)
			match(a.Tenants, b.Tenants, func(t *plan.LinkTenant) string { return t.Tenant }, func(s, t *plan.LinkTenant) {
				before, after := orEmpty(s), orEmpty(t)
				c := *after
				c.Entitled, c.Predicted = unlessMinor(before.Entitled, after.Entitled), unlessMinor(before.Predicted, after.Predicted)
				switch {
				case s == nil || t == nil || c != *before:
					x.linkRate(b.Name, before, after, first(s, t).Tenant)
				case *s != *t:
					x.out.Minor++
				}
			})
		}
	})
}

func (x *differ) linkRate(link string, before, after *plan.LinkTenant, tenant string) {
	t := x.tenant(tenant)
	if t.Links == nil {
		t.Links = &LinkChange{}
	}
	l := t.Links
	l.Count++
	switch d := unlessMinor(before.Predicted, after.Predicted) - before.Predicted; {
	case d > 0:
		l.Gains, l.Gained = l.Gains+1, l.Gained+d
	case d < 0:
		l.Losses, l.Lost = l.Losses+1, l.Lost-d
	}
	l.Largest = append(l.Largest, LinkRate{Link: link, Before: *before, After: *after})
	if len(l.Largest) >= 4*maxDiffLinks {
		l.keepLargest()
	}
}

// keepLargest keeps the largest changes.
func (l *LinkChange) keepLargest() {
	slices.SortStableFunc(l.Largest, func(a, b LinkRate) int {
		if c := cmp.Compare(b.size(), a.size()); c != 0 {
			return c
		}
		return strings.Compare(a.Link, b.Link)
	})
	l.Largest = l.Largest[:min(len(l.Largest), maxDiffLinks)]
}

func (r LinkRate) size() quantity.BitRate {
	d := unlessMinor(r.Before.Predicted, r.After.Predicted) - r.Before.Predicted
	return max(d, -d)
}

func (x *differ) device(kind, name string, added bool) {
	x.touch(kind, name)
	d := x.devices[kind]
	if d == nil {
		d = &DeviceChange{Kind: kind}
		x.devices[kind] = d
	}
	if added {
		plan.AddName(&d.Added, name)
	} else {
		plan.AddName(&d.Removed, name)
	}
}

// finish sorts what was collected, so that the difference does not depend on the order of comparison.
func (x *differ) finish(before, after *plan.Plan) Difference {
	for k, g := range x.groups {
		c := g.change(k)
		if x.tenants[k.tenant] != nil || before.Share(k.tenant) != nil || after.Share(k.tenant) != nil {
			t := x.tenant(k.tenant)
			t.Settings = append(t.Settings, c)
		} else {
			x.out.Settings = append(x.out.Settings, c)
		}
	}
	slices.SortFunc(x.out.Settings, compareSettings)
	for name, t := range x.tenants {
		t.Before, t.After = before.Share(name), after.Share(name)
		slices.SortFunc(t.Settings, compareSettings)
		slices.SortFunc(t.Classes, func(a, b ClassChange) int { return strings.Compare(a.Class, b.Class) })
		if t.Links != nil {
			t.Links.keepLargest()
		}
		x.out.Tenants = append(x.out.Tenants, *t)
	}
	slices.SortFunc(x.out.Tenants, func(a, b TenantChange) int { return strings.Compare(a.Tenant, b.Tenant) })
	for _, d := range x.devices {
		x.out.Devices = append(x.out.Devices, *d)
	}
	slices.SortFunc(x.out.Devices, func(a, b DeviceChange) int { return strings.Compare(a.Kind, b.Kind) })
	return x.out
}

func compareSettings(a, b SettingChange) int {
	return cmp.Or(strings.Compare(a.Tenant, b.Tenant), strings.Compare(a.Kind, b.Kind), strings.Compare(a.Field, b.Field))
}

// Devices counts the ports of hosts and the switches whose settings differ between two plans.
func Devices(before, after *plan.Plan) (ports, switches int) {
	x := &differ{tenants: map[string]*TenantChange{}, groups: map[settingKey]*settingGroup{}, devices: map[string]*DeviceChange{}, touched: map[[2]string]bool{}}
	x.settings(before, after)
	on := map[string]bool{} // switches
	for at := range x.touched {
		switch kind, place := at[0], at[1]; kind {
		case plan.KindPort:
			ports++
		case plan.KindSwitch:
			on[place] = true
		case plan.KindSwitchPort, plan.KindQueue: // leaf1/P3, leaf1/P3 queue 2
			on[place[:max(0, strings.LastIndex(place, "/P"))]] = true
		}
	}
	return ports, len(on)
}

func orEmpty[T any](p *T) *T {
	if p == nil {
		return new(T)
	}
	return p
}
