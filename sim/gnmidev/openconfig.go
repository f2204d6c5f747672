package gnmidev

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc/codes"

	"fairlane/internal/gnmid"
	"fairlane/internal/quantity"
	"fairlane/sim/plane"
)

// openConfig is a switch by openconfig-qos: its configuration as that model has it. Profiles and what queues refer to can
// be written; the rest can be read.
type openConfig struct {
	gnmid.Watchers
	w *Switch
}

func newOpenConfig(w *Switch) *openConfig {
	t := &openConfig{w: w}
	w.changed = append(w.changed, func(entries [][2]string) {
		var paths []gnmid.Path
		for _, e := range entries {
			port, _, _ := strings.Cut(e[1], "|")
			switch e[0] {
			case wredTable:
				paths = append(paths, ocProfile(e[1]))
			case "QUEUE":
				paths = append(paths, ocInterface(port))
			default:
				paths = append(paths, gnmid.PathOf("qos"))
			}
		}
		t.Changed(paths...)
	})
	return t
}

// Info implements gnmid.Tree.
func (t *openConfig) Info() gnmid.Info {
	return gnmid.Info{Models: modelsOf(OpenConfig), Origins: []string{"", "openconfig"}, Module: "openconfig-qos"}
}

func key(name, value string) gnmid.Key { return gnmid.Key{Name: name, Value: value} }

func ocProfile(name string) gnmid.Path {
	return gnmid.PathOf("qos", "queue-management-profiles").Child("queue-management-profile", key("name", name))
}

func ocInterface(port string) gnmid.Path {
	return gnmid.PathOf("qos", "interfaces").Child("interface", key("interface-id", port))
}

// ocSchema tells which containers of JSON are lists.
func ocSchema() gnmid.Schema {
	keys := map[string]string{
		"qos/queue-management-profiles/queue-management-profile": "name", "qos/interfaces/interface": "interface-id",
		"qos/interfaces/interface/output/queues/queue": "name", "qos/queues/queue": "name",
	}
	return gnmid.Schema{Modules: []string{"openconfig-qos"}, Keys: func(list gnmid.Path) []string {
		if k, ok := keys[strings.Join(namesOf(list.Elems), "/")]; ok {
			return []string{k}
		}
		return nil
	}}
}

// ocReader gathers leaves.
type ocReader struct {
	w    *Switch
	kind gnmid.Type
	now  time.Time
	out  []gnmid.Leaf
}

func (r *ocReader) config(at gnmid.Path, name string, v gnmid.Value) {
	if r.kind == gnmid.TypeAll || r.kind == gnmid.TypeConfig {
		r.out = append(r.out, gnmid.Leaf{Path: at.Child("config").Child(name), Value: v, Class: gnmid.ClassConfig})
	}
	if r.kind == gnmid.TypeAll || r.kind == gnmid.TypeState {
		r.out = append(r.out, gnmid.Leaf{Path: at.Child("state").Child(name), Value: v, Class: gnmid.ClassState})
	}
}

func (r *ocReader) counter(at gnmid.Path, name string, v uint64) {
	if r.kind != gnmid.TypeConfig {
		r.out = append(r.out, gnmid.Leaf{Path: at.Child("state").Child(name), Value: gnmid.Uint(v), Class: gnmid.ClassOperational, Sampled: true, Time: r.now})
	}
}

// Get implements gnmid.Tree.
func (t *openConfig) Get(ctx context.Context, q gnmid.Query) ([][]gnmid.Leaf, error) {
	w := t.w
	w.mu.Lock()
	defer w.mu.Unlock()
	out := make([][]gnmid.Leaf, len(q.Paths))
	parts, made := ocParts(), map[int][]gnmid.Leaf{}
	for i, p := range q.Paths {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		for k, part := range parts {
			if !part.at.Covers(gnmid.Path{Elems: p.Elems}) && !p.Covers(part.at) {
				continue
			}
			leaves, ok := made[k]
			if !ok {
				r := &ocReader{w: w, kind: q.Type, now: w.clock()}
				part.read(r)
				leaves = r.out
				made[k] = leaves
			}
			out[i] = append(out[i], leaves...)
		}
	}
	return out, nil
}

