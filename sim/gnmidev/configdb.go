package gnmidev

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"

	"fairlane/ccconfig/gnmi/gnmitree"
)

// fields is an entry of a database: all values are strings. The name of a list ends in "@", and its items are joined by
// commas.
type fields map[string]string

// table maps keys to entries; composite keys are joined.
type table map[string]fields

// database maps names to tables.
type database map[string]table

func (d database) clone() database {
	out := make(database, len(d))
	for name, t := range d {
		out[name] = t.clone()
	}
	return out
}

func (t table) clone() table {
	out := make(table, len(t))
	for key, f := range t {
		out[key] = maps.Clone(f)
	}
	return out
}

// bare is the field that the database stores in entries without fields.
const bare = "NULL"

// maxEntries is the largest number of entries in a configuration.
const maxEntries = 1 << 17

// parseConfig parses config_db.json.
func parseConfig(text []byte) (database, error) {
	var raw map[string]map[string]map[string]any
	if err := json.Unmarshal(text, &raw); err != nil {
		return nil, fmt.Errorf("config_db.json: %w", err)
	}
	out, n := database{}, 0
	for name, rows := range raw {
		t := table{}
		for key, row := range rows {
			f := fields{}
			for field, v := range row {
				if err := f.put(field, v); err != nil {
					return nil, fmt.Errorf("config_db.json: %s|%s: %w", name, key, err)
				}
			}
			t[key] = f
			if n++; n > maxEntries {
				return nil, fmt.Errorf("config_db.json: too many entries: want at most %d", maxEntries)
			}
		}
		out[name] = t
	}
	return out, nil
}

func (f fields) put(name string, v any) error {
	switch v := v.(type) {
	case string:
		f[name] = v
		return nil
	case []any:
		words := make([]string, len(v))
		for i, w := range v {
			word, ok := w.(string)
			if !ok {
				return fmt.Errorf("field %s: found %v in a list, want words", name, w)
			}
			words[i] = word
		}
		f[name+"@"] = strings.Join(words, ",")
		return nil
	}
	return fmt.Errorf("field %s: found %v, want a word", name, v)
}

// json encodes config_db.json.
func (d database) json() []byte {
	out := map[string]map[string]map[string]any{}
	for name, t := range d {
		out[name] = map[string]map[string]any{}
		for key, f := range t {
			row := map[string]any{}
			for field, v := range f {
				if list, ok := strings.CutSuffix(field, "@"); ok {
					row[list] = strings.Split(v, ",")
				} else if field != bare {
					row[field] = v
				}
			}
			out[name][key] = row
		}
	}
	text, err := json.MarshalIndent(out, "", "    ")
	if err != nil {
		return nil // strings can always be encoded
	}
	return text
}

// patchOp is the operation in a patch that is derived from a Set request.
type patchOp string

// Operations of a patch (RFC 6902).
const (
	patchAdd     patchOp = "add"
	patchRemove  patchOp = "remove"
	patchReplace patchOp = "replace"
)

// change is one operation of a patch. Its target is the root, a table, an entry or a field.
type change struct {
	op   patchOp
	path []string // 0 to 3 names
	to   database // for paths of fewer than three names: the new content, as tables and entries
	word string   // value of a field
}

func (c *change) String() string { return string(c.op) + " /" + strings.Join(c.path, "/") }

// patchOf converts a request to a patch: delete becomes remove, update becomes add, and replace becomes replace, or remove
// without a value.
func patchOf(op gnmitree.Operation, names []string) (change, error) {
	c := change{path: names}
	switch op.Op {
	case gnmitree.OpDelete:
		c.op = patchRemove
		return c, nil
	case gnmitree.OpReplace:
		c.op = patchReplace
	default:
		c.op = patchAdd
	}
	if len(names) > 3 {
		return c, gnmitree.Errorf(codes.InvalidArgument, "path %s has more than table, key and field below the instance", op.Path)
	}
	if len(names) == 3 {
		return c, c.field(op)
	}
	if op.Value.Kind() != gnmitree.KindJSON {
		return c, gnmitree.Errorf(codes.InvalidArgument, "%s: found %s, want an object", op.Path, op.Value)
	}
	leaves, err := gnmitree.Flatten(gnmitree.PathOf(names...), op.Value, gnmitree.Schema{})
	if err != nil {
		return c, gnmitree.Errorf(codes.InvalidArgument, "%s: %v", op.Path, err)
	}
	return c, c.object(op, leaves)
}

