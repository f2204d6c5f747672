package app

import (
	"path"
	"slices"

	"fairlane/ccconfig/driver"
	"fairlane/internal/config"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/subnet/mad"
)

// ccLayouts says how devices lay out congestion control, by the names of their nodes: the first entry that fits counts.
type ccLayouts []ccLayout

type ccLayout struct {
	pattern string // of path.Match
	mad.CCLayout
}

// newCCLayouts reads cc_layouts.
func newCCLayouts(entries []string) (ccLayouts, error) {
	var out ccLayouts
	for _, e := range entries {
		l, err := config.ParseCCLayout(e)
		if err != nil {
			return nil, usagef("cc_layouts: %w", err)
		}
		has := func(word string) bool { return slices.Contains(l.Switches, word) }
		out = append(out, ccLayout{l.Pattern, mad.CCLayout{
			LibibmadLog: has("libibmad-log"), WidePorts: has("wide-ports"), PackedCA: has("packed-ca"),
		}})
	}
	return out, nil
}

// of is the layout of a device of a fabric.
func (ls ccLayouts) of(f *subnet.Fabric, id ident.PortID) mad.CCLayout {
	if len(ls) == 0 || f == nil {
		return mad.CCLayout{}
	}
	at, ok := f.NodeByGUID(id.Node)
	if !ok {
		return mad.CCLayout{}
	}
	for _, l := range ls {
		if fits, err := path.Match(l.pattern, f.Nodes[at].Name); err == nil && fits {
			return l.CCLayout
		}
	}
	return mad.CCLayout{}
}

// driver is of for the driver of a fabric.
func (ls ccLayouts) driver(f *subnet.Fabric) func(driver.Device) mad.CCLayout {
	return func(d driver.Device) mad.CCLayout { return ls.of(f, d.ID) }
}