// ocPart is a container that has leaves.
type ocPart struct {
	at   gnmid.Path
	read func(*ocReader)
}

func ocParts() []ocPart {
	return []ocPart{
		{gnmid.PathOf("qos", "classifiers"), (*ocReader).classifiers},
		{gnmid.PathOf("qos", "forwarding-groups"), (*ocReader).groups},
		{gnmid.PathOf("qos", "interfaces"), (*ocReader).interfaces},
		{gnmid.PathOf("qos", "queue-management-profiles"), (*ocReader).profiles},
		{gnmid.PathOf("qos", "queues"), (*ocReader).queues},
		{gnmid.PathOf("qos", "scheduler-policies"), (*ocReader).schedulers},
		{gnmid.PathOf("interfaces"), (*ocReader).speeds},
		{gnmid.PathOf("system"), (*ocReader).system},
	}
}

// profiles are what packets are marked by.
func (r *ocReader) profiles() {
	for _, name := range slices.Sorted(maps.Keys(r.w.running[wredTable])) {
		f, at := r.w.running[wredTable][name], ocProfile(name)
		r.config(at, "name", gnmid.String(name))
		rule := at.Join(gnmid.PathOf("wred", "uniform"))
		for _, c := range [][2]string{{"green_min_threshold", "min-threshold"}, {"green_max_threshold", "max-threshold"}} {
			if v, ok := f.count(c[0]); ok {
				r.config(rule, c[1], gnmid.Uint(uint64(v))) //nolint:gosec // not negative
			}
		}
		r.config(rule, "enable-ecn", gnmid.Bool(f.marks("green")))
		r.config(rule, "drop", gnmid.Bool(f["wred_green_enable"] == "true"))
		if v, ok := f.count("green_drop_probability"); ok {
			r.config(rule, "max-drop-probability-percent", gnmid.Uint32(uint32(v))) //nolint:gosec // at most 100
		}
	}
}

// queues are the names of queues, which are their numbers.
func (r *ocReader) queues() {
	for q := range plane.Priorities {
		name := strconv.Itoa(q)
		at := gnmid.PathOf("qos", "queues").Child("queue", key("name", name))
		r.config(at, "name", gnmid.String(name))
		r.config(at, "queue-id", gnmid.Uint32(uint32(q))) //nolint:gosec // below 8
	}
}

// eachQueueOf calls do with each queue of a port and its entry, which may be shared.
func (w *Switch) eachQueueOf(port string, do func(q int, f fields)) {
	by := map[int]fields{}
	for k, f := range w.running["QUEUE"] {
		names, first, last, ok := splitQueues(k)
		if ok && slices.Contains(splitNames(names), port) {
			for q := first; q <= last; q++ {
				by[q] = f
			}
		}
	}
	for q := range plane.Priorities {
		do(q, by[q])
	}
}

func (r *ocReader) interfaces() {
	for i := range r.w.ports {
		name := r.w.ports[i].Name
		at := ocInterface(name)
		r.config(at, "interface-id", gnmid.String(name))
		if m := r.w.running["PORT_QOS_MAP"][name]["dscp_to_tc_map"]; m != "" {
			c := at.Join(gnmid.PathOf("input", "classifiers")).Child("classifier", key("type", "IPV4"))
			r.config(c, "type", gnmid.String("IPV4"))
			r.config(c, "name", gnmid.String(m))
		}
		r.config(at.Join(gnmid.PathOf("output", "scheduler-policy")), "name", gnmid.String(name))
		counted := r.w.count(i + 1)
		r.w.eachQueueOf(name, func(q int, f fields) {
			at := at.Join(gnmid.PathOf("output", "queues")).Child("queue", key("name", strconv.Itoa(q)))
			r.config(at, "name", gnmid.String(strconv.Itoa(q)))
			if p := f["wred_profile"]; p != "" {
				r.config(at, "queue-management-profile", gnmid.String(p))
			}
			if r.w.trouble.Unreadable {
				return
			}
			c := &counted.Queues[q]
			r.counter(at, "transmit-octets", c.Octets)
			r.counter(at, "transmit-pkts", c.Packets)
			r.counter(at, "dropped-octets", c.DroppedBytes)
			r.counter(at, "dropped-pkts", c.Drops)
			r.counter(at, "max-queue-len", uint64(max(0, c.Peak))) //nolint:gosec // not negative
			if !r.w.o.NoECNCounters {
				r.counter(at, "ecn-marked-pkts", c.Marks)
			}
		})
	}
}

