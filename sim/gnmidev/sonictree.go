package gnmidev

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc/codes"

	"fairlane/ccconfig/gnmi/gnmitree"
	"fairlane/sim/plane"
)

const (
	sonicOrigin = "sonic-db"
	instance    = "localhost"
)

// native is the view of a switch's databases by origin sonic-db: /DATABASE/localhost/TABLE/KEY/FIELD.
type native struct {
	gnmitree.Watchers
	w *Switch
}

func newNative(w *Switch) *native {
	t := &native{w: w}
	w.changed = append(w.changed, func(entries [][2]string) { t.Changed(entryPaths(gnmitree.PathOf(configDB, instance), entries)...) })
	return t
}

// entryPaths returns the paths of entries below a node.
func entryPaths(above gnmitree.Path, entries [][2]string) []gnmitree.Path {
	out := make([]gnmitree.Path, len(entries))
	for i, e := range entries {
		out[i] = above.Child(e[0]).Child(e[1])
	}
	return out
}

// sonicInfo returns the capabilities, which are the same for both path forms.
func sonicInfo() gnmitree.Info {
	return gnmitree.Info{Models: modelsOf(SONiC), Types: []gnmitree.Type{gnmitree.TypeAll}}
}

var _ gnmitree.Tree = (*native)(nil)

func (t *native) Info() gnmitree.Info { return sonicInfo() }

// locate checks that all paths of a request are in one database of this switch.
func locate(paths []gnmitree.Path) (db string, err error) {
	for _, p := range paths {
		switch {
		case p.Origin == "":
			return "", gnmitree.Errorf(codes.Unimplemented, "path %s has no origin: OpenConfig models of quality of service have no translation here; native paths have origin %s", p, sonicOrigin)
		case p.Origin != sonicOrigin:
			return "", gnmitree.Errorf(codes.Unimplemented, "path %s has origin %q, want %s, and one origin in a request", p, p.Origin, sonicOrigin)
		case len(p.Elems) < 2:
			return "", gnmitree.Errorf(codes.Unimplemented, "path %s has %d elements, want a database and its instance at least", p, len(p.Elems))
		case db != "" && p.Elems[0].Name != db:
			return "", gnmitree.Errorf(codes.Unimplemented, "a request with paths of %s and %s, want one database", db, p.Elems[0].Name)
		}
		db = p.Elems[0].Name
		if !slices.Contains(databases(), db) {
			return "", gnmitree.Errorf(codes.Unimplemented, "path %s has database %q, want one of %q", p, db, databases())
		}
		if p.Elems[1].Name != instance {
			return "", gnmitree.Errorf(codes.NotFound, "path %s has instance %q: this switch has only %s", p, p.Elems[1].Name, instance)
		}
	}
	return db, nil
}

func (t *native) Get(ctx context.Context, q gnmitree.Query) ([][]gnmitree.Leaf, error) {
	db, err := locate(q.Paths)
	if err != nil {
		return nil, err
	}
	return t.w.get(ctx, db, q.Paths, 2)
}

func (t *native) Set(ctx context.Context, ops []gnmitree.Operation) (gnmitree.Result, error) {
	paths := make([]gnmitree.Path, len(ops))
	for i := range ops {
		paths[i] = ops[i].Path
	}
	db, err := locate(paths)
	if err != nil {
		return gnmitree.Result{}, err
	}
	if db != configDB && len(ops) > 0 {
		return gnmitree.Result{}, gnmitree.Errorf(codes.Unimplemented, "database %s cannot be written, want %s", db, configDB)
	}
	return gnmitree.Result{}, t.w.set(ctx, ops, func(p gnmitree.Path) []string { return namesOf(p.Elems[2:]) })
}

// namesOf returns the names of elements. Keys in paths are ignored, because table keys are elements.
func namesOf(e []gnmitree.Elem) []string {
	out := make([]string, len(e))
	for i := range e {
		out[i] = e[i].Name
	}
	return out
}

// oneDatabase is the older view of a switch's database: the target is the database, and paths start with the table.
type oneDatabase struct {
	gnmitree.Watchers
	w  *Switch
	db string
}

func newOneDatabase(w *Switch, db string) *oneDatabase {
	t := &oneDatabase{w: w, db: db}
	if db == configDB {
		w.changed = append(w.changed, func(entries [][2]string) { t.Changed(entryPaths(gnmitree.Path{}, entries)...) })
	}
	return t
}