// field converts the value of a field.
func (c *change) field(op gnmitree.Operation) error {
	switch op.Value.Kind() {
	case gnmitree.KindList:
		words := make([]string, len(op.Value.List()))
		for i, v := range op.Value.List() {
			var err error
			if words[i], err = v.AsString(); err != nil {
				return gnmitree.Errorf(codes.InvalidArgument, "%s: %v", op.Path, err)
			}
		}
		c.path = []string{c.path[0], c.path[1], strings.TrimSuffix(c.path[2], "@") + "@"}
		c.word = strings.Join(words, ",")
	case gnmitree.KindString:
		c.word, _ = op.Value.AsString() // the kind of the value is string
		if c.op == patchReplace && c.word == "" && c.path[2] != "pfc_enable" {
			c.op = patchRemove
		}
	default:
		return gnmitree.Errorf(codes.InvalidArgument, "%s: found %s, want a string, because all values of the database are strings", op.Path, op.Value)
	}
	return nil
}

// object converts the value of a node above fields.
func (c *change) object(op gnmitree.Operation, leaves []gnmitree.Leaf) error {
	if len(leaves) == 0 && c.op == patchReplace {
		c.op = patchRemove
		return nil
	}
	if len(leaves) > maxEntries {
		return gnmitree.Errorf(codes.InvalidArgument, "%s: found %d values, want at most %d", op.Path, len(leaves), maxEntries)
	}
	c.to = database{}
	for _, l := range leaves {
		e := l.Path.Elems
		if len(e) != 3 {
			return gnmitree.Errorf(codes.InvalidArgument, "%s: found a value at %s, want tables of entries of words", op.Path, l.Path)
		}
		part := change{path: []string{e[0].Name, e[1].Name, e[2].Name}}
		if err := part.field(gnmitree.Operation{Path: l.Path, Value: l.Value}); err != nil {
			return err
		}
		c.to.entry(part.path[0], part.path[1])[part.path[2]] = part.word
	}
	if len(c.path) == 2 { // an entry without fields is valid
		c.to.entry(c.path[0], c.path[1])
	}
	return nil
}

// entry returns an entry, and creates it if necessary.
func (d database) entry(name, key string) fields {
	t := d[name]
	if t == nil {
		t = table{}
		d[name] = t
	}
	f := t[key]
	if f == nil {
		f = fields{}
		t[key] = f
	}
	return f
}

// has reports whether a path exists.
func (d database) has(path []string) bool {
	switch len(path) {
	case 0:
		return true
	case 1:
		return d[path[0]] != nil
	case 2:
		return d[path[0]][path[1]] != nil
	}
	_, ok := d[path[0]][path[1]][path[2]]
	return ok
}

// apply applies one operation of a patch as in RFC 6902: the target of remove or replace must exist, and so must the parent of
// an added node.
func (d database) apply(c *change) error {
	switch {
	case c.op != patchAdd && !d.has(c.path):
		return gnmitree.Errorf(codes.NotFound, "%s: nothing is there", c)
	case c.op == patchAdd && len(c.path) == 3 && !d.has(c.path[:2]):
		return gnmitree.Errorf(codes.NotFound, "%s: no entry %s|%s: update the whole entry", c, c.path[0], c.path[1])
	}
	switch {
	case len(c.path) == 0:
		clear(d)
		maps.Copy(d, c.to.clone())
	case len(c.path) == 1:
		delete(d, c.path[0])
		if t := c.to[c.path[0]]; c.op != patchRemove && len(t) > 0 {
			d[c.path[0]] = t.clone()
		}
	case len(c.path) == 2:
		d.applyEntry(c)
	case c.op == patchRemove:
		delete(d[c.path[0]][c.path[1]], c.path[2])
	default:
		d[c.path[0]][c.path[1]][c.path[2]] = c.word
	}
	return nil
}

func (d database) applyEntry(c *change) {
	name, key := c.path[0], c.path[1]
	delete(d[name], key)
	if c.op != patchRemove {
		e := d.entry(name, key)
		maps.Copy(e, c.to[name][key])
	}
	if len(d[name]) == 0 {
		delete(d, name)
	}
}

// difference returns the entries in which two databases differ, as TABLE and KEY, sorted.
func difference(a, b database) [][2]string {
	var out [][2]string
	seen := func(x, y database) {
		for name, t := range x {
			for key, f := range t {
				if other, ok := y[name][key]; (!ok || !maps.Equal(f, other)) && !slices.Contains(out, [2]string{name, key}) {
					out = append(out, [2]string{name, key})
				}
			}
		}
	}
	seen(a, b)
	for name, t := range b {
		for key := range t {
			if _, ok := a[name][key]; !ok {
				out = append(out, [2]string{name, key})
			}
		}
	}
	slices.SortFunc(out, func(x, y [2]string) int {
		return strings.Compare(x[0]+"\x00"+x[1], y[0]+"\x00"+y[1])
	})
	return out
}
