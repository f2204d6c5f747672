package scenario

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"fairlane/internal/phrase"
	"fairlane/subnet/topofile"
)

// Setting replaces or adds a value of a scenario's file.
type Setting struct {
	// Path is the path of the value from the top of the file: keys and list indices (from 0), separated by dots, such as
	// model.ecn.min or workload.0.load. Missing mappings on the path are created.
	Path string `json:"path"`
	// Value is the value as in the file: any YAML value on one line.
	Value string `json:"value"`
}

// String returns path=value.
func (s Setting) String() string { return s.Path + "=" + s.Value }

// Limits of settings.
const (
	maxSettings    = 64
	maxSettingPath = 16   // keys
	maxSettingText = 4096 // bytes of a value
)

// ParseSettings parses PATH=V1,V2,...: the values of a path in their order. Commas inside brackets, braces and quotes do not
// separate values.
func ParseSettings(text string) (path string, values []string, err error) {
	path, list, found := strings.Cut(text, "=")
	if !found || path == "" {
		return "", nil, fault(phrase.Of("scenario.setting-form", "setting", strconv.Quote(text)))
	}
	for v := range splitValues(list) {
		if v == "" {
			return "", nil, fault(phrase.Of("scenario.setting-empty", "path", path, "n", len(values)+1))
		}
		if slices.Contains(values, v) {
			return "", nil, fault(phrase.Of("scenario.setting-twice", "path", path, "value", strconv.Quote(v)))
		}
		values = append(values, v)
	}
	return path, values, nil
}

// splitValues yields the parts between commas outside of brackets, braces and quotes.
func splitValues(list string) func(func(string) bool) {
	return func(yield func(string) bool) {
		depth, from, quote := 0, 0, rune(0)
		for i, c := range list {
			switch {
			case quote != 0:
				if c == quote {
					quote = 0
				}
			case c == '"' || c == '\'':
				quote = c
			case c == '[' || c == '{':
				depth++
			case c == ']' || c == '}':
				depth--
			case c == ',' && depth <= 0:
				if !yield(strings.TrimSpace(list[from:i])) {
					return
				}
				from = i + 1
			}
		}
		yield(strings.TrimSpace(list[from:]))
	}
}

// put applies settings to the tree of the document. It stores the created nodes, so that errors name the setting instead of a
// line.
func (d *document) put(root *yaml.Node, settings []Setting) {
	if len(settings) > maxSettings && d.err == nil {
		d.err = fault(phrase.Of("scenario.settings-max", "n", len(settings), "max", maxSettings))
	}
	d.made = make(map[*yaml.Node]string)
	for _, s := range settings {
		if d.err == nil {
			d.err = d.putOne(root, s)
		}
	}
}

func (d *document) putOne(at *yaml.Node, s Setting) error {
	keys := strings.Split(s.Path, ".")
	wrong := func(depth int, found, allowed phrase.Text) error {
		return &topofile.ParseError{Setting: s.String(), Field: strings.Join(keys[:depth], "."), Found: found, Allowed: allowed}
	}
	if len(keys) > maxSettingPath || len(s.Value) > maxSettingText || slices.Contains(keys, "") {
		return wrong(len(keys), topofile.Quoted(s.Value), phrase.Of("scenario.want-path", "keys", maxSettingPath, "bytes", maxSettingText))
	}
	value, err := d.value(s)
	if err != nil {
		return err
	}
	for i, key := range keys {
		var slot **yaml.Node
		switch at.Kind {
		case yaml.MappingNode:
			slot = d.slot(at, key, s)
		case yaml.SequenceNode:
			n, err := strconv.Atoi(key)
			if err != nil || n < 0 || n >= len(at.Content) {
				return wrong(i+1, topofile.Quoted(key), listIndex(len(at.Content)))
			}
			slot = &at.Content[n]
		default:
			return wrong(i, describe(at), phrase.Of("scenario.want-into", "path", strings.Join(keys[i:], ".")))
		}
		if i == len(keys)-1 {
			*slot = value
			return nil
		}
		if (*slot).Kind == 0 || (*slot).Tag == "!!null" {
			*slot = &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Line: at.Line}
			d.made[*slot] = s.String()
		}
		at = *slot
	}
	return nil
}

func listIndex(n int) phrase.Text {
	switch n {
	case 0:
		return phrase.Of("scenario.want-no-index")
	case 1:
		return phrase.Of("scenario.want-index-0")
	}
	return phrase.Of("scenario.want-index", "max", n-1)
}

// slot returns the location of a key's value in a mapping, and adds the key if necessary.
func (d *document) slot(m *yaml.Node, key string, s Setting) **yaml.Node {
	for i := 0; i+1 < len(m.Content); i += 2 {
		if m.Content[i].Value == key {
			return &m.Content[i+1]
		}
	}
	k := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: key, Line: m.Line}
	d.made[k] = s.String()
	m.Content = append(m.Content, k, &yaml.Node{})
	return &m.Content[len(m.Content)-1]
}

// value parses the value of a setting.
func (d *document) value(s Setting) (*yaml.Node, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(s.Value), &doc); err != nil {
		return nil, &topofile.ParseError{Setting: s.String(), Err: fault(phrase.Of("scenario.not-yaml", "reason", strings.TrimPrefix(err.Error(), "yaml: ")))}
	}
	if doc.Kind != yaml.DocumentNode || len(doc.Content) != 1 {
		return nil, &topofile.ParseError{Setting: s.String(), Err: fault(phrase.Of("scenario.no-value"))}
	}
	var mark func(n *yaml.Node)
	mark = func(n *yaml.Node) {
		d.made[n] = s.String()
		for _, c := range n.Content {
			mark(c)
		}
	}
	mark(doc.Content[0])
	return doc.Content[0], nil
}

// settingsErr adds the settings to an error: they may have caused it even if the line is valid.
func settingsErr(settings []Setting, err error) error {
	if err == nil || len(settings) == 0 {
		return err
	}
	var pe *topofile.ParseError
	if errors.As(err, &pe) && pe.Setting != "" {
		return err
	}
	var all []string
	for _, s := range settings {
		all = append(all, s.String())
	}
	return phrase.Because(err, phrase.Of("scenario.with", "settings", all, "reason", err))
}