var _ gnmitree.Tree = (*oneDatabase)(nil)

func (t *oneDatabase) Info() gnmitree.Info { return sonicInfo() }

func (t *oneDatabase) Get(ctx context.Context, q gnmitree.Query) ([][]gnmitree.Leaf, error) {
	for _, p := range q.Paths {
		if len(p.Elems) == 0 {
			return nil, gnmitree.Errorf(codes.Unimplemented, "a path without a table")
		}
	}
	return t.w.get(ctx, t.db, q.Paths, 0)
}

func (t *oneDatabase) Set(context.Context, []gnmitree.Operation) (gnmitree.Result, error) {
	return gnmitree.Result{}, gnmitree.Errorf(codes.Unimplemented, "Set needs native paths, with origin %s", sonicOrigin)
}

// get reads paths of a database, whose tables start after skip elements.
func (w *Switch) get(ctx context.Context, db string, paths []gnmitree.Path, skip int) ([][]gnmitree.Leaf, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := make([][]gnmitree.Leaf, len(paths))
	made := map[string]table{} // tables that this request has already computed
	for i, p := range paths {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		r := reader{w: w, db: db, path: p, skip: skip, want: namesOf(p.Elems[skip:]), made: made}
		if db != configDB {
			r.at = w.clock()
		}
		if !r.virtual() {
			r.tables()
		}
		out[i] = r.out
	}
	return out, nil
}

// reader reads one path of a database.
type reader struct {
	w    *Switch
	db   string
	path gnmitree.Path
	skip int
	want []string // the requested names below the database
	at   time.Time
	made map[string]table
	out  []gnmitree.Leaf
}

// emit adds a leaf by its names below the database. For requested names, it uses the client's path elements with their
// ignored keys.
func (r *reader) emit(value string, names ...string) {
	elems := make([]gnmitree.Elem, 0, r.skip+len(names))
	elems = append(elems, r.path.Elems[:r.skip]...)
	for i, n := range names {
		if i < len(r.want) && n == r.want[i] {
			elems = append(elems, r.path.Elems[r.skip+i])
			continue
		}
		elems = append(elems, gnmitree.Elem{Name: n})
	}
	l := gnmitree.Leaf{Path: gnmitree.Path{Origin: r.path.Origin, Elems: elems}, Value: gnmitree.String(value), Class: gnmitree.ClassConfig, Time: r.at}
	if r.db != configDB {
		l.Class, l.Sampled = gnmitree.ClassOperational, true
	}
	r.out = append(r.out, l)
}

// name returns the requested name at a depth, and false if all names are requested.
func (r *reader) name(depth int) (string, bool) {
	if depth >= len(r.want) || r.want[depth] == gnmitree.Any {
		return "", false
	}
	if slices.Contains(r.want[:depth+1], gnmitree.AnyDepth) {
		return "", false
	}
	return r.want[depth], true
}

// tables reads the contents of tables.
func (r *reader) tables() {
	names := r.w.tableNames(r.db)
	if one, ok := r.name(0); ok {
		names = []string{one}
	}
	for _, n := range names {
		t := r.table(n)
		if f, flat := t[""]; flat { // a name map has no keys
			r.entry(f, 1, n)
			continue
		}
		if one, ok := r.name(1); ok {
			r.entry(t[one], 2, n, one)
			continue
		}
		for _, key := range slices.Sorted(maps.Keys(t)) {
			r.entry(t[key], 2, n, key)
		}
	}
}

// table returns the current content of a table.
func (r *reader) table(name string) table {
	if r.db == configDB {
		return r.w.running[name]
	}
	t, ok := r.made[name]
	if !ok {
		t = r.w.tableOf(r.db, name)
		r.made[name] = t
	}
	return t
}

// entry reads fields at a depth.
func (r *reader) entry(f fields, depth int, above ...string) {
	if one, ok := r.name(depth); ok {
		if v, has := f[one]; has {
			r.emit(v, append(slices.Clone(above), one)...)
		}
		return
	}
	if f != nil && len(f) == 0 && r.db == configDB {
		r.emit(bare, append(slices.Clone(above), bare)...)
	}
	for _, name := range slices.Sorted(maps.Keys(f)) {
		r.emit(f[name], append(slices.Clone(above), name)...)
	}
}

