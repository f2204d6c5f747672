// Package profilefile reads a site's profiles of InfiniBand devices, and which devices have them, from YAML.
package profilefile

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"fairlane/ccconfig/ibcc"
	"fairlane/ccconfig/ibprofile"
	"fairlane/internal/quantity"
	"fairlane/internal/yamltree"
)

// MaxBytes bounds a file.
const MaxBytes = 1 << 20

// Load reads the file at path. An error that is not of the file's content is the system's.
func Load(path string) (*ibprofile.Set, error) {
	r, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }() // read only
	return Read(path, r)
}

// Read reads the text of a file; name is for messages. The error joins *yamltree.Fault.
func Read(name string, r io.Reader) (*ibprofile.Set, error) {
	text, err := io.ReadAll(io.LimitReader(r, MaxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	d := &reader{name: name, lines: map[string]int{}}
	if len(text) > MaxBytes {
		d.fault(0, "", fmt.Sprintf("found more than %d bytes, want at most that", MaxBytes))
		return nil, errors.Join(d.faults...)
	}
	root, err := yamltree.Only(text)
	var bad *yamltree.SyntaxError
	var second *yamltree.SecondError
	switch {
	case errors.As(err, &bad):
		d.fault(bad.Line, "", bad.Text+", want valid YAML")
	case errors.As(err, &second):
		d.fault(second.Line, "", "found a second document, want one")
	case err != nil:
		return nil, err
	case root == nil:
		d.fault(0, "", "found nothing, want version, profiles and assign")
	default:
		if a := yamltree.FirstAlias(root); a != nil {
			d.fault(a.Line, "", "found an anchor or alias, want values written out")
		} else {
			d.file(root)
		}
	}
	if len(d.faults) > 0 {
		return nil, errors.Join(d.faults...)
	}
	return d.set()
}

type reader struct {
	name     string
	lines    map[string]int // of fields
	faults   []error
	profiles []ibprofile.Profile
	rules    []ibprofile.Rule
}

func (d *reader) fault(line int, field, text string) {
	d.faults = append(d.faults, &yamltree.Fault{File: d.name, Line: line, Field: field, Text: text})
}

// set checks what was read, with the lines of the fields.
func (d *reader) set() (*ibprofile.Set, error) {
	s, err := ibprofile.NewSet(d.profiles, d.rules)
	if err == nil {
		return s, nil
	}
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return nil, &yamltree.Fault{File: d.name, Text: err.Error()}
	}
	for _, e := range joined.Unwrap() {
		var fe *ibprofile.FieldError
		if !errors.As(e, &fe) {
			d.fault(0, "", e.Error())
			continue
		}
		item := fmt.Sprintf("profiles[%d]", fe.Profile)
		if fe.Rule >= 0 {
			item = fmt.Sprintf("assign[%d]", fe.Rule)
		}
		field := item
		if fe.Field != "" {
			field += "." + fe.Field
		}
		line := d.lines[field]
		if line == 0 {
			line = d.lines[item]
		}
		d.fault(line, field, "found "+fe.Found+", want "+fe.Want)
	}
	return nil, errors.Join(d.faults...)
}

func (d *reader) file(root *yaml.Node) {
	d.mapping(root, "", map[string]func(*yaml.Node, string){
		"version": func(n *yaml.Node, field string) {
			if n.Kind != yaml.ScalarNode || n.Value != "1" {
				d.fault(n.Line, field, found(n)+", want 1")
			}
		},
		"profiles": func(n *yaml.Node, field string) {
			d.list(n, field, ibprofile.MaxProfiles, func(n *yaml.Node, field string) { d.profile(n, field) })
		},
		"assign": func(n *yaml.Node, field string) {
			d.list(n, field, ibprofile.MaxRules, func(n *yaml.Node, field string) { d.rule(n, field) })
		},
	})
	if d.lines["version"] == 0 && len(d.faults) == 0 {
		d.fault(root.Line, "version", "missing, want 1")
	}
}

// mapping calls the function of each key of a mapping, with the path of the value.
func (d *reader) mapping(n *yaml.Node, field string, keys map[string]func(*yaml.Node, string)) {
	names := make([]string, 0, len(keys))
	for k := range keys {
		names = append(names, k)
	}
	slices.Sort(names)
	if n.Kind != yaml.MappingNode {
		d.fault(n.Line, field, found(n)+", want a mapping with "+strings.Join(names, ", "))
		return
	}
	prefix := field
	if prefix != "" {
		d.lines[field] = n.Line
		prefix += "."
	}
	for e := range yamltree.Entries(n, names) {
		switch {
		case e.Index < 0:
			d.fault(e.Key.Line, field, fmt.Sprintf("found the key %.80q, want %s", e.Key.Value, strings.Join(names, ", ")))
		case e.Earlier > 0:
			d.fault(e.Key.Line, prefix+e.Key.Value, fmt.Sprintf("found a second time, want it once: line %d has it", e.Earlier))
		default:
			d.lines[prefix+e.Key.Value] = e.Key.Line
			keys[e.Key.Value](e.Value, prefix+e.Key.Value)
		}
	}
}

func (d *reader) list(n *yaml.Node, field string, most int, item func(*yaml.Node, string)) {
	if n.Kind != yaml.SequenceNode || len(n.Content) > most {
		d.fault(n.Line, field, found(n)+fmt.Sprintf(", want a list of at most %d", most))
		return
	}
	for i, c := range n.Content {
		d.lines[fmt.Sprintf("%s[%d]", field, i)] = c.Line
		item(c, fmt.Sprintf("%s[%d]", field, i))
	}
}

func (d *reader) text(to *string) func(*yaml.Node, string) {
	return func(n *yaml.Node, field string) {
		if n.Kind != yaml.ScalarNode || yamltree.IsNull(n) {
			d.fault(n.Line, field, found(n)+", want a text")
			return
		}
		*to = n.Value
	}
}

func (d *reader) boolean(to *bool) func(*yaml.Node, string) {
	return func(n *yaml.Node, field string) {
		if n.Kind != yaml.ScalarNode || n.Value != "true" && n.Value != "false" {
			d.fault(n.Line, field, found(n)+", want true or false")
			return
		}
		*to = n.Value == "true"
	}
}

// number reads an integer from 0 to most, decimal or with 0x.
func (d *reader) number(most int64, take func(int64)) func(*yaml.Node, string) {
	return func(n *yaml.Node, field string) {
		v, err := strconv.ParseInt(n.Value, 0, 64)
		if n.Kind != yaml.ScalarNode || err != nil || v < 0 || v > most {
			d.fault(n.Line, field, found(n)+fmt.Sprintf(", want a whole number from 0 to %d", most))
			return
		}
		take(v)
	}
}

// found describes a node for messages.
func found(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.MappingNode:
		return "found a mapping"
	case n.Kind == yaml.SequenceNode:
		return fmt.Sprintf("found a list of %d", len(n.Content))
	case yamltree.IsNull(n):
		return "found no value"
	}
	return fmt.Sprintf("found %.80q", n.Value)
}