// bitsPerByte turns SONiC's rates, in bytes a second, into the model's.
const bitsPerByte = 8

// speeds are the rates of links, of openconfig-if-ethernet.
func (r *ocReader) speeds() {
	if r.kind == gnmid.TypeConfig {
		return
	}
	for i := range r.w.ports {
		p := &r.w.ports[i]
		word := "SPEED_" + strconv.FormatInt(int64(p.Speed/quantity.Gbps), 10) + "GB"
		if p.Speed < quantity.Gbps || p.Speed%quantity.Gbps != 0 {
			word = "SPEED_" + strconv.FormatInt(int64(p.Speed/quantity.Mbps), 10) + "MB"
		}
		at := gnmid.PathOf("interfaces").Child("interface", key("name", p.Name)).Child("ethernet").Child("state").Child("port-speed")
		r.out = append(r.out, gnmid.Leaf{Path: at, Value: gnmid.String("openconfig-if-ethernet:" + word), Class: gnmid.ClassState})
	}
}

// system is the switch's name, of openconfig-system.
func (r *ocReader) system() {
	if name := r.w.running.hostname(); name != "" {
		r.config(gnmid.PathOf("system"), "hostname", gnmid.String(name))
	}
}

// rates are those of a scheduler.
func (r *ocReader) rates(at gnmid.Path, s fields) {
	for _, rate := range []string{"cir", "pir"} {
		if v, ok := s.count(rate); ok {
			r.config(at.Child("two-rate-three-color"), rate, gnmid.Uint(uint64(v)*bitsPerByte)) //nolint:gosec // not negative
		}
	}
}

// schedulers are the policies of ports, one each: SONiC gives each queue its scheduler. That of the port comes after those of its
// queues and has no inputs.
func (r *ocReader) schedulers() {
	for i := range r.w.ports {
		name := r.w.ports[i].Name
		at := gnmid.PathOf("qos", "scheduler-policies").Child("scheduler-policy", key("name", name))
		r.config(at, "name", gnmid.String(name))
		r.w.eachQueueOf(name, func(q int, f fields) {
			s := r.w.running["SCHEDULER"][f["scheduler"]]
			if s == nil {
				return
			}
			number := strconv.Itoa(q)
			at := at.Child("schedulers").Child("scheduler", key("sequence", number))
			r.config(at, "sequence", gnmid.Uint32(uint32(q))) //nolint:gosec // below 8
			if s["type"] == "STRICT" {
				r.config(at, "priority", gnmid.String("STRICT"))
			}
			input := at.Child("inputs").Child("input", key("id", number))
			r.config(input, "id", gnmid.String(number))
			r.config(input, "queue", gnmid.String(number))
			if v, ok := s.count("weight"); ok {
				r.config(input, "weight", gnmid.Uint(uint64(v))) //nolint:gosec // not negative
			}
			r.rates(at, s)
		})
		if s := r.w.running["SCHEDULER"][r.w.running["PORT_QOS_MAP"][name]["scheduler"]]; s != nil {
			at := at.Child("schedulers").Child("scheduler", key("sequence", strconv.Itoa(plane.Priorities)))
			r.config(at, "sequence", gnmid.Uint32(plane.Priorities))
			r.rates(at, s)
		}
	}
}

// classifiers are the maps from DSCPs to classes.
func (r *ocReader) classifiers() {
	for _, name := range slices.Sorted(maps.Keys(r.w.running["DSCP_TO_TC_MAP"])) {
		at := gnmid.PathOf("qos", "classifiers").Child("classifier", key("name", name))
		r.config(at, "name", gnmid.String(name))
		r.config(at, "type", gnmid.String("IPV4"))
		f := r.w.running["DSCP_TO_TC_MAP"][name]
		for _, dscp := range slices.Sorted(maps.Keys(f)) {
			n, err := strconv.ParseUint(dscp, 10, 8)
			if err != nil {
				continue
			}
			term := at.Child("terms").Child("term", key("id", dscp))
			r.config(term, "id", gnmid.String(dscp))
			r.config(term.Join(gnmid.PathOf("conditions", "ipv4")), "dscp", gnmid.Uint32(uint32(n)))
			r.config(term.Child("actions"), "target-group", gnmid.String("tc"+f[dscp]))
		}
	}
}