// wildcardPorts selects all ports in virtual paths.
const wildcardPorts = "Ethernet*"

// virtual reads paths of counters that name ports instead of objects; It returns false for any other path.
func (r *reader) virtual() bool {
	if r.db != countersDB || len(r.want) < 2 || !slices.Contains([]string{"COUNTERS", "RATES", "PERIODIC_WATERMARKS", "PERSISTENT_WATERMARKS"}, r.want[0]) {
		return false
	}
	who := r.want[1]
	port := r.w.index[who]
	if port == 0 && who != wildcardPorts {
		return false
	}
	ports := []int{port}
	if port == 0 {
		ports = ports[:0]
		for i := range r.w.ports {
			if strings.HasPrefix(r.w.ports[i].Name, strings.TrimSuffix(wildcardPorts, "*")) {
				ports = append(ports, i+1)
			}
		}
	}
	for _, p := range ports {
		r.port(p, port == 0)
	}
	return true
}

// port reads a virtual path of one port. In answers for all ports, a port's values are below its name.
func (r *reader) port(port int, many bool) {
	name := r.w.ports[port-1].Name
	base := slices.Clone(r.want[:2])
	if len(r.want) > 2 {
		if keys, of := r.parts(port); of != nil {
			for _, q := range keys {
				r.part(append(slices.Clone(base), r.want[2]), q, of(q))
			}
			return
		}
	}
	f := r.portTable(port)
	if len(r.want) == 2 {
		if many {
			base = append(base, name)
		}
		r.below(f, base)
		return
	}
	field := r.want[2]
	v, ok := f[field]
	switch {
	case !ok || len(r.want) > 3:
	case many:
		r.emit(v, append(base, field, name, field)...)
	default:
		r.emit(v, append(base, field)...)
	}
}

// below adds all fields below a node.
func (r *reader) below(f fields, base []string) {
	for _, n := range slices.Sorted(maps.Keys(f)) {
		r.emit(f[n], append(slices.Clone(base), n)...)
	}
}

// part adds the fields of a queue or a priority group, or only the requested field.
func (r *reader) part(base []string, key string, f fields) {
	if one, ok := r.name(3); ok && one != key {
		return
	}
	base = append(base, key)
	if one, ok := r.name(4); ok {
		if v, has := f[one]; has {
			r.emit(v, append(base, one)...)
		}
		return
	}
	r.below(f, base)
}

// portTable returns the fields of a port in the requested table.
func (r *reader) portTable(port int) fields {
	switch r.want[0] {
	case "COUNTERS":
		return r.w.portFields(port)
	case "RATES":
		return r.w.rateFields(port)
	}
	return nil
}

// parts returns the requested queues or priority groups, by the keys of the answer, and a function for their fields; The
// function is nil if the path requests neither.
func (r *reader) parts(port int) (keys []string, of func(key string) fields) {
	var read func(q int) fields
	suffix := ""
	switch what := r.want[0] + "/" + r.want[2]; what {
	case "COUNTERS/Queues":
		read = func(q int) fields { return r.w.queueFields(port, q) }
	case "COUNTERS/PriorityGroups":
		read = func(q int) fields { return r.w.groupFields(port, q) }
	case "COUNTERS/Pfcwd":
		read = func(q int) fields { return r.w.pfcwdFields(port, q) }
	case "PERIODIC_WATERMARKS/Queues", "PERSISTENT_WATERMARKS/Queues":
		read = func(q int) fields { return r.w.watermark(r.want[0], port, q) }
		if r.want[0] == "PERIODIC_WATERMARKS" {
			suffix = ":periodic"
		}
	case "COUNTERS/VoQs", "PERIODIC_WATERMARKS/PriorityGroups", "PERSISTENT_WATERMARKS/PriorityGroups":
		return nil, func(string) fields { return nil } // this ASIC has no such priority group
	default:
		return nil, nil
	}
	by := map[string]fields{}
	for q := range plane.Priorities {
		key := r.w.ports[port-1].Name + ":" + strconv.Itoa(q) + suffix
		if f := read(q); len(f) > 0 {
			by[key] = f
			keys = append(keys, key)
		}
	}
	return keys, func(key string) fields { return by[key] }
}
