package app

import (
	"path"

	"fairlane/ccconfig/driver"
	"fairlane/internal/config"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/subnet/mad"
)

// ccLayouts says how devices lay out congestion control, by the names of their nodes: the first entry that fits counts.
// The entries are those of the configuration, which has been checked.
type ccLayouts []config.CCLayout

// newCCLayouts reads cc_layouts.
func newCCLayouts(entries []string) (ccLayouts, error) {
	var out ccLayouts
	for _, e := range entries {
		l, err := config.ParseCCLayout(e)
		if err != nil {
			return nil, usagef("cc_layouts: %w", err)
		}
		out = append(out, l)
	}
	return out, nil
}

// of is the layout of a device of a fabric.
func (ls ccLayouts) of(f *subnet.Fabric, id ident.PortID) (out mad.CCLayout) {
	if len(ls) == 0 || f == nil {
		return out
	}
	at, ok := f.NodeByGUID(id.Node)
	if !ok {
		return out
	}
	for _, l := range ls {
		if fits, err := path.Match(l.Pattern, f.Nodes[at].Name); err != nil || !fits {
			continue
		}
		for _, word := range l.Switches {
			switch word {
			case "libibmad-log":
				out.LibibmadLog = true
			case "wide-ports":
				out.WidePorts = true
			case "packed-ca":
				out.PackedCA = true
			}
		}
		return out
	}
	return out
}

// driver is of for the driver of a fabric.
func (ls ccLayouts) driver(f *subnet.Fabric) func(driver.Device) mad.CCLayout {
	return func(d driver.Device) mad.CCLayout { return ls.of(f, d.ID) }
}