func (d *reader) rule(n *yaml.Node, field string) {
	var r ibprofile.Rule
	d.mapping(n, field, map[string]func(*yaml.Node, string){
		"profile":   d.text(&r.Profile),
		"name":      d.text(&r.Name),
		"vendor_id": d.number(0xffffff, func(v int64) { r.VendorID = uint32(v) }),
		"device_ids": func(n *yaml.Node, field string) {
			d.list(n, field, 1<<16, func(n *yaml.Node, field string) {
				d.number(0xffff, func(v int64) { r.DeviceIDs = append(r.DeviceIDs, uint16(v)) })(n, field)
			})
		},
	})
	d.rules = append(d.rules, r)
}

// profile reads a profile. Fields that it leaves out are those of the profile that `like` names, or of the generic one of its kind.
func (d *reader) profile(n *yaml.Node, field string) {
	p := ibprofile.Profile{Basis: ibprofile.Assumed}
	kind, like, ok := d.model(n, field)
	if !ok {
		return
	}
	p.Kind, p.Adapter, p.Switch, p.Layout = kind, like.Adapter, like.Switch, like.Layout
	var basis string
	keys := map[string]func(*yaml.Node, string){
		"name": d.text(&p.Name), "title": d.text(&p.Title), "origin": d.text(&p.Origin), "basis": d.text(&basis),
		"kind": func(*yaml.Node, string) {}, "like": func(*yaml.Node, string) {}, // read already
		"assumptions": func(n *yaml.Node, field string) {
			d.list(n, field, 1<<10, func(n *yaml.Node, field string) {
				var s string
				d.text(&s)(n, field)
				p.Assumptions = append(p.Assumptions, s)
			})
		},
		"layouts": func(n *yaml.Node, field string) {
			p.Layout = ibprofile.Layout{}
			d.list(n, field, len(ibprofile.LayoutNames()), func(n *yaml.Node, field string) {
				if n.Kind != yaml.ScalarNode || !p.Layout.Add(n.Value) {
					d.fault(n.Line, field, found(n)+", want "+strings.Join(ibprofile.LayoutNames(), ", "))
				}
			})
		},
	}
	if kind == ibprofile.Switch {
		d.switchKeys(keys, &p.Switch)
	} else {
		d.adapterKeys(keys, &p.Adapter)
	}
	d.mapping(n, field, keys)
	if basis != "" {
		p.Basis = ibprofile.Basis(basis)
	}
	d.profiles = append(d.profiles, p)
}

