package config

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"fairlane/internal/yamltree"
)

// maxSize bounds a configuration file, in bytes.
const maxSize = 1 << 20

// readFile applies a file.
func (l *Loaded) readFile(path string, keys []Key) []error {
	r, err := os.Open(path)
	if err != nil {
		return []error{err}
	}
	defer func() { _ = r.Close() }() // read only
	return l.read(path, r, keys)
}

// read applies the YAML text of a file. An empty one changes nothing.
func (l *Loaded) read(path string, r io.Reader, keys []Key) []error {
	data, err := io.ReadAll(io.LimitReader(r, maxSize+1))
	if err != nil {
		return []error{fmt.Errorf("read %s: %w", path, err)}
	}
	if len(data) > maxSize {
		return []error{fmt.Errorf("%s: want at most %d bytes", path, maxSize)}
	}
	root, err := yamltree.Only(data)
	var bad *yamltree.SyntaxError
	var second *yamltree.SecondError
	switch {
	case errors.As(err, &bad):
		return []error{fmt.Errorf("%s:%d: %s: want valid YAML", path, max(bad.Line, 1), bad.Text)}
	case errors.As(err, &second):
		return []error{fmt.Errorf("%s:%d: a second document begins: want one", path, second.Line)}
	case err != nil:
		return []error{fmt.Errorf("%s: %w", path, err)}
	case root == nil || yamltree.IsNull(root):
		return nil
	}
	w := fileWalk{to: l, path: path, keys: keys}
	w.mapping("", root)
	return w.faults
}

// fileWalk goes through the nodes of a file. Its depth is that of the table: a key that is not there ends it. The table serves the
// environment and flags too, so keys are those of the table, not fields of a structure as yamltree.Decoder has them.
type fileWalk struct {
	to     *Loaded
	path   string
	keys   []Key
	faults []error
}

func (w *fileWalk) fault(line int, format string, args ...any) {
	w.faults = append(w.faults, fmt.Errorf("%s:%d: %w", w.path, line, fmt.Errorf(format, args...)))
}

// allowed lists the keys of a level: "tls" has cert_file, key_file, ...
func (w *fileWalk) allowed(prefix string) []string {
	var out []string
	for _, k := range w.keys {
		rest, ok := strings.CutPrefix(k.Name, prefix)
		if !ok {
			continue
		}
		name, _, _ := strings.Cut(rest, ".")
		if !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// mapping takes the keys of one level; prefix is "" or ends in a dot.
func (w *fileWalk) mapping(prefix string, n *yaml.Node) {
	allowed := w.allowed(prefix)
	if n.Kind != yaml.MappingNode {
		level := strings.TrimSuffix(prefix, ".")
		if level != "" {
			level += ": "
		}
		w.fault(n.Line, "%swant the keys %s", level, strings.Join(allowed, ", "))
		return
	}
	for e := range yamltree.Entries(n, allowed) {
		name := prefix + e.Key.Value
		switch {
		case e.Index < 0:
			w.fault(e.Key.Line, "unknown key %.60q: want %s", name, strings.Join(allowed, ", "))
		case e.Earlier > 0:
			w.fault(e.Key.Line, "%s was given in line %d already: want it once", name, e.Earlier)
		default:
			w.value(name, e.Value)
		}
	}
}

// value takes the value of a key, or goes down a level. null leaves the default.
func (w *fileWalk) value(name string, n *yaml.Node) {
	i := slices.IndexFunc(w.keys, func(k Key) bool { return k.Name == name })
	switch {
	case yamltree.IsNull(n):
		return
	case i < 0:
		w.mapping(name+".", n)
		return
	}
	k := &w.keys[i]
	text, err := scalars(n, k.Kind() == "list")
	if err != nil {
		w.fault(n.Line, "%s: %w", name, err)
		return
	}
	if err := w.to.set(k, text, fmt.Sprintf("%s:%d", w.path, n.Line)); err != nil {
		w.faults = append(w.faults, err)
	}
}

// scalars is the text of a scalar, or of a list of them, joined by commas.
func scalars(n *yaml.Node, list bool) (string, error) {
	switch {
	case n.Kind == yaml.ScalarNode:
		return n.Value, nil
	case !list:
		return "", fmt.Errorf("found %s: want a single value", nodeKind(n))
	case n.Kind != yaml.SequenceNode:
		return "", fmt.Errorf("found %s: want a list of texts", nodeKind(n))
	}
	parts := make([]string, len(n.Content))
	for i, c := range n.Content {
		if c.Kind != yaml.ScalarNode || strings.Contains(c.Value, ",") {
			return "", fmt.Errorf("entry %d: want a text without commas", i+1)
		}
		parts[i] = c.Value
	}
	return strings.Join(parts, ","), nil
}

func nodeKind(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "keys"
	case yaml.SequenceNode:
		return "a list"
	case yaml.AliasNode:
		return "an alias"
	}
	return "another thing"
}
