package config

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"fairlane/internal/phrase"
	"fairlane/internal/yamltree"
)

// maxSize is the maximum size of a configuration file, in bytes.
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

// read applies the YAML text of a file. An empty text changes nothing.
func (l *Loaded) read(path string, r io.Reader, keys []Key) []error {
	data, err := io.ReadAll(io.LimitReader(r, maxSize+1))
	if err != nil {
		return []error{fmt.Errorf("read %s: %w", path, err)}
	}
	if len(data) > maxSize {
		return []error{fault(phrase.Of("config.too-large", "path", path, "max", maxSize))}
	}
	root, err := yamltree.Only(data)
	var bad *yamltree.SyntaxError
	var second *yamltree.SecondError
	switch {
	case errors.As(err, &bad):
		return []error{atLine(path, max(bad.Line, 1), phrase.Of("want", "found", yamltree.Quoted(bad.Text), "want", phrase.Of("want.yaml")))}
	case errors.As(err, &second):
		return []error{atLine(path, second.Line, phrase.Of("yaml.second-document"))}
	case err != nil:
		return []error{fmt.Errorf("%s: %w", path, err)}
	case root == nil || yamltree.IsNull(root):
		return nil
	}
	w := fileWalk{to: l, path: path, keys: keys}
	w.mapping("", root)
	return w.faults
}

// fileWalk walks the nodes of a file no deeper than the table: it stops at an unknown key. The table also serves the
// environment and flags, so keys are entries of the table, not fields of a structure as in yamltree.Decoder.
type fileWalk struct {
	to     *Loaded
	path   string
	keys   []Key
	faults []error
}

func (w *fileWalk) fault(line int, said phrase.Text) {
	w.faults = append(w.faults, atLine(w.path, line, said))
}

func atLine(path string, line int, said phrase.Text) error {
	return fault(phrase.Of("labelled", "label", fmt.Sprintf("%s:%d", path, line), "text", said))
}

// allowed lists the keys of a level; for "tls": cert_file, key_file, ...
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

// mapping reads the keys of one level; prefix is "" or ends in a dot.
func (w *fileWalk) mapping(prefix string, n *yaml.Node) {
	allowed := w.allowed(prefix)
	if n.Kind != yaml.MappingNode {
		said := phrase.Of("config.want-keys", "keys", allowed)
		if level := strings.TrimSuffix(prefix, "."); level != "" {
			said = phrase.Of("labelled", "label", level, "text", said)
		}
		w.fault(n.Line, said)
		return
	}
	for e := range yamltree.Entries(n, allowed) {
		name := prefix + e.Key.Value
		switch {
		case e.Index < 0:
			w.fault(e.Key.Line, phrase.Of("config.unknown-key", "key", fmt.Sprintf("%.60q", name), "keys", allowed))
		case e.Earlier > 0:
			w.fault(e.Key.Line, phrase.Of("config.key-twice", "key", name, "line", e.Earlier))
		default:
			w.value(name, e.Value)
		}
	}
}

// value reads the value of a key, or descends one level. null keeps the default.
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
		w.fault(n.Line, phrase.Of("labelled", "label", name, "text", err))
		return
	}
	if err := w.to.set(k, text, fmt.Sprintf("%s:%d", w.path, n.Line)); err != nil {
		w.faults = append(w.faults, err)
	}
}

// scalars returns the text of a scalar, or of a list of scalars joined by commas.
func scalars(n *yaml.Node, list bool) (string, error) {
	switch {
	case n.Kind == yaml.ScalarNode:
		return n.Value, nil
	case !list:
		return "", fault(phrase.Of("problem.found", "found", nodeKind(n), "want", phrase.Of("yaml.want-single")))
	case n.Kind != yaml.SequenceNode:
		return "", fault(phrase.Of("problem.found", "found", nodeKind(n), "want", phrase.Of("config.want-texts")))
	}
	parts := make([]string, len(n.Content))
	for i, c := range n.Content {
		if c.Kind != yaml.ScalarNode || strings.Contains(c.Value, ",") {
			return "", fault(phrase.Of("config.entry-comma", "entry", i+1))
		}
		parts[i] = c.Value
	}
	return strings.Join(parts, ","), nil
}

func nodeKind(n *yaml.Node) phrase.Text {
	switch n.Kind {
	case yaml.MappingNode:
		return phrase.Of("yaml.mapping")
	case yaml.SequenceNode:
		return phrase.Of("want.list")
	case yaml.AliasNode:
		return phrase.Of("config.an-alias")
	}
	return yamltree.Quoted(n.Value)
}
