// Package profilefile reads a site's profiles of InfiniBand devices, and the assignment of profiles to devices, from YAML.
package profilefile

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"go.yaml.in/yaml/v3"

	"fairlane/ccconfig/ibcc"
	"fairlane/ccconfig/ibprofile"
	"fairlane/internal/phrase"
	"fairlane/internal/quantity"
	"fairlane/internal/yamltree"
)

// MaxBytes is the largest size of a file.
const MaxBytes = 1 << 20

// Load reads the file at path. It returns errors of the file system unchanged.
func Load(path string) (*ibprofile.Set, error) {
	r, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }() // read only
	return Read(path, r)
}

// Read reads the text of a file; name is for messages. The error joins values of type *yamltree.Fault.
func Read(name string, r io.Reader) (*ibprofile.Set, error) {
	f, d := yamltree.Decode[struct {
		Version  string       `json:"version" want:"1" of:"1"`
		Profiles []*yaml.Node `json:"profiles" most:"256"`
		Assign   []rule       `json:"assign" most:"1024"`
	}](name, r, MaxBytes)
	var s sites
	for i, n := range f.Profiles {
		s.profile(d, n, fmt.Sprintf("profiles[%d]", i))
	}
	rules := make([]ibprofile.Rule, len(f.Assign))
	for i, a := range f.Assign {
		rules[i] = ibprofile.Rule(a)
	}
	if d.Faults() > 0 {
		return nil, d.Err()
	}
	return s.set(d, rules)
}

// rule assigns a profile to devices.
type rule struct {
	Profile   string   `json:"profile"`
	VendorID  uint32   `json:"vendor_id" in:"0..16777215"`
	DeviceIDs []uint16 `json:"device_ids" most:"65536"`
	Name      string   `json:"name"`
}

// sites are the parsed profiles.
type sites []ibprofile.Profile

// set validates the parsed values, with the lines of the fields in errors.
func (s sites) set(d *yamltree.Decoder, rules []ibprofile.Rule) (*ibprofile.Set, error) {
	set, err := ibprofile.NewSet(s, rules)
	if err == nil {
		return set, nil
	}
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		d.FaultAt("", phrase.OfError(err))
		return nil, d.Err()
	}
	for _, e := range joined.Unwrap() {
		var fe *ibprofile.FieldError
		if !errors.As(e, &fe) {
			d.Fault(0, "", phrase.OfError(e))
			continue
		}
		d.FaultAt(fe.Where(), yamltree.Found(fe.Found, fe.Want))
	}
	return nil, d.Err()
}

// form is the file form of a profile. Missing fields have the values of the profile named by like, or of the generic profile of
// the kind.
type form struct {
	Name        string   `json:"name"`
	Title       string   `json:"title"`
	Origin      string   `json:"origin"`
	Basis       string   `json:"basis"`
	Kind        string   `json:"kind"`
	Like        string   `json:"like"`
	Assumptions []string `json:"assumptions" most:"1024"`
	Layouts     []string `json:"layouts" most:"3" of:"libibmad-log,wide-ports,packed-ca"`
}

type adapterForm struct {
	form
	ibprofile.AdapterModel
	TimerUnitNs int      `json:"timer_unit_ns" in:"0..1000000"`
	Modes       []string `json:"modes" most:"2" of:"qp,sl"`
}

type switchForm struct {
	form
	ibprofile.SwitchModel
	ThresholdBytes []int `json:"threshold_bytes" in:"0..1073741824"`
}

func (s *sites) profile(d *yamltree.Decoder, n *yaml.Node, field string) {
	p, ok := s.model(d, n, field)
	if !ok {
		return
	}
	p.Name, p.Title, p.Origin, p.Basis, p.Assumptions = "", "", "", ibprofile.Assumed, nil
	var common form
	if p.Kind == ibprofile.Adapter {
		f := adapterForm{AdapterModel: p.Adapter, TimerUnitNs: int(p.Adapter.TimerUnit / quantity.Nanosecond)}
		d.Value(n, &f, field)
		common, p.Adapter = f.form, f.AdapterModel
		p.Adapter.TimerUnit = quantity.Picoseconds(f.TimerUnitNs) * quantity.Nanosecond
		if f.Modes != nil {
			p.Adapter.PerQP, p.Adapter.PerSL = slices.Contains(f.Modes, "qp"), slices.Contains(f.Modes, "sl")
		}
	} else {
		f := switchForm{SwitchModel: p.Switch}
		d.Value(n, &f, field)
		common, p.Switch = f.form, f.SwitchModel
		switch {
		case len(f.ThresholdBytes) == ibcc.MaxThreshold:
			copy(p.Switch.Thresholds[1:], f.ThresholdBytes)
		case d.Has(field + ".threshold_bytes"):
			d.FaultAt(field+".threshold_bytes", phrase.Of("ibprofile.thresholds", "n", len(f.ThresholdBytes), "want", ibcc.MaxThreshold))
		case d.Has(field + ".queue_bytes"):
			p.Switch.Thresholds = ibprofile.Linear(f.QueueBytes)
		}
	}
	p.Name, p.Title, p.Origin, p.Assumptions = common.Name, common.Title, common.Origin, common.Assumptions
	if common.Basis != "" {
		p.Basis = ibprofile.Basis(common.Basis)
	}
	if common.Layouts != nil {
		p.Layout = ibprofile.Layout{}
		for _, l := range common.Layouts {
			p.Layout.Add(l)
		}
	}
	*s = append(*s, p)
}

// model reads kind and like, which determine the allowed fields, and returns the profile with the default values.
func (s *sites) model(d *yamltree.Decoder, n *yaml.Node, field string) (like ibprofile.Profile, ok bool) {
	var kind, name string
	for e := range yamltree.Entries(n, []string{"kind", "like"}) {
		switch e.Index {
		case 0:
			d.Value(e.Value, &kind, field+".kind")
		case 1:
			d.Value(e.Value, &name, field+".like")
		}
	}
	switch {
	case n.Kind != yaml.MappingNode:
		d.Fault(n.Line, field, yamltree.Found(yamltree.Describe(n), phrase.Of("ibprofile.want-profile")))
		return like, false
	case kind == string(ibprofile.Adapter) && name == "":
		name = ibprofile.GenericAdapter
	case kind == string(ibprofile.Switch) && name == "":
		name = ibprofile.GenericSwitch
	case kind != string(ibprofile.Adapter) && kind != string(ibprofile.Switch):
		d.Fault(n.Line, field+".kind", yamltree.Found(yamltree.Quoted(kind), phrase.Of("ibprofile.want-kind")))
		return like, false
	}
	if i := slices.IndexFunc(*s, func(p ibprofile.Profile) bool { return p.Name == name }); i >= 0 {
		like, ok = (*s)[i], true
	} else {
		like, ok = (*ibprofile.Set)(nil).Lookup(name)
	}
	if !ok || string(like.Kind) != kind {
		d.Fault(n.Line, field+".like", yamltree.Found(yamltree.Quoted(name), phrase.Of("ibprofile.want-like")))
		return like, false
	}
	return like, true
}