// groups are the classes of traffic and their queues, by the map of the first port that has one.
func (r *ocReader) groups() {
	for i := range r.w.ports {
		f := r.w.running["TC_TO_QUEUE_MAP"][r.w.running["PORT_QOS_MAP"][r.w.ports[i].Name]["tc_to_queue_map"]]
		if f == nil {
			continue
		}
		for _, tc := range slices.Sorted(maps.Keys(f)) {
			at := gnmid.PathOf("qos", "forwarding-groups").Child("forwarding-group", key("name", "tc"+tc))
			r.config(at, "name", gnmid.String("tc"+tc))
			r.config(at, "output-queue", gnmid.String(f[tc]))
		}
		return
	}
}

// Set implements gnmid.Tree.
func (t *openConfig) Set(_ context.Context, ops []gnmid.Operation) (gnmid.Result, error) {
	w := t.w
	if w.o.ReadOnly {
		return gnmid.Result{}, gnmid.Errorf(codes.Unimplemented, "Set is not enabled on this switch")
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	after := w.running.clone()
	if w.trouble.Partial && len(ops) > 0 {
		w.trouble.Partial = false
		ops = ops[:len(ops)/2]
	}
	for _, op := range ops {
		if err := w.ocSet(after, op); err != nil {
			return gnmid.Result{}, err
		}
	}
	w.clamp(after)
	if err := (&schema{rules: w.rules, d: after, was: w.running}).check(); err != nil {
		return gnmid.Result{}, err
	}
	w.commit(after, true)
	return gnmid.Result{}, nil
}

// ocSet carries out one operation on a configuration.
func (w *Switch) ocSet(d database, op gnmid.Operation) error {
	if op.Op == gnmid.OpDelete {
		return w.ocDelete(d, op.Path)
	}
	leaves, err := gnmid.Flatten(op.Path, op.Value, ocSchema())
	if err != nil {
		return gnmid.Errorf(codes.InvalidArgument, "%s: %v", op.Path, err)
	}
	if op.Op == gnmid.OpReplace && op.Value.Kind() == gnmid.KindJSON {
		if err := w.ocDelete(d, op.Path); err != nil {
			return err
		}
	}
	for _, l := range leaves {
		if err := w.ocLeaf(d, l); err != nil {
			return err
		}
	}
	return nil
}

// Nodes that can be written, by the names of their path.
const (
	ocProfileNode = "qos/queue-management-profiles/queue-management-profile"
	ocQueueNode   = "qos/interfaces/interface/output/queues/queue"
)

// ocDelete deletes a profile, the rule of one, or a queue's reference.
func (w *Switch) ocDelete(d database, p gnmid.Path) error {
	name := strings.Join(namesOf(p.Elems), "/")
	switch name {
	case ocProfileNode:
		delete(d[wredTable], p.Key(2, "name"))
		return nil
	case ocProfileNode + "/wred/uniform/config":
		if d[wredTable][p.Key(2, "name")] != nil {
			d.put(wredTable, p.Key(2, "name"), fields{})
		}
		return nil
	case ocQueueNode + "/config/queue-management-profile":
		return w.ocReference(d, p, "")
	}
	return gnmid.Errorf(codes.Unimplemented, "path %s cannot be deleted here", p)
}

// ocLeaf writes one leaf.
func (w *Switch) ocLeaf(d database, l gnmid.Leaf) error {
	name := strings.Join(namesOf(l.Path.Elems), "/")
	switch {
	case strings.HasPrefix(name, ocProfileNode+"/"):
		return w.ocProfileLeaf(d, l, strings.TrimPrefix(name, ocProfileNode+"/"))
	case name == ocQueueNode+"/config/queue-management-profile":
		v, err := l.Value.AsString()
		if err != nil {
			return gnmid.Errorf(codes.InvalidArgument, "%s: %v", l.Path, err)
		}
		return w.ocReference(d, l.Path, v)
	case name == ocQueueNode+"/name", name == ocQueueNode+"/config/name", name == "qos/interfaces/interface/interface-id", name == "qos/interfaces/interface/config/interface-id":
		return w.ocSame(l)
	}
	return gnmid.Errorf(codes.Unimplemented, "path %s cannot be written here", l.Path)
}

// ocSame checks that a leaf says what its list entry's key does.
func (w *Switch) ocSame(l gnmid.Leaf) error {
	v, err := l.Value.AsString()
	for _, e := range slices.Backward(l.Path.Elems) {
		if len(e.Keys) > 0 && err == nil {
			if v != e.Keys[0].Value {
				return gnmid.Errorf(codes.InvalidArgument, "%s: found %q, want %q as the key", l.Path, v, e.Keys[0].Value)
			}
			return nil
		}
	}
	return gnmid.Errorf(codes.InvalidArgument, "%s: want a string", l.Path)
}

// ocProfileLeaf writes a leaf of a profile.
func (w *Switch) ocProfileLeaf(d database, l gnmid.Leaf, rest string) error {
	f := d.entry(wredTable, l.Path.Key(2, "name"))
	if len(f) == 0 {
		f["ecn"] = "ecn_none"
	}
	fail := func(err error) error { return gnmid.Errorf(codes.InvalidArgument, "%s: %v", l.Path, err) }
	rule, of := strings.CutPrefix(rest, "wred/uniform/config/")
	if !of {
		if rest == "name" || rest == "config/name" {
			return w.ocSame(l)
		}
		return gnmid.Errorf(codes.Unimplemented, "path %s cannot be written here", l.Path)
	}
	switch rule {
	case "min-threshold", "max-threshold":
		v, err := l.Value.AsUint()
		if err != nil {
			return fail(err)
		}
		f.colours(strings.ReplaceAll(rule, "-", "_"), strconv.FormatUint(v, 10))
	case "max-drop-probability-percent":
		v, err := l.Value.AsUint()
		if err != nil {
			return fail(err)
		}
		f.colours("drop_probability", strconv.FormatUint(v, 10))
	case "enable-ecn", "drop":
		v, err := l.Value.AsBool()
		if err != nil {
			return fail(err)
		}
		if rule == "enable-ecn" {
			f["ecn"] = map[bool]string{true: "ecn_all", false: "ecn_none"}[v]
			return nil
		}
		for _, c := range colours {
			f["wred_"+c+"_enable"] = strconv.FormatBool(v)
		}
	default:
		return gnmid.Errorf(codes.Unimplemented, "path %s has no counterpart on this switch", l.Path)
	}
	return nil
}

// colours sets a field for packets of all colours.
func (f fields) colours(name, v string) {
	for _, c := range colours {
		f[c+"_"+name] = v
	}
}

// ocReference makes a queue refer to a profile, or to none.
func (w *Switch) ocReference(d database, p gnmid.Path, profile string) error {
	port, queue := p.Key(2, "interface-id"), p.Key(5, "name")
	q, err := strconv.ParseUint(queue, 10, 8)
	if w.index[port] == 0 || err != nil || q >= plane.Priorities {
		return gnmid.Errorf(codes.NotFound, "%s: there is no queue %q of interface %q", p, queue, port)
	}
	f := w.split(d, port, int(q)) //nolint:gosec // below 8
	if profile == "" {
		delete(f, "wred_profile")
		return nil
	}
	f["wred_profile"] = profile
	return nil
}

// split is the entry of one queue of a port: an entry of several is taken apart.
func (w *Switch) split(d database, port string, queue int) fields {
	for k, f := range d["QUEUE"] {
		names, first, last, ok := splitQueues(k)
		ports := splitNames(names)
		if !ok || !slices.Contains(ports, port) || queue < first || queue > last {
			continue
		}
		if len(ports) == 1 && first == last {
			return f
		}
		delete(d["QUEUE"], k)
		for _, p := range ports {
			for q := first; q <= last; q++ {
				d.put("QUEUE", p+"|"+strconv.Itoa(q), maps.Clone(f))
			}
		}
		break
	}
	return d.entry("QUEUE", port+"|"+strconv.Itoa(queue))
}