// model reads kind and like, which say what the other fields are.
func (d *reader) model(n *yaml.Node, field string) (kind ibprofile.Kind, like ibprofile.Profile, ok bool) {
	var text, name string
	for e := range yamltree.Entries(n, []string{"kind", "like"}) {
		switch e.Index {
		case 0:
			d.text(&text)(e.Value, field+".kind")
		case 1:
			d.text(&name)(e.Value, field+".like")
		}
	}
	kind = ibprofile.Kind(text)
	switch {
	case n.Kind != yaml.MappingNode:
		d.fault(n.Line, field, found(n)+", want a mapping with name, kind and what differs")
		return kind, like, false
	case kind == ibprofile.Adapter && name == "":
		name = ibprofile.GenericAdapter
	case kind == ibprofile.Switch && name == "":
		name = ibprofile.GenericSwitch
	case kind != ibprofile.Adapter && kind != ibprofile.Switch:
		d.fault(n.Line, field+".kind", fmt.Sprintf("found %.80q, want adapter or switch", text))
		return kind, like, false
	}
	i := slices.IndexFunc(d.profiles, func(p ibprofile.Profile) bool { return p.Name == name })
	if i >= 0 {
		like, ok = d.profiles[i], true
	} else {
		like, ok = (*ibprofile.Set)(nil).Lookup(name)
	}
	if !ok || like.Kind != kind {
		d.fault(n.Line, field+".like", fmt.Sprintf("found %.80q, want a built-in profile of the same kind, or one further up in this file", name))
		return kind, like, false
	}
	return kind, like, true
}

func (d *reader) adapterKeys(keys map[string]func(*yaml.Node, string), a *ibprofile.AdapterModel) {
	keys["table_entries"] = d.number(ibcc.MaxTableEntries, func(v int64) { a.TableEntries = int(v) })
	keys["max_shift"] = d.number(ibcc.MaxShift, func(v int64) { a.MaxShift = uint8(v) })
	keys["max_multiplier"] = d.number(ibcc.MaxMultiplier, func(v int64) { a.MaxMultiplier = uint16(v) })
	keys["timer_unit_ns"] = d.number(1_000_000, func(v int64) { a.TimerUnit = quantity.Picoseconds(v) * quantity.Nanosecond })
	keys["max_timer"] = d.number(1<<16-1, func(v int64) { a.MaxTimer = uint16(v) })
	keys["timer_restart"] = d.boolean(&a.TimerRestart)
	keys["max_increase"] = d.number(1<<8-1, func(v int64) { a.MaxIncrease = uint8(v) })
	keys["modes"] = func(n *yaml.Node, field string) {
		a.PerQP, a.PerSL = false, false
		d.list(n, field, 2, func(n *yaml.Node, field string) {
			switch {
			case n.Kind == yaml.ScalarNode && n.Value == "qp":
				a.PerQP = true
			case n.Kind == yaml.ScalarNode && n.Value == "sl":
				a.PerSL = true
			default:
				d.fault(n.Line, field, found(n)+", want qp or sl")
			}
		})
	}
}

func (d *reader) switchKeys(keys map[string]func(*yaml.Node, string), s *ibprofile.SwitchModel) {
	given := false
	keys["queue_bytes"] = d.number(1<<30, func(v int64) {
		if s.QueueBytes = int(v); !given {
			s.Thresholds = ibprofile.Linear(s.QueueBytes)
		}
	})
	keys["threshold_bytes"] = func(n *yaml.Node, field string) {
		if n.Kind != yaml.SequenceNode || len(n.Content) != ibcc.MaxThreshold {
			d.fault(n.Line, field, found(n)+fmt.Sprintf(", want a list of %d: the queue of each code from 1 to 15", ibcc.MaxThreshold))
			return
		}
		given = true
		for i, c := range n.Content {
			item := fmt.Sprintf("%s[%d]", field, i)
			d.lines[item] = c.Line
			d.number(1<<30, func(v int64) { s.Thresholds[i+1] = int(v) })(c, item)
		}
	}
	keys["min_marking_rate"] = d.number(1<<16-1, func(v int64) { s.MinMarkingRate = uint16(v) })
	keys["max_marking_rate"] = d.number(1<<16-1, func(v int64) { s.MaxMarkingRate = uint16(v) })
	keys["max_packet_size"] = d.number(1<<8-1, func(v int64) { s.MaxPacketSize = uint8(v) })
	keys["port_marking"] = d.boolean(&s.PortMarking)
}
