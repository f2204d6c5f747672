package site

import (
	"path"
	"slices"

	"fairlane/ccconfig/driver"
	"fairlane/ccconfig/ibprofile"
	"fairlane/service/config"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/subnet/mad"
)

// deviceModels are the profiles of InfiniBand devices and the layouts of the deprecated setting cc_layouts. The latter
// override the profiles on the nodes that they name.
type deviceModels struct {
	set     *ibprofile.Set
	chooser *ibprofile.Chooser // of set; nil: that of the built-in profiles
	old     []ccLayout         // the first match applies
}

type ccLayout struct {
	pattern string // for path.Match
	mad.CCLayout
}

// readCCLayouts parses entries of cc_layouts.
func readCCLayouts(entries []string) (list []ccLayout, err error) {
	for _, e := range entries {
		l, err := config.ParseCCLayout(e)
		if err != nil {
			return nil, err
		}
		has := func(word string) bool { return slices.Contains(l.Switches, word) }
		list = append(list, ccLayout{l.Pattern, mad.CCLayout{
			LibibmadLog: has("libibmad-log"), WidePorts: has("wide-ports"), PackedCA: has("packed-ca"),
		}})
	}
	return list, nil
}

// layout returns the layout of a device of a fabric.
func (m deviceModels) layout(f *subnet.Fabric, id ident.PortID) mad.CCLayout {
	if f == nil {
		return mad.CCLayout{}
	}
	at, ok := f.NodeByGUID(id.Node)
	if !ok {
		return mad.CCLayout{}
	}
	for _, l := range m.old {
		if fits, err := path.Match(l.pattern, f.Nodes[at].Name); err == nil && fits {
			return l.CCLayout
		}
	}
	c := m.chooser
	if c == nil {
		c = m.set.Chooser()
	}
	return mad.CCLayout(c.Of(ibprofile.IdentityOf(&f.Nodes[at])).Layout)
}

// driver adapts layout for the driver of a fabric.
func (m deviceModels) driver(f *subnet.Fabric) func(driver.Device) mad.CCLayout {
	return func(d driver.Device) mad.CCLayout { return m.layout(f, d.ID) }
}
