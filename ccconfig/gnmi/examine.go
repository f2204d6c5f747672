package gnmi

import (
	"context"
	"slices"

	"fairlane/ccconfig/driver"
	"fairlane/ccconfig/gnmi/gnmitree"
	"fairlane/ccconfig/nic/nicparam"
	"fairlane/ccconfig/nic/nicyang"
	"fairlane/ccconfig/prereq"
	"fairlane/internal/phrase"
	"fairlane/subnet"
)

var _ driver.Examiner = (*Driver)(nil)

// Examine implements driver.Examiner: it evaluates a NIC port by got, and a switch by its tables, which it reads now.
func (d *Driver) Examine(ctx context.Context, dev driver.Device, got driver.Settings, n prereq.Needs) ([]prereq.Item, error) {
	classes := n.Traffic()
	if len(classes) == 0 {
		return nil, nil
	}
	if dev.Kind == subnet.KindSwitch {
		list, err := d.Preflight(ctx, dev, Expect(n)...)
		if err != nil {
			return nil, err
		}
		return switchItems(list), nil
	}
	if got.NIC == nil {
		return nil, nil
	}
	var caps *driver.NICCapabilities // read once, if a parameter is missing
	lacks := func(name string) bool {
		if caps == nil {
			c, err := d.Capabilities(ctx, dev)
			if err != nil || c.NIC == nil {
				return false
			}
			caps = c.NIC
		}
		return !slices.Contains(caps.Params, name)
	}
	if s := got.NIC.Algorithm; s != nil && !s.Name.IsDCQCN() {
		return prereq.OtherAlgorithm(*s, prereq.NICClasses(classes, got.NIC.Now, lacks)), nil
	}
	return prereq.NICClasses(classes, got.NIC.Now, lacks), nil
}

// switchItems converts the findings that prevent congestion control to prerequisites. Other findings concern shares, or
// settings of plans. Fairlane repairs none of them, because SONiC takes ports down when maps change.
func switchItems(list []Finding) []prereq.Item {
	out := []prereq.Item{}
	for _, f := range list {
		item := prereq.Item{Scope: prereq.ScopeQueue, Field: f.Code, State: prereq.Wrong, Why: phrase.Verbatim(f.Text)}
		switch f.Code {
		case FindingUnmapped, FindingOtherQueue, FindingNoMap:
			item.ID = prereq.SwitchMap
		case FindingPauseOff:
			item.ID = prereq.SwitchPause
		case FindingPauseOn:
			item.ID, item.Advisory = prereq.SwitchPause, true
		case FindingUnknown:
			item.ID, item.State = prereq.SwitchPause, prereq.Unknown
		default:
			continue
		}
		out = append(out, item)
	}
	return out
}

// resetPrerequisites are the parameters among the prerequisites that take effect at a firmware reset.
var resetPrerequisites = [...]string{"roce_cc_prio_mask", "roce_cc_algorithm", "user_programmable_cc"}

// prerequisites returns the paths of the resetPrerequisites that the port or its card has.
func (p *place) prerequisites(rows *nicparam.Table) []gnmitree.Path {
	var out []gnmitree.Path
	for _, name := range resetPrerequisites {
		k := nicparam.Key{Port: p.port, Name: name}
		if row, ok := rows.Find(name); ok && row.Scope == nicparam.ScopeDevice {
			k.Port = 0 // a port does not list parameters of its card
		} else if _, has := slices.BinarySearch(p.resetOnly, name); !has {
			continue
		}
		params := nicyang.Params(p.nic, k.Port)
		out = append(out, params.Child("param", gnmitree.Key{Name: "index", Value: gnmitree.Any}, gnmitree.Key{Name: "name", Value: name}))
	}
	return out
}

// acting stores the current values that differ from the configured ones.
func (o *observed) acting(answers []answer) {
	for _, a := range answers {
		for _, u := range a.updates {
			at, err := pathOf(a.prefix, u)
			if err != nil {
				continue
			}
			v, err := gnmitree.FromTyped(u.GetVal())
			if err != nil {
				continue
			}
			now, err := v.AsUint()
			name := ""
			for i, e := range at.Elems {
				if e.Name == "param" {
					name = at.Key(i, "name")
				}
			}
			if err != nil || name == "" {
				continue
			}
			if next, ok := o.settings.Param(name, 0); ok && next != now {
				o.settings.Acting = append(o.settings.Acting, driver.NICParam{Name: name, Value: now})
			}
		}
	}
}
